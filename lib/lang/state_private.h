#pragma once

#include "lib/lang/op_private.h"
#include "lib/lang/variable_private.h"

/* The order of ops that access states. */

/* The accesses of one node: a list, the newest first. */
struct dfg_access {
	struct dfg_access *older;
	struct dfg_cell *cell;
	bool writes;
};

/*
 * To be called before the node of a call is built. Replaces the handles among *in by those of the present region, and
 * adds a control input for each node that the new one must come after: *in and node->n_control grow. *out_accesses is
 * for dfg_state_after(), which is called once the node is built.
 */
DFG_MUST_CHECK struct dfg_err *dfg_state_before(struct dfg_eval *eval, const struct dfg_arranged *arranged,
	struct dfg_edge **in, struct dfg_new_node *node, struct dfg_access **out_accesses);
DFG_MUST_CHECK struct dfg_err *dfg_state_after(struct dfg_eval *eval, const struct dfg_access *accesses, uint32_t node);
