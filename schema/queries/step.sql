-- One step of one run: guarded by owner, claim and step; everything else hangs
-- on the row that the guard returns. Returns 1, or 0 when the run has moved.
-- "is not distinct from" keeps the planner away from the index on owner: it
-- would read every run that this supervisor has.
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
), turn_end as (
    update reeve_store.turns t set
        state = $22::text::reeve_store.turn_state, end_step = u.step, ended_at = now(),
        response_id = $23::text, request_id = $24::text, status = $25::text,
        finish = $26::text, error_class = $27::text, error_code = $28::text,
        error = $29::text, http_status = $30::int4, wait_ms = $31::int8,
        input_tokens = $32::int8, output_tokens = $33::int8,
        total_tokens = $34::int8, cached_tokens = $35::int8,
        reasoning_tokens = $36::int8, headers_ms = $37::int8,
        first_ms = $38::int8, total_ms = $39::int8
    from u where t.run = $1::uuid and t.turn = $20::int4 and t.attempt = $21::int4
), turn_start as (
    insert into reeve_store.turns (run, turn, attempt, state, worker, process,
        worker_session, model, start_step, queued_at)
    select u.id, $40::int4, $41::int4, 'dispatched', $42::text, $43::uuid,
        $44::int8, $45::text, u.step, now() - $46::int8 * interval '1 ms'
    from u where $40::int4 is not null
), items as (
    insert into reeve_store.items (run, turn, category, idx, step, type, marks, item)
    select u.id, i.turn, i.category, i.idx, u.step, i.type, i.marks, i.item
    from u, unnest($47::int4[], $48::int2[], $49::int4[], $50::text[],
        $51::int2[], $52::json[]) as i(turn, category, idx, type, marks, item)
), calls_new as (
    insert into reeve_store.tool_calls (run, turn, call, item_idx, call_id, name,
        state, idempotent, attempt, worker, process, worker_session, bound_step,
        dispatch_step, dispatched_at, end_step, ended_at, outcome)
    select u.id, c.turn, c.call, c.item_idx, c.call_id, c.name,
        c.state::reeve_store.call_state,
        c.idempotent, c.attempt, c.worker, c.process, c.session, u.step,
        case when c.state = 'dispatched' then u.step end,
        case when c.state = 'dispatched' then now() end,
        case when c.state = 'done' then u.step end,
        case when c.state = 'done' then now() end, c.outcome
    from u, unnest($53::int4[], $54::int4[], $55::int4[], $56::text[],
        $57::text[], $58::text[], $59::bool[], $60::int4[], $61::text[],
        $62::uuid[], $63::int8[], $64::text[]) as c(turn, call, item_idx,
        call_id, name, state, idempotent, attempt, worker, process, session,
        outcome)
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
    from u, unnest($65::int4[], $66::int4[], $67::text[], $68::bool[],
        $69::int4[], $70::text[], $71::uuid[], $72::int8[], $73::text[],
        $74::text[], $75::int8[], $76::int8[], $77::int8[], $78::int8[],
        $79::int8[], $80::int8[], $81::int8[]) as c(turn, call, state,
        idempotent, attempt, worker, process, session, outcome, sandbox, code,
        wall_ms, cpu_ms, rss_kb, stdout_bytes, stderr_bytes, dropped_bytes)
    where t.run = $1::uuid and t.turn = c.turn and t.call = c.call
), inbox as (
    delete from reeve_store.inbox b
    using u, unnest($82::text[], $83::text[]) as k(kind, key)
    where b.run = $1::uuid and b.kind = k.kind and b.key = k.key
)
select count(*)::int4 from u
