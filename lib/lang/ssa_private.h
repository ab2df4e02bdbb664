#pragma once

#include "lib/lang/region_private.h"
#include "lib/lang/variable_private.h"

/*
 * The SSA form of states in branches and loops. A region that is an argument is the present one or an outer one; NULL is
 * the root.
 */

/* The value of the state where the region's text is now: of the read, or what was set last. */
DFG_MUST_CHECK struct dfg_err *dfg_view_value(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge);

/* Builds the AssignVariableOp that sets the state to the value in the present region. */
DFG_MUST_CHECK struct dfg_err *dfg_view_write(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge value, uint32_t *out_node);

/*
 * To be called before a node of the present region is built that reads or writes a state. Gives the handle as the region
 * has it and adds to *nodes, which the caller frees, the nodes of its frame that the new node must come after. After the
 * node is built the caller calls dfg_view_after().
 */
DFG_MUST_CHECK struct dfg_err *dfg_view_before(
	struct dfg_eval *eval, struct dfg_cell *cell, bool writes, struct dfg_edge *out_handle, struct dfg_nodes *nodes);
DFG_MUST_CHECK struct dfg_err *dfg_view_after(struct dfg_eval *eval, struct dfg_cell *cell, bool writes, uint32_t node);

/* The last write in the region's frame, which the region's handle does not come after yet; or DFG_NONE. */
uint32_t dfg_view_pending(const struct dfg_cell *cell, const struct dfg_region *region);

/* To be called after both arms of an `if`: merges the values and handles of the states that they access. */
DFG_MUST_CHECK struct dfg_err *dfg_view_join(struct dfg_eval *eval, struct dfg_branch *branch);

/* To be called after a loop's body: carries the values and handles of the states that the body sets. */
DFG_MUST_CHECK struct dfg_err *dfg_view_close(struct dfg_eval *eval, struct dfg_lang_loop *loop);
