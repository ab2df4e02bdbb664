#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Regular expressions with the syntax and semantics of RE2: leftmost matches, the first alternative first, over UTF-8.
 * An expression is a program for a machine that runs all its threads in parallel (Thompson 1968, Pike 1987), so that a
 * search takes time in proportion to program times text, whatever the expression. Not available: classes of Unicode
 * (\pL), single bytes (\C), and letters beyond ASCII without regard to case. A match never begins inside a character;
 * RE2's may, for \B.
 */
struct dfg_regex {
	struct dfg_regex_instruction *code;
	struct dfg_regex_range *range; /* of all sets of characters */
	size_t count, ranges, capacity[2];
	int groups;                            /* number of capturing groups */
	struct dfg_regex_threads *now, *after; /* scratch of a search */
	struct dfg_regex_entry *stack;
	int64_t *slot;
};

enum { DFG_REGEX_GROUPS = 10, DFG_REGEX_SLOTS = 2 * DFG_REGEX_GROUPS };

/* Compiles the expression; DFG_DATA if it is not one. A zeroed struct may be released, also after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_regex_init(const char *pattern, size_t length, struct dfg_regex *regex);
void dfg_regex_release(struct dfg_regex *regex);

/*
 * Searches the text from byte `from` on; what lies before it is the context of ^ and \b. out_slot: first and last byte + 1
 * of the match and of groups 1 to 9, or -1. One search at a time.
 */
bool dfg_regex_find(struct dfg_regex *regex, const char *text, size_t length, size_t from, int64_t *out_slot);

/* Whether the expression matches the whole text. */
bool dfg_regex_is_whole(struct dfg_regex *regex, const char *text, size_t length);
