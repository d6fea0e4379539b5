/*
 * Scripts of the scripted model server: a list of rules, read from YAML or
 * JSON; the first rule that fits a request says what is answered. The format
 * is in tests/support/README.md and, as a JSON Schema, in script_schema.c.
 */
#ifndef SUPPORT_SCRIPT_H
#define SUPPORT_SCRIPT_H

#include "base/yaml.h"
#include "tests/support/lib/responses_answer.h"
#include "tests/support/lib/responses_request.h"

#define SCRIPT_MAX        (8u << 20) /* bytes of a script */
#define SCRIPT_REPLAY_MAX (64u << 20)

struct script_count {
	uint64_t fitted; /* requests that fit the rest of the rule's `when` */
	uint64_t used;   /* requests that the rule answered */
};

struct script {
	struct yaml yaml; /* owned; empty for a JSON text */
	struct buf json;  /* owned; empty for YAML */
	struct json rules;
	struct script_count *counts; /* owned; one for each rule */
	size_t count;
};

/* Replaces what *ret_script holds only on success. name is for errors:
 * ERR_INPUT "NAME:LINE: /0/respond: what is wrong". */
int script_parse(struct script *ret_script, const char *name, struct slice text,
    struct err *err) CHECKED;
int script_load(
    struct script *ret_script, const char *path, struct err *err) CHECKED;
/* A script of one rule that replays a file for every request. */
int script_replay(struct script *ret_script, const char *path,
    uint64_t chunk_bytes, struct err *err) CHECKED;
void script_rewind(struct script *script); /* all counts to 0 */
void script_release(struct script *script);

/* 1 and the answer, 0 if no rule fits, -1 if its file cannot be read. */
int script_play(struct script *script, const struct request *request,
    struct answer *answer, struct err *err) CHECKED;

/* The JSON Schema of a script. */
extern const char script_schema[];

#endif
