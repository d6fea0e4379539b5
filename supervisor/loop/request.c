/*
 * The body of a turn_start: what the model is asked, with every item as it was
 * stored, byte for byte. Builds text only.
 */
#include "base/json.h"
#include "supervisor/loop/internal.h"

static void
put_items(const struct run *run, struct buf *out)
{
	const char *comma = "";

	for (size_t i = 0; i < run->item_count; i++) {
		buf_puts(out, comma);
		buf_put(out, run->items[i].text, run->items[i].len);
		comma = ",";
	}
}

void
run_request(const struct run *run, struct slice tools, struct buf *out)
{
	buf_puts(out, "{\"instructions\":");
	json_put_string(out, slice_string(run->agent->instructions));
	buf_puts(out, ",\"tools\":");
	buf_put_slice(out, tools);
	buf_puts(out, ",\"settings\":");
	buf_puts(out, run->agent->settings);
	buf_puts(out, ",\"input\":[");
	put_items(run, out);
	buf_puts(out, "]}");
}
