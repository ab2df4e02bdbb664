/* Ops whose output is computed from a shape: an integer tensor, known before the step as far as the shape is. */
#include "kernels/shape_rules.h"

#include <inttypes.h>

/* Stores an integer as an element of the output's dtype. */
static struct dfg_err *store_int(struct dfg_tensor *out, int64_t e, int64_t value)
{
	if (out->dtype == DFG_I64) {
		((int64_t *)out->data)[e] = value;
		return NULL;
	}
	if (value > INT32_MAX)
		return DFG_ERR(DFG_DATA, "%" PRId64 " is too large for i32: use out_type = i64", value);
	((int32_t *)out->data)[e] = (int32_t)value;
	return NULL;
}

static struct dfg_err *shape_shape(struct dfg_infer *node)
{
	for (int i = 0; i < node->call->n_out; i++)
		node->out[i] = DFG_SHAPE_VECTOR(node->in[i]->rank < 0 ? DFG_UNKNOWN : node->in[i]->rank);
	return NULL;
}

static struct dfg_err *shape_known(struct dfg_infer *node)
{
	for (int i = 0; i < node->call->n_out; i++) {
		struct dfg_known_value *known;
		DFG_TRY(dfg_known_new(node, i, 1, node->in[i]->rank, &known));
		for (int d = 0; known && d < node->in[i]->rank; d++)
			if (node->in[i]->dim[d] >= 0)
				known->v[d] = node->in[i]->dim[d];
	}
	return NULL;
}

static struct dfg_err *shape_run(struct dfg_kernel *ctx)
{
	for (int i = 0; i < ctx->call->n_out; i++) {
		const struct dfg_shape *shape = &ctx->in[i]->shape;
		struct dfg_tensor *out;
		DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(shape->rank), &out));
		for (int d = 0; d < shape->rank; d++)
			DFG_TRY(store_int(out, d, shape->dim[d]));
	}
	return NULL;
}

const struct dfg_op dfg_op_Shape = {
	.name = "Shape",
	.doc = "the dimensions of input, as a vector",
	.sig = "<T: type, out_type: index = i32>(input: T) -> (output: out_type)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.means = DFG_MEANS_OF_SHAPE,
	.shape = shape_shape,
	.known = shape_known,
	.run = shape_run,
};

const struct dfg_op dfg_op_ShapeN = {
	.name = "ShapeN",
	.doc = "the dimensions of each input, as vectors",
	.sig = "<T: type, N: int, out_type: index = i32>(input: N * T) -> (output: N * out_type)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = shape_shape,
	.known = shape_known,
	.run = shape_run,
};

static struct dfg_err *scalar_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *size_known(struct dfg_infer *node)
{
	struct dfg_known_value *known;
	if (!dfg_shape_known(node->in[0]))
		return NULL;
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(node->in[0], DFG_U8, &bytes));
	DFG_TRY(dfg_known_new(node, 0, 0, 1, &known));
	known->v[0] = dfg_shape_count(node->in[0]);
	return NULL;
}

static struct dfg_err *size_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	return store_int(out, 0, dfg_shape_count(&ctx->in[0]->shape));
}

const struct dfg_op dfg_op_Size = {
	.name = "Size",
	.doc = "the number of elements of input",
	.sig = "<T: type, out_type: index = i32>(input: T) -> (output: out_type)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.means = DFG_MEANS_OF_SHAPE,
	.shape = scalar_shape,
	.known = size_known,
	.run = size_run,
};

static struct dfg_err *rank_known(struct dfg_infer *node)
{
	struct dfg_known_value *known;
	if (node->in[0]->rank < 0)
		return NULL;
	DFG_TRY(dfg_known_new(node, 0, 0, 1, &known));
	known->v[0] = node->in[0]->rank;
	return NULL;
}

static struct dfg_err *rank_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	return store_int(out, 0, ctx->in[0]->shape.rank);
}

const struct dfg_op dfg_op_Rank = {
	.name = "Rank",
	.doc = "the number of dimensions of input",
	.sig = "<T: type>(input: T) -> (output: i32)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.means = DFG_MEANS_OF_SHAPE,
	.shape = scalar_shape,
	.known = rank_known,
	.run = rank_run,
};
