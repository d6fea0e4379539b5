/*
 * Memory: the one file that calls malloc and free. Owns only the test hook
 * that makes the n-th allocation fail. Never returns NULL and never throws
 * away what it was given: without memory the process ends with one line.
 */
#include "base/alloc.h"

#include <unistd.h>

static size_t fail_in; /* allocations until fail_hook is called; 0 = never */
static void (*fail_hook)(void);

static NORETURN void
out_of_memory(size_t size)
{
	char text[64];
	int len = snprintf(
	    text, sizeof(text), "out of memory: %zu bytes refused\n", size);
	ssize_t wrote = write(STDERR_FILENO, text, len < 0 ? 0 : (size_t)len);

	(void)wrote;
	_exit(EXIT_FAILURE);
}

static void
count_down(size_t size)
{
	if (fail_in == 0 || --fail_in > 0)
		return;
	fail_hook();
	out_of_memory(size);
}

void *
mem_new(size_t size)
{
	void *ptr;

	count_down(size);
	ptr = calloc(1, size == 0 ? 1 : size);
	if (ptr == NULL)
		out_of_memory(size);
	return ptr;
}

void *
mem_array(size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		BUG("array of %zu times %zu bytes", n, size);
	return mem_new(total);
}

void *
mem_grow(void *ptr, size_t size)
{
	count_down(size);
	ptr = realloc(ptr, size == 0 ? 1 : size);
	if (ptr == NULL)
		out_of_memory(size);
	return ptr;
}

void *
mem_copy(const void *ptr, size_t size)
{
	void *copy = mem_grow(NULL, size);

	if (size > 0)
		memcpy(copy, ptr, size);
	return copy;
}

char *
mem_string(const char *text)
{
	return mem_copy(text, strlen(text) + 1);
}

char *
mem_string_n(const char *text, size_t len)
{
	char *copy;

	if (len == SIZE_MAX)
		BUG("string of %zu bytes", len);
	copy = mem_grow(NULL, len + 1);
	if (len > 0)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void *
mem_free(void *ptr)
{
	free(ptr);
	return NULL;
}

void
mem_fail_at(size_t n, void (*fail)(void))
{
	fail_in = fail == NULL ? 0 : n;
	fail_hook = fail;
}
