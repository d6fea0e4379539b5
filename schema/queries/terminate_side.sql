-- Ends my other sessions for claims: an old backend may still commit one that
-- nobody would ever load. Returns how many are still there.
select count(*) filter (where not pg_terminate_backend(pid, 1000))::int4
from pg_stat_activity
where application_name = $1::text and pid <> pg_backend_pid()
    and usename = current_user
