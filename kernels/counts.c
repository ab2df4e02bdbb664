/* How often each number is in a row: sparse counts of dense, sparse and ragged rows. */
#include "kernels/shape_rules.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MINLENGTH, MAXLENGTH, BINARY };
enum { INDICES, VALUES, SHAPE };

/* A number that counts: element `at` of the values. */
struct entry {
	int64_t row, value, at;
};

struct counts {
	const struct dfg_tensor *values, *weights;
	struct entry *entry;
	int64_t entries, most; /* the largest number that counts, at least 0 */
	int64_t rows;          /* DFG_UNKNOWN: the output is a vector */
};

static struct dfg_err *check_weights(const struct dfg_tensor *values, const struct dfg_tensor *weights)
{
	if (!dfg_shape_count(&weights->shape) || dfg_shape_equal(&weights->shape, &values->shape))
		return NULL;
	return DFG_ERR(DFG_DATA, "weights have shape %s, expected %s, that of the values, or no elements",
		dfg_shape_words(&weights->shape).s, dfg_shape_words(&values->shape).s);
}

static struct dfg_err *begin(struct dfg_kernel *ctx, int values, struct counts *out_counts)
{
	*out_counts = (struct counts){.values = ctx->in[values], .weights = ctx->in[ctx->call->n_in - 1]};
	DFG_TRY(check_weights(out_counts->values, out_counts->weights));
	const size_t n = (size_t)dfg_shape_count(&out_counts->values->shape);
	return dfg_kernel_scratch(ctx, (n + 1) * sizeof *out_counts->entry, (void **)&out_counts->entry);
}

/* Element i counts in its row, unless it is beyond maxlength. */
static struct dfg_err *count(const struct dfg_kernel *ctx, struct counts *counts, int64_t row, int64_t i)
{
	const int64_t value = dfg_tensor_int(counts->values, i), limit = dfg_kernel_attr(ctx)[MAXLENGTH].i;
	if (value < 0)
		return DFG_ERR(DFG_DATA, "value %" PRId64 " is %" PRId64 ", expected at least 0", i, value);
	if (limit >= 0 && value >= limit)
		return NULL;
	counts->entry[counts->entries++] = (struct entry){row, value, i};
	counts->most = value > counts->most ? value : counts->most;
	return NULL;
}

static int by_place(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool begins_place(const struct entry *entry, int64_t i)
{
	return !i || entry[i].row != entry[i - 1].row || entry[i].value != entry[i - 1].value;
}

/* Adds what entry i is worth to an output: 1, or its weight; a binary output is 1 whatever the weights are. */
static void add_entry(struct dfg_tensor *out, int64_t to, const struct counts *counts, int64_t i, bool binary)
{
	const bool weighted = !binary && dfg_shape_count(&counts->weights->shape) > 0,
			   first = begins_place(counts->entry, i);
	const int64_t at = counts->entry[i].at;
	if (binary && !first)
		return;
	if (out->dtype == DFG_I32 || out->dtype == DFG_I64) {
		const uint64_t before = first ? 0 : (uint64_t)dfg_tensor_int(out, to);
		const int64_t sum = (int64_t)(before + (weighted ? (uint64_t)dfg_tensor_int(counts->weights, at) : 1));
		dfg_convert(out->dtype, dfg_tensor_at(out, to), DFG_I64, &sum, 1);
		return;
	}
	const double sum = (first ? 0 : dfg_tensor_float(out, to)) + (weighted ? dfg_tensor_float(counts->weights, at) : 1);
	dfg_convert(out->dtype, dfg_tensor_at(out, to), DFG_F64, &sum, 1);
}

static struct dfg_err *give_shape(struct dfg_kernel *ctx, const struct counts *counts, int rank)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const int64_t all = counts->most < INT64_MAX ? counts->most + 1 : INT64_MAX;
	struct dfg_tensor *shape;
	DFG_TRY(dfg_kernel_output(ctx, SHAPE, &DFG_SHAPE_VECTOR(rank), &shape));
	int64_t *dim = shape->data;
	if (rank == 2)
		dim[0] = counts->rows;
	dim[rank - 1] = attr[MAXLENGTH].i >= 0 ? attr[MAXLENGTH].i : all > attr[MINLENGTH].i ? all : attr[MINLENGTH].i;
	return NULL;
}

static struct dfg_err *give(struct dfg_kernel *ctx, struct counts *counts)
{
	const int rank = counts->rows == DFG_UNKNOWN ? 1 : 2;
	struct dfg_tensor *indices, *sums;
	int64_t places = 0;
	if (!counts->rows)
		return DFG_ERR(DFG_DATA, "there are no rows to count in");
	qsort(counts->entry, (size_t)counts->entries, sizeof *counts->entry, by_place);
	for (int64_t i = 0; i < counts->entries; i++)
		places += begins_place(counts->entry, i);
	DFG_TRY(dfg_kernel_output(ctx, INDICES, &(struct dfg_shape){.rank = 2, .dim = {places, rank}}, &indices));
	DFG_TRY(dfg_kernel_output(ctx, VALUES, &DFG_SHAPE_VECTOR(places), &sums));
	for (int64_t i = 0, place = -1; i < counts->entries; i++) {
		place += begins_place(counts->entry, i);
		int64_t *index = (int64_t *)indices->data + place * rank;
		index[0] = counts->entry[i].row;
		index[rank - 1] = counts->entry[i].value;
		add_entry(sums, place, counts, i, dfg_kernel_attr(ctx)[BINARY].b);
	}
	return give_shape(ctx, counts, rank);
}

static void set_shapes(struct dfg_infer *node, int64_t rank)
{
	node->out[INDICES] = (struct dfg_shape){.rank = 2, .dim = {DFG_UNKNOWN, rank}};
	node->out[VALUES] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	node->out[SHAPE] = DFG_SHAPE_VECTOR(rank);
}

static struct dfg_err *dense_shape(struct dfg_infer *node)
{
	const int rank = node->in[0]->rank;
	if (rank == 0 || rank > 2)
		return DFG_ERR(DFG_DATA, "values have shape %s, expected a vector or a matrix", dfg_shape_words(node->in[0]).s);
	set_shapes(node, rank < 0 ? DFG_UNKNOWN : rank);
	return NULL;
}

static struct dfg_err *dense_run(struct dfg_kernel *ctx)
{
	struct counts counts;
	DFG_TRY(begin(ctx, 0, &counts));
	const struct dfg_shape *shape = &counts.values->shape;
	const int64_t each = shape->dim[shape->rank - 1];
	counts.rows = shape->rank == 2 ? shape->dim[0] : DFG_UNKNOWN;
	for (int64_t i = 0; i < dfg_shape_count(shape); i++)
		DFG_TRY(count(ctx, &counts, i / each, i));
	return give(ctx, &counts);
}

/* Inputs of SparseCountSparseOutput. */
enum { SPARSE_INDICES, SPARSE_VALUES, SPARSE_SHAPE };

static struct dfg_err *sparse_shape(struct dfg_infer *node)
{
	const struct dfg_shape *values = node->in[SPARSE_VALUES], *shape = node->in[SPARSE_SHAPE];
	const struct dfg_shape places = {.rank = 2,
		.dim = {values->rank == 1 ? values->dim[0] : DFG_UNKNOWN, shape->rank == 1 ? shape->dim[0] : DFG_UNKNOWN}};
	DFG_TRY(dfg_need_rank(node, SPARSE_VALUES, 1));
	DFG_TRY(dfg_need_rank(node, SPARSE_SHAPE, 1));
	if (!dfg_shape_fits(node->in[SPARSE_INDICES], &places))
		return DFG_ERR(DFG_DATA, "indices have shape %s, expected %s", dfg_shape_words(node->in[SPARSE_INDICES]).s,
			dfg_shape_words(&places).s);
	if (shape->rank == 1 && (!shape->dim[0] || shape->dim[0] > 2))
		return DFG_ERR(DFG_DATA, "dense_shape has %" PRId64 " dimensions, expected 1 or 2", shape->dim[0]);
	set_shapes(node, shape->rank == 1 ? shape->dim[0] : DFG_UNKNOWN);
	return NULL;
}

static struct dfg_err *check_place(const struct dfg_kernel *ctx, int64_t i)
{
	const struct dfg_tensor *indices = ctx->in[SPARSE_INDICES], *shape = ctx->in[SPARSE_SHAPE];
	const int64_t rank = shape->shape.dim[0], *dim = shape->data;
	for (int64_t d = 0; d < rank; d++) {
		const int64_t index = ((const int64_t *)indices->data)[i * rank + d];
		if (index < 0 || index >= dim[d])
			return DFG_ERR(DFG_DATA, "indices[%" PRId64 ",%" PRId64 "] is %" PRId64 ", outside [0,%" PRId64 ")", i, d,
				index, dim[d]);
	}
	return NULL;
}

static struct dfg_err *sparse_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *indices = ctx->in[SPARSE_INDICES], *shape = ctx->in[SPARSE_SHAPE];
	const int64_t rank = shape->shape.dim[0];
	struct counts counts;
	DFG_TRY(begin(ctx, SPARSE_VALUES, &counts));
	counts.rows = rank == 2 ? dfg_tensor_int(shape, 0) : DFG_UNKNOWN;
	for (int64_t i = 0; i < counts.values->shape.dim[0]; i++) {
		DFG_TRY(check_place(ctx, i));
		DFG_TRY(count(ctx, &counts, rank == 2 ? ((const int64_t *)indices->data)[i * rank] : 0, i));
	}
	return give(ctx, &counts);
}

/* Inputs of RaggedCountSparseOutput. */
enum { RAGGED_SPLITS, RAGGED_VALUES };

static struct dfg_err *ragged_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, RAGGED_SPLITS, 1));
	DFG_TRY(dfg_need_rank(node, RAGGED_VALUES, 1));
	set_shapes(node, 2);
	return NULL;
}

static struct dfg_err *check_splits(const struct dfg_tensor *splits, int64_t n)
{
	const int64_t ends = splits->shape.dim[0], *at = splits->data;
	if (!ends || at[0] || at[ends - 1] != n)
		return DFG_ERR(DFG_DATA, "splits must begin with 0 and end with %" PRId64 ", the number of values", n);
	for (int64_t r = 1; r < ends; r++)
		if (at[r] < at[r - 1])
			return DFG_ERR(
				DFG_DATA, "splits[%" PRId64 "] is %" PRId64 ", less than %" PRId64 " before it", r, at[r], at[r - 1]);
	return NULL;
}

static struct dfg_err *ragged_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *splits = ctx->in[RAGGED_SPLITS];
	const int64_t *at = splits->data;
	struct counts counts;
	DFG_TRY(begin(ctx, RAGGED_VALUES, &counts));
	DFG_TRY(check_splits(splits, counts.values->shape.dim[0]));
	counts.rows = splits->shape.dim[0] - 1;
	for (int64_t r = 0; r < counts.rows; r++)
		for (int64_t i = at[r]; i < at[r + 1]; i++)
			DFG_TRY(count(ctx, &counts, r, i));
	return give(ctx, &counts);
}

#define COUNT(Op, inputs, shape_, run_, text)                                                \
	const struct dfg_op dfg_op_##Op = {                                                      \
		.name = #Op,                                                                         \
		.doc = text,                                                                         \
		.sig = "<T: index, output_type: i32|i64|f32|f64>(" inputs                            \
			   ", weights: output_type) -> "                                                 \
			   "(output_indices: i64, output_values: output_type, output_dense_shape: i64)", \
		.attr = {[MINLENGTH] = "minlength: int = -1 >= -1",                                  \
			[MAXLENGTH] = "maxlength: int = -1 >= -1",                                       \
			[BINARY] = "binary_output: bool"},                                               \
		.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,                                 \
		.shape = shape_,                                                                     \
		.run = run_,                                                                         \
	};
COUNT(DenseCountSparseOutput, "values: T", dense_shape, dense_run,
	"how often each number below maxlength is in the rows of values, or the sum of its weights, as a sparse tensor")
COUNT(SparseCountSparseOutput, "indices: i64, values: T, dense_shape: i64", sparse_shape, sparse_run,
	"DenseCountSparseOutput of a sparse tensor")
COUNT(RaggedCountSparseOutput, "splits: i64, values: T", ragged_shape, ragged_run,
	"DenseCountSparseOutput of a ragged tensor")
