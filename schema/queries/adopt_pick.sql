-- Runs that somebody must take over, by id: their owner is gone, or they were
-- parked and are ready (their time, an inbox row, or a worker that they need).
select id, agent, agent_version from (
    select r.id, r.agent, r.agent_version, r.format
    from reeve_store.runs r
    where r.live and r.owner is not null and not exists (
        select from reeve_store.supervisors s where s.id = r.owner)
    union
    select r.id, r.agent, r.agent_version, r.format
    from reeve_store.runs r
    where r.live and not r.queued and r.owner is null
        and (r.wake_at <= now() or r.needs = any($2::text[]))
    union
    select r.id, r.agent, r.agent_version, r.format
    from reeve_store.inbox b join reeve_store.runs r on r.id = b.run
    where r.live and r.owner is null
) c
where id > $1::uuid and format = 1
order by id
limit $3::int4
