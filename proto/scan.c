/*
 * msgpack-c believes what an array header says and reserves the memory, so
 * that five bytes cost gigabytes. This walk, by the msgpack specification,
 * goes first. It is iterative, reads each type byte once, and never looks into
 * strings or numbers.
 */
#include "proto/scan.h"

enum form_kind {
	FORM_REFUSED, /* never used by the format, and all extension types */
	FORM_FIXED,   /* `size` bytes of value */
	FORM_BYTES,   /* `size` bytes of length, then that many bytes */
	FORM_ARRAY,   /* `size` bytes of count */
	FORM_MAP,
};

struct form {
	enum form_kind kind;
	uint8_t size;
};

/* Type bytes 0xc0 to 0xdf; what is missing here is refused. */
static const struct form forms[32] = {
	[0x00] = { FORM_FIXED, 0 }, /* nil */
	[0x02] = { FORM_FIXED, 0 }, /* false */
	[0x03] = { FORM_FIXED, 0 }, /* true */
	[0x04] = { FORM_BYTES, 1 }, /* bin 8, 16, 32 */
	[0x05] = { FORM_BYTES, 2 },
	[0x06] = { FORM_BYTES, 4 },
	[0x0a] = { FORM_FIXED, 4 }, /* float 32, 64 */
	[0x0b] = { FORM_FIXED, 8 },
	[0x0c] = { FORM_FIXED, 1 }, /* uint 8, 16, 32, 64 */
	[0x0d] = { FORM_FIXED, 2 },
	[0x0e] = { FORM_FIXED, 4 },
	[0x0f] = { FORM_FIXED, 8 },
	[0x10] = { FORM_FIXED, 1 }, /* int 8, 16, 32, 64 */
	[0x11] = { FORM_FIXED, 2 },
	[0x12] = { FORM_FIXED, 4 },
	[0x13] = { FORM_FIXED, 8 },
	[0x19] = { FORM_BYTES, 1 }, /* str 8, 16, 32 */
	[0x1a] = { FORM_BYTES, 2 },
	[0x1b] = { FORM_BYTES, 4 },
	[0x1c] = { FORM_ARRAY, 2 }, /* array 16, 32 */
	[0x1d] = { FORM_ARRAY, 4 },
	[0x1e] = { FORM_MAP, 2 }, /* map 16, 32 */
	[0x1f] = { FORM_MAP, 4 },
};

struct scan {
	const uint8_t *at, *end, *start;
	uint64_t
	    left[SCAN_DEPTH]; /* values still to come, per open container */
	size_t depth;
	size_t values;
};

static int
refuse(const struct scan *scan, const char *what, struct err *err)
{
	return err_set(
	    err, ERR_INPUT, "byte %td: %s", scan->at - scan->start, what);
}

/* Big-endian; the caller made sure that `size` bytes are there. */
static uint64_t
read_number(const uint8_t *at, size_t size)
{
	uint64_t number = 0;

	for (size_t i = 0; i < size; i++)
		number = number << 8 | at[i];
	return number;
}

static int
skip(struct scan *scan, uint64_t size, struct err *err)
{
	if (size > (uint64_t)(scan->end - scan->at))
		return refuse(scan, "the frame ends inside a value", err);
	scan->at += size;
	return 0;
}

/* A container may hold no more values than bytes are left, since each value
 * takes one at least. */
static int
open_container(struct scan *scan, uint64_t count, struct err *err)
{
	if (count > (uint64_t)(scan->end - scan->at))
		return refuse(scan, "more values than bytes", err);
	if (scan->depth == SCAN_DEPTH)
		return err_set(err, ERR_LIMIT, "byte %td: over %u levels deep",
		    scan->at - scan->start, SCAN_DEPTH);
	scan->left[scan->depth++] = count;
	return 0;
}

/* Type bytes that carry their size or value in themselves. */
static int
scan_short(struct scan *scan, uint8_t type, struct err *err)
{
	if (type <= 0x7f || type >= 0xe0)
		return 0;
	if (type <= 0x8f)
		return open_container(scan, 2u * (type & 0x0fu), err);
	if (type <= 0x9f)
		return open_container(scan, type & 0x0fu, err);
	return skip(scan, type & 0x1fu, err);
}

static int
scan_value(struct scan *scan, struct err *err)
{
	struct form form;
	uint64_t number;
	uint8_t type;

	if (scan->at == scan->end)
		return refuse(scan, "the frame ends before its values", err);
	if (++scan->values > SCAN_VALUES)
		return err_set(err, ERR_LIMIT, "over %u values", SCAN_VALUES);
	type = *scan->at;
	if (type < 0xc0 || type >= 0xe0) {
		scan->at++;
		return scan_short(scan, type, err);
	}
	form = forms[type - 0xc0];
	if (form.kind == FORM_REFUSED)
		return refuse(scan, "a type that is not spoken here", err);
	scan->at++;
	if (form.size > scan->end - scan->at)
		return refuse(scan, "the frame ends inside a value", err);
	if (form.kind == FORM_FIXED) {
		scan->at += form.size;
		return 0;
	}
	number = read_number(scan->at, form.size);
	scan->at += form.size;
	if (form.kind == FORM_BYTES)
		return skip(scan, number, err);
	return open_container(
	    scan, form.kind == FORM_MAP ? 2 * number : number, err);
}

int
scan_frame(struct slice frame, struct err *err)
{
	struct scan scan = { 0 };

	if (frame.len == 0)
		return err_set(err, ERR_INPUT, "empty frame");
	scan.at = scan.start = (const uint8_t *)frame.ptr;
	scan.end = scan.start + frame.len;
	if (scan_value(&scan, err) == -1)
		return -1;
	while (scan.depth > 0) {
		if (scan.left[scan.depth - 1] == 0) {
			scan.depth--;
			continue;
		}
		scan.left[scan.depth - 1]--;
		if (scan_value(&scan, err) == -1)
			return -1;
	}
	if (scan.at != scan.end)
		return refuse(&scan, "bytes after the message", err);
	return 0;
}
