-- An orderly stop gives back every run and the row.
with gone as (
    delete from reeve_store.supervisors where id = $1::uuid
)
update reeve_store.runs set owner = null,
    active_session = case when queued then null else active_session end,
    wake_at = case when queued then wake_at else now() end
where owner = $1::uuid and live
