/*
 * Plays: answers that take their time, are cut, or never end. A play is the
 * connection's data while it lasts and owns its bytes.
 */
#include "tests/support/lib/model_play.h"

#include "base/alloc.h"

enum play_end {
	PLAY_WHOLE,
	PLAY_CUT,
	PLAY_RESET,
	PLAY_HOLD,
};

/* An answer on its way. */
struct play {
	struct reel reel;
	struct buf fields; /* header lines */
	size_t pos;        /* bytes that were put */
	size_t mark;       /* the next one */
	size_t chunk_bytes;
	int status;
	enum play_end end;
	bool begun;
	bool chunked;
	bool silent; /* not even a head */
};

static void
play_free(struct plays *plays, struct play *play)
{
	if (play == NULL)
		return;
	reel_release(&play->reel);
	buf_release(&play->fields);
	mem_free(play);
	plays->playing--;
}

static void
play_put(struct play *play, struct http_conn *conn, size_t to)
{
	if (!play->begun)
		http_begin(conn, play->status, buf_slice(&play->fields));
	play->begun = true;
	if (play->pos < to)
		http_put(conn,
		    slice_of(play->reel.bytes.ptr + play->pos, to - play->pos),
		    play->chunk_bytes);
	play->pos = to;
}

/* Puts what is left and ends as the answer says. */
static void
play_finish(struct plays *plays, struct play *play, struct http_conn *conn)
{
	enum play_end end = play->end;

	if (end == PLAY_HOLD) {
		if (!play->silent)
			play_put(play, conn, play->reel.bytes.len);
		(void)!http_flush(conn);
		return;
	}
	http_set_data(conn, NULL);
	if (play->chunked && !play->silent)
		play_put(play, conn, play->reel.bytes.len);
	if (end == PLAY_CUT)
		http_cut(conn);
	else if (end == PLAY_RESET)
		http_reset(conn);
	else if (play->chunked)
		http_end(conn);
	else
		http_reply(conn, play->status, NULL, buf_slice(&play->fields),
		    buf_slice(&play->reel.bytes));
	play_free(plays, play);
}

static void
play_go(struct plays *plays, struct play *play, struct http_conn *conn)
{
	const struct reel *reel = &play->reel;

	if (play->mark == reel->count) {
		if (play->end != PLAY_HOLD || play->pos < reel->bytes.len ||
		    !play->begun)
			play_finish(plays, play, conn);
		return;
	}
	if (play->pos < reel->marks[play->mark].offset) {
		play_put(play, conn, reel->marks[play->mark].offset);
		if (!http_flush(conn))
			return;
	}
	http_wait(conn, reel->marks[play->mark++].wait_ms);
}

void
play_ready(struct plays *plays, struct http_conn *conn)
{
	struct play *play = http_data(conn);

	if (play != NULL)
		play_go(plays, play, conn);
}

void
play_gone(struct plays *plays, struct http_conn *conn)
{
	plays->gone++;
	play_free(plays, http_data(conn));
	http_set_data(conn, NULL);
}

static enum play_end
ending(const struct answer *answer)
{
	if (answer->hold != HOLD_NOT)
		return PLAY_HOLD;
	if (answer->reset)
		return PLAY_RESET;
	return answer->cut == CUT_NOT ? PLAY_WHOLE : PLAY_CUT;
}

void
play_send(struct plays *plays, struct http_conn *conn,
    const struct answer *answer, struct reel *reel, struct buf *fields,
    bool chunked)
{
	struct play now = {
		.reel = *reel,
		.fields = *fields,
		.chunk_bytes = (size_t)answer->chunk_bytes,
		.status = answer->status == 0 ? 200 : (int)answer->status,
		.end = ending(answer),
	};
	struct play *play;

	now.chunked = chunked || now.end != PLAY_WHOLE || now.chunk_bytes > 0;
	now.silent = answer->hold == HOLD_HEAD ||
		     (answer->reset && answer->cut == CUT_NOT);
	if (now.end == PLAY_WHOLE && now.reel.count == 0 && now.chunked) {
		play_put(&now, conn, now.reel.bytes.len);
		http_end(conn);
		return;
	}
	play = MEM_NEW(struct play);
	*play = now;
	*reel = reel_init();
	*fields = BUF_INIT(PLAY_FIELDS_MAX);
	plays->playing++;
	http_set_data(conn, play);
	play_go(plays, play, conn);
}
