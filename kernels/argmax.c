/* Index of the largest or smallest element along an axis: the first of equals. A NaN is chosen only if all are NaN. */
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

#include <inttypes.h>

static struct dfg_err *arg_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	int64_t given = dfg_int_of(node, 1, 0);
	int axis = -1;
	DFG_TRY(dfg_need_rank(node, 1, 0));
	if (in->rank == 0)
		return DFG_ERR(DFG_DATA, "input is a scalar, expected at least one dimension");
	if (given != DFG_NOT_KNOWN)
		DFG_TRY(dfg_axis(given, in->rank, &axis));
	if (axis >= 0 && in->dim[axis] == 0)
		return DFG_ERR(
			DFG_DATA, "dimension %d of the input, which has shape %s, has size 0", axis, dfg_shape_words(in).s);
	node->out[0].rank = in->rank - 1;
	for (int d = 0; d < in->rank - 1; d++)
		node->out[0].dim[d] = axis < 0 ? DFG_UNKNOWN : in->dim[d + (d >= axis)];
	return NULL;
}

/* Runs of `dim` elements, `inner` apart. */
struct search {
	const void *in;
	struct dfg_tensor *out;
	int64_t dim, inner;
	int64_t (*find)(const struct search *search, int64_t first);
};

static void search_runs(void *arg, int64_t first, int64_t last)
{
	const struct search *search = arg;
	for (int64_t i = first; i < last; i++) {
		int64_t found = search->find(search, i / search->inner * search->dim * search->inner + i % search->inner);
		if (search->out->dtype == DFG_I64)
			((int64_t *)search->out->data)[i] = found;
		else
			dfg_convert(search->out->dtype, dfg_tensor_at(search->out, i), DFG_I64, &found, 1);
	}
}

static struct dfg_err *arg_run(struct dfg_kernel *ctx, int64_t (*find)(const struct search *search, int64_t first))
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct search search = {.in = in->data, .find = find};
	int axis;
	DFG_TRY(dfg_output_now(ctx, &search.out));
	DFG_TRY(dfg_axis(dfg_tensor_int(ctx->in[1], 0), in->shape.rank, &axis));
	search.dim = in->shape.dim[axis];
	search.inner = dfg_count_between(&in->shape, axis + 1, in->shape.rank);
	dfg_kernel_ranges(ctx, dfg_shape_count(&search.out->shape), (1 << 15) / search.dim + 1, search_runs, &search);
	return NULL;
}

#define ARG(NAME, name, type, number, stem, better)                               \
	static int64_t stem##_find_##name(const struct search *search, int64_t first) \
	{                                                                             \
		const type *x = (const type *)search->in + first;                         \
		type best = x[0];                                                         \
		int64_t at = 0;                                                           \
		for (int64_t i = 1; i < search->dim; i++) {                               \
			const type y = x[i * search->inner];                                  \
			if (y better best || (best != best && y == y)) {                      \
				best = y;                                                         \
				at = i;                                                           \
			}                                                                     \
		}                                                                         \
		return at;                                                                \
	}                                                                             \
	static struct dfg_err *stem##_##name(struct dfg_kernel *ctx)                  \
	{                                                                             \
		return arg_run(ctx, stem##_find_##name);                                  \
	}
DFG_EACH_number(ARG, argmax, >)
DFG_EACH_bool(ARG, argmax, >)
DFG_EACH_number(ARG, argmin, <)
DFG_EACH_bool(ARG, argmin, <)

static const char *arg_rows(const struct dfg_infer *node, uint64_t by_row)
{
	return dfg_rows_along(node, by_row, 0, 1);
}

const struct dfg_op dfg_op_ArgMax = {
	.name = "ArgMax",
	.doc = "index of the largest element along the dimension",
	.sig =
		"<T: number|bool, Tidx: index|i16 = i32, output_type: index|i16|u16 = i64>"
		"(input: T, dimension: Tidx) -> (output: output_type)",
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = arg_shape,
	.rows = arg_rows,
	.kernel = {DFG_EACH_number(DFG_BY_DTYPE, argmax) DFG_EACH_bool(DFG_BY_DTYPE, argmax)},
};

const struct dfg_op dfg_op_ArgMin = {
	.name = "ArgMin",
	.doc = "index of the smallest element along the dimension",
	.sig =
		"<T: number|bool, Tidx: index = i32, output_type: index = i64>"
		"(input: T, dimension: Tidx) -> (output: output_type)",
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = arg_shape,
	.rows = arg_rows,
	.kernel = {DFG_EACH_number(DFG_BY_DTYPE, argmin) DFG_EACH_bool(DFG_BY_DTYPE, argmin)},
};
