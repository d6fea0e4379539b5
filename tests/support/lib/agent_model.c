/*
 * The built-in agent: fixed rules that make a first run look like one. Finds a
 * city and a sum in what the user wrote, calls the tools for them, and puts
 * what came back into sentences, slowly enough to be seen streaming.
 */
#include "tests/support/lib/builtin_model.h"

#include <strings.h>

#include "base/utf8.h"

#define DELTA_BYTES  6
#define PAUSE_MS     15
#define TEXT_MAX     (1u << 20) /* of the user's text that is looked at */
#define SAID_MAX     2000u      /* bytes of one output that are repeated */
#define CITY_DEFAULT "Paris"
#define WEATHER      "weather"
#define CALCULATOR   "calculator"

/* ---- the city ---- */

static bool
is_common_word(struct slice word)
{
	static const char *const words[] = { "a", "about", "add", "also", "an",
		"and", "april", "are", "august", "calculate", "can", "check",
		"compare", "compute", "could", "december", "describe", "did",
		"do", "does", "explain", "february", "find", "friday", "get",
		"give", "hello", "hey", "hi", "how", "i", "i'd", "i'm", "if",
		"is", "it", "january", "july", "june", "let", "look", "march",
		"may", "monday", "multiply", "my", "november", "now", "october",
		"ok", "or", "please", "report", "saturday", "say", "search",
		"september", "should", "show", "sunday", "tell", "temperature",
		"thanks", "that", "the", "then", "there", "this", "thursday",
		"today", "tomorrow", "tuesday", "use", "weather", "wednesday",
		"what", "what's", "when", "where", "which", "who", "why",
		"will", "work", "would", "you" };

	for (size_t i = 0; i < COUNT(words); i++)
		if (word.len == strlen(words[i]) &&
		    strncasecmp(word.ptr, words[i], word.len) == 0)
			return true;
	return false;
}

static bool
is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '\'' ||
	       c == '-' || (unsigned char)c >= 0x80;
}

/* Latin capitals, those with accents of the first block included; a times sign
 * stands among them. */
static bool
is_capital(struct slice word)
{
	if (word.len > 0 && word.ptr[0] >= 'A' && word.ptr[0] <= 'Z')
		return true;
	return word.len > 1 && word.ptr[0] == '\xc3' && word.ptr[1] != '\x97' &&
	       (unsigned char)word.ptr[1] >= 0x80 &&
	       (unsigned char)word.ptr[1] <= 0x9e;
}

/* The last name in the text; capitals one space apart are one name. */
static struct slice
find_city(struct slice text)
{
	struct slice city = { 0 };
	size_t i = 0;

	while (i < text.len) {
		size_t from = i;
		struct slice word;

		while (i < text.len && is_word_byte(text.ptr[i]))
			i++;
		word = slice_of(text.ptr + from, i - from);
		if (word.len == 0) {
			i++;
			continue;
		}
		if (word.len > 2 &&
		    memcmp(word.ptr + word.len - 2, "'s", 2) == 0)
			word.len -= 2;
		if (!is_capital(word) || is_common_word(word))
			continue;
		if (city.len > 0 && city.ptr + city.len + 1 == word.ptr &&
		    word.ptr[-1] == ' ')
			city.len += 1 + word.len;
		else
			city = word;
	}
	return city;
}

static bool
mentions_weather(struct slice text)
{
	for (size_t i = 0; i + strlen(WEATHER) <= text.len; i++)
		if (strncasecmp(text.ptr + i, WEATHER, strlen(WEATHER)) == 0)
			return true;
	return false;
}

/* ---- the sum ---- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_sum_byte(char c)
{
	return is_digit(c) || (c != '\0' && strchr(" .+-*/%()", c) != NULL);
}

/* Writes signs that people use as the calculator knows them. */
static void
plain_signs(struct slice text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		const char *p = text.ptr + i;
		size_t left = text.len - i;

		if (left > 1 && memcmp(p, "\xc3\x97", 2) == 0) {
			buf_putc(out, '*');
			i++;
		} else if (left > 1 && memcmp(p, "\xc3\xb7", 2) == 0) {
			buf_putc(out, '/');
			i++;
		} else if (*p == '^') {
			buf_puts(out, "**");
		} else if (*p == 'x' && i > 0 && left > 1 &&
			   (is_digit(p[-1]) || p[-1] == ' ') &&
			   (is_digit(p[1]) || p[1] == ' ')) {
			buf_putc(out, '*');
		} else {
			buf_putc(out, *p);
		}
	}
}

/* Cuts what cannot begin or end a sum, and brackets without a partner. */
static struct slice
trim_sum(struct slice sum)
{
	size_t open = 0, close = 0;

	while (sum.len > 0 && !is_digit(sum.ptr[0]) && sum.ptr[0] != '(' &&
	       !(sum.ptr[0] == '-' && sum.len > 1 && is_digit(sum.ptr[1]))) {
		sum.ptr++;
		sum.len--;
	}
	while (sum.len > 0 && !is_digit(sum.ptr[sum.len - 1]) &&
	       sum.ptr[sum.len - 1] != ')')
		sum.len--;
	for (size_t i = 0; i < sum.len; i++) {
		open += sum.ptr[i] == '(';
		close += sum.ptr[i] == ')';
	}
	if (open > close && sum.ptr[0] == '(')
		return trim_sum(slice_of(sum.ptr + 1, sum.len - 1));
	if (close > open && sum.ptr[sum.len - 1] == ')')
		return trim_sum(slice_of(sum.ptr, sum.len - 1));
	return sum;
}

/* Does a sign stand between two numbers? */
static bool
is_sum(struct slice sum)
{
	bool number = false, sign = false;

	for (size_t i = 0; i < sum.len; i++) {
		char c = sum.ptr[i];

		if (is_digit(c)) {
			if (number && sign)
				return true;
			number = true;
		} else if (strchr("+-*/%", c) != NULL) {
			sign = number;
		}
	}
	return false;
}

static struct slice
find_sum(struct slice text)
{
	struct slice best = { 0 };
	size_t i = 0;

	while (i < text.len) {
		size_t from = i;
		struct slice sum;

		while (i < text.len && is_sum_byte(text.ptr[i]))
			i++;
		sum = trim_sum(slice_of(text.ptr + from, i - from));
		if (sum.len > best.len && is_sum(sum))
			best = sum;
		i += i == from;
	}
	return best;
}

/* ---- the answer ---- */

static void
call_tool(struct answer *answer, const char *tool, const char *key,
    struct slice value)
{
	struct answer_item *item = answer_add(answer, ANSWER_CALL);
	struct json_writer w;
	size_t from;

	item->name = answer_keep(answer, slice_string(tool));
	from = answer->text.len;
	w = json_writer(&answer->text);
	json_open(&w, '{');
	json_key(&w, key);
	json_str(&w, value);
	json_close(&w);
	item->text = answer_since(answer, from);
}

static void
call_tools(const struct request *request, struct answer *answer)
{
	struct buf text = BUF_INIT(TEXT_MAX), plain = BUF_INIT(TEXT_MAX);
	struct slice city, sum;

	request_text(request->last_user, &text);
	plain_signs(buf_slice(&text), &plain);
	city = find_city(buf_slice(&text));
	if (city.len == 0 && mentions_weather(buf_slice(&text)))
		city = SLICE(CITY_DEFAULT);
	sum = find_sum(buf_slice(&plain));
	if (city.len > 0 && request_has_tool(request, SLICE(WEATHER)))
		call_tool(answer, WEATHER, "city", city);
	if (sum.len > 0 && request_has_tool(request, SLICE(CALCULATOR)))
		call_tool(answer, CALCULATOR, "expression", sum);
	buf_release(&text);
	buf_release(&plain);
}

static struct slice
trimmed(struct slice text)
{
	while (text.len > 0 && strchr(" \t\r\n", text.ptr[text.len - 1]))
		text.len--;
	if (text.len > SAID_MAX)
		text.len = utf8_cut(text, SAID_MAX);
	return text;
}

static void
put_scalar(struct json value, struct buf *out)
{
	if (value.type == JSON_STRING)
		json_decode(value, out);
	else
		buf_put_slice(out, value.raw);
}

/* What a tool said: text as it is, an object as "key value, key value". */
static void
put_output(struct json output, struct buf *out)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	struct json value, key, member;
	struct json_iter it;
	bool first = true;

	request_text(output, &text);
	if (text.len == 0 ||
	    json_parse(buf_slice(&text), &value, NULL, NULL) == -1 ||
	    (value.type != JSON_OBJECT && value.type != JSON_STRING)) {
		buf_put_slice(out, trimmed(buf_slice(&text)));
	} else if (value.type == JSON_STRING) {
		json_decode(value, out);
	} else {
		it = json_iter(value);
		while (json_next(&it, &key, &member)) {
			if (!first)
				buf_puts(out, ", ");
			first = false;
			if (json_count(value) > 1) {
				json_decode(key, out);
				buf_putc(out, ' ');
			}
			put_scalar(member, out);
		}
	}
	buf_release(&text);
}

static void
put_argument(const struct request_item *call, const char *key, struct buf *out)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	struct json arguments;

	json_decode(call->field[ITEM_ARGUMENTS], &text);
	if (text.len > 0 &&
	    json_parse(buf_slice(&text), &arguments, NULL, NULL) == 0)
		put_scalar(json_get(arguments, key), out);
	buf_release(&text);
}

static void
say_output(const struct request *request, const struct request_item *item,
    struct buf *out)
{
	const struct request_item *call = request_call_of(request, item);
	char last;

	if (out->len > 0)
		buf_putc(out, ' ');
	if (call != NULL && json_is(call->field[ITEM_NAME], WEATHER)) {
		buf_puts(out, "In ");
		put_argument(call, "city", out);
		buf_puts(out, ": ");
	} else if (call != NULL &&
		   json_is(call->field[ITEM_NAME], CALCULATOR)) {
		put_argument(call, "expression", out);
		buf_puts(out, " = ");
	} else if (call != NULL) {
		buf_puts(out, "The tool ");
		json_decode(call->field[ITEM_NAME], out);
		buf_puts(out, " says: ");
	}
	put_output(item->field[ITEM_OUTPUT], out);
	last = out->len > 0 ? out->ptr[out->len - 1] : '.';
	if (strchr(".!?", last) == NULL)
		buf_putc(out, '.');
}

static void
say_outputs(const struct request *request, struct buf *out)
{
	struct buf text = BUF_INIT(ANSWER_TEXT_MAX / 2);

	for (size_t i = request->after_user; i < request->count; i++)
		if (request->items[i].kind == ITEM_IS_OUTPUT)
			say_output(request, &request->items[i], &text);
	buf_put_slice(out, buf_slice(&text));
	buf_release(&text);
}

void
agent_answer(const struct request *request, struct answer *answer)
{
	struct answer_item *item;
	size_t from;

	answer->delta_bytes = DELTA_BYTES;
	answer->pause_ms = PAUSE_MS;
	if (request->outputs == 0)
		call_tools(request, answer);
	if (answer->count > 0)
		return;
	item = answer_add(answer, ANSWER_TEXT);
	from = answer->text.len;
	if (request->outputs > 0)
		say_outputs(request, &answer->text);
	else
		buf_puts(&answer->text,
		    "Hello! I am the scripted model that comes with reeve: I "
		    "follow fixed rules and understand nothing. When the tools "
		    "weather and calculator are offered I use them for a city "
		    "and for a sum. Set OPENAI_API_KEY to talk to a real "
		    "model.");
	item->text = answer_since(answer, from);
}
