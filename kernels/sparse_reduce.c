/* SparseReduceSumSparse and SparseReduceMaxSparse, whose results are sparse tensors. */
#include "kernels/sparse.h"
#include "kernels/variable.h"

#include <inttypes.h>
#include <string.h>

extern const struct dfg_op dfg_op_AddV2, dfg_op_Maximum;

enum { INDICES, VALUES, DIMS, AXES };
enum { KEEP_DIMS };

static struct dfg_err *reduce_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, INDICES, VALUES, DIMS));
	if (node->in[AXES]->rank > 1)
		return DFG_ERR(
			DFG_DATA, "reduction_axes have shape %s, expected a scalar or a vector", dfg_shape_words(node->in[AXES]).s);
	dfg_sparse_infer(node, 0, node->call->attr[KEEP_DIMS].b ? dfg_length_of(node, DIMS) : DFG_UNKNOWN);
	return NULL;
}

/* The entries with the indices that they have in the result, and its shape. */
struct reduction {
	int64_t n;
	int rank;
	int64_t *at, *dim;
};

static struct dfg_err *find_reduced(struct dfg_kernel *ctx, const struct dfg_sparse *s, bool **out_gone)
{
	const struct dfg_tensor *axes = ctx->in[AXES];
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)s->rank + 1, (void **)out_gone));
	memset(*out_gone, 0, (size_t)s->rank + 1);
	for (int64_t i = 0; i < dfg_shape_count(&axes->shape); i++) {
		int axis;
		DFG_TRY(dfg_axis(dfg_tensor_int(axes, i), s->rank, &axis));
		(*out_gone)[axis] = true;
	}
	return NULL;
}

static struct dfg_err *reduce_indices(struct dfg_kernel *ctx, const struct dfg_sparse *s, struct reduction *r)
{
	const bool keep = dfg_kernel_attr(ctx)[KEEP_DIMS].b;
	bool *gone;
	int64_t k = 0;
	DFG_TRY(find_reduced(ctx, s, &gone));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)s->rank + 1) * sizeof *r->dim, (void **)&r->dim));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)s->n * (size_t)s->rank + 1) * sizeof *r->at, (void **)&r->at));
	r->n = s->n;
	r->rank = 0;
	for (int d = 0; d < s->rank; d++)
		if (keep || !gone[d])
			r->dim[r->rank++] = gone[d] ? 1 : s->dim[d];
	for (int64_t e = 0; e < s->n; e++)
		for (int d = 0; d < s->rank; d++)
			if (keep || !gone[d])
				r->at[k++] = gone[d] ? 0 : s->at[e * s->rank + d];
	return NULL;
}

static bool begins(const struct reduction *r, const int64_t *order, int64_t k)
{
	return !k || dfg_sparse_compare(r->at + order[k - 1] * r->rank, r->at + order[k] * r->rank, r->rank);
}

static struct dfg_err *give_reduced(
	struct dfg_kernel *ctx, const struct reduction *r, const int64_t *order, dfg_row_fn *row)
{
	struct dfg_tensor *indices, *values, *shape;
	const struct dfg_tensor *from = ctx->in[VALUES];
	int64_t count = 0, last = -1;
	for (int64_t k = 0; k < r->n; k++)
		count += begins(r, order, k);
	DFG_TRY(dfg_kernel_output(ctx, 0, &(struct dfg_shape){.rank = 2, .dim = {count, r->rank}}, &indices));
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(count), &values));
	DFG_TRY(dfg_kernel_output(ctx, 2, &DFG_SHAPE_VECTOR(r->rank), &shape));
	for (int64_t k = 0; k < r->n; k++) {
		if (!begins(r, order, k)) {
			dfg_combine(row, values->dtype, 1, dfg_tensor_at(values, last), dfg_tensor_at(from, order[k]));
			continue;
		}
		last++;
		memcpy(dfg_tensor_at(values, last), dfg_tensor_at(from, order[k]), dfg_dtype_size(from->dtype));
		for (int d = 0; d < r->rank; d++)
			((int64_t *)indices->data)[last * r->rank + d] = r->at[order[k] * r->rank + d];
	}
	for (int d = 0; d < r->rank; d++)
		((int64_t *)shape->data)[d] = r->dim[d];
	return NULL;
}

static struct dfg_err *reduce(struct dfg_kernel *ctx, const struct dfg_op *combination)
{
	struct dfg_sparse s;
	struct reduction r;
	dfg_row_fn *row;
	int64_t *order;
	DFG_TRY(dfg_sparse_of(ctx, INDICES, VALUES, DIMS, &s));
	DFG_TRY(dfg_row_of(combination, ctx->in[VALUES]->dtype, &row));
	DFG_TRY(reduce_indices(ctx, &s, &r));
	DFG_TRY(dfg_sparse_order(ctx, r.at, r.n, r.rank, &order));
	return give_reduced(ctx, &r, order, row);
}

static struct dfg_err *sum_run(struct dfg_kernel *ctx)
{
	return reduce(ctx, &dfg_op_AddV2);
}

static struct dfg_err *max_run(struct dfg_kernel *ctx)
{
	return reduce(ctx, &dfg_op_Maximum);
}

#define REDUCE_SPARSE(Op, text, types, run_)                                                       \
	const struct dfg_op dfg_op_##Op = {                                                            \
		.name = #Op,                                                                               \
		.doc = text " of a sparse tensor's values along axes, as a sparse tensor",                 \
		.sig = "<T: " types                                                                        \
			   ">(input_indices: i64, input_values: T, input_shape: i64, reduction_axes: i32) -> " \
			   "(output_indices: i64, output_values: T, output_shape: i64)",                       \
		.attr = {[KEEP_DIMS] = "keep_dims: bool = false"},                                         \
		.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,                                                   \
		.shape = reduce_shape,                                                                     \
		.run = run_,                                                                               \
	};
REDUCE_SPARSE(SparseReduceSumSparse, "sums", "numeric|half", sum_run)
REDUCE_SPARSE(SparseReduceMaxSparse, "the largest", "number|half", max_run)
