/*
 * Reads the models file and answers by name. Owns providers and models; keys
 * are the business of provider.c.
 */
#include "workers/model/models.h"

#include "base/alloc.h"

#define JSON_TEXT(...) #__VA_ARGS__
static const char schema[] =
#include "workers/model/models_schema.def"
    ;
#undef JSON_TEXT

static const struct provider *
find_provider(const struct models *models, struct json name)
{
	for (size_t i = 0; i < models->provider_count; i++) {
		if (json_is(name, models->providers[i].name))
			return &models->providers[i];
	}
	return NULL;
}

static int
load_providers(struct models *models, const struct yaml *yaml, struct json list,
    struct err *err)
{
	struct json_iter it = json_iter(list);
	struct json value;

	models->providers =
	    mem_array(json_count(list), sizeof(struct provider));
	while (json_next(&it, NULL, &value)) {
		struct json name = json_get(value, "name");

		if (find_provider(models, name) != NULL) {
			err_set(err, ERR_CONFLICT, "provider %.*s stands twice",
			    SLICE_ARGS(name.raw));
			return config_err(yaml, name, err);
		}
		if (provider_load(&models->providers[models->provider_count],
			yaml, value, err) == -1)
			return -1;
		models->provider_count++;
	}
	return 0;
}

/* A JSON object as it stands, "{}" when it is not there. */
static char *
object_text(struct json value)
{
	if (value.type != JSON_OBJECT)
		return mem_string("{}");
	return mem_string_n(value.raw.ptr, value.raw.len);
}

static void
load_model(struct model *m, struct json value, const struct provider *provider)
{
	struct json reasoning = json_get(value, "reasoning");

	*m = (struct model){
		.name = config_str(value, "name", ""),
		.provider = provider,
		.model = config_str(value, "model", ""),
		.vision = config_bool(value, "vision", false),
		.max_output_tokens = (uint32_t)config_num(
		    value, "max_output_tokens", MODEL_OUTPUT_TOKENS),
		.limits = object_text(json_get(value, "limits")),
		.prices = object_text(json_get(value, "prices")),
	};
	if (json_is(reasoning, "off"))
		m->reasoning = mem_string("off");
	else if (reasoning.type == JSON_OBJECT)
		m->reasoning = object_text(reasoning);
}

static int
load_models(struct models *models, const struct yaml *yaml, struct json list,
    struct err *err)
{
	struct json_iter it = json_iter(list);
	struct json value;

	models->models = mem_array(json_count(list), sizeof(struct model));
	while (json_next(&it, NULL, &value)) {
		struct json name = json_get(value, "name");
		struct json served = json_get(value, "provider");
		struct slice text =
		    slice_of(name.raw.ptr + 1, name.raw.len - 2);
		const struct provider *provider = find_provider(models, served);

		if (models_find(models, text) != NULL) {
			err_set(err, ERR_CONFLICT, "model %.*s stands twice",
			    SLICE_ARGS(name.raw));
			return config_err(yaml, name, err);
		}
		if (provider == NULL) {
			err_set(err, ERR_MISSING,
			    "provider %.*s is not in this file",
			    SLICE_ARGS(served.raw));
			return config_err(yaml, served, err);
		}
		load_model(
		    &models->models[models->model_count++], value, provider);
	}
	return 0;
}

static int
take(struct models *ret_models, struct yaml *yaml, struct err *err)
{
	struct models models = { 0 };
	struct json root = yaml_value(yaml);
	int rc = -1;

	if (load_providers(&models, yaml, json_get(root, "providers"), err) ==
		0 &&
	    load_models(&models, yaml, json_get(root, "models"), err) == 0) {
		*ret_models = models;
		rc = 0;
	} else {
		models_release(&models);
	}
	yaml_release(yaml);
	return rc;
}

int
models_load(struct models *ret_models, const char *path, struct err *err)
{
	struct yaml yaml;

	if (config_load(&yaml, path, schema, err) == -1)
		return -1;
	return take(ret_models, &yaml, err);
}

int
models_parse(struct models *ret_models, const char *name, struct slice text,
    struct err *err)
{
	struct yaml yaml;

	if (config_parse(&yaml, name, text, schema, err) == -1)
		return -1;
	return take(ret_models, &yaml, err);
}

void
models_release(struct models *models)
{
	for (size_t i = 0; i < models->model_count; i++) {
		struct model *m = &models->models[i];

		mem_free(m->name);
		mem_free(m->model);
		mem_free(m->reasoning);
		mem_free(m->limits);
		mem_free(m->prices);
	}
	for (size_t i = 0; i < models->provider_count; i++)
		provider_release(&models->providers[i]);
	mem_free(models->models);
	mem_free(models->providers);
	*models = (struct models){ 0 };
}

const struct model *
models_find(const struct models *models, struct slice name)
{
	for (size_t i = 0; i < models->model_count; i++) {
		if (slice_is(name, models->models[i].name))
			return &models->models[i];
	}
	return NULL;
}

void
models_describe(const struct models *models, struct json_writer *w)
{
	json_key(w, "models");
	json_open(w, '[');
	for (size_t i = 0; i < models->model_count; i++) {
		const struct model *m = &models->models[i];

		json_open(w, '{');
		json_key(w, "name");
		json_text(w, m->name);
		json_key(w, "provider");
		json_text(w, m->provider->name);
		json_key(w, "model");
		json_text(w, m->model);
		json_key(w, "vision");
		json_bool(w, m->vision);
		json_key(w, "limits");
		json_raw(w, slice_string(m->limits));
		json_key(w, "prices");
		json_raw(w, slice_string(m->prices));
		json_close(w);
	}
	json_close(w);
}
