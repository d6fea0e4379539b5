/*
 * The engine of a schema check: walks the keywords of a schema by the one table
 * of keywords, counts work and depth, and keeps the fault that is told. Owns
 * the state of one check; keeps nothing between two.
 */
#include "base/schema_check.h"

#include <stdarg.h>

#include "base/alloc.h"
#include "base/json_equal.h"
#include "base/pattern.h"
#include "base/schema_rules.h"
#include "base/utf8.h"

/* Work besides bytes read, in bytes that take about as long. */
#define FAULT_UNITS   1000u
#define SCHEMA_UNITS  32u
#define COMPILE_UNITS 2000u

#define ALL (~0u)
#define NUM SCHEMA_ON(JSON_NUMBER)
#define STR SCHEMA_ON(JSON_STRING)
#define ARR SCHEMA_ON(JSON_ARRAY)
#define OBJ SCHEMA_ON(JSON_OBJECT)

/* clang-format off */
static const struct schema_keyword keywords[] = {
	{ "type", SCHEMA_SHAPE_TYPES, false, ALL, schema_on_type },
	{ "enum", SCHEMA_SHAPE_VALUES, false, ALL, schema_on_enum },
	{ "const", SCHEMA_SHAPE_ANY, false, ALL, schema_on_const },

	{ "minimum", SCHEMA_SHAPE_NUMBER, false, NUM, schema_on_minimum },
	{ "maximum", SCHEMA_SHAPE_NUMBER, false, NUM, schema_on_maximum },
	{ "exclusiveMinimum", SCHEMA_SHAPE_NUMBER, false, NUM, schema_on_exclusive_minimum },
	{ "exclusiveMaximum", SCHEMA_SHAPE_NUMBER, false, NUM, schema_on_exclusive_maximum },
	{ "multipleOf", SCHEMA_SHAPE_DIVISOR, false, NUM, schema_on_multiple_of },

	{ "minLength", SCHEMA_SHAPE_COUNT, false, STR, schema_on_length },
	{ "maxLength", SCHEMA_SHAPE_COUNT, false, STR, schema_on_length },
	{ "pattern", SCHEMA_SHAPE_PATTERN, false, STR, schema_on_pattern },

	{ "prefixItems", SCHEMA_SHAPE_SCHEMAS, false, ARR, schema_on_prefix_items },
	{ "items", SCHEMA_SHAPE_SCHEMA, false, ARR, schema_on_items },
	{ "contains", SCHEMA_SHAPE_SCHEMA, false, ARR, schema_on_contains },
	{ "minContains", SCHEMA_SHAPE_COUNT, false, 0, NULL },
	{ "maxContains", SCHEMA_SHAPE_COUNT, false, 0, NULL },
	{ "minItems", SCHEMA_SHAPE_COUNT, false, ARR, schema_on_items_count },
	{ "maxItems", SCHEMA_SHAPE_COUNT, false, ARR, schema_on_items_count },
	{ "uniqueItems", SCHEMA_SHAPE_BOOL, false, ARR, schema_on_unique_items },

	{ "properties", SCHEMA_SHAPE_SCHEMA_MAP, false, OBJ, schema_on_properties },
	{ "patternProperties", SCHEMA_SHAPE_PATTERN_MAP, false, OBJ, schema_on_pattern_properties },
	{ "additionalProperties", SCHEMA_SHAPE_SCHEMA, false, OBJ, schema_on_additional_properties },
	{ "propertyNames", SCHEMA_SHAPE_SCHEMA, false, OBJ, schema_on_property_names },
	{ "required", SCHEMA_SHAPE_NAMES, false, OBJ, schema_on_required },
	{ "dependentRequired", SCHEMA_SHAPE_NAMES_MAP, false, OBJ, schema_on_dependent_required },
	{ "dependentSchemas", SCHEMA_SHAPE_SCHEMA_MAP, true, OBJ, schema_on_dependent_schemas },
	{ "minProperties", SCHEMA_SHAPE_COUNT, false, OBJ, schema_on_members_count },
	{ "maxProperties", SCHEMA_SHAPE_COUNT, false, OBJ, schema_on_members_count },

	{ "allOf", SCHEMA_SHAPE_SCHEMAS, true, ALL, schema_on_all_of },
	{ "anyOf", SCHEMA_SHAPE_SCHEMAS, true, ALL, schema_on_any_of },
	{ "oneOf", SCHEMA_SHAPE_SCHEMAS, true, ALL, schema_on_one_of },
	{ "not", SCHEMA_SHAPE_SCHEMA, true, ALL, schema_on_not },
	{ "if", SCHEMA_SHAPE_SCHEMA, true, ALL, schema_on_if },
	{ "then", SCHEMA_SHAPE_SCHEMA, true, 0, NULL },
	{ "else", SCHEMA_SHAPE_SCHEMA, true, 0, NULL },
	{ "$ref", SCHEMA_SHAPE_REF, true, ALL, schema_on_ref },
	{ "$defs", SCHEMA_SHAPE_SCHEMA_MAP, false, 0, NULL },
	{ "definitions", SCHEMA_SHAPE_SCHEMA_MAP, false, 0, NULL },
	{ "$id", SCHEMA_SHAPE_ID, false, 0, NULL },

	{ "unevaluatedProperties", SCHEMA_SHAPE_REFUSED, false, 0, NULL },
	{ "unevaluatedItems", SCHEMA_SHAPE_REFUSED, false, 0, NULL },
	{ "$dynamicRef", SCHEMA_SHAPE_REFUSED, false, 0, NULL },
	{ "$recursiveRef", SCHEMA_SHAPE_REFUSED, false, 0, NULL },
	{ "dependencies", SCHEMA_SHAPE_REFUSED, false, 0, NULL },
};
/* clang-format on */

const struct schema_keyword *
schema_keyword_find(struct json name)
{
	for (size_t i = 0; i < COUNT(keywords); i++) {
		if (json_is(name, keywords[i].name))
			return &keywords[i];
	}
	return NULL;
}

void
schema_checker_init(struct schema_checker *c, struct json root)
{
	*c = (struct schema_checker){
		.root = root,
		.work = SCHEMA_WORK_MAX,
		.text = BUF_INIT(SCHEMA_WORK_MAX),
	};
}

void
schema_checker_release(struct schema_checker *c)
{
	void *value;

	for (size_t pos = 0; map_next(&c->refs, &pos, NULL, &value);)
		mem_free(value);
	for (size_t pos = 0; map_next(&c->patterns, &pos, NULL, &value);)
		pattern_free(value);
	map_release(&c->refs);
	map_release(&c->patterns);
	buf_release(&c->text);
}

bool
schema_stop(struct schema_checker *c, const char *why)
{
	if (!c->stopped)
		snprintf(c->fault.text, sizeof(c->fault.text), "%s", why);
	c->stopped = true;
	return false;
}

bool
schema_spend(struct schema_checker *c, size_t units)
{
	if (!c->stopped && c->work > units) {
		c->work -= units;
		return true;
	}
	c->work = 0;
	return schema_stop(c, "the check takes too much work");
}

/* Copies text so that a terminal shows it as it is: up to the first byte that
 * is not UTF-8, without DEL and C1 control characters. */
static void
put_visible(struct buf *out, struct slice text, size_t max)
{
	struct slice cut = slice_of(text.ptr, utf8_cut(text, max));

	cut.len = utf8_valid(cut);
	for (size_t i = 0; i < cut.len; i++) {
		unsigned char c = (unsigned char)cut.ptr[i];

		if (c == 0x7f) {
			buf_putc(out, '?');
		} else if (c == 0xc2 && (unsigned char)cut.ptr[i + 1] < 0xa0) {
			buf_putc(out, '?');
			i++;
		} else {
			buf_putc(out, cut.ptr[i]);
		}
	}
	if (cut.len < text.len)
		buf_puts(out, "…");
}

/* The text between the quotes, escapes as they stand. */
static struct slice
inside(struct json string)
{
	return slice_of(string.raw.ptr + 1, string.raw.len - 2);
}

/* Scalars are cut; of arrays and objects only short ones are shown. */
static bool
is_short(struct json value)
{
	if (value.type != JSON_OBJECT && value.type != JSON_ARRAY)
		return true;
	return value.raw.len <= SCHEMA_PREVIEW - 16 &&
	       memchr(value.raw.ptr, '\n', value.raw.len) == NULL;
}

const char *
schema_preview(struct json value, char text[SCHEMA_PREVIEW])
{
	struct buf out = BUF_INIT(256);
	const char *word = NULL;

	if (!is_short(value))
		word = value.type == JSON_OBJECT ? "an object" : "an array";
	if (word == NULL)
		put_visible(&out, value.raw, SCHEMA_PREVIEW - 16);
	snprintf(text, SCHEMA_PREVIEW, "%s%.*s", word == NULL ? "" : word,
	    SLICE_ARGS(buf_slice(&out)));
	buf_release(&out);
	return text;
}

void
schema_list(struct json value, struct buf *out)
{
	struct json_iter it = json_iter(value);
	struct json key, member;
	char text[SCHEMA_PREVIEW];
	bool first = true;

	while (json_next(&it, &key, &member)) {
		if (out->len + SCHEMA_PREVIEW + 8 > out->max) {
			buf_puts(out, ", …");
			return;
		}
		if (!first)
			buf_puts(out, ", ");
		first = false;
		if (value.type == JSON_OBJECT)
			put_visible(out, inside(key), SCHEMA_PREVIEW - 16);
		else
			buf_puts(out, schema_preview(member, text));
	}
}

static void
path_text(const struct schema_spot *spot, char *text, size_t size)
{
	const struct schema_spot *chain[2 * JSON_DEPTH_MAX];
	struct buf out = BUF_INIT(size - 1);
	size_t n = 0;

	for (; spot->up != NULL && n < COUNT(chain); spot = spot->up)
		chain[n++] = spot;
	if (n == 0)
		buf_putc(&out, '/');
	while (n-- > 0) {
		if (out.len + 2 * SCHEMA_PREVIEW > out.max) {
			buf_puts(&out, "/…");
			break;
		}
		buf_putc(&out, '/');
		if (chain[n]->key.type == JSON_STRING)
			put_visible(
			    &out, inside(chain[n]->key), SCHEMA_PREVIEW - 16);
		else
			buf_put_u64(&out, chain[n]->index);
	}
	snprintf(text, size, "%.*s", SLICE_ARGS(buf_slice(&out)));
	buf_release(&out);
}

bool
schema_fault(struct schema_checker *c, const struct schema_spot *spot,
    struct json where, const char *fmt, ...)
{
	va_list args;

	if (!schema_spend(c, FAULT_UNITS))
		return false;
	path_text(spot, c->fault.path, sizeof(c->fault.path));
	va_start(args, fmt);
	vsnprintf(c->fault.text, sizeof(c->fault.text), fmt, args);
	va_end(args);
	c->fault.where = where;
	c->fault.depth = spot->depth;
	return false;
}

int
schema_fault_err(const struct schema_checker *c, struct err *err)
{
	if (c->stopped)
		return err_set(err, ERR_LIMIT, "%s", c->fault.text);
	return err_set(err, ERR_INPUT, "%s: %s", c->fault.path, c->fault.text);
}

struct json
schema_member(struct schema_checker *c, struct json object, struct json name,
    struct json *ret_key)
{
	struct json_iter it = json_iter(object);
	struct json key, member;

	if (object.type != JSON_OBJECT || name.type != JSON_STRING ||
	    !schema_spend(c, object.raw.len))
		return (struct json){ 0 };
	while (json_next(&it, &key, &member)) {
		if (!json_string_equal(key, name))
			continue;
		if (ret_key != NULL)
			*ret_key = key;
		return member;
	}
	return (struct json){ 0 };
}

struct json
schema_beside(struct schema_checker *c, struct json schema, const char *keyword)
{
	if (!schema_spend(c, schema.raw.len))
		return (struct json){ 0 };
	return json_get(schema, keyword);
}

static struct slice
address_of(const struct json *value)
{
	return slice_of(&value->raw.ptr, sizeof(value->raw.ptr));
}

static struct pattern *
compiled(struct schema_checker *c, struct json pattern)
{
	struct pattern *p = map_get(&c->patterns, address_of(&pattern));
	struct err err;

	if (p != NULL || !schema_spend(c, COMPILE_UNITS + pattern.raw.len * 64))
		return p;
	buf_clear(&c->text);
	json_decode(pattern, &c->text);
	if (pattern_new(&p, buf_slice(&c->text), &err) == -1)
		return NULL;
	map_set(&c->patterns, address_of(&pattern), p);
	return schema_spend(c, pattern_size(p) * 16) ? p : NULL;
}

int
schema_pattern(
    struct schema_checker *c, struct json pattern, struct json string)
{
	struct pattern *p = compiled(c, pattern);
	struct err err;
	int rc;

	if (c->stopped || !schema_spend(c, string.raw.len))
		return -1;
	if (p == NULL)
		return 0;
	buf_clear(&c->text);
	json_decode(string, &c->text);
	rc = pattern_match(p, buf_slice(&c->text), &c->work, &err);
	if (rc == -1)
		schema_stop(c, "a pattern takes too much work on this value");
	return rc;
}

bool
schema_fits(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema)
{
	struct json_iter it = json_iter(schema);
	struct json name, arg;
	bool fits = true;

	if (schema.type == JSON_FALSE)
		return schema_fault(
		    c, spot, spot->value, "nothing is allowed here");
	if (schema.type != JSON_OBJECT)
		return true;
	if (!schema_spend(c, schema.raw.len + SCHEMA_UNITS))
		return false;
	if (c->nest == SCHEMA_NEST_MAX)
		return schema_stop(c, "the schema is nested too deep");
	c->nest++;
	while (fits && json_next(&it, &name, &arg)) {
		const struct schema_keyword *k = schema_keyword_find(name);

		if (k != NULL && k->rule != NULL &&
		    (k->types & SCHEMA_ON(spot->value.type)) != 0)
			fits = k->rule(c, spot, schema, arg);
		fits = fits && !c->stopped;
	}
	c->nest--;
	return fits;
}

int
schema_check(struct json schema, struct json value, struct json *ret_where,
    struct err *err)
{
	struct schema_spot spot = { .value = value };
	struct schema_checker c;
	int rc = 0;

	schema_checker_init(&c, schema);
	if (!schema_fits(&c, &spot, schema)) {
		rc = schema_fault_err(&c, err);
		if (ret_where != NULL)
			*ret_where = c.stopped ? value : c.fault.where;
	}
	schema_checker_release(&c);
	return rc;
}
