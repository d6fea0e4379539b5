/*
 * Makes text fit for a terminal. Owns nothing but the cells of a table. Never
 * writes by itself except in print_flush, and never passes a control character
 * on: a model or a tool cannot move the cursor, set a title or hide text.
 */
#include "cli/print.h"

#include <inttypes.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/when.h"

#define CELL_SPACE     2u
#define CLOCK_TEXT_MAX 64u /* bytes of a time that is worth reading */

struct style
style_of(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	struct winsize size = { 0 };
	struct style style = { 0 };

	if (isatty(fileno(stream)) != 1)
		return style;
	style.colour = (no_color == NULL || *no_color == '\0') &&
		       term != NULL && strcmp(term, "dumb") != 0;
	if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0)
		style.width = size.ws_col;
	return style;
}

int
print_flush(struct buf *buf, FILE *stream, struct err *err)
{
	if (buf_check(buf, "output", err) == -1)
		return -1;
	if (fwrite(buf->ptr == NULL ? "" : buf->ptr, 1, buf->len, stream) !=
		buf->len ||
	    fflush(stream) != 0)
		return err_errno(err, "cannot write the output");
	buf_clear(buf);
	return 0;
}

/* The character at p, of text that is UTF-8. */
static uint32_t
code_point(const char *p, size_t *ret_len)
{
	const unsigned char *u = (const unsigned char *)p;

	if (u[0] < 0x80) {
		*ret_len = 1;
		return u[0];
	}
	if (u[0] < 0xe0) {
		*ret_len = 2;
		return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
	}
	if (u[0] < 0xf0) {
		*ret_len = 3;
		return (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 |
		       (u[2] & 0x3fu);
	}
	*ret_len = 4;
	return (u[0] & 0x07u) << 18 | (u[1] & 0x3fu) << 12 |
	       (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu);
}

static bool
is_blank(uint32_t c)
{
	return c == ' ' || c == '\n' || c == '\t';
}

/* Controls, and the marks by which text can show in another order than it
 * stands (U+200E, U+200F, U+202A–E, U+2066–9), and line separators. */
static bool
is_hidden(uint32_t c)
{
	return (c < 0x20 && !is_blank(c)) || (c >= 0x7f && c <= 0x9f) ||
	       c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
	       c == 0xfeff;
}

/* The caller releases it. */
static struct buf
clean(struct slice text)
{
	struct buf out = BUF_INIT(PRINT_MAX);

	utf8_clean(text, &out);
	return out;
}

void
print_text(struct buf *out, struct slice text)
{
	struct buf cleaned = clean(text);
	size_t len;

	for (size_t i = 0; i < cleaned.len; i += len) {
		if (!is_hidden(code_point(cleaned.ptr + i, &len)))
			buf_put(out, cleaned.ptr + i, len);
	}
	buf_release(&cleaned);
}

/* Appends text with white space runs as one blank, until more than `most`
 * characters were written; returns how many. */
static size_t
put_squeezed(struct buf *out, struct slice text, size_t most)
{
	struct buf cleaned = clean(text);
	size_t len, count = 0;
	bool blank = false;

	for (size_t i = 0; i < cleaned.len && count <= most; i += len) {
		uint32_t c = code_point(cleaned.ptr + i, &len);

		if (is_hidden(c))
			continue;
		if (is_blank(c)) {
			blank = count > 0;
			continue;
		}
		if (blank)
			buf_putc(out, ' ');
		buf_put(out, cleaned.ptr + i, len);
		count += 1u + blank;
		blank = false;
	}
	buf_release(&cleaned);
	return count;
}

/* Bytes of the first n characters. */
static size_t
length_of(const struct buf *buf, size_t n)
{
	size_t at = 0, len;

	for (; n > 0 && at < buf->len; n--, at += len)
		code_point(buf->ptr + at, &len);
	return at;
}

void
print_word(struct buf *out, struct slice text, size_t max)
{
	struct buf word = BUF_INIT(PRINT_MAX);

	if (put_squeezed(&word, text, max == 0 ? SIZE_MAX : max) <= max ||
	    max == 0) {
		buf_put_slice(out, buf_slice(&word));
	} else {
		buf_put(out, word.ptr, length_of(&word, max - 1));
		buf_puts(out, "…");
	}
	buf_release(&word);
}

void
print_look(struct buf *out, struct style style, enum print_look look)
{
	static const char *const codes[] = {
		[PRINT_PLAIN] = "\033[0m",
		[PRINT_BOLD] = "\033[1m",
		[PRINT_DIM] = "\033[2m",
	};

	if (style.colour)
		buf_puts(out, codes[look]);
}

void
print_word_as(struct buf *out, struct style style, enum print_look look,
    struct slice text, size_t max)
{
	print_look(out, style, look);
	print_word(out, text, max);
	print_look(out, style, PRINT_PLAIN);
}

static size_t
count_lines(const char *p, size_t len)
{
	size_t lines = 0;

	for (size_t i = 0; i < len; i++)
		lines += p[i] == '\n';
	return lines + (len > 0 && p[len - 1] != '\n');
}

static void
print_left_out(struct buf *out, const char *indent, const char *p, size_t len)
{
	buf_printf(out, "%s… ", indent);
	print_count(out, count_lines(p, len), "more line");
	buf_printf(out, ", %zu bytes\n", len);
}

void
print_block(struct buf *out, struct slice text, const char *indent,
    size_t max_lines, size_t max_bytes)
{
	struct buf safe = BUF_INIT(PRINT_MAX);
	size_t at = 0, room = max_bytes == 0 ? SIZE_MAX : max_bytes;

	print_text(&safe, text);
	for (size_t line = 0; at < safe.len; line++) {
		const char *p = safe.ptr + at;
		const char *end = memchr(p, '\n', safe.len - at);
		size_t len = end == NULL ? safe.len - at : (size_t)(end - p);
		size_t shown = utf8_cut(slice_of(p, len), room);

		if (shown == len && (max_lines == 0 || line < max_lines)) {
			buf_printf(out, "%s%.*s\n", indent, (int)len, p);
			room -= len;
			at += len + (end != NULL);
			continue;
		}
		if ((max_lines == 0 || line < max_lines) && shown > 0) {
			buf_printf(out, "%s%.*s\n", indent, (int)shown, p);
			at += shown;
		}
		print_left_out(out, indent, safe.ptr + at, safe.len - at);
		break;
	}
	buf_release(&safe);
}

void
print_raw(struct buf *out, struct json value)
{
	if (value.type == JSON_STRING)
		json_decode(value, out);
	else if (value.type != JSON_NONE && value.type != JSON_NULL)
		buf_put_slice(out, value.raw);
}

void
print_value(struct buf *out, struct json value)
{
	struct buf text = BUF_INIT(PRINT_MAX);

	print_raw(&text, value);
	print_text(out, buf_slice(&text));
	buf_release(&text);
}

void
print_value_word(struct buf *out, struct json value, size_t max)
{
	struct buf text = BUF_INIT(PRINT_MAX);

	print_raw(&text, value);
	print_word(out, buf_slice(&text), max);
	buf_release(&text);
}

void
print_ms(struct buf *out, uint64_t ms)
{
	uint64_t s = (ms + 500) / 1000;

	if (ms < 1000)
		buf_printf(out, "%" PRIu64 " ms", ms);
	else if (ms < 59950)
		buf_printf(out, "%" PRIu64 ".%" PRIu64 " s", (ms + 50) / 1000,
		    (ms + 50) / 100 % 10);
	else if (s < 3600)
		buf_printf(
		    out, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		buf_printf(out, "%" PRIu64 " h %" PRIu64 " min", s / 3600,
		    s / 60 % 60);
}

void
print_count(struct buf *out, uint64_t n, const char *noun)
{
	buf_printf(out, "%" PRIu64 " %s%s", n, noun, n == 1 ? "" : "s");
}

void
print_time(struct buf *out, struct json value)
{
	char *text = json_string_new(value, CLOCK_TEXT_MAX), local[32];
	uint64_t ms;
	struct tm tm;
	time_t seconds;

	if (text == NULL || !when_rfc3339(slice_string(text), &ms)) {
		print_value_word(out, value, 0);
	} else {
		seconds = (time_t)(ms / 1000);
		if (localtime_r(&seconds, &tm) != NULL &&
		    strftime(local, sizeof(local), "%F %T", &tm) > 0)
			buf_puts(out, local);
	}
	mem_free(text);
}

uint64_t
print_u64(struct json value)
{
	uint64_t n;

	return json_u64(value, &n) ? n : 0;
}

bool
print_has(struct json value)
{
	return value.type != JSON_NONE && value.type != JSON_NULL &&
	       !json_is(value, "");
}

void
print_one_line(struct buf *out, size_t start)
{
	/* Inside JSON strings line ends are escaped: these are white space. */
	for (size_t i = start; !out->failed && i < out->len; i++) {
		if (out->ptr[i] == '\n' || out->ptr[i] == '\r')
			out->ptr[i] = ' ';
	}
	buf_putc(out, '\n');
}

void
print_json_line(struct buf *out, struct json value)
{
	size_t start = out->len;

	buf_put_slice(out, value.raw);
	print_one_line(out, start);
}

void
table_init(struct table *table, const char *const *heads, size_t columns)
{
	if (columns == 0 || columns > TABLE_COLUMNS)
		BUG("table of %zu columns", columns);
	*table = (struct table){
		.cells = BUF_INIT(PRINT_MAX),
		.heads = heads,
		.columns = columns,
	};
	for (size_t i = 0; i < columns; i++)
		table->widths[i] = strlen(heads[i]);
}

void
table_release(struct table *table)
{
	buf_release(&table->cells);
}

static size_t
characters(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

void
table_cell(struct table *table, struct slice text, size_t max)
{
	size_t start = table->cells.len;
	size_t column = table->column, width;

	print_word(&table->cells, text, max);
	buf_putc(&table->cells, '\0');
	table->column++;
	if (table->column == table->columns) {
		table->column = 0;
		table->rows++;
	}
	if (table->cells.failed)
		return;
	width = characters(table->cells.ptr + start);
	if (width > table->widths[column])
		table->widths[column] = width;
}

void
table_value(struct table *table, struct json value, size_t max)
{
	struct buf text = BUF_INIT(PRINT_MAX);

	print_raw(&text, value);
	table_cell(table, buf_slice(&text), max);
	buf_release(&text);
}

/* One row of `columns` texts that follow each other; returns what follows. */
static const char *
print_row(const struct table *table, struct style style, const char *text,
    struct buf *out)
{
	struct buf row = BUF_INIT(PRINT_MAX);

	for (size_t i = 0; i < table->columns; i++) {
		size_t pad = table->widths[i] - characters(text) + CELL_SPACE;

		buf_puts(&row, text);
		if (i + 1 < table->columns)
			buf_printf(&row, "%*s", (int)pad, "");
		text += strlen(text) + 1;
	}
	if (style.width > 0)
		row.len = length_of(&row, style.width);
	while (row.len > 0 && row.ptr[row.len - 1] == ' ')
		row.len--;
	buf_put_slice(out, buf_slice(&row));
	buf_putc(out, '\n');
	buf_release(&row);
	return text;
}

void
table_print(struct table *table, struct style style, struct buf *out)
{
	struct buf heads = BUF_INIT(PRINT_MAX);
	const char *text = table->cells.ptr;

	for (size_t i = 0; i < table->columns; i++)
		buf_put(&heads, table->heads[i], strlen(table->heads[i]) + 1);
	print_look(out, style, PRINT_DIM);
	print_row(table, style, heads.ptr, out);
	print_look(out, style, PRINT_PLAIN);
	for (size_t i = 0; i < table->rows; i++)
		text = print_row(table, style, text, out);
	buf_release(&heads);
}
