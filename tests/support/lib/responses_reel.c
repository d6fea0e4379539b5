/*
 * Writes answers as the events of the Responses API, in the order and with the
 * fields of the real service, straight into one buffer: no trees, no copies of
 * the request but those that the service sends back itself. Owns a reel's
 * buffers; sends nothing.
 */
#include "tests/support/lib/responses_reel.h"

#include "base/alloc.h"
#include "tests/support/lib/responses_items.h"

#define MARKS_FIRST     16
#define BYTES_PER_TOKEN 4

/* ---- the reel ---- */

struct reel
reel_init(void)
{
	return (struct reel){
		.bytes = BUF_INIT(REEL_BYTES_MAX),
		.output = BUF_INIT(REEL_BYTES_MAX),
	};
}

void
reel_clear(struct reel *reel)
{
	buf_clear(&reel->bytes);
	buf_clear(&reel->output);
	reel->count = 0;
	reel->events = 0;
	reel->last_event = 0;
	reel->cut_at = SIZE_MAX;
}

void
reel_release(struct reel *reel)
{
	buf_release(&reel->bytes);
	buf_release(&reel->output);
	mem_free(reel->marks);
	*reel = reel_init();
}

void
reel_mark(struct reel *reel, uint64_t wait_ms)
{
	if (wait_ms == 0)
		return;
	if (reel->count == reel->cap) {
		reel->cap = reel->cap == 0 ? MARKS_FIRST : reel->cap * 2;
		reel->marks =
		    mem_grow(reel->marks, reel->cap * sizeof(*reel->marks));
	}
	reel->marks[reel->count++] =
	    (struct reel_mark){ reel->bytes.len, wait_ms };
}

void
reel_put_line(struct buf *out, struct slice json)
{
	size_t from = out->len;

	buf_put_slice(out, json);
	if (json.len == 0 || (memchr(json.ptr, '\n', json.len) == NULL &&
				 memchr(json.ptr, '\r', json.len) == NULL))
		return;
	for (size_t i = from; i < out->len; i++)
		if (out->ptr[i] == '\n' || out->ptr[i] == '\r')
			out->ptr[i] = ' ';
}

/* ---- the response object ---- */

static const struct {
	const char *name; /* with its colon and the comma before */
	enum request_field field;
	const char *otherwise;
} echoes[] = {
	{ ",\"instructions\":", REQUEST_INSTRUCTIONS, "null" },
	{ ",\"max_output_tokens\":", REQUEST_MAX_OUTPUT, "null" },
	{ ",\"metadata\":", REQUEST_METADATA, "{}" },
	{ ",\"model\":", REQUEST_MODEL, "null" },
	{ ",\"parallel_tool_calls\":", REQUEST_PARALLEL, "true" },
	{ ",\"reasoning\":", REQUEST_REASONING,
	    "{\"effort\":null,\"summary\":null}" },
	{ ",\"temperature\":", REQUEST_TEMPERATURE, "1.0" },
	{ ",\"text\":", REQUEST_TEXT, "{\"format\":{\"type\":\"text\"}}" },
	{ ",\"tool_choice\":", REQUEST_TOOL_CHOICE, "\"auto\"" },
	{ ",\"tools\":", REQUEST_TOOLS, "[]" },
	{ ",\"top_p\":", REQUEST_TOP_P, "1.0" },
};

static void
put_usage(struct scene *scene)
{
	const struct answer *answer = scene->answer;
	struct buf *out = scene->out;
	uint64_t input, output;

	if (answer->usage.len > 0) {
		reel_put_line(out, answer_slice(answer, answer->usage));
		return;
	}
	input = scene->request->root.raw.len / BYTES_PER_TOKEN + 1;
	output = answer->text.len / BYTES_PER_TOKEN + 1;
	PUT(out, "{\"input_tokens\":");
	buf_put_u64(out, input);
	PUT(out, ",\"input_tokens_details\":{\"cached_tokens\":0},"
		 "\"output_tokens\":");
	buf_put_u64(out, output);
	PUT(out, ",\"output_tokens_details\":{\"reasoning_tokens\":0},"
		 "\"total_tokens\":");
	buf_put_u64(out, input + output);
	buf_putc(out, '}');
}

/* status: as the API names it. Ended responses have their output. */
static void
put_response(struct scene *scene, const char *status, bool ended)
{
	const struct answer *answer = scene->answer;
	struct buf *out = scene->out;
	bool completed = strcmp(status, "completed") == 0;

	PUT(out, "{\"id\":\"");
	buf_puts(out, scene->response_id);
	PUT(out, "\",\"object\":\"response\",\"created_at\":");
	buf_put_u64(out, scene->created_at);
	PUT(out, ",\"status\":\"");
	buf_puts(out, status);
	PUT(out, "\",\"background\":false,\"completed_at\":");
	if (completed)
		buf_put_u64(out, scene->created_at);
	else
		PUT(out, "null");
	PUT(out, ",\"error\":");
	if (ended && answer->failed.len > 0)
		reel_put_line(out, answer_slice(answer, answer->failed));
	else
		PUT(out, "null");
	PUT(out, ",\"incomplete_details\":");
	if (ended && answer->incomplete.len > 0) {
		PUT(out, "{\"reason\":");
		json_put_string(out, answer_slice(answer, answer->incomplete));
		buf_putc(out, '}');
	} else {
		PUT(out, "null");
	}
	for (size_t i = 0; i < COUNT(echoes); i++) {
		struct json value = scene->request->field[echoes[i].field];

		buf_puts(out, echoes[i].name);
		if (value.type == JSON_NONE || value.type == JSON_NULL)
			buf_puts(out, echoes[i].otherwise);
		else
			reel_put_line(out, value.raw);
	}
	PUT(out, ",\"previous_response_id\":null,\"store\":false,"
		 "\"truncation\":\"disabled\",\"output\":[");
	if (ended)
		buf_put_slice(out, buf_slice(&scene->reel->output));
	PUT(out, "],\"usage\":");
	if (ended && answer->failed.len == 0)
		put_usage(scene);
	else
		PUT(out, "null");
	buf_putc(out, '}');
}

/* ---- whole answers ---- */

static struct scene
scene_begin(struct reel *reel, const struct answer *answer,
    const struct request *request, struct reel_ids *ids, uint64_t created_at)
{
	struct scene scene = {
		.reel = reel,
		.out = &reel->bytes,
		.answer = answer,
		.request = request,
		.ids = ids,
		.created_at = created_at,
	};

	scene_make_id(scene.response_id, "resp", ids->start, ids->response++);
	return scene;
}

/* The index of the last item that is no bare event or comment. */
static size_t
last_output(const struct answer *answer)
{
	size_t i = answer->count;

	while (i > 0 && !items_is_output(&answer->items[i - 1]))
		i--;
	return i - 1;
}

static const char *
final_status(const struct answer *answer)
{
	if (answer->failed.len > 0)
		return "failed";
	return answer->incomplete.len > 0 ? "incomplete" : "completed";
}

static void
stream_terminal(struct scene *scene)
{
	const struct answer *answer = scene->answer;
	const char *status = final_status(answer);
	char type[40];

	if (answer->error_event.len > 0) {
		scene_begin_event(scene, "error");
		PUT(scene->out, ",\"error\":");
		reel_put_line(
		    scene->out, answer_slice(answer, answer->error_event));
		scene_end_event(scene);
		if (answer->failed.len == 0)
			return;
	}
	snprintf(type, sizeof(type), "response.%s", status);
	scene_begin_event(scene, type);
	PUT(scene->out, ",\"response\":");
	put_response(scene, status, true);
	scene_end_event(scene);
}

static void
reel_cut(struct reel *reel, const struct answer *answer)
{
	size_t end = reel->bytes.len;

	if (answer->cut == CUT_AFTER && answer->cut_after == 0)
		reel->cut_at = 0;
	if (answer->cut == CUT_LAST)
		reel->cut_at = reel->last_event + (end - reel->last_event) / 2;
	if (answer->cut == CUT_NOT && answer->hold == HOLD_STREAM)
		reel->cut_at = reel->last_event;
	if (reel->cut_at < end)
		reel->bytes.len = reel->cut_at;
	while (reel->count > 0 &&
	       reel->marks[reel->count - 1].offset > reel->bytes.len)
		reel->count--;
}

void
reel_stream(struct reel *reel, const struct answer *answer,
    const struct request *request, struct reel_ids *ids, uint64_t created_at)
{
	static const char *const begin[] = {
		"response.created",
		"response.in_progress",
	};
	struct scene scene =
	    scene_begin(reel, answer, request, ids, created_at);

	for (size_t i = 0; i < COUNT(begin); i++) {
		scene_begin_event(&scene, begin[i]);
		PUT(scene.out, ",\"response\":");
		put_response(&scene, "in_progress", false);
		scene_end_event(&scene);
	}
	for (size_t i = 0; i < answer->count; i++) {
		scene.last = i == last_output(answer);
		items_stream(&scene, &answer->items[i]);
	}
	stream_terminal(&scene);
	reel_cut(reel, answer);
}

void
reel_json(struct reel *reel, const struct answer *answer,
    const struct request *request, struct reel_ids *ids, uint64_t created_at)
{
	struct scene scene =
	    scene_begin(reel, answer, request, ids, created_at);

	for (size_t i = 0; i < answer->count; i++) {
		scene.last = i == last_output(answer);
		items_print(&scene, &answer->items[i]);
	}
	put_response(&scene, final_status(answer), true);
}
