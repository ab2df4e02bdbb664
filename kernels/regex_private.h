#pragma once

#include "kernels/regex.h"
#include "lib/base/utf8.h"

#include <string.h>

/* The program of a regular expression. Distances of jumps are relative, so that code can be moved and copied. */
enum dfg_regex_code {
	DFG_REGEX_SET,   /* a character of ranges [first, first + count) */
	DFG_REGEX_SPLIT, /* continue at +first, or else at +second: in this order of preference */
	DFG_REGEX_JUMP,  /* continue at +first */
	DFG_REGEX_SAVE,  /* the position in the text goes to slot `first` */
	DFG_REGEX_TEXT_BEGIN,
	DFG_REGEX_TEXT_END,
	DFG_REGEX_LINE_BEGIN,
	DFG_REGEX_LINE_END,
	DFG_REGEX_WORD_EDGE,
	DFG_REGEX_NO_WORD_EDGE,
	DFG_REGEX_MATCH,
};

struct dfg_regex_instruction {
	enum dfg_regex_code code;
	int first, second;
};

/* Characters [low, high]. The ranges of a set are sorted. */
struct dfg_regex_range {
	uint32_t low, high;
};

/* Threads in order of preference: a sparse set (Briggs and Torczon 1993) of program counters, each with its slots. */
struct dfg_regex_threads {
	uint32_t *place, *pc;
	size_t count;
	int64_t *slot;
};

/* Work of a walk along jumps: a program counter, or a slot to be restored. */
struct dfg_regex_entry {
	int64_t pc; /* negative: restore slot -1 - pc */
	int64_t value;
};

/* Limits of the compiler, and the last character of Unicode. */
enum {
	DFG_REGEX_DEPTH_MOST = 1000,
	DFG_REGEX_CODE_MOST = 1 << 16,
	DFG_REGEX_REPEAT_MOST = 1000,
	DFG_REGEX_LAST = 0x10ffff
};

enum { DFG_REGEX_FOLD = 1, DFG_REGEX_MULTILINE = 2, DFG_REGEX_DOT_ALL = 4, DFG_REGEX_SWAP_GREED = 8 };

struct dfg_regex_compiler {
	struct dfg_regex *regex;
	const char *pattern;
	size_t length, at;
	unsigned flags;
	int depth;
	struct dfg_regex_range *range; /* the set that is being read */
	size_t ranges, capacity;
};

DFG_MUST_CHECK static inline struct dfg_err *dfg_regex_wrong(const struct dfg_regex_compiler *c, const char *what)
{
	return DFG_ERR(DFG_DATA, "regular expression: %s at byte %zu", what, c->at);
}

static inline bool dfg_regex_is_end(const struct dfg_regex_compiler *c)
{
	return c->at >= c->length;
}

static inline bool dfg_regex_next_is(const struct dfg_regex_compiler *c, const char *text)
{
	size_t n = strlen(text);
	return c->length - c->at >= n && !memcmp(c->pattern + c->at, text, n);
}

static inline bool dfg_regex_take(struct dfg_regex_compiler *c, const char *text)
{
	bool is = dfg_regex_next_is(c, text);
	c->at += is ? strlen(text) : 0;
	return is;
}

DFG_MUST_CHECK static inline struct dfg_err *dfg_regex_character(struct dfg_regex_compiler *c, uint32_t *out_code)
{
	size_t size = dfg_regex_is_end(c) ? 0 : dfg_utf8_get(c->pattern + c->at, c->length - c->at, out_code);
	if (!size)
		return dfg_regex_wrong(c, dfg_regex_is_end(c) ? "unexpected end" : "invalid UTF-8");
	c->at += size;
	return NULL;
}

/* Adds characters to the set that is being read; with the other case of letters under the flag i. */
DFG_MUST_CHECK struct dfg_err *dfg_regex_add(struct dfg_regex_compiler *c, uint32_t low, uint32_t high);
DFG_MUST_CHECK struct dfg_err *dfg_regex_add_folded(struct dfg_regex_compiler *c, uint32_t low, uint32_t high);

/* Sorts the ranges from number `from` on and joins those that touch. */
void dfg_regex_tidy(struct dfg_regex_compiler *c, size_t from);

/* Reads \d, \D, [:alpha:], [:^alpha:] and so on into the set; *out_read: there was one. */
DFG_MUST_CHECK struct dfg_err *dfg_regex_class(struct dfg_regex_compiler *c, bool in_brackets, bool *out_read);

/* Reads a class after its [ into the set. */
DFG_MUST_CHECK struct dfg_err *dfg_regex_brackets(struct dfg_regex_compiler *c);

/* The character after a backslash. */
DFG_MUST_CHECK struct dfg_err *dfg_regex_escape(struct dfg_regex_compiler *c, uint32_t *out_code);
