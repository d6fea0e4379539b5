-- The run's own row, for events.
select agent, session, state::text, reason, error, turn, input_tokens, output_tokens,
    total_tokens, step, live,
    (extract(epoch from coalesce(finished_at, now()) - created_at) * 1000)::int8,
    (extract(epoch from coalesce(finished_at, created_at)) * 1000)::int8,
    (extract(epoch from created_at) * 1000)::int8
from reeve_store.runs where id = $1::uuid
