#pragma once

#include "formats/array.h"
#include "formats/graphdef.h"
#include "lib/base/text.h"

/* Compares by meaning and value, and says in words where two things differ, a line each, the first `most` of them. */
struct dfg_differ {
	double rtol, atol; /* floats a and b are the same where |a - b| <= atol + rtol * |b|; nan is nan, inf is inf */
	bool padded;       /* of files of arrays: zeros at the end of strings may be padding, and are no difference */
	size_t most;       /* lines; 0: 20 */
	size_t count;      /* differences found, those beyond `most` included */
	struct dfg_text text;
};

/*
 * Nodes by name: op, device, data inputs in order, control inputs as a set, attributes with the defaults of the op,
 * constants by value; functions by name. The order of nodes, versions and debug information are no difference.
 */
DFG_MUST_CHECK struct dfg_err *dfg_differ_graphs(
	struct dfg_differ *differ, const struct dfg_graph *a, const struct dfg_graph *b);

/* By name: dtype, shape, elements. */
DFG_MUST_CHECK struct dfg_err *dfg_differ_arrays(
	struct dfg_differ *differ, const struct dfg_arrays *a, const struct dfg_arrays *b);

/* One line at most, after "what: ". */
void dfg_differ_tensors(
	struct dfg_differ *differ, const char *what, const struct dfg_tensor *a, const struct dfg_tensor *b);

/* The same for tensors of the shape of which a and b hold the first elements: the last of these repeats. */
void dfg_differ_repeated(struct dfg_differ *differ, const char *what, const struct dfg_shape *shape,
	const struct dfg_tensor *a, const struct dfg_tensor *b);

/* A difference that was found: a line. */
void dfg_differ_say(struct dfg_differ *differ, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Releases a text that a line was made of; that it lacked memory is remembered. */
void dfg_differ_drop(struct dfg_differ *differ, struct dfg_text *part);
