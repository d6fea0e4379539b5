/*
 * What a tool prints: kept within bounds (head and tail of each stream), and
 * turned into text that a model can read. Pure: no descriptors, no clock.
 */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H

#include "base/buf.h"

#define OUTPUT_HEAD_MAX   (512u * 1024) /* bytes kept from the start */
#define OUTPUT_TAIL_MAX   (512u * 1024) /* and from the end, of each stream */
#define OUTPUT_TEXT_MAX   16384u        /* characters that the model gets */
#define OUTPUT_TEXT_BYTES (4u * OUTPUT_TEXT_MAX + 1024u)

struct output {
	struct buf head;
	struct buf tail; /* a ring once it is full */
	size_t tail_start;
	uint64_t total; /* bytes printed in all */
};

void output_init(struct output *output);
void output_release(struct output *output);
void output_add(struct output *output, const void *bytes, size_t len);
/* Bytes that were printed but not kept. */
uint64_t output_dropped(const struct output *output);

/* Appends what was kept as clean text of at most max characters: valid UTF-8
 * (bad bytes become U+FFFD), without escape sequences and control characters
 * but tab, line feed and carriage return. What is too long loses its middle (60
 * % head, 40 % tail), and one line in its place says how many bytes are gone.
 */
void output_text(const struct output *output, size_t max, struct buf *out);
/* The same for bytes that are in memory. */
void output_clean(struct slice bytes, size_t max, struct buf *out);
/* Characters of clean text; a byte that is no start of one does not count. */
size_t output_characters(struct slice text);

#endif
