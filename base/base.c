/*
 * The end of a process whose own rules broke: one line on stderr, then abort.
 * Owns nothing and allocates nothing, since it runs when little can be
 * trusted. Never writes a core: memory here holds keys and what users said.
 */
#include "base/base.h"

#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define BUG_LINE_MAX 1024

void
base_bug(const char *file, int line, const char *fmt, ...)
{
	static const struct rlimit no_core = { 0, 0 };
	char text[BUG_LINE_MAX];
	int len = snprintf(text, sizeof(text), "BUG %s:%d: ", file, line);
	size_t used = len < 0 ? 0 : (size_t)len;
	ssize_t wrote;
	va_list ap;

	if (used < sizeof(text)) {
		va_start(ap, fmt);
		len = vsnprintf(text + used, sizeof(text) - used, fmt, ap);
		va_end(ap);
		used += len < 0 ? 0 : (size_t)len;
	}
	if (used > sizeof(text) - 1)
		used = sizeof(text) - 1;
	text[used++] = '\n';
	wrote = write(STDERR_FILENO, text, used);
	(void)wrote;
	(void)setrlimit(RLIMIT_CORE, &no_core);
	/* A core_pattern that is a pipe does not ask for the limit. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	abort();
}
