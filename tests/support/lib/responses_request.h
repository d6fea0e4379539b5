/*
 * A request to the Responses API as the scripted server sees it: the fields of
 * the body, the input items one by one, and what scripts ask about them (which
 * round of the conversation, the user's last words, the tools' outputs).
 * Everything borrows the body.
 */
#ifndef SUPPORT_RESPONSES_REQUEST_H
#define SUPPORT_RESPONSES_REQUEST_H

#include "base/json.h"

#define REQUEST_ITEMS_MAX 100000u

enum request_field {
	REQUEST_MODEL,
	REQUEST_INPUT,
	REQUEST_INSTRUCTIONS,
	REQUEST_TOOLS,
	REQUEST_TOOL_CHOICE,
	REQUEST_STREAM,
	REQUEST_STORE,
	REQUEST_INCLUDE,
	REQUEST_PREVIOUS,
	REQUEST_CONVERSATION,
	REQUEST_MAX_OUTPUT,
	REQUEST_METADATA,
	REQUEST_PARALLEL,
	REQUEST_REASONING,
	REQUEST_TEMPERATURE,
	REQUEST_TEXT,
	REQUEST_TOP_P,
	REQUEST_FIELDS,
};

enum item_field {
	ITEM_TYPE,
	ITEM_ID,
	ITEM_ROLE,
	ITEM_CONTENT,
	ITEM_CALL_ID,
	ITEM_NAME,
	ITEM_ARGUMENTS,
	ITEM_INPUT,
	ITEM_OUTPUT,
	ITEM_ENCRYPTED,
	ITEM_SUMMARY,
	ITEM_FIELDS,
};

enum item_kind {
	ITEM_IS_USER, /* also system and developer messages */
	ITEM_IS_ASSISTANT,
	ITEM_IS_CALL,
	ITEM_IS_OUTPUT,
	ITEM_IS_REASONING,
	ITEM_IS_REFERENCE,
	ITEM_IS_OTHER,   /* another type: passes unchecked */
	ITEM_IS_NOTHING, /* no object, or without type and role */
};

struct request_item {
	struct json field[ITEM_FIELDS];
	enum item_kind kind;
	bool custom; /* custom_tool_call and its output */
	bool user;   /* a message of role user */
};

/* Embedded; the items' memory is kept from one request to the next. */
struct request {
	struct json root;
	struct json field[REQUEST_FIELDS];
	struct request_item *items; /* owned */
	size_t count, cap;
	struct json last_user;   /* content of the last user message, or NONE */
	size_t after_user;       /* index of the item that follows it */
	uint64_t rounds;         /* rounds of tool outputs after it */
	size_t outputs;          /* outputs after it */
	struct json last_output; /* `output` of the last one, or NONE */
};

/* root: a checked JSON object. ERR_LIMIT past REQUEST_ITEMS_MAX. */
int request_read(
    struct request *request, struct json root, struct err *err) CHECKED;
void request_release(struct request *request);

/* The words of a content or output: a string, or the parts that have `text`
 * or `refusal`, one after another. */
void request_text(struct json content, struct buf *out);
/* All outputs after the last user message, joined by line ends. */
void request_outputs(const struct request *request, struct buf *out);
/* Is a tool of that name offered? */
bool request_has_tool(const struct request *request, struct slice name);
/* The name of the first one that has a name, or NONE. */
struct json request_first_tool(const struct request *request);
/* The call that an output answers, or NULL. */
const struct request_item *request_call_of(
    const struct request *request, const struct request_item *output);

/* The inside of a JSON string; decoded into scratch only if it has escapes. */
struct slice request_plain(struct json string, struct buf *scratch);

/* One pass over an object: the members with these names (each a literal), NONE
 * for the rest. */
#define FIELD(text)                                                            \
	{                                                                      \
		text, sizeof(text) - 1                                         \
	}
void request_fields(struct json object, const struct slice names[], size_t n,
    struct json ret_fields[]);

#endif
