/*
 * What a script may hold, as a JSON Schema: the one place that says so.
 */
#include "tests/support/lib/script.h"

#define OBJECT(required, properties)                                           \
	"{\"type\":\"object\",\"additionalProperties\":false,"                 \
	"\"required\":[" required "],\"properties\":{" properties "}}"
#define NUMBER     "{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000000000}"
#define STRING     "{\"type\":\"string\"}"
#define STRINGS    "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define BOOLEAN    "{\"type\":\"boolean\"}"
#define ANY_OBJECT "{\"type\":\"object\"}"
#define TYPED_OBJECT                                                           \
	"{\"type\":\"object\",\"required\":[\"type\"],"                        \
	"\"properties\":{\"type\":{\"type\":\"string\"}}}"

#define WHEN                                                                   \
	OBJECT("", "\"model\":" STRING ","                                     \
		   "\"turn\":" NUMBER ","                                      \
		   "\"stream\":" BOOLEAN ","                                   \
		   "\"last_user_contains\":" STRING ","                        \
		   "\"last_output_contains\":" STRING ","                      \
		   "\"instructions_contain\":" STRING ","                      \
		   "\"has_tool\":{\"anyOf\":[" STRING "," STRINGS "]},"        \
		   "\"request_count\":" NUMBER)

#define CALL                                                                   \
	OBJECT("\"name\"", "\"name\":" STRING ","                              \
			   "\"arguments\":{\"type\":[\"object\",\"string\"]}," \
			   "\"call_id\":" STRING)

#define REASONING                                                              \
	OBJECT("", "\"summary\":{\"anyOf\":[" STRING "," STRINGS "]},"         \
		   "\"encrypted\":{\"type\":[\"string\",\"null\"]}")

#define ITEM                                                                   \
	"{\"type\":\"object\",\"minProperties\":1,\"maxProperties\":1,"        \
	"\"additionalProperties\":false,\"properties\":{"                      \
	"\"text\":" STRING ","                                                 \
	"\"refusal\":" STRING ","                                              \
	"\"call\":" CALL ","                                                   \
	"\"reasoning\":" REASONING ","                                         \
	"\"raw_item\":" TYPED_OBJECT ","                                       \
	"\"raw_event\":" TYPED_OBJECT ","                                      \
	"\"comment\":" STRING "}}"

#define CUT                                                                    \
	"{\"anyOf\":[" NUMBER ",{\"enum\":[\"mid_event\"]}," OBJECT(           \
	    "\"after\"", "\"after\":" NUMBER ",\"mid_event\":" BOOLEAN) "]}"

#define RULE                                                                   \
	OBJECT("",                                                             \
	    "\"when\":" WHEN ","                                               \
	    "\"times\":" NUMBER ","                                            \
	    "\"respond\":{\"type\":\"array\",\"items\":" ITEM "},"             \
	    "\"delta_bytes\":" NUMBER ","                                      \
	    "\"deltas\":" NUMBER ","                                           \
	    "\"pause_ms\":" NUMBER ","                                         \
	    "\"delay_ms\":" NUMBER ","                                         \
	    "\"chunk_bytes\":" NUMBER ","                                      \
	    "\"status\":{\"type\":\"integer\","                                \
	    "\"minimum\":200,\"maximum\":599},"                                \
	    "\"headers\":{\"type\":\"object\",\"additionalProperties\":"       \
	    "{\"type\":[\"string\",\"number\"]}},"                             \
	    "\"body\":{\"type\":[\"object\",\"array\",\"string\"]},"           \
	    "\"replay\":" STRING ","                                           \
	    "\"cut\":" CUT ","                                                 \
	    "\"reset\":" BOOLEAN ","                                           \
	    "\"hold\":{\"enum\":[true,false,\"head\"]},"                       \
	    "\"incomplete\":" STRING ","                                       \
	    "\"failed\":" ANY_OBJECT ","                                       \
	    "\"error_event\":" ANY_OBJECT ","                                  \
	    "\"usage\":{\"type\":[\"object\",\"null\"]}")

const char script_schema[] = "{\"type\":\"array\",\"items\":" RULE "}";
