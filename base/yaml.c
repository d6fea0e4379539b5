/*
 * Writes the events of libyaml as JSON text and notes the line of each value
 * and key. Owns, while it reads, the parser and the names of the open
 * mappings. Builds no tree, follows no anchors, guesses no types.
 */
#include "base/yaml.h"

#include <yaml.h>

#include "base/alloc.h"
#include "base/map.h"

/* An escape of a few bytes ("\e") becomes six; "- " becomes "null,". */
#define YAML_JSON_MAX (8u * YAML_FILE_MAX)

struct yaml_line {
	size_t pos; /* in the JSON text */
	unsigned line;
};

struct level {
	bool mapping;
	bool has_key; /* the next node is the value of a key */
	bool has_members;
	struct map
	    names; /* of a mapping; the value is the line, as a pointer */
};

struct reader {
	yaml_parser_t parser;
	struct yaml yaml;
	size_t line_cap;
	size_t lines; /* of the file */
	struct level levels[JSON_DEPTH_MAX];
	unsigned depth; /* open levels */
	unsigned documents;
	bool ended;
};

/* The line of a byte; lines end at LF, CR or both. */
static size_t
line_at(struct slice text, size_t pos)
{
	size_t line = 1;

	for (size_t i = 0; i < pos && i < text.len; i++) {
		bool both = text.ptr[i] == '\r' && i + 1 < text.len &&
			    text.ptr[i + 1] == '\n';

		line += text.ptr[i] == '\n' || (text.ptr[i] == '\r' && !both);
	}
	return line;
}

/* libyaml counts one line more at an end without a line feed. */
static size_t
line_of(const struct reader *r, yaml_mark_t mark)
{
	return mark.line < r->lines ? mark.line + 1 : r->lines;
}

static int
refuse(
    const struct reader *r, yaml_mark_t mark, const char *what, struct err *err)
{
	return err_set(
	    err, ERR_INPUT, "%s:%zu: %s", r->yaml.name, line_of(r, mark), what);
}

static struct level *
top(struct reader *r)
{
	return r->depth == 0 ? NULL : &r->levels[r->depth - 1];
}

static bool
expects_key(struct reader *r)
{
	return r->depth > 0 && top(r)->mapping && !top(r)->has_key;
}

/* Writes the comma, if one belongs here, and notes the line of what follows. */
static void
begin_node(struct reader *r, yaml_mark_t mark)
{
	struct yaml *yaml = &r->yaml;
	struct level *level = top(r);

	if (level != NULL && !level->has_key) {
		if (level->has_members)
			buf_putc(&yaml->json, ',');
		level->has_members = true;
	}
	if (level != NULL)
		level->has_key = false;
	if (yaml->count == r->line_cap) {
		r->line_cap = r->line_cap == 0 ? 64 : r->line_cap * 2;
		yaml->lines =
		    mem_grow(yaml->lines, r->line_cap * sizeof(*yaml->lines));
	}
	yaml->lines[yaml->count++] = (struct yaml_line){
		.pos = yaml->json.len,
		.line = (unsigned)line_of(r, mark),
	};
}

static int
put_key(struct reader *r, const yaml_event_t *event, struct slice text,
    struct err *err)
{
	struct level *level = top(r);
	uintptr_t line = line_of(r, event->start_mark);
	uintptr_t earlier;

	if (text.len == 0 &&
	    event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return refuse(
		    r, event->start_mark, "a key is missing before \":\"", err);
	earlier = (uintptr_t)map_set(&level->names, text, (void *)line);
	if (earlier != 0)
		return err_set(err, ERR_INPUT,
		    "%s:%zu: the key \"%.*s\" stands on line %zu already; "
		    "each key once",
		    r->yaml.name, (size_t)line, SLICE_ARGS(text),
		    (size_t)earlier);
	begin_node(r, event->start_mark);
	json_put_string(&r->yaml.json, text);
	buf_putc(&r->yaml.json, ':');
	level->has_key = true;
	return 0;
}

/* null, true, false and JSON numbers as they stand; all else is text. */
static bool
is_typed(struct slice text)
{
	struct json value;
	struct err err;

	if (text.len == 0)
		return false;
	if (text.ptr[0] != '-' && (text.ptr[0] < '0' || text.ptr[0] > '9'))
		return slice_is(text, "null") || slice_is(text, "true") ||
		       slice_is(text, "false");
	return json_parse(text, &value, NULL, &err) == 0 &&
	       value.type == JSON_NUMBER && slice_eq(value.raw, text);
}

static int
on_scalar(struct reader *r, const yaml_event_t *event, struct err *err)
{
	struct slice text =
	    slice_of(event->data.scalar.value, event->data.scalar.length);
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (memchr(text.ptr, '\0', text.len) != NULL)
		return refuse(r, event->start_mark,
		    "a text must not hold the character U+0000", err);
	if (expects_key(r))
		return put_key(r, event, text, err);
	begin_node(r, event->start_mark);
	if (plain && (text.len == 0 || slice_is(text, "~")))
		buf_puts(&r->yaml.json, "null");
	else if (plain && is_typed(text))
		buf_put_slice(&r->yaml.json, text);
	else
		json_put_string(&r->yaml.json, text);
	return 0;
}

static int
on_open(
    struct reader *r, const yaml_event_t *event, bool mapping, struct err *err)
{
	if (expects_key(r))
		return refuse(r, event->start_mark,
		    "a key must be plain text, no list and no mapping", err);
	if (r->depth == JSON_DEPTH_MAX)
		return err_set(err, ERR_LIMIT,
		    "%s:%zu: nested deeper than %d levels", r->yaml.name,
		    line_of(r, event->start_mark), JSON_DEPTH_MAX);
	begin_node(r, event->start_mark);
	buf_putc(&r->yaml.json, mapping ? '{' : '[');
	r->levels[r->depth++] = (struct level){
		.mapping = mapping,
		.names = MAP_INIT,
	};
	return 0;
}

static void
on_close(struct reader *r)
{
	struct level *level = &r->levels[--r->depth];

	buf_putc(&r->yaml.json, level->mapping ? '}' : ']');
	map_release(&level->names);
}

static int
check_plainness(struct reader *r, const yaml_event_t *event,
    const yaml_char_t *anchor, const yaml_char_t *tag, struct err *err)
{
	if (anchor != NULL)
		return refuse(r, event->start_mark,
		    "anchors (&name) are not allowed; write the value out",
		    err);
	if (tag != NULL)
		return refuse(r, event->start_mark,
		    "tags (!name) are not allowed; a text that starts with "
		    "\"!\" needs quotes",
		    err);
	return 0;
}

static int
on_event(struct reader *r, const yaml_event_t *event, struct err *err)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (r->documents++ > 0)
			return refuse(r, event->start_mark,
			    "a second document begins; one is allowed", err);
		return 0;
	case YAML_ALIAS_EVENT:
		return refuse(r, event->start_mark,
		    "aliases (*name) are not allowed; a text that starts with "
		    "\"*\" needs quotes",
		    err);
	case YAML_SCALAR_EVENT:
		if (check_plainness(r, event, event->data.scalar.anchor,
			event->data.scalar.tag, err) == -1)
			return -1;
		return on_scalar(r, event, err);
	case YAML_SEQUENCE_START_EVENT:
		if (check_plainness(r, event, event->data.sequence_start.anchor,
			event->data.sequence_start.tag, err) == -1)
			return -1;
		return on_open(r, event, false, err);
	case YAML_MAPPING_START_EVENT:
		if (check_plainness(r, event, event->data.mapping_start.anchor,
			event->data.mapping_start.tag, err) == -1)
			return -1;
		return on_open(r, event, true, err);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		on_close(r);
		return 0;
	case YAML_STREAM_END_EVENT:
		r->ended = true;
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	BUG("yaml event %d", (int)event->type);
}

static int
parser_error(const struct reader *r, struct slice text, struct err *err)
{
	const yaml_parser_t *p = &r->parser;
	const char *problem = p->problem == NULL ? "unreadable" : p->problem;

	if (p->error == YAML_MEMORY_ERROR)
		return err_set(
		    err, ERR_SYSTEM, "%s: not enough memory", r->yaml.name);
	if (p->error == YAML_READER_ERROR)
		return err_set(err, ERR_INPUT, "%s:%zu: %s", r->yaml.name,
		    line_at(text, p->problem_offset), problem);
	if (p->context == NULL)
		return refuse(r, p->problem_mark, problem, err);
	return err_set(err, ERR_INPUT,
	    "%s:%zu: %s (%s that begins on line %zu)", r->yaml.name,
	    line_of(r, p->problem_mark), problem, p->context,
	    line_of(r, p->context_mark));
}

/* YAML 1.1, which libyaml reads, breaks lines at U+0085, U+2028 and U+2029;
 * editors do not. */
static int
check_breaks(const struct reader *r, struct slice text, struct err *err)
{
	static const struct {
		const char *bytes, *name;
	} breaks[] = {
		{ "\xC2\x85", "U+0085 must be written \"\\N\"" },
		{ "\xE2\x80\xA8", "U+2028 must be written \"\\L\"" },
		{ "\xE2\x80\xA9", "U+2029 must be written \"\\P\"" },
	};

	for (size_t i = 0; i < COUNT(breaks) && text.len > 0; i++) {
		const char *found = memmem(text.ptr, text.len, breaks[i].bytes,
		    strlen(breaks[i].bytes));

		if (found != NULL)
			return err_set(err, ERR_INPUT,
			    "%s:%zu: %s, in double quotes", r->yaml.name,
			    line_at(text, (size_t)(found - text.ptr)),
			    breaks[i].name);
	}
	return 0;
}

static int
read_events(struct reader *r, struct slice text, struct err *err)
{
	yaml_event_t event;
	int rc = 0;

	while (rc == 0 && !r->ended) {
		if (yaml_parser_parse(&r->parser, &event) == 0)
			return parser_error(r, text, err);
		rc = on_event(r, &event, err);
		yaml_event_delete(&event);
	}
	return rc;
}

static int
finish(struct reader *r, struct err *err)
{
	struct yaml *yaml = &r->yaml;

	if (yaml->json.len == 0)
		buf_puts(&yaml->json, "null");
	if (buf_check(&yaml->json, yaml->name, err) == -1)
		return -1;
	if (json_parse(buf_slice(&yaml->json), &yaml->root, NULL, err) == -1)
		return err_wrap(err, "%s", yaml->name);
	return 0;
}

int
yaml_parse(
    struct yaml *ret_yaml, const char *name, struct slice text, struct err *err)
{
	struct reader r = {
		.yaml = { .json = BUF_INIT(YAML_JSON_MAX) },
		.lines = line_at(text, text.len),
	};
	int rc = -1;

	if (text.len > YAML_FILE_MAX)
		return err_set(err, ERR_LIMIT, "%s: larger than %u bytes", name,
		    YAML_FILE_MAX);
	if (yaml_parser_initialize(&r.parser) == 0)
		return err_set(err, ERR_SYSTEM, "%s: not enough memory", name);
	r.yaml.name = mem_string(name);
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(
	    &r.parser, (const unsigned char *)text.ptr, text.len);
	if (check_breaks(&r, text, err) == 0 && read_events(&r, text, err) == 0)
		rc = finish(&r, err);
	while (r.depth > 0)
		map_release(&r.levels[--r.depth].names);
	yaml_parser_delete(&r.parser);
	if (rc == 0)
		*ret_yaml = r.yaml;
	else
		yaml_release(&r.yaml);
	return rc;
}

int
yaml_load(struct yaml *ret_yaml, const char *path, struct err *err)
{
	struct buf text = BUF_INIT(YAML_FILE_MAX);
	int rc = buf_read_file(&text, path, err);

	if (rc == 0)
		rc = yaml_parse(ret_yaml, path, buf_slice(&text), err);
	buf_release(&text);
	return rc;
}

void
yaml_release(struct yaml *yaml)
{
	buf_release(&yaml->json);
	yaml->lines = mem_free(yaml->lines);
	yaml->name = mem_free(yaml->name);
	yaml->count = 0;
	yaml->root = (struct json){ 0 };
}

struct json
yaml_value(const struct yaml *yaml)
{
	return yaml->root;
}

unsigned
yaml_line_of(const struct yaml *yaml, struct json value)
{
	uintptr_t start = (uintptr_t)yaml->json.ptr;
	uintptr_t at = (uintptr_t)value.raw.ptr;
	size_t low = 0, high = yaml->count;

	if (at < start || at - start >= yaml->json.len)
		return 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (yaml->lines[middle].pos <= at - start)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? 1 : yaml->lines[low - 1].line;
}
