#include "lib/graph/kernel.h"

/*
 * The tape: a loop's gradient reads values of the loop's iterations through a pair of ops. Save stores a value under
 * the indices of the loops around it, outermost first; Load, anywhere in the region, reads it by the same indices, and
 * waits until it is stored. The region is an iteration of the frame that is as many levels above the Save's as there
 * are keys: the innermost one that contains both. The edge between them identifies the Save and carries no token; it
 * may leave a frame without Exit and Enter. A live Save defines its key, once; a dead one defines nothing. The executor
 * runs both, by role.
 */

/* Like a variable's handle, the edge has the dtype and shape of the value. */
static struct dfg_err *save_shape(struct dfg_infer *node)
{
	struct dfg_handle_type *holds = dfg_arena_zeros(node->arena, 1, sizeof *holds);
	if (!holds)
		return dfg_no_memory("the type of a saved value");
	*holds = (struct dfg_handle_type){node->call->param[0].dtype, *node->in[0], NULL};
	node->out[0] = DFG_SHAPE_SCALAR;
	node->out_holds[0] = holds;
	return NULL;
}

static struct dfg_err *load_shape(struct dfg_infer *node)
{
	const struct dfg_handle_type *holds = node->in_holds[0];
	enum dfg_dtype dtype = node->call->param[0].dtype;
	if (!holds)
		return NULL;
	if (holds->dtype != dtype)
		return DFG_ERR(
			DFG_DATA, "loads %s, but the saved value is %s", dfg_dtype_name(dtype), dfg_dtype_name(holds->dtype));
	node->out[0] = holds->shape;
	return NULL;
}

#define PARAMETERS "<T: type, N: int >= 0, K: index>"

const struct dfg_op dfg_op_Dfg_Save = {
	.name = "Dfg>Save",
	.doc = "stores x under keys, the numbers of the current iterations of loops, for a Load with these keys",
	.sig = PARAMETERS "(x: T, keys: N * K) -> (stored: variant)",
	.flags = DFG_STATEFUL | DFG_ANY_RANK,
	.role = DFG_SAVE,
	.shape = save_shape,
};

const struct dfg_op dfg_op_Dfg_Load = {
	.name = "Dfg>Load",
	.doc = "the value that the Save stored under these keys; waits until it is stored",
	.sig = PARAMETERS "(stored: variant, keys: N * K) -> (x: T)",
	.flags = DFG_STATEFUL | DFG_ANY_RANK,
	.role = DFG_LOAD,
	.shape = load_shape,
};
