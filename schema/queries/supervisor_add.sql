-- A new process start; its predecessor, whose lock file it holds, goes.
with gone as (
    delete from reeve_store.supervisors where name = $2::text and id <> $1::uuid
)
insert into reeve_store.supervisors (id, name, version, host, pid)
values ($1::uuid, $2::text, $3::text, $4::text, $5::int4)
on conflict (id) do nothing
