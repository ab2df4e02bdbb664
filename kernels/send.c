#include "lib/graph/kernel.h"

/*
 * The two ends of an edge that was cut between devices. The executor runs both, by role. The attribute `_dfg_edge` is
 * their number in the plan. If a control input is dead, there is nothing to send or to receive.
 */
#define WHERE                                                                                            \
	"tensor_name: string", "send_device: string", "send_device_incarnation: int", "recv_device: string", \
		"client_terminated: bool = false"

static struct dfg_err *send_shape(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

static struct dfg_err *recv_shape(struct dfg_infer *node)
{
	const int shape = 5;
	node->out[0] = *node->call->attr[shape].shape;
	return NULL;
}

const struct dfg_op dfg_op__Send = {
	.name = "_Send",
	.doc = "sends the tensor, or the fact that it is dead, to the device of its _Recv",
	.sig = "<T: type>(tensor: T) -> ()",
	.attr = {WHERE},
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.role = DFG_SEND,
	.shape = send_shape,
};

const struct dfg_op dfg_op__Recv = {
	.name = "_Recv",
	.doc = "the tensor that its _Send sends; dead if the tensor is",
	.sig = "<tensor_type: type>() -> (tensor: tensor_type)",
	.attr = {WHERE, "_dfg_shape: shape = ?"},
	.flags = DFG_STATEFUL | DFG_BLOCKING | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.role = DFG_RECV,
	.shape = recv_shape,
};
