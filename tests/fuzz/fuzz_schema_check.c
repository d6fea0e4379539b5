/*
 * Two JSON texts, schema and value, with a byte 0 or a line feed between them.
 * A check must end, whatever the schema; the offending place must lie inside
 * the value; and a schema without $ref and its negation must not agree.
 */
#include "base/json_equal.h"
#include "base/schema_check.h"

static bool
split(struct slice in, struct slice *ret_schema, struct slice *ret_value)
{
	const char *at = in.len == 0 ? NULL : memchr(in.ptr, '\0', in.len);

	if (at == NULL && in.len > 0)
		at = memchr(in.ptr, '\n', in.len);
	if (at == NULL)
		return false;
	*ret_schema = slice_of(in.ptr, (size_t)(at - in.ptr));
	*ret_value = slice_of(at + 1, in.len - (size_t)(at - in.ptr) - 1);
	return true;
}

static void
check_place(struct json value, struct json where)
{
	const char *end = value.raw.ptr + value.raw.len;

	if (where.raw.ptr < value.raw.ptr || where.raw.ptr >= end ||
	    where.raw.len > (size_t)(end - where.raw.ptr))
		BUG("the offending place lies outside of the value");
}

/* Of a schema that can be applied; rc and kind are what it said. */
static void
check_negation(
    struct json schema, struct json value, int rc, enum err_kind kind)
{
	struct buf text = BUF_INIT(schema.raw.len + 16);
	struct json negation;
	struct err err = { 0 };
	int other;

	buf_puts(&text, "{\"not\":");
	buf_put_slice(&text, schema.raw);
	buf_putc(&text, '}');
	if (memmem(text.ptr, text.len, "ref", 3) == NULL &&
	    json_parse(buf_slice(&text), &negation, NULL, &err) == 0) {
		other = schema_check(negation, value, NULL, &err);
		if (other == rc && kind != ERR_LIMIT && err.kind != ERR_LIMIT)
			BUG("a schema and its negation agree: %s", err.text);
	}
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json schema, value, where = { 0 };
	struct slice first, second;
	struct err err = { 0 };
	int rc;

	if (!split(slice_of(data, size), &first, &second) ||
	    json_parse(first, &schema, NULL, NULL) == -1 ||
	    json_parse(second, &value, NULL, NULL) == -1)
		return 0;
	rc = schema_check(schema, value, &where, &err);
	if (rc == -1)
		check_place(value, where);
	if (rc == -1 && err.kind != ERR_INPUT && err.kind != ERR_LIMIT)
		BUG("an error of kind %s", err_kind_name(err.kind));
	if (rc == -1 && err.kind == ERR_INPUT && err.text[0] != '/')
		BUG("no place in \"%s\"", err.text);
	if (schema_check_self(schema, NULL) == 0)
		check_negation(schema, value, rc, err.kind);
	return 0;
}
