/*
 * Sets: the values along the last axis of a dense tensor, or in the last dimension of a sparse one. The dimensions before it
 * number the groups, each of which is a set.
 */
#define _GNU_SOURCE
#include "kernels/sparse.h"
#include "kernels/strided_copy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A value of a set, by its place in the tensor. */
struct item {
	int64_t group, place;
};

/* Items in the order of groups, then of values, each value once a group; dim are the dimensions of the groups. */
struct sets {
	const struct dfg_tensor *values;
	struct item *item;
	int64_t n;
	int rank;
	const int64_t *dim;
};

static int compare_strings(const struct dfg_string *a, const struct dfg_string *b)
{
	const size_t shorter = a->length < b->length ? a->length : b->length;
	const int order = shorter ? memcmp(a->s, b->s, shorter) : 0;
	return order ? order : a->length < b->length ? -1 : a->length > b->length;
}

static int compare_values(const struct dfg_tensor *a, int64_t i, const struct dfg_tensor *b, int64_t j)
{
	if (a->dtype == DFG_STRING)
		return compare_strings((const struct dfg_string *)a->data + i, (const struct dfg_string *)b->data + j);
	const int64_t x = dfg_tensor_int(a, i), y = dfg_tensor_int(b, j);
	return x < y ? -1 : x > y;
}

static int compare_items(const struct sets *a, const struct item *i, const struct sets *b, const struct item *j)
{
	return i->group != j->group ? (i->group < j->group ? -1 : 1)
								: compare_values(a->values, i->place, b->values, j->place);
}

static int by_group_and_value(const void *a, const void *b, void *sets)
{
	return compare_items(sets, a, sets, b);
}

/* Brings the items in order and removes those that are there twice. */
static void order_items(struct sets *sets)
{
	int64_t kept = 0;
	qsort_r(sets->item, (size_t)sets->n, sizeof *sets->item, by_group_and_value, sets);
	for (int64_t i = 0; i < sets->n; i++)
		if (!kept || compare_items(sets, &sets->item[kept - 1], sets, &sets->item[i]))
			sets->item[kept++] = sets->item[i];
	sets->n = kept;
}

static struct dfg_err *take_items(struct dfg_kernel *ctx, int64_t n, struct sets *sets)
{
	sets->n = n;
	return dfg_kernel_scratch(ctx, ((size_t)n + 1) * sizeof *sets->item, (void **)&sets->item);
}

static struct dfg_err *dense_sets(struct dfg_kernel *ctx, int i, struct sets *out_sets)
{
	const struct dfg_tensor *values = dfg_kernel_input(ctx, i);
	*out_sets = (struct sets){.values = values, .rank = values->shape.rank - 1, .dim = values->shape.dim};
	DFG_TRY(take_items(ctx, dfg_shape_count(&values->shape), out_sets));
	for (int64_t k = 0; k < out_sets->n; k++)
		out_sets->item[k] = (struct item){k / values->shape.dim[out_sets->rank], k};
	order_items(out_sets);
	return NULL;
}

static struct dfg_err *check_order(const struct dfg_sparse *s)
{
	for (int64_t e = 1; e < s->n; e++)
		if (dfg_sparse_compare(s->at + (e - 1) * s->rank, s->at + e * s->rank, s->rank) >= 0)
			return DFG_ERR(DFG_DATA, "the index of entry %" PRId64 " is not after that of the entry before it", e);
	return NULL;
}

/* The sets of the sparse tensor in inputs i to i + 2; in order if the attribute asks for that. */
static struct dfg_err *sparse_sets(struct dfg_kernel *ctx, int i, bool ordered, struct sets *out_sets)
{
	struct dfg_sparse s;
	DFG_TRY(dfg_sparse_of(ctx, i, i + 1, i + 2, &s));
	if (s.rank < 2)
		return DFG_ERR(DFG_DATA, "input %d, a dense shape, has %d dimensions, expected at least 2", i + 2, s.rank);
	if (ordered)
		DFG_TRY(check_order(&s));
	*out_sets = (struct sets){.values = dfg_kernel_input(ctx, i + 1), .rank = s.rank - 1, .dim = s.dim};
	DFG_TRY(take_items(ctx, s.n, out_sets));
	for (int64_t e = 0; e < s.n; e++) {
		int64_t group = 0;
		for (int d = 0; d < out_sets->rank; d++)
			group = group * s.dim[d] + s.at[e * s.rank + d];
		out_sets->item[e] = (struct item){group, e};
	}
	order_items(out_sets);
	return NULL;
}

/* SetSize. */
enum { SIZE_INDICES, SIZE_VALUES, SIZE_DIMS };
enum { SIZE_VALIDATE };

static struct dfg_err *size_shape(struct dfg_infer *node)
{
	struct dfg_shape dims;
	DFG_TRY(dfg_sparse_need(node, SIZE_INDICES, SIZE_VALUES, SIZE_DIMS));
	const int64_t rank = dfg_length_of(node, SIZE_DIMS);
	if (rank == DFG_UNKNOWN)
		return NULL;
	if (rank < 2 || rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "set_shape has %" PRId64 " dimensions, expected 2 to %d", rank, DFG_RANK_MAX);
	DFG_TRY(dfg_shape_of(node, SIZE_DIMS, &dims));
	node->out[0] = dims;
	node->out[0].rank--;
	return NULL;
}

static struct dfg_err *size_run(struct dfg_kernel *ctx)
{
	struct sets sets;
	struct dfg_tensor *out;
	DFG_TRY(sparse_sets(ctx, SIZE_INDICES, dfg_kernel_attr(ctx)[SIZE_VALIDATE].b, &sets));
	DFG_TRY(dfg_output_now(ctx, &out));
	memset(out->data, 0, dfg_tensor_bytes(out));
	for (int64_t k = 0; k < sets.n; k++)
		((int32_t *)out->data)[sets.item[k].group]++;
	return NULL;
}

#define SET_TYPES "i8|i16|i32|i64|u8|u16|string"
const struct dfg_op dfg_op_SetSize = {
	.name = "SetSize",
	.doc = "the number of different values in each set of a sparse tensor",
	.sig = "<T: " SET_TYPES ">(set_indices: i64, set_values: T, set_shape: i64) -> (size: i32)",
	.attr = {[SIZE_VALIDATE] = "validate_indices: bool = true"},
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_EXACT,
	.shape = size_shape,
	.run = size_run,
};

/* Operations of two sets. */
enum { OPERATION, VALIDATE };

/* Whether a value belongs to the result if it is in the first set, in the second, in both. */
static struct dfg_err *read_operation(const struct dfg_resolved_node *call, bool belongs[3])
{
	static const struct {
		const char *name;
		bool belongs[3];
	} operations[] = {
		{"a-b", {true, false, false}},
		{"b-a", {false, true, false}},
		{"intersection", {false, false, true}},
		{"union", {true, true, true}},
	};
	const struct dfg_string name = call->attr[OPERATION].s;
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (strlen(operations[i].name) == name.length && !strncasecmp(operations[i].name, name.s, name.length)) {
			memcpy(belongs, operations[i].belongs, sizeof operations[i].belongs);
			return NULL;
		}
	return DFG_ERR(DFG_DATA, "set_operation is '%.*s', expected a-b, b-a, intersection or union",
		(int)(name.length < 40 ? name.length : 40), name.s);
}

/* Output k of a merge of two ordered lists of items: from the first or the second. */
struct result {
	const struct sets *of;
	struct item item;
};

static int64_t merge(const struct sets *a, const struct sets *b, const bool belongs[3], struct result *result)
{
	int64_t n = 0;
	for (int64_t i = 0, j = 0; i < a->n || j < b->n;) {
		const int order = i == a->n ? 1 : j == b->n ? -1 : compare_items(a, &a->item[i], b, &b->item[j]);
		if (belongs[order < 0 ? 0 : order > 0 ? 1 : 2])
			result[n++] = order > 0 ? (struct result){b, b->item[j]} : (struct result){a, a->item[i]};
		i += order <= 0;
		j += order >= 0;
	}
	return n;
}

static void set_index(int64_t *at, int64_t group, const struct sets *sets, int64_t position)
{
	at[sets->rank] = position;
	for (int d = sets->rank - 1; d >= 0; d--) {
		at[d] = group % sets->dim[d];
		group /= sets->dim[d];
	}
}

/* The outputs: a sparse tensor with the results of each group one after another. */
static struct dfg_err *give_results(
	struct dfg_kernel *ctx, const struct sets *sets, const struct result *result, int64_t n)
{
	const size_t size = dfg_dtype_size(sets->values->dtype);
	const int rank = sets->rank + 1;
	struct dfg_tensor *indices, *values, *shape;
	int64_t position = 0, most = 0;
	DFG_TRY(dfg_kernel_output(ctx, 0, &(struct dfg_shape){.rank = 2, .dim = {n, rank}}, &indices));
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(n), &values));
	DFG_TRY(dfg_kernel_output(ctx, 2, &DFG_SHAPE_VECTOR(rank), &shape));
	for (int64_t k = 0; k < n; k++) {
		position = k && result[k].item.group == result[k - 1].item.group ? position + 1 : 0;
		most = position + 1 > most ? position + 1 : most;
		set_index((int64_t *)indices->data + k * rank, result[k].item.group, sets, position);
		memcpy(
			(char *)values->data + (size_t)k * size, dfg_tensor_at(result[k].of->values, result[k].item.place), size);
	}
	for (int d = 0; d < sets->rank; d++)
		((int64_t *)shape->data)[d] = sets->dim[d];
	((int64_t *)shape->data)[rank - 1] = most;
	return dfg_moved(ctx, 1);
}

static struct dfg_err *operate(struct dfg_kernel *ctx, const struct sets *a, const struct sets *b)
{
	bool belongs[3], same = a->rank == b->rank;
	struct result *result;
	DFG_TRY(read_operation(ctx->call, belongs));
	for (int d = 0; same && d < a->rank; d++)
		same = a->dim[d] == b->dim[d];
	if (!same)
		return DFG_ERR(DFG_DATA, "the two inputs have different shapes before the last dimension");
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)a->n + (size_t)b->n + 1) * sizeof *result, (void **)&result));
	return give_results(ctx, a, result, merge(a, b, belongs, result));
}

/* Input i is dense sets of at least rank 2. */
static struct dfg_err *need_dense(const struct dfg_infer *node, int i)
{
	if (node->in[i]->rank >= 0 && node->in[i]->rank < 2)
		return DFG_ERR(
			DFG_DATA, "input %d has shape %s, expected at least 2 dimensions", i, dfg_shape_words(node->in[i]).s);
	return NULL;
}

static struct dfg_err *dense_dense_shape(struct dfg_infer *node)
{
	bool belongs[3];
	DFG_TRY(read_operation(node->call, belongs));
	DFG_TRY(need_dense(node, 0));
	DFG_TRY(need_dense(node, 1));
	if (node->in[0]->rank >= 0 && node->in[1]->rank >= 0 && node->in[0]->rank != node->in[1]->rank)
		return DFG_ERR(DFG_DATA, "the sets have shapes %s and %s, expected equal ranks", dfg_shape_words(node->in[0]).s,
			dfg_shape_words(node->in[1]).s);
	dfg_sparse_infer(node, 0, node->in[0]->rank < 0 ? node->in[1]->rank : node->in[0]->rank);
	return NULL;
}

static struct dfg_err *dense_dense_run(struct dfg_kernel *ctx)
{
	struct sets a, b;
	DFG_TRY(dense_sets(ctx, 0, &a));
	DFG_TRY(dense_sets(ctx, 1, &b));
	return operate(ctx, &a, &b);
}

static struct dfg_err *dense_sparse_shape(struct dfg_infer *node)
{
	bool belongs[3];
	DFG_TRY(read_operation(node->call, belongs));
	DFG_TRY(need_dense(node, 0));
	DFG_TRY(dfg_sparse_need(node, 1, 2, 3));
	dfg_sparse_infer(node, 0, node->in[0]->rank < 0 ? dfg_length_of(node, 3) : node->in[0]->rank);
	return NULL;
}

static struct dfg_err *dense_sparse_run(struct dfg_kernel *ctx)
{
	struct sets a, b;
	DFG_TRY(dense_sets(ctx, 0, &a));
	DFG_TRY(sparse_sets(ctx, 1, dfg_kernel_attr(ctx)[VALIDATE].b, &b));
	return operate(ctx, &a, &b);
}

static struct dfg_err *sparse_sparse_shape(struct dfg_infer *node)
{
	bool belongs[3];
	DFG_TRY(read_operation(node->call, belongs));
	DFG_TRY(dfg_sparse_need(node, 0, 1, 2));
	DFG_TRY(dfg_sparse_need(node, 3, 4, 5));
	dfg_sparse_infer(node, 0, dfg_length_of(node, 2));
	return NULL;
}

static struct dfg_err *sparse_sparse_run(struct dfg_kernel *ctx)
{
	const bool ordered = dfg_kernel_attr(ctx)[VALIDATE].b;
	struct sets a, b;
	DFG_TRY(sparse_sets(ctx, 0, ordered, &a));
	DFG_TRY(sparse_sets(ctx, 3, ordered, &b));
	return operate(ctx, &a, &b);
}

#define SET_OPERATION(Op, inputs, shape_, run_)                                                                   \
	const struct dfg_op dfg_op_##Op = {                                                                           \
		.name = #Op,                                                                                              \
		.doc = "the union, intersection or difference of each pair of sets, as a sparse tensor of sorted values", \
		.sig = "<T: " SET_TYPES ">(" inputs ") -> (result_indices: i64, result_values: T, result_shape: i64)",    \
		.attr = {[OPERATION] = "set_operation: string", [VALIDATE] = "validate_indices: bool = true"},            \
		.flags = DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_EXACT,                                                      \
		.shape = shape_,                                                                                          \
		.run = run_,                                                                                              \
	};
SET_OPERATION(DenseToDenseSetOperation, "set1: T, set2: T", dense_dense_shape, dense_dense_run)
SET_OPERATION(DenseToSparseSetOperation, "set1: T, set2_indices: i64, set2_values: T, set2_shape: i64",
	dense_sparse_shape, dense_sparse_run)
SET_OPERATION(SparseToSparseSetOperation,
	"set1_indices: i64, set1_values: T, set1_shape: i64, set2_indices: i64, set2_values: T, set2_shape: i64",
	sparse_sparse_shape, sparse_sparse_run)
