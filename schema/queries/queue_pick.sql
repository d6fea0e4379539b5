-- Queued runs that may start now, in order: priority, then time. Of a session
-- only the earliest, and only while no run of it is active or claimed: one that
-- was accepted earlier may have become visible later.
select r.id, r.agent, r.agent_version
from reeve_store.runs r
where r.queued and r.owner is null and r.format = 1 and r.queue_at <= now()
    and r.agent <> all($1::text[])
    and (r.session is null or not exists (
        select from reeve_store.runs o
        where o.session = r.session and o.live and o.id <> r.id
            and (not o.queued or o.owner is not null
                or (o.queue_at, o.id) < (r.queue_at, r.id))))
order by r.priority desc, r.queue_at, r.id
limit $2::int4
