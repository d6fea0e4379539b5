/*
 * The output of a response while it is received: a slot for each item, keyed by
 * output_index, since item ids cannot be trusted to stay the same from event to
 * event. A slot holds the item as it began, the texts that deltas built, and
 * at last the item as its `done` event gave it, byte for byte.
 * Texts are kept as they came, as the inside of a JSON string: half surrogate
 * pairs and characters cut between two deltas join by themselves, and nothing
 * is decoded or encoded again.
 */
#ifndef MODEL_OUTPUT_H
#define MODEL_OUTPUT_H

#include "base/json.h"
#include "proto/limits.h"

#define OUTPUT_ITEMS_MAX 2048u /* items of one response */
#define OUTPUT_PARTS_MAX 1024u /* parts of one item */
#define OUTPUT_BYTES_MAX (LIMIT_BODY - (1u << 20))

enum output_type {
	OUTPUT_other,
#define ITEM(type, field, waits) OUTPUT_##type,
#include "workers/model/items.def"
#undef ITEM
};

enum output_waits {
	OUTPUT_WAITS_NOBODY,
	OUTPUT_WAITS_CALL,
	OUTPUT_WAITS_CLIENT,
	OUTPUT_WAITS_MARKED,
};

enum part_kind {
	PART_NONE,
	PART_TEXT,      /* output_text of a message */
	PART_REFUSAL,   /* refusal of a message */
	PART_REASONING, /* reasoning_text of a reasoning item */
	PART_SUMMARY,   /* summary_text of a reasoning item */
	PART_FIELD,     /* the member named in items.def */
};

struct part {
	enum part_kind kind;
	bool has_index;
	bool closed;     /* a `done` event gave the whole text */
	unsigned marks;  /* enum json_mark of what was appended */
	uint64_t index;  /* content_index or summary_index */
	struct buf text; /* inside of a JSON string */
	size_t told;     /* bytes that watchers have */
};

struct slot {
	enum output_type type;
	bool has_index;
	bool done;       /* `item` is the whole item */
	bool named;      /* watchers know that this call began */
	bool told;       /* watchers have what the whole item says */
	bool news;       /* there may be something to tell */
	uint64_t index;  /* output_index; a key, never a length */
	struct buf item; /* JSON object: as added, then as done; may be empty */
	struct json id, call_id; /* inside `item` */
	char *item_id; /* raw JSON; of a delta before `added`; may be NULL */
	struct part *parts;
	size_t part_count;
	size_t final; /* position in the terminal list, SIZE_MAX = none */
};

struct output {
	struct slot *slots; /* owned; in order of appearance */
	size_t count, cap;
	size_t bytes;  /* held by all slots */
	bool watched;  /* keep what watchers have not got yet */
	bool damaged;  /* a delta may be missing: only whole values count */
	bool left_out; /* texts that therefore do not count */
	bool overflow; /* something was received that passes a limit */
};

/* Where an event belongs. */
struct address {
	enum output_type type;
	bool has_index;
	uint64_t index;
	struct json id;      /* item_id of a delta, id of an item */
	struct json call_id; /* of an item */
	struct json name;    /* its type as written, when it is `other` */
};

void output_release(struct output *out);
void output_clear(struct output *out);

enum output_type output_type_of(struct json item);
const char *output_type_name(enum output_type type);
enum output_waits output_waits(enum output_type type);
/* The member that deltas build, or NULL. */
const char *output_field(enum output_type type);
struct json slot_item(const struct slot *slot);

/* Finds the slot of a delta or opens one; NULL past a limit, or when the item
 * is whole already (late deltas mean nothing). */
struct slot *output_slot(struct output *out, const struct address *at);
/* An item begins. */
void output_added(
    struct output *out, const struct address *at, struct json item);
/* An item is whole. An empty text in it does not erase what deltas built. */
void output_done(
    struct output *out, const struct address *at, struct json item);
/* Keeps a copy of the item as the slot's. */
void slot_keep(struct output *out, struct slot *slot, struct json item);
/* The item is whole, for a slot that is known. */
void slot_settle(struct output *out, struct slot *slot, struct json item);
/* Opens a slot at the end; NULL past the limit. */
struct slot *output_open(struct output *out, const struct address *at);
void output_remove(struct output *out, size_t at);
/* An item that never got `done` is built from what came. */
void slot_build(struct output *out, struct slot *slot, const char *status);

/* The part with this index (has_index false: the newest of its kind), opened
 * if need be; NULL past a limit. */
struct part *slot_part(struct output *out, struct slot *slot,
    enum part_kind kind, bool has_index, uint64_t index);
/* raw: a JSON string with its quotes; other types count as "". */
void part_append(struct output *out, struct slot *slot, struct part *part,
    struct json raw, unsigned marks);
/* The whole text in place of what deltas built; an empty one erases nothing. */
void part_replace(struct output *out, struct slot *slot, struct part *part,
    struct json raw, unsigned marks);
/* Appends the parts of these kinds as an array, or the text of the field as a
 * string; false when there is none that counts (the array is [] then). */
bool slot_put_parts(struct output *out, const struct slot *slot,
    enum part_kind kind, enum part_kind other, struct buf *text);
bool slot_put_field(
    struct output *out, const struct slot *slot, struct buf *text);
/* Gives back the memory of the parts. */
void slot_drop_parts(struct output *out, struct slot *slot);

/* Members of an item to be replaced or added; empty json: left out. At most
 * PATCHES_MAX at a time. */
#define PATCHES_MAX 8u
struct patch {
	const char *name;
	struct slice json;
};
/* Rewrites the slot's item with these members; all others stay as they are. */
void slot_patch(struct output *out, struct slot *slot,
    const struct patch *patches, size_t count);

/* Positions of the slots in the order of the output, COUNT slots->count. */
void output_order(const struct output *out, size_t *ret_order);

/* Is it missing, null, "", [] or {}? */
bool value_is_empty(struct json value);

#endif
