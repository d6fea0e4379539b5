/*
 * Writes the frame of each event and the deltas of a text, and notes where a
 * cut falls.
 */
#include "tests/support/lib/responses_scene.h"

#include "base/utf8.h"

#define CHARACTER_MAX 4 /* bytes */

static char *
put_hex(char *p, uint64_t n, unsigned digits)
{
	while (digits-- > 0)
		*p++ = "0123456789abcdef"[n >> (digits * 4) & 15];
	return p;
}

void
scene_make_id(char id[ID_MAX], const char *prefix, uint64_t start, uint64_t n)
{
	char *p = id;

	while (*prefix != '\0')
		*p++ = *prefix++;
	*p++ = '_';
	p = put_hex(p, start, 16);
	p = put_hex(p, n, 8);
	*p = '\0';
}

void
scene_begin_event(struct scene *scene, const char *type)
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
void
scene_event_written(struct scene *scene)
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

void
scene_end_event(struct scene *scene)
{
	PUT(scene->out, "}\n\n");
	scene_event_written(scene);
}

void
scene_put_index(struct scene *scene)
{
	PUT(scene->out, ",\"output_index\":");
	buf_put_u64(scene->out, scene->index);
}

/* place: ",\"content_index\":0" and the like, or "". */
void
scene_begin_place(struct scene *scene, const char *type, const char *place)
{
	scene_begin_event(scene, type);
	PUT(scene->out, ",\"item_id\":\"");
	buf_puts(scene->out, scene->item_id);
	buf_putc(scene->out, '"');
	scene_put_index(scene);
	buf_puts(scene->out, place);
}

void
scene_put_member(struct scene *scene, const char *key, struct slice text)
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

void
scene_put_deltas(struct scene *scene, const char *type, const char *place,
    struct slice text, const char *tail)
{
	const struct answer *answer = scene->answer;
	uint64_t size = answer->delta_bytes;

	if (size == 0 && answer->deltas > 0)
		size = (text.len + answer->deltas - 1) / answer->deltas;
	while (text.len > 0) {
		size_t n = delta_length(text, size);

		scene_begin_place(scene, type, place);
		scene_put_member(scene, "delta", slice_of(text.ptr, n));
		buf_puts(scene->out, tail);
		scene_end_event(scene);
		reel_mark(scene->reel, answer->pause_ms);
		text.ptr += n;
		text.len -= n;
	}
}
