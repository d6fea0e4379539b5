-- Tables, views and functions of the first version.
-- reeve_store holds the tables; only the supervisor writes them. reeve holds
-- what applications use: views and functions. Roles come from deploy/roles.sql,
-- schema reeve_store and its table of migrations from the program itself.

create schema reeve;
comment on schema reeve is 'What applications use: views to read, reeve.submit and reeve.cancel to start and stop runs.';
comment on schema reeve_store is 'Tables of the supervisor. Read them through the views in schema reeve.';

-- Enums, since a CHECK on a hot table is parsed again for every statement, and
-- so is a generated column: together a quarter of a step's cost.
create type reeve_store.run_state as enum ('queued', 'model', 'tools',
    'waiting_approval', 'completed', 'incomplete', 'failed', 'cancelled');
create type reeve_store.turn_state as enum ('dispatched', 'done', 'failed',
    'refused', 'lost', 'cancelled');
create type reeve_store.call_state as enum ('queued', 'dispatched', 'done',
    'cancelled');

-- Agents: immutable versions. json, not jsonb: key order is kept.
create table reeve_store.agents (
    name text not null,
    version integer not null,
    definition json not null,
    created_at timestamptz not null default now(),
    primary key (name, version)
);

-- One row per run. The owner's guarded statement is the only way to move it;
-- everybody else inserts a row with owner null, or into inbox. live, queued and
-- active_session follow from state and owner; they stand in for them in the
-- indexes, so that an ordinary step touches no indexed value (heap-only update).
create table reeve_store.runs (
    id uuid primary key,
    root uuid not null,
    parent uuid,
    agent text not null,
    agent_version integer not null,
    session text,
    priority smallint not null default 0,
    format smallint not null default 1,
    state reeve_store.run_state not null default 'queued',
    reason text,
    error text,
    waits_for text,
    needs text,
    owner uuid,
    claim integer not null default 0,
    step integer not null default 0,
    strikes smallint not null default 0,
    queue_at timestamptz not null default now(),
    wake_at timestamptz,
    created_at timestamptz not null default now(),
    started_at timestamptz,
    finished_at timestamptz,
    active_ms bigint not null default 0,
    turn integer not null default 0,
    input_tokens bigint not null default 0,
    output_tokens bigint not null default 0,
    total_tokens bigint not null default 0,
    cached_tokens bigint not null default 0,
    reasoning_tokens bigint not null default 0,
    metadata json,
    live boolean not null default true,    -- state is not final
    queued boolean not null default true,  -- state is queued
    active_session text   -- session, while live and claimed or begun
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

create index runs_queue on reeve_store.runs (priority desc, queue_at, id)
    where queued;
create index runs_owned on reeve_store.runs (owner) where live;
create index runs_parked on reeve_store.runs (wake_at)
    where live and not queued and owner is null;
-- One active run per session, whatever the supervisors do.
create unique index runs_session_active on reeve_store.runs (active_session)
    where active_session is not null;
create index runs_session on reeve_store.runs (session, id)
    where session is not null;

-- One row per HTTP attempt.
create table reeve_store.turns (
    run uuid not null,
    turn integer not null,
    attempt integer not null,
    state reeve_store.turn_state not null,
    worker text not null,
    process uuid not null,
    worker_session bigint not null,
    model text not null,
    start_step integer not null,
    end_step integer,
    queued_at timestamptz not null,
    sent_at timestamptz not null default now(),
    ended_at timestamptz,
    response_id text,
    request_id text,
    status text,
    finish text,
    error_class text,
    error_code text,
    error text,
    http_status integer,
    wait_ms bigint,
    input_tokens bigint,
    output_tokens bigint,
    total_tokens bigint,
    cached_tokens bigint,
    reasoning_tokens bigint,
    headers_ms bigint,
    first_ms bigint,
    total_ms bigint,
    primary key (run, turn, attempt)
) with (fillfactor = 80);

-- Append-only. category: 0 input, 1 response, 2 function output, 8 output for
-- a call of an unknown tool. json: what is replayed is what was stored.
create table reeve_store.items (
    run uuid not null,
    turn integer not null,
    category smallint not null,
    idx integer not null,
    step integer not null,
    type text not null,
    marks smallint not null default 0,
    at timestamptz not null default now(),
    item json not null,
    primary key (run, turn, category, idx)
);
alter table reeve_store.items alter column item set storage external;

-- The ledger of tool calls.
create table reeve_store.tool_calls (
    run uuid not null,
    turn integer not null,
    call integer not null,
    item_idx integer not null,
    call_id text not null,
    name text not null,
    state reeve_store.call_state not null,
    idempotent boolean not null default false,
    attempt integer not null default 0,
    worker text,
    process uuid,
    worker_session bigint,
    bound_step integer not null,
    dispatch_step integer,
    end_step integer,
    bound_at timestamptz not null default now(),
    dispatched_at timestamptz,
    ended_at timestamptz,
    outcome text,
    code bigint,
    wall_ms bigint,
    cpu_ms bigint,
    rss_kb bigint,
    stdout_bytes bigint,
    stderr_bytes bigint,
    dropped_bytes bigint,
    sandbox text,
    primary key (run, turn, call)
) with (fillfactor = 80);

-- What others want from a run: cancels, results that came to a supervisor that
-- does not own it. The owner consumes rows inside its steps.
create table reeve_store.inbox (
    run uuid not null,
    kind text not null check (kind in ('cancel', 'result')),
    key text not null,
    note text,
    frame bytea,
    body bytea,
    created_at timestamptz not null default now(),
    primary key (run, kind, key)
) with (autovacuum_vacuum_scale_factor = 0.02);

create table reeve_store.submit_keys (
    key text primary key,
    run uuid not null,
    hash bytea not null,
    created_at timestamptz not null default now()
);

create table reeve_store.supervisors (
    id uuid primary key,
    name text not null,
    version text not null,
    host text not null,
    pid integer not null,
    beat bigint not null default 0,
    started_at timestamptz not null default now()
) with (fillfactor = 50);

-- ---- functions for applications ----

-- They run as their owner: pg_temp comes last, else a caller's own types and
-- operators would be found before the system's.
create function reeve_store.uuid_v7() returns uuid
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select encode(set_byte(set_byte(overlay(
        uuid_send(gen_random_uuid()) placing substring(int8send(
            (extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        from 1 for 6), 6, (get_byte(uuid_send(gen_random_uuid()), 6) & 15) | 112),
        8, (get_byte(uuid_send(gen_random_uuid()), 8) & 63) | 128), 'hex')::uuid
$$;

-- Turns what a caller gave as input into an array of items, within the limits
-- that the supervisor works with.
create function reeve_store.input_items(input json) returns json
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    items json := input;
begin
    if json_typeof(input) = 'string' then
        items := json_build_array(json_build_object('type', 'message',
            'role', 'user', 'content', input #>> '{}'));
    elsif json_typeof(input) is distinct from 'array' then
        raise exception 'reeve: input must be a text or a non-empty array of items'
            using errcode = '22023';
    elsif json_array_length(input) not between 1 and 512 then
        raise exception 'reeve: the input is an array of 1 to 512 items, not of %',
            json_array_length(input) using errcode = '22023';
    elsif exists (select from json_array_elements(input) as e(item)
            where json_typeof(e.item) <> 'object') then
        raise exception 'reeve: every item of the input must be an object'
            using errcode = '22023';
    end if;
    if octet_length(items::text) > 32 * 1024 * 1024 then
        raise exception 'reeve: the input has more than 32 MiB'
            using errcode = '54000';
    end if;
    -- The cast refuses what text functions cannot read: \u0000, lone surrogates.
    if items::jsonb @?
            'strict $.**{101} ? (@.type() == "object" || @.type() == "array")' then
        raise exception 'reeve: an item of the input is nested deeper than 100'
            using errcode = '54000';
    end if;
    return items;
end
$$;

create function reeve_store.submit(new_id uuid, agent text, input json,
    session text, key text, priority integer, run_at timestamptz,
    metadata json, out run uuid, out existing boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    agent_version integer;
    items json;
    digest bytea;
    known reeve_store.submit_keys;
    earlier text;
begin
    select max(a.version) into agent_version
        from reeve_store.agents a where a.name = submit.agent;
    if agent_version is null then
        raise exception 'reeve: there is no agent "%"', agent
            using errcode = '22023',
            hint = 'Apply its definition first: reeve apply DIR.';
    end if;
    if priority is null or priority not between -100 and 100 then
        raise exception 'reeve: priority must be between -100 and 100, not %',
            priority using errcode = '22023';
    end if;
    if not isfinite(run_at) then
        raise exception 'reeve: run_at must be a time, not %', run_at
            using errcode = '22023';
    end if;
    if length(session) not between 1 and 256 or length(key) not between 1 and 256 then
        raise exception 'reeve: session and key are 1 to 256 characters long'
            using errcode = '22023';
    end if;
    if jsonb_typeof(metadata::jsonb) <> 'object' then
        raise exception 'reeve: metadata must be a JSON object'
            using errcode = '22023';
    end if;
    items := reeve_store.input_items(input);
    run := new_id;
    existing := false;
    if key is not null then
        digest := sha256(convert_to(jsonb_build_array(submit.agent, session,
            items::text, coalesce(metadata::text, ''))::text, 'UTF8'));
        insert into reeve_store.submit_keys as k (key, run, hash)
            values (submit.key, new_id, digest)
            on conflict on constraint submit_keys_pkey do nothing;
        if not found then
            select * into known from reeve_store.submit_keys k
                where k.key = submit.key;
            if known.hash is distinct from digest then
                raise exception 'reeve: key "%" was used for another input', key
                    using errcode = '23505',
                    hint = 'The same key always means the same run: use another key.';
            end if;
            run := known.run;
            existing := true;
            return;
        end if;
    end if;
    insert into reeve_store.runs (id, root, agent, agent_version, session,
            priority, queue_at, metadata)
        values (new_id, new_id, submit.agent, agent_version, submit.session,
            submit.priority, coalesce(run_at, now()), submit.metadata)
        on conflict (id) do nothing;
    if not found then
        existing := true;
        return;
    end if;
    insert into reeve_store.items (run, turn, category, idx, step, type, item)
        select new_id, 0, 0, e.n - 1, 0,
            coalesce(e.item ->> 'type', 'message'), e.item
        from json_array_elements(items) with ordinality as e(item, n);
end
$$;

create function reeve.submit(agent text, input json, session text default null,
    key text default null, priority integer default 0,
    run_at timestamptz default null, metadata json default null)
returns uuid
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select run from reeve_store.submit(reeve_store.uuid_v7(), agent, input,
        session, key, priority, run_at, metadata)
$$;
comment on function reeve.submit(text, json, text, text, integer, timestamptz, json) is
'Accepts a run of an agent and returns its id. It starts when the calling transaction commits. input: a JSON string (a user message) or an array of items. The same key gives the same run again; with another input it is an error. priority: -100 to 100, higher first. run_at: not before.';

create function reeve.submit(agent text, input text, session text default null,
    key text default null, priority integer default 0,
    run_at timestamptz default null, metadata json default null)
returns uuid
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select run from reeve_store.submit(reeve_store.uuid_v7(), agent,
        to_json(input), session, key, priority, run_at, metadata)
$$;
comment on function reeve.submit(text, text, text, text, integer, timestamptz, json) is
'Accepts a run whose input is a text; see reeve.submit(text, json, …).';

create function reeve.cancel(run uuid, reason text default null)
returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    now_state text;
    is_live boolean;
begin
    select r.state, r.live into now_state, is_live
        from reeve_store.runs r where r.id = cancel.run;
    if now_state is null then
        raise exception 'reeve: there is no run %', run using errcode = 'P0002';
    end if;
    if not is_live then
        return now_state;
    end if;
    insert into reeve_store.inbox (run, kind, key, note)
        values (cancel.run, 'cancel', '', left(reason, 2000))
        on conflict do nothing;
    return 'cancelling';
end
$$;
comment on function reeve.cancel(uuid, text) is
'Asks for the end of a run; takes effect when the calling transaction commits. Returns cancelling, or the final state of a run that has ended.';

-- ---- views ----

create view reeve.runs as
select r.id, r.agent, r.agent_version, r.session,
    case r.state when 'model' then 'running' when 'tools' then 'running'
        else r.state::text end as state,
    r.reason,
    case
        when not r.live then null
        when r.waits_for is not null and not r.queued then r.waits_for
        when r.queued and r.queue_at > now()
            then 'its time: ' || to_char(r.queue_at at time zone 'UTC',
                'YYYY-MM-DD"T"HH24:MI:SS"Z"')
        when r.queued and r.session is not null and exists (
                select from reeve_store.runs o where o.session = r.session
                and o.live and o.id <> r.id and (not o.queued
                    or o.owner is not null or (o.queue_at, o.id) < (r.queue_at, r.id)))
            then 'an earlier run of session ' || r.session
        else coalesce(r.waits_for, 'a supervisor to start it')
    end as waits_for,
    r.error, r.priority, r.created_at, r.queue_at as run_at, r.started_at,
    r.finished_at, r.turn as turns, r.input_tokens, r.output_tokens,
    r.cached_tokens, r.reasoning_tokens, r.total_tokens,
    case when not r.live then (
        select case json_typeof(last.content)
            when 'string' then last.content #>> '{}'
            when 'array' then (
                select string_agg(c.part ->> 'text', '' order by c.n)
                from json_array_elements(last.content)
                    with ordinality as c(part, n)
                where c.part ->> 'type' = 'output_text')
            end
        from (select i.item -> 'content' as content from reeve_store.items i
            where i.run = r.id and i.category = 1 and i.type = 'message'
            order by i.turn desc, i.idx desc limit 1) last)
    end as output,
    r.metadata, r.root, r.parent, r.owner, r.claim, r.step, r.strikes
from reeve_store.runs r;
comment on view reeve.runs is 'One row per run.';
comment on column reeve.runs.id is 'UUID of version 7: ordered by the time of acceptance.';
comment on column reeve.runs.agent is 'Name of the agent.';
comment on column reeve.runs.agent_version is 'Version of the agents definition that the run keeps to its end.';
comment on column reeve.runs.session is 'Runs of one session follow each other and share their history.';
comment on column reeve.runs.state is 'queued, running, waiting_approval, completed, incomplete, failed or cancelled.';
comment on column reeve.runs.reason is 'Why it ended as it did: max_turns, unknown_tool, deadline, …';
comment on column reeve.runs.waits_for is 'What a run that has not ended waits for, in words.';
comment on column reeve.runs.error is 'What went wrong, in words.';
comment on column reeve.runs.priority is '-100 to 100, higher first.';
comment on column reeve.runs.created_at is 'When it was accepted.';
comment on column reeve.runs.run_at is 'Not started before this time.';
comment on column reeve.runs.started_at is 'When its first step was made.';
comment on column reeve.runs.finished_at is 'When it ended.';
comment on column reeve.runs.turns is 'Model turns begun so far.';
comment on column reeve.runs.input_tokens is 'Of all turns, with cached ones.';
comment on column reeve.runs.output_tokens is 'Of all turns, with reasoning.';
comment on column reeve.runs.cached_tokens is 'Part of input_tokens.';
comment on column reeve.runs.reasoning_tokens is 'Part of output_tokens.';
comment on column reeve.runs.total_tokens is 'Of all turns, as the provider counts.';
comment on column reeve.runs.output is 'Text of the last message, once the run has ended.';
comment on column reeve.runs.metadata is 'The JSON object given with the submit.';
comment on column reeve.runs.root is 'The run that this one belongs to; its own id if none started it.';
comment on column reeve.runs.parent is 'The run that started it; null if none did.';
comment on column reeve.runs.owner is 'The supervisor process that works on it; null while nobody does.';
comment on column reeve.runs.claim is 'How often a supervisor has taken it over.';
comment on column reeve.runs.step is 'Committed steps.';
comment on column reeve.runs.strikes is 'Claims since the last progress; high numbers mean that it kills supervisors.';

create view reeve.turns as
select run, turn, attempt, state::text, worker, model, response_id, request_id,
    status, finish, error_class, error_code, error, http_status, wait_ms,
    input_tokens, output_tokens, cached_tokens, reasoning_tokens, total_tokens,
    queued_at, sent_at, ended_at, headers_ms, first_ms, total_ms
from reeve_store.turns;
comment on view reeve.turns is 'One row per HTTP attempt of a model turn.';
comment on column reeve.turns.run is 'reeve.runs.id.';
comment on column reeve.turns.turn is 'From 1.';
comment on column reeve.turns.attempt is 'From 1; another one follows a failure or a vanished worker.';
comment on column reeve.turns.state is 'dispatched, done, failed, refused (never started), lost (its worker vanished) or cancelled.';
comment on column reeve.turns.worker is 'Name of the model worker.';
comment on column reeve.turns.model is 'Name of the model, as the agent says.';
comment on column reeve.turns.response_id is 'The responses id at the provider.';
comment on column reeve.turns.request_id is 'The providers id of the HTTP request.';
comment on column reeve.turns.status is 'completed or incomplete; null unless the model answered.';
comment on column reeve.turns.finish is 'stop, tool_calls, length or content_filter.';
comment on column reeve.turns.error_class is 'rate_limited, overloaded, network, auth, …';
comment on column reeve.turns.error_code is 'The providers own code.';
comment on column reeve.turns.error is 'What went wrong, in words.';
comment on column reeve.turns.http_status is 'Null when no answer came.';
comment on column reeve.turns.wait_ms is 'How long the provider asked to wait.';
comment on column reeve.turns.input_tokens is 'With cached ones; null when the provider did not say.';
comment on column reeve.turns.output_tokens is 'With reasoning; null when the provider did not say.';
comment on column reeve.turns.cached_tokens is 'Part of input_tokens.';
comment on column reeve.turns.reasoning_tokens is 'Part of output_tokens.';
comment on column reeve.turns.total_tokens is 'As the provider counts.';
comment on column reeve.turns.queued_at is 'When the run was ready for this attempt.';
comment on column reeve.turns.sent_at is 'When it was given to the worker.';
comment on column reeve.turns.ended_at is 'When its end was stored; null while it is in flight.';
comment on column reeve.turns.headers_ms is 'From the start of the attempt to the answers headers.';
comment on column reeve.turns.first_ms is 'From the start of the attempt to its first delta.';
comment on column reeve.turns.total_ms is 'From the start of the attempt to its end.';

create view reeve.items as
select i.run, i.turn,
    case i.category when 0 then 'input' when 1 then 'response'
        else 'tool_output' end as category,
    i.category as category_no, i.idx as index, i.type,
    i.item ->> 'role' as role,
    case when i.type = 'message' then case
        when json_typeof(i.item -> 'content') = 'string' then i.item ->> 'content'
        when json_typeof(i.item -> 'content') = 'array' then (
            select string_agg(coalesce(c.part ->> 'text', c.part ->> 'refusal'),
                '' order by c.n)
            from json_array_elements(i.item -> 'content')
                with ordinality as c(part, n))
        end
        when i.type = 'reasoning' and json_typeof(i.item -> 'summary') = 'array' then (
            select string_agg(c.part ->> 'text', E'\n\n' order by c.n)
            from json_array_elements(i.item -> 'summary')
                with ordinality as c(part, n))
    end as text,
    i.item ->> 'call_id' as call_id,
    i.item ->> 'name' as name,
    i.item ->> 'arguments' as arguments,
    i.item ->> 'output' as output,
    i.marks <> 0 as scrubbed,
    i.at as created_at, i.item
from reeve_store.items i;
comment on view reeve.items is 'Everything that was said: input, items of the model''s responses, outputs of tool calls. Order: turn, category_no, index.';
comment on column reeve.items.run is 'reeve.runs.id.';
comment on column reeve.items.turn is '0 for the input, else the turn of the response that it belongs to.';
comment on column reeve.items.category is 'input, response or tool_output.';
comment on column reeve.items.category_no is 'The category as a number to order by.';
comment on column reeve.items.index is 'Order within turn and category.';
comment on column reeve.items.type is 'message, reasoning, function_call, function_call_output, …';
comment on column reeve.items.role is 'Of messages: user, assistant, system, developer.';
comment on column reeve.items.text is 'Of messages their text, of reasoning its summary.';
comment on column reeve.items.call_id is 'Joins a call and its output, as the model named it.';
comment on column reeve.items.name is 'Of calls: the tool.';
comment on column reeve.items.arguments is 'Of calls: JSON as the model wrote it, valid or not.';
comment on column reeve.items.output is 'Of outputs: what the model is told.';
comment on column reeve.items.scrubbed is 'Bytes that a database cannot hold (U+0000, lone surrogates) were replaced by U+FFFD.';
comment on column reeve.items.created_at is 'When it was stored.';
comment on column reeve.items.item is 'The item as it was stored and as it is replayed to the model.';

create view reeve.tool_calls as
select c.run, c.turn, c.call, c.call_id, c.name, i.item ->> 'arguments' as arguments,
    c.state::text, c.attempt, c.worker, c.outcome, c.code, o.item ->> 'output' as output,
    c.wall_ms, c.cpu_ms, c.rss_kb, c.stdout_bytes, c.stderr_bytes,
    c.dropped_bytes, c.sandbox, c.bound_at, c.dispatched_at, c.ended_at
from reeve_store.tool_calls c
left join reeve_store.items i on i.run = c.run and i.turn = c.turn
    and i.category = 1 and i.idx = c.item_idx
left join reeve_store.items o on o.run = c.run and o.turn = c.turn
    and o.category in (2, 8) and o.idx = c.call;
comment on view reeve.tool_calls is 'The ledger of tool calls.';
comment on column reeve.tool_calls.run is 'reeve.runs.id.';
comment on column reeve.tool_calls.turn is 'The turn whose response holds the call.';
comment on column reeve.tool_calls.call is 'From 1, in the order of the response.';
comment on column reeve.tool_calls.call_id is 'As the model named it.';
comment on column reeve.tool_calls.name is 'The tool.';
comment on column reeve.tool_calls.arguments is 'JSON as the model wrote it.';
comment on column reeve.tool_calls.state is 'queued, dispatched, done or cancelled.';
comment on column reeve.tool_calls.attempt is 'How often it was dispatched; more than once only for idempotent tools or when it certainly never started.';
comment on column reeve.tool_calls.worker is 'Name of the tool worker.';
comment on column reeve.tool_calls.outcome is 'ok, exit, signal, timeout, output_limit, lost, rejected, unknown_tool, …';
comment on column reeve.tool_calls.code is 'Exit code or number of the signal.';
comment on column reeve.tool_calls.output is 'What the model is told.';
comment on column reeve.tool_calls.wall_ms is 'Time that it took.';
comment on column reeve.tool_calls.cpu_ms is 'Processor time that it took.';
comment on column reeve.tool_calls.rss_kb is 'Largest memory, in KiB.';
comment on column reeve.tool_calls.stdout_bytes is 'Printed in all to its standard output.';
comment on column reeve.tool_calls.stderr_bytes is 'Printed in all to its standard error.';
comment on column reeve.tool_calls.dropped_bytes is 'Of both, not kept.';
comment on column reeve.tool_calls.sandbox is 'Level of the sandbox that it ran at.';
comment on column reeve.tool_calls.bound_at is 'When the response with the call was stored.';
comment on column reeve.tool_calls.dispatched_at is 'When it was given to the worker, the last time.';
comment on column reeve.tool_calls.ended_at is 'When its outcome was stored.';

create view reeve.transcript as
select i.run,
    row_number() over (partition by i.run order by i.turn, i.category_no, i.index) as position,
    i.turn,
    case when i.category = 'tool_output' then 'tool'
        when i.role is not null then i.role else 'assistant' end as who,
    i.type as kind,
    case when i.type = 'function_call' then i.name || ' ' || i.arguments
        when i.type = 'function_call_output' then i.output
        else i.text end as text,
    i.created_at
from reeve.items i;
comment on view reeve.transcript is 'A run as people read it, one line per item: select who, text from reeve.transcript where run = ''…'' order by position.';
comment on column reeve.transcript.run is 'reeve.runs.id.';
comment on column reeve.transcript.position is 'From 1, in the order in which things were said.';
comment on column reeve.transcript.turn is '0 for the input.';
comment on column reeve.transcript.who is 'user, assistant, tool, …';
comment on column reeve.transcript.kind is 'Type of the item.';
comment on column reeve.transcript.text is 'What people read: messages, summaries, calls with their arguments, outputs.';
comment on column reeve.transcript.created_at is 'When it was stored.';

-- ---- who may do what ----

grant usage on schema reeve to reeve_service, reeve_reader, reeve_client;
grant usage on schema reeve_store to reeve_service;
grant select, insert, update, delete on all tables in schema reeve_store to reeve_service;
grant select on all tables in schema reeve to reeve_service, reeve_reader;
revoke execute on all functions in schema reeve from public;
revoke execute on all functions in schema reeve_store from public;
grant execute on all functions in schema reeve to reeve_service, reeve_client;
grant execute on all functions in schema reeve_store to reeve_service;
revoke insert, update, delete on reeve_store.migrations from reeve_service;
