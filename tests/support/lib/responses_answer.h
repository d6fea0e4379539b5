/*
 * What the scripted model answers to one request: output items and how they
 * are to be sent. Filled by a script's rule or by the built-in model, then
 * written out as a reel (responses_reel.h).
 */
#ifndef SUPPORT_RESPONSES_ANSWER_H
#define SUPPORT_RESPONSES_ANSWER_H

#include "base/buf.h"

#define ANSWER_ITEMS_MAX 4096u
#define ANSWER_TEXT_MAX  (64u * 1024 * 1024)

/* Bytes inside answer->text: a position, since the buffer moves. */
struct span {
	size_t at, len;
};

enum answer_kind {
	ANSWER_TEXT,      /* text */
	ANSWER_REFUSAL,   /* text */
	ANSWER_CALL,      /* name, text = arguments, call_id */
	ANSWER_REASONING, /* text = summary parts, each ended by a NUL; sealed
			   */
	ANSWER_RAW_ITEM,  /* text = JSON */
	ANSWER_RAW_EVENT, /* text = JSON, name = its type */
	ANSWER_COMMENT,   /* text */
};

struct answer_item {
	enum answer_kind kind;
	struct span text;
	struct span name;
	struct span call_id; /* empty: one is made */
	struct span sealed;  /* encrypted_content */
	bool unsealed;       /* no encrypted_content at all */
};

enum answer_hold {
	HOLD_NOT,
	HOLD_HEAD,   /* not even the status line */
	HOLD_STREAM, /* silence where the terminal event (or the cut) is */
};

enum answer_cut {
	CUT_NOT,
	CUT_AFTER,  /* after cut_after whole events */
	CUT_INSIDE, /* in the middle of the event that follows them */
	CUT_LAST,   /* in the middle of the terminal event */
};

struct answer {
	struct buf text;           /* owned; what the spans point into */
	struct answer_item *items; /* owned */
	size_t count, cap;

	uint64_t delta_bytes; /* size of a text delta; 0: by deltas */
	uint64_t deltas;      /* how many; 0: one delta */
	uint64_t pause_ms;    /* after each delta */
	uint64_t delay_ms;    /* before the first byte */
	uint64_t chunk_bytes; /* 0: what goes out at once is one HTTP chunk */

	uint64_t status;       /* 0: 200 */
	struct span headers;   /* lines, each with CRLF */
	bool typed;            /* headers hold a content-type */
	struct span body;      /* instead of items */
	const char *body_type; /* not NULL: there is a body */

	enum answer_cut cut;
	uint64_t cut_after;
	bool reset;
	enum answer_hold hold;

	struct span incomplete;  /* reason */
	struct span failed;      /* JSON object */
	struct span error_event; /* JSON object */
	struct span usage;       /* JSON */
};

struct answer answer_init(void);
void answer_clear(struct answer *answer); /* as new, memory kept */
void answer_release(struct answer *answer);

/* A new item, borrowed until the next; NULL past ANSWER_ITEMS_MAX. */
struct answer_item *answer_add(struct answer *answer, enum answer_kind kind);
/* Appends bytes to the text. */
struct span answer_keep(struct answer *answer, struct slice bytes);
/* The span of all that was appended to the text since its length was from. */
struct span answer_since(const struct answer *answer, size_t from);
/* Borrowed until the text grows. */
struct slice answer_slice(const struct answer *answer, struct span span);

#endif
