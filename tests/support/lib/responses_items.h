/*
 * Output items as the Responses API writes them: as events and as JSON.
 */
#ifndef SUPPORT_RESPONSES_ITEMS_H
#define SUPPORT_RESPONSES_ITEMS_H

#include "tests/support/lib/responses_scene.h"

/* Is it part of the output (and no bare event or comment)? */
bool items_is_output(const struct answer_item *item);

/* All events of an item, from added to done; the finished item is appended to
 * the reel's output. What is no item is written as it is. */
void items_stream(struct scene *scene, const struct answer_item *item);
/* Only the finished item, into the reel's output. */
void items_print(struct scene *scene, const struct answer_item *item);

#endif
