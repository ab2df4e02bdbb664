#include "lib/graph/kernel.h"

/* Time without work, for measuring and for tests. The executor runs it, by role: no thread is held. */

static struct dfg_err *sleep_shape(struct dfg_infer *node)
{
	if (node->in[1]->rank > 0)
		return DFG_ERR(DFG_DATA, "the seconds must be a scalar, not %s", dfg_shape_words(node->in[1]).s);
	node->out[0] = *node->in[0];
	node->out_holds[0] = node->in_holds[0];
	return NULL;
}

const struct dfg_op dfg_op_Dfg_Sleep = {
	.name = "Dfg>Sleep",
	.doc = "x, so many seconds later",
	.sig = "<T: type, S: float>(x: T, seconds: S) -> (y: T)",
	.flags = DFG_STATEFUL | DFG_BLOCKING | DFG_ANY_RANK,
	.role = DFG_SLEEP,
	.shape = sleep_shape,
	.gradient = "dx = dy",
};
