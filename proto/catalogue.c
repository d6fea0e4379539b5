/*
 * Expands messages.def into const tables, and prints them: as MESSAGES.md for
 * people, as JSON for those who write a worker or client in another language.
 * Never reads or writes a message.
 */
#include "proto/catalogue.h"

#include "base/json.h"

#define FIELD_IS_MUST true
#define FIELD_IS_MAY  false

#define MESSAGE(name, id, from, body, doc)                                     \
	static const struct field fields_##name[] = {
#define FIELD(message, name, type, limit, need, since, doc)                    \
	{ #name, FIELD_##type, FIELD_IS_##need, since, limit,                  \
		offsetof(struct msg, message.name), doc },
#define END(name)                                                              \
	}                                                                      \
	;
#include "proto/messages.def"
#undef MESSAGE
#undef FIELD
#undef END

static const struct catalogue_message messages[MSG_IDS] = {
#define MESSAGE(name, id, from, body, doc)                                     \
	[id] = { #name, MSG_FROM_##from, MSG_BODY_##body, doc, fields_##name,  \
		COUNT(fields_##name) },
#define FIELD(message, name, type, limit, need, since, doc)
#define END(name)
#include "proto/messages.def"
#undef MESSAGE
#undef FIELD
#undef END
};

static const char *const type_names[] = {
	[FIELD_U64] = "U64",
	[FIELD_I64] = "I64",
	[FIELD_BOOL] = "BOOL",
	[FIELD_STR] = "STR",
	[FIELD_UUID] = "UUID",
};

static const char *const from_names[] = {
	[MSG_FROM_WORKER] = "worker",
	[MSG_FROM_CLIENT] = "client",
	[MSG_FROM_SUPERVISOR] = "supervisor",
	[MSG_FROM_BOTH] = "both",
};

static const char *const body_names[] = {
	[MSG_BODY_NONE] = "none",
	[MSG_BODY_JSON] = "json",
	[MSG_BODY_BYTES] = "bytes",
};

const struct catalogue_message *
catalogue_message(uint64_t id)
{
	if (id >= MSG_IDS || messages[id].name == NULL)
		return NULL;
	return &messages[id];
}

const char *
msg_name(enum msg_id id)
{
	const struct catalogue_message *message = catalogue_message(id);

	return message == NULL ? NULL : message->name;
}

enum msg_body
msg_body_kind(enum msg_id id)
{
	const struct catalogue_message *message = catalogue_message(id);

	return message == NULL ? MSG_BODY_NONE : message->body;
}

enum msg_from
msg_sender(enum msg_id id)
{
	const struct catalogue_message *message = catalogue_message(id);

	return message == NULL ? MSG_FROM_BOTH : message->from;
}

static void
print_limit(const struct field *field, struct buf *out)
{
	if (field->limit == 0)
		return;
	buf_put_u64(out, field->limit);
	if (field->type == FIELD_STR)
		buf_puts(out, " bytes");
}

static void
print_field(const struct field *field, struct buf *out)
{
	buf_printf(out, "| `%s` | %s | ", field->name, type_names[field->type]);
	print_limit(field, out);
	buf_printf(out, " | %s | %u.%u | %s |\n", field->must ? "must" : "may",
	    MESSAGE_MAJOR, field->since, field->doc);
}

static void
print_message(
    const struct catalogue_message *message, unsigned id, struct buf *out)
{
	buf_printf(out, "\n### %s (%u)\n\n%s Second frame: %s.\n\n",
	    message->name, id, message->doc, body_names[message->body]);
	buf_puts(out, "| field | type | at most | need | since | meaning |\n"
		      "|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < message->count; i++)
		print_field(&message->fields[i], out);
}

static const char intro[] =
    "# Messages\n"
    "\n"
    "Printed from `messages.def` by `build/tests/print-messages`; do not edit. "
    "`--json` prints the same for programs.\n"
    "\n"
    "A message is one ZeroMQ frame, a msgpack array `[version, id, fields…]` "
    "with the fields in the order of these tables; version = major * 256 + "
    "minor. A second frame follows exactly when the table says json or bytes; "
    "it may be empty.\n"
    "\n"
    "- U64, I64: msgpack integers of any width. BOOL: true or false. STR: str, "
    "valid UTF-8 without NUL. UUID: bin of 16 bytes.\n"
    "- A may field at the end may be left out, and any may field may be nil: "
    "it is then 0, false or empty.\n"
    "- Another major version is refused. A newer minor version only adds may "
    "fields at the end of a message; who is older skips them.\n"
    "- Arrays and maps over 8 deep, over 1024 values, extension types and "
    "bytes after the array are refused.\n";

void
msg_print_markdown(struct buf *out)
{
	static const struct {
		enum msg_from from;
		const char *title;
	} groups[] = {
		{ MSG_FROM_WORKER, "From workers" },
		{ MSG_FROM_CLIENT, "From clients" },
		{ MSG_FROM_SUPERVISOR, "From the supervisor" },
		{ MSG_FROM_BOTH, "Both ways between worker and supervisor" },
	};

	buf_puts(out, intro);
	buf_printf(out,
	    "\nThis is version %u.%u. The first frame has at most "
	    "%u bytes, the second at most %u.\n",
	    MESSAGE_MAJOR, MESSAGE_MINOR, LIMIT_MESSAGE, LIMIT_BODY);
	for (size_t i = 0; i < COUNT(groups); i++) {
		buf_printf(out, "\n## %s\n", groups[i].title);
		for (unsigned id = 0; id < MSG_IDS; id++)
			if (messages[id].name != NULL &&
			    messages[id].from == groups[i].from)
				print_message(&messages[id], id, out);
	}
}

static void
json_field(const struct field *field, struct json_writer *w)
{
	json_open(w, '{');
	json_key(w, "name");
	json_text(w, field->name);
	json_key(w, "type");
	json_text(w, type_names[field->type]);
	json_key(w, "limit");
	if (field->limit == 0)
		json_null(w);
	else
		json_unum(w, field->limit);
	json_key(w, "must");
	json_bool(w, field->must);
	json_key(w, "since");
	json_unum(w, field->since);
	json_key(w, "doc");
	json_text(w, field->doc);
	json_close(w);
}

static void
json_message(
    const struct catalogue_message *message, unsigned id, struct json_writer *w)
{
	json_open(w, '{');
	json_key(w, "name");
	json_text(w, message->name);
	json_key(w, "id");
	json_unum(w, id);
	json_key(w, "from");
	json_text(w, from_names[message->from]);
	json_key(w, "body");
	json_text(w, body_names[message->body]);
	json_key(w, "doc");
	json_text(w, message->doc);
	json_key(w, "fields");
	json_open(w, '[');
	for (size_t i = 0; i < message->count; i++)
		json_field(&message->fields[i], w);
	json_close(w);
	json_close(w);
}

void
msg_print_json(struct buf *out)
{
	struct json_writer w = json_writer(out);

	json_open(&w, '{');
	json_key(&w, "major");
	json_unum(&w, MESSAGE_MAJOR);
	json_key(&w, "minor");
	json_unum(&w, MESSAGE_MINOR);
	json_key(&w, "messages");
	json_open(&w, '[');
	for (unsigned id = 0; id < MSG_IDS; id++)
		if (messages[id].name != NULL)
			json_message(&messages[id], id, &w);
	json_close(&w);
	json_close(&w);
}
