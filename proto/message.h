/*
 * Messages and their codec. Pure: bytes in, structs out. A decoded message
 * borrows the frame it was decoded from.
 */
#ifndef PROTO_MESSAGE_H
#define PROTO_MESSAGE_H

#include "base/buf.h"
#include "base/uuid.h"
#include "proto/limits.h"

#define MESSAGE_MAJOR 1u
#define MESSAGE_MINOR 0u

#define MESSAGE_TYPE_U64  uint64_t
#define MESSAGE_TYPE_I64  int64_t
#define MESSAGE_TYPE_BOOL bool
#define MESSAGE_TYPE_STR  struct slice
#define MESSAGE_TYPE_UUID struct uuid

/* struct msg_hello, struct msg_credit, … */
#define MESSAGE(name, id, from, body, doc) struct msg_##name {
#define FIELD(message, name, type, limit, need, since, doc)                    \
	MESSAGE_TYPE_##type name;
#define END(name)                                                              \
	}                                                                      \
	;
#include "proto/messages.def"
#undef MESSAGE
#undef FIELD
#undef END

/* MSG_hello = 1, … */
enum msg_id {
#define MESSAGE(name, id, from, body, doc) MSG_##name = id,
#define FIELD(message, name, type, limit, need, since, doc)
#define END(name)
#include "proto/messages.def"
#undef MESSAGE
#undef FIELD
#undef END
	MSG_IDS = 64 /* ids are below */
};

struct msg {
	enum msg_id id;
	unsigned minor; /* of the sender; set by msg_decode */
	union {
#define MESSAGE(name, id, from, body, doc) struct msg_##name name;
#define FIELD(message, name, type, limit, need, since, doc)
#define END(name)
#include "proto/messages.def"
#undef MESSAGE
#undef FIELD
#undef END
	};
};

enum msg_body {
	MSG_BODY_NONE,
	MSG_BODY_JSON,
	MSG_BODY_BYTES,
};

enum msg_from {
	MSG_FROM_WORKER,
	MSG_FROM_CLIENT,
	MSG_FROM_SUPERVISOR,
	MSG_FROM_BOTH,
};

/* Appends the first frame. ERR_LIMIT when a field passes its limit. */
int msg_encode(const struct msg *msg, struct buf *out, struct err *err) CHECKED;

/* Decodes one whole frame; strings point into `frame`. Counts and sizes are
 * checked before anything is allocated. Errors (ERR_INPUT, ERR_LIMIT) name
 * message, field and what is allowed; another major version and an unknown id
 * are said as such. Fields added by a newer minor version are skipped. */
int msg_decode(
    struct msg *ret_msg, struct slice frame, struct err *err) CHECKED;

/* Names and descriptions from the catalogue; NULL for ids that are not in it.
 */
const char *msg_name(enum msg_id id);
enum msg_body msg_body_kind(enum msg_id id);
enum msg_from msg_sender(enum msg_id id);

/* The catalogue for people (MESSAGES.md) and for programs. */
void msg_print_markdown(struct buf *out);
void msg_print_json(struct buf *out);

#endif
