/*
 * Makes a process cheap to fork: takes the shared libraries that it will not
 * use any more out of its memory.
 */
#ifndef TOOL_SLIM_H
#define TOOL_SLIM_H

/* Unmaps all libraries but the C library. Afterwards only the program's own
 * code and the C library may run: no dlopen, no name service, no exit() (use
 * _exit). Does nothing in a program with AddressSanitizer. */
void slim_unmap_libraries(void);

#endif
