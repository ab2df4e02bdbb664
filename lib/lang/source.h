#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* A text of the language and the name that messages give it. Places in it are offsets. */
struct dfg_source {
	const char *path;
	const char *text; /* ends in 0, which is not counted */
	uint32_t length;
	bool library; /* embedded: a mistake found in it is shown where the user's text called it */
};

enum { DFG_SOURCE_MAX = 1 << 26 }; /* bytes */

/*
 * "FILE:LINE:COL: error: what", the line, a caret under the column. Columns are bytes, from 1.
 *
 *     net.dfg:4:12: error: cannot multiply [?,784] by [100,10]
 *         h = x @ w
 *               ^
 */
DFG_MUST_CHECK struct dfg_err *dfg_source_err(
	const struct dfg_source *source, uint32_t at, enum dfg_code code, const char *what);

/* The same of a warning: whoever asked for warnings is given its words. */
DFG_MUST_CHECK struct dfg_err *dfg_source_warning(const struct dfg_source *source, uint32_t at, const char *what);

/* Line and column of the place, from 1. */
void dfg_source_place(const struct dfg_source *source, uint32_t at, uint32_t *out_line, uint32_t *out_column);
