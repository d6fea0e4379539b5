/*
 * The catalogue as tables: one const description per message and field, made
 * from messages.def. For the codec and for what prints it; everybody else uses
 * message.h.
 */
#ifndef PROTO_CATALOGUE_H
#define PROTO_CATALOGUE_H

#include "proto/message.h"

enum field_type {
	FIELD_U64,
	FIELD_I64,
	FIELD_BOOL,
	FIELD_STR,
	FIELD_UUID,
};

struct field {
	const char *name;
	enum field_type type;
	bool must;
	unsigned since; /* minor version */
	uint64_t limit; /* bytes of STR, largest U64; 0 = none */
	size_t offset;  /* in struct msg */
	const char *doc;
};

struct catalogue_message {
	const char *name;
	enum msg_from from;
	enum msg_body body;
	const char *doc;
	const struct field *fields; /* in wire order */
	size_t count;
};

/* NULL when the catalogue has no message of this id. */
const struct catalogue_message *catalogue_message(uint64_t id);

#endif
