/*
 * A step given to a store under test, and what became of it.
 */
#ifndef TESTS_UNIT_SCHEMA_STORE_JOB_H
#define TESTS_UNIT_SCHEMA_STORE_JOB_H

#include <check.h>

#include "schema/store_internal.h"

/* A step on its way. */
struct job {
	struct store_entry entry;
	struct step step;
	unsigned answers;
	enum store_answer answer; /* the last one */
	struct err err;
	char item[80];
};

static inline void
job_is(const struct job *job, enum store_answer answer)
{
	ck_assert_uint_eq(job->answers, 1);
	ck_assert_msg(job->answer == answer, "answer %d, not %d: %s",
	    (int)job->answer, (int)answer, job->err.text);
}

#endif
