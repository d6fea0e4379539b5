/*
 * The scripted model server and HTTP itself: kept connections, pipelines,
 * slow and broken peers. Whatever comes, the next client is served.
 */
#include <check.h>

#include "tests/unit/model/model_reply.h"
#include "tests/unit/model/model_wire.h"
#include "tests/unit/suite.h"

#define BODY(model)                                                            \
	"{\"model\":\"" model "\",\"store\":false,\"stream\":true,"            \
	"\"include\":[\"reasoning.encrypted_content\"],\"input\":\"x\"}"
#define LAST_CHUNK "\r\n0\r\n\r\n"

static void
expect_alive(void)
{
	struct reply reply = REPLY_INIT;

	server_ask(&server, "/health", NULL, &reply);
	ck_assert_int_eq(reply.status, 200);
	reply_release(&reply);
}

static size_t
count(const struct buf *text, const char *word)
{
	const char *p = text->ptr, *end = text->ptr + text->len;
	size_t n = 0;

	while (p != NULL && p < end) {
		p = memmem(p, (size_t)(end - p), word, strlen(word));
		if (p != NULL) {
			n++;
			p += strlen(word);
		}
	}
	return n;
}

/* ---- good peers ---- */

START_TEST(keeps_a_connection_for_the_next_request)
{
	CURL *curl = curl_easy_init();
	struct reply reply = REPLY_INIT;

	for (int i = 0; i < 20; i++) {
		server_ask_on(curl, &server, "/v1/responses", server_headers,
		    BODY("bench-text-2"), &reply);
		ck_assert_int_eq(reply.status, 200);
		ck_assert_int_eq(reply.connects, i == 0 ? 1 : 0);
		/* refused, and the connection stays all the same */
		server_ask_on(curl, &server, "/v1/responses", server_headers,
		    "{}", &reply);
		ck_assert_int_eq(reply.status, 400);
		ck_assert_int_eq(reply.connects, 0);
	}
	curl_easy_cleanup(curl);
	reply_release(&reply);
}
END_TEST

START_TEST(answers_a_pipeline_in_its_order)
{
	struct buf request = BUF_INIT(1 << 20), got = BUF_INIT(1 << 26);
	int fd = server_connect(&server);

	for (int i = 0; i < 1000; i++) {
		server_put_request(&request,
		    i % 2 ? BODY("bench-text-1") : BODY("bench-paced-1x1"));
		buf_puts(&request, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	buf_puts(&request,
	    "GET /stats HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	server_send(fd, buf_slice(&request));
	ck_assert(server_read(fd, NULL, &got));
	ck_assert_uint_eq(count(&got, LAST_CHUNK), 1000);
	ck_assert_uint_eq(count(&got, "{\"ok\":true}HTTP/1.1 200"), 1000);
	ck_assert_uint_eq(count(&got, "\"last_refusal\":"), 1);
	close(fd);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

/* What waits during an answer is more than the server holds. */
START_TEST(reads_on_when_an_answer_has_ended)
{
	struct buf request = BUF_INIT(1 << 22), got = BUF_INIT(1 << 26);
	int fd = server_connect(&server);
	char pad[1000];

	memset(pad, 'x', sizeof(pad));
	server_put_request(&request, BODY("bench-paced-1x200"));
	for (int i = 0; i < 1000; i++)
		buf_printf(&request,
		    "GET /health HTTP/1.1\r\nHost: %.*s\r\n\r\n",
		    (int)sizeof(pad), pad);
	buf_puts(&request,
	    "GET /stats HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	server_send(fd, buf_slice(&request));
	ck_assert(server_read(fd, NULL, &got));
	ck_assert_uint_eq(count(&got, "{\"ok\":true}"), 1000);
	close(fd);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

START_TEST(takes_a_request_byte_by_byte)
{
	struct buf request = BUF_INIT(4096), got = BUF_INIT(1 << 20);
	int one = 1, fd = server_connect(&server);

	setsockopt(fd, IPPROTO_TCP, 1, &one, sizeof(one));
	server_put_request(&request, BODY("bench-text-1"));
	for (size_t i = 0; i < request.len; i++)
		server_send(fd, slice_of(request.ptr + i, 1));
	ck_assert(server_read(fd, LAST_CHUNK, &got));
	close(fd);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

START_TEST(takes_empty_lines_before_a_request)
{
	struct buf got = BUF_INIT(1 << 20);
	int fd = server_connect(&server);

	server_send(fd, SLICE("\r\n\r\n"));
	server_send(fd, SLICE("\r"));
	server_send(fd, SLICE("\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n"));
	ck_assert(server_read(fd, "{\"ok\":true}", &got));
	close(fd);
	buf_release(&got);
}
END_TEST

START_TEST(says_continue_to_who_waits_for_it)
{
	static const char body[] = BODY("bench-text-1");
	struct buf request = BUF_INIT(4096), got = BUF_INIT(1 << 20);
	int fd = server_connect(&server);

	buf_printf(&request,
	    "POST /v1/responses HTTP/1.1\r\nHost: x\r\n"
	    "Authorization: Bearer k\r\nContent-Type: application/json\r\n"
	    "Expect: 100-continue\r\nContent-Length: %zu\r\n\r\n",
	    strlen(body));
	server_send(fd, buf_slice(&request));
	ck_assert(server_read(fd, "100 Continue\r\n\r\n", &got));
	server_send(fd, SLICE(BODY("bench-text-1")));
	ck_assert(server_read(fd, LAST_CHUNK, &got));
	close(fd);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

START_TEST(an_old_client_gets_no_chunks)
{
	static const char body[] = BODY("bench-text-1");
	struct buf request = BUF_INIT(4096), got = BUF_INIT(1 << 20);
	int fd = server_connect(&server);

	buf_printf(&request,
	    "POST /v1/responses HTTP/1.0\r\nAuthorization: Bearer k\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    strlen(body), body);
	server_send(fd, buf_slice(&request));
	ck_assert(server_read(fd, NULL, &got));
	ck_assert_uint_eq(count(&got, "chunked"), 0);
	ck_assert_uint_eq(count(&got, "\r\n\r\nevent: response.created"), 1);
	ck_assert_int_eq(memcmp(got.ptr + got.len - 4, "}}\n\n", 4), 0);
	close(fd);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

/* The answer is larger than what socket buffers hold. */
START_TEST(waits_for_a_slow_reader_and_serves_others)
{
	struct buf request = BUF_INIT(4096), got = BUF_INIT(1 << 28);
	int fd = server_connect(&server);

	server_put_request(&request, BODY("bench-text-100000"));
	server_send(fd, buf_slice(&request));
	ck_assert(server_read(fd, "response.created", &got));
	for (int i = 0; i < 10; i++)
		expect_alive();
	ck_assert(server_read(fd, LAST_CHUNK, &got));
	ck_assert_uint_eq(
	    count(&got, "event: response.output_text.delta"), 100000);
	close(fd);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

static const struct {
	const char *method;
	const char *path;
	long status;
	const char *has;
} paths[] = {
	{ "GET", "/health", 200, "{\"ok\":true}" },
	{ "GET", "/health?x=1", 200, "{\"ok\":true}" },
	{ "GET", "/", 404, "unknown_url" },
	{ "GET", "/v1/responses/", 404, "unknown_url" },
	{ "GET", "/v1/responses", 405, "Allow: POST" },
	{ "DELETE", "/stats", 405, "Allow: GET" },
	{ "POST", "/reset", 200, "{\"ok\":true}" },
};

START_TEST(knows_its_paths_and_methods)
{
	struct buf request = BUF_INIT(4096), got = BUF_INIT(1 << 20);
	int fd = server_connect(&server);
	char status[32];

	buf_printf(&request, "%s %s HTTP/1.1\r\nHost: x\r\n\r\n",
	    paths[_i].method, paths[_i].path);
	server_send(fd, buf_slice(&request));
	ck_assert(server_read(fd, "}", &got));
	snprintf(status, sizeof(status), "HTTP/1.1 %ld ", paths[_i].status);
	ck_assert_int_eq(memcmp(got.ptr, status, strlen(status)), 0);
	ck_assert_msg(
	    count(&got, paths[_i].has) == 1, "%.*s", (int)got.len, got.ptr);
	close(fd);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

/* ---- bad peers ---- */

#define POST "POST /v1/responses HTTP/1.1\r\nHost: x\r\n"

static const struct {
	const char *bytes;
	int status;
} garbage[] = {
	{ "\x16\x03\x01\x02", 400 },
	{ "hello\n", 400 },
	{ "GET /\n\n", 400 },
	{ "GET\r\n\r\n", 400 },
	{ "GET /\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n\r\n", 400 },
	{ "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505 },
	{ "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
	{ "GET x HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
	{ "GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
	{ "G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: x\r\nA: b\x01\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400 },
	{ POST "Content-Length: 1x\r\n\r\n", 400 },
	{ POST "Content-Length: -1\r\n\r\n", 400 },
	{ POST "Content-Length:\r\n\r\n", 400 },
	{ POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400 },
	{ POST "Content-Length: 67108865\r\n\r\n", 413 },
	{ POST "Content-Length: 99999999999999999999\r\n\r\n", 413 },
	{ POST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411 },
	{ POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 411 },
	{ POST "Expect: miracles\r\n\r\n", 417 },
	{ "GET /health HTTP/1.1\r\nHost: x\r\n\r\n\x01\x02\x03", 400 },
};

START_TEST(refuses_what_is_no_http)
{
	struct buf got = BUF_INIT(1 << 20);
	int fd = server_connect(&server);
	char status[32];

	server_send(fd, slice_string(garbage[_i].bytes));
	ck_assert(server_read(fd, NULL, &got));
	snprintf(status, sizeof(status), "HTTP/1.1 %d ", garbage[_i].status);
	ck_assert_msg(count(&got, status) == 1, "%d: %.*s", garbage[_i].status,
	    (int)got.len, got.ptr);
	ck_assert_uint_eq(count(&got, "Connection: close"), 1);
	ck_assert_uint_eq(count(&got, "\"code\":\"bad_http\""), 1);
	close(fd);
	expect_alive();
	buf_release(&got);
}
END_TEST

static const char *const endless[] = {
	"A",                        /* a method */
	"GET /",                    /* a target */
	"GET / HTTP/1.1\r\nHost: ", /* a field */
};

START_TEST(refuses_a_head_without_end)
{
	struct buf much = BUF_INIT(1 << 20), got = BUF_INIT(1 << 20);
	int fd = server_connect(&server);

	buf_puts(&much, endless[_i]);
	while (much.len < 70000)
		buf_putc(&much, 'A');
	server_send(fd, buf_slice(&much));
	ck_assert(server_read(fd, NULL, &got));
	ck_assert_uint_eq(count(&got, "HTTP/1.1 431 "), 1);
	close(fd);
	expect_alive();
	buf_release(&much);
	buf_release(&got);
}
END_TEST

START_TEST(a_request_that_is_cut_short_is_told_so)
{
	struct buf request = BUF_INIT(4096), got = BUF_INIT(1 << 20);

	server_put_request(&request, BODY("bench"));
	for (size_t n = 1; n < request.len; n += 7) {
		int fd = server_connect(&server);

		buf_clear(&got);
		server_send(fd, slice_of(request.ptr, n));
		shutdown(fd, SHUT_WR);
		ck_assert(server_read(fd, NULL, &got));
		ck_assert_uint_eq(count(&got, "HTTP/1.1 400 "), 1);
		close(fd);
	}
	expect_alive();
	buf_release(&request);
	buf_release(&got);
}
END_TEST

/* Always the same bytes: a failure can be repeated. */
START_TEST(survives_random_bytes)
{
	uint64_t x = 88172645463325252u + (uint64_t)_i;
	char bytes[4096];

	for (int round = 0; round < 50; round++) {
		int fd = server_connect(&server);

		for (size_t i = 0; i < sizeof(bytes); i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			bytes[i] = (char)x;
		}
		if (round % 2)
			memcpy(bytes, POST, strlen(POST));
		server_send(fd, slice_of(bytes, sizeof(bytes)));
		close(fd);
	}
	expect_alive();
}
END_TEST

START_TEST(a_peer_that_leaves_in_a_stream_is_forgotten)
{
	struct buf request = BUF_INIT(4096), got = BUF_INIT(1 << 20);
	struct reply reply = REPLY_INIT;

	server_put_request(&request, BODY("bench-paced-1000x50"));
	for (int i = 0; i < 20; i++) {
		int fd = server_connect(&server);

		buf_clear(&got);
		server_send(fd, buf_slice(&request));
		ck_assert(server_read(fd, "output_text.delta", &got));
		close(fd);
	}
	do
		server_ask(&server, "/stats", NULL, &reply);
	while (!reply_has(&reply, "\"playing\":0"));
	ck_assert(reply_has(&reply, "\"gone\":20"));
	reply_release(&reply);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

START_TEST(does_not_read_on_from_who_does_not_listen)
{
	struct buf request = BUF_INIT(1 << 26);
	struct pollfd out = { .events = POLLOUT };
	size_t sent = 0;

	server_put_request(&request, BODY("bench-paced-2x60000"));
	while (request.len < (32u << 20))
		server_put_request(&request, BODY("bench"));
	out.fd = server_connect(&server);
	ck_assert_int_eq(fcntl(out.fd, F_SETFL, O_NONBLOCK), 0);
	while (sent < request.len && poll(&out, 1, 300) == 1) {
		ssize_t n = send(out.fd, request.ptr + sent, request.len - sent,
		    MSG_NOSIGNAL);

		ck_assert_int_gt(n, 0);
		sent += (size_t)n;
	}
	ck_assert_uint_lt(sent, request.len);
	expect_alive();
	close(out.fd);
	buf_release(&request);
}
END_TEST

static Suite *
model_server_http(void)
{
	Suite *suite = suite_create("model server HTTP");
	TCase *good = server_case(suite, "good", 60);
	TCase *bad = server_case(suite, "bad", 60);

	tcase_add_test(good, keeps_a_connection_for_the_next_request);
	tcase_add_test(good, answers_a_pipeline_in_its_order);
	tcase_add_test(good, reads_on_when_an_answer_has_ended);
	tcase_add_test(good, takes_a_request_byte_by_byte);
	tcase_add_test(good, takes_empty_lines_before_a_request);
	tcase_add_test(good, says_continue_to_who_waits_for_it);
	tcase_add_test(good, an_old_client_gets_no_chunks);
	tcase_add_test(good, waits_for_a_slow_reader_and_serves_others);
	tcase_add_loop_test(good, knows_its_paths_and_methods, 0, COUNT(paths));
	tcase_add_loop_test(bad, refuses_what_is_no_http, 0, COUNT(garbage));
	tcase_add_loop_test(bad, refuses_a_head_without_end, 0, COUNT(endless));
	tcase_add_test(bad, a_request_that_is_cut_short_is_told_so);
	tcase_add_loop_test(bad, survives_random_bytes, 0, 4);
	tcase_add_test(bad, a_peer_that_leaves_in_a_stream_is_forgotten);
	tcase_add_test(bad, does_not_read_on_from_who_does_not_listen);
	return suite;
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return run_suite(model_server_http());
}
