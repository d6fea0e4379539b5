/*
 * workers/model/models.c and provider.c: what a models file says, what is
 * refused, and what of it leaves the process.
 */
#include "tests/unit/model/entry.h"
#include "tests/unit/suite.h"

#define P "providers: [{name: p, base_url: 'http://h/v1'"
#define M "models: [{name: d, provider: p, model: m"

static int
load(struct models *models, const char *text, struct err *err)
{
	*err = (struct err){ 0 };
	return models_parse(models, "f.yaml", slice_string(text), err);
}

START_TEST(reads_every_key)
{
	struct models models;
	const struct provider *p;
	const struct model *m;

	entry_load(&models,
	    "    protocol: openai-responses\n"
	    "    http_version: '1.1'\n"
	    "    ca_file: /tmp/ca.pem\n"
	    "    proxy: http://127.0.0.1:1\n"
	    "    headers: {X-One: '1'}\n"
	    "    timeouts: {connect_s: 1, headers_s: 2, idle_s: 3,\n"
	    "      progress_s: 4, turn_s: 0.5}\n"
	    "    quirks: {no_terminal_event: true, repeated_messages: true}\n",
	    "    model: gpt-9\n"
	    "    vision: true\n"
	    "    reasoning: {effort: low}\n"
	    "    max_output_tokens: 5000\n"
	    "    limits: {requests_per_min: 1, tokens_per_min: 2}\n"
	    "    prices: {input: 1, cached_input: 0, output: 3}\n");
	p = &models.providers[0];
	m = models_find(&models, SLICE("default"));
	ck_assert_ptr_nonnull(m);
	ck_assert_ptr_null(models_find(&models, SLICE("defaul")));
	ck_assert_ptr_eq(m->provider, p);
	ck_assert_str_eq(p->url, "http://127.0.0.1:9/v1/responses");
	ck_assert_str_eq(p->protocol->name, "openai-responses");
	ck_assert(p->http1 && p->quirks.may_end && p->quirks.repeats);
	ck_assert_str_eq(p->ca_file, "/tmp/ca.pem");
	ck_assert_str_eq(p->proxy, "http://127.0.0.1:1");
	ck_assert_uint_eq(p->timeouts.connect_ms, 1000);
	ck_assert_uint_eq(p->timeouts.headers_ms, 2000);
	ck_assert_uint_eq(p->timeouts.idle_ms, 3000);
	ck_assert_uint_eq(p->timeouts.progress_ms, 4000);
	ck_assert_uint_eq(p->timeouts.turn_ms, 500);
	ck_assert_str_eq(m->model, "gpt-9");
	ck_assert(m->vision);
	ck_assert_uint_eq(m->max_output_tokens, 5000);
	ck_assert_str_eq(m->reasoning, "{\"effort\":\"low\"}");
	models_release(&models);
}
END_TEST

START_TEST(fills_in_what_is_left_out)
{
	struct models models;
	struct err err;

	ck_assert_int_eq(load(&models, P "}]\n" M "}]\n", &err), 0);
	ck_assert_str_eq(
	    models.providers[0].protocol->name, "openai-responses");
	ck_assert_uint_eq(models.providers[0].timeouts.connect_ms, 10000);
	ck_assert_uint_eq(models.providers[0].timeouts.headers_ms, 120000);
	ck_assert_uint_eq(models.providers[0].timeouts.idle_ms, 120000);
	ck_assert_uint_eq(models.providers[0].timeouts.progress_ms, 300000);
	ck_assert_uint_eq(models.providers[0].timeouts.turn_ms, 1800000);
	ck_assert_ptr_null(models.providers[0].key_name);
	ck_assert_uint_eq(models.models[0].max_output_tokens, 32768);
	ck_assert_ptr_null(models.models[0].reasoning);
	ck_assert(!models.models[0].vision && !models.providers[0].http1);
	models_release(&models);
}
END_TEST

static bool
has_header(const struct provider *p, const char *line)
{
	for (const struct curl_slist *l = p->headers; l != NULL; l = l->next) {
		if (strcmp(l->data, line) == 0)
			return true;
	}
	return false;
}

START_TEST(carries_the_key_and_further_headers)
{
	struct models models;

	entry_load(&models, "    headers: {X-One: a b, X-Two: '2'}\n",
	    "    model: m\n");
	ck_assert(has_header(
	    &models.providers[0], "Authorization: Bearer " ENTRY_KEY));
	ck_assert(has_header(&models.providers[0], "X-One: a b"));
	ck_assert(has_header(&models.providers[0], "X-Two: 2"));
	ck_assert(
	    has_header(&models.providers[0], "Content-Type: application/json"));
	ck_assert(
	    has_header(&models.providers[0], "Accept: text/event-stream"));
	/* no "Expect: 100-continue" with a large body */
	ck_assert(has_header(&models.providers[0], "Expect:"));
	ck_assert_str_eq(
	    models.providers[0].key_name, "environment variable K1");
	models_release(&models);
}
END_TEST

START_TEST(reads_a_key_from_a_file_without_its_line_end)
{
	char path[TEMP_PATH], text[300];
	struct models models;
	struct err err;

	temp_file_of("file-key\r\n", path);
	snprintf(text, sizeof(text), P ", key_file: %s}]\n" M "}]\n", path);
	ck_assert_msg(load(&models, text, &err) == 0, "%s", err.text);
	ck_assert(
	    has_header(&models.providers[0], "Authorization: Bearer file-key"));
	models_release(&models);
}
END_TEST

/* What hello says of the models: never a key, a header, a URL. */
START_TEST(tells_the_supervisor_no_secret)
{
	struct models models;
	struct buf out = BUF_INIT(10000);
	struct json_writer w = json_writer(&out);

	entry_load(&models, "    headers: {X-One: hidden-value}\n",
	    "    model: m\n    vision: true\n    limits: {concurrency: 3}\n"
	    "    prices: {input: 1250000}\n");
	json_open(&w, '{');
	models_describe(&models, &w);
	json_close(&w);
	ck_assert(slice_is(buf_slice(&out),
	    "{\"models\":[{\"name\":\"default\",\"provider\":\"p\","
	    "\"model\":\"m\",\"vision\":true,\"limits\":{\"concurrency\":3},"
	    "\"prices\":{\"input\":1250000}}]}"));
	models_release(&models);
	buf_release(&out);
}
END_TEST

/* ---- refused ---- */

static const struct {
	const char *text, *error;
} refusals[] = {
	{ P ", key_env: REEVE_NO_SUCH_KEY}]\n" M "}]\n",
	    "environment variable REEVE_NO_SUCH_KEY is not set" },
	{ P ", key_env: K_EMPTY}]\n" M "}]\n",
	    "environment variable K_EMPTY is empty" },
	{ P ", key_env: K_BROKEN}]\n" M "}]\n",
	    "environment variable K_BROKEN holds a character" },
	{ P ", key_file: /nonexistent/key}]\n" M "}]\n", "/nonexistent/key" },
	{ P ", key_env: K1, key_file: x}]\n" M "}]\n", "both" },
	{ P ", protocol: openai-chat}]\n" M "}]\n",
	    "protocol \"openai-chat\" is not known; there is openai-responses" },
	{ "providers: [{name: p, base_url: 'ftp://h/v1'}]\n" M "}]\n",
	    "must begin with https://" },
	{ "providers: [{name: p, base_url: 'https://u:secret@h/v1'}]\n" M
	  "}]\n",
	    "must not hold user or password" },
	{ "providers: [{name: p, base_url: 'https://h/v1?k=v'}]\n" M "}]\n",
	    "must not hold a query" },
	{ "providers: [{name: p, base_url: 'https:///v1'}]\n" M "}]\n",
	    "names no host" },
	{ "providers: [{name: p, base_url: 'https://h/ v1'}]\n" M "}]\n",
	    "white space" },
	{ P "}, {name: p, base_url: 'http://h'}]\n" M "}]\n",
	    "provider \"p\" stands twice" },
	{ P "}]\n" M "}, {name: d, provider: p, model: n}]\n",
	    "f.yaml:2: model \"d\" stands twice" },
	{ P "}]\nmodels: [{name: d, provider: q, model: m}]\n",
	    "f.yaml:2: provider \"q\" is not in this file" },
	{ P ", http_version: '3'}]\n" M "}]\n", "http_version" },
	{ P ", timeouts: {idle_s: 0}}]\n" M "}]\n", "idle_s" },
	{ P ", timeouts: {idle: 1}}]\n" M "}]\n", "idle" },
	{ P ", headers: {'X One': a}}]\n" M "}]\n", "X One" },
	{ P ", headers: {X: \"a\\nb\"}}]\n" M "}]\n", "headers" },
	{ P "}]\n" M ", reasoning: high}]\n", "reasoning" },
	{ P "}]\n" M ", prices: {input: 1.5}}]\n", "input" },
	{ P "}]\n" M ", max_output_tokens: 5}]\n", "max_output_tokens" },
	{ P "}]\n" M ", key: x}]\n", "key" },
	{ P "}]\n", "models" },
	{ "", "providers" },
};

START_TEST(refuses_a_file_and_says_where_and_why)
{
	struct models models;
	struct err err;

	setenv("K1", ENTRY_KEY, 1);
	setenv("K_EMPTY", "", 1);
	setenv("K_BROKEN", "a\nX-Evil: 1", 1);
	unsetenv("REEVE_NO_SUCH_KEY");
	ck_assert_int_eq(load(&models, refusals[_i].text, &err), -1);
	ck_assert_msg(strstr(err.text, refusals[_i].error) != NULL,
	    "\"%s\" does not say \"%s\"", err.text, refusals[_i].error);
	ck_assert_msg(
	    strstr(err.text, "f.yaml") != NULL, "no file: %s", err.text);
	ck_assert_msg(strstr(err.text, ENTRY_KEY) == NULL &&
			  strstr(err.text, "secret") == NULL &&
			  strstr(err.text, "X-Evil") == NULL,
	    "a secret: %s", err.text);
}
END_TEST

START_TEST(names_a_file_that_is_not_there)
{
	struct models models;
	struct err err = { 0 };

	ck_assert_int_eq(models_load(&models, "/nonexistent/m.yaml", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/m.yaml"));
}
END_TEST

START_TEST(the_example_is_one_that_can_be_read)
{
	char path[4096];
	struct models models;
	struct err err = { 0 };
	const char *slash = strstr(__FILE__, "tests/unit/");

	ck_assert_ptr_nonnull(slash);
	snprintf(path, sizeof(path), "%.*sdeploy/examples/models.yaml",
	    (int)(slash - __FILE__), __FILE__);
	setenv("OPENAI_API_KEY", ENTRY_KEY, 1);
	ck_assert_msg(models_load(&models, path, &err) == 0, "%s", err.text);
	ck_assert_ptr_nonnull(models_find(&models, SLICE("default")));
	models_release(&models);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("models");
	TCase *file = tcase_create("file");
	TCase *refused = tcase_create("refused");

	tcase_add_test(file, reads_every_key);
	tcase_add_test(file, fills_in_what_is_left_out);
	tcase_add_test(file, carries_the_key_and_further_headers);
	tcase_add_test(file, reads_a_key_from_a_file_without_its_line_end);
	tcase_add_test(file, tells_the_supervisor_no_secret);
	tcase_add_test(file, the_example_is_one_that_can_be_read);
	suite_add_tcase(s, file);
	tcase_add_loop_test(refused, refuses_a_file_and_says_where_and_why, 0,
	    (int)COUNT(refusals));
	tcase_add_test(refused, names_a_file_that_is_not_there);
	suite_add_tcase(s, refused);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
