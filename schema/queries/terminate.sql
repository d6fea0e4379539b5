-- Ends my other sessions of one purpose (application_name like $1): an old
-- backend may still commit. Returns how many were there.
select count(pg_terminate_backend(pid))::int4 from pg_stat_activity
where application_name = $1::text and pid <> pg_backend_pid()
    and usename = current_user
