/*
 * Any bytes as a YAML file. What yaml_parse accepts must be JSON that nobody
 * has to scrub, without a name twice, and each value and key must have a line
 * of the file that is not before the line of what stands before it. What it
 * refuses must say a line of the file.
 */
#include "base/yaml.h"

static unsigned
lines_of(struct slice text)
{
	unsigned lines = 1;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\n')
			lines += i == 0 || text.ptr[i - 1] != '\r';
		lines += text.ptr[i] == '\r';
	}
	return lines;
}

static void
check_line(const struct yaml *yaml, struct json value, unsigned *last)
{
	unsigned line = yaml_line_of(yaml, value);

	if (line < *last)
		BUG("line %u after line %u", line, *last);
	*last = line;
}

static void
check_lines(const struct yaml *yaml, struct json value, unsigned *last)
{
	struct json_iter it = json_iter(value);
	struct json key, member;

	check_line(yaml, value, last);
	while (json_next(&it, &key, &member)) {
		if (key.type == JSON_STRING)
			check_line(yaml, key, last);
		check_lines(yaml, member, last);
	}
}

static void
check_json(const struct yaml *yaml)
{
	struct json value, again = yaml_value(yaml);
	unsigned marks = 0;
	struct err err = { 0 };

	if (json_parse(buf_slice(&yaml->json), &value, &marks, &err) == -1 ||
	    json_no_duplicates(value, &err) == -1)
		BUG("%s", err.text);
	if (marks != 0)
		BUG("marks %u", marks);
	if (value.type != again.type || !slice_eq(value.raw, again.raw))
		BUG("two values of one text");
}

static void
check_error(const struct err *err, unsigned lines)
{
	unsigned long line;
	char *end;

	if (strncmp(err->text, "f:", 2) != 0)
		BUG("no file in \"%s\"", err->text);
	line = strtoul(err->text + 2, &end, 10);
	if (err->kind == ERR_INPUT &&
	    (*end != ':' || line == 0 || line > lines))
		BUG("no line of %u in \"%s\"", lines, err->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = slice_of(data, size);
	unsigned lines = lines_of(text), last = 1;
	struct yaml yaml;
	struct err err = { 0 };

	if (yaml_parse(&yaml, "f", text, &err) == -1) {
		check_error(&err, lines);
		return 0;
	}
	check_json(&yaml);
	check_lines(&yaml, yaml_value(&yaml), &last);
	if (last > lines)
		BUG("line %u of %u", last, lines);
	yaml_release(&yaml);
	return 0;
}
