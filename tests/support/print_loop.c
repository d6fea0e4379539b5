/*
 * Prints the machine of a run: Markdown, or a graph with --dot.
 *	build/tests/print-loop --dot | dot -Tsvg >run.svg
 */
#include "supervisor/loop/run.h"

int
main(int argc, char **argv)
{
	struct buf out = BUF_INIT(1u << 20);

	if (argc > 1 && strcmp(argv[1], "--dot") == 0)
		run_print_dot(&out);
	else
		run_print_table(&out);
	fwrite(out.ptr, 1, out.len, stdout);
	buf_release(&out);
	return 0;
}
