/*
 * Load models: the model's name says what is answered, so that a benchmark
 * needs no script. bench[-tools-N][-parallel-N][-text-N][-delay-MS]
 * [-paced-NxMS][-reason][-pad-N], in any order. No pauses unless paced.
 */
#include "tests/support/lib/builtin_model.h"

#define BENCH     "bench"
#define ARGUMENTS "{\"city\":\"Paris\"}"
#define WORD      "word "
#define TEXT_MAX  1000000u
#define CALLS_MAX 1000u
#define WAIT_MAX  86400000u

struct bench {
	uint64_t rounds, width, deltas, delay_ms, paced, pace_ms, pad;
	bool reason;
};

static struct slice
model_name(const struct request *request)
{
	struct json model = request->field[REQUEST_MODEL];

	if (model.type != JSON_STRING)
		return (struct slice){ 0 };
	return slice_of(model.raw.ptr + 1, model.raw.len - 2);
}

bool
bench_is_asked(const struct request *request)
{
	struct slice name = model_name(request);
	size_t len = strlen(BENCH);

	return name.len >= len && memcmp(name.ptr, BENCH, len) == 0 &&
	       (name.len == len || name.ptr[len] == '-');
}

/* Takes what stands before the next `stop` off *rest. */
static struct slice
next_word(struct slice *rest, char stop)
{
	const char *end =
	    rest->len == 0 ? NULL : memchr(rest->ptr, stop, rest->len);
	struct slice word =
	    slice_of(rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len);

	rest->ptr += word.len + (end != NULL);
	rest->len -= word.len + (end != NULL);
	return word;
}

static bool
read_number(struct slice text, uint64_t max, uint64_t *ret)
{
	uint64_t number = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9' || number > max)
			return false;
		number = number * 10 + (uint64_t)(text.ptr[i] - '0');
	}
	*ret = number;
	return text.len > 0 && number <= max;
}

static bool
read_option(struct bench *bench, struct slice name, struct slice *rest)
{
	const struct {
		const char *name;
		uint64_t *value;
		uint64_t max;
	} numbers[] = {
		{ "tools", &bench->rounds, CALLS_MAX },
		{ "parallel", &bench->width, CALLS_MAX },
		{ "text", &bench->deltas, TEXT_MAX },
		{ "delay", &bench->delay_ms, WAIT_MAX },
		{ "pad", &bench->pad, TEXT_MAX },
	};
	struct slice pace;

	if (slice_is(name, "reason")) {
		bench->reason = true;
		return true;
	}
	if (slice_is(name, "paced")) {
		pace = next_word(rest, '-');
		return read_number(
			   next_word(&pace, 'x'), TEXT_MAX, &bench->paced) &&
		       read_number(pace, WAIT_MAX, &bench->pace_ms);
	}
	for (size_t i = 0; i < COUNT(numbers); i++)
		if (slice_is(name, numbers[i].name))
			return read_number(next_word(rest, '-'), numbers[i].max,
			    numbers[i].value);
	return false;
}

static int
read_name(const struct request *request, struct bench *bench, struct err *err)
{
	struct slice rest = model_name(request), name;

	next_word(&rest, '-');
	while (rest.len > 0) {
		name = next_word(&rest, '-');
		if (!read_option(bench, name, &rest))
			return err_set(err, ERR_INPUT,
			    "option '%.*s' of the load model is unknown or "
			    "out of range",
			    (int)(name.len > 40 ? 40 : name.len), name.ptr);
	}
	if (bench->width > 0 && bench->rounds == 0)
		bench->rounds = 1;
	if (bench->width == 0)
		bench->width = 1;
	return 0;
}

static void
call_tools(struct answer *answer, struct json tool, uint64_t width)
{
	for (uint64_t i = 0; i < width; i++) {
		struct answer_item *item = answer_add(answer, ANSWER_CALL);

		if (item == NULL)
			return;
		item->name = answer_keep(
		    answer, slice_of(tool.raw.ptr + 1, tool.raw.len - 2));
		item->text = answer_keep(answer, SLICE(ARGUMENTS));
	}
}

static void
say_words(struct answer *answer, const struct bench *bench)
{
	struct answer_item *item = answer_add(answer, ANSWER_TEXT);
	uint64_t deltas = bench->paced > 0 ? bench->paced : bench->deltas;
	size_t from = answer->text.len;

	for (uint64_t i = 0; i < deltas && !answer->text.failed; i++) {
		for (uint64_t pad = 0; pad < bench->pad; pad++)
			buf_putc(&answer->text, 'x');
		buf_puts(&answer->text, WORD);
	}
	if (item != NULL)
		item->text = answer_since(answer, from);
	answer->delta_bytes = strlen(WORD) + bench->pad;
	answer->pause_ms = bench->pace_ms;
}

int
bench_answer(
    const struct request *request, struct answer *answer, struct err *err)
{
	struct bench bench = { .deltas = 16 };
	struct json tool = request_first_tool(request);

	if (read_name(request, &bench, err) == -1)
		return -1;
	answer->delay_ms = bench.delay_ms;
	if (bench.reason)
		answer_add(answer, ANSWER_REASONING);
	if (tool.type != JSON_NONE &&
	    request->outputs < bench.rounds * bench.width)
		call_tools(answer, tool, bench.width);
	else
		say_words(answer, &bench);
	return 0;
}
