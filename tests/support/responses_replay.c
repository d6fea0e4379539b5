/*
 * Feeds recorded bodies of a Responses API to the model worker's reader and
 * prints the result as JSON. A check tool: no network, no clock.
 */
#include <getopt.h>

#include "base/clock.h"
#include "tests/support/responses_report.h"

#define BODY_MAX (1u << 30)

struct options {
	size_t chunk; /* bytes at a time; 0 = all */
	size_t event_max;
	unsigned status;
	const char *after, *after_ms, *advice;
	struct body_quirks quirks;
	bool unclean;
};

static void
usage(FILE *out)
{
	fputs(
	    "usage: responses-replay [OPTIONS] FILE.sse [RESUMED.sse]...\n"
	    "Prints what the body means, as JSON. Further files continue it.\n"
	    "  --chunk N          N bytes at a time\n"
	    "  --cap N            largest event in bytes\n"
	    "  --status N         HTTP status of the answer\n"
	    "  --retry-after V    header of the answer\n"
	    "  --retry-after-ms V header of the answer\n"
	    "  --should-retry V   header of the answer\n"
	    "  --unclean          the connection broke at the end\n"
	    "  --may-end          the terminal event may be left out\n"
	    "  --repeats          messages are sent again when they grow\n"
	    "example: responses-replay --chunk 1 answer.sse\n",
	    out);
}

static void
feed(struct body *body, struct slice text, const struct options *o)
{
	size_t step = o->chunk == 0 ? text.len : o->chunk;

	for (size_t at = 0; at < text.len && !body_is_over(body);) {
		size_t n = text.len - at < step ? text.len - at : step;
		char *piece = mem_copy(text.ptr + at, n);

		body_feed(body, slice_of(piece, n));
		mem_free(piece);
		at += n;
	}
}

static int
replay(const struct options *o, char **files, int count)
{
	struct body body;
	struct buf out = BUF_INIT(RESULT_MAX);
	struct err err = { 0 };
	int rc = 1;

	body_init(&body, o->event_max, o->quirks);
	body_status(&body, o->status);
	for (int i = 0; i < count; i++) {
		struct buf text = BUF_INIT(BODY_MAX);

		if (buf_read_file(&text, files[i], &err) == -1) {
			fprintf(stderr, "responses-replay: %s\n", err.text);
			goto out;
		}
		if (i > 0)
			body_resume(&body);
		feed(&body, buf_slice(&text), o);
		body_end(&body, !o->unclean || i + 1 < count);
		buf_release(&text);
	}
	if (body.response.failure != NULL) {
		struct failure *failure = body.response.failure;

		failure->wait_ms =
		    retry_wait_ms(o->after_ms, o->after, clock_wall_ms());
		failure->advice = retry_advice(o->advice);
	}
	report(&body, &out);
	rc = printf("%.*s\n", SLICE_ARGS(buf_slice(&out))) < 0;
out:
	body_release(&body);
	buf_release(&out);
	return rc;
}

int
main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "chunk", required_argument, NULL, 'c' },
		{ "cap", required_argument, NULL, 'm' },
		{ "status", required_argument, NULL, 's' },
		{ "retry-after", required_argument, NULL, 'a' },
		{ "retry-after-ms", required_argument, NULL, 'A' },
		{ "should-retry", required_argument, NULL, 'r' },
		{ "unclean", no_argument, NULL, 'u' },
		{ "may-end", no_argument, NULL, 'e' },
		{ "repeats", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct options o = { .status = 200 };
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o.chunk = strtoul(optarg, NULL, 10);
			break;
		case 'm':
			o.event_max = strtoul(optarg, NULL, 10);
			break;
		case 's':
			o.status = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'a':
			o.after = optarg;
			break;
		case 'A':
			o.after_ms = optarg;
			break;
		case 'r':
			o.advice = optarg;
			break;
		case 'u':
			o.unclean = true;
			break;
		case 'e':
			o.quirks.may_end = true;
			break;
		case 'p':
			o.quirks.repeats = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind == argc) {
		usage(stderr);
		return 2;
	}
	return replay(&o, argv + optind, argc - optind);
}
