/* SparseConcat and SparseSplit. */
#include "kernels/sparse.h"
#include "kernels/strided_copy.h"

#include <inttypes.h>
#include <string.h>

/* SparseConcat: N matrices of indices, N vectors of values, N shapes. */
enum { CONCAT_DIM };

static int count_of(const struct dfg_resolved_node *call)
{
	return call->n_in / 3;
}

static struct dfg_err *concat_shape(struct dfg_infer *node)
{
	const int n = count_of(node->call);
	int64_t rank = DFG_UNKNOWN;
	for (int i = 0; i < n; i++) {
		DFG_TRY(dfg_sparse_need(node, i, n + i, 2 * n + i));
		if (node->in[2 * n + i]->rank == 1 && node->in[2 * n + i]->dim[0] >= 0)
			rank = node->in[2 * n + i]->dim[0];
	}
	dfg_sparse_infer(node, 0, rank);
	return NULL;
}

/* Reads all tensors; dim becomes the shape of the result. */
static struct dfg_err *read_parts(struct dfg_kernel *ctx, struct dfg_sparse *part, int axis, int64_t *dim)
{
	const int n = count_of(ctx->call);
	for (int i = 0; i < n; i++) {
		DFG_TRY(dfg_sparse_of(ctx, i, n + i, 2 * n + i, &part[i]));
		if (part[i].rank != part[0].rank)
			return DFG_ERR(DFG_DATA, "tensor %d has %d dimensions, but tensor 0 has %d", i, part[i].rank, part[0].rank);
		for (int d = 0; d < part[0].rank; d++) {
			if (d != axis && part[i].dim[d] != part[0].dim[d])
				return DFG_ERR(DFG_DATA, "dimension %d of tensor %d is %" PRId64 ", but that of tensor 0 is %" PRId64,
					d, i, part[i].dim[d], part[0].dim[d]);
			if (i && d == axis && __builtin_add_overflow(dim[d], part[i].dim[d], &dim[d]))
				return DFG_ERR(DFG_DATA, "dimension %d of the result is more than %" PRId64, d, INT64_MAX);
			dim[d] = i ? dim[d] : part[i].dim[d];
		}
	}
	return NULL;
}

static struct dfg_err *join_values(
	struct dfg_kernel *ctx, const struct dfg_sparse *part, const int64_t *order, int64_t total)
{
	const int n = count_of(ctx->call);
	const size_t bytes = dfg_dtype_size(ctx->in[n]->dtype);
	const char **from;
	struct dfg_tensor *to;
	int64_t k = 0;
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(total), &to));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)total + 1) * sizeof *from, (void **)&from));
	for (int i = 0; i < n; i++)
		for (int64_t e = 0; e < part[i].n; e++)
			from[k++] = (const char *)ctx->in[n + i]->data + (size_t)e * bytes;
	for (k = 0; k < total; k++)
		memcpy((char *)to->data + (size_t)k * bytes, from[order[k]], bytes);
	return dfg_moved(ctx, 1);
}

static struct dfg_err *concat_run(struct dfg_kernel *ctx)
{
	const int n = count_of(ctx->call);
	struct dfg_sparse *part;
	struct dfg_tensor *indices, *shape;
	int64_t *at, *order, total = 0, shift = 0, k = 0;
	int axis;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)n * sizeof *part, (void **)&part));
	DFG_TRY(dfg_sparse_of(ctx, 0, n, 2 * n, &part[0]));
	const int rank = part[0].rank;
	DFG_TRY(dfg_axis(dfg_kernel_attr(ctx)[CONCAT_DIM].i, rank, &axis));
	DFG_TRY(dfg_kernel_output(ctx, 2, &DFG_SHAPE_VECTOR(rank), &shape));
	DFG_TRY(read_parts(ctx, part, axis, shape->data));
	for (int i = 0; i < n; i++)
		total += part[i].n;
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)total * (size_t)rank + 1) * sizeof *at, (void **)&at));
	for (int i = 0; i < n; shift += part[i++].dim[axis])
		for (int64_t e = 0; e < part[i].n; e++, k++)
			for (int d = 0; d < rank; d++)
				at[k * rank + d] = part[i].at[e * rank + d] + (d == axis ? shift : 0);
	DFG_TRY(dfg_sparse_order(ctx, at, total, rank, &order));
	DFG_TRY(dfg_kernel_output(ctx, 0, &(struct dfg_shape){.rank = 2, .dim = {total, rank}}, &indices));
	for (k = 0; k < total; k++)
		memcpy((int64_t *)indices->data + k * rank, at + order[k] * rank, (size_t)rank * sizeof *at);
	return join_values(ctx, part, order, total);
}

const struct dfg_op dfg_op_SparseConcat = {
	.name = "SparseConcat",
	.doc = "sparse tensors concatenated along a dimension",
	.sig =
		"<T: type, N: int >= 2>(indices: N * i64, values: N * T, shapes: N * i64) -> "
		"(output_indices: i64, output_values: T, output_shape: i64)",
	.attr = {[CONCAT_DIM] = "concat_dim: int"},
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = concat_shape,
	.run = concat_run,
};

/* SparseSplit. */
enum { SPLIT_DIM, INDICES, VALUES, DIMS };
enum { NUM_SPLIT = 1 }; /* parameter of the signature */

static struct dfg_err *split_shape(struct dfg_infer *node)
{
	const int n = (int)node->call->param[NUM_SPLIT].i;
	DFG_TRY(dfg_need_rank(node, SPLIT_DIM, 0));
	DFG_TRY(dfg_sparse_need(node, INDICES, VALUES, DIMS));
	const int64_t rank = node->in[DIMS]->rank == 1 ? node->in[DIMS]->dim[0] : DFG_UNKNOWN;
	for (int i = 0; i < n; i++) {
		node->out[i] = (struct dfg_shape){.rank = 2, .dim = {DFG_UNKNOWN, rank}};
		node->out[n + i] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
		node->out[2 * n + i] = DFG_SHAPE_VECTOR(rank);
	}
	return NULL;
}

/* Part i is [first, end) of the dimension: the first parts have one more if it cannot be divided. */
static void part_of(int64_t dim, int64_t n, int64_t i, int64_t *out_first, int64_t *out_end)
{
	const int64_t size = dim / n, more = dim % n;
	*out_first = i * size + (i < more ? i : more);
	*out_end = *out_first + size + (i < more);
}

static struct dfg_err *give_part(struct dfg_kernel *ctx, const struct dfg_sparse *s, int axis, int i, int64_t *kept)
{
	const int n = (int)ctx->call->param[NUM_SPLIT].i;
	int64_t first, end, count = 0;
	struct dfg_tensor *at, *shape;
	part_of(s->dim[axis], n, i, &first, &end);
	for (int64_t e = 0; e < s->n; e++)
		if (s->at[e * s->rank + axis] >= first && s->at[e * s->rank + axis] < end)
			kept[count++] = e;
	DFG_TRY(dfg_kernel_output(ctx, i, &(struct dfg_shape){.rank = 2, .dim = {count, s->rank}}, &at));
	DFG_TRY(dfg_kernel_output(ctx, 2 * n + i, &DFG_SHAPE_VECTOR(s->rank), &shape));
	for (int64_t k = 0; k < count; k++)
		for (int d = 0; d < s->rank; d++)
			((int64_t *)at->data)[k * s->rank + d] = s->at[kept[k] * s->rank + d] - (d == axis ? first : 0);
	memcpy(shape->data, s->dim, (size_t)s->rank * sizeof *s->dim);
	((int64_t *)shape->data)[axis] = end - first;
	return dfg_sparse_pick(ctx, n + i, VALUES, kept, count);
}

static struct dfg_err *split_run(struct dfg_kernel *ctx)
{
	const int64_t n = ctx->call->param[NUM_SPLIT].i;
	struct dfg_sparse s;
	int64_t *kept;
	int axis;
	DFG_TRY(dfg_sparse_of(ctx, INDICES, VALUES, DIMS, &s));
	if (ctx->in[SPLIT_DIM]->shape.rank)
		return DFG_ERR(
			DFG_DATA, "split_dim has shape %s, expected a scalar", dfg_shape_words(&ctx->in[SPLIT_DIM]->shape).s);
	DFG_TRY(dfg_axis(*(const int64_t *)ctx->in[SPLIT_DIM]->data, s.rank, &axis));
	if (n > s.dim[axis])
		return DFG_ERR(
			DFG_DATA, "cannot split dimension %d, which is %" PRId64 ", into %" PRId64 " parts", axis, s.dim[axis], n);
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)s.n + 1) * sizeof *kept, (void **)&kept));
	for (int i = 0; i < n; i++)
		DFG_TRY(give_part(ctx, &s, axis, i, kept));
	return NULL;
}

const struct dfg_op dfg_op_SparseSplit = {
	.name = "SparseSplit",
	.doc = "a sparse tensor in num_split parts along a dimension",
	.sig =
		"<T: type, num_split: int>(split_dim: i64, indices: i64, values: T, shape: i64) -> "
		"(output_indices: num_split * i64, output_values: num_split * T, output_shape: num_split * i64)",
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = split_shape,
	.run = split_run,
};
