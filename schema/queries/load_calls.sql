-- Calls of the turn in which each claimed run stands.
select c.run, c.call, c.item_idx, c.attempt, c.state::text, c.idempotent, c.worker,
    c.process, c.worker_session
from reeve_store.runs r
join reeve_store.tool_calls c on c.run = r.id and c.turn = r.turn
where r.id = any($1::uuid[]) and r.owner = $2::uuid
    and r.state in ('tools', 'waiting_approval')
order by c.run, c.call
