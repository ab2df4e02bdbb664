#include "lib/graph/kernel.h"

/* A delay, for measurements and tests. The executor runs it, by role, and no thread waits for it. */

static struct dfg_err *sleep_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	node->out_holds[0] = node->in_holds[0];
	return NULL;
}

const struct dfg_op dfg_op_Dfg_Sleep = {
	.name = "Dfg>Sleep",
	.doc = "x after a delay of ms milliseconds",
	.sig = "<T: type>(x: T) -> (y: T)",
	.attr = {"ms: int >= 0"},
	.flags = DFG_STATEFUL | DFG_BLOCKING | DFG_ANY_RANK,
	.role = DFG_SLEEP,
	.shape = sleep_shape,
	.gradient = "dx = dy",
};
