#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* A text of the language. Places in it are offsets in bytes. */
struct dfg_source {
	const char *path;
	const char *text; /* ends in a 0 that .length does not count */
	uint32_t length;
	bool library; /* part of the embedded library: an error in it is reported at the call in the user's text */
};

enum { DFG_SOURCE_MAX = 1 << 26 }; /* bytes */

/* The path for a message: at most as much as an error holds, line breaks as \n. */
struct dfg_source_words {
	char s[1000];
};
struct dfg_source_words dfg_source_words(const struct dfg_source *source);

/*
 * "FILE:LINE:COL: error: what", the line, a caret under the column. Columns are bytes, from 1.
 *
 *     net.dfg:4:12: error: cannot multiply [?,784] by [100,10]
 *         h = x @ w
 *               ^
 */
DFG_MUST_CHECK struct dfg_err *dfg_source_err(
	const struct dfg_source *source, uint32_t at, enum dfg_code code, const char *what);

/* The same for a warning; the caller passes its text on. */
DFG_MUST_CHECK struct dfg_err *dfg_source_warning(const struct dfg_source *source, uint32_t at, const char *what);

/* Line and column of the location, from 1. */
void dfg_source_location(const struct dfg_source *source, uint32_t at, uint32_t *out_line, uint32_t *out_column);
