/*
 * The keywords of JSON Schema that judge one value by itself: its type, size,
 * text and names. Each says what is wrong and what is allowed. They apply no
 * other schema and keep nothing.
 */
#include "base/schema_rules.h"

#include "base/alloc.h"
#include "base/decimal.h"
#include "base/json_equal.h"

#define LIST_MAX 280u

/* ---- type ---- */

static const struct {
	const char *name, *words;
	unsigned types;
} types[] = {
	{ "null", "null", SCHEMA_ON(JSON_NULL) },
	{ "boolean", "true or false",
	    SCHEMA_ON(JSON_TRUE) | SCHEMA_ON(JSON_FALSE) },
	{ "number", "a number", SCHEMA_ON(JSON_NUMBER) },
	{ "integer", "an integer", SCHEMA_ON(JSON_NUMBER) },
	{ "string", "a string", SCHEMA_ON(JSON_STRING) },
	{ "array", "an array", SCHEMA_ON(JSON_ARRAY) },
	{ "object", "an object", SCHEMA_ON(JSON_OBJECT) },
};

int
schema_type_row(struct json name)
{
	for (size_t i = 0; i < COUNT(types); i++) {
		if (json_is(name, types[i].name))
			return (int)i;
	}
	return -1;
}

static bool
is_of_type(struct json value, struct json name)
{
	int row = schema_type_row(name);
	struct decimal number;

	if (row == -1 || (types[row].types & SCHEMA_ON(value.type)) == 0)
		return false;
	if (strcmp(types[row].name, "integer") != 0)
		return true;
	number = decimal_read(value.raw);
	return decimal_is_integer(&number);
}

static void
put_type(struct buf *out, struct json name, const char *joint)
{
	int row = schema_type_row(name);

	if (row == -1)
		return;
	if (out->len > 0)
		buf_puts(out, joint);
	buf_puts(out, types[row].words);
}

/* "null, a string or an integer" */
static void
put_types(struct buf *out, struct json arg)
{
	struct json_iter it = json_iter(arg);
	size_t n = json_count(arg);
	struct json key, name;

	if (arg.type == JSON_STRING)
		put_type(out, arg, "");
	for (size_t i = 1; json_next(&it, &key, &name); i++)
		put_type(out, name, i == n ? " or " : ", ");
}

bool
schema_on_type(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	struct buf allowed = BUF_INIT(LIST_MAX);
	struct json_iter it = json_iter(arg);
	char text[SCHEMA_PREVIEW];
	struct json key, name;

	(void)schema;
	if (arg.type == JSON_STRING && is_of_type(spot->value, arg))
		return true;
	while (json_next(&it, &key, &name)) {
		if (is_of_type(spot->value, name))
			return true;
	}
	put_types(&allowed, arg);
	if (allowed.len == 0)
		return true;
	schema_fault(c, spot, spot->value, "%s is not allowed; must be %.*s",
	    schema_preview(spot->value, text), SLICE_ARGS(buf_slice(&allowed)));
	buf_release(&allowed);
	return false;
}

/* ---- enum and const ---- */

bool
schema_on_enum(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	struct buf allowed = BUF_INIT(LIST_MAX);
	struct json_iter it = json_iter(arg);
	char text[SCHEMA_PREVIEW];
	struct json key, one;

	(void)schema;
	if (arg.type != JSON_ARRAY || !schema_spend(c, arg.raw.len))
		return !c->stopped;
	while (json_next(&it, &key, &one)) {
		if (json_equal(one, spot->value, &c->work))
			return true;
	}
	schema_list(arg, &allowed);
	schema_fault(c, spot, spot->value, "%s is not allowed; allowed: %.*s",
	    schema_preview(spot->value, text), SLICE_ARGS(buf_slice(&allowed)));
	buf_release(&allowed);
	return false;
}

bool
schema_on_const(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	char text[SCHEMA_PREVIEW], only[SCHEMA_PREVIEW];

	(void)schema;
	if (json_equal(arg, spot->value, &c->work))
		return true;
	return schema_fault(c, spot, spot->value,
	    "%s is not allowed; must be %s", schema_preview(spot->value, text),
	    schema_preview(arg, only));
}

/* ---- numbers ---- */

/* "0 to 2", "at least 0", "more than 0 and at most 2": what two or four
 * keywords of a schema allow together. */
static void
put_range(struct schema_checker *c, struct json schema,
    const char *const names[4], struct buf *out)
{
	static const char *const words[] = { "at least ", "at most ",
		"more than ", "less than " };
	struct json limits[4] = { 0 };
	char text[SCHEMA_PREVIEW];
	bool first = true;

	for (size_t i = 0; i < 4 && names[i] != NULL; i++)
		limits[i] = schema_beside(c, schema, names[i]);
	if (limits[0].type == JSON_NUMBER && limits[1].type == JSON_NUMBER &&
	    limits[2].type == JSON_NONE && limits[3].type == JSON_NONE) {
		buf_puts(out, schema_preview(limits[0], text));
		buf_puts(out, " to ");
		buf_puts(out, schema_preview(limits[1], text));
		return;
	}
	for (size_t i = 0; i < 4; i++) {
		if (limits[i].type != JSON_NUMBER)
			continue;
		buf_puts(out, first ? "" : " and ");
		buf_puts(out, words[i]);
		buf_puts(out, schema_preview(limits[i], text));
		first = false;
	}
}

static bool
range_fault(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, const char *what, struct json limit)
{
	static const char *const names[] = { "minimum", "maximum",
		"exclusiveMinimum", "exclusiveMaximum" };
	char text[SCHEMA_PREVIEW], bound[SCHEMA_PREVIEW];
	struct buf range = BUF_INIT(LIST_MAX);

	put_range(c, schema, names, &range);
	schema_fault(c, spot, spot->value, "%s %s %s; allowed: %.*s",
	    schema_preview(spot->value, text), what,
	    schema_preview(limit, bound), SLICE_ARGS(buf_slice(&range)));
	buf_release(&range);
	return false;
}

/* -1, 0, 1; an argument that is no number allows everything: `otherwise`. */
static int
compare(struct json value, struct json arg, int otherwise)
{
	struct decimal a, b;

	if (arg.type != JSON_NUMBER)
		return otherwise;
	a = decimal_read(value.raw);
	b = decimal_read(arg.raw);
	return decimal_compare(&a, &b);
}

bool
schema_on_minimum(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	return compare(spot->value, arg, 1) >= 0 ||
	       range_fault(c, spot, schema, "is less than", arg);
}

bool
schema_on_maximum(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	return compare(spot->value, arg, -1) <= 0 ||
	       range_fault(c, spot, schema, "is more than", arg);
}

bool
schema_on_exclusive_minimum(struct schema_checker *c,
    const struct schema_spot *spot, struct json schema, struct json arg)
{
	return compare(spot->value, arg, 1) > 0 ||
	       range_fault(c, spot, schema, "is not more than", arg);
}

bool
schema_on_exclusive_maximum(struct schema_checker *c,
    const struct schema_spot *spot, struct json schema, struct json arg)
{
	return compare(spot->value, arg, -1) < 0 ||
	       range_fault(c, spot, schema, "is not less than", arg);
}

bool
schema_on_multiple_of(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	char text[SCHEMA_PREVIEW], step[SCHEMA_PREVIEW];
	struct decimal a, b;

	(void)schema;
	if (arg.type != JSON_NUMBER)
		return true;
	a = decimal_read(spot->value.raw);
	b = decimal_read(arg.raw);
	if (decimal_is_multiple(&a, &b))
		return true;
	return schema_fault(c, spot, spot->value,
	    "%s is not allowed; must be a multiple of %s",
	    schema_preview(spot->value, text), schema_preview(arg, step));
}

/* ---- how much there is of it ---- */

/* Is count within the two keywords of the schema? */
static bool
count_fits(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg, size_t count, const char *unit,
    const char *least, const char *most)
{
	const char *const names[4] = { least, most };
	bool is_least = arg.raw.ptr == json_get(schema, least).raw.ptr;
	struct buf allowed = BUF_INIT(LIST_MAX);
	struct decimal have, limit;
	char digits[24];
	int order;

	if (arg.type != JSON_NUMBER || !schema_spend(c, schema.raw.len))
		return !c->stopped;
	snprintf(digits, sizeof(digits), "%zu", count);
	have = decimal_read(slice_string(digits));
	limit = decimal_read(arg.raw);
	order = decimal_compare(&have, &limit);
	if (is_least ? order >= 0 : order <= 0)
		return true;
	put_range(c, schema, names, &allowed);
	schema_fault(c, spot, spot->value, "has %zu %s%s; allowed: %.*s", count,
	    unit, count == 1 ? "" : "s", SLICE_ARGS(buf_slice(&allowed)));
	buf_release(&allowed);
	return false;
}

bool
schema_on_length(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	size_t count = 0;

	if (!schema_spend(c, spot->value.raw.len))
		return false;
	buf_clear(&c->text);
	json_decode(spot->value, &c->text);
	for (size_t i = 0; i < c->text.len; i++)
		count += ((unsigned char)c->text.ptr[i] & 0xc0) != 0x80;
	return count_fits(
	    c, spot, schema, arg, count, "character", "minLength", "maxLength");
}

bool
schema_on_items_count(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	if (!schema_spend(c, spot->value.raw.len))
		return false;
	return count_fits(c, spot, schema, arg, json_count(spot->value), "item",
	    "minItems", "maxItems");
}

bool
schema_on_members_count(struct schema_checker *c,
    const struct schema_spot *spot, struct json schema, struct json arg)
{
	if (!schema_spend(c, spot->value.raw.len))
		return false;
	return count_fits(c, spot, schema, arg, json_count(spot->value), "key",
	    "minProperties", "maxProperties");
}

bool
schema_on_pattern(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	char text[SCHEMA_PREVIEW], expression[SCHEMA_PREVIEW];

	(void)schema;
	if (arg.type != JSON_STRING)
		return true;
	if (schema_pattern(c, arg, spot->value) != 0)
		return !c->stopped;
	return schema_fault(c, spot, spot->value,
	    "%s is not allowed; must match %s",
	    schema_preview(spot->value, text), schema_preview(arg, expression));
}

/* ---- items that differ ---- */

struct hashed {
	uint64_t hash;
	size_t index;
	struct json value;
};

static int
by_hash(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The first pair of equal items among those of equal hash; false if none. */
static bool
find_twins(struct schema_checker *c, const struct hashed *items, size_t n,
    const struct hashed **ret_one, const struct hashed **ret_other)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = i + 1; k < n && items[k].hash == items[i].hash;
		     k++) {
			if (!json_equal(
				items[i].value, items[k].value, &c->work))
				continue;
			*ret_one = &items[i];
			*ret_other = &items[k];
			return true;
		}
	}
	return false;
}

bool
schema_on_unique_items(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	size_t n = json_count(spot->value), i = 0;
	struct json_iter it = json_iter(spot->value);
	const struct hashed *one = NULL, *other = NULL;
	char text[SCHEMA_PREVIEW];
	struct hashed *items;
	struct json key, item;

	(void)schema;
	if (arg.type != JSON_TRUE || n < 2)
		return true;
	if (!schema_spend(c, n * sizeof(*items) + spot->value.raw.len))
		return false;
	items = mem_array(n, sizeof(*items));
	while (json_next(&it, &key, &item)) {
		items[i] = (struct hashed){
			.hash = json_hash(item, &c->work),
			.index = i,
			.value = item,
		};
		i++;
	}
	qsort(items, n, sizeof(*items), by_hash);
	if (find_twins(c, items, n, &one, &other))
		schema_fault(c, spot, other->value,
		    "%s stands at %zu and at %zu; each item once",
		    schema_preview(other->value, text), one->index,
		    other->index);
	mem_free(items);
	return schema_spend(c, 1) && one == NULL;
}

/* ---- names that must be there ---- */

bool
schema_on_required(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	struct buf required = BUF_INIT(LIST_MAX);
	struct json_iter it = json_iter(arg);
	char text[SCHEMA_PREVIEW];
	struct json key, name;

	(void)schema;
	while (json_next(&it, &key, &name)) {
		if (name.type != JSON_STRING ||
		    schema_member(c, spot->value, name, NULL).type != JSON_NONE)
			continue;
		schema_list(arg, &required);
		schema_fault(c, spot, spot->value,
		    "the key %s is missing; required: %.*s",
		    schema_preview(name, text),
		    SLICE_ARGS(buf_slice(&required)));
		buf_release(&required);
		return false;
	}
	return true;
}

static bool
has_all(struct schema_checker *c, const struct schema_spot *spot,
    struct json trigger, struct json names)
{
	struct json_iter it = json_iter(names);
	char text[SCHEMA_PREVIEW], beside[SCHEMA_PREVIEW];
	struct json key, name;

	while (json_next(&it, &key, &name)) {
		if (name.type != JSON_STRING ||
		    schema_member(c, spot->value, name, NULL).type != JSON_NONE)
			continue;
		return schema_fault(c, spot, spot->value,
		    "the key %s is missing; it is required beside %s",
		    schema_preview(name, text),
		    schema_preview(trigger, beside));
	}
	return true;
}

bool
schema_on_dependent_required(struct schema_checker *c,
    const struct schema_spot *spot, struct json schema, struct json arg)
{
	struct json_iter it = json_iter(arg);
	struct json trigger, names;

	(void)schema;
	while (json_next(&it, &trigger, &names)) {
		if (schema_member(c, spot->value, trigger, NULL).type !=
			JSON_NONE &&
		    !has_all(c, spot, trigger, names))
			return false;
	}
	return true;
}
