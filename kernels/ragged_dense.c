/* RaggedTensorToTensor: a ragged tensor as a dense one, cut or padded to a shape. */
#include "kernels/gradient_helpers.h"
#include "kernels/shape_rules.h"
#include "kernels/strided_copy.h"

#include <inttypes.h>
#include <string.h>

enum { SHAPE, VALUES, DEFAULT, PARTITIONS }; /* inputs */
enum { COUNT = 3 };                          /* parameter of the signature */
enum { TYPES };                              /* attribute */

/* The forms of a partition: FIRST_DIM_SIZE gives the number of rows of the first dimension alone. */
enum form { SIZE, ROWIDS, SPLITS, INVALID };

static enum form form_of(struct dfg_string name)
{
	static const char *const known[] = {"FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS"};
	for (int i = 0; i < INVALID; i++)
		if (name.length == strlen(known[i]) && !memcmp(name.s, known[i], name.length))
			return (enum form)i;
	return INVALID;
}

static enum form form_at(const struct dfg_resolved_node *call, int i)
{
	return form_of(call->attr[TYPES].list->item[i].s);
}

/* The number of ragged dimensions, and the first of their partitions. */
static int partitions_of(const struct dfg_resolved_node *call, int *out_first)
{
	*out_first = form_at(call, 0) == SIZE;
	return (int)call->param[COUNT].i - *out_first;
}

static struct dfg_err *check_types(const struct dfg_resolved_node *call)
{
	const struct dfg_list *types = call->attr[TYPES].list;
	if (types->count != call->param[COUNT].i)
		return DFG_ERR(DFG_DATA, "row_partition_types has %u names, expected %" PRId64 ", one for each partition",
			types->count, call->param[COUNT].i);
	for (uint32_t i = 0; i < types->count; i++) {
		enum form form = form_of(types->item[i].s);
		if (form == INVALID || (form == SIZE && i) || (form == ROWIDS && !i))
			return DFG_ERR(DFG_DATA, "row partition %u is %.*s, expected %s", i,
				(int)(types->item[i].s.length < 40 ? types->item[i].s.length : 40), types->item[i].s.s,
				i ? "VALUE_ROWIDS or ROW_SPLITS" : "FIRST_DIM_SIZE or ROW_SPLITS");
	}
	if (types->count == 1 && form_at(call, 0) == SIZE)
		return DFG_ERR(DFG_DATA, "row_partition_types has only FIRST_DIM_SIZE, expected a partition after it");
	return NULL;
}

/* The dimensions of `want` that are known replace those of the ragged dimensions, and must be equal to those of the values. */
static struct dfg_err *merge_wanted(const struct dfg_shape *want, int ragged, struct dfg_shape *shape)
{
	if (want->rank != shape->rank)
		return DFG_ERR(DFG_DATA, "shape is %s, expected rank %d", dfg_shape_words(want).s, shape->rank);
	for (int d = 0; d < shape->rank; d++) {
		if (want->dim[d] < 0)
			continue;
		if (d > ragged && shape->dim[d] >= 0 && shape->dim[d] != want->dim[d])
			return DFG_ERR(DFG_DATA, "shape is %s, but the values have %" PRId64 " in dimension %d",
				dfg_shape_words(want).s, shape->dim[d], d);
		shape->dim[d] = want->dim[d];
	}
	return NULL;
}

static struct dfg_err *dense_shape(struct dfg_infer *node)
{
	const struct dfg_shape *values = node->in[VALUES];
	struct dfg_shape want = {0};
	int first;
	DFG_TRY(check_types(node->call));
	const int ragged = partitions_of(node->call, &first);
	if (values->rank < 0 || node->in[SHAPE]->rank < 0)
		return NULL;
	if (values->rank == 0)
		return DFG_ERR(DFG_DATA, "values are a scalar, expected at least a vector");
	if (values->rank + ragged > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the result has %d dimensions, %d of them ragged: the limit is %d",
			values->rank + ragged, ragged, DFG_RANK_MAX);
	node->out[0] = (struct dfg_shape){.rank = values->rank + ragged};
	for (int d = 0; d < node->out[0].rank; d++)
		node->out[0].dim[d] = d <= ragged ? DFG_UNKNOWN : values->dim[d - ragged];
	if (node->in[SHAPE]->rank == 0 || node->in[SHAPE]->dim[0] < 0)
		return NULL;
	DFG_TRY(dfg_shape_of(node, SHAPE, &want));
	return want.rank < 0 ? NULL : merge_wanted(&want, ragged, &node->out[0]);
}

/* Walks the rows that a partition gives: the row of each element, and its place in the row. */
struct walk {
	const struct dfg_tensor *partition;
	enum form form;
	int64_t row, place, rows; /* rows: of the dimension above */
};

static struct dfg_err *next_by_splits(struct walk *w, int64_t element)
{
	const struct dfg_tensor *splits = w->partition;
	while (w->row < 0 || dfg_tensor_int(splits, w->row + 1) <= element)
		w->row++;
	w->place = element - dfg_tensor_int(splits, w->row);
	return NULL;
}

static struct dfg_err *next_by_rowids(struct walk *w, int64_t element)
{
	const int64_t row = dfg_tensor_int(w->partition, element);
	if (row < 0 || row >= w->rows || row < w->row)
		return DFG_ERR(DFG_DATA, "row ids: element %" PRId64 " is %" PRId64 ", which is %s", element, row,
			row < w->row ? "out of order" : "not the number of a row");
	w->place = row == w->row ? w->place + 1 : 0;
	w->row = row;
	return NULL;
}

static struct dfg_err *next_element(struct walk *w, int64_t element)
{
	return w->form == SPLITS ? next_by_splits(w, element) : next_by_rowids(w, element);
}

/* The number of elements that a partition divides; checks it. `rows` are those of the dimension above, -1: any number. */
static struct dfg_err *count_elements(
	const struct dfg_tensor *partition, enum form form, int64_t rows, int64_t *out_count)
{
	int64_t last = 0;
	if (partition->shape.rank != 1 || (form == SPLITS && partition->shape.dim[0] < 1))
		return DFG_ERR(
			DFG_DATA, "a row partition has shape %s, expected a vector", dfg_shape_words(&partition->shape).s);
	*out_count = partition->shape.dim[0];
	if (form == ROWIDS)
		return NULL;
	if (rows >= 0 && partition->shape.dim[0] != rows + 1)
		return DFG_ERR(DFG_DATA, "row splits have %" PRId64 " elements, expected one more than the %" PRId64 " rows",
			partition->shape.dim[0], rows);
	for (int64_t i = 0; i < partition->shape.dim[0]; i++) {
		int64_t at = dfg_tensor_int(partition, i);
		if (i ? at < last : at != 0)
			return DFG_ERR(DFG_DATA, "row split %" PRId64 " is %" PRId64 ", expected %s%" PRId64, i, at,
				i ? "at least " : "", last);
		last = at;
	}
	*out_count = last;
	return NULL;
}

/* The longest row of each ragged dimension, where the shape does not say it; and the first dimension. */
struct dense {
	int ragged, first;
	int64_t count[DFG_RANK_MAX]; /* elements of each dimension: [0] rows, [ragged] values */
	struct dfg_shape shape;
};

static struct walk walk_of(struct dfg_kernel *ctx, const struct dense *dense, int d)
{
	const int i = dense->first + d;
	return (struct walk){ctx->in[PARTITIONS + i], form_at(ctx->call, i), -1, 0, dense->count[d]};
}

static struct dfg_err *measure_rows(struct dfg_kernel *ctx, struct dense *dense, int d)
{
	struct walk w = walk_of(ctx, dense, d);
	int64_t widest = 0;
	DFG_TRY(count_elements(w.partition, w.form, w.rows, &dense->count[d + 1]));
	for (int64_t i = 0; i < dense->count[d + 1]; i++) {
		DFG_TRY(next_element(&w, i));
		widest = w.place >= widest ? w.place + 1 : widest;
	}
	if (dense->shape.dim[d + 1] < 0)
		dense->shape.dim[d + 1] = widest;
	return NULL;
}

static struct dfg_err *measure(struct dfg_kernel *ctx, struct dense *dense)
{
	const struct dfg_tensor *values = ctx->in[VALUES], *top = ctx->in[PARTITIONS];
	dense->ragged = partitions_of(ctx->call, &dense->first);
	DFG_TRY(dfg_shapes_now(ctx, 1, &dense->shape));
	if (dense->first && (top->shape.rank || dfg_tensor_int(top, 0) < 0))
		return DFG_ERR(DFG_DATA, "the size of the first dimension is %s, expected a number that is not negative",
			top->shape.rank ? dfg_shape_words(&top->shape).s : "negative");
	if (!dense->first && (top->shape.rank != 1 || top->shape.dim[0] < 1))
		return DFG_ERR(DFG_DATA, "row splits have shape %s, expected a vector of at least one element",
			dfg_shape_words(&top->shape).s);
	dense->count[0] = dense->first ? dfg_tensor_int(top, 0) : top->shape.dim[0] - 1;
	if (dense->shape.dim[0] < 0)
		dense->shape.dim[0] = dense->count[0];
	for (int d = 0; d < dense->ragged; d++)
		DFG_TRY(measure_rows(ctx, dense, d));
	if (dense->count[dense->ragged] != values->shape.dim[0])
		return DFG_ERR(DFG_DATA, "the partitions have %" PRId64 " values, but values have shape %s",
			dense->count[dense->ragged], dfg_shape_words(&values->shape).s);
	return NULL;
}

/* at[i] becomes the row of the result for element i of the last ragged dimension, -1 for one that is cut off. */
static struct dfg_err *place_elements(struct dfg_kernel *ctx, const struct dense *dense, int64_t *at, int64_t *below)
{
	/* From the last dimension to the first, the element's ancestor is followed: below[i] is its number in dimension d. */
	const int64_t n = dense->count[dense->ragged];
	int64_t step = 1;
	for (int64_t i = 0; i < n; i++) {
		at[i] = 0;
		below[i] = i;
	}
	for (int d = dense->ragged; d > 0; d--) {
		struct walk w = walk_of(ctx, dense, d - 1);
		int64_t element = -1;
		for (int64_t i = 0; i < n; i++) {
			for (; element < below[i]; element++)
				DFG_TRY(next_element(&w, element + 1));
			if (w.place >= dense->shape.dim[d])
				at[i] = -1;
			at[i] = at[i] < 0 ? -1 : at[i] + w.place * step;
			below[i] = w.row;
		}
		step *= dense->shape.dim[d];
	}
	for (int64_t i = 0; i < n; i++)
		at[i] = at[i] < 0 || below[i] >= dense->shape.dim[0] ? -1 : at[i] + below[i] * step;
	return NULL;
}

/* Fills the output with the default value, which is broadcast to a row. */
static struct dfg_err *fill_default(struct dfg_kernel *ctx, const struct dense *dense, struct dfg_tensor *out)
{
	const struct dfg_shape *shape = &ctx->in[DEFAULT]->shape;
	struct dfg_strided_box box = {0};
	int64_t rows = dfg_count_between(&dense->shape, 0, dense->ragged + 1);
	int64_t from[DFG_RANK_MAX], to[DFG_RANK_MAX];
	const int inner = dense->shape.rank - dense->ragged - 1;
	if (shape->rank > inner)
		return DFG_ERR(DFG_DATA, "default_value has shape %s, which has more dimensions than a value of %s",
			dfg_shape_words(shape).s, dfg_shape_words(&dense->shape).s);
	dfg_steps(shape, from);
	dfg_steps(&dense->shape, to);
	dfg_box_axis(&box, rows, 0, dfg_count_between(&dense->shape, dense->ragged + 1, dense->shape.rank));
	for (int d = 0; d < inner; d++) {
		const int64_t dim = dense->shape.dim[dense->ragged + 1 + d];
		const int own = d - (inner - shape->rank);
		if (own >= 0 && shape->dim[own] != 1 && shape->dim[own] != dim)
			return DFG_ERR(DFG_DATA, "default_value has shape %s, which does not broadcast to a value of %s",
				dfg_shape_words(shape).s, dfg_shape_words(&dense->shape).s);
		dfg_box_axis(&box, dim, own < 0 || shape->dim[own] == 1 ? 0 : from[own], to[dense->ragged + 1 + d]);
	}
	if (dfg_shape_count(&out->shape))
		dfg_box_copy(ctx, dfg_dtype_size(out->dtype), box, ctx->in[DEFAULT]->data, out->data);
	return NULL;
}

static struct dfg_err *dense_run(struct dfg_kernel *ctx)
{
	struct dense dense = {0};
	struct dfg_tensor *out;
	int64_t *at, *below;
	DFG_TRY(measure(ctx, &dense));
	const int64_t n = dense.count[dense.ragged];
	const size_t bytes = (size_t)dfg_count_between(&dense.shape, dense.ragged + 1, dense.shape.rank) *
						 dfg_dtype_size(ctx->in[VALUES]->dtype);
	DFG_TRY(dfg_kernel_output(ctx, 0, &dense.shape, &out));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)n + 1) * sizeof *at, (void **)&at));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)n + 1) * sizeof *below, (void **)&below));
	DFG_TRY(place_elements(ctx, &dense, at, below));
	DFG_TRY(fill_default(ctx, &dense, out));
	for (int64_t i = 0; i < n && bytes; i++)
		if (at[i] >= 0)
			memcpy((char *)out->data + (size_t)at[i] * bytes, (const char *)ctx->in[VALUES]->data + (size_t)i * bytes,
				bytes);
	return dfg_moved(ctx, 0);
}

/* The number of the value at each place of the outer dimensions, -1 where the default value is. */
static struct dfg_err *numbers_of(
	struct dfg_gradient *node, const struct dfg_edge *scalar, struct dfg_edge size, struct dfg_edge *out_numbers)
{
	const int partitions = (int)node->call->param[COUNT].i;
	int first;
	const int64_t outer = partitions_of(node->call, &first) + 1;
	struct dfg_edge in[3 + DFG_RANK_MAX + 1], begin, length;
	const struct dfg_attr types = {"row_partition_types", DFG_ATTR_LIST, node->call->attr[TYPES]};
	if (partitions > DFG_RANK_MAX + 1)
		return DFG_ERR(DFG_DATA, "has %d partitions, expected at most %d", partitions, DFG_RANK_MAX + 1);
	const struct dfg_edge result = dfg_gradient_output(node, 0);
	DFG_TRY(dfg_gradient_op(node, "Shape", &result, 1, NULL, 0, &in[SHAPE]));
	DFG_TRY(dfg_adjoint_ints(node, 1, &(int64_t){0}, 1, &begin));
	DFG_TRY(dfg_adjoint_ints(node, 1, &outer, 1, &length));
	DFG_TRY(dfg_adjoint_op(node, "Slice", in[SHAPE], begin, length, &in[SHAPE]));
	DFG_TRY(dfg_adjoint_op(node, "Range", scalar[0], size, scalar[1], &in[VALUES]));
	in[DEFAULT] = scalar[2];
	memcpy(in + PARTITIONS, node->in + PARTITIONS, (size_t)partitions * sizeof *in);
	return dfg_gradient_op(
		node, "RaggedTensorToTensor", in, (uint32_t)(PARTITIONS + partitions), &types, 1, out_numbers);
}

/* The sum of all cotangents at default values, over the dimensions along which the default value is broadcast. */
static struct dfg_err *default_gradient(struct dfg_gradient *node, struct dfg_edge places, struct dfg_edge one)
{
	struct dfg_edge sum, shape[2], axes, dx;
	DFG_TRY(dfg_adjoint_op(node, "UnsortedSegmentSum", node->dy[0], places, one, &sum));
	DFG_TRY(dfg_gradient_op(node, "Shape", &node->in[DEFAULT], 1, NULL, 0, &shape[0]));
	DFG_TRY(dfg_gradient_op(node, "Shape", &sum, 1, NULL, 0, &shape[1]));
	DFG_TRY(dfg_gradient_op(node, "BroadcastGradientArgs", shape, 2, NULL, 0, &axes));
	DFG_TRY(dfg_adjoint_op(node, "Sum", sum, axes, DFG_NO_EDGE, &dx));
	DFG_TRY(dfg_adjoint_op(node, "Reshape", dx, shape[0], DFG_NO_EDGE, &dx));
	dfg_gradient_set(node, DEFAULT, dx);
	return NULL;
}

/* The cotangents of the values are at their numbers; the others belong to the default value. */
static struct dfg_err *dense_gradient(struct dfg_gradient *node)
{
	struct dfg_edge scalar[3], numbers, size, places, dx;
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_adjoint_ints(node, 0, &(int64_t){i < 2 ? i : -1}, 1, &scalar[i]));
	DFG_TRY(dfg_gradient_op(node, "Shape", &node->in[VALUES], 1, NULL, 0, &size));
	DFG_TRY(dfg_adjoint_op(node, "GatherV2", size, scalar[0], scalar[0], &size));
	DFG_TRY(numbers_of(node, scalar, size, &numbers));
	if (node->wanted[VALUES]) {
		DFG_TRY(dfg_adjoint_op(node, "UnsortedSegmentSum", node->dy[0], numbers, size, &dx));
		dfg_gradient_set(node, VALUES, dx);
	}
	if (!node->wanted[DEFAULT])
		return NULL;
	DFG_TRY(dfg_adjoint_op(node, "Sub", scalar[2], numbers, DFG_NO_EDGE, &places));
	return default_gradient(node, places, scalar[1]);
}

const struct dfg_op dfg_op_RaggedTensorToTensor = {
	.name = "RaggedTensorToTensor",
	.doc = "a ragged tensor as a dense one: rows are cut, or padded by default_value, to a shape or the longest row",
	.sig =
		"<T: type, Tindex: index, Tshape: index, num_row_partition_tensors: int>(shape: Tshape, values: T, "
		"default_value: T, row_partition_tensors: num_row_partition_tensors * Tindex) -> (result: T)",
	.attr = {[TYPES] = "row_partition_types: list(string)"},
	.flags = DFG_ANY_RANK,
	.shape = dense_shape,
	.gradient_fn = dense_gradient,
	.run = dense_run,
};
