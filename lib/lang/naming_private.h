#pragma once

#include "lib/base/map.h"
#include "lib/graph/build.h"

/* Names of the nodes of a program. */

struct dfg_eval;

/* The rule by which a node of a program gets its final name. */
struct dfg_naming {
	enum dfg_naming_kind {
		DFG_NAME_KEPT,  /* the name that the node was built with */
		DFG_NAME_NONE,  /* SCOPE/OP, SCOPE/OP.1, ... in the order of the nodes */
		DFG_NAME_BOUND, /* the name that its value was bound to, if it is the last node of that name */
		DFG_NAME_EXACT, /* the declared name */
	} kind;
	const char *path; /* the name without a number; borrowed from the arena */
};

/* How often each name was used, so that the next one is NAME.1, NAME.2, ... A zeroed struct is empty. */
struct dfg_name_counter {
	struct dfg_map map;
	uint32_t *used;
	size_t capacity;
};

/* Counts one use of the name and gives NAME the first time, then NAME.1, NAME.2, ...; in the evaluator's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_counter_next(
	struct dfg_eval *eval, struct dfg_name_counter *counter, const char *name, const char **out_name);

void dfg_counter_release(struct dfg_name_counter *counter);

/* SCOPE/NAME, or the name itself if the scope is ""; in the evaluator's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_path(
	struct dfg_eval *eval, const char *scope, const char *name, const char **out_path);

/* Records how the node gets its final name. Does nothing outside of a program. */
DFG_MUST_CHECK struct dfg_err *dfg_naming_note(
	struct dfg_eval *eval, uint32_t node, enum dfg_naming_kind kind, const char *path);

/* Records that the node's value is bound to the name; a declared name (DFG_NAME_EXACT) stays. */
DFG_MUST_CHECK struct dfg_err *dfg_bind_node(struct dfg_eval *eval, uint32_t node, const char *path);

/* Copies the program's nodes into the empty graph, each under its final name. */
DFG_MUST_CHECK struct dfg_err *dfg_name_nodes(struct dfg_eval *eval, struct dfg_graph *out_graph);
