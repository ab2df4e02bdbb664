#pragma once

#include "lib/base/text.h"
#include "lib/pass/rewrite/keep.h"

/* The value of a variable, by the name of its node. */
struct dfg_variable_value_given {
	const char *name;
	const struct dfg_tensor *value;
};

/*
 * Makes constants of the variables that `keep` depends on, and removes all nodes on which it does not depend, the
 * initialisers among them. Each constant has the name of the variable's node. Other names and all values stay.
 *
 * Requires: no calls of functions. DFG_DATA, naming variable and node: a value is missing, or of another type; a node of
 * those that stay writes the variable, or uses its handle in a way for which there is no op on a value. O(nodes + edges).
 */
DFG_MUST_CHECK struct dfg_err *dfg_freeze(struct dfg_graph *graph, struct dfg_keep *keep,
	const struct dfg_variable_value_given *given, size_t n_given, struct dfg_arena *scratch, struct dfg_text *report);

/*
 * The opposite: float constants whose names match a pattern become trainable variables, which their values initialise.
 * pattern is NULL-terminated. DFG_DATA: a pattern matches no float constant, or one that is an output.
 */
DFG_MUST_CHECK struct dfg_err *dfg_thaw(struct dfg_graph *graph, struct dfg_keep *keep, const char *const *pattern,
	struct dfg_arena *scratch, struct dfg_text *report);
