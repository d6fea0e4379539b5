-- Ends a run whose own rows the database refuses: none of its data, the same
-- guard. Open attempts are closed, inbox rows go.
with u as (
    update reeve_store.runs set step = step + 1, state = 'failed',
        reason = 'data_error', error = $5::text, waits_for = null,
        needs = null, wake_at = null, finished_at = now(), live = false,
        queued = false, active_session = null
    where id = $1::uuid and owner is not distinct from $2::uuid
        and claim = $3::int4 and step = $4::int4 and live
    returning id, step
), t as (
    update reeve_store.turns t set state = 'cancelled', end_step = u.step,
        ended_at = now()
    from u where t.run = u.id and t.state = 'dispatched'
), c as (
    update reeve_store.tool_calls c set state = 'cancelled', end_step = u.step,
        ended_at = now(), outcome = 'cancelled'
    from u where c.run = u.id and c.state in ('queued', 'dispatched')
), b as (
    delete from reeve_store.inbox b using u where b.run = u.id
)
select count(*)::int4 from u
