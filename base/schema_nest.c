/*
 * The keywords of JSON Schema that apply other schemas: to members and items,
 * to the value itself in several forms, and by $ref. None goes on once the
 * checker is stopped. They keep nothing.
 */
#include "base/schema_rules.h"

#include <inttypes.h>

#include "base/decimal.h"

#define LIST_MAX 280u

/* ---- members ---- */

static struct schema_spot
member_spot(const struct schema_spot *up, struct json key, struct json value)
{
	return (struct schema_spot){
		.up = up,
		.key = key,
		.depth = up->depth + 1,
		.value = value,
	};
}

bool
schema_on_properties(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	struct json_iter it = json_iter(spot->value);
	struct json key, value;

	(void)schema;
	if (!schema_spend(c, spot->value.raw.len))
		return false;
	while (json_next(&it, &key, &value)) {
		struct schema_spot member = member_spot(spot, key, value);
		struct json one = schema_member(c, arg, key, NULL);

		if (!schema_fits(c, &member, one) || c->stopped)
			return false;
	}
	return true;
}

/* Applies what patternProperties says about one member, if spot is not NULL;
 * *ret_known: a pattern matched its name. */
static bool
match_patterns(struct schema_checker *c, const struct schema_spot *spot,
    struct json patterns, struct json key, bool *ret_known)
{
	struct json_iter it = json_iter(patterns);
	struct json pattern, schema;

	if (patterns.type != JSON_OBJECT)
		return true;
	if (!schema_spend(c, patterns.raw.len))
		return false;
	while (json_next(&it, &pattern, &schema)) {
		int found = schema_pattern(c, pattern, key);

		if (found == -1)
			return false;
		if (found == 0)
			continue;
		*ret_known = true;
		if (spot != NULL && !schema_fits(c, spot, schema))
			return false;
	}
	return true;
}

bool
schema_on_pattern_properties(struct schema_checker *c,
    const struct schema_spot *spot, struct json schema, struct json arg)
{
	struct json_iter it = json_iter(spot->value);
	struct json key, value;
	bool known;

	(void)schema;
	if (!schema_spend(c, spot->value.raw.len))
		return false;
	while (json_next(&it, &key, &value)) {
		struct schema_spot member = member_spot(spot, key, value);

		if (!match_patterns(c, &member, arg, key, &known))
			return false;
	}
	return true;
}

static bool
unknown_key(struct schema_checker *c, const struct schema_spot *member,
    struct json properties, struct json patterns)
{
	struct buf allowed = BUF_INIT(LIST_MAX);

	schema_list(properties, &allowed);
	if (json_count(patterns) > 0) {
		buf_puts(&allowed,
		    allowed.len > 0 ? " and what matches " : "what matches ");
		schema_list(patterns, &allowed);
	}
	schema_fault(c, member, member->key, "unknown key; allowed: %.*s",
	    SLICE_ARGS(allowed.len > 0 ? buf_slice(&allowed) : SLICE("none")));
	buf_release(&allowed);
	return false;
}

bool
schema_on_additional_properties(struct schema_checker *c,
    const struct schema_spot *spot, struct json schema, struct json arg)
{
	struct json properties = schema_beside(c, schema, "properties");
	struct json patterns = schema_beside(c, schema, "patternProperties");
	struct json_iter it = json_iter(spot->value);
	struct json key, value, found;

	if (!schema_spend(c, spot->value.raw.len))
		return false;
	while (json_next(&it, &key, &value)) {
		struct schema_spot member = member_spot(spot, key, value);
		bool known = false;

		found = schema_member(c, properties, key, NULL);
		if (!match_patterns(c, NULL, patterns, key, &known) ||
		    c->stopped)
			return false;
		if (known || found.type != JSON_NONE)
			continue;
		if (arg.type == JSON_FALSE)
			return unknown_key(c, &member, properties, patterns);
		if (!schema_fits(c, &member, arg))
			return false;
	}
	return true;
}

bool
schema_on_property_names(struct schema_checker *c,
    const struct schema_spot *spot, struct json schema, struct json arg)
{
	struct json_iter it = json_iter(spot->value);
	struct json key, value;

	(void)schema;
	if (!schema_spend(c, spot->value.raw.len))
		return false;
	while (json_next(&it, &key, &value)) {
		struct schema_spot name = member_spot(spot, key, key);

		if (!schema_fits(c, &name, arg))
			return false;
	}
	return true;
}

bool
schema_on_dependent_schemas(struct schema_checker *c,
    const struct schema_spot *spot, struct json schema, struct json arg)
{
	struct json_iter it = json_iter(arg);
	struct json trigger, one;

	(void)schema;
	while (json_next(&it, &trigger, &one)) {
		if (schema_member(c, spot->value, trigger, NULL).type !=
			JSON_NONE &&
		    !schema_fits(c, spot, one))
			return false;
	}
	return !c->stopped;
}

/* ---- items ---- */

static struct schema_spot
item_spot(const struct schema_spot *up, size_t index, struct json value)
{
	return (struct schema_spot){
		.up = up,
		.index = index,
		.depth = up->depth + 1,
		.value = value,
	};
}

bool
schema_on_prefix_items(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	struct json_iter items = json_iter(spot->value);
	struct json_iter schemas = json_iter(arg);
	struct json key, value, one;

	(void)schema;
	if (arg.type != JSON_ARRAY)
		return true;
	if (!schema_spend(c, spot->value.raw.len))
		return false;
	for (size_t i = 0;
	     json_next(&items, &key, &value) && json_next(&schemas, &key, &one);
	     i++) {
		struct schema_spot item = item_spot(spot, i, value);

		if (!schema_fits(c, &item, one))
			return false;
	}
	return true;
}

bool
schema_on_items(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	struct json prefix = schema_beside(c, schema, "prefixItems");
	size_t skip = prefix.type == JSON_ARRAY ? json_count(prefix) : 0;
	struct json_iter it = json_iter(spot->value);
	struct json key, value;

	if (!schema_spend(c, spot->value.raw.len))
		return false;
	for (size_t i = 0; json_next(&it, &key, &value); i++) {
		struct schema_spot item = item_spot(spot, i, value);

		if (i < skip)
			continue;
		if (arg.type == JSON_FALSE)
			return schema_fault(c, &item, value,
			    "one item too many; allowed: %zu", skip);
		if (!schema_fits(c, &item, arg))
			return false;
	}
	return true;
}

/* A count as a keyword gives it; too long ones are as good as endless. */
static uint64_t
count_of(struct json value, uint64_t otherwise)
{
	struct decimal number;
	int64_t count;

	if (value.type != JSON_NUMBER)
		return otherwise;
	number = decimal_read(value.raw);
	return decimal_i64(&number, &count) ? (uint64_t)count : UINT64_MAX;
}

bool
schema_on_contains(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	uint64_t least = count_of(schema_beside(c, schema, "minContains"), 1);
	uint64_t most =
	    count_of(schema_beside(c, schema, "maxContains"), UINT64_MAX);
	struct json_iter it = json_iter(spot->value);
	struct json key, value;
	uint64_t found = 0;

	if (!schema_spend(c, spot->value.raw.len))
		return false;
	for (size_t i = 0; json_next(&it, &key, &value); i++) {
		struct schema_spot item = item_spot(spot, i, value);

		found += schema_fits(c, &item, arg);
		if (c->stopped)
			return false;
	}
	if (found < least)
		return schema_fault(c, spot, spot->value,
		    "has %" PRIu64 " items of the form under \"contains\"; "
		    "allowed: at least %" PRIu64,
		    found, least);
	if (found > most)
		return schema_fault(c, spot, spot->value,
		    "has %" PRIu64 " items of the form under \"contains\"; "
		    "allowed: at most %" PRIu64,
		    found, most);
	return true;
}

/* ---- forms of the same value ---- */

bool
schema_on_all_of(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	struct json_iter it = json_iter(arg);
	struct json key, one;

	(void)schema;
	while (json_next(&it, &key, &one)) {
		if (!schema_fits(c, spot, one))
			return false;
	}
	return true;
}

/* The faults of the forms that a value does not fit: the one that lies deepest
 * says most; those at the value itself are told one after the other. */
struct faults {
	struct schema_fault deepest;
	struct buf texts;
	size_t count;
};

static void
add_fault(struct faults *faults, const struct schema_spot *spot,
    const struct schema_fault *fault)
{
	if (faults->count++ == 0 || fault->depth > faults->deepest.depth)
		faults->deepest = *fault;
	if (fault->depth != spot->depth)
		return;
	if (faults->texts.len > 0)
		buf_puts(&faults->texts, "; or: ");
	buf_puts(&faults->texts, fault->text);
}

static bool
tell_faults(struct schema_checker *c, const struct schema_spot *spot,
    const struct faults *faults)
{
	if (faults->count == 0 || faults->deepest.depth > spot->depth) {
		c->fault = faults->deepest;
		return false;
	}
	return schema_fault(c, spot, spot->value, "%.*s",
	    SLICE_ARGS(buf_slice(&faults->texts)));
}

/* How many forms fit, at most `enough`; sets the fault when none does. */
static unsigned
count_forms(struct schema_checker *c, const struct schema_spot *spot,
    struct json forms, unsigned enough)
{
	struct faults faults = { .texts = BUF_INIT(sizeof(c->fault.text) - 1) };
	struct json_iter it = json_iter(forms);
	struct json key, one;
	unsigned found = 0;

	while (found < enough && !c->stopped && json_next(&it, &key, &one)) {
		if (schema_fits(c, spot, one))
			found++;
		else if (!c->stopped)
			add_fault(&faults, spot, &c->fault);
	}
	if (found == 0 && !c->stopped)
		tell_faults(c, spot, &faults);
	buf_release(&faults.texts);
	return found;
}

bool
schema_on_any_of(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	(void)schema;
	return json_count(arg) == 0 || count_forms(c, spot, arg, 1) > 0;
}

bool
schema_on_one_of(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	unsigned found;

	(void)schema;
	if (json_count(arg) == 0)
		return true;
	found = count_forms(c, spot, arg, 2);
	if (c->stopped || found == 0)
		return false;
	return found == 1 ||
	       schema_fault(c, spot, spot->value,
		   "fits more than one of the forms under \"oneOf\"; "
		   "allowed: exactly one");
}

bool
schema_on_not(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	struct buf excluded = BUF_INIT(LIST_MAX);
	char text[SCHEMA_PREVIEW];
	struct json values;

	(void)schema;
	if (!schema_fits(c, spot, arg))
		return !c->stopped;
	values = json_get(arg, "enum");
	if (values.type == JSON_ARRAY)
		schema_list(values, &excluded);
	schema_fault(c, spot, spot->value, "%s is not allowed%s%.*s",
	    schema_preview(spot->value, text),
	    excluded.len > 0 ? "; allowed: all but " : " here",
	    SLICE_ARGS(buf_slice(&excluded)));
	buf_release(&excluded);
	return false;
}

bool
schema_on_if(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	const char *branch = schema_fits(c, spot, arg) ? "then" : "else";

	if (c->stopped)
		return false;
	return schema_fits(c, spot, schema_beside(c, schema, branch));
}

bool
schema_on_ref(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema, struct json arg)
{
	struct json target = schema_ref(c, arg);

	(void)schema;
	return !c->stopped && schema_fits(c, spot, target);
}
