/*
 * The {{words}} of scripts: finds them and puts in what the request holds.
 * Pure; the table of words is here.
 */
#include "tests/support/lib/script_template.h"

#include "tests/support/lib/responses_answer.h"

typedef void template_value(const struct request *request, struct buf *out);

static void
put_last_user(const struct request *request, struct buf *out)
{
	request_text(request->last_user, out);
}

static void
put_last_output(const struct request *request, struct buf *out)
{
	request_text(request->last_output, out);
}

static void
put_model(const struct request *request, struct buf *out)
{
	request_text(request->field[REQUEST_MODEL], out);
}

static void
put_instructions(const struct request *request, struct buf *out)
{
	request_text(request->field[REQUEST_INSTRUCTIONS], out);
}

static const struct {
	const char *name;
	template_value *put;
} templates[] = {
	{ "last_user", put_last_user },
	{ "last_output", put_last_output },
	{ "outputs", request_outputs },
	{ "model", put_model },
	{ "instructions", put_instructions },
};

/* Finds the next {{word}}; false if there is none. ret_end is past it. */
static bool
next_template(
    struct slice text, size_t *ret_at, size_t *ret_end, struct slice *ret_name)
{
	const char *end = text.ptr + text.len;

	for (const char *p = text.ptr; p != NULL && p < end; p += 2) {
		const char *word, *q;

		p = memmem(p, (size_t)(end - p), "{{", 2);
		if (p == NULL)
			return false;
		word = q = p + 2;
		while (q < end && ((*q >= 'a' && *q <= 'z') || *q == '_'))
			q++;
		if (q == word || end - q < 2 || q[0] != '}' || q[1] != '}')
			continue;
		*ret_name = slice_of(word, (size_t)(q - word));
		*ret_at = (size_t)(p - text.ptr);
		*ret_end = (size_t)(q + 2 - text.ptr);
		return true;
	}
	return false;
}

static template_value *
find_template(struct slice name)
{
	for (size_t i = 0; i < COUNT(templates); i++)
		if (slice_is(name, templates[i].name))
			return templates[i].put;
	return NULL;
}

/* quoted: text is the inside of JSON, and what is put in must be too. */
static void
put_value(template_value *put, const struct request *request, bool quoted,
    struct buf *out)
{
	struct buf plain = BUF_INIT(ANSWER_TEXT_MAX);
	struct buf json = BUF_INIT(ANSWER_TEXT_MAX);

	if (!quoted) {
		put(request, out);
		return;
	}
	put(request, &plain);
	json_put_string(&json, buf_slice(&plain));
	buf_put(out, json.ptr + 1, json.len - 2);
	buf_release(&plain);
	buf_release(&json);
}

void
template_expand(struct slice text, const struct request *request, bool quoted,
    struct buf *out)
{
	size_t at, end;
	struct slice name;

	while (next_template(text, &at, &end, &name)) {
		template_value *put = find_template(name);

		buf_put(out, text.ptr, put == NULL ? end : at);
		if (put != NULL)
			put_value(put, request, quoted, out);
		text.ptr += end;
		text.len -= end;
	}
	buf_put_slice(out, text);
}

int
template_check(struct slice text, struct err *err)
{
	size_t at, end;
	struct slice word;

	while (next_template(text, &at, &end, &word)) {
		if (find_template(word) == NULL)
			return err_set(err, ERR_INPUT,
			    "{{%.*s}} is unknown; there are last_user, "
			    "last_output, outputs, model, instructions",
			    SLICE_ARGS(word));
		text.ptr += end;
		text.len -= end;
	}
	return 0;
}
