/*
 * Writes answers as the events of the Responses API, in the order and with the
 * fields of the real service, straight into one buffer: no trees, no copies of
 * the request but those that the service sends back itself. Owns a reel's
 * buffers; sends nothing.
 */
#include "tests/support/lib/responses_reel.h"

#include "base/alloc.h"
#include "base/utf8.h"

#define MARKS_FIRST     16
#define ID_MAX          48
#define BYTES_PER_TOKEN 4
#define CHARACTER_MAX   4 /* bytes */

#define PUT(out, text) buf_put(out, "" text, sizeof(text) - 1)

/* One answer while it is written. */
struct scene {
	struct reel *reel;
	struct buf *out; /* reel->bytes */
	const struct answer *answer;
	const struct request *request;
	struct reel_ids *ids;
	uint64_t created_at;
	uint64_t sequence;
	uint64_t index; /* output_index */
	char response_id[ID_MAX];
	char item_id[ID_MAX];
	char made_id[ID_MAX];
	struct slice call_id;
	bool last; /* the item is the answer's last one */
};

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

static void
make_id(char id[ID_MAX], const char *prefix, uint64_t start, uint64_t n)
{
	snprintf(id, ID_MAX, "%s_%016llx%08llx", prefix,
	    (unsigned long long)start, (unsigned long long)n);
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

/* ---- events ---- */

static void
event_begin(struct scene *scene, const char *type)
{
	struct buf *out = scene->out;

	scene->reel->last_event = out->len;
	PUT(out, "event: ");
	buf_puts(out, type);
	PUT(out, "\ndata: {\"type\":\"");
	buf_puts(out, type);
	PUT(out, "\",\"sequence_number\":");
	buf_put_u64(out, scene->sequence++);
}

/* Notes where the cut falls, if this event is the one. */
static void
event_written(struct scene *scene)
{
	const struct answer *answer = scene->answer;
	struct reel *reel = scene->reel;
	size_t begin = reel->last_event, end = scene->out->len;

	reel->events++;
	if (answer->cut == CUT_AFTER && reel->events == answer->cut_after)
		reel->cut_at = end;
	if (answer->cut == CUT_INSIDE && reel->events == answer->cut_after + 1)
		reel->cut_at = begin + (end - begin) / 2;
}

static void
event_end(struct scene *scene)
{
	PUT(scene->out, "}\n\n");
	event_written(scene);
}

static void
put_index(struct scene *scene)
{
	PUT(scene->out, ",\"output_index\":");
	buf_put_u64(scene->out, scene->index);
}

/* place: ",\"content_index\":0" and the like, or "". */
static void
place_begin(struct scene *scene, const char *type, const char *place)
{
	event_begin(scene, type);
	PUT(scene->out, ",\"item_id\":\"");
	buf_puts(scene->out, scene->item_id);
	buf_putc(scene->out, '"');
	put_index(scene);
	buf_puts(scene->out, place);
}

static void
put_member(struct scene *scene, const char *key, struct slice text)
{
	PUT(scene->out, ",\"");
	buf_puts(scene->out, key);
	PUT(scene->out, "\":");
	json_put_string(scene->out, text);
}

/* How much of text the next delta takes: whole characters, at least one. */
static size_t
delta_length(struct slice text, uint64_t size)
{
	size_t n;

	if (size == 0 || size >= text.len)
		return text.len;
	n = utf8_cut(text, (size_t)size);
	for (size_t more = 1; n == 0 && more <= CHARACTER_MAX; more++)
		n = utf8_cut(text, more);
	return n == 0 ? text.len : n;
}

static void
put_deltas(struct scene *scene, const char *type, const char *place,
    struct slice text, const char *tail)
{
	const struct answer *answer = scene->answer;
	uint64_t size = answer->delta_bytes;

	if (size == 0 && answer->deltas > 0)
		size = (text.len + answer->deltas - 1) / answer->deltas;
	while (text.len > 0) {
		size_t n = delta_length(text, size);

		place_begin(scene, type, place);
		put_member(scene, "delta", slice_of(text.ptr, n));
		buf_puts(scene->out, tail);
		event_end(scene);
		reel_mark(scene->reel, answer->pause_ms);
		text.ptr += n;
		text.len -= n;
	}
}

/* ---- items ---- */

static const char *
item_status(const struct scene *scene)
{
	return scene->last && scene->answer->incomplete.len > 0 ? "incomplete"
								: "completed";
}

static void
put_part(struct buf *out, bool refusal, struct slice text)
{
	if (refusal)
		PUT(out, "{\"type\":\"refusal\",\"refusal\":");
	else
		PUT(out, "{\"type\":\"output_text\",\"annotations\":[],"
			 "\"logprobs\":[],\"text\":");
	json_put_string(out, text);
	buf_putc(out, '}');
}

/* text.ptr NULL: the item as it is announced, still without content. */
static void
put_message(
    struct scene *scene, struct buf *out, bool refusal, struct slice text)
{
	PUT(out, "{\"id\":\"");
	buf_puts(out, scene->item_id);
	PUT(out, "\",\"type\":\"message\",\"status\":\"");
	buf_puts(out, text.ptr ? item_status(scene) : "in_progress");
	PUT(out, "\",\"content\":[");
	if (text.ptr != NULL)
		put_part(out, refusal, text);
	PUT(out, "],\"role\":\"assistant\"}");
}

static void
put_call(struct scene *scene, struct buf *out, struct slice name,
    struct slice arguments)
{
	PUT(out, "{\"id\":\"");
	buf_puts(out, scene->item_id);
	PUT(out, "\",\"type\":\"function_call\",\"status\":\"");
	buf_puts(out, arguments.ptr ? item_status(scene) : "in_progress");
	PUT(out, "\",\"arguments\":");
	json_put_string(out, arguments);
	PUT(out, ",\"call_id\":");
	json_put_string(out, scene->call_id);
	PUT(out, ",\"name\":");
	json_put_string(out, name);
	buf_putc(out, '}');
}

/* The next summary part off *rest; false at the end. */
static bool
next_part(struct slice *rest, struct slice *ret_part)
{
	const char *end;

	if (rest->len == 0)
		return false;
	end = memchr(rest->ptr, '\0', rest->len);
	*ret_part =
	    slice_of(rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len);
	rest->ptr += ret_part->len + (end != NULL);
	rest->len -= ret_part->len + (end != NULL);
	return true;
}

static void
put_summary_part(struct buf *out, struct slice text)
{
	PUT(out, "{\"type\":\"summary_text\",\"text\":");
	json_put_string(out, text);
	buf_putc(out, '}');
}

/* The ciphertext is only whole when the item is done. */
static void
put_reasoning(struct scene *scene, struct buf *out,
    const struct answer_item *item, bool done)
{
	struct slice rest = answer_slice(scene->answer, item->text);
	struct slice sealed = answer_slice(scene->answer, item->sealed);
	struct slice part;
	bool first = true;

	PUT(out, "{\"id\":\"");
	buf_puts(out, scene->item_id);
	PUT(out, "\",\"type\":\"reasoning\",\"summary\":[");
	while (done && next_part(&rest, &part)) {
		if (!first)
			buf_putc(out, ',');
		first = false;
		put_summary_part(out, part);
	}
	buf_putc(out, ']');
	if (!item->unsealed) {
		PUT(out, ",\"encrypted_content\":");
		if (sealed.len == 0)
			sealed = slice_string(scene->item_id);
		if (!done)
			sealed.len /= 2;
		json_put_string(out, sealed);
	}
	buf_putc(out, '}');
}

/* The finished item, into the response's output. */
static struct slice
put_final(struct scene *scene, const struct answer_item *item)
{
	const struct answer *answer = scene->answer;
	struct slice text = answer_slice(answer, item->text);
	struct buf *out = &scene->reel->output;
	size_t from;

	if (out->len > 0)
		buf_putc(out, ',');
	from = out->len;
	switch (item->kind) {
	case ANSWER_TEXT:
	case ANSWER_REFUSAL:
		put_message(scene, out, item->kind == ANSWER_REFUSAL, text);
		break;
	case ANSWER_CALL:
		put_call(scene, out, answer_slice(answer, item->name), text);
		break;
	case ANSWER_REASONING:
		put_reasoning(scene, out, item, true);
		break;
	case ANSWER_RAW_ITEM:
		reel_put_line(out, text);
		break;
	case ANSWER_RAW_EVENT:
	case ANSWER_COMMENT:
		BUG("no item of the output");
	}
	return slice_of(out->ptr + from, out->len - from);
}

static void
name_item(struct scene *scene, const struct answer_item *item)
{
	static const char *const prefixes[] = {
		[ANSWER_TEXT] = "msg",
		[ANSWER_REFUSAL] = "msg",
		[ANSWER_CALL] = "fc",
		[ANSWER_REASONING] = "rs",
		[ANSWER_RAW_ITEM] = "raw",
	};
	struct slice call_id = answer_slice(scene->answer, item->call_id);
	uint64_t n = scene->ids->item++;

	make_id(scene->item_id, prefixes[item->kind], scene->ids->start, n);
	scene->call_id = call_id;
	if (call_id.len == 0) {
		make_id(scene->made_id, "call", scene->ids->start, n);
		scene->call_id = slice_string(scene->made_id);
	}
}

static void
stream_message(struct scene *scene, bool refusal, struct slice text)
{
	const char *place = ",\"content_index\":0";
	struct buf *out = scene->out;

	place_begin(scene, "response.content_part.added", place);
	PUT(out, ",\"part\":");
	put_part(out, refusal, SLICE(""));
	event_end(scene);
	if (refusal) {
		put_deltas(scene, "response.refusal.delta", place, text, "");
		place_begin(scene, "response.refusal.done", place);
		put_member(scene, "refusal", text);
	} else {
		put_deltas(scene, "response.output_text.delta", place, text,
		    ",\"logprobs\":[]");
		place_begin(scene, "response.output_text.done", place);
		put_member(scene, "text", text);
		PUT(out, ",\"logprobs\":[]");
	}
	event_end(scene);
	place_begin(scene, "response.content_part.done", place);
	PUT(out, ",\"part\":");
	put_part(out, refusal, text);
	event_end(scene);
}

static void
stream_call(struct scene *scene, struct slice arguments)
{
	put_deltas(
	    scene, "response.function_call_arguments.delta", "", arguments, "");
	place_begin(scene, "response.function_call_arguments.done", "");
	put_member(scene, "arguments", arguments);
	event_end(scene);
}

static void
stream_reasoning(struct scene *scene, struct slice rest)
{
	struct slice part;
	char place[40];

	for (unsigned i = 0; next_part(&rest, &part); i++) {
		snprintf(place, sizeof(place), ",\"summary_index\":%u", i);
		place_begin(
		    scene, "response.reasoning_summary_part.added", place);
		PUT(scene->out, ",\"part\":");
		put_summary_part(scene->out, SLICE(""));
		event_end(scene);
		put_deltas(scene, "response.reasoning_summary_text.delta",
		    place, part, "");
		place_begin(
		    scene, "response.reasoning_summary_text.done", place);
		put_member(scene, "text", part);
		event_end(scene);
		place_begin(
		    scene, "response.reasoning_summary_part.done", place);
		PUT(scene->out, ",\"part\":");
		put_summary_part(scene->out, part);
		event_end(scene);
	}
}

static void
put_added(struct scene *scene, const struct answer_item *item)
{
	const struct answer *answer = scene->answer;
	struct slice none = { 0 };

	event_begin(scene, "response.output_item.added");
	put_index(scene);
	PUT(scene->out, ",\"item\":");
	if (item->kind == ANSWER_CALL)
		put_call(
		    scene, scene->out, answer_slice(answer, item->name), none);
	else if (item->kind == ANSWER_REASONING)
		put_reasoning(scene, scene->out, item, false);
	else if (item->kind == ANSWER_RAW_ITEM)
		reel_put_line(scene->out, answer_slice(answer, item->text));
	else
		put_message(scene, scene->out, false, none);
	event_end(scene);
}

static void
stream_item(struct scene *scene, const struct answer_item *item)
{
	struct slice text = answer_slice(scene->answer, item->text);
	struct slice final;

	name_item(scene, item);
	put_added(scene, item);
	if (item->kind == ANSWER_CALL)
		stream_call(scene, text);
	else if (item->kind == ANSWER_REASONING)
		stream_reasoning(scene, text);
	else if (item->kind != ANSWER_RAW_ITEM)
		stream_message(scene, item->kind == ANSWER_REFUSAL, text);
	final = put_final(scene, item);
	event_begin(scene, "response.output_item.done");
	put_index(scene);
	PUT(scene->out, ",\"item\":");
	buf_put_slice(scene->out, final);
	event_end(scene);
	scene->index++;
}

/* What stands in the stream but is no item. */
static void
stream_aside(struct scene *scene, const struct answer_item *item)
{
	struct slice text = answer_slice(scene->answer, item->text);
	struct buf *out = scene->out;

	if (item->kind == ANSWER_COMMENT) {
		PUT(out, ": ");
		reel_put_line(out, text);
		PUT(out, "\n\n");
		return;
	}
	scene->reel->last_event = out->len;
	PUT(out, "event: ");
	buf_put_slice(out, answer_slice(scene->answer, item->name));
	PUT(out, "\ndata: ");
	reel_put_line(out, text);
	PUT(out, "\n\n");
	event_written(scene);
}

static bool
is_item(const struct answer_item *item)
{
	return item->kind != ANSWER_RAW_EVENT && item->kind != ANSWER_COMMENT;
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

	make_id(scene.response_id, "resp", ids->start, ids->response++);
	return scene;
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
		event_begin(scene, "error");
		PUT(scene->out, ",\"error\":");
		reel_put_line(
		    scene->out, answer_slice(answer, answer->error_event));
		event_end(scene);
		if (answer->failed.len == 0)
			return;
	}
	snprintf(type, sizeof(type), "response.%s", status);
	event_begin(scene, type);
	PUT(scene->out, ",\"response\":");
	put_response(scene, status, true);
	event_end(scene);
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
		event_begin(&scene, begin[i]);
		PUT(scene.out, ",\"response\":");
		put_response(&scene, "in_progress", false);
		event_end(&scene);
	}
	for (size_t i = 0; i < answer->count; i++) {
		scene.last = i + 1 == answer->count;
		if (is_item(&answer->items[i]))
			stream_item(&scene, &answer->items[i]);
		else
			stream_aside(&scene, &answer->items[i]);
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
		scene.last = i + 1 == answer->count;
		if (!is_item(&answer->items[i]))
			continue;
		name_item(&scene, &answer->items[i]);
		put_final(&scene, &answer->items[i]);
	}
	put_response(&scene, final_status(answer), true);
}
