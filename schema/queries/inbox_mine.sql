-- What others left for the runs that I own. offset 0: the inbox comes first, it
-- is small.
select b.run, b.kind, b.key, b.note, b.frame, b.body
from reeve_store.inbox b, lateral (
    select owner, live from reeve_store.runs where id = b.run offset 0) r
where r.owner = $1::uuid and r.live
