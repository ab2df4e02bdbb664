#pragma once

#include "lib/base/arena.h"
#include "lib/base/text.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * JSON, read strictly (RFC 8259 and no more): UTF-8, no duplicate keys, no nesting beyond DFG_JSON_DEPTH, no text after
 * the value. Values and their strings live in the arena; the text may be freed after parsing.
 */
enum { DFG_JSON_DEPTH = 64 };

enum dfg_json_kind { DFG_JSON_NULL, DFG_JSON_BOOL, DFG_JSON_NUMBER, DFG_JSON_STRING, DFG_JSON_ARRAY, DFG_JSON_OBJECT };

struct dfg_json {
	enum dfg_json_kind kind;
	bool truth;      /* value of a bool */
	bool whole;      /* whether a number is written as an integer and fits `integer` */
	bool is_natural; /* whether it is written as an integer of at least 0 that fits `natural` */
	int64_t integer;
	uint64_t natural;
	double number;          /* value of any number */
	const char *string;     /* terminated by 0; may contain zeros, so `count` is its length */
	size_t count;           /* bytes of a string; elements of an array or object */
	struct dfg_json *first; /* first element of an array or object, in the order of the text */
	struct dfg_json *next;  /* next element of the same array or object */
	const char *key;        /* key of a member of an object: UTF-8 without zeros */
};

/* Parses JSON; DFG_DATA with line and column if it is malformed. */
DFG_MUST_CHECK struct dfg_err *dfg_json_read(
	const void *text, size_t length, struct dfg_arena *arena, struct dfg_json **out_value);

/*
 * The same for an object with one long list, the member `key`: its elements are passed to `see` one by one, with the
 * object's members before the list, and then freed. In *out_value the list has no elements.
 */
struct dfg_json_rows {
	const char *key;
	struct dfg_err *(*see)(void *arg, const struct dfg_json *object, const struct dfg_json *element, uint64_t i);
	void *arg;
};
DFG_MUST_CHECK struct dfg_err *dfg_json_read_rows(const void *text, size_t length, const struct dfg_json_rows *rows,
	struct dfg_arena *arena, struct dfg_json **out_value);

/* "an object" and so on, for messages. */
const char *dfg_json_kind_name(enum dfg_json_kind kind);

/* The member, or NULL; object may be NULL or another kind of value. */
const struct dfg_json *dfg_json_get(const struct dfg_json *object, const char *key);

/* The member, which must exist and be of that kind, a string without zeros; else DFG_DATA, naming the key. */
DFG_MUST_CHECK struct dfg_err *dfg_json_need(
	const struct dfg_json *object, const char *key, enum dfg_json_kind kind, const struct dfg_json **out_member);

/* The same for an integer of at least 0. */
DFG_MUST_CHECK struct dfg_err *dfg_json_need_size(const struct dfg_json *object, const char *key, uint64_t *out_size);

/*
 * Writes JSON in order and without spaces to `text` (zero-initialised: empty). Commas are added automatically:
 *
 *     dfg_json_open(&out, '{'), dfg_json_key(&out, "shape"), dfg_json_open(&out, '['), dfg_json_int(&out, 3), ...
 */
struct dfg_json_out {
	struct dfg_text text;
	bool comma; /* whether a comma is due before the next key or value */
};
void dfg_json_open(struct dfg_json_out *out, char bracket);  /* '{' or '[' */
void dfg_json_close(struct dfg_json_out *out, char bracket); /* '}' or ']' */
void dfg_json_key(struct dfg_json_out *out, const char *key);
void dfg_json_null(struct dfg_json_out *out);
void dfg_json_bool(struct dfg_json_out *out, bool value);
void dfg_json_int(struct dfg_json_out *out, int64_t value);
void dfg_json_uint(struct dfg_json_out *out, uint64_t value);

/* The shortest decimal that reads back as the same bits; "NaN", "Infinity" and "-Infinity" as strings. */
void dfg_json_f32(struct dfg_json_out *out, float value);
void dfg_json_f64(struct dfg_json_out *out, double value);

/*
 * A byte that is not UTF-8 is written as the character of that code (\u00ff). Characters that would steer a terminal are
 * escaped.
 */
void dfg_json_bytes(struct dfg_json_out *out, const void *bytes, size_t count);
void dfg_json_string(struct dfg_json_out *out, const char *string);

/* Adds the comma that is due; the caller then appends a value to out->text. */
void dfg_json_raw(struct dfg_json_out *out);
