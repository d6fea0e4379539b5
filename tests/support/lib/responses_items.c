/*
 * Writes messages, refusals, calls, reasoning and raw items in the order and
 * with the fields of the real service.
 */
#include "tests/support/lib/responses_items.h"

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

	scene_make_id(
	    scene->item_id, prefixes[item->kind], scene->ids->start, n);
	scene->call_id = call_id;
	if (call_id.len == 0) {
		scene_make_id(scene->made_id, "call", scene->ids->start, n);
		scene->call_id = slice_string(scene->made_id);
	}
}

static void
stream_message(struct scene *scene, bool refusal, struct slice text)
{
	const char *place = ",\"content_index\":0";
	struct buf *out = scene->out;

	scene_begin_place(scene, "response.content_part.added", place);
	PUT(out, ",\"part\":");
	put_part(out, refusal, SLICE(""));
	scene_end_event(scene);
	if (refusal) {
		scene_put_deltas(
		    scene, "response.refusal.delta", place, text, "");
		scene_begin_place(scene, "response.refusal.done", place);
		scene_put_member(scene, "refusal", text);
	} else {
		scene_put_deltas(scene, "response.output_text.delta", place,
		    text, ",\"logprobs\":[]");
		scene_begin_place(scene, "response.output_text.done", place);
		scene_put_member(scene, "text", text);
		PUT(out, ",\"logprobs\":[]");
	}
	scene_end_event(scene);
	scene_begin_place(scene, "response.content_part.done", place);
	PUT(out, ",\"part\":");
	put_part(out, refusal, text);
	scene_end_event(scene);
}

static void
stream_call(struct scene *scene, struct slice arguments)
{
	scene_put_deltas(
	    scene, "response.function_call_arguments.delta", "", arguments, "");
	scene_begin_place(scene, "response.function_call_arguments.done", "");
	scene_put_member(scene, "arguments", arguments);
	scene_end_event(scene);
}

static void
stream_reasoning(struct scene *scene, struct slice rest)
{
	struct slice part;
	char place[40];

	for (unsigned i = 0; next_part(&rest, &part); i++) {
		snprintf(place, sizeof(place), ",\"summary_index\":%u", i);
		scene_begin_place(
		    scene, "response.reasoning_summary_part.added", place);
		PUT(scene->out, ",\"part\":");
		put_summary_part(scene->out, SLICE(""));
		scene_end_event(scene);
		scene_put_deltas(scene, "response.reasoning_summary_text.delta",
		    place, part, "");
		scene_begin_place(
		    scene, "response.reasoning_summary_text.done", place);
		scene_put_member(scene, "text", part);
		scene_end_event(scene);
		scene_begin_place(
		    scene, "response.reasoning_summary_part.done", place);
		PUT(scene->out, ",\"part\":");
		put_summary_part(scene->out, part);
		scene_end_event(scene);
	}
}

static void
put_added(struct scene *scene, const struct answer_item *item)
{
	const struct answer *answer = scene->answer;
	struct slice none = { 0 };

	scene_begin_event(scene, "response.output_item.added");
	scene_put_index(scene);
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
	scene_end_event(scene);
}

static void
stream_output(struct scene *scene, const struct answer_item *item)
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
	scene_begin_event(scene, "response.output_item.done");
	scene_put_index(scene);
	PUT(scene->out, ",\"item\":");
	buf_put_slice(scene->out, final);
	scene_end_event(scene);
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
	scene_event_written(scene);
}

bool
items_is_output(const struct answer_item *item)
{
	return item->kind != ANSWER_RAW_EVENT && item->kind != ANSWER_COMMENT;
}

void
items_stream(struct scene *scene, const struct answer_item *item)
{
	if (items_is_output(item))
		stream_output(scene, item);
	else
		stream_aside(scene, item);
}

void
items_print(struct scene *scene, const struct answer_item *item)
{
	if (!items_is_output(item))
		return;
	name_item(scene, item);
	put_final(scene, item);
}
