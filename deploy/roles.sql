-- The roles of reeve and its database. Run by a superuser of the cluster,
-- connected to any other database of it; may be run again at any time:
--
--   psql -X -v ON_ERROR_STOP=1 -d postgres -f deploy/roles.sql
--
-- Variables: database (default reeve) names the database; reader, if given, is
-- a login role for a person who may read the views and submit and cancel runs.
-- Nobody gets a password here: on one machine peer authentication says who is
-- who; elsewhere set one (\password reeve_service) and write it to .pgpass.

\if :{?database}
\else
\set database reeve
\endif

SET client_min_messages = warning;

-- Owns the schemas; migrations run as it, nothing else does.
SELECT 'CREATE ROLE reeve_owner LOGIN'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reeve_owner') \gexec
ALTER ROLE reeve_owner NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION
    NOBYPASSRLS CONNECTION LIMIT 10;

-- What the supervisors use. They set their own, shorter time limits on each
-- connection; these bound whatever else is done under this name.
SELECT 'CREATE ROLE reeve_service LOGIN'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reeve_service') \gexec
ALTER ROLE reeve_service NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION
    NOBYPASSRLS;
ALTER ROLE reeve_service SET statement_timeout = '10s';
ALTER ROLE reeve_service SET lock_timeout = '2s';
ALTER ROLE reeve_service SET idle_in_transaction_session_timeout = '30s';

-- May read the views of schema reeve; the migrations grant that. Never logs in
-- by itself: GRANT reeve_reader TO somebody.
SELECT 'CREATE ROLE reeve_reader NOLOGIN'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reeve_reader') \gexec
ALTER ROLE reeve_reader NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE
    NOREPLICATION NOBYPASSRLS;

-- May call reeve.submit and reeve.cancel inside its own transactions:
-- GRANT reeve_client TO the role of an application.
SELECT 'CREATE ROLE reeve_client NOLOGIN'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reeve_client') \gexec
ALTER ROLE reeve_client NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE
    NOREPLICATION NOBYPASSRLS;

SELECT format('CREATE DATABASE %I OWNER reeve_owner', :'database')
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'database') \gexec
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO reeve_service, reeve_reader,
    reeve_client;

\if :{?reader}
SELECT format('CREATE ROLE %I LOGIN', :'reader')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'reader') \gexec
GRANT reeve_reader, reeve_client TO :"reader";
\endif
