/*
 * PCRE2 with a counter. Its own match limit counts neither over starting places
 * nor what one item reads, so the expression is compiled with a callout before
 * each item, and the callout counts. Owns compiled expressions; never uses the
 * just-in-time compiler, which knows no such limits.
 */
#include "base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/alloc.h"

/* What one callout stands for, and how much of the text one item may have read
 * without a callout, in units of *work. */
#define STEP_UNITS   16u
#define READ_SHIFT   3u
#define UNSEEN_SHIFT 8u

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
};

struct meter {
	size_t *work;
	size_t last; /* place in the text at the last callout */
};

static int
on_callout(pcre2_callout_block *block, void *arg)
{
	struct meter *meter = arg;
	size_t at = block->current_position;
	size_t read = at > meter->last ? at - meter->last : meter->last - at;
	size_t units = STEP_UNITS + (read >> READ_SHIFT) +
		       (block->subject_length >> UNSEEN_SHIFT);

	meter->last = at;
	if (*meter->work < units) {
		*meter->work = 0;
		return PCRE2_ERROR_CALLOUT;
	}
	*meter->work -= units;
	return 0;
}

static pcre2_code *
compile(struct slice text, struct err *err)
{
	uint32_t options = PCRE2_UTF | PCRE2_AUTO_CALLOUT |
			   PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF |
			   PCRE2_ALLOW_EMPTY_CLASS | PCRE2_NEVER_BACKSLASH_C;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_code *code = NULL;
	PCRE2_SIZE place = 0;
	int number = PCRE2_ERROR_NOMEMORY;

	if (context != NULL) {
		pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
		pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
		code = pcre2_compile((PCRE2_SPTR)text.ptr, text.len, options,
		    &number, &place, context);
	}
	if (code == NULL) {
		PCRE2_UCHAR why[128];

		pcre2_get_error_message(number, why, sizeof(why));
		err_set(err, ERR_INPUT, "%s at character %zu",
		    (const char *)why, (size_t)place + 1);
	}
	pcre2_compile_context_free(context);
	return code;
}

int
pattern_new(struct pattern **ret_pattern, struct slice text, struct err *err)
{
	struct pattern *p;

	if (text.len > PATTERN_MAX)
		return err_set(err, ERR_LIMIT,
		    "an expression of more than %u bytes", PATTERN_MAX);
	if (text.len == 0)
		text.ptr = "";
	p = MEM_NEW(struct pattern);
	p->code = compile(text, err);
	if (p->code == NULL)
		goto fail;
	p->data = pcre2_match_data_create(1, NULL);
	p->context = pcre2_match_context_create(NULL);
	if (p->data == NULL || p->context == NULL) {
		err_set(err, ERR_SYSTEM, "not enough memory");
		goto fail;
	}
	pcre2_set_heap_limit(p->context, PATTERN_HEAP_KB);
	pcre2_set_match_limit(p->context, PATTERN_MATCH_MAX);
	*ret_pattern = p;
	return 0;
fail:
	pattern_free(p);
	return -1;
}

struct pattern *
pattern_free(struct pattern *pattern)
{
	if (pattern == NULL)
		return NULL;
	pcre2_match_context_free(pattern->context);
	pcre2_match_data_free(pattern->data);
	pcre2_code_free(pattern->code);
	return mem_free(pattern);
}

size_t
pattern_size(const struct pattern *pattern)
{
	size_t size = 0;

	pcre2_pattern_info(pattern->code, PCRE2_INFO_SIZE, &size);
	return size;
}

int
pattern_match(
    struct pattern *pattern, struct slice text, size_t *work, struct err *err)
{
	struct meter meter = { .work = work };
	int rc;

	if (*work <= text.len) {
		*work = 0;
		return err_set(err, ERR_LIMIT, "too much work");
	}
	*work -= text.len;
	pcre2_set_callout(pattern->context, on_callout, &meter);
	rc = pcre2_match(pattern->code,
	    (PCRE2_SPTR)(text.len == 0 ? "" : text.ptr), text.len, 0, 0,
	    pattern->data, pattern->context);
	if (rc >= 0)
		return 1;
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	return err_set(err, ERR_LIMIT, "too much work");
}
