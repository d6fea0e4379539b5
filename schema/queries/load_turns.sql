-- Attempts of the turn in which each claimed run stands.
select t.run, t.turn, t.attempt, t.state::text, t.worker, t.process, t.worker_session
from reeve_store.runs r
join reeve_store.turns t on t.run = r.id and t.turn = r.turn
where r.id = any($1::uuid[]) and r.owner = $2::uuid and r.state = 'model'
order by t.run, t.attempt
