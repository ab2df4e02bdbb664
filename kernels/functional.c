#include "lib/graph/half.h"
#include "lib/graph/kernel.h"

#include <string.h>

/*
 * Ops that call functions of the graph's library. They have no kernels: lib/pass/lower/lower.c replaces the calls
 * before a graph runs.
 */

/* The outputs' shapes by attribute output_shapes, if that has one for each. */
static struct dfg_err *claimed_shapes(struct dfg_infer *node, const struct dfg_list *claimed)
{
	for (int i = 0; i < node->call->n_out && claimed->count == node->call->n_out; i++)
		node->out[i] = *claimed->item[i].shape;
	return NULL;
}

static struct dfg_err *no_shapes(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

static struct dfg_err *branch_shapes(struct dfg_infer *node)
{
	return claimed_shapes(node, node->call->attr[2].list);
}

#define IF(Op, more)                                                                                  \
	const struct dfg_op dfg_op_##Op = {                                                               \
		.name = #Op,                                                                                  \
		.doc = "then_branch(input) where cond is true, else else_branch(input)",                      \
		.sig = "<Tcond: type, Tin: [type], Tout: [type]>(cond: Tcond, input: Tin) -> (output: Tout)", \
		.attr = {"then_branch: func", "else_branch: func", "output_shapes: list(shape) = []"},        \
		.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | (more),                                             \
		.role = DFG_CALL,                                                                             \
		.means = DFG_MEANS_CALL_IF,                                                                   \
		.shape = branch_shapes,                                                                       \
	}
IF(If, DFG_STATEFUL);
IF(StatelessIf, 0);

static struct dfg_err *case_shapes(struct dfg_infer *node)
{
	return claimed_shapes(node, node->call->attr[1].list);
}

#define CASE(Op, more)                                                                         \
	const struct dfg_op dfg_op_##Op = {                                                        \
		.name = #Op,                                                                           \
		.doc = "branches[branch_index](input); an index out of range means the last branch",   \
		.sig = "<Tin: [type], Tout: [type]>(branch_index: i32, input: Tin) -> (output: Tout)", \
		.attr = {"branches: list(func) >= 1", "output_shapes: list(shape) = []"},              \
		.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | (more),                                      \
		.role = DFG_CALL,                                                                      \
		.means = DFG_MEANS_CALL_CASE,                                                          \
		.shape = case_shapes,                                                                  \
	}
CASE(Case, DFG_STATEFUL);
CASE(StatelessCase, 0);

static struct dfg_err *while_shapes(struct dfg_infer *node)
{
	return claimed_shapes(node, node->call->attr[2].list);
}

#define WHILE(Op, more)                                                                                           \
	const struct dfg_op dfg_op_##Op = {                                                                           \
		.name = #Op,                                                                                              \
		.doc = "input, passed through body for as long as cond says",                                             \
		.sig = "<T: [type]>(input: T) -> (output: T)",                                                            \
		.attr = {"cond: func", "body: func", "output_shapes: list(shape) = []", "parallel_iterations: int = 10"}, \
		.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | (more),                                                         \
		.role = DFG_CALL,                                                                                         \
		.means = DFG_MEANS_CALL_WHILE,                                                                            \
		.shape = while_shapes,                                                                                    \
	}
WHILE(While, DFG_STATEFUL);
WHILE(StatelessWhile, 0);

#define CALL(Op, more)                                                                                         \
	const struct dfg_op dfg_op_##Op = {                                                                        \
		.name = #Op,                                                                                           \
		.doc = "f(args)",                                                                                      \
		.sig = "<Tin: [type], Tout: [type]>(args: Tin) -> (output: Tout)",                                     \
		.attr = {"f: func", "config: string = ''", "config_proto: string = ''", "executor_type: string = ''"}, \
		.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | (more),                                                      \
		.role = DFG_CALL,                                                                                      \
		.means = DFG_MEANS_CALL_FUNCTION,                                                                      \
		.shape = no_shapes,                                                                                    \
	}
CALL(PartitionedCall, 0);
CALL(StatefulPartitionedCall, DFG_STATEFUL);

/* Registered so that a graph with one can be read and shown; lower reports an error for them. */
const struct dfg_op dfg_op_SymbolicGradient = {
	.name = "SymbolicGradient",
	.doc = "the gradient of f at input, derived at run time; dfg cannot run this op",
	.sig = "<Tin: [type], Tout: [type]>(input: Tin) -> (output: Tout)",
	.attr = {"f: func"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK,
	.role = DFG_CALL,
	.means = DFG_MEANS_CALL_GRADIENT,
	.shape = no_shapes,
};

const struct dfg_op dfg_op_RemoteCall = {
	.name = "RemoteCall",
	.doc = "f(args) on the device that target names; dfg cannot run this op",
	.sig = "<Tin: [type], Tout: [type]>(target: string, args: Tin) -> (output: Tout)",
	.attr = {"f: func"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_STATEFUL,
	.role = DFG_CALL,
	.means = DFG_MEANS_CALL_REMOTE,
	.shape = no_shapes,
};

const struct dfg_op dfg_op_For = {
	.name = "For",
	.doc = "input, passed through body(i, input) for i from start to limit by delta; dfg cannot run this op",
	.sig = "<T: [type]>(start: i32, limit: i32, delta: i32, input: T) -> (output: T)",
	.attr = {"body: func"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK,
	.role = DFG_CALL,
	.means = DFG_MEANS_CALL_FOR,
	.shape = no_shapes,
};

static struct dfg_err *truth_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static bool is_true(const struct dfg_tensor *tensor)
{
	static const char zero[sizeof(double _Complex)];
	if (tensor->shape.rank)
		return dfg_shape_count(&tensor->shape) > 0;
	if (tensor->dtype == DFG_STRING)
		return ((const struct dfg_string *)tensor->data)->length > 0;
	if (dfg_is_half(tensor->dtype))
		return *(const uint16_t *)tensor->data & 0x7fff;
	if (dfg_dtype_is(tensor->dtype, "float"))
		return dfg_tensor_float(tensor, 0) != 0;
	return memcmp(tensor->data, zero, dfg_dtype_size(tensor->dtype)) != 0;
}

static struct dfg_err *truth(struct dfg_kernel *ctx)
{
	struct dfg_tensor *out;
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	if (dfg_dtype_is_handle(in->dtype))
		return DFG_ERR(DFG_DATA, "a scalar of %s is neither true nor false", dfg_dtype_name(in->dtype));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	*(bool *)out->data = is_true(in);
	return NULL;
}

const struct dfg_op dfg_op_ToBool = {
	.name = "ToBool",
	.doc = "whether a scalar is not zero and not the empty string, and whether other tensors have elements",
	.sig = "<T: type>(input: T) -> (output: bool)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = truth_shape,
	.run = truth,
};
