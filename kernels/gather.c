/* Rows by index: Gather, GatherV2, GatherNd. */
#include "kernels/gradient_helpers.h"
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

#include <inttypes.h>
#include <string.h>

enum { PARAMS, INDICES, AXIS };

/*
 * With params as [batch, outer, dim, inner] and indices as [batch, picks], the result is [batch, outer, picks, inner].
 * Gather is GatherV2 with axis 0 and no batch dimensions.
 */
struct pick {
	int axis, batch_dims;
};

static struct dfg_err *pick_of(const struct dfg_resolved_node *call, const struct dfg_shape *params,
	const struct dfg_shape *indices, int64_t given, struct pick *out_pick)
{
	bool v2 = call->n_in > AXIS;
	int64_t batch = v2 ? call->attr[0].i : 0;
	*out_pick = (struct pick){0};
	if (!v2 && params->rank == 0)
		return DFG_ERR(DFG_DATA, "params is a scalar, expected at least one dimension");
	if (v2)
		DFG_TRY(dfg_axis(given, params->rank, &out_pick->axis));
	if (batch < -indices->rank || batch > indices->rank)
		return DFG_ERR(
			DFG_DATA, "batch_dims is %" PRId64 ", out of range for indices %s", batch, dfg_shape_words(indices).s);
	out_pick->batch_dims = (int)(batch < 0 ? batch + indices->rank : batch);
	if (out_pick->batch_dims > out_pick->axis)
		return DFG_ERR(DFG_DATA, "batch_dims is %d, more than axis %d", out_pick->batch_dims, out_pick->axis);
	for (int d = 0; d < out_pick->batch_dims; d++)
		if (params->dim[d] != indices->dim[d] && params->dim[d] >= 0 && indices->dim[d] >= 0)
			return DFG_ERR(DFG_DATA, "params %s and indices %s differ in batch dimension %d", dfg_shape_words(params).s,
				dfg_shape_words(indices).s, d);
	return NULL;
}

static struct dfg_err *gather_shape(struct dfg_infer *node)
{
	const struct dfg_shape *params = node->in[PARAMS], *indices = node->in[INDICES];
	struct dfg_shape *out = &node->out[0];
	struct pick pick;
	int64_t axis = node->call->n_in > AXIS ? dfg_int_of(node, AXIS, 0) : 0;
	if (node->call->n_in > AXIS)
		DFG_TRY(dfg_need_rank(node, AXIS, 0));
	if (axis == DFG_NOT_KNOWN || params->rank < 0 || indices->rank < 0)
		return NULL;
	DFG_TRY(pick_of(node->call, params, indices, axis, &pick));
	int rank = params->rank - 1 + indices->rank - pick.batch_dims, d = 0;
	if (rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the result has %d dimensions: the limit is %d", rank, DFG_RANK_MAX);
	for (int i = 0; i < pick.axis; i++)
		out->dim[d++] = params->dim[i];
	for (int i = pick.batch_dims; i < indices->rank; i++)
		out->dim[d++] = indices->dim[i];
	for (int i = pick.axis + 1; i < params->rank; i++)
		out->dim[d++] = params->dim[i];
	out->rank = rank;
	return NULL;
}

/* The values of elements of a known vector stay known. */
static struct dfg_err *gather_known(struct dfg_infer *node)
{
	const struct dfg_known_value *params = node->known[PARAMS], *indices = node->known[INDICES];
	struct dfg_known_value *known;
	if (!params || params->rank != 1 || !indices || node->out[0].rank < 0 || node->out[0].rank > 1)
		return NULL;
	DFG_TRY(dfg_known_new(node, 0, node->out[0].rank, indices->count, &known));
	for (int64_t k = 0; known && k < indices->count; k++)
		if (indices->v[k] >= 0 && indices->v[k] < params->count)
			known->v[k] = params->v[indices->v[k]];
	return NULL;
}

struct gather {
	const struct dfg_tensor *params, *indices;
	struct dfg_tensor *out;
	int64_t outer, dim, inner, picks; /* the batch size follows from these */
	size_t bytes;                     /* of a row: inner elements */
};

static inline int64_t index_at(const struct dfg_tensor *indices, int64_t i)
{
	if (indices->dtype == DFG_I32)
		return ((const int32_t *)indices->data)[i];
	return indices->dtype == DFG_I64 ? ((const int64_t *)indices->data)[i] : dfg_tensor_int(indices, i);
}

/* Elements of 4 bytes at indices of 4 bytes, and rows, along the first axis: no place has to be computed. */
static void gather_leading(const struct gather *g, int64_t first, int64_t last)
{
	const char *params = g->params->data;
	char *out = g->out->data;
	bool is_word = g->bytes == sizeof(uint32_t) && g->indices->dtype == DFG_I32;
	for (int64_t row = first; is_word && row < last; row++)
		memcpy(out + row * (int64_t)sizeof(uint32_t),
			params + ((const int32_t *)g->indices->data)[row] * (int64_t)sizeof(uint32_t), sizeof(uint32_t));
	for (int64_t row = first; !is_word && row < last; row++)
		memcpy(out + row * (int64_t)g->bytes, params + index_at(g->indices, row) * (int64_t)g->bytes, g->bytes);
}

/* Copies rows [first, last) of the output. */
static void gather_rows(void *arg, int64_t first, int64_t last)
{
	const struct gather *g = arg;
	if (g->outer == 1 && g->picks == dfg_shape_count(&g->indices->shape)) {
		gather_leading(g, first, last);
		return;
	}
	const char *params = g->params->data;
	char *out = g->out->data;
	for (int64_t row = first; row < last; row++) {
		int64_t place = row / g->picks, batch = place / g->outer;
		int64_t from = place * g->dim + index_at(g->indices, batch * g->picks + row % g->picks);
		memcpy(out + row * (int64_t)g->bytes, params + from * (int64_t)g->bytes, g->bytes);
	}
}

static struct dfg_err *check_indices(const struct dfg_tensor *indices, int64_t bound)
{
	for (int64_t i = 0, n = dfg_shape_count(&indices->shape); i < n; i++) {
		int64_t index = index_at(indices, i);
		if (index < 0 || index >= bound)
			return DFG_ERR(DFG_DATA, "indices[%" PRId64 "] is %" PRId64 ", outside [0,%" PRId64 ")", i, index, bound);
	}
	return NULL;
}

static struct dfg_err *gather_run(struct dfg_kernel *ctx)
{
	struct gather g = {.params = dfg_kernel_input(ctx, PARAMS), .indices = dfg_kernel_input(ctx, INDICES)};
	const struct dfg_shape *params = &g.params->shape, *indices = &g.indices->shape;
	int64_t axis = ctx->call->n_in > AXIS ? dfg_tensor_int(ctx->in[AXIS], 0) : 0;
	struct pick pick;
	DFG_TRY(dfg_output_now(ctx, &g.out));
	DFG_TRY(pick_of(ctx->call, params, indices, axis, &pick));
	g.outer = dfg_count_between(params, pick.batch_dims, pick.axis);
	g.dim = params->dim[pick.axis];
	g.inner = dfg_count_between(params, pick.axis + 1, params->rank);
	g.picks = dfg_count_between(indices, pick.batch_dims, indices->rank);
	g.bytes = (size_t)g.inner * dfg_dtype_size(g.params->dtype);
	int64_t count = dfg_shape_count(&g.out->shape);
	if (!count)
		return NULL;
	DFG_TRY(check_indices(g.indices, g.dim));
	dfg_kernel_ranges(ctx, count / g.inner, (1 << 15) / g.inner + 1, gather_rows, &g);
	return dfg_moved(ctx, 0);
}

/* For axis 0: the cotangent is the gathered rows, flat, with their indices (IndexedSlices). */
static struct dfg_err *gather_gradient(struct dfg_gradient *node)
{
	const struct dfg_shape params = dfg_adjoint_fact(node, node->in[PARAMS]).shape;
	int64_t all = -1;
	struct dfg_edge flat, params_shape, from, lead, shape[2], rows, ids;
	DFG_TRY(dfg_adjoint_ints(node, 1, &all, 1, &flat));
	DFG_TRY(dfg_adjoint_op(node, "Reshape", node->in[INDICES], flat, DFG_NO_EDGE, &ids));
	if (params.rank == 1) {
		DFG_TRY(dfg_adjoint_op(node, "Reshape", node->dy[0], flat, DFG_NO_EDGE, &rows));
		dfg_gradient_set_rows(node, PARAMS, rows, ids);
		return NULL;
	}
	/* Reshape to the number of rows and the dimensions of a row; -1 is ambiguous if rows have no elements. */
	DFG_TRY(dfg_adjoint_shape(node, node->in[PARAMS], &params_shape));
	DFG_TRY(dfg_adjoint_ints(node, 1, (int64_t[]){1}, 1, &from));
	DFG_TRY(dfg_adjoint_ints(node, 1, (int64_t[]){-1}, 1, &lead));
	DFG_TRY(dfg_adjoint_op(node, "Slice", params_shape, from, lead, &shape[1]));
	DFG_TRY(dfg_gradient_op(node, "Shape", &ids, 1, NULL, 0, &shape[0]));
	struct dfg_edge axis, parts[3] = {shape[0], shape[1]};
	DFG_TRY(dfg_adjoint_ints(node, 0, (int64_t[]){0}, 1, &axis));
	parts[2] = axis;
	DFG_TRY(dfg_gradient_op(node, "ConcatV2", parts, 3, NULL, 0, &lead));
	DFG_TRY(dfg_adjoint_op(node, "Reshape", node->dy[0], lead, DFG_NO_EDGE, &rows));
	dfg_gradient_set_rows(node, PARAMS, rows, ids);
	return NULL;
}

/* A lookup of each row's indices in a table that is the same for all, or along another axis of each row. */
static const char *rows_gathered(const struct dfg_infer *node, uint64_t by_row)
{
	int64_t axis = node->call->n_in > 2 ? dfg_int_of(node, 2, 0) : 0;
	if (node->call->n_in > 2 && node->call->attr[0].i)
		return "it has batch dimensions";
	if (by_row == 1)
		return dfg_rows_axis(axis, node->in[0]->rank);
	return by_row == 2 && axis == 0 && node->in[1]->rank > 0
			   ? NULL
			   : "it gathers by the batch along an axis other than the first";
}

const struct dfg_op dfg_op_Gather = {
	.name = "Gather",
	.doc = "the rows of params at indices",
	.sig = "<Tparams: type, Tindices: index>(params: Tparams, indices: Tindices) -> (output: Tparams)",
	.attr = {"validate_indices: bool = true"},
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.means = DFG_MEANS_ELEMENT,
	.shape = gather_shape,
	.known = gather_known,
	.rows = rows_gathered,
	.gradient_fn = gather_gradient,
	.run = gather_run,
};

/*
 * For any axis and batch dimensions, with batch, outer, picks and inner as above: the cotangent is transposed to
 * [batch * picks, outer, inner], summed by segment batch * dim + index, and transposed back.
 */
static const char gather_axis_gradient[] =
	"shape = Shape(params)\n"
	"at = FloorMod(i32(axis), Rank(params))\n"
	"ids = Shape(indices)\n"
	"static if batch_dims < 0 { lead = batch_dims + Rank(indices) } else { lead = batch_dims }\n"
	"batch = Prod(Slice(shape, [0], Pack([lead])), 0)\n"
	"outer = Prod(Slice(shape, Pack([lead]), Pack([at - lead])), 0)\n"
	"dim = GatherV2(shape, at, 0)\n"
	"inner = Prod(Slice(shape, Pack([at + 1]), [-1]), 0)\n"
	"picks = Prod(Slice(ids, Pack([lead]), [-1]), 0)\n"
	"rows = Transpose(Reshape(doutput, Pack([batch, outer, picks, inner])), [0, 2, 1, 3])\n"
	"first = Reshape(Range(0, batch, 1) * dim, [-1, 1])\n"
	"number = Reshape(i32(Reshape(indices, Pack([batch, picks]))) + first, [-1])\n"
	"sums = UnsortedSegmentSum(Reshape(rows, Pack([batch * picks, outer, inner])), number, batch * dim)\n"
	"dparams = Reshape(Transpose(Reshape(sums, Pack([batch, dim, outer, inner])), [0, 2, 1, 3]), shape)";

static struct dfg_err *gather_v2_gradient(struct dfg_gradient *node)
{
	const struct dfg_known_value *axis = dfg_adjoint_fact(node, node->in[AXIS]).known;
	if (axis && axis->v[0] == 0 && !node->call->attr[0].i)
		return gather_gradient(node);
	return dfg_gradient_formula(node, gather_axis_gradient);
}

const struct dfg_op dfg_op_GatherV2 = {
	.name = "GatherV2",
	.doc = "the slices of params at indices along an axis; the first batch_dims dimensions of both are the batch",
	.sig =
		"<Tparams: type, Tindices: index|i16, Taxis: index>"
		"(params: Tparams, indices: Tindices, axis: Taxis) -> (output: Tparams)",
	.attr = {"batch_dims: int = 0"},
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.means = DFG_MEANS_ELEMENT,
	.shape = gather_shape,
	.known = gather_known,
	.rows = rows_gathered,
	.gradient_fn = gather_v2_gradient,
	.run = gather_run,
};

/*
 * The last dimension of indices is an index of the first dimensions of params; the dimensions after them are a row's.
 */
static struct dfg_err *gather_nd_shape(struct dfg_infer *node)
{
	const struct dfg_shape *params = node->in[PARAMS], *indices = node->in[INDICES];
	if (!indices->rank)
		return DFG_ERR(DFG_DATA, "indices are a scalar, expected at least a vector");
	if (!params->rank)
		return DFG_ERR(DFG_DATA, "params are a scalar, expected at least a vector");
	int64_t depth = indices->dim[indices->rank - 1];
	if (depth > params->rank)
		return DFG_ERR(DFG_DATA, "the last dimension of indices is %" PRId64 ", more than the rank of params %s", depth,
			dfg_shape_words(params).s);
	if (depth < 0)
		return NULL;
	int rank = indices->rank - 1 + params->rank - (int)depth;
	if (rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the result has %d dimensions: the limit is %d", rank, DFG_RANK_MAX);
	node->out[0].rank = rank;
	for (int d = 0; d < rank; d++)
		node->out[0].dim[d] = d < indices->rank - 1 ? indices->dim[d] : params->dim[d - (indices->rank - 1) + depth];
	return NULL;
}

static struct dfg_err *gather_nd_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *params = dfg_kernel_input(ctx, PARAMS), *indices = dfg_kernel_input(ctx, INDICES);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	int depth = (int)indices->shape.dim[indices->shape.rank - 1];
	int64_t inner = dfg_count_between(&params->shape, depth, params->shape.rank);
	int64_t picks = dfg_count_between(&indices->shape, 0, indices->shape.rank - 1);
	size_t bytes = (size_t)inner * dfg_dtype_size(params->dtype);
	bool ignore = ctx->call->attr[0].s.length == strlen("IGNORE");
	if (picks && !dfg_shape_count(&params->shape))
		return DFG_ERR(
			DFG_DATA, "params %s have no elements, but indices select some", dfg_shape_words(&params->shape).s);
	for (int64_t i = 0; i < picks; i++) {
		int64_t row = 0;
		bool inside = true;
		for (int d = 0; d < depth; d++) {
			int64_t index = dfg_tensor_int(indices, i * depth + d);
			inside &= index >= 0 && index < params->shape.dim[d];
			if (!inside && !ignore)
				return DFG_ERR(DFG_DATA, "indices[%" PRId64 ",%d] is %" PRId64 ", outside [0,%" PRId64 ")", i, d, index,
					params->shape.dim[d]);
			row = row * params->shape.dim[d] + index;
		}
		if (inside)
			memcpy((char *)out->data + (size_t)i * bytes, (const char *)params->data + (size_t)row * bytes, bytes);
		else
			memset((char *)out->data + (size_t)i * bytes, 0, bytes);
	}
	return dfg_moved(ctx, 0);
}

const struct dfg_op dfg_op_GatherNd = {
	.name = "GatherNd",
	.doc = "the elements or slices of params at indices; each row of indices is the index of one",
	.sig = "<Tparams: type, Tindices: index|i16>(params: Tparams, indices: Tindices) -> (output: Tparams)",
	.flags = DFG_EXACT,
	.attr = {"bad_indices_policy: string = '' in |DEFAULT|ERROR|IGNORE"},
	.shape = gather_nd_shape,
	/* ScatterNd requires at least a matrix, and indices may be a single vector. */
	.gradient =
		"dparams = ScatterNd(ExpandDims(indices, 0), ExpandDims(doutput, 0), Shape(params, out_type = Tindices))",
	.run = gather_nd_run,
};
