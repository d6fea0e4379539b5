-- step.sql for a response without calls: the turn's end and at most two items,
-- which cost less as single parameters than as arrays.
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
    from u, (values
        ($40::int4, $42::int2, $44::int4, $46::text, $48::int2, $50::json),
        ($41, $43, $45, $47, $49, $51)
    ) as i(turn, category, idx, type, marks, item)
    where i.item is not null
)
select count(*)::int4 from u
