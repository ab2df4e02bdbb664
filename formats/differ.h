#pragma once

#include "formats/array.h"
#include "formats/graphdef.h"
#include "lib/base/text.h"

/* Compares by meaning and value, and describes the first `most` differences, one per line. */
struct dfg_differ {
	double rtol, atol; /* floats a and b are equal if |a - b| <= atol + rtol * |b|; nan equals nan, inf equals inf */
	bool padded;       /* for array files: trailing zeros of strings may be padding and are ignored */
	size_t most;       /* maximal number of lines; 0: 20 */
	size_t count;      /* number of differences, including those beyond `most` */
	struct dfg_text text;
};

/*
 * Compares nodes by name: op, device, data inputs in order, control inputs as a set, attributes with the op's defaults,
 * constants by value; and functions by name. The order of nodes, versions and debug information are ignored.
 */
DFG_MUST_CHECK struct dfg_err *dfg_differ_graphs(
	struct dfg_differ *differ, const struct dfg_graph *a, const struct dfg_graph *b);

/* Compares arrays by name: dtype, shape, elements. */
DFG_MUST_CHECK struct dfg_err *dfg_differ_arrays(
	struct dfg_differ *differ, const struct dfg_arrays *a, const struct dfg_arrays *b);

/* Adds at most one line, after "what: ". */
void dfg_differ_tensors(
	struct dfg_differ *differ, const char *what, const struct dfg_tensor *a, const struct dfg_tensor *b);

/* The same for tensors of the given shape whose first elements a and b hold; the last of these repeats. */
void dfg_differ_repeated(struct dfg_differ *differ, const char *what, const struct dfg_shape *shape,
	const struct dfg_tensor *a, const struct dfg_tensor *b);

/* Adds a line for a difference. */
void dfg_differ_say(struct dfg_differ *differ, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Releases a text used for a line; if it ran out of memory, the differ records that. */
void dfg_differ_drop(struct dfg_differ *differ, struct dfg_text *part);
