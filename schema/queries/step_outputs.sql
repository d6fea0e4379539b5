-- step.sql for the output of a call, with or without the next turn's start: at most
-- two items and one call that moves.
with u as (
    update reeve_store.runs set
        step = step + 1, strikes = 0, state = $5::text::reeve_store.run_state, reason = $6::text,
        error = $7::text, waits_for = $8::text, needs = $9::text,
        owner = case when $10::bool then null else owner end,
        wake_at = now() + $11::int8 * interval '1 ms', turn = $12::int4,
        input_tokens = $13::int8, output_tokens = $14::int8,
        total_tokens = $15::int8, cached_tokens = $16::int8,
        reasoning_tokens = $17::int8, active_ms = $18::int8,
        started_at = coalesce(started_at, now()),
        finished_at = case when $19::bool then now() end,
        live = not $19::bool, queued = false,
        active_session = case when not $19::bool then session end
    where id = $1::uuid and owner is not distinct from $2::uuid
        and claim = $3::int4 and step = $4::int4 and live
    returning id, step
), turn_start as (
    insert into reeve_store.turns (run, turn, attempt, state, worker, process,
        worker_session, model, start_step, queued_at)
    select u.id, $20::int4, $21::int4, 'dispatched', $22::text, $23::uuid,
        $24::int8, $25::text, u.step, now() - $26::int8 * interval '1 ms'
    from u where $20::int4 is not null
), items as (
    insert into reeve_store.items (run, turn, category, idx, step, type, marks, item)
    select u.id, i.turn, i.category, i.idx, u.step, i.type, i.marks, i.item
    from u, (values
        ($27::int4, $29::int2, $31::int4, $33::text, $35::int2, $37::json),
        ($28, $30, $32, $34, $36, $38)
    ) as i(turn, category, idx, type, marks, item)
    where i.item is not null
), calls_move as (
    update reeve_store.tool_calls t set
        state = c.state::reeve_store.call_state, attempt = c.attempt,
        idempotent = c.idempotent or t.idempotent,
        worker = coalesce(c.worker, t.worker),
        process = coalesce(c.process, t.process),
        worker_session = coalesce(c.session, t.worker_session),
        dispatch_step = case when c.state = 'dispatched' then u.step
            else t.dispatch_step end,
        dispatched_at = case when c.state = 'dispatched' then now()
            else t.dispatched_at end,
        end_step = case when c.state = 'done' then u.step end,
        ended_at = case when c.state = 'done' then now() end,
        outcome = c.outcome, sandbox = c.sandbox, code = c.code,
        wall_ms = c.wall_ms, cpu_ms = c.cpu_ms, rss_kb = c.rss_kb,
        stdout_bytes = c.stdout_bytes, stderr_bytes = c.stderr_bytes,
        dropped_bytes = c.dropped_bytes
    from u, (values
        ($39::int4, $40::int4, $41::text, $42::bool, $43::int4, $44::text,
        $45::uuid, $46::int8, $47::text, $48::text, $49::int8, $50::int8,
        $51::int8, $52::int8, $53::int8, $54::int8, $55::int8)
    ) as c(turn, call, state, idempotent, attempt, worker, process, session,
        outcome, sandbox, code, wall_ms, cpu_ms, rss_kb, stdout_bytes,
        stderr_bytes, dropped_bytes)
    where t.run = $1::uuid and t.turn = c.turn and t.call = c.call
)
select count(*)::int4 from u
