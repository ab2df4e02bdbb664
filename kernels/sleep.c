#include "lib/graph/kernel.h"

/* Time without work, for measuring and for tests. The executor runs it, by role: no thread is held. */

static struct dfg_err *sleep_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	node->out_holds[0] = node->in_holds[0];
	return NULL;
}

const struct dfg_op dfg_op_Dfg_Sleep = {
	.name = "Dfg>Sleep",
	.doc = "x, ms milliseconds later",
	.sig = "<T: type>(x: T) -> (y: T)",
	.attr = {"ms: int >= 0"},
	.flags = DFG_STATEFUL | DFG_BLOCKING | DFG_ANY_RANK,
	.role = DFG_SLEEP,
	.shape = sleep_shape,
	.gradient = "dx = dy",
};
