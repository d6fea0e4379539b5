-- What others left for the runs that I own.
select b.run, b.kind, b.key, b.note, b.frame, b.body
from reeve_store.inbox b
join reeve_store.runs r on r.id = b.run
where r.owner = $1::uuid and r.live
