/*
 * Prints the catalogue of messages: Markdown (proto/MESSAGES.md), or JSON with
 * --json. A check tool: the committed text must equal this output.
 */
#include "proto/message.h"

#define PRINT_MAX (1u << 20)

int
main(int argc, char **argv)
{
	struct buf out = BUF_INIT(PRINT_MAX);
	struct err err = { 0 };
	int rc = 1;

	if (argc > 2 || (argc == 2 && strcmp(argv[1], "--json") != 0)) {
		fprintf(stderr, "usage: print-messages [--json]\n");
		return 2;
	}
	if (argc == 2) {
		msg_print_json(&out);
		buf_putc(&out, '\n');
	} else {
		msg_print_markdown(&out);
	}
	if (buf_check(&out, "catalogue", &err) == -1)
		fprintf(stderr, "print-messages: %s\n", err.text);
	else if (fwrite(out.ptr, 1, out.len, stdout) == out.len &&
		 fflush(stdout) == 0)
		rc = 0;
	buf_release(&out);
	return rc;
}
