/*
 * For tests that need a provider and a model: reads them from a models file in
 * memory, with the key K1 in the environment.
 */
#ifndef TESTS_MODEL_ENTRY_H
#define TESTS_MODEL_ENTRY_H

#include <check.h>

#include "workers/model/models.h"

#define ENTRY_KEY "sk-secret-0123456789"

/* provider and model: further lines of the two entries, or "". */
static inline void
entry_load_at(struct models *models, const char *url, const char *provider,
    const char *model)
{
	struct buf text = BUF_INIT(100000);
	struct err err = { 0 };

	setenv("K1", ENTRY_KEY, 1);
	buf_printf(&text,
	    "providers:\n"
	    "  - name: p\n"
	    "    base_url: %s\n"
	    "    key_env: K1\n"
	    "%s"
	    "models:\n"
	    "  - name: default\n"
	    "    provider: p\n"
	    "%s",
	    url, provider, model);
	ck_assert_msg(
	    models_parse(models, "models.yaml", buf_slice(&text), &err) == 0,
	    "%s", err.text);
	buf_release(&text);
}

static inline void
entry_load(struct models *models, const char *provider, const char *model)
{
	entry_load_at(models, "http://127.0.0.1:9/v1", provider, model);
}

#endif
