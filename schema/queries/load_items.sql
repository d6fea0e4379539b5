-- Items of claimed runs, earlier runs of their sessions first. Of earlier runs
-- only what belongs to history: no turn that failed left items behind.
select l.id as loaded, i.run, i.turn, i.category, i.idx, i.item
from reeve_store.runs l
join reeve_store.runs r on r.id = l.id or (l.session is not null
    and r.session = l.session and not r.live and (r.queue_at, r.id) < (l.queue_at, l.id))
join reeve_store.items i on i.run = r.id
where l.id = any($1::uuid[]) and l.owner = $2::uuid
order by l.id, r.id = l.id, r.queue_at, r.id, i.turn, i.category, i.idx
