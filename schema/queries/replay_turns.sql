select turn, attempt, state::text, worker, model, start_step, coalesce(end_step, 0),
    finish, error_class, error, coalesce(wait_ms, 0),
    coalesce(input_tokens, 0), coalesce(output_tokens, 0),
    coalesce(total_tokens, 0),
    (extract(epoch from sent_at) * 1000)::int8,
    (extract(epoch from coalesce(ended_at, sent_at)) * 1000)::int8
from reeve_store.turns
where run = $1::uuid and (start_step > $2::int4 or end_step > $2::int4)
order by turn, attempt
