-- Ends a run whose own rows the database refuses: none of its data, the same
-- guard. Open attempts are closed, inbox rows go. Open calls get an output:
-- without one the next run of the session could not be asked.
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
    from u where t.run = $1::uuid and t.state = 'dispatched'
), c as (
    update reeve_store.tool_calls c set state = 'cancelled', end_step = u.step,
        ended_at = now(), outcome = 'cancelled'
    from u where c.run = $1::uuid and c.state in ('queued', 'dispatched')
), o as (
    insert into reeve_store.items (run, turn, category, idx, step, type, item)
    select c.run, c.turn, 2, c.call, u.step, 'function_call_output',
        json_build_object('type', 'function_call_output', 'call_id', c.call_id,
            'output', 'Cancelled: the run failed.')
    from u join reeve_store.tool_calls c on c.run = $1::uuid
    where c.state in ('queued', 'dispatched')
), b as (
    delete from reeve_store.inbox b using u where b.run = $1::uuid
)
select count(*)::int4 from u
