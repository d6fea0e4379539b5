/*
 * Agents as YAML files: one file, or all files of a folder. Owns what it has
 * read until the last file is known to be good, then hands it over in name
 * order. Writes nothing and follows no sub-folders.
 */
#include "proto/agent.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/config.h"

struct file {
	struct yaml yaml;
	struct agent agent;
};

struct files {
	struct file *items; /* owned */
	size_t count, cap;
};

static void
files_release(struct files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		agent_release(&files->items[i].agent);
		yaml_release(&files->items[i].yaml);
	}
	mem_free(files->items);
}

static int
check_name(const struct files *files, const struct file *file, struct err *err)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct file *other = &files->items[i];

		if (strcmp(other->agent.name, file->agent.name) != 0)
			continue;
		err_set(err, ERR_CONFLICT,
		    "/name: the agent \"%s\" stands in %s already; each name "
		    "once",
		    file->agent.name, other->yaml.name);
		return config_err(&file->yaml,
		    json_get(yaml_value(&file->yaml), "name"), err);
	}
	return 0;
}

static int
read_agent(struct file *ret_file, const char *path, struct err *err)
{
	struct json where;
	struct file file;

	if (yaml_load(&file.yaml, path, err) == -1)
		return -1;
	if (agent_from_json(&file.agent, yaml_value(&file.yaml), &where, err) ==
	    -1) {
		config_err(&file.yaml, where, err);
		yaml_release(&file.yaml);
		return -1;
	}
	*ret_file = file;
	return 0;
}

static int
read_file(struct files *files, const char *path, struct err *err)
{
	struct file file;

	if (read_agent(&file, path, err) == -1)
		return -1;
	if (check_name(files, &file, err) == -1) {
		agent_release(&file.agent);
		yaml_release(&file.yaml);
		return -1;
	}
	if (files->count == files->cap) {
		files->cap = files->cap == 0 ? 16 : files->cap * 2;
		files->items =
		    mem_grow(files->items, files->cap * sizeof(*files->items));
	}
	files->items[files->count++] = file;
	return 0;
}

/* ---- folders ---- */

struct names {
	char **items; /* owned */
	size_t count, cap;
};

static bool
is_agent_file(const char *name)
{
	const char *end = strrchr(name, '.');

	return name[0] != '.' && end != NULL &&
	       (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
}

static int
by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void
names_release(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		mem_free(names->items[i]);
	mem_free(names->items);
}

static int
add_name(
    struct names *names, const char *folder, const char *name, struct err *err)
{
	struct buf path = BUF_INIT(strlen(folder) + strlen(name) + 2);

	if (names->count == AGENT_FILES_MAX)
		return err_set(err, ERR_LIMIT, "%s: more than %u agents",
		    folder, AGENT_FILES_MAX);
	if (names->count == names->cap) {
		names->cap = names->cap == 0 ? 16 : names->cap * 2;
		names->items =
		    mem_grow(names->items, names->cap * sizeof(char *));
	}
	buf_puts(&path, folder);
	if (path.len > 0 && path.ptr[path.len - 1] != '/')
		buf_putc(&path, '/');
	buf_puts(&path, name);
	names->items[names->count++] = buf_detach(&path, NULL);
	return 0;
}

/* The paths of a folder's agent files, sorted. */
static int
list_folder(struct names *names, const char *folder, struct err *err)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int rc = 0;

	if (dir == NULL)
		return err_errno(err, "open %s", folder);
	while (rc == 0 && (entry = readdir(dir)) != NULL) {
		if (is_agent_file(entry->d_name))
			rc = add_name(names, folder, entry->d_name, err);
	}
	closedir(dir);
	if (rc == -1)
		return -1;
	if (names->count == 0)
		return err_set(err, ERR_MISSING,
		    "%s: no agent here: no file ends in .yaml or .yml", folder);
	qsort(names->items, names->count, sizeof(char *), by_name);
	return 0;
}

static int
read_folder(struct files *files, const char *folder, struct err *err)
{
	struct names names = { 0 };
	int rc = list_folder(&names, folder, err);

	for (size_t i = 0; rc == 0 && i < names.count; i++)
		rc = read_file(files, names.items[i], err);
	names_release(&names);
	return rc;
}

int
agent_load_dir(
    const char *path, agent_handler *handler, void *arg, struct err *err)
{
	struct files files = { 0 };
	struct stat stat_;
	int rc;

	if (stat(path, &stat_) == -1) {
		err_errno(err, "%s", path);
		if (err != NULL && err->code == ENOENT)
			err->kind = ERR_MISSING;
		return -1;
	}
	if (S_ISDIR(stat_.st_mode))
		rc = read_folder(&files, path, err);
	else
		rc = read_file(&files, path, err);
	for (size_t i = 0; rc == 0 && i < files.count; i++) {
		const struct file *file = &files.items[i];

		rc = handler(arg, file->yaml.name, buf_slice(&file->yaml.json),
		    &file->agent, err);
	}
	files_release(&files);
	return rc;
}
