/*
 * Reads the head of an HTTP request. Strict where leniency would hide a broken
 * client: CRLF only, no folded lines, no control bytes, one length, no space
 * before a colon. Bodies with Transfer-Encoding are not taken (411): the
 * clients that are tested here send a length.
 */
#include "tests/support/lib/http_head.h"

#include <strings.h>

#define LENGTH_DIGITS 15

bool
http_slice_is(struct slice text, const char *word)
{
	return text.len == strlen(word) &&
	       strncasecmp(text.ptr, word, text.len) == 0;
}

static bool
is_token(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c <= ' ' || c >= 127 || strchr("\"(),/:;<=>?@[\\]{}", c))
			return false;
	}
	return text.len > 0;
}

static struct slice
trimmed(struct slice text)
{
	while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) {
		text.ptr++;
		text.len--;
	}
	while (text.len > 0 && (text.ptr[text.len - 1] == ' ' ||
				   text.ptr[text.len - 1] == '\t'))
		text.len--;
	return text;
}

/* Takes the next line off *rest, without its CRLF; false at the end. */
static bool
next_line(struct slice *rest, struct slice *ret_line)
{
	const char *end = memmem(rest->ptr, rest->len, "\r\n", 2);

	if (end == NULL)
		return false;
	*ret_line = slice_of(rest->ptr, (size_t)(end - rest->ptr));
	rest->ptr += ret_line->len + 2;
	rest->len -= ret_line->len + 2;
	return true;
}

size_t
http_head_end(struct slice text, size_t *scanned)
{
	size_t from = *scanned > 3 ? *scanned - 3 : 0;
	const char *end;

	if (text.len == 0)
		return 0;
	end = memmem(text.ptr + from, text.len - from, "\r\n\r\n", 4);
	*scanned = text.len;
	return end == NULL ? 0 : (size_t)(end - text.ptr) + 4;
}

bool
http_head_is_plausible(struct slice text)
{
	const char *end;

	if (text.len == 0)
		return true;
	if (text.ptr[0] < 'A' || text.ptr[0] > 'Z')
		return false;
	end = memchr(text.ptr, '\n', text.len);
	return end == NULL || end[-1] == '\r';
}

static int
refuse(struct err *err, int status, const char *text)
{
	err_set(err, ERR_INPUT, "%s", text);
	return status;
}

static int
parse_request_line(struct slice line, struct http_head *head, struct err *err)
{
	const char *end = line.ptr + line.len;
	const char *space = memchr(line.ptr, ' ', line.len);
	const char *second;
	struct slice version;

	if (space == NULL)
		return refuse(err, 400, "the request line has no target");
	head->method = slice_of(line.ptr, (size_t)(space - line.ptr));
	second = memchr(space + 1, ' ', (size_t)(end - space - 1));
	if (second == NULL || second == space + 1 || space[1] != '/')
		return refuse(err, 400, "the request line is malformed");
	head->path = slice_of(space + 1, (size_t)(second - space - 1));
	version = slice_of(second + 1, (size_t)(end - second - 1));
	if (!is_token(head->method))
		return refuse(err, 400, "the method is no token");
	for (size_t i = 0; i < head->path.len; i++) {
		unsigned char c = (unsigned char)head->path.ptr[i];

		if (c <= ' ' || c >= 127)
			return refuse(err, 400, "the target has bad bytes");
		if (c == '?')
			head->path.len = i;
	}
	head->old = slice_is(version, "HTTP/1.0");
	head->close = head->old;
	if (!head->old && !slice_is(version, "HTTP/1.1"))
		return refuse(err, 505, "only HTTP/1.1 and HTTP/1.0");
	return 0;
}

static int
parse_length(
    struct slice value, struct http_head *head, bool seen, struct err *err)
{
	uint64_t length = 0;

	if (value.len == 0)
		return refuse(err, 400, "Content-Length is empty");
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] < '0' || value.ptr[i] > '9')
			return refuse(err, 400, "Content-Length is no number");
	if (value.len > LENGTH_DIGITS)
		return refuse(err, 413, "the body is too large");
	for (size_t i = 0; i < value.len; i++)
		length = length * 10 + (uint64_t)(value.ptr[i] - '0');
	if (seen && length != head->length)
		return refuse(err, 400, "two Content-Lengths that differ");
	if (length > HTTP_BODY_MAX)
		return refuse(err, 413, "the body is too large");
	head->length = length;
	return 0;
}

/* Does a list such as "keep-alive, close" hold the word? */
static bool
list_has(struct slice list, const char *word)
{
	while (list.len > 0) {
		const char *comma = memchr(list.ptr, ',', list.len);
		size_t n = comma ? (size_t)(comma - list.ptr) : list.len;

		if (http_slice_is(trimmed(slice_of(list.ptr, n)), word))
			return true;
		n += comma != NULL;
		list.ptr += n;
		list.len -= n;
	}
	return false;
}

static int
check_line(struct slice line, struct slice *ret_name, struct slice *ret_value,
    struct err *err)
{
	const char *colon = memchr(line.ptr, ':', line.len);

	if (colon == NULL)
		return refuse(err, 400, "a header line has no colon");
	*ret_name = slice_of(line.ptr, (size_t)(colon - line.ptr));
	*ret_value = trimmed(slice_of(colon + 1, line.len - ret_name->len - 1));
	if (!is_token(*ret_name))
		return refuse(err, 400, "a header name is no token");
	for (size_t i = 0; i < ret_value->len; i++) {
		unsigned char c = (unsigned char)ret_value->ptr[i];

		if ((c < ' ' && c != '\t') || c == 127)
			return refuse(err, 400, "control bytes in a header");
	}
	return 0;
}

struct seen {
	bool length, host;
};

static int
parse_field(struct slice name, struct slice value, struct http_head *head,
    struct seen *seen, struct err *err)
{
	int status = 0;

	if (http_slice_is(name, "content-length")) {
		status = parse_length(value, head, seen->length, err);
		seen->length = true;
	} else if (http_slice_is(name, "transfer-encoding")) {
		status = refuse(err, 411,
		    "send a Content-Length instead of Transfer-Encoding");
	} else if (http_slice_is(name, "connection")) {
		if (list_has(value, "close"))
			head->close = true;
		else if (head->old && list_has(value, "keep-alive"))
			head->close = false;
	} else if (http_slice_is(name, "expect")) {
		head->expects = http_slice_is(value, "100-continue");
		if (!head->expects)
			status = refuse(err, 417, "unknown expectation");
	} else if (http_slice_is(name, "host")) {
		if (seen->host)
			status = refuse(err, 400, "two Host fields");
		seen->host = true;
	}
	return status;
}

int
http_head_parse(struct slice text, struct http_head *ret_head, struct err *err)
{
	struct slice rest = slice_of(text.ptr, text.len - 2);
	struct slice line, name, value;
	struct http_head head = { 0 };
	struct seen seen = { 0 };
	int status;

	if (!next_line(&rest, &line))
		return refuse(err, 400, "no request line");
	status = parse_request_line(line, &head, err);
	head.fields = rest;
	while (status == 0 && next_line(&rest, &line)) {
		status = check_line(line, &name, &value, err);
		if (status == 0)
			status = parse_field(name, value, &head, &seen, err);
	}
	if (status == 0 && !seen.host && !head.old)
		status = refuse(err, 400, "no Host field");
	if (status == 0)
		*ret_head = head;
	return status;
}

bool
http_head_next(
    struct slice *rest, struct slice *ret_name, struct slice *ret_value)
{
	struct slice line;
	const char *colon;

	if (!next_line(rest, &line))
		return false;
	colon = memchr(line.ptr, ':', line.len);
	*ret_name = slice_of(line.ptr, (size_t)(colon - line.ptr));
	*ret_value = trimmed(slice_of(colon + 1, line.len - ret_name->len - 1));
	return true;
}

struct slice
http_head_get(const struct http_head *head, const char *name)
{
	struct slice rest = head->fields, field, value;

	while (http_head_next(&rest, &field, &value))
		if (http_slice_is(field, name))
			return value;
	return (struct slice){ 0 };
}
