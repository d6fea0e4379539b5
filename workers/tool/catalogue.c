/*
 * Reads the tools file. What JSON Schema can say about it stands in the schema
 * below; the rest (commands that exist and can be seen in a box, names of
 * variables) is checked here. All memory of a catalogue is its arena.
 */
#include "workers/tool/catalogue.h"

#include <ctype.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/config.h"
#include "base/schema_check.h"

#define NO_PARAMETERS                                                          \
	"{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"

static const char file_schema[] =
    "{\"type\":\"object\",\"required\":[\"tools\"],"
    "\"additionalProperties\":false,\"properties\":{\"tools\":{"
    "\"type\":\"array\",\"minItems\":1,\"maxItems\":256,\"items\":{"
    "\"type\":\"object\",\"required\":[\"name\",\"description\",\"argv\"],"
    "\"additionalProperties\":false,\"properties\":{"
    "\"name\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-]{1,64}$\"},"
    "\"description\":{\"type\":\"string\",\"minLength\":1,"
    "\"maxLength\":8192},"
    "\"parameters\":{\"type\":\"object\",\"required\":[\"type\"],"
    "\"properties\":{\"type\":{\"const\":\"object\"}}},"
    "\"argv\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":64,"
    "\"items\":{\"type\":\"string\",\"maxLength\":4096}},"
    "\"idempotent\":{\"type\":\"boolean\"},"
    "\"needs_approval\":{\"type\":\"boolean\"},"
    "\"env\":{\"type\":\"object\",\"maxProperties\":64,"
    "\"propertyNames\":{\"pattern\":\"^[A-Za-z_][A-Za-z0-9_]{0,63}$\"},"
    "\"additionalProperties\":{\"type\":\"string\",\"maxLength\":4096}},"
    "\"limits\":{\"type\":\"object\",\"additionalProperties\":false,"
    "\"properties\":{"
    "\"wall_s\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":600},"
    "\"cpu_s\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":3600},"
    "\"memory_mb\":{\"type\":\"integer\",\"minimum\":16,\"maximum\":65536},"
    "\"processes\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":4096},"
    "\"file_mb\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":65536},"
    "\"tmp_mb\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":4096},"
    "\"output_mb\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1024},"
    "\"open_files\":{\"type\":\"integer\",\"minimum\":16,\"maximum\":4096}"
    "}}}}}}}";

/* Set by the worker for each call. */
static const char *const set_names[] = { "PATH", "HOME", "USER", "LOGNAME",
	"TMPDIR", "LANG", "TERM", "PWD", "IFS", "ENV", "BASH_ENV" };

/* Environments are read by /proc and printed by accident: no place for these.
 */
static const char *const secret_parts[] = { "KEY", "TOKEN", "SECRET",
	"PASSWORD" };

/* What a box shows of the host and can be executed. */
static const char *const visible[] = { "/usr/", "/bin/", "/sbin/", "/lib/",
	"/lib32/", "/lib64/", "/libx32/" };

/* What is being read. */
struct reading {
	struct catalogue *catalogue;
	const struct yaml *yaml;
};

static int
refuse(const struct reading *r, struct json where, struct err *err)
{
	return config_err(r->yaml, where, err);
}

static const char *
string_of(struct catalogue *c, struct json value)
{
	struct buf text = BUF_INIT(YAML_FILE_MAX);
	const char *copy;

	json_decode(value, &text);
	copy = arena_string(&c->arena, buf_slice(&text));
	buf_release(&text);
	return copy;
}

static bool
starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* ---- argv ---- */

/* The part of an absolute path behind the folder, or NULL. */
static const char *
behind_folder(const struct catalogue *c, const char *path)
{
	size_t len = strlen(c->folder);

	if (!starts_with(path, c->folder) || path[len] != '/' ||
	    path[len + 1] == '\0')
		return NULL;
	return path + len + 1;
}

static bool
climbs(const char *path)
{
	for (const char *p = path; p != NULL; p = strchr(p, '/')) {
		p += *p == '/';
		if (starts_with(p, "..") && (p[2] == '/' || p[2] == '\0'))
			return true;
	}
	return false;
}

static bool
stat_in_folder(const struct catalogue *c, const char *name, struct stat *st)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", c->folder, name);

	return n > 0 && (size_t)n < sizeof(path) && stat(path, st) == 0;
}

static struct tool_word
read_word(struct catalogue *c, const char *text)
{
	const char *name = text[0] == '/' ? behind_folder(c, text) : text;
	struct stat st;

	if (name != NULL && name[0] != '\0' && name[0] != '-' &&
	    !climbs(name) && stat_in_folder(c, name, &st) &&
	    S_ISREG(st.st_mode))
		return (struct tool_word){ name, true };
	return (struct tool_word){ text, false };
}

static int
check_program(
    const struct catalogue *c, const struct tool_word *word, struct err *err)
{
	bool seen = word->in_folder;
	struct stat st = { 0 };

	for (size_t i = 0; i < COUNT(visible); i++)
		seen = seen || starts_with(word->text, visible[i]);
	if (word->in_folder) {
		if (!stat_in_folder(c, word->text, &st))
			return err_errno(err, "argv: %s", word->text);
	} else if (word->text[0] != '/') {
		return err_set(err, ERR_INPUT,
		    "argv: \"%s\" is no file in the folder of this file; give "
		    "a program by its absolute path",
		    word->text);
	} else if (stat(word->text, &st) == -1) {
		return err_errno(err, "argv: %s", word->text);
	}
	if (!S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0)
		return err_set(err, ERR_INPUT,
		    "argv: %s is no executable file (chmod +x)", word->text);
	if (!seen)
		return err_set(err, ERR_INPUT,
		    "argv: %s cannot be seen by tools: they see /usr, /bin, "
		    "/sbin, /lib and the folder of this file",
		    word->text);
	return 0;
}

static int
read_argv(const struct reading *r, struct tool *tool, struct json words,
    struct err *err)
{
	struct catalogue *c = r->catalogue;
	struct tool_word *argv =
	    ARENA_ARRAY(&c->arena, json_count(words), struct tool_word);
	struct json_iter it = json_iter(words);
	struct json key, word;

	for (; json_next(&it, &key, &word); tool->argc++) {
		const char *text = string_of(c, word);

		argv[tool->argc] = read_word(c, text);
		if (tool->argc == 0 && check_program(c, &argv[0], err) == -1)
			return refuse(r, word, err);
	}
	tool->argv = argv;
	return 0;
}

/* ---- env ---- */

static int
check_variable(const char *name, struct err *err)
{
	char upper[65];
	size_t n = 0;

	for (; name[n] != '\0' && n + 1 < sizeof(upper); n++)
		upper[n] = (char)toupper((unsigned char)name[n]);
	upper[n] = '\0';
	for (size_t i = 0; i < COUNT(secret_parts); i++)
		if (strstr(upper, secret_parts[i]) != NULL)
			return err_set(err, ERR_INPUT,
			    "env: %s looks like a secret; an environment is no "
			    "place for one",
			    name);
	for (size_t i = 0; i < COUNT(set_names); i++)
		if (strcmp(upper, set_names[i]) == 0)
			return err_set(err, ERR_INPUT,
			    "env: %s is set by the worker", name);
	if (starts_with(upper, "LD_") || starts_with(upper, "REEVE_"))
		return err_set(err, ERR_INPUT,
		    "env: %s is refused, as are all LD_... and REEVE_...",
		    name);
	return 0;
}

static int
read_env(const struct reading *r, struct tool *tool, struct json object,
    struct err *err)
{
	struct catalogue *c = r->catalogue;
	const char **env =
	    ARENA_ARRAY(&c->arena, json_count(object) + 1, const char *);
	struct buf text = BUF_INIT(YAML_FILE_MAX);
	struct json_iter it = json_iter(object);
	struct json key, value;
	int rc = 0;

	while (rc == 0 && json_next(&it, &key, &value)) {
		rc = check_variable(string_of(c, key), err);
		if (rc == -1) {
			refuse(r, key, err);
			break;
		}
		buf_clear(&text);
		buf_puts(&text, string_of(c, key));
		buf_putc(&text, '=');
		buf_puts(&text, string_of(c, value));
		env[tool->envc++] = arena_string(&c->arena, buf_slice(&text));
	}
	tool->env = env;
	buf_release(&text);
	return rc;
}

/* A box takes BOX_SPEC_MAX, with what the worker adds to each call. */
static int
check_size(const struct reading *r, const struct tool *tool, struct json where,
    struct err *err)
{
	size_t size = 0;

	for (size_t i = 0; i < tool->argc; i++)
		size += strlen(tool->argv[i].text) + 1;
	for (size_t i = 0; i < tool->envc; i++)
		size += strlen(tool->env[i]) + 1;
	if (size <= CATALOGUE_COMMAND)
		return 0;
	err_set(err, ERR_LIMIT, "argv and env of %s: more than %u bytes",
	    tool->name, CATALOGUE_COMMAND);
	return refuse(r, where, err);
}

/* ---- one tool ---- */

static struct box_limits
read_limits(struct json object)
{
	struct box_limits l = BOX_LIMITS_DEFAULT;
	const struct {
		const char *key;
		uint32_t *value;
	} rows[] = {
		{ "wall_s", &l.wall_s },
		{ "cpu_s", &l.cpu_s },
		{ "memory_mb", &l.memory_mb },
		{ "processes", &l.processes },
		{ "file_mb", &l.file_mb },
		{ "tmp_mb", &l.tmp_mb },
		{ "output_mb", &l.output_mb },
		{ "open_files", &l.open_files },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		*rows[i].value =
		    (uint32_t)config_num(object, rows[i].key, *rows[i].value);
	return l;
}

/* The schema goes to models as it stands in the file. */
static int
read_parameters(const struct reading *r, struct tool *tool, struct json value,
    struct err *err)
{
	struct slice text =
	    value.type == JSON_NONE ? SLICE(NO_PARAMETERS) : value.raw;

	if (text.len > CATALOGUE_PARAMETERS) {
		err_set(err, ERR_LIMIT, "parameters: more than %u bytes",
		    CATALOGUE_PARAMETERS);
		return refuse(r, value, err);
	}
	text = arena_copy(&r->catalogue->arena, text);
	if (json_parse(text, &tool->parameters, NULL, err) == -1 ||
	    schema_check_self(tool->parameters, err) == -1) {
		err_wrap(err, "parameters");
		return refuse(r, value, err);
	}
	return 0;
}

static int
read_tool(const struct reading *r, struct tool *tool, struct json object,
    struct err *err)
{
	struct catalogue *c = r->catalogue;
	struct json name = json_get(object, "name");

	tool->name = string_of(c, name);
	if (catalogue_find(c, slice_string(tool->name)) != NULL) {
		err_set(
		    err, ERR_CONFLICT, "tool %s is there twice", tool->name);
		return refuse(r, name, err);
	}
	tool->description = string_of(c, json_get(object, "description"));
	tool->idempotent = json_true(json_get(object, "idempotent"));
	tool->needs_approval = json_true(json_get(object, "needs_approval"));
	tool->limits = read_limits(json_get(object, "limits"));
	if (read_argv(r, tool, json_get(object, "argv"), err) == -1 ||
	    read_env(r, tool, json_get(object, "env"), err) == -1 ||
	    check_size(r, tool, object, err) == -1)
		return -1;
	return read_parameters(r, tool, json_get(object, "parameters"), err);
}

static int
find_folder(struct catalogue *c, const char *path, struct err *err)
{
	char real[PATH_MAX];
	char *slash;

	if (realpath(path, real) == NULL)
		return err_errno(err, "%s", path);
	slash = strrchr(real, '/');
	if (slash == real)
		return err_set(err, ERR_INPUT,
		    "%s: the tools file needs a folder of its own", path);
	*slash = '\0';
	c->folder = arena_string(&c->arena, slice_string(real));
	return 0;
}

int
catalogue_load(struct catalogue *ret, const char *path, struct err *err)
{
	struct catalogue c = { 0 };
	struct yaml yaml = { 0 };
	struct reading r = { &c, &yaml };
	struct json key, object, list;
	struct json_iter it;
	struct tool *tools;
	int rc = -1;

	if (find_folder(&c, path, err) == -1 ||
	    config_load(&yaml, path, file_schema, err) == -1)
		goto out;
	list = json_get(yaml_value(&yaml), "tools");
	tools = ARENA_ARRAY(&c.arena, json_count(list), struct tool);
	c.tools = tools;
	it = json_iter(list);
	for (; json_next(&it, &key, &object); c.count++)
		if (read_tool(&r, &tools[c.count], object, err) == -1)
			goto out;
	rc = 0;
	*ret = c;
out:
	yaml_release(&yaml);
	if (rc == -1)
		catalogue_release(&c);
	return rc;
}

void
catalogue_release(struct catalogue *c)
{
	arena_release(&c->arena);
	*c = (struct catalogue){ 0 };
}

const struct tool *
catalogue_find(const struct catalogue *c, struct slice name)
{
	for (size_t i = 0; i < c->count; i++)
		if (slice_is(name, c->tools[i].name))
			return &c->tools[i];
	return NULL;
}

void
catalogue_describe(const struct catalogue *c, struct json_writer *w)
{
	json_open(w, '[');
	for (size_t i = 0; i < c->count; i++) {
		const struct tool *tool = &c->tools[i];

		json_open(w, '{');
		json_key(w, "name");
		json_text(w, tool->name);
		json_key(w, "description");
		json_text(w, tool->description);
		json_key(w, "parameters");
		json_raw(w, tool->parameters.raw);
		json_key(w, "idempotent");
		json_bool(w, tool->idempotent);
		json_key(w, "needs_approval");
		json_bool(w, tool->needs_approval);
		json_key(w, "timeout_ms");
		json_unum(w, (uint64_t)tool->limits.wall_s * 1000);
		json_close(w);
	}
	json_close(w);
}
