/*
 * Any bytes as a first frame: they are refused, or decode to a message that can
 * be encoded again and then means the same.
 */
#include "proto/message.h"

#define FRAME_MAX (2u * LIMIT_MESSAGE)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
encode(const struct msg *msg, struct buf *out)
{
	struct err err = { 0 };

	if (msg_encode(msg, out, &err) == -1)
		BUG("decoded, but cannot be encoded: %s", err.text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT(FRAME_MAX), twice = BUF_INIT(FRAME_MAX);
	struct err err = { 0 };
	struct msg msg;

	if (msg_decode(&msg, slice_of(data, size), &err) == -1) {
		if (err.kind == ERR_NONE || err.text[0] == '\0')
			BUG("refused without a reason");
		return 0;
	}
	encode(&msg, &once);
	if (msg_decode(&msg, buf_slice(&once), &err) == -1)
		BUG("encoded, but cannot be decoded: %s", err.text);
	encode(&msg, &twice);
	if (!slice_eq(buf_slice(&once), buf_slice(&twice)))
		BUG("encoded twice, with different bytes");
	buf_release(&once);
	buf_release(&twice);
	return 0;
}
