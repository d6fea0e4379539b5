-- Which of the attempts that a worker holds are of no use any more: their run
-- has ended, or they are not the ones that are waited for.
select a.run, a.turn, a.call, a.attempt
from unnest($1::uuid[], $2::int4[], $3::int4[], $4::int4[])
    as a(run, turn, call, attempt)
where not exists (
    select from reeve_store.runs r
    where r.id = a.run and r.live and (
        exists (select from reeve_store.turns t where t.run = r.id
            and t.turn = a.turn and t.attempt = a.attempt and a.call = 0
            and t.state = 'dispatched')
        or exists (select from reeve_store.tool_calls c where c.run = r.id
            and c.turn = a.turn and c.call = a.call
            and c.attempt = a.attempt and c.state = 'dispatched')))
