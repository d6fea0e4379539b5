-- Runs that somebody must take over, by id: their owner is gone, or they were
-- parked and are ready (their time, an inbox row, or a worker that they need).
-- Asked some times a second, so it must not read all live runs: owners are few
-- and are found by steps through their index; offset 0 makes the planner look
-- for runs by a known owner or id, whatever it believes of the tables.
with recursive owners as (
    (select r.owner from reeve_store.runs r
    where r.live and r.owner is not null order by r.owner limit 1)
    union all
    select (select r.owner from reeve_store.runs r
        where r.live and r.owner > o.owner order by r.owner limit 1)
    from owners o where o.owner is not null
), gone as materialized (
    select o.owner from owners o where not exists (
        select from reeve_store.supervisors s where s.id = o.owner)
)
select id, agent, agent_version from (
    select r.id, r.agent, r.agent_version, r.format
    from gone g, lateral (
        select id, agent, agent_version, format
        from reeve_store.runs where owner = g.owner and live offset 0) r
    union
    select r.id, r.agent, r.agent_version, r.format
    from reeve_store.runs r
    where r.live and not r.queued and r.owner is null
        and (r.wake_at <= now() or r.needs = any($2::text[]))
    union
    select r.id, r.agent, r.agent_version, r.format
    from reeve_store.inbox b, lateral (
        select id, agent, agent_version, format, live, owner
        from reeve_store.runs where id = b.run offset 0) r
    where r.live and r.owner is null
) c
where id > $1::uuid and format = 1
order by id
limit $3::int4
