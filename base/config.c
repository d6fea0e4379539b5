/*
 * YAML and JSON Schema put together for configuration files. Keeps nothing:
 * what was read belongs to the caller's struct yaml.
 */
#include "base/config.h"

#include "base/alloc.h"
#include "base/decimal.h"
#include "base/schema_check.h"

int
config_err(const struct yaml *yaml, struct json where, struct err *err)
{
	return err_wrap(err, "%s:%u", yaml->name, yaml_line_of(yaml, where));
}

/* A file in which every key is a comment. */
static void
make_object(struct yaml *yaml)
{
	if (yaml->root.type != JSON_NULL)
		return;
	buf_clear(&yaml->json);
	buf_puts(&yaml->json, "{}");
	yaml->count = 0;
	yaml->root = (struct json){ JSON_OBJECT, buf_slice(&yaml->json) };
}

static int
check(struct yaml *yaml, const char *schema_json, struct err *err)
{
	struct json schema, where = { 0 };
	struct err ours = { 0 };

	if (json_parse(slice_string(schema_json), &schema, NULL, &ours) == -1 ||
	    schema_check_self(schema, &ours) == -1)
		BUG("schema of %s: %s", yaml->name, ours.text);
	make_object(yaml);
	if (schema_check(schema, yaml->root, &where, err) == -1)
		return config_err(yaml, where, err);
	return 0;
}

/* Takes yaml, which was read, on success. */
static int
check_and_take(struct yaml *ret_yaml, struct yaml *yaml,
    const char *schema_json, struct err *err)
{
	if (check(yaml, schema_json, err) == -1) {
		yaml_release(yaml);
		return -1;
	}
	*ret_yaml = *yaml;
	return 0;
}

int
config_load(struct yaml *ret_yaml, const char *path, const char *schema_json,
    struct err *err)
{
	struct yaml yaml;

	if (yaml_load(&yaml, path, err) == -1)
		return -1;
	return check_and_take(ret_yaml, &yaml, schema_json, err);
}

int
config_parse(struct yaml *ret_yaml, const char *name, struct slice text,
    const char *schema_json, struct err *err)
{
	struct yaml yaml;

	if (yaml_parse(&yaml, name, text, err) == -1)
		return -1;
	return check_and_take(ret_yaml, &yaml, schema_json, err);
}

char *
config_str(struct json object, const char *key, const char *fallback)
{
	struct json value = json_get(object, key);
	char *text = json_string_new(value, YAML_FILE_MAX);

	if (text == NULL && fallback != NULL)
		text = mem_string(fallback);
	return text;
}

int64_t
config_num(struct json object, const char *key, int64_t fallback)
{
	struct json value = json_get(object, key);
	struct decimal number;
	int64_t num;

	if (value.type != JSON_NUMBER)
		return fallback;
	number = decimal_read(value.raw);
	return decimal_i64(&number, &num) ? num : fallback;
}

double
config_real(struct json object, const char *key, double fallback)
{
	double num;

	return json_double(json_get(object, key), &num) ? num : fallback;
}

bool
config_bool(struct json object, const char *key, bool fallback)
{
	struct json value = json_get(object, key);

	if (value.type != JSON_TRUE && value.type != JSON_FALSE)
		return fallback;
	return json_true(value);
}
