#include "formats/json.h"

#include "lib/base/map.h"
#include "lib/base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *begin, *at, *end;
	struct dfg_arena *arena;
	int depth;
	const struct dfg_json_rows *rows; /* NULL: all elements are kept */
	struct dfg_json *whole;
};

static struct dfg_err *bad(const struct reader *r, const char *what)
{
	int line = 1;
	const char *start = r->begin;
	for (const char *s = r->begin; s < r->at; s++)
		if (*s == '\n')
			line++, start = s + 1;
	return DFG_ERR(DFG_DATA, "line %d, column %td: %s", line, r->at - start + 1, what);
}

static void skip_space(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

static bool take(struct reader *r, char c)
{
	skip_space(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static int hex4(const char *s)
{
	int value = 0;
	for (int i = 0; i < 4; i++) {
		int c = s[i], lower = c | 0x20;
		if (c >= '0' && c <= '9')
			value = value * 16 + c - '0';
		else if (lower >= 'a' && lower <= 'f')
			value = value * 16 + lower - 'a' + 10;
		else
			return -1;
	}
	return value;
}

/* Reads an escape after its backslash; a surrogate must be followed by its other half. */
static struct dfg_err *read_escape(struct reader *r, char **to)
{
	static const char from[] = "\"\\/bfnrt", sign[] = "\"\\/\b\f\n\r\t";
	const char *simple = r->at < r->end && *r->at ? strchr(from, *r->at) : NULL;
	if (simple) {
		*(*to)++ = sign[simple - from];
		r->at++;
		return NULL;
	}
	if (r->end - r->at < 5 || *r->at != 'u')
		return bad(r, "unknown escape");
	int code = hex4(r->at + 1);
	if (code >= 0xd800 && code < 0xdc00) {
		bool pair = r->end - r->at >= 11 && r->at[5] == '\\' && r->at[6] == 'u';
		int low = pair ? hex4(r->at + 7) : -1;
		if (low < 0xdc00 || low > 0xdfff)
			return bad(r, "incomplete surrogate pair");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		r->at += 6;
	} else if (code < 0 || (code >= 0xdc00 && code < 0xe000)) {
		return bad(r, "unknown escape");
	}
	r->at += 5;
	*to += dfg_utf8_put((uint32_t)code, *to);
	return NULL;
}

/*
 * Reads a string after its opening quote. An escape is never shorter than its character, so the text bounds the
 * result's size.
 */
static struct dfg_err *read_string(struct reader *r, const char **out_string, size_t *out_count)
{
	const char *close = r->at;
	while (close < r->end && *close != '"')
		close += *close == '\\' ? 2 : 1;
	if (close >= r->end)
		return bad(r, "the string is not closed");
	char *string = dfg_arena_zeros(r->arena, (size_t)(close - r->at) + 1, 1), *to = string;
	if (!string)
		return dfg_no_memory("the JSON text");
	while (r->at < close) {
		uint32_t code;
		size_t length = dfg_utf8_get(r->at, (size_t)(close - r->at), &code);
		if (!length)
			return bad(r, "the text is not UTF-8");
		if ((unsigned char)*r->at < 0x20)
			return bad(r, "a string contains a control character: write it as an escape such as \\n");
		if (*r->at == '\\') {
			r->at++;
			DFG_TRY(read_escape(r, &to));
			continue;
		}
		memcpy(to, r->at, length);
		to += length;
		r->at += length;
	}
	r->at++;
	*out_string = string;
	*out_count = (size_t)(to - string);
	return NULL;
}

static size_t digits(const char *s, const char *end)
{
	size_t n = 0;
	while (s + n < end && s[n] >= '0' && s[n] <= '9')
		n++;
	return n;
}

/* Length of the number at s by the grammar, 0 if there is none; *out_whole: it has no fraction and no exponent. */
static size_t number_length(const char *s, const char *end, bool *out_whole)
{
	const char *at = s + (s < end && *s == '-');
	size_t n = digits(at, end);
	*out_whole = true;
	if (!n || (n > 1 && *at == '0'))
		return 0;
	at += n;
	if (at < end && *at == '.') {
		*out_whole = false;
		if (!(n = digits(at + 1, end)))
			return 0;
		at += n + 1;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		*out_whole = false;
		at++;
		at += at < end && (*at == '+' || *at == '-');
		if (!(n = digits(at, end)))
			return 0;
		at += n;
	}
	return (size_t)(at - s);
}

static struct dfg_err *read_number(struct reader *r, struct dfg_json *value)
{
	char word[400];
	size_t length = number_length(r->at, r->end, &value->whole);
	if (!length)
		return bad(r, "expected a JSON value");
	if (length >= sizeof word)
		return bad(r, "a number has too many digits");
	memcpy(word, r->at, length);
	word[length] = '\0';
	value->kind = DFG_JSON_NUMBER;
	value->number = strtod(word, NULL);
	errno = 0;
	value->is_natural = value->whole && word[0] != '-';
	if (value->is_natural)
		value->natural = strtoull(word, NULL, 10);
	value->is_natural = value->is_natural && !errno;
	errno = 0;
	if (value->whole)
		value->integer = strtoll(word, NULL, 10);
	value->whole = value->whole && !errno;
	r->at += length;
	return NULL;
}

static struct dfg_err *read_word(struct reader *r, struct dfg_json *value)
{
	static const struct {
		const char *word;
		enum dfg_json_kind kind;
		bool truth;
	} words[] = {{"null", DFG_JSON_NULL, false}, {"true", DFG_JSON_BOOL, true}, {"false", DFG_JSON_BOOL, false}};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t length = strlen(words[i].word);
		if ((size_t)(r->end - r->at) >= length && !memcmp(r->at, words[i].word, length)) {
			value->kind = words[i].kind;
			value->truth = words[i].truth;
			r->at += length;
			return NULL;
		}
	}
	return read_number(r, value);
}

static struct dfg_err *read_value(struct reader *r, struct dfg_json *value);

static struct dfg_err *read_key(struct reader *r, struct dfg_map *keys, struct dfg_json *member)
{
	size_t length;
	uint32_t number;
	bool new;
	if (!take(r, '"'))
		return bad(r, "expected a key in quotes");
	const char *start = r->at;
	DFG_TRY(read_string(r, &member->key, &length));
	if (memchr(member->key, 0, length)) {
		r->at = start;
		return bad(r, "zero character in a key");
	}
	if (!dfg_map_put(keys, member->key, length, &number, &new))
		return dfg_no_memory("the JSON text");
	if (!new) {
		r->at = start;
		return bad(r, "duplicate key");
	}
	return take(r, ':') ? NULL : bad(r, "expected ':'");
}

/* Reads the elements of the long list; each reuses the same memory. */
static struct dfg_err *read_rows(struct reader *r, struct dfg_json *list)
{
	struct dfg_arena row = {.limit = r->arena->limit}, *arena = r->arena;
	struct dfg_err *err = NULL;
	list->kind = DFG_JSON_ARRAY;
	r->depth++;
	bool more = !take(r, ']');
	for (r->arena = &row; more && !err; list->count++) {
		struct dfg_json element = {0};
		dfg_arena_reset(&row);
		err = read_value(r, &element);
		if (!err)
			err = r->rows->see(r->rows->arg, r->whole, &element, list->count);
		if (!err && !(more = take(r, ',')) && !take(r, ']'))
			err = bad(r, "expected ',' or ']'");
	}
	r->depth--;
	r->arena = arena;
	dfg_arena_release(&row);
	return err;
}

static bool has_rows(struct reader *r, const struct dfg_json *member)
{
	return r->rows && r->depth == 1 && !strcmp(member->key, r->rows->key) && take(r, '[');
}

/* Reads elements after the opening bracket. keys is NULL in an array. */
static struct dfg_err *read_elements(struct reader *r, char close, struct dfg_map *keys, struct dfg_json *value)
{
	struct dfg_json **last = &value->first;
	if (take(r, close))
		return NULL;
	do {
		struct dfg_json *element = *last = dfg_arena_zeros(r->arena, 1, sizeof *element);
		if (!element)
			return dfg_no_memory("the JSON text");
		if (keys)
			DFG_TRY(read_key(r, keys, element));
		DFG_TRY(keys && has_rows(r, element) ? read_rows(r, element) : read_value(r, element));
		value->count++;
		last = &element->next;
	} while (take(r, ','));
	return take(r, close) ? NULL : bad(r, close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
}

static struct dfg_err *read_value(struct reader *r, struct dfg_json *value)
{
	if (take(r, '"')) {
		value->kind = DFG_JSON_STRING;
		return read_string(r, &value->string, &value->count);
	}
	bool object = take(r, '{');
	if (!object && !take(r, '['))
		return read_word(r, value);
	if (r->depth == DFG_JSON_DEPTH)
		return bad(r, "nested deeper than 64");
	struct dfg_map keys = {0};
	r->depth++;
	value->kind = object ? DFG_JSON_OBJECT : DFG_JSON_ARRAY;
	struct dfg_err *err = read_elements(r, object ? '}' : ']', object ? &keys : NULL, value);
	r->depth--;
	dfg_map_release(&keys);
	return err;
}

struct dfg_err *dfg_json_read_rows(const void *text, size_t length, const struct dfg_json_rows *rows,
	struct dfg_arena *arena, struct dfg_json **out_value)
{
	struct reader r = {.begin = text, .at = text, .end = (const char *)text + length, .arena = arena, .rows = rows};
	*out_value = r.whole = dfg_arena_zeros(arena, 1, sizeof **out_value);
	if (!*out_value)
		return dfg_no_memory("the JSON text");
	DFG_TRY(read_value(&r, *out_value));
	skip_space(&r);
	return r.at == r.end ? NULL : bad(&r, "unexpected text after the value");
}

struct dfg_err *dfg_json_read(const void *text, size_t length, struct dfg_arena *arena, struct dfg_json **out_value)
{
	return dfg_json_read_rows(text, length, NULL, arena, out_value);
}

const char *dfg_json_kind_name(enum dfg_json_kind kind)
{
	static const char *const names[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};
	return names[kind];
}

const struct dfg_json *dfg_json_get(const struct dfg_json *object, const char *key)
{
	if (!object || object->kind != DFG_JSON_OBJECT)
		return NULL;
	for (const struct dfg_json *member = object->first; member; member = member->next)
		if (!strcmp(member->key, key))
			return member;
	return NULL;
}

struct dfg_err *dfg_json_need(
	const struct dfg_json *object, const char *key, enum dfg_json_kind kind, const struct dfg_json **out_member)
{
	*out_member = dfg_json_get(object, key);
	if (!*out_member)
		return DFG_ERR(DFG_DATA, "no \"%s\"", key);
	if ((*out_member)->kind != kind)
		return DFG_ERR(
			DFG_DATA, "\"%s\" is %s, not %s", key, dfg_json_kind_name((*out_member)->kind), dfg_json_kind_name(kind));
	if (kind == DFG_JSON_STRING && strlen((*out_member)->string) != (*out_member)->count)
		return DFG_ERR(DFG_DATA, "\"%s\" contains a zero character", key);
	return NULL;
}

struct dfg_err *dfg_json_need_size(const struct dfg_json *object, const char *key, uint64_t *out_size)
{
	const struct dfg_json *member;
	DFG_TRY(dfg_json_need(object, key, DFG_JSON_NUMBER, &member));
	if (!member->whole || member->integer < 0)
		return DFG_ERR(DFG_DATA, "\"%s\" is %.15g, but must be an integer of at least 0", key, member->number);
	*out_size = (uint64_t)member->integer;
	return NULL;
}
