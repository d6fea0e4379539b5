/*
 * Output for people: safe text, colours, short forms of times and numbers,
 * tables. Everything is appended to a buffer, so that what is printed can be
 * tested. Text that comes from models, tools and other processes may hold
 * anything; it goes through print_text or print_word and never reaches a
 * terminal as it is.
 */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include "base/buf.h"
#include "base/json.h"

#define PRINT_MAX (256u * 1024 * 1024) /* bytes printed at once */

struct style {
	bool colour;
	size_t width; /* columns; 0 = not a terminal, nothing is cut */
};

enum print_look {
	PRINT_PLAIN,
	PRINT_BOLD,
	PRINT_DIM,
};

/* Colour only on a terminal, without NO_COLOR and not on a dumb one. */
struct style style_of(FILE *stream);

/* Writes the buffer out and clears it. ERR_SYSTEM when the stream refuses. */
int print_flush(struct buf *buf, FILE *stream, struct err *err) CHECKED;

/* Text of several lines: bad UTF-8 as U+FFFD; control characters (C0 but
 * newline and tab, DEL, C1) and the marks that turn the direction of text
 * are dropped. */
void print_text(struct buf *out, struct slice text);
/* The same as one line: white space runs become a blank, and what is longer
 * than `max` characters (0 = any) ends in "…". */
void print_word(struct buf *out, struct slice text, size_t max);
/* A word or a text with a look. */
void print_look(struct buf *out, struct style style, enum print_look look);
void print_word_as(struct buf *out, struct style style, enum print_look look,
    struct slice text, size_t max);

/* Lines behind `indent`; more than `max_lines` (0 = any) or `max_bytes` are
 * replaced by a line that says how much is left out. Ends with a newline
 * unless the text is empty. */
void print_block(struct buf *out, struct slice text, const char *indent,
    size_t max_lines, size_t max_bytes);

/* A JSON string decoded, anything else as its JSON text: safe, several lines
 * or one. Nothing for null and missing values. */
void print_value(struct buf *out, struct json value);
void print_value_word(struct buf *out, struct json value, size_t max);
/* The text of a value, decoded, as it came: not safe for a terminal. */
void print_raw(struct buf *out, struct json value);

/* "43 ms", "1.4 s", "2 min 5 s", "3 h 10 min". */
void print_ms(struct buf *out, uint64_t ms);
/* "1 turn", "2 turns". */
void print_count(struct buf *out, uint64_t n, const char *noun);
/* A time of the database in local time, to the second; what is no time is
 * printed as a word. */
void print_time(struct buf *out, struct json value);
/* The integer of a value, or 0. */
uint64_t print_u64(struct json value);
bool print_has(struct json value); /* neither missing, null nor "" */

/* JSON on one line with a newline at its end. */
void print_json_line(struct buf *out, struct json value);
/* The same for JSON that was appended from `start` on. */
void print_one_line(struct buf *out, size_t start);

/* Left-aligned columns as wide as their widest cell. */
#define TABLE_COLUMNS 8u
struct table {
	struct buf cells; /* NUL-terminated texts, row by row */
	const char *const *heads;
	size_t columns, rows;
	size_t column; /* of the next cell */
	size_t widths[TABLE_COLUMNS];
};
void table_init(struct table *table, const char *const *heads, size_t columns);
void table_release(struct table *table);
/* Adds the next cell, a safe word of at most `max` characters. */
void table_cell(struct table *table, struct slice text, size_t max);
void table_value(struct table *table, struct json value, size_t max);
/* Heads and rows; a row is cut at the style's width. */
void table_print(struct table *table, struct style style, struct buf *out);

#endif
