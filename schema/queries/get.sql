-- One run with everything about it, as JSON; $2 says why a queued run waits.
select json_build_object(
    'run', (select json_build_object('id', r.id, 'agent', r.agent,
        'agent_version', r.agent_version, 'session', r.session, 'state', r.state,
        'reason', r.reason, 'waits_for', case when r.waits_for =
            'a supervisor to start it' then coalesce($2::text, r.waits_for)
            else r.waits_for end, 'error', r.error,
        'priority', r.priority, 'created_at', r.created_at, 'run_at', r.run_at,
        'started_at', r.started_at, 'finished_at', r.finished_at,
        'turns', r.turns, 'input_tokens', r.input_tokens,
        'output_tokens', r.output_tokens, 'cached_tokens', r.cached_tokens,
        'reasoning_tokens', r.reasoning_tokens, 'total_tokens', r.total_tokens,
        'output', r.output, 'metadata', r.metadata, 'root', r.root,
        'parent', r.parent, 'owner', r.owner, 'claim', r.claim, 'step', r.step,
        'strikes', r.strikes)),
    'turns', (select coalesce(json_agg(to_json(t) order by t.turn, t.attempt), '[]')
        from reeve.turns t where t.run = r.id),
    'calls', (select coalesce(json_agg(to_json(c) order by c.turn, c.call), '[]')
        from reeve.tool_calls c where c.run = r.id),
    'items', (select coalesce(json_agg(to_json(i) order by i.turn, i.category_no,
            i.index), '[]')
        from reeve.items i where i.run = r.id))
from reeve.runs r where r.id = $1::uuid
