/*
 * The SQL that the binary carries (embed.cmake writes the definitions).
 */
#ifndef SCHEMA_EMBEDDED_H
#define SCHEMA_EMBEDDED_H

#include "base/base.h"

struct migration {
	int version;
	const char *name;
	const char *sql;
};

/* In order of version. */
extern const struct migration migrations[];
extern const size_t migration_count;

#define QUERY(name, connection) extern const char query_##name[];
#include "schema/queries.def"
#undef QUERY

#endif
