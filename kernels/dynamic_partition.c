/* Rows distributed over several tensors (DynamicPartition), and put together again (DynamicStitch). */
#include "kernels/gradient_helpers.h"
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"

#include <inttypes.h>
#include <string.h>

enum { DATA, PARTITIONS };

static struct dfg_err *partition_shape(struct dfg_infer *node)
{
	const struct dfg_shape *data = node->in[DATA], *partitions = node->in[PARTITIONS];
	for (int d = 0; d < partitions->rank; d++)
		if (d >= data->rank || (partitions->dim[d] >= 0 && data->dim[d] >= 0 && partitions->dim[d] != data->dim[d]))
			return DFG_ERR(DFG_DATA, "partitions have shape %s, expected the first dimensions of data %s",
				dfg_shape_words(partitions).s, dfg_shape_words(data).s);
	struct dfg_shape part = {.rank = data->rank - partitions->rank + 1, .dim = {DFG_UNKNOWN}};
	if (part.rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "each result has %d dimensions: the limit is %d", part.rank, DFG_RANK_MAX);
	for (int d = 1; d < part.rank; d++)
		part.dim[d] = data->dim[d - 1 + partitions->rank];
	for (int i = 0; i < node->call->n_out; i++)
		node->out[i] = part;
	return NULL;
}

/* Counts the rows of each part. */
static struct dfg_err *count_parts(struct dfg_kernel *ctx, int64_t *count)
{
	const struct dfg_tensor *partitions = ctx->in[PARTITIONS];
	memset(count, 0, ctx->call->n_out * sizeof *count);
	for (int64_t i = 0, n = dfg_shape_count(&partitions->shape); i < n; i++) {
		int32_t part = ((const int32_t *)partitions->data)[i];
		if (part < 0 || part >= ctx->call->n_out)
			return DFG_ERR(
				DFG_DATA, "partitions[%" PRId64 "] is %" PRId32 ", outside [0,%d)", i, part, ctx->call->n_out);
		count[part]++;
	}
	return NULL;
}

static struct dfg_err *partition_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *data = ctx->in[DATA], *partitions = ctx->in[PARTITIONS];
	size_t n_out = ctx->call->n_out;
	void *memory;
	DFG_TRY(dfg_kernel_scratch(ctx, n_out * (sizeof(int64_t) + sizeof(struct dfg_shape)), &memory));
	struct dfg_shape *shape = memory;
	int64_t *count = (int64_t *)(shape + n_out);
	DFG_TRY(dfg_shapes_now(ctx, (int)n_out, shape));
	DFG_TRY(count_parts(ctx, count));
	for (size_t p = 0; p < n_out; p++) {
		struct dfg_tensor *out;
		shape[p].dim[0] = count[p];
		DFG_TRY(dfg_kernel_output(ctx, (int)p, &shape[p], &out));
		count[p] = 0;
	}
	int64_t rows = dfg_shape_count(&partitions->shape);
	size_t bytes = rows ? dfg_tensor_bytes(data) / (size_t)rows : 0;
	for (int64_t i = 0; i < rows; i++) {
		int32_t part = ((const int32_t *)partitions->data)[i];
		memcpy((char *)ctx->out[part]->data + (size_t)count[part]++ * bytes,
			(const char *)data->data + (size_t)i * bytes, bytes);
	}
	for (size_t p = 0; p < n_out; p++)
		DFG_TRY(dfg_moved(ctx, (int)p));
	return NULL;
}

/* The indices of the rows, partitioned in the same way: where the rows of the cotangents belong. */
static struct dfg_err *partition_numbers(struct dfg_gradient *node, struct dfg_edge *out_numbers)
{
	struct dfg_edge range[3], shape, in[2] = {{0, 0}, node->in[PARTITIONS]};
	DFG_TRY(dfg_adjoint_ints(node, 0, (int64_t[]){0}, 1, &range[0]));
	DFG_TRY(dfg_adjoint_ints(node, 0, (int64_t[]){1}, 1, &range[2]));
	DFG_TRY(dfg_adjoint_op(node, "Size", node->in[PARTITIONS], DFG_NO_EDGE, DFG_NO_EDGE, &range[1]));
	DFG_TRY(dfg_gradient_op(node, "Range", range, 3, NULL, 0, &in[0]));
	DFG_TRY(dfg_adjoint_shape(node, node->in[PARTITIONS], &shape));
	DFG_TRY(dfg_adjoint_op(node, "Reshape", in[0], shape, DFG_NO_EDGE, &in[0]));
	const struct dfg_attr parts = DFG_ATTR_I("num_partitions", node->call->n_out);
	return dfg_gradient_op(node, "DynamicPartition", in, 2, &parts, 1, out_numbers);
}

static struct dfg_err *stitch_cotangents(struct dfg_gradient *node, struct dfg_edge numbers, struct dfg_edge *edges)
{
	uint32_t n = node->call->n_out;
	struct dfg_edge dx, shape;
	for (uint32_t i = 0; i < n; i++) {
		edges[i] = (struct dfg_edge){numbers.node, (int32_t)i};
		DFG_TRY(dfg_adjoint_of(node, (int)i, &edges[n + i]));
	}
	DFG_TRY(dfg_gradient_op(node, "DynamicStitch", edges, 2 * n, NULL, 0, &dx));
	DFG_TRY(dfg_adjoint_shape(node, node->in[DATA], &shape));
	DFG_TRY(dfg_adjoint_op(node, "Reshape", dx, shape, DFG_NO_EDGE, &dx));
	dfg_gradient_set(node, DATA, dx);
	return NULL;
}

static struct dfg_err *partition_gradient(struct dfg_gradient *node)
{
	struct dfg_edge numbers, *edges;
	DFG_TRY(partition_numbers(node, &numbers));
	if (!(edges = dfg_zeros(2 * (size_t)node->call->n_out, sizeof *edges)))
		return DFG_ERR(DFG_MEMORY, "no memory for the gradient of %d parts", node->call->n_out);
	struct dfg_err *err = stitch_cotangents(node, numbers, edges);
	dfg_free(edges);
	return err;
}

const struct dfg_op dfg_op_DynamicPartition = {
	.name = "DynamicPartition",
	.doc = "the rows of data, each in the part that partitions gives for it",
	.sig = "<T: type, num_partitions: int>(data: T, partitions: i32) -> (outputs: num_partitions * T)",
	.flags = DFG_EXACT,
	.shape = partition_shape,
	.gradient_fn = partition_gradient,
	.run = partition_run,
};

/* The dimensions of data after those of indices are a row's, the same in all parts. */
static struct dfg_err *row_of(const struct dfg_infer *node, struct dfg_shape *out_row)
{
	int n = node->call->n_in / 2;
	*out_row = DFG_SHAPE_UNKNOWN;
	for (int i = 0; i < n; i++) {
		const struct dfg_shape *indices = node->in[i], *data = node->in[n + i];
		struct dfg_shape row = {.rank = data->rank - indices->rank};
		if (indices->rank < 0 || data->rank < 0)
			continue;
		for (int d = 0; d < indices->rank; d++)
			if (d >= data->rank || (indices->dim[d] >= 0 && data->dim[d] >= 0 && indices->dim[d] != data->dim[d]))
				return DFG_ERR(DFG_DATA, "indices of part %d have shape %s, expected the first dimensions of data %s",
					i, dfg_shape_words(indices).s, dfg_shape_words(data).s);
		for (int d = 0; d < row.rank; d++)
			row.dim[d] = data->dim[d + indices->rank];
		if (!dfg_shape_fits(out_row, &row))
			return DFG_ERR(DFG_DATA, "rows of part %d have shape %s, those before it %s", i, dfg_shape_words(&row).s,
				dfg_shape_words(out_row).s);
		*out_row = dfg_shape_merge(out_row, &row);
	}
	return NULL;
}

static struct dfg_err *stitch_shape(struct dfg_infer *node)
{
	struct dfg_shape row;
	int64_t most = -1;
	bool known = true;
	DFG_TRY(row_of(node, &row));
	if (row.rank < 0)
		return NULL;
	if (row.rank == DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the result has %d dimensions: the limit is %d", row.rank + 1, DFG_RANK_MAX);
	for (int i = 0; i < node->call->n_in / 2; i++) {
		known &= node->known[i] != NULL;
		for (int64_t k = 0; known && k < node->known[i]->count; k++) {
			known &= node->known[i]->v[k] != DFG_NOT_KNOWN;
			most = node->known[i]->v[k] > most ? node->known[i]->v[k] : most;
		}
	}
	node->out[0] = (struct dfg_shape){.rank = row.rank + 1, .dim = {known ? most + 1 : DFG_UNKNOWN}};
	for (int d = 0; d < row.rank; d++)
		node->out[0].dim[d + 1] = row.dim[d];
	return NULL;
}

static struct dfg_err *count_rows(struct dfg_kernel *ctx, int64_t *out_rows)
{
	*out_rows = 0;
	for (int i = 0; i < ctx->call->n_in / 2; i++)
		for (int64_t k = 0, n = dfg_shape_count(&ctx->in[i]->shape); k < n; k++) {
			int32_t index = ((const int32_t *)ctx->in[i]->data)[k];
			if (index < 0)
				return DFG_ERR(DFG_DATA, "indices[%d][%" PRId64 "] is %" PRId32 ", which is negative", i, k, index);
			*out_rows = index >= *out_rows ? index + INT64_C(1) : *out_rows;
		}
	return NULL;
}

/* A row without an index is zero; of several rows with one index, the last is stored. */
static struct dfg_err *stitch_run(struct dfg_kernel *ctx)
{
	struct dfg_shape shape;
	struct dfg_tensor *out;
	int n = ctx->call->n_in / 2;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	DFG_TRY(count_rows(ctx, &shape.dim[0]));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	memset(out->data, 0, dfg_tensor_bytes(out));
	size_t bytes = (size_t)dfg_count_between(&shape, 1, shape.rank) * dfg_dtype_size(out->dtype);
	for (int i = 0; i < n; i++)
		for (int64_t k = 0, count = dfg_shape_count(&ctx->in[i]->shape); k < count; k++)
			memcpy((char *)out->data + (size_t)((const int32_t *)ctx->in[i]->data)[k] * bytes,
				(const char *)ctx->in[n + i]->data + (size_t)k * bytes, bytes);
	return dfg_moved(ctx, 0);
}

static struct dfg_err *stitch_gradient(struct dfg_gradient *node)
{
	struct dfg_edge axis, dx;
	int n = node->call->n_in / 2;
	DFG_TRY(dfg_adjoint_ints(node, 0, (int64_t[]){0}, 1, &axis));
	for (int i = 0; i < n; i++) {
		if (!node->wanted[n + i])
			continue;
		DFG_TRY(dfg_adjoint_op(node, "GatherV2", node->dy[0], node->in[i], axis, &dx));
		dfg_gradient_set(node, n + i, dx);
	}
	return NULL;
}

#define STITCH(Op, text)                                                          \
	const struct dfg_op dfg_op_##Op = {                                           \
		.name = #Op,                                                              \
		.doc = text,                                                              \
		.sig = "<T: type, N: int>(indices: N * i32, data: N * T) -> (merged: T)", \
		.flags = DFG_ANY_RANK | DFG_EXACT,                                        \
		.shape = stitch_shape,                                                    \
		.gradient_fn = stitch_gradient,                                           \
		.run = stitch_run,                                                        \
	};
STITCH(DynamicStitch, "the rows of all data, each at its index; of equal indices, the last row")
STITCH(ParallelDynamicStitch, "as DynamicStitch, for indices that are all different")
