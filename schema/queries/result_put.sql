-- A result that came to a supervisor which does not hold the run: kept for its
-- owner if the attempt is current and open. Returns what was found.
with open as (
    select r.id from reeve_store.runs r
    where r.id = $1::uuid and r.live and (
        exists (select from reeve_store.turns t where t.run = r.id
            and t.turn = $2::int4 and t.attempt = $4::int4
            and $3::int4 = 0 and t.state = 'dispatched')
        or exists (select from reeve_store.tool_calls c where c.run = r.id
            and c.turn = $2::int4 and c.call = $3::int4
            and c.attempt = $4::int4 and c.state = 'dispatched'))
), put as (
    insert into reeve_store.inbox (run, kind, key, frame, body)
    select id, 'result', $5::text, $6::bytea, $7::bytea from open
    on conflict on constraint inbox_pkey do nothing
)
select count(*)::int4 from open
