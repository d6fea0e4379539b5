/*
 * The libraries that the worker brought along (ZeroMQ alone brings twenty) are
 * some hundred mappings that each fork of the spawner would copy and each box
 * would tear down again: a sixth of the cost of a call. A box uses none of
 * them, and what is not there cannot be attacked either.
 */
#include "workers/tool/slim.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"

#define SLIM_PARTS 1024 /* mappings; more than that are left alone */

/* Only there when the program has it. */
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that the compiler uses
extern void __asan_init(void) __attribute__((weak));

struct parts {
	size_t count;
	struct {
		uintptr_t from, to;
	} at[SLIM_PARTS];
};

static bool
is_kept(const char *name)
{
	/* The program itself and the vdso have no path. */
	return name[0] != '/' || strstr(name, "/libc.so") != NULL ||
	       strstr(name, "/ld-linux") != NULL;
}

/* Notes the parts of one library: its own list of them lies in its memory, so
 * that nothing may be unmapped during the walk. */
static int
note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct parts *parts = arg;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	if (is_kept(info->dlpi_name))
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + part->p_vaddr;
		uintptr_t to = from + part->p_memsz;

		if (part->p_type != PT_LOAD || parts->count == SLIM_PARTS)
			continue;
		parts->at[parts->count].from = from - from % page;
		parts->at[parts->count].to = to + (page - to % page) % page;
		parts->count++;
	}
	return 0;
}

void
slim_unmap_libraries(void)
{
	struct parts parts = { 0 };

	if (__asan_init != NULL)
		return;
	dl_iterate_phdr(note_library, &parts);
	for (size_t i = 0; i < parts.count; i++)
		munmap((void *)parts.at[i].from,
		    parts.at[i].to - parts.at[i].from);
}
