-- A version of an agent; version 0 means the newest.
select version, definition from reeve_store.agents
where name = $1::text and ($2::int4 = 0 or version = $2::int4)
order by version desc limit 1
