/*
 * The models file: providers, and the models that agents name. Read once, at
 * the start.
 */
#ifndef MODEL_MODELS_H
#define MODEL_MODELS_H

#include "workers/model/provider.h"

/* Counts reasoning tokens too, hence higher than one would expect. */
#define MODEL_OUTPUT_TOKENS 32768u

struct model {
	char *name; /* that agents use; owned, as all below */
	const struct provider *provider; /* borrowed from struct models */
	char *model;                     /* as the provider calls it */
	bool vision;
	uint32_t max_output_tokens;
	char *reasoning; /* JSON object, "off", or NULL: by the model's name */
	char *limits;    /* JSON object */
	char *prices;    /* JSON object, micro-units per million tokens */
};

struct models {
	struct provider *providers; /* owned */
	size_t provider_count;
	struct model *models; /* owned */
	size_t model_count;
};

/* Errors: "FILE:LINE: what is wrong; what is allowed". A key that is missing
 * is an error. */
int models_load(
    struct models *ret_models, const char *path, struct err *err) CHECKED;
/* The same from a text. */
int models_parse(struct models *ret_models, const char *name, struct slice text,
    struct err *err) CHECKED;
void models_release(struct models *models);

/* NULL when there is none of this name. */
const struct model *models_find(const struct models *models, struct slice name);

/* The member "models" of hello: names, what they can, limits and prices. No
 * URL, no key. */
void models_describe(const struct models *models, struct json_writer *w);

#endif
