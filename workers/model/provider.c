/*
 * Reads providers: checks what a schema cannot say (the URL, the protocol, the
 * key) and prepares the headers. Owns the keys. Prints none of them.
 */
#include "workers/model/provider.h"

#include <ctype.h>

#include "base/alloc.h"
#include "workers/model/request.h"

#define KEY_MAX      8192u
#define SECRETS_MAX  64u
#define BASE_URL_MAX 2000u

static const struct protocol protocols[] = {
	{ "openai-responses", "/responses", request_build },
};

const struct protocol *
protocol_find(const char *name)
{
	for (size_t i = 0; i < COUNT(protocols); i++) {
		if (strcmp(protocols[i].name, name) == 0)
			return &protocols[i];
	}
	return NULL;
}

static int
load_protocol(struct provider *p, const struct yaml *yaml, struct json value,
    struct err *err)
{
	char *name = config_str(value, "protocol", protocols[0].name);
	struct buf known = BUF_INIT(400);

	p->protocol = protocol_find(name);
	if (p->protocol == NULL) {
		for (size_t i = 0; i < COUNT(protocols); i++)
			buf_printf(&known, "%s%s", i == 0 ? "" : ", ",
			    protocols[i].name);
		err_set(err, ERR_INPUT,
		    "protocol \"%.100s\" is not known; there is %.*s", name,
		    SLICE_ARGS(buf_slice(&known)));
		config_err(yaml, json_get(value, "protocol"), err);
	}
	buf_release(&known);
	mem_free(name);
	return p->protocol == NULL ? -1 : 0;
}

/* What is wrong with a base URL, or NULL. */
static const char *
url_fault(const char *url)
{
	const char *host = strstr(url, "://");
	size_t len;

	if (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)
		return "must begin with https:// or http://";
	for (const char *p = url; *p != '\0'; p++) {
		if (*p <= ' ' || *p > '~')
			return "holds white space or other characters that no "
			       "URL has";
	}
	host += 3;
	len = strcspn(host, "/?#");
	if (memchr(host, '@', len) != NULL)
		return "must not hold user or password; use key_env, key_file "
		       "or headers";
	if (len == 0)
		return "names no host";
	if (strpbrk(host, "?#") != NULL)
		return "must not hold a query or a fragment";
	return NULL;
}

static int
load_url(struct provider *p, const struct yaml *yaml, struct json value,
    struct err *err)
{
	char *base = config_str(value, "base_url", "");
	const char *fault = url_fault(base);
	struct buf url = BUF_INIT(BASE_URL_MAX + 100);
	size_t len = strlen(base);

	if (fault != NULL) {
		err_set(err, ERR_INPUT, "base_url %s", fault);
		config_err(yaml, json_get(value, "base_url"), err);
		mem_free(base);
		return -1;
	}
	while (len > 0 && base[len - 1] == '/')
		len--;
	buf_put(&url, base, len);
	buf_puts(&url, p->protocol->path);
	p->url = buf_detach(&url, NULL);
	mem_free(base);
	return 0;
}

/* ---- keys and headers ---- */

static void
keep_secret(struct provider *p, const char *text)
{
	if (p->secret_count == SECRETS_MAX)
		return;
	p->secrets =
	    mem_grow(p->secrets, (p->secret_count + 1) * sizeof(*p->secrets));
	p->secrets[p->secret_count++] = mem_string(text);
}

static void
add_header(struct provider *p, const char *name, const char *value)
{
	struct buf line = BUF_INIT(KEY_MAX + 256);
	struct curl_slist *list;

	buf_printf(&line, "%s: %s", name, value);
	buf_putc(&line, '\0');
	list = curl_slist_append(p->headers, line.ptr);
	if (list == NULL)
		BUG("no memory for a header");
	p->headers = list;
	explicit_bzero(line.ptr, line.len);
	buf_release(&line);
}

static void
trim_end(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
}

static int
check_key(const char *key, const char *where, struct err *err)
{
	if (key[0] == '\0')
		return err_set(err, ERR_INPUT,
		    "%s is empty: it must hold the "
		    "key of the provider",
		    where);
	for (const char *p = key; *p != '\0'; p++) {
		if (*p <= ' ' || *p > '~')
			return err_set(err, ERR_INPUT,
			    "%s holds a character that no key has", where);
	}
	return 0;
}

static int
read_key(struct provider *p, const char *env, const char *file, char **ret_key,
    struct err *err)
{
	struct buf text = BUF_INIT(KEY_MAX), where = BUF_INIT(4096);
	const char *value = env == NULL ? NULL : getenv(env);
	int rc = -1;

	buf_printf(&where, env != NULL ? "environment variable %s" : "file %s",
	    env != NULL ? env : file);
	p->key_name = buf_detach(&where, NULL);
	if (env != NULL && value == NULL) {
		err_set(err, ERR_INPUT,
		    "%s is not set: it must hold the key of the provider",
		    p->key_name);
		goto out;
	}
	if (env == NULL && buf_read_file(&text, file, err) == -1)
		goto out;
	if (env != NULL)
		buf_puts(&text, value);
	if (buf_check(&text, "the key", err) == -1)
		goto out;
	*ret_key = mem_string_n(text.len == 0 ? "" : text.ptr, text.len);
	trim_end(*ret_key);
	rc = check_key(*ret_key, p->key_name, err);
out:
	if (text.ptr != NULL)
		explicit_bzero(text.ptr, text.len);
	buf_release(&text);
	return rc;
}

static int
load_key(struct provider *p, const struct yaml *yaml, struct json value,
    struct err *err)
{
	char *env = config_str(value, "key_env", NULL);
	char *file = config_str(value, "key_file", NULL);
	char *key = NULL;
	struct buf bearer = BUF_INIT(KEY_MAX + 16);
	int rc = 0;

	if (env != NULL && file != NULL)
		rc = err_set(err, ERR_INPUT,
		    "key_env and key_file are both given; one must do");
	else if (env != NULL || file != NULL)
		rc = read_key(p, env, file, &key, err);
	if (rc == -1)
		config_err(yaml,
		    json_get(value, env != NULL ? "key_env" : "key_file"), err);
	if (rc == 0 && key != NULL) {
		buf_printf(&bearer, "Bearer %s", key);
		buf_putc(&bearer, '\0');
		add_header(p, "Authorization", bearer.ptr);
		keep_secret(p, key);
		explicit_bzero(bearer.ptr, bearer.len);
	}
	if (key != NULL)
		explicit_bzero(key, strlen(key));
	buf_release(&bearer);
	mem_free(key);
	mem_free(env);
	mem_free(file);
	return rc;
}

static void
load_headers(struct provider *p, struct json value)
{
	struct json_iter it = json_iter(json_get(value, "headers"));
	struct json key, text;

	add_header(p, "Content-Type", "application/json");
	add_header(p, "Accept", "text/event-stream");
	p->headers = curl_slist_append(p->headers, "Expect:");
	while (json_next(&it, &key, &text)) {
		char *name = json_string_new(key, 128);
		char *content = json_string_new(text, 4096);

		if (name != NULL && content != NULL) {
			add_header(p, name, content);
			keep_secret(p, content);
		}
		mem_free(name);
		mem_free(content);
	}
}

/* ---- the whole ---- */

static uint32_t
seconds(struct json value, const char *name, double fallback)
{
	double ms = config_real(value, name, fallback) * 1000;

	return ms < 1 ? 1 : (uint32_t)ms;
}

static void
load_timeouts(struct provider *p, struct json value)
{
	p->timeouts = (struct timeouts){
		.connect_ms = seconds(value, "connect_s", 10),
		.headers_ms = seconds(value, "headers_s", 120),
		.idle_ms = seconds(value, "idle_s", 120),
		.progress_ms = seconds(value, "progress_s", 300),
		.turn_ms = seconds(value, "turn_s", 1800),
	};
}

int
provider_load(struct provider *ret_provider, const struct yaml *yaml,
    struct json value, struct err *err)
{
	struct provider p = { .name = config_str(value, "name", "") };
	struct json quirks = json_get(value, "quirks");

	p.ca_file = config_str(value, "ca_file", NULL);
	p.proxy = config_str(value, "proxy", NULL);
	p.http1 = json_is(json_get(value, "http_version"), "1.1");
	p.quirks = (struct body_quirks){
		.may_end = config_bool(quirks, "no_terminal_event", false),
		.repeats = config_bool(quirks, "repeated_messages", false),
	};
	load_timeouts(&p, json_get(value, "timeouts"));
	load_headers(&p, value);
	if (load_protocol(&p, yaml, value, err) == -1 ||
	    load_url(&p, yaml, value, err) == -1 ||
	    load_key(&p, yaml, value, err) == -1) {
		provider_release(&p);
		return -1;
	}
	*ret_provider = p;
	return 0;
}

static void
wipe_headers(struct curl_slist *list)
{
	for (; list != NULL; list = list->next)
		explicit_bzero(list->data, strlen(list->data));
}

void
provider_release(struct provider *provider)
{
	for (size_t i = 0; i < provider->secret_count; i++) {
		explicit_bzero(
		    provider->secrets[i], strlen(provider->secrets[i]));
		mem_free(provider->secrets[i]);
	}
	mem_free(provider->secrets);
	wipe_headers(provider->headers);
	curl_slist_free_all(provider->headers);
	mem_free(provider->name);
	mem_free(provider->url);
	mem_free(provider->key_name);
	mem_free(provider->ca_file);
	mem_free(provider->proxy);
	*provider = (struct provider){ 0 };
}
