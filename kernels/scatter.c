/* Elements or rows stored at indices: in zeros, or in a copy of a tensor. */
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"

#include <inttypes.h>
#include <string.h>

/* The targets of updates. indices is [..., depth]; an update has the dimensions of the output after the first depth. */
struct scatter {
	const struct dfg_tensor *indices, *updates;
	struct dfg_tensor *out;
	int depth;
	int64_t count, inner;
	bool ignore; /* skip indices outside the output instead of an error */
};

/* Combines a row of n elements with the output's. NULL: copied as bytes. */
typedef void put_row(int64_t n, void *out, const void *in);

/* The updates must have the shape of the indices without the last dimension, followed by that of a row. */
static struct dfg_err *check_updates(
	const struct dfg_shape *indices, const struct dfg_shape *updates, const struct dfg_shape *whole)
{
	if (indices->rank < 0 || updates->rank < 0 || whole->rank < 0)
		return NULL;
	int64_t depth = indices->rank ? indices->dim[indices->rank - 1] : 0;
	if (!indices->rank || depth > whole->rank)
		return DFG_ERR(DFG_DATA, "indices have shape %s: their last dimension must be at most the rank of %s",
			dfg_shape_words(indices).s, dfg_shape_words(whole).s);
	if (depth < 0)
		return NULL;
	struct dfg_shape wanted = {.rank = indices->rank - 1 + whole->rank - (int)depth};
	if (wanted.rank <= DFG_RANK_MAX)
		for (int d = 0; d < wanted.rank; d++)
			wanted.dim[d] = d < indices->rank - 1 ? indices->dim[d] : whole->dim[d - (indices->rank - 1) + depth];
	if (wanted.rank > DFG_RANK_MAX || !dfg_shape_fits(&wanted, updates))
		return DFG_ERR(DFG_DATA,
			"updates have shape %s, which does not fit indices of shape %s into a tensor of shape %s",
			dfg_shape_words(updates).s, dfg_shape_words(indices).s, dfg_shape_words(whole).s);
	return NULL;
}

static struct dfg_err *place_of(const struct scatter *s, int64_t i, int64_t *out_row)
{
	*out_row = 0;
	for (int d = 0; d < s->depth; d++) {
		int64_t index = dfg_tensor_int(s->indices, i * s->depth + d);
		if (index < 0 || index >= s->out->shape.dim[d]) {
			*out_row = -1;
			return s->ignore ? NULL
							 : DFG_ERR(DFG_DATA, "indices[%" PRId64 ",%d] is %" PRId64 ", outside [0,%" PRId64 ")", i,
								   d, index, s->out->shape.dim[d]);
		}
		*out_row = *out_row * s->out->shape.dim[d] + index;
	}
	return NULL;
}

/* Applied one after another: the last of equal indices is stored, and sums have a fixed order. */
static struct dfg_err *put_all(const struct scatter *s, put_row *row_into)
{
	size_t bytes = (size_t)s->inner * dfg_dtype_size(s->out->dtype);
	for (int64_t i = 0; i < s->count; i++) {
		int64_t row;
		DFG_TRY(place_of(s, i, &row));
		char *out = (char *)s->out->data + row * (int64_t)bytes;
		const char *in = (const char *)s->updates->data + i * (int64_t)bytes;
		if (row >= 0 && row_into)
			row_into(s->inner, out, in);
		else if (row >= 0)
			memcpy(out, in, bytes);
	}
	return NULL;
}

/*
 * Updates without elements for indices that have some, or for an output without elements, are errors. Indices that are
 * a vector are an error only when the node runs: TensorFlow's gradients contain some in nodes that never run.
 */
static struct dfg_err *check_elements(const struct scatter *s)
{
	if (s->indices->shape.rank < 2)
		return DFG_ERR(
			DFG_DATA, "indices have shape %s, expected at least a matrix", dfg_shape_words(&s->indices->shape).s);
	int64_t indices = dfg_shape_count(&s->indices->shape), updates = dfg_shape_count(&s->updates->shape);
	if ((!indices && !updates) || (indices && updates && dfg_shape_count(&s->out->shape)))
		return NULL;
	return DFG_ERR(DFG_DATA, "indices have shape %s, updates %s and the output %s: only some of them have elements",
		dfg_shape_words(&s->indices->shape).s, dfg_shape_words(&s->updates->shape).s,
		dfg_shape_words(&s->out->shape).s);
}

/* Runs the op with these inputs as indices and updates. The output is allocated and has the values to be updated. */
static struct dfg_err *scatter(struct dfg_kernel *ctx, int indices, int updates, put_row *row_into)
{
	struct scatter s = {.indices = ctx->in[indices], .updates = ctx->in[updates], .out = ctx->out[0]};
	DFG_TRY(check_updates(&s.indices->shape, &s.updates->shape, &s.out->shape));
	DFG_TRY(check_elements(&s));
	int last = s.indices->shape.rank - 1;
	s.depth = (int)s.indices->shape.dim[last];
	s.count = dfg_count_between(&s.indices->shape, 0, last);
	s.inner = dfg_count_between(&s.out->shape, s.depth, s.out->shape.rank);
	s.ignore = ctx->call->attr[0].s.length == strlen("IGNORE");
	return put_all(&s, row_into);
}

#define POLICY "bad_indices_policy: string = '' in |DEFAULT|ERROR|IGNORE"

static struct dfg_err *scatter_nd_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_shape_of(node, 2, &node->out[0]));
	for (int d = 0; d < node->out[0].rank; d++)
		if (dfg_int_of(node, 2, d) == -1)
			return DFG_ERR(DFG_DATA, "dimension %d of the shape is -1, expected at least 0", d);
	return check_updates(node->in[0], node->in[1], &node->out[0]);
}

static struct dfg_err *scatter_nd(struct dfg_kernel *ctx, put_row *row_into)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	if (dfg_tensor_bytes(out))
		memset(out->data, 0, dfg_tensor_bytes(out));
	DFG_TRY(scatter(ctx, 0, 1, row_into));
	return dfg_moved(ctx, 0);
}

/* A put_row of an expression in a, the output's element, and b, the update's. */
#define PUT(NAME, name, type, number, stem, expr)                                           \
	static void put_##stem##_##name(int64_t n, void *restrict out, const void *restrict in) \
	{                                                                                       \
		for (int64_t i = 0; i < n; i++) {                                                   \
			const type a = ((const type *)out)[i], b = ((const type *)in)[i];               \
			((type *)out)[i] = (type)(expr);                                                \
		}                                                                                   \
	}
#define SCATTER_ND(NAME, name, ...)                                  \
	static struct dfg_err *scatter_nd_##name(struct dfg_kernel *ctx) \
	{                                                                \
		return scatter_nd(ctx, put_add_##name);                      \
	}
DFG_EACH_plain(PUT, add, a + b)
DFG_EACH_plain(SCATTER_ND)

static struct dfg_err *scatter_nd_string(struct dfg_kernel *ctx)
{
	return scatter_nd(ctx, NULL);
}

const struct dfg_op dfg_op_ScatterNd = {
	.name = "ScatterNd",
	.doc = "zeros of the given shape with the updates added at the indices",
	.sig = "<T: plain|string, Tindices: index|i16>(indices: Tindices, updates: T, shape: Tindices) -> (output: T)",
	.attr = {POLICY},
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = scatter_nd_shape,
	.gradient = "dupdates = GatherNd(doutput, indices)",
	.kernel = {DFG_EACH_plain(DFG_BY_DTYPE, scatter_nd)[DFG_STRING] = scatter_nd_string},
};

static struct dfg_err *tensor_scatter_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return check_updates(node->in[1], node->in[2], node->in[0]);
}

static struct dfg_err *tensor_scatter(struct dfg_kernel *ctx, put_row *row_into)
{
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &ctx->in[0]->shape, &out));
	if (out->data != ctx->in[0]->data)
		memcpy(out->data, ctx->in[0]->data, dfg_tensor_bytes(out));
	return scatter(ctx, 1, 2, row_into);
}

static struct dfg_err *tensor_scatter_update(struct dfg_kernel *ctx)
{
	DFG_TRY(tensor_scatter(ctx, NULL));
	return dfg_moved(ctx, 0);
}

const struct dfg_op dfg_op_TensorScatterUpdate = {
	.name = "TensorScatterUpdate",
	.doc = "tensor with the updates stored at the indices",
	.sig = "<T: plain|string, Tindices: index|i16|u16>(tensor: T, indices: Tindices, updates: T) -> (output: T)",
	.attr = {POLICY},
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = tensor_scatter_shape,
	.gradient =
		"dtensor = TensorScatterUpdate(doutput, indices, ZerosLike(updates))\n"
		"dupdates = GatherNd(doutput, indices)",
	.run = tensor_scatter_update,
};

#define TENSOR_SCATTER(NAME, name, type, number, stem)                            \
	static struct dfg_err *tensor_scatter_##stem##_##name(struct dfg_kernel *ctx) \
	{                                                                             \
		return tensor_scatter(ctx, put_##stem##_##name);                          \
	}
DFG_EACH_numeric(TENSOR_SCATTER, add)
DFG_EACH_numeric(PUT, sub, a - b)
DFG_EACH_numeric(TENSOR_SCATTER, sub)
DFG_EACH_number(PUT, max, a >= b || a != a ? a : b)
DFG_EACH_number(TENSOR_SCATTER, max)
DFG_EACH_number(PUT, min, a <= b || a != a ? a : b)
DFG_EACH_number(TENSOR_SCATTER, min)

#define TENSOR_SCATTER_OP(Op, types, stem, text, formula)                                                   \
	const struct dfg_op dfg_op_TensorScatter##Op = {                                                        \
		.name = "TensorScatter" #Op,                                                                        \
		.doc = text,                                                                                        \
		.sig = "<T: " #types ", Tindices: index>(tensor: T, indices: Tindices, updates: T) -> (output: T)", \
		.attr = {POLICY},                                                                                   \
		.flags = DFG_ANY_RANK | DFG_EXACT | DFG_IN_PLACE,                                                   \
		.shape = tensor_scatter_shape,                                                                      \
		.gradient = formula,                                                                                \
		.kernel = {DFG_EACH_##types(DFG_BY_DTYPE, tensor_scatter_##stem)},                                  \
	};

/* A cotangent is divided equally among the tensor's element and the updates that are equal to the output. */
#define EXTREME                                                                                 \
	"kept = Cast(Equal(tensor, output), DstT = T)\n"                                            \
	"came = Cast(Equal(updates, GatherNd(output, indices)), DstT = T)\n"                        \
	"share = doutput / (kept + ScatterNd(indices, came, Shape(tensor, out_type = Tindices)))\n" \
	"dtensor = kept * share\n"                                                                  \
	"dupdates = came * GatherNd(share, indices)"

TENSOR_SCATTER_OP(Add, numeric, add, "tensor with the updates added at the indices",
	"dtensor = doutput\ndupdates = GatherNd(doutput, indices)")
TENSOR_SCATTER_OP(Sub, numeric, sub, "tensor with the updates subtracted at the indices",
	"dtensor = doutput\ndupdates = -GatherNd(doutput, indices)")
TENSOR_SCATTER_OP(Max, number, max, "the larger of tensor and the updates at the indices", EXTREME)
TENSOR_SCATTER_OP(Min, number, min, "the smaller of tensor and the updates at the indices", EXTREME)

enum { INDICES, SHAPE, VALUES, DEFAULT };

static struct dfg_err *sparse_to_dense_shape(struct dfg_infer *node)
{
	const struct dfg_shape *indices = node->in[INDICES], *values = node->in[VALUES];
	DFG_TRY(dfg_shape_of(node, SHAPE, &node->out[0]));
	DFG_TRY(dfg_need_rank(node, DEFAULT, 0));
	if (indices->rank > 2 || values->rank > 1)
		return DFG_ERR(DFG_DATA, "indices have shape %s and values %s, expected at most a matrix and a vector",
			dfg_shape_words(indices).s, dfg_shape_words(values).s);
	if (indices->rank == 2 && node->out[0].rank >= 0 && indices->dim[1] >= 0 && indices->dim[1] != node->out[0].rank)
		return DFG_ERR(
			DFG_DATA, "indices %s do not fit a shape of %d dimensions", dfg_shape_words(indices).s, node->out[0].rank);
	if (indices->rank >= 0 && indices->rank < 2 && node->out[0].rank > 1)
		return DFG_ERR(
			DFG_DATA, "indices %s do not fit a shape of %d dimensions", dfg_shape_words(indices).s, node->out[0].rank);
	int64_t n = indices->rank > 0 ? indices->dim[0] : indices->rank == 0 ? 1 : DFG_UNKNOWN;
	if (values->rank == 1 && n >= 0 && values->dim[0] >= 0 && values->dim[0] != n)
		return DFG_ERR(
			DFG_DATA, "there are %" PRId64 " values for %" PRId64 " indices, expected one for each", values->dim[0], n);
	return NULL;
}

static struct dfg_err *sparse_to_dense_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *indices = ctx->in[INDICES], *values = ctx->in[VALUES];
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	size_t size = dfg_dtype_size(out->dtype);
	struct scatter s = {.indices = indices, .updates = values, .out = out, .depth = out->shape.rank, .inner = 1};
	int64_t before = -1;
	s.count = indices->shape.rank ? indices->shape.dim[0] : 1;
	dfg_repeat(out->data, dfg_shape_count(&out->shape), ctx->in[DEFAULT]->data, size);
	for (int64_t i = 0; i < s.count; i++) {
		int64_t place;
		DFG_TRY(place_of(&s, i, &place));
		if (ctx->call->attr[0].b && place <= before)
			return DFG_ERR(DFG_DATA,
				"row %" PRId64 " of the indices %s the row before it: they must ascend (validate_indices)", i,
				place == before ? "repeats" : "is smaller than");
		before = place;
		memcpy(dfg_tensor_at(out, place), dfg_tensor_at(values, values->shape.rank ? i : 0), size);
	}
	return dfg_moved(ctx, 0);
}

const struct dfg_op dfg_op_SparseToDense = {
	.name = "SparseToDense",
	.doc = "default_value in the given shape, with the values stored at the indices",
	.sig =
		"<T: type, Tindices: index>"
		"(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T) -> (dense: T)",
	.attr = {"validate_indices: bool = true"},
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = sparse_to_dense_shape,
	.gradient =
		"rows = GatherNd(ddense, Reshape(sparse_indices, Pack([-1, Size(output_shape)])))\n"
		"given = Shape(sparse_values)\n"
		"dsparse_values = Reshape(Sum(rows, BroadcastGradientArgs(Shape(rows), given).r1), given)\n"
		"ddefault_value = Sum(ddense, Range(0, Rank(ddense), 1)) - Sum(rows, 0)",
	.run = sparse_to_dense_run,
};
