/*
 * The cheapest tool that does a tool's work: reads its arguments to the end and
 * answers one line. Linked statically, without the libraries of the others, so
 * that a benchmark measures the box and not the dynamic linker.
 */
#include <unistd.h>

int
main(void)
{
	static const char answer[] = "Sunny in Paris, 21 C\n";
	char arguments[4096];
	ssize_t got;

	do
		got = read(STDIN_FILENO, arguments, sizeof(arguments));
	while (got > 0);
	if (got == -1)
		return 1;
	got = write(STDOUT_FILENO, answer, sizeof(answer) - 1);
	return got == (ssize_t)(sizeof(answer) - 1) ? 0 : 1;
}
