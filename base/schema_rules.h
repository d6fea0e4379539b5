/*
 * What schema_check.c, its keywords and schema_self.c share: the state of one
 * check, the place in the value where it is, and the table of keywords. For
 * these files only; everybody else uses base/schema_check.h.
 */
#ifndef BASE_SCHEMA_RULES_H
#define BASE_SCHEMA_RULES_H

#include "base/map.h"
#include "base/schema_check.h"

/* Where in the value: a chain on the stack, from the member to the root. */
struct schema_spot {
	const struct schema_spot *up; /* NULL at the root */
	struct json key; /* name of a member; JSON_NONE: item `index` */
	size_t index;
	unsigned depth;
	struct json value;
};

/* What is wrong, said without an error's fixed form, so that anyOf can choose
 * among the faults of its branches. */
struct schema_fault {
	char path[256];
	char text[400];
	struct json where;
	unsigned depth;
};

struct schema_checker {
	struct json root; /* the whole schema, for $ref */
	size_t work;      /* units left */
	unsigned nest;    /* schemas entered */
	bool stopped;     /* a limit was passed: the fault says which */
	struct schema_fault fault; /* of the last rule that returned false */
	struct map refs; /* $ref (address of its text) -> struct json, owned */
	struct map patterns; /* the same -> struct pattern, owned */
	struct buf text;     /* the string being looked at, decoded */
};

/* What kind of value a keyword has, for schema_self.c. */
enum schema_shape {
	SCHEMA_SHAPE_ANY,
	SCHEMA_SHAPE_SCHEMA,
	SCHEMA_SHAPE_SCHEMAS,     /* array of schemas */
	SCHEMA_SHAPE_SCHEMA_MAP,  /* object of schemas */
	SCHEMA_SHAPE_PATTERN_MAP, /* the same; the names are expressions */
	SCHEMA_SHAPE_NUMBER,
	SCHEMA_SHAPE_DIVISOR, /* number above 0 */
	SCHEMA_SHAPE_COUNT,   /* integer from 0 */
	SCHEMA_SHAPE_BOOL,
	SCHEMA_SHAPE_TYPES,
	SCHEMA_SHAPE_NAMES,     /* array of strings */
	SCHEMA_SHAPE_NAMES_MAP, /* object of arrays of strings */
	SCHEMA_SHAPE_VALUES,    /* array of anything */
	SCHEMA_SHAPE_PATTERN,
	SCHEMA_SHAPE_REF,
	SCHEMA_SHAPE_ID,      /* allowed at the root only */
	SCHEMA_SHAPE_REFUSED, /* not applied here */
};

/* Does the value at `spot` keep to the keyword, whose value is `arg` and which
 * stands in `schema`? On false the checker's fault is set. */
typedef bool schema_rule(struct schema_checker *c,
    const struct schema_spot *spot, struct json schema, struct json arg);

struct schema_keyword {
	const char *name;
	enum schema_shape shape;
	bool in_place;  /* its schemas see the same value */
	unsigned types; /* SCHEMA_ON(JSON_…) of the values that it judges */
	schema_rule *rule; /* NULL: read by another keyword, or no rule */
};

#define SCHEMA_ON(type) (1u << (type))

/* NULL for names that are no keyword. */
const struct schema_keyword *schema_keyword_find(struct json name);

void schema_checker_init(struct schema_checker *c, struct json root);
void schema_checker_release(struct schema_checker *c);
/* Takes units off the work that is left; false (and stopped) past the end. */
bool schema_spend(struct schema_checker *c, size_t units);
bool schema_stop(struct schema_checker *c, const char *why);
/* Sets the fault; returns false. */
bool schema_fault(struct schema_checker *c, const struct schema_spot *spot,
    struct json where, const char *fmt, ...) PRINTF(4, 5);
/* Writes the fault as an error; returns -1. */
int schema_fault_err(const struct schema_checker *c, struct err *err);

/* Does the value at `spot` fit `schema`? */
bool schema_fits(struct schema_checker *c, const struct schema_spot *spot,
    struct json schema);
/* Member of an object by a name that may hold anything; JSON_NONE if missing.
 * ret_key (may be NULL) gets the name as it stands there. */
struct json schema_member(struct schema_checker *c, struct json object,
    struct json name, struct json *ret_key);
/* The same for a keyword beside another one. */
struct json schema_beside(
    struct schema_checker *c, struct json schema, const char *keyword);
/* 1 or 0; -1 when stopped. An expression that is none matches nothing. */
int schema_pattern(
    struct schema_checker *c, struct json pattern, struct json string);
/* The schema that a $ref means, or JSON_NONE. */
struct json schema_ref(struct schema_checker *c, struct json ref);

/* The row of a name of `type` ("string", …); -1 for others. */
int schema_type_row(struct json name);

/* A value in a few bytes, for people: a long text cut,
 * "an object", "an array". */
#define SCHEMA_PREVIEW 64
const char *schema_preview(struct json value, char text[SCHEMA_PREVIEW]);
/* Names or values of an array, or the names of an object, "a, b, c"; names
 * without quotes. Ends in "…" when the buffer is full. */
void schema_list(struct json value, struct buf *out);

/* ---- rules that look at one value: schema_rules.c ---- */
schema_rule schema_on_type, schema_on_enum, schema_on_const;
schema_rule schema_on_minimum, schema_on_maximum, schema_on_exclusive_minimum;
schema_rule schema_on_exclusive_maximum, schema_on_multiple_of;
schema_rule schema_on_length, schema_on_pattern, schema_on_items_count;
schema_rule schema_on_unique_items, schema_on_members_count;
schema_rule schema_on_required, schema_on_dependent_required;

/* ---- rules that apply other schemas: schema_nest.c ---- */
schema_rule schema_on_properties, schema_on_pattern_properties;
schema_rule schema_on_additional_properties, schema_on_property_names;
schema_rule schema_on_dependent_schemas, schema_on_prefix_items;
schema_rule schema_on_items, schema_on_contains, schema_on_all_of;
schema_rule schema_on_any_of, schema_on_one_of, schema_on_not, schema_on_if;
schema_rule schema_on_ref;

#endif
