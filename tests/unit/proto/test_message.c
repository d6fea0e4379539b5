/*
 * proto/message.c, scan.c and catalogue.c. Samples of every message are filled
 * from the catalogue; hand-made frames are written from the msgpack
 * specification, byte by byte, and never from the codec's own output.
 */
#include "proto/message.h"

#include "base/alloc.h"
#include "base/json.h"
#include "proto/catalogue.h"
#include "proto/scan.h"
#include "tests/unit/suite.h"

#include <check.h>

#define FRAME_MAX (LIMIT_MESSAGE + 100)

/* ---- samples ---- */

/* How a sample is filled. */
enum fill {
	FILL_ZERO,
	FILL_SMALL,
	FILL_FULL, /* the largest that each field allows */
	FILLS,
};

static uint64_t
largest(const struct field *field)
{
	return field->limit == 0 ? UINT64_MAX : field->limit;
}

static void
fill_field(void *at, const struct field *field, enum fill fill, char *letters)
{
	bool full = fill == FILL_FULL;

	switch (field->type) {
	case FIELD_U64:
		*(uint64_t *)at = full ? largest(field) : 3;
		return;
	case FIELD_I64:
		*(int64_t *)at = full ? INT64_MIN : -3;
		return;
	case FIELD_BOOL:
		*(bool *)at = true;
		return;
	case FIELD_STR:
		*(struct slice *)at =
		    slice_of(letters, full ? (size_t)field->limit : 2);
		return;
	case FIELD_UUID:
		memset(at, full ? 0xff : 0x5a, sizeof(struct uuid));
		return;
	}
}

/* Borrowed text that is long enough for every limit. */
static char *
letters(void)
{
	static char text[LIMIT_TEXT];

	memset(text, 'l', sizeof(text));
	return text;
}

/* False when the catalogue has no message of this id. */
static bool
sample(unsigned id, enum fill fill, struct msg *ret_msg)
{
	const struct catalogue_message *message = catalogue_message(id);

	if (message == NULL)
		return false;
	memset(ret_msg, 0, sizeof(*ret_msg));
	ret_msg->id = (enum msg_id)id;
	for (size_t i = 0; i < message->count && fill != FILL_ZERO; i++)
		fill_field((char *)ret_msg + message->fields[i].offset,
		    &message->fields[i], fill, letters());
	return true;
}

static bool
field_eq(const struct field *field, const struct msg *a, const struct msg *b)
{
	const void *in_a = (const char *)a + field->offset;
	const void *in_b = (const char *)b + field->offset;

	switch (field->type) {
	case FIELD_U64:
		return *(const uint64_t *)in_a == *(const uint64_t *)in_b;
	case FIELD_I64:
		return *(const int64_t *)in_a == *(const int64_t *)in_b;
	case FIELD_BOOL:
		return *(const bool *)in_a == *(const bool *)in_b;
	case FIELD_STR:
		return slice_eq(
		    *(const struct slice *)in_a, *(const struct slice *)in_b);
	case FIELD_UUID:
		return uuid_eq(in_a, in_b);
	}
	return false;
}

static void
encode(const struct msg *msg, struct buf *wire)
{
	struct err err = { 0 };

	*wire = BUF_INIT(FRAME_MAX);
	ck_assert_msg(msg_encode(msg, wire, &err) == 0, "%s", err.text);
}

/* ---- round trips ---- */

START_TEST(every_message_comes_back_as_it_was)
{
	for (int fill = 0; fill < FILLS; fill++) {
		struct err err = { 0 };
		struct msg msg, back;
		struct buf wire;

		if (!sample((unsigned)_i, (enum fill)fill, &msg))
			return;
		encode(&msg, &wire);
		ck_assert_uint_le(wire.len, LIMIT_MESSAGE);
		ck_assert_msg(msg_decode(&back, buf_slice(&wire), &err) == 0,
		    "%s", err.text);
		ck_assert_int_eq(back.id, msg.id);
		ck_assert_uint_eq(back.minor, MESSAGE_MINOR);
		for (size_t i = 0; i < catalogue_message(msg.id)->count; i++)
			ck_assert_msg(
			    field_eq(&catalogue_message(msg.id)->fields[i],
				&msg, &back),
			    "%s", catalogue_message(msg.id)->fields[i].name);
		buf_release(&wire);
	}
}
END_TEST

START_TEST(refuses_a_message_cut_short)
{
	struct msg msg, back;
	struct buf wire;

	if (!sample((unsigned)_i, FILL_SMALL, &msg))
		return;
	encode(&msg, &wire);
	for (size_t n = 0; n < wire.len; n++) {
		struct err err = { 0 };
		char *cut = mem_copy(wire.ptr, n);

		ck_assert_int_eq(msg_decode(&back, slice_of(cut, n), &err), -1);
		ck_assert_int_eq(err.kind, ERR_INPUT);
		mem_free(cut);
	}
	buf_release(&wire);
}
END_TEST

/* What still decodes must be sound enough to be sent on. */
START_TEST(any_changed_byte_decodes_or_is_refused)
{
	struct msg msg, back;
	struct buf wire, again;

	if (!sample((unsigned)_i, FILL_SMALL, &msg))
		return;
	encode(&msg, &wire);
	for (size_t i = 0; i < wire.len; i++) {
		char was = wire.ptr[i];

		for (unsigned value = 0; value < 256; value++) {
			struct err err = { 0 };

			wire.ptr[i] = (char)value;
			if (msg_decode(&back, buf_slice(&wire), &err) == 0) {
				encode(&back, &again);
				buf_release(&again);
			} else {
				ck_assert_int_ne(err.text[0], '\0');
			}
		}
		wire.ptr[i] = was;
	}
	buf_release(&wire);
}
END_TEST

START_TEST(an_encoded_message_is_appended)
{
	struct msg msg = { .id = MSG_bye };
	struct buf wire = BUF_INIT(FRAME_MAX);
	struct err err = { 0 };

	buf_puts(&wire, "before");
	ck_assert_int_eq(msg_encode(&msg, &wire, &err), 0);
	ck_assert_int_eq(memcmp(wire.ptr, "before\x93", 7), 0);
	buf_release(&wire);
}
END_TEST

/* ---- hand-made frames ---- */

struct frame {
	const char *bytes;
	size_t len;
};

#define FRAME(bytes)                                                           \
	{                                                                      \
		bytes, sizeof(bytes) - 1                                       \
	}

static int
decode(struct frame frame, struct msg *ret_msg, struct err *err)
{
	/* A copy of its own, so that a sanitizer sees reads past it. */
	char *copy = mem_copy(frame.bytes, frame.len);
	int rc = msg_decode(ret_msg, slice_of(copy, frame.len), err);

	mem_free(copy);
	return rc;
}

START_TEST(the_bytes_are_those_of_the_specification)
{
	/* array 5: uint16 0x0100, 1.., heartbeat = 3, fixint 1, uint16 300 */
	static const char heartbeat[] = "\x94\xcd\x01\x00\x03\x01\xcd\x01\x2c";
	/* array 3: version, bye = 10, fixstr 2 */
	static const char bye[] = "\x93\xcd\x01\x00\x0a\xa2go";
	/* array 4: version, get = 41, uint8 200, bin8 16 */
	static const char get[] =
	    "\x94\xcd\x01\x00\x29\xcc\xc8\xc4\x10"
	    "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
	    "\x10";
	struct msg msg = { .id = MSG_heartbeat };
	struct buf wire;

	msg.heartbeat.session = 1;
	msg.heartbeat.sent_ms = 300;
	encode(&msg, &wire);
	ck_assert(slice_eq(
	    buf_slice(&wire), slice_of(heartbeat, sizeof(heartbeat) - 1)));
	buf_release(&wire);
	msg = (struct msg){ .id = MSG_bye, .bye = { SLICE("go") } };
	encode(&msg, &wire);
	ck_assert(slice_eq(buf_slice(&wire), slice_of(bye, sizeof(bye) - 1)));
	buf_release(&wire);
	msg = (struct msg){ .id = MSG_get, .get = { .request = 200 } };
	for (uint8_t i = 0; i < 16; i++)
		msg.get.run.bytes[i] = (uint8_t)(i + 1);
	encode(&msg, &wire);
	ck_assert(slice_eq(buf_slice(&wire), slice_of(get, sizeof(get) - 1)));
	buf_release(&wire);
}
END_TEST

/* credit(count = 5) in every form an integer may have. */
static const struct frame fives[] = {
	FRAME("\x93\xcd\x01\x00\x02\x05"),
	FRAME("\x93\xcd\x01\x00\x02\xcc\x05"),
	FRAME("\x93\xcd\x01\x00\x02\xcd\x00\x05"),
	FRAME("\x93\xcd\x01\x00\x02\xce\x00\x00\x00\x05"),
	FRAME("\x93\xcd\x01\x00\x02\xcf\x00\x00\x00\x00\x00\x00\x00\x05"),
	FRAME("\x93\xcd\x01\x00\x02\xd0\x05"),
	FRAME("\x93\xcd\x01\x00\x02\xd1\x00\x05"),
	FRAME("\x93\xcd\x01\x00\x02\xd2\x00\x00\x00\x05"),
	FRAME("\x93\xcd\x01\x00\x02\xd3\x00\x00\x00\x00\x00\x00\x00\x05"),
	/* version and id in wide forms, array 16 and 32 */
	FRAME("\xdc\x00\x03\xd1\x01\x00\xcf\x00\x00\x00\x00\x00\x00\x00\x02"
	      "\x05"),
	FRAME("\xdd\x00\x00\x00\x03\xce\x00\x00\x01\x00\xd0\x02\x05"),
};

START_TEST(integers_of_every_width_are_taken)
{
	struct err err = { 0 };
	struct msg msg;

	ck_assert_msg(decode(fives[_i], &msg, &err) == 0, "%s", err.text);
	ck_assert_int_eq(msg.id, MSG_credit);
	ck_assert_uint_eq(msg.credit.count, 5);
}
END_TEST

/* tool_done(…, code) with the code in hand-made form */
#define TOOL_DONE_HEAD                                                         \
	"\xcd\x01\x00\x08\xc4\x10"                                             \
	"rrrrrrrrrrrrrrrr\x01\x02\x03\x00\xa2ok"

static const struct {
	struct frame frame;
	int64_t code;
} codes[] = {
	{ FRAME("\x99" TOOL_DONE_HEAD "\x7f"), 127 },
	{ FRAME("\x99" TOOL_DONE_HEAD "\xff"), -1 },
	{ FRAME("\x99" TOOL_DONE_HEAD "\xe0"), -32 },
	{ FRAME("\x99" TOOL_DONE_HEAD "\xd0\x80"), -128 },
	{ FRAME("\x99" TOOL_DONE_HEAD "\xd1\x80\x00"), -32768 },
	{ FRAME("\x99" TOOL_DONE_HEAD "\xd2\xff\xff\xff\xfe"), -2 },
	{ FRAME("\x99" TOOL_DONE_HEAD "\xd3\x80\x00\x00\x00\x00\x00\x00\x00"),
	    INT64_MIN },
	{ FRAME("\x99" TOOL_DONE_HEAD "\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"),
	    INT64_MAX },
};

START_TEST(signed_integers_keep_their_sign)
{
	struct err err = { 0 };
	struct msg msg;

	ck_assert_msg(decode(codes[_i].frame, &msg, &err) == 0, "%s", err.text);
	ck_assert_int_eq(msg.tool_done.code, codes[_i].code);
	ck_assert_uint_eq(msg.tool_done.call, 2);
}
END_TEST

/* ---- versions ---- */

/* credit and bye as a later minor version might send them */
static const struct frame newer[] = {
	FRAME("\x94\xcd\x01\x01\x02\x05\xa3new"),
	FRAME("\x95\xcd\x01\x01\x02\x05\x07\xc0"),
	FRAME("\x94\xcd\x01\x02\x02\x05\x82\xa1k\x93\x01\x02\x03\x05\xc3"),
	FRAME("\x94\xcd\x01\xff\x02\x05\xcb\x40\x09\x21\xfb\x54\x44\x2d\x18"),
	FRAME("\x94\xcd\x01\x01\x02\x05\xde\x00\x01\xa1k\x05"),
	FRAME("\x94\xcd\x01\x01\x02\x05\xdf\x00\x00\x00\x01\x01\x02"),
	FRAME("\x94\xcd\x01\x01\x02\x05\xdc\x00\x02\x01\x02"),
	FRAME("\x94\xcd\x01\x01\x02\x05\xc5\x00\x02xx"),
	FRAME("\x94\xcd\x01\x01\x02\x05\xc6\x00\x00\x00\x02xx"),
	FRAME("\x94\xcd\x01\x01\x02\x05\xda\x00\x02xx"),
	FRAME("\x94\xcd\x01\x01\x02\x05\xdb\x00\x00\x00\x02xx"),
	FRAME("\x94\xcd\x01\x01\x02\x05\xca\x40\xa0\x00\x00"),
	FRAME("\x94\xcd\x01\x01\x02\x05\xa2\xff\xfe"), /* not UTF-8: skipped */
};

START_TEST(fields_of_a_newer_minor_version_are_skipped)
{
	struct err err = { 0 };
	struct msg msg;

	ck_assert_msg(decode(newer[_i], &msg, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(msg.credit.count, 5);
	ck_assert_uint_ge(msg.minor, 1);
}
END_TEST

/* Frames without some or all of the fields that may be left out: so would an
 * older minor version send them. */
START_TEST(fields_that_an_older_minor_version_lacks_are_empty)
{
	static const struct frame bye = FRAME("\x92\xcd\x01\x00\x0a");
	static const struct frame list =
	    FRAME("\x94\xcd\x01\x00\x2a\x09\xa6queued");
	static const struct frame nils =
	    FRAME("\x98\xcd\x01\x00\x2a\x09\xc0\xa1"
		  "a\xc0\xc0\xc0");
	struct err err = { 0 };
	struct msg msg;

	memset(&msg, 0xff, sizeof(msg));
	ck_assert_int_eq(decode(bye, &msg, &err), 0);
	ck_assert_uint_eq(msg.bye.reason.len, 0);
	memset(&msg, 0xff, sizeof(msg));
	ck_assert_int_eq(decode(list, &msg, &err), 0);
	ck_assert_uint_eq(msg.list.request, 9);
	ck_assert_uint_eq(msg.list.state.len, 6);
	ck_assert_uint_eq(msg.list.agent.len, 0);
	ck_assert_uint_eq(msg.list.limit, 0);
	ck_assert(uuid_is_zero(&msg.list.before));
	memset(&msg, 0xff, sizeof(msg));
	ck_assert_int_eq(decode(nils, &msg, &err), 0);
	ck_assert_uint_eq(msg.list.state.len, 0);
	ck_assert_uint_eq(msg.list.agent.len, 1);
	ck_assert_uint_eq(msg.list.limit, 0);
}
END_TEST

/* ---- refusals, each with what it must say ---- */

static const struct {
	struct frame frame;
	enum err_kind kind;
	const char *says;
} refusals[] = {
	/* another major version, an unknown id */
	{ FRAME("\x93\xcd\x02\x00\x02\x05"), ERR_INPUT,
	    "message version 2.0 is not spoken here, only 1.0" },
	{ FRAME("\x93\x05\x02\x05"), ERR_INPUT,
	    "message version 0.5 is not spoken here, only 1.0" },
	{ FRAME("\x93\xcd\x7f\x03\xff\x05"), ERR_INPUT, "version 127.3" },
	{ FRAME("\x92\xcd\x01\x00\x13"), ERR_INPUT,
	    "unknown message id 19 (version 1.0)" },
	{ FRAME("\x92\xcd\x01\x04\xce\x00\x01\x00\x00"), ERR_INPUT,
	    "unknown message id 65536 (version 1.4)" },
	{ FRAME("\x92\xcd\x01\x00\x40"), ERR_INPUT, "unknown message id 64" },
	{ FRAME("\x92\xcd\x01\x00\x00"), ERR_INPUT, "unknown message id 0" },
	/* the root */
	{ FRAME(""), ERR_INPUT, "empty frame" },
	{ FRAME("\x05"), ERR_INPUT, "must be an array" },
	{ FRAME("\x90"), ERR_INPUT, "must be an array" },
	{ FRAME("\x91\xcd\x01\x00"), ERR_INPUT, "must be an array" },
	{ FRAME("\x81\x01\x02"), ERR_INPUT, "must be an array" },
	{ FRAME("\x92\xa1x\x02"), ERR_INPUT, "version must be an integer" },
	{ FRAME("\x92\xff\x02"), ERR_INPUT, "version must be an integer" },
	{ FRAME("\x92\xce\x00\x01\x00\x00\x02"), ERR_INPUT,
	    "version must be an integer" },
	{ FRAME("\x92\xcd\x01\x00\xa1x"), ERR_INPUT, "id must be an integer" },
	{ FRAME("\x92\xcd\x01\x00\xfe"), ERR_INPUT, "id must be an integer" },
	{ FRAME("\x93\xcd\x01\x00\x02\x05\x00"), ERR_INPUT,
	    "bytes after the message" },
	/* fields missing or too many */
	{ FRAME("\x92\xcd\x01\x00\x02"), ERR_INPUT,
	    "credit.count: is missing" },
	{ FRAME("\x94\xcd\x01\x00\x02\x05\x06"), ERR_INPUT,
	    "credit: 2 fields, version 1.0 has 1" },
	/* types */
	{ FRAME("\x93\xcd\x01\x00\x02\xff"), ERR_INPUT,
	    "credit.count: must be an integer from 0" },
	{ FRAME("\x93\xcd\x01\x00\x02\xc0"), ERR_INPUT, "credit.count: must" },
	{ FRAME("\x93\xcd\x01\x00\x02\xc3"), ERR_INPUT, "credit.count: must" },
	{ FRAME("\x93\xcd\x01\x00\x02\xa1"
		"5"),
	    ERR_INPUT, "credit.count: must" },
	{ FRAME("\x93\xcd\x01\x00\x02\xca\x40\xa0\x00\x00"), ERR_INPUT,
	    "credit.count: must" },
	{ FRAME("\x93\xcd\x01\x00\x02\x90"), ERR_INPUT, "credit.count: must" },
	{ FRAME("\x93\xcd\x01\x00\x0a\xc4\x01x"), ERR_INPUT,
	    "bye.reason: must be a string" },
	{ FRAME("\x93\xcd\x01\x00\x0a\x01"), ERR_INPUT,
	    "bye.reason: must be a string" },
	{ FRAME("\x94\xcd\x01\x00\x29\x01\xc4\x0f"
		"rrrrrrrrrrrrrrr"),
	    ERR_INPUT, "get.run: must be 16 bytes" },
	{ FRAME("\x94\xcd\x01\x00\x29\x01\xb0rrrrrrrrrrrrrrrr"), ERR_INPUT,
	    "get.run: must be 16 bytes" },
	{ FRAME("\x95\xcd\x01\x00\x3c\x01\xc4\x10rrrrrrrrrrrrrrrr\x01"),
	    ERR_INPUT, "submitted.existing: must be true or false" },
	{ FRAME("\x99" TOOL_DONE_HEAD "\xcf\x80\x00\x00\x00\x00\x00\x00\x00"),
	    ERR_INPUT, "tool_done.code: must be an integer of 64 bits" },
	/* strings */
	{ FRAME("\x93\xcd\x01\x00\x0a\xa3o\xff!"), ERR_INPUT,
	    "bye.reason: byte 1 is not UTF-8" },
	{ FRAME("\x93\xcd\x01\x00\x0a\xa3\xed\xa0\x80"), ERR_INPUT,
	    "bye.reason: byte 0 is not UTF-8" },
	{ FRAME("\x93\xcd\x01\x00\x0a\xa3o\x00!"), ERR_INPUT,
	    "bye.reason: holds a NUL byte" },
	/* limits */
	{ FRAME("\x93\xcd\x01\x00\x02\xce\x00\x01\x86\xa1"), ERR_LIMIT,
	    "credit.count: 100001, allowed is 0 to 100000" },
	{ FRAME("\x95\xcd\x01\x00\x3e\x01\xd9\x21"
		"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\xa0"),
	    ERR_LIMIT, "failed.kind: 33 bytes, allowed are at most 32" },
};

START_TEST(a_wrong_frame_is_refused_with_its_reason)
{
	struct err err = { 0 };
	struct msg msg = { .id = MSG_ack };

	ck_assert_int_eq(decode(refusals[_i].frame, &msg, &err), -1);
	ck_assert_msg(strstr(err.text, refusals[_i].says) != NULL,
	    "says \"%s\", must say \"%s\"", err.text, refusals[_i].says);
	ck_assert_int_eq(err.kind, refusals[_i].kind);
	ck_assert_int_eq(msg.id, MSG_ack); /* untouched on failure */
}
END_TEST

/* ---- hostile frames: refused by the scan, before anything is allocated ----
 */

static const struct frame hostile[] = {
	FRAME("\xdd\x0f\xff\xff\xff"),     /* array of 2^28 in 5 bytes */
	FRAME("\xdd\x10\x00\x00\x00\x01"), /* and a byte more */
	FRAME("\xdd\xff\xff\xff\xff"),     /* 2^32 - 1 */
	FRAME("\xdf\x7f\xff\xff\xff"),     /* map of 2^31 - 1 pairs */
	FRAME("\xdf\xff\xff\xff\xff"),     /* twice that overflows 32 bits */
	FRAME("\xdc\xff\xff\x01"),         /* array 16 */
	FRAME("\xde\xff\xff\x01"),         /* map 16 */
	FRAME("\x82\x01\x02\x03"),         /* map of 2, half a pair short */
	FRAME("\xdb\xff\xff\xff\xff"),     /* str 32 */
	FRAME("\xc6\xff\xff\xff\xff"),     /* bin 32 */
	FRAME("\xd9\x05xxxx"),             /* one byte short */
	FRAME("\xc4\x01"),                 /* bin 8, no bytes */
	FRAME("\xa5xxxx"),                 /* fixstr, one byte short */
	FRAME("\xcf\x01\x02\x03\x04\x05\x06\x07"), /* uint64, one byte short */
	FRAME("\xda\x01"),                         /* half a length */
	FRAME("\xd4\x01\x02"),                     /* fixext 1 */
	FRAME("\xc7\x01\x01\x02"),                 /* ext 8 */
	FRAME("\xc9\xff\xff\xff\xff\x01"),         /* ext 32 */
	FRAME("\xc1"),                             /* never used */
	FRAME("\x91\xc1"),
	/* 9 and 40 levels */
	FRAME("\x91\x91\x91\x91\x91\x91\x91\x91\x91\x01"),
	FRAME("\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	      "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	      "\x91\x91\x91\x91\x91\x91\x91\x91\x01"),
	FRAME("\x81\x01\x81\x01\x81\x01\x81\x01\x81\x01\x81\x01\x81\x01\x81\x01"
	      "\x81\x01\x02"),
};

START_TEST(a_hostile_frame_is_refused_before_it_is_built)
{
	struct err err = { 0 };
	struct msg msg;

	ck_assert_int_eq(
	    scan_frame(slice_of(hostile[_i].bytes, hostile[_i].len), &err), -1);
	ck_assert(err.kind == ERR_INPUT || err.kind == ERR_LIMIT);
	ck_assert_int_eq(decode(hostile[_i], &msg, &err), -1);
}
END_TEST

/* 8 levels and 1024 values are the most. */
START_TEST(the_scan_takes_what_is_just_allowed)
{
	static const struct frame deep =
	    FRAME("\x91\x91\x91\x91\x91\x91\x91\x91\x01");
	char many[3 + SCAN_VALUES];
	struct err err = { 0 };

	ck_assert_int_eq(scan_frame(slice_of(deep.bytes, deep.len), &err), 0);
	memset(many, 0x01, sizeof(many));
	many[0] = '\xdc';
	many[1] = (char)((SCAN_VALUES - 1) >> 8);
	many[2] = (char)((SCAN_VALUES - 1) & 255);
	ck_assert_int_eq(
	    scan_frame(slice_of(many, 3 + SCAN_VALUES - 1), &err), 0);
	many[1] = (char)(SCAN_VALUES >> 8);
	many[2] = (char)(SCAN_VALUES & 255);
	ck_assert_int_eq(scan_frame(slice_of(many, 3 + SCAN_VALUES), &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
}
END_TEST

START_TEST(a_frame_over_its_limit_is_refused_unread)
{
	char *big = mem_new(LIMIT_MESSAGE + 1);
	struct err err = { 0 };
	struct msg msg;

	ck_assert_int_eq(
	    msg_decode(&msg, slice_of(big, LIMIT_MESSAGE + 1), &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_str_eq(
	    err.text, "message of 65537 bytes, allowed are at most 65536");
	mem_free(big);
}
END_TEST

/* ---- limits when encoding ---- */

START_TEST(no_field_is_sent_past_its_limit)
{
	const struct catalogue_message *message =
	    catalogue_message((uint64_t)_i);
	char *text = mem_new(LIMIT_TEXT + 1);

	memset(text, 't', LIMIT_TEXT + 1);
	for (size_t i = 0; message != NULL && i < message->count; i++) {
		const struct field *field = &message->fields[i];
		struct buf wire = BUF_INIT(FRAME_MAX);
		struct err err = { 0 };
		char name[200];
		struct msg msg;

		if (field->limit == 0)
			continue;
		sample((unsigned)_i, FILL_SMALL, &msg);
		if (field->type == FIELD_STR)
			*(struct slice *)(void *)((char *)&msg +
						  field->offset) =
			    slice_of(text, field->limit + 1);
		else
			*(uint64_t *)(void *)((char *)&msg + field->offset) =
			    field->limit + 1;
		buf_puts(&wire, "kept");
		ck_assert_int_eq(msg_encode(&msg, &wire, &err), -1);
		ck_assert_int_eq(err.kind, ERR_LIMIT);
		snprintf(
		    name, sizeof(name), "%s.%s: ", message->name, field->name);
		ck_assert_ptr_nonnull(strstr(err.text, name));
		ck_assert(slice_is(buf_slice(&wire), "kept"));
		buf_release(&wire);
	}
	mem_free(text);
}
END_TEST

START_TEST(text_that_others_would_refuse_is_not_sent)
{
	static const struct frame texts[] = { FRAME("bad \xff"),
		FRAME("nul \0 in it") };
	struct msg msg = { .id = MSG_bye };
	struct buf wire = BUF_INIT(FRAME_MAX);
	struct err err = { 0 };

	msg.bye.reason = slice_of(texts[_i].bytes, texts[_i].len);
	ck_assert_int_eq(msg_encode(&msg, &wire, &err), -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	buf_release(&wire);
}
END_TEST

START_TEST(a_buffer_that_is_too_small_is_said_so)
{
	struct msg msg = { .id = MSG_bye, .bye = { SLICE("a long goodbye") } };
	struct buf wire = BUF_INIT(10);
	struct err err = { 0 };

	ck_assert_int_eq(msg_encode(&msg, &wire, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	buf_release(&wire);
}
END_TEST

/* ---- the catalogue ---- */

START_TEST(rows_follow_the_rules_of_the_catalogue)
{
	const struct catalogue_message *message =
	    catalogue_message((uint64_t)_i);
	unsigned since = 0;

	if (message == NULL)
		return;
	for (size_t i = 0; i < message->count; i++) {
		const struct field *field = &message->fields[i];

		ck_assert_uint_ge(field->since, since);
		ck_assert_uint_le(field->since, MESSAGE_MINOR);
		ck_assert(field->since == 0 || !field->must);
		ck_assert(field->type != FIELD_STR || field->limit > 0);
		ck_assert_uint_le(
		    field->type == FIELD_STR ? field->limit : 0, LIMIT_TEXT);
		since = field->since;
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(field->name, message->fields[k].name);
	}
	for (unsigned id = 0; id < (unsigned)_i; id++)
		ck_assert(
		    msg_name((enum msg_id)id) == NULL ||
		    strcmp(msg_name((enum msg_id)id), message->name) != 0);
}
END_TEST

START_TEST(names_bodies_and_senders_are_told)
{
	ck_assert_str_eq(msg_name(MSG_tool_start), "tool_start");
	ck_assert_ptr_null(msg_name((enum msg_id)0));
	ck_assert_ptr_null(msg_name(MSG_IDS));
	ck_assert_int_eq(msg_body_kind(MSG_tool_start), MSG_BODY_JSON);
	ck_assert_int_eq(msg_body_kind(MSG_tool_done), MSG_BODY_BYTES);
	ck_assert_int_eq(msg_body_kind(MSG_ack), MSG_BODY_NONE);
	ck_assert_int_eq(msg_sender(MSG_ack), MSG_FROM_SUPERVISOR);
	ck_assert_int_eq(msg_sender(MSG_hello), MSG_FROM_WORKER);
	ck_assert_int_eq(msg_sender(MSG_submit), MSG_FROM_CLIENT);
	ck_assert_int_eq(msg_sender(MSG_heartbeat), MSG_FROM_BOTH);
}
END_TEST

START_TEST(the_printed_catalogue_names_every_message_and_field)
{
	struct buf markdown = BUF_INIT(1u << 20), json = BUF_INIT(1u << 20);
	struct err err = { 0 };
	struct json root, list;
	size_t messages = 0;

	msg_print_markdown(&markdown);
	msg_print_json(&json);
	ck_assert_int_eq(buf_check(&markdown, "markdown", &err), 0);
	ck_assert_int_eq(json_parse(buf_slice(&json), &root, NULL, &err), 0);
	list = json_get(root, "messages");
	buf_putc(&markdown, '\0');
	for (unsigned id = 0; id < MSG_IDS; id++) {
		const struct catalogue_message *m = catalogue_message(id);
		char text[200];

		if (m == NULL)
			continue;
		messages++;
		snprintf(text, sizeof(text), "### %s (%u)\n", m->name, id);
		ck_assert_ptr_nonnull(strstr(markdown.ptr, text));
		for (size_t i = 0; i < m->count; i++) {
			snprintf(
			    text, sizeof(text), "| `%s` | ", m->fields[i].name);
			ck_assert_ptr_nonnull(strstr(markdown.ptr, text));
		}
	}
	ck_assert_uint_eq(json_count(list), messages);
	buf_release(&markdown);
	buf_release(&json);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("message");
	TCase *trip = tcase_create("a message comes back as it was");
	TCase *hand = tcase_create("hand-made frames");
	TCase *refuse = tcase_create("what is wrong is refused");
	TCase *send = tcase_create("nothing wrong is sent");
	TCase *table = tcase_create("one catalogue");

	suite_add_tcase(s, trip);
	suite_add_tcase(s, hand);
	suite_add_tcase(s, refuse);
	suite_add_tcase(s, send);
	suite_add_tcase(s, table);
	tcase_add_loop_test(
	    trip, every_message_comes_back_as_it_was, 0, MSG_IDS);
	tcase_add_loop_test(trip, refuses_a_message_cut_short, 0, MSG_IDS);
	tcase_add_loop_test(
	    trip, any_changed_byte_decodes_or_is_refused, 0, MSG_IDS);
	tcase_add_test(trip, an_encoded_message_is_appended);
	tcase_add_test(hand, the_bytes_are_those_of_the_specification);
	tcase_add_loop_test(
	    hand, integers_of_every_width_are_taken, 0, COUNT(fives));
	tcase_add_loop_test(
	    hand, signed_integers_keep_their_sign, 0, COUNT(codes));
	tcase_add_loop_test(
	    hand, fields_of_a_newer_minor_version_are_skipped, 0, COUNT(newer));
	tcase_add_test(
	    hand, fields_that_an_older_minor_version_lacks_are_empty);
	tcase_add_loop_test(refuse, a_wrong_frame_is_refused_with_its_reason, 0,
	    COUNT(refusals));
	tcase_add_loop_test(refuse,
	    a_hostile_frame_is_refused_before_it_is_built, 0, COUNT(hostile));
	tcase_add_test(refuse, the_scan_takes_what_is_just_allowed);
	tcase_add_test(refuse, a_frame_over_its_limit_is_refused_unread);
	tcase_add_loop_test(send, no_field_is_sent_past_its_limit, 0, MSG_IDS);
	tcase_add_loop_test(
	    send, text_that_others_would_refuse_is_not_sent, 0, 2);
	tcase_add_test(send, a_buffer_that_is_too_small_is_said_so);
	tcase_add_loop_test(
	    table, rows_follow_the_rules_of_the_catalogue, 0, MSG_IDS);
	tcase_add_test(table, names_bodies_and_senders_are_told);
	tcase_add_test(
	    table, the_printed_catalogue_names_every_message_and_field);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
