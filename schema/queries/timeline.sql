-- Changes when a standby was promoted or a backup restored.
select left(pg_walfile_name(pg_current_wal_lsn()), 8)
