/* Rows of a tensor replaced or changed; the tensor itself stays as it is where something else reads it. */
#include "kernels/shape_rules.h"
#include "kernels/strided_copy.h"
#include "kernels/variable.h"

#include <string.h>

extern const struct dfg_op dfg_op_Add, dfg_op_Sub;

enum { X, INDEX, ROWS };

static struct dfg_err *rows_shape(struct dfg_infer *node)
{
	const struct dfg_shape *x = node->in[X], *index = node->in[INDEX];
	struct dfg_shape rows = *x;
	node->out[0] = *x;
	DFG_TRY(dfg_need_rank(node, INDEX, 1));
	if (!x->rank)
		return DFG_ERR(DFG_DATA, "x is a scalar, expected rows");
	if (x->rank < 0)
		return NULL;
	rows.dim[0] = index->rank == 1 ? index->dim[0] : DFG_UNKNOWN;
	if (!dfg_shape_fits(node->in[ROWS], &rows))
		return DFG_ERR(DFG_DATA, "v has shape %s, expected %s: a row of x for each index",
			dfg_shape_words(node->in[ROWS]).s, dfg_shape_words(&rows).s);
	return NULL;
}

/* The row of an index, which counts modulo the rows: -1 is the last. */
static int64_t row_at(const struct dfg_tensor *index, int64_t k, int64_t rows)
{
	const int64_t remainder = ((const int32_t *)index->data)[k] % rows;
	return remainder < 0 ? remainder + rows : remainder;
}

/* Combines rows of output 0, which is x, with those of v, one after another; row NULL: v replaces them. */
static struct dfg_err *change_rows(struct dfg_kernel *ctx, dfg_row_fn *row)
{
	const struct dfg_tensor *x = dfg_kernel_input(ctx, X), *from = dfg_kernel_input(ctx, ROWS);
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	const int64_t rows = shape.dim[0], each = dfg_count_between(&shape, 1, shape.rank);
	const size_t bytes = (size_t)each * dfg_dtype_size(x->dtype);
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	if (out->data != x->data && dfg_tensor_bytes(x))
		memcpy(out->data, x->data, dfg_tensor_bytes(x));
	for (int64_t k = 0; rows && bytes && k < from->shape.dim[0]; k++) {
		void *to = dfg_tensor_at(out, row_at(ctx->in[INDEX], k, rows) * each);
		const void *with = dfg_tensor_at(from, k * each);
		if (row)
			dfg_combine(row, x->dtype, each, to, with);
		else
			memcpy(to, with, bytes);
	}
	return dfg_moved(ctx, 0);
}

static struct dfg_err *update_run(struct dfg_kernel *ctx)
{
	return change_rows(ctx, NULL);
}

static struct dfg_err *combine_run(struct dfg_kernel *ctx, const struct dfg_op *op)
{
	dfg_row_fn *row;
	DFG_TRY(dfg_row_of(op, (enum dfg_dtype)ctx->call->out_dtype[0], &row));
	return change_rows(ctx, row);
}

static struct dfg_err *add_run(struct dfg_kernel *ctx)
{
	return combine_run(ctx, &dfg_op_Add);
}

static struct dfg_err *sub_run(struct dfg_kernel *ctx)
{
	return combine_run(ctx, &dfg_op_Sub);
}

#define INPLACE(Op, types, more, fn, text)                     \
	const struct dfg_op dfg_op_Inplace##Op = {                 \
		.name = "Inplace" #Op,                                 \
		.doc = text,                                           \
		.sig = "<T: " types ">(x: T, i: i32, v: T) -> (y: T)", \
		.flags = DFG_NO_GRADIENT | DFG_EXACT | (more),         \
		.shape = rows_shape,                                   \
		.run = fn,                                             \
	};
INPLACE(Update, "plain|half|string", 0, update_run, "x with the rows of v stored at the indices i, modulo its rows")
INPLACE(Add, "numeric|half", DFG_IN_PLACE, add_run, "x with the rows of v added at the indices i, modulo its rows")
INPLACE(Sub, "numeric|half", DFG_IN_PLACE, sub_run, "x with the rows of v subtracted at the indices i, modulo its rows")
