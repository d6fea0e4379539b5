/*
 * Duplicate names in a checked JSON text. Reads the text once from left to
 * right; the names of the objects that are open lie on one stack, and each
 * object's names are sorted when it closes, so that no text costs more than
 * n log n. Owns that stack for the call.
 */
#include "base/alloc.h"
#include "base/json_scan.h"

struct name {
	struct slice raw; /* with quotes, borrowed from the text */
	bool escaped;
};

struct names {
	struct name *all; /* owned */
	size_t count, cap;
	size_t starts[JSON_DEPTH_MAX]; /* of each open object, in all */
	size_t depth;
	struct name twice; /* the first in the text; ptr NULL: none */
};

static int
compare_bytes(struct slice a, struct slice b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	/* No pointer only where there are no bytes. */
	bool none = a.ptr == NULL || b.ptr == NULL;
	int order = none ? 0 : memcmp(a.ptr, b.ptr, len);

	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

static int
compare_decoded(const struct name *a, const struct name *b)
{
	struct buf left = BUF_INIT(SIZE_MAX), right = BUF_INIT(SIZE_MAX);
	int order;

	json_decode((struct json){ JSON_STRING, a->raw }, &left);
	json_decode((struct json){ JSON_STRING, b->raw }, &right);
	order = compare_bytes(buf_slice(&left), buf_slice(&right));
	buf_release(&left);
	buf_release(&right);
	return order;
}

static int
compare_names(const struct name *a, const struct name *b)
{
	if (a->escaped || b->escaped)
		return compare_decoded(a, b);
	return compare_bytes(slice_of(a->raw.ptr + 1, a->raw.len - 2),
	    slice_of(b->raw.ptr + 1, b->raw.len - 2));
}

/* For qsort: by name, then by place in the text. */
static int
compare(const void *left, const void *right)
{
	const struct name *a = left, *b = right;
	int order = compare_names(a, b);

	if (order != 0)
		return order;
	return (a->raw.ptr > b->raw.ptr) - (a->raw.ptr < b->raw.ptr);
}

static void
push_name(struct names *n, struct name name)
{
	if (n->count == n->cap) {
		n->cap = n->cap == 0 ? 64 : n->cap * 2;
		n->all = mem_grow(n->all, n->cap * sizeof(*n->all));
	}
	n->all[n->count++] = name;
}

static void
close_object(struct names *n)
{
	size_t start = n->starts[--n->depth];
	size_t count = n->count - start;
	struct name *own;

	n->count = start;
	if (count < 2)
		return;
	own = n->all + start;
	qsort(own, count, sizeof(*own), compare);
	for (size_t i = 1; i < count; i++) {
		if (n->twice.raw.ptr != NULL &&
		    n->twice.raw.ptr < own[i].raw.ptr)
			continue;
		if (compare_names(&own[i - 1], &own[i]) == 0)
			n->twice = own[i];
	}
}

/* p at a quote: behind the string, which is a name if a colon follows. */
static const char *
read_string(struct names *n, const char *p, const char *end)
{
	struct name name;
	const char *start = p, *next;

	p = json_skip_string(p + 1, end, &name.escaped);
	name.raw = slice_of(start, (size_t)(p - start));
	next = json_space(p, end);
	if (next < end && *next == ':')
		push_name(n, name);
	return p;
}

static int
refuse(const struct name *twice, struct err *err)
{
	struct buf text = BUF_INIT(SIZE_MAX);

	json_decode((struct json){ JSON_STRING, twice->raw }, &text);
	err_set(err, ERR_INPUT, "the name \"%.*s\" stands twice in one object",
	    text.len > 100 ? 100 : (int)text.len,
	    text.len == 0 ? "" : text.ptr);
	buf_release(&text);
	return -1;
}

int
json_no_duplicates(struct json value, struct err *err)
{
	struct names n = { 0 };
	const char *p = value.raw.ptr, *end;
	int rc = 0;

	if (value.type == JSON_NONE)
		return 0;
	end = p + value.raw.len;
	while (p < end) {
		if (*p == '"') {
			p = read_string(&n, p, end);
			continue;
		}
		if (*p == '{')
			n.starts[n.depth++] = n.count;
		else if (*p == '}')
			close_object(&n);
		p++;
	}
	if (n.twice.raw.ptr != NULL)
		rc = refuse(&n.twice, err);
	mem_free(n.all);
	return rc;
}
