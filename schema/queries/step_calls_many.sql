-- step.sql for a response with any number of items and calls: the turn's end, its
-- items, new calls.
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
), items as (
    insert into reeve_store.items (run, turn, category, idx, step, type, marks, item)
    select u.id, i.turn, i.category, i.idx, u.step, i.type, i.marks, i.item
    from u, unnest($40::int4[], $41::int2[], $42::int4[], $43::text[],
        $44::int2[], $45::json[]) as i(turn, category, idx, type, marks, item)
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
    from u, unnest($46::int4[], $47::int4[], $48::int4[], $49::text[],
        $50::text[], $51::text[], $52::bool[], $53::int4[], $54::text[],
        $55::uuid[], $56::int8[], $57::text[]) as c(turn, call, item_idx,
        call_id, name, state, idempotent, attempt, worker, process, session,
        outcome)
)
select count(*)::int4 from u
