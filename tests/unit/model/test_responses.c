/*
 * workers/model/responses.c with output.c and parts.c: what a stream of events
 * means, rule by rule. Every stream is also played cut at each of its bytes.
 */
#include "tests/unit/model/play.h"
#include "tests/unit/suite.h"

/* clang-format off */
static const struct {
	const char *rule, *body, *result;
	struct play play;
} rules[] = {
	{ "A terminal event ends it; text comes from the whole item",
	    CREATED ADDED(0, "m") DELTA(0, "Hi") MESSAGE_DONE(0, "m", "Hi!")
	    COMPLETED,
	    JSON_TEXT({"status":"completed","text":"Hi!","tool_calls":[],
		"reasoning":[],"usage":null,"finish_reason":"stop",
		"error":null,"damaged":false,
		"items":[{"type":"message","id":"m","status":"completed"}]}),
	    { 0 } },
	{ "A1: output_index is the key; item ids may change with each event",
	    CREATED ADDED(0, "a") ADDED(1, "b")
	    EVENT({"type":"response.output_text.delta","item_id":"x1",
		"output_index":1,"content_index":0,"delta":"B"})
	    EVENT({"type":"response.output_text.delta","item_id":"x2",
		"output_index":0,"content_index":0,"delta":"A"})
	    EVENT({"type":"response.output_text.delta","item_id":"x3",
		"output_index":1,"content_index":0,"delta":"b"})
	    COMPLETED,
	    JSON_TEXT({"status":"completed","text":"ABb"}), { 0 } },
	{ "A1: without output_index the item id finds the slot, or the call_id",
	    CREATED
	    EVENT({"type":"response.output_item.added","item":
		{"type":"function_call","call_id":"c1","name":"f"}})
	    EVENT({"type":"response.output_item.added","item":
		{"type":"function_call","id":"i2","call_id":"c2","name":"g"}})
	    EVENT({"type":"response.function_call_arguments.delta",
		"item_id":"c1","delta":"{\"a\":1}"})
	    EVENT({"type":"response.function_call_arguments.delta",
		"item_id":"i2","delta":"{\"b\":2}"})
	    COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c1","name":"f","arguments":"{\"a\":1}"},
		{"call_id":"c2","name":"g","arguments":"{\"b\":2}"}],
		"finish_reason":"tool_calls"}), { 0 } },
	{ "A1: without any name the newest open item of that type is meant",
	    CREATED
	    EVENT({"type":"response.output_item.added","item":
		{"type":"message","role":"assistant","content":[]}})
	    EVENT({"type":"response.output_item.added","item":
		{"type":"reasoning","summary":[]}})
	    EVENT({"type":"response.output_text.delta","delta":"t"})
	    EVENT({"type":"response.reasoning_summary_text.delta","delta":"r"})
	    COMPLETED,
	    JSON_TEXT({"text":"t","reasoning":[{"id":null,
		"has_encrypted":false,"summary_text":"r"}]}), { 0 } },
	{ "A1: an index that holds another type opens a new slot",
	    CREATED ADDED(0, "m") DELTA(0, "let me see")
	    CALL(0, "fc", "c", "f") ARGUMENTS(0, "fc", "{}")
	    CALL_DONE(0, "fc", "c", "f", "{}") COMPLETED,
	    JSON_TEXT({"text":"let me see","tool_calls":[
		{"call_id":"c","name":"f","arguments":"{}"}]}), { 0 } },
	{ "A1: two calls that share an index are told apart by their ids",
	    CREATED CALL(0, "i1", "c1", "f") CALL(0, "i2", "c2", "g")
	    ARGUMENTS(0, "i1", "1") ARGUMENTS(0, "i2", "2")
	    CALL_DONE(0, "i1", "c1", "f", "") CALL_DONE(0, "i2", "c2", "g", "")
	    COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c1","name":"f","arguments":"1"},
		{"call_id":"c2","name":"g","arguments":"2"}]}), { 0 } },
	{ "A1: unknown types with one index are told apart by their type",
	    CREATED
	    EVENT({"type":"response.output_item.added","output_index":0,
		"item":{"type":"new_thing","id":"n"}})
	    EVENT({"type":"response.output_item.done","output_index":0,
		"item":{"type":"other_thing","id":"o","x":[1,2]}})
	    COMPLETED,
	    JSON_TEXT({"items":[{"type":"new_thing","id":"n","status":null},
		{"type":"other_thing","id":"o","status":null}]}), { 0 } },
	{ "A2: a delta for an item that never began opens it",
	    DELTA(0, "bare") COMPLETED,
	    JSON_TEXT({"text":"bare","items":[
		{"type":"message","id":null,"status":"completed"}]}), { 0 } },
	{ "A2: a whole item that never began is an item",
	    MESSAGE_DONE(3, "m", "whole") COMPLETED,
	    JSON_TEXT({"text":"whole"}), { 0 } },
	{ "A2: arguments of a call that never began keep their item id",
	    ARGUMENTS(0, "fc_7", "{}") COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"fc_7","name":"","arguments":"{}"}]}), { 0 } },
	{ "A3: the done text stands in place of the deltas",
	    CREATED ADDED(0, "m") DELTA(0, "draft")
	    EVENT({"type":"response.output_text.done","output_index":0,
		"content_index":0,"text":"final"})
	    DELTA(0, " ghost") COMPLETED,
	    JSON_TEXT({"text":"final"}), { 0 } },
	{ "A3: a content part that is done stands in place of the deltas",
	    CREATED ADDED(0, "m") DELTA(0, "draft")
	    EVENT({"type":"response.content_part.done","output_index":0,
		"content_index":0,
		"part":{"type":"output_text","text":"final"}})
	    COMPLETED,
	    JSON_TEXT({"text":"final"}), { 0 } },
	{ "A3: so do parts of a refusal, of reasoning and of a summary",
	    CREATED
	    EVENT({"type":"response.refusal.delta","output_index":0,
		"content_index":0,"delta":"n"})
	    EVENT({"type":"response.content_part.done","output_index":0,
		"content_index":0,"part":{"type":"refusal","refusal":"no"}})
	    EVENT({"type":"response.reasoning_text.delta","output_index":1,
		"content_index":0,"delta":"h"})
	    EVENT({"type":"response.content_part.done","output_index":1,
		"content_index":0,
		"part":{"type":"reasoning_text","text":"hm"}})
	    EVENT({"type":"response.reasoning_summary_text.delta",
		"output_index":1,"summary_index":0,"delta":"w"})
	    EVENT({"type":"response.reasoning_summary_part.done",
		"output_index":1,"summary_index":0,
		"part":{"type":"summary_text","text":"why"}})
	    COMPLETED,
	    JSON_TEXT({"refusal":"no","reasoning":[{"id":null,
		"has_encrypted":false,"summary_text":"why",
		"content_text":"hm"}]}), { 0 } },
	{ "A3: nothing is appended to an item that is done",
	    CREATED ADDED(0, "m") MESSAGE_DONE(0, "m", "end")
	    DELTA(0, "ghost") COMPLETED,
	    JSON_TEXT({"text":"end"}), { 0 } },
	{ "A3: empty or missing arguments do not erase deltas",
	    CREATED CALL(0, "i1", "c1", "f") CALL(1, "i2", "c2", "g")
	    ARGUMENTS(1, "i2", "{\"b\"") ARGUMENTS(0, "i1", "{\"a\":")
	    ARGUMENTS(1, "i2", ":2}") ARGUMENTS(0, "i1", "1}")
	    EVENT({"type":"response.function_call_arguments.done",
		"output_index":1,"item_id":"i2","arguments":""})
	    EVENT({"type":"response.output_item.done","output_index":1,"item":
		{"type":"function_call","id":"i2","call_id":"c2","name":"g"}})
	    CALL_DONE(0, "i1", "c1", "f", "") COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c1","name":"f","arguments":"{\"a\":1}"},
		{"call_id":"c2","name":"g","arguments":"{\"b\":2}"}]}),
	    { 0 } },
	{ "A3: arguments may come in done events only",
	    CREATED CALL(0, "i1", "c1", "f")
	    EVENT({"type":"response.function_call_arguments.done",
		"output_index":0,"item_id":"i1","arguments":"{\"z\":0}"})
	    COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c1","name":"f","arguments":"{\"z\":0}"}]}),
	    { 0 } },
	{ "A3: an empty message that is done does not erase its deltas",
	    CREATED ADDED(0, "m") DELTA(0, "kept")
	    EVENT({"type":"response.output_item.done","output_index":0,"item":
		{"type":"message","id":"m","role":"assistant","content":[]}})
	    COMPLETED,
	    JSON_TEXT({"text":"kept"}), { 0 } },
	{ "A3: a message that is done as a refusal is one",
	    CREATED ADDED(0, "m") DELTA(0, "Sure")
	    EVENT({"type":"response.output_item.done","output_index":0,"item":
		{"type":"message","id":"m","content":
		[{"type":"refusal","refusal":"no"}]}})
	    COMPLETED,
	    JSON_TEXT({"text":"","refusal":"no"}), { 0 } },
	{ "A1: an item that is announced after its deltas is the same item",
	    CREATED DELTA(0, "ab") ADDED(0, "m") DELTA(0, "c") COMPLETED,
	    JSON_TEXT({"text":"abc","items":[
		{"type":"message","id":"m","status":"completed"}]}), { 0 } },
	{ "A1: a call is done by its call_id when it has nothing else",
	    CREATED
	    EVENT({"type":"response.output_item.added","item":
		{"type":"function_call","call_id":"c1","name":"f"}})
	    EVENT({"type":"response.output_item.added","item":
		{"type":"function_call","call_id":"c2","name":"g"}})
	    EVENT({"type":"response.output_item.done","item":
		{"type":"function_call","call_id":"c2","name":"g",
		"arguments":"2"}})
	    EVENT({"type":"response.output_item.done","item":
		{"type":"function_call","call_id":"c1","name":"f",
		"arguments":"1"}})
	    COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c1","name":"f","arguments":"1"},
		{"call_id":"c2","name":"g","arguments":"2"}]}), { 0 } },
	{ "A5: the order is that of output_index, not of arrival",
	    CREATED MESSAGE_DONE(7, "m7", "b") MESSAGE_DONE(2, "m2", "a")
	    MESSAGE_DONE(4294967296, "m9", "c") COMPLETED,
	    JSON_TEXT({"text":"abc"}), { 0 } },
	{ "A5: without indices the order is that of arrival",
	    CREATED
	    EVENT({"type":"response.output_item.done","item":
		{"type":"message","id":"x","content":
		[{"type":"output_text","text":"1"}]}})
	    EVENT({"type":"response.output_item.done","item":
		{"type":"message","id":"a","content":
		[{"type":"output_text","text":"2"}]}})
	    COMPLETED,
	    JSON_TEXT({"text":"12"}), { 0 } },
	{ "A6: the ciphertext of an item that only began is not taken",
	    CREATED
	    EVENT({"type":"response.output_item.added","output_index":0,"item":
		{"type":"reasoning","id":"r","encrypted_content":"half",
		"summary":[]}})
	    COMPLETED,
	    JSON_TEXT({"reasoning":[{"id":"r","has_encrypted":false,
		"summary_text":""}]}), { 0 } },
	{ "A6: an empty ciphertext is none",
	    CREATED
	    EVENT({"type":"response.output_item.done","output_index":0,"item":
		{"type":"reasoning","id":"r","encrypted_content":"",
		"summary":[]}})
	    COMPLETED,
	    JSON_TEXT({"reasoning":[{"id":"r","has_encrypted":false,
		"summary_text":""}]}), { 0 } },
	{ "Summaries and reasoning texts are built from deltas by their index",
	    CREATED
	    EVENT({"type":"response.reasoning_summary_text.delta",
		"output_index":0,"summary_index":1,"delta":"B"})
	    EVENT({"type":"response.reasoning_summary_text.delta",
		"output_index":0,"summary_index":0,"delta":"A"})
	    EVENT({"type":"response.reasoning_text.delta",
		"output_index":0,"content_index":0,"delta":"hm"})
	    COMPLETED,
	    JSON_TEXT({"reasoning":[{"id":null,"has_encrypted":false,
		"summary_text":"A\n\nB","content_text":"hm"}],
		"text":""}), { 0 } },
	{ "Parts of a message are ordered by content_index",
	    CREATED ADDED(0, "m")
	    EVENT({"type":"response.output_text.delta","output_index":0,
		"content_index":2,"delta":"C"})
	    EVENT({"type":"response.output_text.delta","output_index":0,
		"content_index":0,"delta":"A"})
	    EVENT({"type":"response.refusal.delta","output_index":0,
		"content_index":1,"delta":"no"})
	    COMPLETED,
	    JSON_TEXT({"text":"AC","refusal":"no"}), { 0 } },
	{ "Inputs of custom tools and code are built from deltas",
	    CREATED
	    EVENT({"type":"response.output_item.added","output_index":0,"item":
		{"type":"custom_tool_call","id":"i","call_id":"c","name":"sql",
		"input":""}})
	    EVENT({"type":"response.custom_tool_call_input.delta",
		"output_index":0,"delta":"SELECT "})
	    EVENT({"type":"response.custom_tool_call_input.delta",
		"output_index":0,"delta":"1"})
	    COMPLETED,
	    JSON_TEXT({"tool_calls":[{"call_id":"c","name":"sql",
		"arguments":"SELECT 1"}],"finish_reason":"tool_calls"}),
	    { 0 } },
	{ "A8, S4: incomplete at the token limit is length",
	    CREATED CALL(0, "i", "c", "f") ARGUMENTS(0, "i", "{\"x\":48")
	    INCOMPLETE("max_output_tokens"),
	    JSON_TEXT({"status":"incomplete","finish_reason":"length",
		"tool_calls":[{"call_id":"c","name":"f",
		"arguments":"{\"x\":48"}],"bad_args":["c"],"items":[
		{"type":"function_call","id":"i","status":"incomplete"}]}),
	    { 0 } },
	{ "S4: incomplete because of the content is content_filter",
	    CREATED ADDED(0, "m") DELTA(0, "Once") INCOMPLETE("content_filter"),
	    JSON_TEXT({"status":"incomplete","text":"Once",
		"finish_reason":"content_filter"}), { 0 } },
	{ "S4: incomplete for another reason is length",
	    CREATED INCOMPLETE("boredom"),
	    JSON_TEXT({"status":"incomplete","finish_reason":"length"}),
	    { 0 } },
	{ "A11: the first terminal event wins",
	    CREATED MESSAGE_DONE(0, "m", "one") COMPLETED CREATED
	    MESSAGE_DONE(1, "n", "two") INCOMPLETE("max_output_tokens"),
	    JSON_TEXT({"status":"completed","text":"one"}), { 0 } },
	{ "A11: a second created before any output begins anew",
	    EVENT({"type":"response.in_progress"}) CREATED ADDED(0, "old")
	    CREATED ADDED(0, "new") DELTA(0, "ok") COMPLETED,
	    JSON_TEXT({"text":"ok","damaged":false,"items":[
		{"type":"message","id":"new","status":"completed"}]}),
	    { 0 } },
	{ "A11: a second created after output marks damage",
	    CREATED MESSAGE_DONE(0, "m", "ok") CREATED COMPLETED,
	    JSON_TEXT({"text":"ok","damaged":true}), { 0 } },
	{ "A13, S2: an end without terminal event is a cut",
	    CREATED ADDED(0, "m") DELTA(0, "hi"),
	    JSON_TEXT({"status":"truncated","text":"hi","error":null,
		"finish_reason":"truncated","class":"server","retry":false}),
	    { 0 } },
	{ "S2: a cut without output may be tried again",
	    CREATED ADDED(0, "m"),
	    JSON_TEXT({"status":"truncated","class":"server","retry":true}),
	    { 0 } },
	{ "S2: a text that came whole is output",
	    CREATED
	    EVENT({"type":"response.output_text.done","output_index":0,
		"text":"x"}),
	    JSON_TEXT({"status":"truncated","retry":false}), { 0 } },
	{ "S2: and so is a call that began",
	    CREATED CALL(0, "i", "c", "f"),
	    JSON_TEXT({"status":"truncated","retry":false}), { 0 } },
	{ "S1: [DONE] ends reading and is no success",
	    CREATED DELTA(0, "hi") "data: [DONE]\n\n" COMPLETED,
	    JSON_TEXT({"status":"truncated","text":"hi"}), { 0 } },
	{ "A13: an endpoint known to leave it out may end without",
	    CREATED MESSAGE_DONE(0, "m", "hi"),
	    JSON_TEXT({"status":"completed","text":"hi","usage":null}),
	    { .quirks = { .may_end = true } } },
	{ "A13: but not in the middle of an item",
	    CREATED ADDED(0, "m") DELTA(0, "hi"),
	    JSON_TEXT({"status":"truncated"}),
	    { .quirks = { .may_end = true } } },
	{ "A13: and not when the connection broke",
	    CREATED MESSAGE_DONE(0, "m", "hi"),
	    JSON_TEXT({"status":"truncated"}),
	    { .quirks = { .may_end = true }, .unclean = true } },
	{ "F5: a whole object at the end counts without its blank line",
	    CREATED DELTA(0, "hi")
	    "data: {\"type\":\"response.completed\",\"response\":{}}",
	    JSON_TEXT({"status":"completed","text":"hi"}),
	    { .unclean = true } },
	{ "F5: half an object at the end is dropped without damage",
	    CREATED DELTA(0, "hi") "data: {\"type\":\"response.comp",
	    JSON_TEXT({"status":"truncated","text":"hi","damaged":false}),
	    { .unclean = true } },
	{ "F7: without a type the name of the event counts",
	    "event: response.output_text.delta\n"
	    "data: {\"output_index\":0,\"delta\":\"a\"}\n\n"
	    "data: {\"response\":{}}\nevent: response.completed\n\n",
	    JSON_TEXT({"status":"completed","text":"a"}), { 0 } },
	{ "F7: the type in the data wins over the name",
	    "event: response.completed\n"
	    "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,"
	    "\"delta\":\"a\"}\n\n" COMPLETED,
	    JSON_TEXT({"status":"completed","text":"a"}), { 0 } },
	{ "F8: two objects glued by a line end are two events",
	    "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,"
	    "\"delta\":\"a\"}\n"
	    "data: {\"type\":\"response.completed\",\"response\":{}}\n\n",
	    JSON_TEXT({"status":"completed","text":"a","damaged":false}),
	    { 0 } },
	{ "F8: a broken event is skipped; whole values repair the text",
	    CREATED ADDED(0, "m") DELTA(0, "al") "data: {\"type\":\"resp\n\n"
	    EVENT({"type":"response.output_text.done","output_index":0,
		"content_index":0,"text":"alpha"}) COMPLETED,
	    JSON_TEXT({"status":"completed","text":"alpha","damaged":true}),
	    { 0 } },
	{ "F8: on a damaged stream deltas alone count for nothing",
	    CREATED ADDED(0, "m") DELTA(0, "al") "data: {\"type\":\"resp\n\n"
	    COMPLETED,
	    JSON_TEXT({"status":"completed","text":"","damaged":true}),
	    { 0 } },
	{ "F9: unknown events and values that are no objects are skipped",
	    CREATED EVENT({"type":"keepalive","sequence_number":1})
	    EVENT({"type":"response.brand_new.delta","output_index":0,
		"delta":"NO"})
	    "data: [1,2]\n\ndata: null\n\ndata: \"text\"\n\n"
	    DELTA(0, "yes") COMPLETED,
	    JSON_TEXT({"status":"completed","text":"yes","damaged":false}),
	    { 0 } },
	{ "Nulls where texts should be are empty texts",
	    CREATED
	    EVENT({"type":"response.output_text.delta","output_index":0,
		"delta":null})
	    EVENT({"type":"response.output_text.done","output_index":0,
		"text":null})
	    DELTA(1, "x")
	    EVENT({"type":"response.output_item.done","output_index":2,
		"item":null})
	    COMPLETED,
	    JSON_TEXT({"status":"completed","text":"x"}), { 0 } },
	{ "Usage: numbers however they are written, missing ones are 0",
	    EVENT({"type":"response.completed","response":{"usage":
		{"input_tokens":5.0,"output_tokens":3e0,"total_tokens":8,
		"input_tokens_details":{"cached_tokens":4},
		"output_tokens_details":null,
		"cost":99999999999999999999}}}),
	    JSON_TEXT({"usage":{"input":5,"output":3,"total":8,"cached":4,
		"reasoning":0}}), { 0 } },
	{ "Usage: without a total it is the sum",
	    EVENT({"type":"response.completed","response":{"usage":
		{"input_tokens":7,"output_tokens":2,
		"output_tokens_details":{"reasoning_tokens":1}}}}),
	    JSON_TEXT({"usage":{"input":7,"output":2,"total":9,"cached":0,
		"reasoning":1}}), { 0 } },
	{ "A terminal event without response may hold its members itself",
	    EVENT({"type":"response.done","status":"incomplete","output":
		[{"type":"message","id":"m","content":
		[{"type":"output_text","text":"hi"}]}],
		"usage":{"input_tokens":1,"output_tokens":1}}),
	    JSON_TEXT({"status":"incomplete","text":"hi","usage":{"input":1,
		"output":1,"total":2,"cached":0,"reasoning":0}}), { 0 } },
	{ "A response that was cancelled is cancelled",
	    CREATED EVENT({"type":"response.cancelled","response":{}}),
	    JSON_TEXT({"status":"cancelled","finish_reason":"cancelled"}),
	    { 0 } },
	{ "A completed event of a failed response has failed",
	    EVENT({"type":"response.completed","response":{"status":"failed",
		"error":{"code":"server_error","message":"boom"}}}),
	    JSON_TEXT({"status":"failed","error":{"code":"server_error",
		"message":"boom"},"class":"server","retry":true}), { 0 } },
	{ "A9: undeclared calls are listed apart and wait for nobody",
	    EVENT({"type":"response.created","response":{"tools":
		[{"type":"function","name":"mine"},{"type":"web_search"},
		{"type":"namespace","name":"n","tools":
		[{"type":"function","name":"inner"}]}]}})
	    CALL_DONE(0, "i0", "c0", "min", "{}") COMPLETED,
	    JSON_TEXT({"tool_calls":[],"finish_reason":"stop",
		"undeclared_calls":[{"call_id":"c0","name":"min",
		"arguments":"{}"}]}), { 0 } },
	{ "A9: tools inside a namespace are declared",
	    EVENT({"type":"response.created","response":{"tools":
		[{"type":"namespace","name":"n","tools":
		[{"type":"function","name":"inner"}]}]}})
	    CALL_DONE(0, "i0", "c0", "inner", "{}") COMPLETED,
	    JSON_TEXT({"finish_reason":"tool_calls","tool_calls":[
		{"call_id":"c0","name":"inner","arguments":"{}"}]}), { 0 } },
	{ "A9: a list of tools without names declares none",
	    EVENT({"type":"response.created","response":{"tools":
		[{"type":"x_search"}]}})
	    EVENT({"type":"response.output_item.done","output_index":0,"item":
		{"type":"custom_tool_call","call_id":"c","name":"x","input":"q"}})
	    COMPLETED,
	    JSON_TEXT({"tool_calls":[],"finish_reason":"stop"}), { 0 } },
	{ "Other calls wait for the client unless the server made them",
	    CREATED
	    EVENT({"type":"response.output_item.done","output_index":0,"item":
		{"type":"shell_call","id":"s","call_id":"c1","action":{},
		"environment":{"type":"local"}}})
	    EVENT({"type":"response.output_item.done","output_index":1,"item":
		{"type":"shell_call","id":"h","call_id":"c2","action":{},
		"environment":{"type":"container_reference"}}})
	    EVENT({"type":"response.output_item.done","output_index":2,"item":
		{"type":"shell_call","id":"o","call_id":"c3","action":{}}})
	    EVENT({"type":"response.output_item.done","output_index":3,"item":
		{"type":"shell_call_output","call_id":"c3","output":[]}})
	    EVENT({"type":"response.output_item.done","output_index":4,"item":
		{"type":"tool_search_call","id":"t","call_id":null,
		"execution":"server","arguments":{}}})
	    EVENT({"type":"response.output_item.done","output_index":5,"item":
		{"type":"apply_patch_call","id":"a","call_id":"c5",
		"operation":{"type":"delete_file"}}})
	    COMPLETED,
	    JSON_TEXT({"finish_reason":"tool_calls","other_calls":[
		{"type":"shell_call","id":"s","call_id":"c1","action":{}},
		{"type":"apply_patch_call","id":"a","call_id":"c5",
		"operation":{"type":"delete_file"}}]}), { 0 } },
};
/* clang-format on */

START_TEST(a_stream_means_what_the_rule_says)
{
	play_check(
	    &rules[_i].play, slice_string(rules[_i].body), rules[_i].result);
}
END_TEST

/* What a stringified token cannot hold. */
START_TEST(halves_of_a_pair_join_over_two_deltas_and_lone_ones_are_marked)
{
	static const char body[] =
	    "data: {\"type\":\"response.output_text.delta\","
	    "\"delta\":\"a\\u0000b\\ud83d\"}\n\n"
	    "data: {\"type\":\"response.output_text.delta\","
	    "\"delta\":\"\\ude00\"}\n\n"
	    "data: {\"type\":\"response.output_text.delta\","
	    "\"delta\":\"\\udc00\"}\n\n" COMPLETED;
	struct play play = { 0 };
	struct buf out = BUF_INIT(PLAY_MAX), text = BUF_INIT(100);
	struct json result;

	play_report(&play, slice_string(body), 0, 1, &out);
	ck_assert_int_eq(json_parse(buf_slice(&out), &result, NULL, NULL), 0);
	json_decode(json_get(result, "text"), &text);
	ck_assert_uint_eq(text.len, 10);
	ck_assert_mem_eq(text.ptr, "a\0b\xF0\x9F\x98\x80\xEF\xBF\xBD", 10);
	buf_release(&out);
	buf_release(&text);
}
END_TEST

START_TEST(a_nesting_bomb_is_skipped)
{
	struct buf body = BUF_INIT(PLAY_MAX), out = BUF_INIT(PLAY_MAX);
	struct play play = { 0 };

	buf_puts(&body,
	    CREATED "data: {\"type\":\"response.output_item.added\","
		    "\"item\":{\"type\":\"message\",\"x\":");
	for (size_t i = 0; i < 200000; i++)
		buf_putc(&body, '[');
	for (size_t i = 0; _i == 1 && i < 200000; i++)
		buf_putc(&body, ']');
	buf_puts(&body, _i == 1 ? "}}\n\n" : "\n\n");
	buf_puts(&body, MESSAGE_DONE(0, "m", "fine") COMPLETED);
	play_report(&play, buf_slice(&body), 0, PLAY_MAX, &out);
	play_compare(buf_slice(&out),
	    "{\"status\":\"completed\",\"text\":\"fine\",\"damaged\":true}",
	    "bomb");
	buf_release(&body);
	buf_release(&out);
}
END_TEST

/* ---- items as received ---- */

START_TEST(a_whole_item_is_given_on_byte_for_byte)
{
	static const char item[] =
	    "{ \"type\" : \"message\",\"n\":1.50, \"big\":12345678901234567890123"
	    ",\"esc\":\"\\u00e9\\/\",\"content\":[ ] ,\"unknown\":{\"k\":[1, 2]}}";
	struct body body;
	struct buf text = BUF_INIT(PLAY_MAX), items = BUF_INIT(PLAY_MAX);

	buf_printf(&text,
	    "data: {\"type\":\"response.output_item.done\","
	    "\"output_index\":0,\"item\": %s }\n\n",
	    item);
	buf_puts(&text, COMPLETED);
	body_init(&body, 0, (struct body_quirks){ 0 });
	play_feed(&body, buf_slice(&text), 3);
	body_end(&body, true);
	responses_close(&body.response);
	responses_put_items(&body.response, &items);
	ck_assert_uint_eq(items.len, sizeof(item) - 1 + 2);
	ck_assert_mem_eq(items.ptr + 1, item, sizeof(item) - 1);
	body_release(&body);
	buf_release(&text);
	buf_release(&items);
}
END_TEST

START_TEST(a_resumed_body_drops_what_is_known)
{
	static const char first[] = EVENT({
		"type" : "response.created",
		"sequence_number" : 0,
		"response" : {}
	}) EVENT({
		"type" : "response.output_text.delta",
		"sequence_number" : 1,
		"output_index" : 0,
		"delta" : "ab"
	}) "data: {\"type\":\"response.output_text.delta\",\"sequence_nu";
	static const char second[] = EVENT({
		"type" : "response.output_text.delta",
		"sequence_number" : 1,
		"output_index" : 0,
		"delta" : "ab"
	}) EVENT({
		"type" : "response.output_text.delta",
		"sequence_number" : 2,
		"output_index" : 0,
		"delta" : "cd"
	}) EVENT({
		"type" : "response.completed",
		"sequence_number" : 3,
		"response" : {}
	});
	struct body body;
	struct buf out = BUF_INIT(PLAY_MAX);

	body_init(&body, 0, (struct body_quirks){ 0 });
	play_feed(&body, slice_string(first), 5);
	body_end(&body, false);
	ck_assert_int_eq(body.response.state, RESPONSE_CUT);
	body_resume(&body);
	play_feed(&body, slice_string(second), 5);
	body_end(&body, true);
	report(&body, &out);
	play_compare(buf_slice(&out),
	    "{\"status\":\"completed\",\"text\":\"abcd\"}", "resumed");
	body_release(&body);
	buf_release(&out);
}
END_TEST

/* ---- limits ---- */

/* `before` i `between` i `after`, many times. */
static void
check_flood(
    const char *before, const char *between, const char *after, size_t times)
{
	struct body body;
	struct buf text = BUF_INIT(1u << 20), out = BUF_INIT(PLAY_MAX);

	body_init(&body, 0, (struct body_quirks){ 0 });
	for (size_t i = 0; i < times && !body_is_over(&body); i++) {
		buf_clear(&text);
		buf_printf(&text, "%s%zu%s%zu%s", before, i, between, i, after);
		body_feed(&body, buf_slice(&text));
	}
	ck_assert(body_is_over(&body));
	body_end(&body, true);
	report(&body, &out);
	play_compare(buf_slice(&out),
	    "{\"status\":\"failed\",\"class\":\"config\",\"retry\":false}",
	    before);
	ck_assert_str_eq(body.response.failure->code, "client_too_large");
	body_release(&body);
	buf_release(&text);
	buf_release(&out);
}

START_TEST(too_many_items_end_the_response)
{
	check_flood("data: {\"type\":\"response.output_item.added\","
		    "\"output_index\":",
	    ",\"item\":{\"type\":\"x\",\"id\":\"i", "\"}}\n\n",
	    OUTPUT_ITEMS_MAX + 2);
}
END_TEST

START_TEST(too_many_parts_end_the_response)
{
	check_flood("data: {\"type\":\"response.output_text.delta\","
		    "\"output_index\":0,\"content_index\":",
	    ",\"delta\":\"", "\"}\n\n", OUTPUT_PARTS_MAX + 2);
}
END_TEST

START_TEST(too_much_text_ends_the_response)
{
	struct body body;
	struct buf text = BUF_INIT(4u << 20);
	size_t fed = 0;

	buf_puts(&text, "data: {\"type\":\"response.output_text.delta\","
			"\"output_index\":0,\"delta\":\"");
	while (text.len < (2u << 20))
		buf_puts(&text, "0123456789abcdef");
	buf_puts(&text, "\"}\n\n");
	body_init(&body, 0, (struct body_quirks){ 0 });
	while (!body_is_over(&body)) {
		body_feed(&body, buf_slice(&text));
		fed += text.len;
		ck_assert_uint_lt(fed, 2 * (size_t)LIMIT_BODY);
	}
	ck_assert_int_eq(body.response.state, RESPONSE_FAILED);
	body_release(&body);
	buf_release(&text);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("responses");
	TCase *meaning = tcase_create("meaning");
	TCase *items = tcase_create("items");
	TCase *limits = tcase_create("limits");

	tcase_set_timeout(meaning, 60);
	tcase_add_loop_test(
	    meaning, a_stream_means_what_the_rule_says, 0, (int)COUNT(rules));
	tcase_add_test(meaning,
	    halves_of_a_pair_join_over_two_deltas_and_lone_ones_are_marked);
	tcase_add_loop_test(meaning, a_nesting_bomb_is_skipped, 0, 2);
	suite_add_tcase(s, meaning);
	tcase_add_test(items, a_whole_item_is_given_on_byte_for_byte);
	tcase_add_test(items, a_resumed_body_drops_what_is_known);
	suite_add_tcase(s, items);
	tcase_set_timeout(limits, 60);
	tcase_add_test(limits, too_many_items_end_the_response);
	tcase_add_test(limits, too_many_parts_end_the_response);
	tcase_add_test(limits, too_much_text_ends_the_response);
	suite_add_tcase(s, limits);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
