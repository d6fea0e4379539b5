-- Takes runs over, if my own row still stands and nobody else took them. Who
-- claims a run takes its session too; of two that claim different runs of one
-- session at once, the index refuses one. A session that is held already stays
-- with its holder: a run behind it is claimed only to be cancelled.
with c as (
    select r.id from reeve_store.runs r
    where r.id = any($2::uuid[]) and r.live and r.format = 1
        and (r.owner is null or r.owner = $1::uuid or not exists (
            select from reeve_store.supervisors s where s.id = r.owner))
        and exists (select from reeve_store.supervisors s where s.id = $1::uuid)
    for update of r skip locked
)
update reeve_store.runs r set owner = $1::uuid, claim = r.claim + 1,
    strikes = r.strikes + 1, needs = null,
    active_session = case when r.active_session is not null or not exists (
        select from reeve_store.runs o where o.active_session = r.session)
        then r.session end
from c where r.id = c.id
returning r.id, r.agent, r.agent_version, r.session, r.priority, r.format,
    r.state::text, r.claim, r.step, r.strikes, r.turn, r.active_ms,
    (extract(epoch from r.wake_at - now()) * 1000)::int8, r.input_tokens,
    r.output_tokens, r.total_tokens, r.cached_tokens, r.reasoning_tokens,
    (extract(epoch from now() - r.created_at) * 1000)::int8
