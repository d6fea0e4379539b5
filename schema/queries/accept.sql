-- A new run with its first step and at most two items: the id was chosen by the
-- client, so that the same again changes nothing. Returns 1, or 0 when the run
-- exists.
with u as (
    insert into reeve_store.runs (id, root, agent, agent_version, session,
        priority, metadata, state, waits_for, owner, claim, step, turn,
        started_at, live, queued, active_session)
    values ($1::uuid, $1::uuid, $2::text, $3::int4, $4::text, $5::int2,
        $6::json, $7::text::reeve_store.run_state, $8::text, $9::uuid, $10::int4, 1, $11::int4, now(),
        true, false, $4::text)
    on conflict (id) do nothing
    returning id, step
), turn_start as (
    insert into reeve_store.turns (run, turn, attempt, state, worker, process,
        worker_session, model, start_step, queued_at)
    select u.id, $12::int4, $13::int4, 'dispatched', $14::text, $15::uuid,
        $16::int8, $17::text, u.step, now() - $18::int8 * interval '1 ms'
    from u where $12::int4 is not null
), items as (
    insert into reeve_store.items (run, turn, category, idx, step, type, marks, item)
    select u.id, i.turn, i.category, i.idx, u.step, i.type, i.marks, i.item
    from u, (values
        ($19::int4, $21::int2, $23::int4, $25::text, $27::int2, $29::json),
        ($20, $22, $24, $26, $28, $30)
    ) as i(turn, category, idx, type, marks, item)
    where i.item is not null
)
select count(*)::int4 from u
