select turn, call, call_id, name, attempt, worker, bound_step,
    coalesce(dispatch_step, 0), coalesce(end_step, 0), outcome,
    coalesce(wall_ms, 0), item_idx
from reeve_store.tool_calls
where run = $1::uuid and (bound_step > $2::int4 or dispatch_step > $2::int4
    or end_step > $2::int4)
order by turn, call
