/*
 * Rows of variables by index: gather, and scatter with +, -, *, /, min, max or replacement; rows, or slices by index
 * vectors (ScatterNd...). Updates are applied in order, so the result for repeated indices does not depend on threads.
 */
#include "kernels/variable.h"

#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "lib/pass/grad/grad.h"
#include "kernels/row_rules.h"

#include <inttypes.h>
#include <string.h>

extern const struct dfg_op dfg_op_Add, dfg_op_Sub, dfg_op_Mul, dfg_op_Div, dfg_op_Maximum, dfg_op_Minimum;

enum { VARIABLE, INDICES, UPDATES };

/* Slices, of `inner` elements, of a tensor of that shape by index vectors of `depth` numbers. */
struct slices {
	const struct dfg_tensor *indices;
	struct dfg_shape shape;
	int depth;
	int64_t count, inner;
};

static inline int64_t index_at(const struct dfg_tensor *indices, int64_t i)
{
	if (indices->dtype == DFG_I32)
		return ((const int32_t *)indices->data)[i];
	return indices->dtype == DFG_I64 ? ((const int64_t *)indices->data)[i] : dfg_tensor_int(indices, i);
}

/* The position of slice i, in slices; DFG_DATA if an index is out of range. */
static struct dfg_err *slice_at(const struct slices *s, int64_t i, int64_t *out_at)
{
	*out_at = 0;
	for (int d = 0; d < s->depth; d++) {
		int64_t index = index_at(s->indices, i * s->depth + d);
		if (index < 0 || index >= s->shape.dim[d])
			return DFG_ERR(DFG_DATA, "indices[%" PRId64 "] is %" PRId64 ", outside [0,%" PRId64 ")", i * s->depth + d,
				index, s->shape.dim[d]);
		*out_at = *out_at * s->shape.dim[d] + index;
	}
	return NULL;
}

/* The same for indices that are in range. */
static inline int64_t position_of(const struct slices *s, int64_t i)
{
	int64_t at = 0;
	for (int d = 0; d < s->depth && d < DFG_RANK_MAX; d++)
		at = at * s->shape.dim[d] + index_at(s->indices, i * s->depth + d);
	return at;
}

/* The shape of all slices: that of the indices, without the last dimension for vectors, then that of a slice. */
static struct dfg_err *shape_of_slices(const struct dfg_shape *indices, const struct dfg_shape *variable, bool vectors,
	int *out_depth, struct dfg_shape *out)
{
	*out = *indices;
	*out_depth = 1;
	if (vectors) {
		if (indices->rank < 1 || indices->dim[indices->rank - 1] < 0 ||
			indices->dim[indices->rank - 1] > variable->rank)
			return DFG_ERR(DFG_DATA, "indices have shape %s: their last dimension must be at most the rank of %s",
				dfg_shape_words(indices).s, dfg_shape_words(variable).s);
		*out_depth = (int)indices->dim[--out->rank];
		out->dim[out->rank] = 0;
	}
	if (variable->rank < *out_depth)
		return DFG_ERR(DFG_DATA, "the variable has shape %s, expected rows", dfg_shape_words(variable).s);
	if (out->rank + variable->rank - *out_depth > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the result has %d dimensions: the limit is %d",
			out->rank + variable->rank - *out_depth, DFG_RANK_MAX);
	for (int d = *out_depth; d < variable->rank; d++)
		out->dim[out->rank++] = variable->dim[d];
	return NULL;
}

/* Combines elements [at, at + n) of the variable with n updates; strings are copied. */
static struct dfg_err *update_elements(
	dfg_row_fn *row, struct dfg_tensor *variable, int64_t at, int64_t n, const void *updates)
{
	struct dfg_string *to = dfg_tensor_at(variable, at);
	const struct dfg_string *from = updates;
	if (variable->dtype != DFG_STRING)
		dfg_combine(row, variable->dtype, n, to, updates);
	else
		for (int64_t i = 0; i < n; i++)
			DFG_TRY(dfg_buffer_string(variable->buffer, from[i].s, from[i].length, &to[i]));
	return NULL;
}

/* All indices are checked before the first element changes. */
static struct dfg_err *scatter(dfg_row_fn *row, struct dfg_tensor *variable, const struct dfg_tensor *indices,
	const struct dfg_tensor *updates, bool vectors)
{
	struct slices s = {.indices = indices, .shape = variable->shape};
	struct dfg_shape shape;
	int64_t at;
	DFG_TRY(shape_of_slices(&indices->shape, &variable->shape, vectors, &s.depth, &shape));
	bool scalar = !updates->shape.rank && !vectors;
	if (updates->dtype != variable->dtype || (!scalar && !dfg_shape_equal(&updates->shape, &shape)))
		return DFG_ERR(DFG_DATA, "updates are %s, expected %s", dfg_type_words(updates->dtype, &updates->shape).s,
			dfg_type_words(variable->dtype, &shape).s);
	s.inner = dfg_count_between(&variable->shape, s.depth, variable->shape.rank);
	s.count = dfg_count_between(&indices->shape, 0, indices->shape.rank - vectors);
	for (int64_t i = 0; i < s.count; i++)
		DFG_TRY(slice_at(&s, i, &at));
	for (int64_t i = 0; i < s.count; i++) {
		at = position_of(&s, i);
		for (int64_t e = 0; scalar && e < s.inner; e++)
			DFG_TRY(update_elements(row, variable, at * s.inner + e, 1, updates->data));
		if (!scalar)
			DFG_TRY(update_elements(row, variable, at * s.inner, s.inner, dfg_tensor_at(updates, i * s.inner)));
	}
	return NULL;
}

static struct dfg_err *scatter_run(struct dfg_kernel *ctx, const struct dfg_op *op, bool vectors)
{
	struct dfg_variable *variable;
	struct dfg_tensor *value;
	dfg_row_fn *row = NULL;
	DFG_TRY(dfg_kernel_variable(ctx, VARIABLE, &variable));
	if (op)
		DFG_TRY(dfg_row_of(op, variable->dtype, &row));
	if (op == &dfg_op_Div && dfg_dtype_is(variable->dtype, "int"))
		for (int64_t i = 0; i < dfg_shape_count(&dfg_kernel_input(ctx, UPDATES)->shape); i++)
			if (!dfg_tensor_int(dfg_kernel_input(ctx, UPDATES), i))
				return DFG_ERR(DFG_DATA, "integer division by zero at update %" PRId64, i);
	DFG_TRY(dfg_variable_lock(variable, &value));
	struct dfg_err *err = scatter(row, value, dfg_kernel_input(ctx, INDICES), dfg_kernel_input(ctx, UPDATES), vectors);
	dfg_variable_unlock(variable);
	return err ? dfg_err_note(err, "variable '%s'", variable->resource.name) : dfg_give_back(ctx, variable);
}

static struct dfg_err *scatter_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_check_variable_dtype(node));
	return dfg_shape_of_ref(node);
}

#define SCATTER(Op, vectors, op, signature, operation, text, ...)            \
	static struct dfg_err *Op##_run(struct dfg_kernel *ctx)                  \
	{                                                                        \
		return scatter_run(ctx, op, vectors);                                \
	}                                                                        \
	const struct dfg_op dfg_op_##Op = {                                      \
		.name = #Op,                                                         \
		.doc = text,                                                         \
		.sig = signature,                                                    \
		.attr = {__VA_ARGS__},                                               \
		.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT, \
		.elements = vectors ? DFG_ELEMENTS_SLICES : DFG_ELEMENTS_ROWS,       \
		.combines = DFG_MEANS_##operation,                                   \
		.shape = scatter_shape,                                              \
		.run = Op##_run,                                                     \
	};

#define REF_ROWS(types) \
	"<T: " types ", Tindices: index>(ref: ref T, indices: Tindices, updates: T) -> (output_ref: ref T)"
#define HANDLE_ROWS(types) \
	"<dtype: " types ", Tindices: index>(resource: resource, indices: Tindices, updates: dtype) -> ()"
#define HANDLE_SLICES(types) "<T: " types ", Tindices: index>(ref: resource, indices: Tindices, updates: T) -> ()"
#define POLICY "bad_indices_policy: string = '' in |DEFAULT|ERROR"

#define EACH_WAY(name, types, op, locking, operation, text)                                                   \
	SCATTER(Scatter##name, false, op, REF_ROWS(types), operation, text " rows of a variable",                 \
		"use_locking: bool = " locking)                                                                       \
	SCATTER(ResourceScatter##name, false, op, HANDLE_ROWS(types), operation, text " rows of a variable")      \
	SCATTER(ScatterNd##name, true, op, REF_ROWS(types), operation, text " slices of a variable",              \
		"use_locking: bool = " locking, POLICY)                                                               \
	SCATTER(ResourceScatterNd##name, true, op, HANDLE_SLICES(types), operation, text " slices of a variable", \
		"use_locking: bool = true", POLICY)
EACH_WAY(Update, "plain|string", NULL, "true", NOTHING, "replaces")
EACH_WAY(Add, "numeric", &dfg_op_Add, "false", SUM, "adds to")
EACH_WAY(Sub, "numeric", &dfg_op_Sub, "false", SUM, "subtracts from")
EACH_WAY(Max, "number", &dfg_op_Maximum, "false", MAXIMUM, "raises to at least the updates")
EACH_WAY(Min, "number", &dfg_op_Minimum, "false", MINIMUM, "lowers to at most the updates")
SCATTER(ScatterMul, false, &dfg_op_Mul, REF_ROWS("number"), PRODUCT, "multiplies rows of a variable",
	"use_locking: bool = false")
SCATTER(ResourceScatterMul, false, &dfg_op_Mul, HANDLE_ROWS("number"), PRODUCT, "multiplies rows of a variable")
SCATTER(ScatterDiv, false, &dfg_op_Div, REF_ROWS("number"), QUOTIENT, "divides rows of a variable",
	"use_locking: bool = false")
SCATTER(ResourceScatterDiv, false, &dfg_op_Div, HANDLE_ROWS("number"), QUOTIENT, "divides rows of a variable")

enum { BATCH_DIMS };

/* The result's shape for params [batch, rows, inner] and indices [batch, picks]. */
static struct dfg_err *gathered_shape(
	const struct dfg_shape *params, const struct dfg_shape *indices, int64_t batch_dims, struct dfg_shape *out)
{
	if (batch_dims < 0)
		batch_dims += indices->rank;
	if (batch_dims < 0 || batch_dims > indices->rank || batch_dims >= params->rank)
		return DFG_ERR(DFG_DATA, "cannot gather rows of %s by %s with %" PRId64 " batch dimensions",
			dfg_shape_words(params).s, dfg_shape_words(indices).s, batch_dims);
	int rank = indices->rank + params->rank - 1 - (int)batch_dims;
	if (rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the result has %d dimensions: the limit is %d", rank, DFG_RANK_MAX);
	struct dfg_shape shape = *indices;
	for (int d = 0; d < batch_dims; d++)
		if (params->dim[d] != indices->dim[d] && params->dim[d] >= 0 && indices->dim[d] >= 0)
			return DFG_ERR(DFG_DATA, "variable %s and indices %s differ in batch dimension %d",
				dfg_shape_words(params).s, dfg_shape_words(indices).s, d);
	for (int d = (int)batch_dims + 1; d < params->rank; d++)
		shape.dim[shape.rank++] = params->dim[d];
	*out = shape;
	return NULL;
}

static struct dfg_err *gather_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_check_variable_dtype(node));
	struct dfg_shape params = dfg_variable_shape(node, VARIABLE);
	if (params.rank < 0 || node->in[INDICES]->rank < 0)
		return NULL;
	return gathered_shape(&params, node->in[INDICES], node->call->attr[BATCH_DIMS].i, &node->out[0]);
}

static struct dfg_err *gather(struct dfg_kernel *ctx, const struct dfg_tensor *params)
{
	const struct dfg_tensor *indices = dfg_kernel_input(ctx, INDICES);
	int64_t batch_dims = dfg_kernel_attr(ctx)[BATCH_DIMS].i;
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(gathered_shape(&params->shape, &indices->shape, batch_dims, &shape));
	int batch_rank = (int)(batch_dims < 0 ? batch_dims + indices->shape.rank : batch_dims);
	int64_t picks = dfg_count_between(&indices->shape, batch_rank, indices->shape.rank);
	int64_t rows = params->shape.dim[batch_rank];
	int64_t inner = dfg_count_between(&params->shape, batch_rank + 1, params->shape.rank);
	size_t bytes = (size_t)inner * dfg_dtype_size(params->dtype);
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	const char *from = params->data;
	char *to = out->data;
	for (int64_t i = 0, count = dfg_shape_count(&indices->shape); i < count; i++, to += bytes) {
		int64_t index = index_at(indices, i);
		if (index < 0 || index >= rows)
			return DFG_ERR(DFG_DATA, "indices[%" PRId64 "] is %" PRId64 ", outside [0,%" PRId64 ")", i, index, rows);
		memcpy(to, from + ((count == picks ? 0 : i / picks * rows) + index) * (int64_t)bytes, bytes);
	}
	return dfg_moved(ctx, 0);
}

typedef struct dfg_err *gather_fn(struct dfg_kernel *ctx, const struct dfg_tensor *params);

static struct dfg_err *gather_by(struct dfg_kernel *ctx, gather_fn *gather)
{
	struct dfg_variable *variable;
	struct dfg_tensor value;
	DFG_TRY(dfg_kernel_variable(ctx, VARIABLE, &variable));
	if (variable->dtype != (enum dfg_dtype)ctx->call->out_dtype[0])
		return DFG_ERR(DFG_DATA, "variable '%s' is %s, expected %s", variable->resource.name,
			dfg_dtype_name(variable->dtype), dfg_dtype_name(ctx->call->out_dtype[0]));
	DFG_TRY(dfg_variable_read(variable, &value));
	struct dfg_err *err = dfg_err_note(gather(ctx, &value), "variable '%s'", variable->resource.name);
	dfg_tensor_release(&value);
	return err;
}

static struct dfg_err *gather_run(struct dfg_kernel *ctx)
{
	return gather_by(ctx, gather);
}

/* The cotangent is the output's rows and the indices, both flat (IndexedSlices). */
static struct dfg_err *gather_gradient(struct dfg_gradient *node)
{
	struct dfg_builder *b = node->builder;
	struct dfg_edge shape, first, last, step, row, all, size, parts[3], values, indices;
	const struct dfg_attr masks[] = {DFG_ATTR_I("end_mask", 1)};
	const struct dfg_shape one = DFG_SHAPE_VECTOR(1);
	if (node->call->attr[BATCH_DIMS].i)
		return DFG_ERR(DFG_DATA, "ResourceGather with batch dimensions has no gradient");
	DFG_TRY(dfg_gradient_op(node, "VariableShape", &node->in[VARIABLE], 1, NULL, 0, &shape));
	DFG_TRY(dfg_build_ints(b, node->scope, DFG_I32, &one, (int64_t[]){1}, &first));
	DFG_TRY(dfg_build_ints(b, node->scope, DFG_I32, &one, (int64_t[]){0}, &last));
	step = first;
	DFG_TRY(dfg_gradient_op(node, "StridedSlice", (struct dfg_edge[]){shape, first, last, step}, 4, masks, 1, &row));
	DFG_TRY(dfg_build_ints(b, node->scope, DFG_I32, &one, (int64_t[]){-1}, &all));
	DFG_TRY(dfg_build_ints(b, node->scope, DFG_I32, &DFG_SHAPE_SCALAR, (int64_t[]){0}, &parts[2]));
	parts[0] = all;
	parts[1] = row;
	DFG_TRY(dfg_gradient_op(node, "ConcatV2", parts, 3, NULL, 0, &size));
	DFG_TRY(dfg_gradient_op(node, "Reshape", (struct dfg_edge[]){node->dy[0], size}, 2, NULL, 0, &values));
	DFG_TRY(dfg_gradient_op(node, "Reshape", (struct dfg_edge[]){node->in[INDICES], all}, 2, NULL, 0, &indices));
	dfg_gradient_set_rows(node, VARIABLE, values, indices);
	return NULL;
}

static const char *gather_rows(const struct dfg_infer *node, uint64_t by_row)
{
	bool is_plain = by_row == 2 && node->in[1]->rank > 0 && !node->call->attr[BATCH_DIMS].i;
	return is_plain ? NULL : "it gathers by the batch along an axis other than the first";
}

const struct dfg_op dfg_op_ResourceGather = {
	.name = "ResourceGather",
	.doc = "the rows of a variable at indices",
	.sig = "<dtype: type, Tindices: index>(resource: resource, indices: Tindices) -> (output: dtype)",
	.attr = {[BATCH_DIMS] = "batch_dims: int = 0", "validate_indices: bool = true"},
	.flags = DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.means = DFG_MEANS_ELEMENT,
	.elements = DFG_ELEMENTS_ROWS,
	.shape = gather_shape,
	.rows = gather_rows,
	.gradient_fn = gather_gradient,
	.run = gather_run,
};

static struct dfg_err *slices_shape(struct dfg_infer *node)
{
	struct dfg_shape params = dfg_variable_shape(node, VARIABLE);
	const struct dfg_shape *indices = node->in[INDICES];
	int depth;
	if (params.rank < 0 || indices->rank < 0 || (indices->rank && indices->dim[indices->rank - 1] < 0))
		return NULL;
	return shape_of_slices(indices, &params, true, &depth, &node->out[0]);
}

static struct dfg_err *gather_slices(struct dfg_kernel *ctx, const struct dfg_tensor *params)
{
	struct slices s = {.indices = dfg_kernel_input(ctx, INDICES), .shape = params->shape};
	struct dfg_shape shape;
	struct dfg_tensor *out;
	int64_t at;
	DFG_TRY(shape_of_slices(&s.indices->shape, &params->shape, true, &s.depth, &shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	s.inner = dfg_count_between(&params->shape, s.depth, params->shape.rank);
	s.count = dfg_count_between(&s.indices->shape, 0, s.indices->shape.rank - 1);
	for (int64_t i = 0; i < s.count; i++) {
		DFG_TRY(slice_at(&s, i, &at));
		memcpy(dfg_tensor_at(out, i * s.inner), dfg_tensor_at(params, at * s.inner),
			(size_t)s.inner * dfg_dtype_size(params->dtype));
	}
	return dfg_moved(ctx, 0);
}

static struct dfg_err *gather_slices_run(struct dfg_kernel *ctx)
{
	return gather_by(ctx, gather_slices);
}

const struct dfg_op dfg_op_ResourceGatherNd = {
	.name = "ResourceGatherNd",
	.doc = "the elements or slices of a variable at indices; each row of indices is the index of one",
	.sig = "<dtype: type, Tindices: index>(resource: resource, indices: Tindices) -> (output: dtype)",
	.flags = DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.elements = DFG_ELEMENTS_SLICES,
	.shape = slices_shape,
	/* ScatterNd requires at least a matrix, and indices may be a single vector. */
	.gradient =
		"dresource = ScatterNd(ExpandDims(indices, 0), ExpandDims(doutput, 0), "
		"VariableShape(resource, out_type = Tindices))",
	.run = gather_slices_run,
};
