/*
 * One answer while it is written as events: what they are numbered and named
 * by, and the pieces that all of them are made of. For responses_items.c and
 * responses_reel.c only.
 */
#ifndef SUPPORT_RESPONSES_SCENE_H
#define SUPPORT_RESPONSES_SCENE_H

#include "tests/support/lib/responses_reel.h"

#define ID_MAX 48

#define PUT(out, text) buf_put(out, "" text, sizeof(text) - 1)

/* Everything is borrowed for the time of one answer. */
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

/* "prefix_" and digits that no other process makes. */
void scene_make_id(
    char id[ID_MAX], const char *prefix, uint64_t start, uint64_t n);

/* Opens an event with type and number; members follow, each with its comma. */
void scene_begin_event(struct scene *scene, const char *type);
/* The same with item_id and output_index; place: further members or "". */
void scene_begin_place(
    struct scene *scene, const char *type, const char *place);
void scene_end_event(struct scene *scene);
/* After an event that was written by hand since reel->last_event. */
void scene_event_written(struct scene *scene);

void scene_put_index(struct scene *scene);
void scene_put_member(struct scene *scene, const char *key, struct slice text);
/* One event for each delta of the text, with the pauses; tail: more members. */
void scene_put_deltas(struct scene *scene, const char *type, const char *place,
    struct slice text, const char *tail);

#endif
