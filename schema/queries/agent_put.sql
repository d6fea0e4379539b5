-- Stores a definition as a new version unless it is the newest one already.
with newest as (
    select version, definition from reeve_store.agents
    where name = $1::text order by version desc limit 1
), put as (
    insert into reeve_store.agents (name, version, definition)
    select $1::text, coalesce((select version from newest), 0) + 1, $2::json
    where not exists (select from newest
        where definition::text = $2::json::text)
    returning version
)
select coalesce((select version from put), (select version from newest)),
    exists (select from put)
