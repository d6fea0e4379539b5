/*
 * Is a schema one that schema_check can apply? Visits every place where a
 * schema may stand and every target of a $ref, once; then looks for schemas
 * that lead back to themselves without going deeper into the value. Owns the
 * list of what it visited.
 */
#include "base/alloc.h"
#include "base/decimal.h"
#include "base/pattern.h"
#include "base/schema_rules.h"

#define COMPILE_UNITS 2000u

struct node {
	struct json schema;
	enum { FRESH, OPEN, DONE } state; /* in the search for cycles */
};

struct self {
	struct schema_checker c; /* root, work and fault are used */
	struct map known;        /* address of a schema -> its node */
	struct node **nodes;     /* owned, as are the nodes */
	size_t count, cap;
	struct json *refs; /* owned; the $refs met so far */
	size_t ref_count, ref_cap;
};

static bool visit(struct self *s, const struct schema_spot *spot);

static struct slice
address_of(const struct json *value)
{
	return slice_of(&value->raw.ptr, sizeof(value->raw.ptr));
}

static bool
wrong(struct self *s, const struct schema_spot *spot, const char *what)
{
	char text[SCHEMA_PREVIEW];

	return schema_fault(&s->c, spot, spot->value, "%s is not allowed; %s",
	    schema_preview(spot->value, text), what);
}

static struct schema_spot
below(const struct schema_spot *up, struct json key, size_t index,
    struct json value)
{
	return (struct schema_spot){
		.up = up,
		.key = key,
		.index = index,
		.depth = up->depth + 1,
		.value = value,
	};
}

/* ---- the values of keywords ---- */

static bool
check_pattern(struct self *s, const struct schema_spot *spot, struct json text)
{
	struct buf decoded = BUF_INIT(text.raw.len * 3);
	struct pattern *pattern = NULL;
	struct err err = { 0 };
	int rc;

	if (!schema_spend(&s->c, COMPILE_UNITS + text.raw.len * 64))
		return false;
	json_decode(text, &decoded);
	rc = pattern_new(&pattern, buf_slice(&decoded), &err);
	pattern_free(pattern);
	buf_release(&decoded);
	return rc == 0 || schema_fault(&s->c, spot, spot->value,
			      "is no regular expression: %s", err.text);
}

static bool
check_type(struct self *s, const struct schema_spot *spot)
{
	static const char allowed[] = "must be null, boolean, integer, number, "
				      "string, array, object or a list of them";
	struct json_iter it = json_iter(spot->value);
	struct json key, name;

	if (spot->value.type == JSON_STRING)
		return schema_type_row(spot->value) != -1 ||
		       wrong(s, spot, allowed);
	if (json_count(spot->value) == 0 || spot->value.type != JSON_ARRAY)
		return wrong(s, spot, allowed);
	for (size_t i = 0; json_next(&it, &key, &name); i++) {
		struct schema_spot one = below(spot, key, i, name);

		if (schema_type_row(name) == -1)
			return wrong(s, &one, allowed);
	}
	return true;
}

static bool
check_names(struct self *s, const struct schema_spot *spot)
{
	struct json_iter it = json_iter(spot->value);
	struct json key, name;

	if (spot->value.type != JSON_ARRAY)
		return wrong(s, spot, "must be an array of strings");
	for (size_t i = 0; json_next(&it, &key, &name); i++) {
		struct schema_spot one = below(spot, key, i, name);

		if (name.type != JSON_STRING)
			return wrong(s, &one, "must be a string");
	}
	return true;
}

static bool
check_names_map(struct self *s, const struct schema_spot *spot)
{
	struct json_iter it = json_iter(spot->value);
	struct json key, names;

	if (spot->value.type != JSON_OBJECT)
		return wrong(s, spot, "must be an object of arrays of strings");
	while (json_next(&it, &key, &names)) {
		struct schema_spot one = below(spot, key, 0, names);

		if (!check_names(s, &one))
			return false;
	}
	return true;
}

static bool
check_number(
    struct self *s, const struct schema_spot *spot, enum schema_shape shape)
{
	struct decimal number;

	if (spot->value.type != JSON_NUMBER)
		return wrong(s, spot, "must be a number");
	number = decimal_read(spot->value.raw);
	if (shape == SCHEMA_SHAPE_COUNT &&
	    (number.negative || !decimal_is_integer(&number)))
		return wrong(s, spot, "must be an integer, at least 0");
	if (shape == SCHEMA_SHAPE_DIVISOR &&
	    (number.negative || number.zero ||
		decimal_digits(&number) > DECIMAL_DIVISOR_DIGITS))
		return wrong(
		    s, spot, "must be more than 0 and have at most 18 digits");
	return true;
}

static bool
visit_items(struct self *s, const struct schema_spot *spot)
{
	struct json_iter it = json_iter(spot->value);
	struct json key, one;

	if (spot->value.type != JSON_ARRAY || json_count(spot->value) == 0)
		return wrong(s, spot, "must be an array of schemas");
	for (size_t i = 0; json_next(&it, &key, &one); i++) {
		struct schema_spot item = below(spot, key, i, one);

		if (!visit(s, &item))
			return false;
	}
	return true;
}

static bool
visit_members(struct self *s, const struct schema_spot *spot, bool patterns)
{
	struct json_iter it = json_iter(spot->value);
	struct json key, one;

	if (spot->value.type != JSON_OBJECT)
		return wrong(s, spot, "must be an object of schemas");
	while (json_next(&it, &key, &one)) {
		struct schema_spot member = below(spot, key, 0, one);

		if (patterns && !check_pattern(s, &member, key))
			return false;
		if (!visit(s, &member))
			return false;
	}
	return true;
}

static bool
note_ref(struct self *s, const struct schema_spot *spot)
{
	struct json target = schema_ref(&s->c, spot->value);

	if (s->c.stopped)
		return false;
	if (target.type == JSON_NONE)
		return wrong(s, spot,
		    "must be \"#\" or \"#/…\" and name a schema of this "
		    "document");
	if (s->ref_count == s->ref_cap) {
		s->ref_cap = s->ref_cap == 0 ? 16 : s->ref_cap * 2;
		s->refs = mem_grow(s->refs, s->ref_cap * sizeof(*s->refs));
	}
	s->refs[s->ref_count++] = spot->value;
	return true;
}

static bool
check_keyword(struct self *s, const struct schema_spot *spot,
    const struct schema_keyword *keyword)
{
	switch (keyword->shape) {
	case SCHEMA_SHAPE_ANY:
		return true;
	case SCHEMA_SHAPE_SCHEMA:
		return visit(s, spot);
	case SCHEMA_SHAPE_SCHEMAS:
		return visit_items(s, spot);
	case SCHEMA_SHAPE_SCHEMA_MAP:
	case SCHEMA_SHAPE_PATTERN_MAP:
		return visit_members(
		    s, spot, keyword->shape == SCHEMA_SHAPE_PATTERN_MAP);
	case SCHEMA_SHAPE_NUMBER:
	case SCHEMA_SHAPE_DIVISOR:
	case SCHEMA_SHAPE_COUNT:
		return check_number(s, spot, keyword->shape);
	case SCHEMA_SHAPE_BOOL:
		return spot->value.type == JSON_TRUE ||
		       spot->value.type == JSON_FALSE ||
		       wrong(s, spot, "must be true or false");
	case SCHEMA_SHAPE_TYPES:
		return check_type(s, spot);
	case SCHEMA_SHAPE_NAMES:
		return check_names(s, spot);
	case SCHEMA_SHAPE_NAMES_MAP:
		return check_names_map(s, spot);
	case SCHEMA_SHAPE_VALUES:
		return spot->value.type == JSON_ARRAY ||
		       wrong(s, spot, "must be an array of values");
	case SCHEMA_SHAPE_PATTERN:
		return spot->value.type == JSON_STRING
			   ? check_pattern(s, spot, spot->value)
			   : wrong(s, spot, "must be a string");
	case SCHEMA_SHAPE_REF:
		return note_ref(s, spot);
	case SCHEMA_SHAPE_ID:
		return spot->up->up == NULL ||
		       wrong(s, spot, "$id may stand at the top only");
	case SCHEMA_SHAPE_REFUSED:
		return schema_fault(&s->c, spot, spot->value,
		    "this keyword is not supported; leave it out or say it "
		    "with properties, items and the keywords beside them");
	}
	BUG("schema shape %d", (int)keyword->shape);
}

/* ---- every schema once ---- */

static void
add_node(struct self *s, struct json schema)
{
	struct node *node = MEM_NEW(struct node);

	node->schema = schema;
	map_set(&s->known, address_of(&schema), node);
	if (s->count == s->cap) {
		s->cap = s->cap == 0 ? 64 : s->cap * 2;
		s->nodes = mem_grow(s->nodes, s->cap * sizeof(struct node *));
	}
	s->nodes[s->count++] = node;
}

static bool
visit(struct self *s, const struct schema_spot *spot)
{
	struct json_iter it = json_iter(spot->value);
	struct json key, arg;

	if (spot->value.type == JSON_TRUE || spot->value.type == JSON_FALSE)
		return true;
	if (spot->value.type != JSON_OBJECT)
		return wrong(
		    s, spot, "must be a schema: an object, true or false");
	if (map_get(&s->known, address_of(&spot->value)) != NULL)
		return true;
	if (!schema_spend(&s->c, spot->value.raw.len))
		return false;
	add_node(s, spot->value);
	while (json_next(&it, &key, &arg)) {
		const struct schema_keyword *k = schema_keyword_find(key);
		struct schema_spot member = below(spot, key, 0, arg);

		if (k != NULL && !check_keyword(s, &member, k))
			return false;
	}
	return true;
}

static bool
visit_targets(struct self *s, const struct schema_spot *root)
{
	for (size_t i = 0; i < s->ref_count; i++) {
		struct json target = schema_ref(&s->c, s->refs[i]);
		struct schema_spot spot = below(root, s->refs[i], 0, target);

		if (!visit(s, &spot))
			return false;
	}
	return true;
}

/* ---- cycles ---- */

static bool search(struct self *s, struct json schema, struct json ref);

/* All schemas that a keyword applies to the same value. */
static bool
search_keyword(struct self *s, const struct schema_keyword *k, struct json arg)
{
	struct json none = { 0 };
	struct json_iter it;
	struct json key, one;

	if (k->shape == SCHEMA_SHAPE_REF)
		return search(s, schema_ref(&s->c, arg), arg);
	if (k->shape == SCHEMA_SHAPE_SCHEMA)
		return search(s, arg, none);
	it = json_iter(arg);
	while (json_next(&it, &key, &one)) {
		if (!search(s, one, none))
			return false;
	}
	return true;
}

static bool
search(struct self *s, struct json schema, struct json ref)
{
	struct node *node = map_get(&s->known, address_of(&schema));
	struct schema_spot root = { .value = s->c.root };
	struct json_iter it = json_iter(schema);
	char text[SCHEMA_PREVIEW];
	struct json key, arg;
	bool ok = true;

	if (schema.type != JSON_OBJECT || node == NULL || node->state == DONE)
		return true;
	if (node->state == OPEN)
		return schema_fault(&s->c, &root, root.value,
		    "the $ref %s leads back to itself without going deeper "
		    "into the value",
		    schema_preview(ref, text));
	if (!schema_spend(&s->c, schema.raw.len))
		return false;
	if (s->c.nest == SCHEMA_NEST_MAX)
		return schema_stop(&s->c, "the schema is nested too deep");
	s->c.nest++;
	node->state = OPEN;
	while (ok && json_next(&it, &key, &arg)) {
		const struct schema_keyword *k = schema_keyword_find(key);

		if (k != NULL && k->in_place)
			ok = search_keyword(s, k, arg);
	}
	node->state = DONE;
	s->c.nest--;
	return ok;
}

static bool
search_all(struct self *s)
{
	struct json none = { 0 };

	for (size_t i = 0; i < s->count; i++) {
		if (!search(s, s->nodes[i]->schema, none))
			return false;
	}
	return true;
}

int
schema_check_self(struct json schema, struct err *err)
{
	struct schema_spot root = { .value = schema };
	struct self s = { 0 };
	int rc = 0;

	if (json_no_duplicates(schema, err) == -1)
		return -1;
	schema_checker_init(&s.c, schema);
	if (!visit(&s, &root) || !visit_targets(&s, &root) || !search_all(&s))
		rc = schema_fault_err(&s.c, err);
	for (size_t i = 0; i < s.count; i++)
		mem_free(s.nodes[i]);
	mem_free(s.nodes);
	mem_free(s.refs);
	map_release(&s.known);
	schema_checker_release(&s.c);
	return rc;
}
