/*
 * Catches what a call writes to stdout and stderr.
 */
#ifndef TESTS_CLI_CAPTURE_H
#define TESTS_CLI_CAPTURE_H

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CAPTURE_MAX 16384

struct capture {
	int saved[2];          /* the streams as they were */
	FILE *files[2];        /* owned */
	char out[CAPTURE_MAX]; /* after capture_end */
	char err[CAPTURE_MAX];
};

static inline void
capture_begin(struct capture *capture)
{
	fflush(stdout);
	fflush(stderr);
	for (int i = 0; i < 2; i++) {
		capture->files[i] = tmpfile();
		ck_assert_ptr_nonnull(capture->files[i]);
		capture->saved[i] = dup(STDOUT_FILENO + i);
		dup2(fileno(capture->files[i]), STDOUT_FILENO + i);
	}
}

static inline void
capture_end(struct capture *capture)
{
	char *texts[2] = { capture->out, capture->err };

	fflush(stdout);
	fflush(stderr);
	for (int i = 0; i < 2; i++) {
		size_t len;

		dup2(capture->saved[i], STDOUT_FILENO + i);
		close(capture->saved[i]);
		rewind(capture->files[i]);
		len = fread(texts[i], 1, CAPTURE_MAX - 1, capture->files[i]);
		texts[i][len] = '\0';
		fclose(capture->files[i]);
	}
}

#endif
