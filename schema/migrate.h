/*
 * Brings a database's schema up to the version that this program carries, or
 * says which version it has. Blocks: for the command line and for start-up.
 */
#ifndef SCHEMA_MIGRATE_H
#define SCHEMA_MIGRATE_H

#include "base/err.h"

/* Applies what is missing, each migration in a transaction of its own, under
 * one advisory lock that is tried, never waited for. Safe to run from many
 * processes at once and to repeat after a kill. check_only: changes nothing,
 * fails unless the schema is exactly this program's. say (may be NULL) gets one
 * line per migration. Errors: ERR_DB_ENV (no connection), ERR_DB_SCHEMA (other
 * version, changed checksum, missing role), ERR_BUSY (somebody else migrates
 * for more than a minute). */
int migrate_run(const char *conninfo, bool check_only,
    void (*say)(void *arg, const char *line), void *arg,
    struct err *err) CHECKED;

#endif
