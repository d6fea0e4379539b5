/*
 * Keeps and cleans what tools print. Everything here is hostile bytes: they may
 * stop anywhere, in the middle of a character or of an escape sequence.
 */
#include "workers/tool/output.h"

#include "base/utf8.h"

#define ESCAPE_MAX                                                             \
	4096u /* an unfinished string sequence is not followed on              \
	       */
#define ESC              0x1b
#define BEL              0x07
#define OUTPUT_CLEAN_MAX (4u * (OUTPUT_HEAD_MAX + OUTPUT_TAIL_MAX))

void
output_init(struct output *o)
{
	*o = (struct output){
		.head = BUF_INIT(OUTPUT_HEAD_MAX),
		.tail = BUF_INIT(OUTPUT_TAIL_MAX),
	};
}

void
output_release(struct output *o)
{
	buf_release(&o->head);
	buf_release(&o->tail);
}

/* Writes over the oldest bytes of a full ring. */
static void
add_to_ring(struct output *o, const char *p, size_t len)
{
	if (len > OUTPUT_TAIL_MAX) {
		p += len - OUTPUT_TAIL_MAX;
		len = OUTPUT_TAIL_MAX;
	}
	while (len > 0) {
		size_t n = OUTPUT_TAIL_MAX - o->tail_start;

		if (n > len)
			n = len;
		memcpy(o->tail.ptr + o->tail_start, p, n);
		o->tail_start = (o->tail_start + n) % OUTPUT_TAIL_MAX;
		p += n;
		len -= n;
	}
}

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

void
output_add(struct output *o, const void *bytes, size_t len)
{
	const char *p = bytes;
	size_t n = smaller(len, OUTPUT_HEAD_MAX - o->head.len);

	o->total += len;
	buf_put(&o->head, p, n);
	p += n;
	len -= n;
	n = smaller(len, OUTPUT_TAIL_MAX - o->tail.len);
	buf_put(&o->tail, p, n);
	add_to_ring(o, p + n, len - n);
}

uint64_t
output_dropped(const struct output *o)
{
	return o->total - o->head.len - o->tail.len;
}

/* ---- cleaning ---- */

/* Length of the sequence that ends in one of the final bytes, from its
 * parameters on; 0 if it does not end here. */
static size_t
control_sequence(const unsigned char *p, size_t len)
{
	size_t i = 0;

	while (i < len && p[i] >= 0x20 && p[i] <= 0x3f)
		i++;
	return i < len && p[i] >= 0x40 && p[i] <= 0x7e ? i + 1 : i;
}

/* Length of a string sequence up to its terminator (BEL or ESC \), 0 without
 * one. */
static size_t
string_sequence(const unsigned char *p, size_t len)
{
	len = smaller(len, ESCAPE_MAX);
	for (size_t i = 0; i < len; i++) {
		if (p[i] == BEL)
			return i + 1;
		if (p[i] == ESC && i + 1 < len && p[i + 1] == '\\')
			return i + 2;
	}
	return 0;
}

/* Length of the escape sequence at p, which starts with ESC. */
static size_t
escape_sequence(const unsigned char *p, size_t len)
{
	size_t i = 1;

	if (len < 2)
		return 1;
	switch (p[1]) {
	case '[':
		return 2 + control_sequence(p + 2, len - 2);
	case ']': /* title and the like */
	case 'P':
	case 'X':
	case '^':
	case '_':
		return 2 + string_sequence(p + 2, len - 2);
	default:
		break;
	}
	while (i < len && p[i] >= 0x20 && p[i] <= 0x2f)
		i++;
	return i < len && p[i] >= 0x30 && p[i] <= 0x7e ? i + 1 : i;
}

static bool
is_kept_control(unsigned char c)
{
	return c == '\t' || c == '\n' || c == '\r';
}

/* Appends the text, which is UTF-8, without escape sequences and controls. What
 * is taken out begins and ends between characters. */
static void
strip(struct slice text, struct buf *out)
{
	const unsigned char *p = (const unsigned char *)text.ptr;
	size_t i = 0, from = 0;

	while (i < text.len) {
		size_t skip = 0;

		if (p[i] == ESC)
			skip = escape_sequence(p + i, text.len - i);
		else if ((p[i] < 0x20 && !is_kept_control(p[i])) ||
			 p[i] == 0x7f)
			skip = 1;
		else if (p[i] == 0xc2 && i + 1 < text.len && p[i + 1] >= 0x80 &&
			 p[i + 1] <= 0x9f)
			skip = 2; /* U+0080 to U+009F: the same in 8 bits */
		if (skip == 0) {
			i++;
			continue;
		}
		buf_put(out, text.ptr + from, i - from);
		i += skip;
		from = i;
	}
	if (from < text.len)
		buf_put(out, text.ptr + from, text.len - from);
}

static bool
is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t
output_characters(struct slice text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += !is_continuation(text.ptr[i]);
	return n;
}

/* Bytes of the first n characters of clean text. */
static size_t
first_characters(struct slice text, size_t n)
{
	size_t i = 0;

	for (; i < text.len; i++)
		if (!is_continuation(text.ptr[i]) && n-- == 0)
			break;
	return i;
}

/* Bytes of the last n characters of clean text. */
static size_t
last_characters(struct slice text, size_t n)
{
	size_t i = text.len;

	while (n > 0 && i > 0)
		if (!is_continuation(text.ptr[--i]))
			n--;
	return text.len - i;
}

/* The start of a tail may stand in the middle of a character. */
static struct slice
whole_start(struct slice text)
{
	for (int i = 0; i < 3 && text.len > 0; i++) {
		if (!is_continuation(text.ptr[0]))
			break;
		text.ptr++;
		text.len--;
	}
	return text;
}

/* And the end of a head too; what is broken for other reasons stays. */
static struct slice
whole_end(struct slice text)
{
	for (size_t back = 1; back <= 3 && back <= text.len; back++) {
		unsigned char c = (unsigned char)text.ptr[text.len - back];
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if ((c & 0xc0) == 0x80)
			continue;
		if (need > back)
			text.len -= back;
		break;
	}
	return text;
}

static void
clean(struct slice bytes, struct buf *out)
{
	struct buf valid = BUF_INIT(OUTPUT_CLEAN_MAX);

	utf8_clean(bytes, &valid);
	strip(buf_slice(&valid), out);
	buf_release(&valid);
}

static void
put_marker(struct buf *out, uint64_t bytes)
{
	if (out->len > 0 && out->ptr[out->len - 1] != '\n')
		buf_putc(out, '\n');
	buf_puts(out, "[... ");
	buf_put_u64(out, bytes);
	buf_puts(out, " bytes left out ...]\n");
}

/* Head and tail of clean text with `gone` bytes missing between them. */
static void
put_shortened(struct slice head, struct slice tail, uint64_t gone, size_t max,
    struct buf *out)
{
	size_t head_max = max * 6 / 10;
	size_t head_len = first_characters(head, head_max);
	size_t tail_len = last_characters(tail, max - head_max);

	buf_put(out, head.ptr, head_len);
	put_marker(out, gone + (head.len - head_len) + (tail.len - tail_len));
	buf_put(out, tail.ptr + tail.len - tail_len, tail_len);
}

void
output_clean(struct slice bytes, size_t max, struct buf *out)
{
	struct buf text = BUF_INIT(OUTPUT_CLEAN_MAX);

	clean(bytes, &text);
	if (output_characters(buf_slice(&text)) <= max) {
		buf_put_slice(out, buf_slice(&text));
	} else {
		size_t half = first_characters(buf_slice(&text), max * 6 / 10);

		put_shortened(slice_of(text.ptr, half),
		    slice_of(text.ptr + half, text.len - half), 0, max, out);
	}
	buf_release(&text);
}

/* All that was kept, in order. */
static void
put_kept(const struct output *o, struct buf *out)
{
	buf_put_slice(out, buf_slice(&o->head));
	if (o->tail.len > 0) {
		buf_put(out, o->tail.ptr + o->tail_start,
		    o->tail.len - o->tail_start);
		buf_put(out, o->tail.ptr, o->tail_start);
	}
}

void
output_text(const struct output *o, size_t max, struct buf *out)
{
	struct buf kept = BUF_INIT(OUTPUT_HEAD_MAX + OUTPUT_TAIL_MAX);
	struct buf head = BUF_INIT(OUTPUT_CLEAN_MAX);
	struct buf tail = BUF_INIT(OUTPUT_CLEAN_MAX);
	struct slice all;

	put_kept(o, &kept);
	all = buf_slice(&kept);
	if (output_dropped(o) == 0) {
		output_clean(all, max, out);
	} else {
		clean(whole_end(slice_of(all.ptr, o->head.len)), &head);
		clean(whole_start(slice_of(
			  all.ptr + o->head.len, all.len - o->head.len)),
		    &tail);
		put_shortened(buf_slice(&head), buf_slice(&tail),
		    output_dropped(o), max, out);
	}
	buf_release(&kept);
	buf_release(&head);
	buf_release(&tail);
}
