#include "lib/graph/grain.h"
#include "lib/graph/half.h"
#include "lib/graph/kernel.h"
#include "lib/graph/walk.h"

/*
 * TILE: elements for which all operands fit in the first-level cache. OPERANDS: the most that a row has. BLOCK: the least
 * elements that a thread takes at a time; BLOCK_SLOW: of an op that is not a few instructions.
 */
enum { TILE = 512, OPERANDS = DFG_ROW_OPERANDS, BLOCK = 16 * 1024, BLOCK_SLOW = 2 * 1024 };

/* A row over the elements of an output. */
struct row_walk {
	struct dfg_walk walk;
	dfg_row_fn *row;
	const union dfg_value *attr;
	struct dfg_operand operand[OPERANDS];
	const char *in[OPERANDS];
	enum dfg_dtype in_dtype[OPERANDS];
	char *out;
	size_t out_size;
	enum dfg_dtype out_dtype;
};

/* A thread's buffers: for gathered or repeated elements, and for halves as f32. */
struct tiles {
	_Alignas(DFG_ALIGN) char stretched[OPERANDS][TILE * 2 * sizeof(double)];
	_Alignas(DFG_ALIGN) float wide[OPERANDS][TILE];
	_Alignas(DFG_ALIGN) float wide_out[TILE];
};

/* The dtype that selects the row; an op of fixed types has its row at DFG_NO_DTYPE. */
static enum dfg_dtype row_dtype(const struct dfg_resolved_node *call)
{
	enum dfg_dtype dtype = dfg_kernel_dtype(call);
	return dfg_is_half(dtype) ? DFG_F32 : dtype;
}

static struct dfg_err *find_row(const struct dfg_resolved_node *call, dfg_row_fn **out_row)
{
	enum dfg_dtype dtype = row_dtype(call);
	*out_row = dfg_op_row(call->op, dtype);
	if (!*out_row)
		return DFG_ERR(DFG_DATA, "%s does not support %s", call->op->name, dfg_dtype_name(dtype));
	return NULL;
}

static void walk_range(void *arg, int64_t first, int64_t last)
{
	const struct row_walk *of = arg;
	struct tiles tiles;
	const void *in[OPERANDS] = {0};
	for (int64_t n, end = first; first < last; first += n) {
		for (int i = 0; i < of->walk.n_in && first == end; i++)
			dfg_walk_fill(&of->walk, i, of->in[i], first, last, tiles.stretched[i]);
		if (first == end)
			end = dfg_walk_filled_end(&of->walk, first, last);
		n = dfg_walk_stretch(&of->walk, first, end);
		for (int i = 0; i < of->walk.n_in; i++) {
			in[i] = dfg_walk_lend(&of->walk, i, of->in[i], first, n, tiles.stretched[i]);
			if (dfg_is_half(of->in_dtype[i])) {
				dfg_convert(DFG_F32, tiles.wide[i], of->in_dtype[i], in[i], n);
				in[i] = tiles.wide[i];
			}
		}
		char *out = of->out + (size_t)first * of->out_size;
		bool half = dfg_is_half(of->out_dtype);
		of->row(n, half ? (void *)tiles.wide_out : out, in, of->attr);
		if (half)
			dfg_convert(of->out_dtype, out, DFG_F32, tiles.wide_out, n);
	}
}

/* The range function for operands that all have the output's layout. */
static void plain_range(void *arg, int64_t first, int64_t last)
{
	const struct row_walk *of = arg;
	const void *in[OPERANDS] = {0};
	for (int i = 0; i < of->walk.n_in; i++)
		in[i] = of->in[i] + (size_t)first * of->operand[i].size;
	of->row(last - first, of->out + (size_t)first * of->out_size, in, of->attr);
}

static bool all_plain(const struct row_walk *of)
{
	for (int i = 0; i < of->walk.n_in; i++)
		if (!of->operand[i].whole || dfg_is_half(of->in_dtype[i]))
			return false;
	return !dfg_is_half(of->out_dtype);
}

struct dfg_err *dfg_elementwise_run(struct dfg_kernel *ctx)
{
	const struct dfg_resolved_node *call = ctx->call;
	const struct dfg_shape *shapes[OPERANDS];
	struct dfg_shape shape;
	struct dfg_tensor *out;
	struct row_walk of = {.attr = call->attr, .walk.n_in = call->n_in, .walk.in = of.operand};
	if (call->n_in < 1 || call->n_in > OPERANDS)
		return DFG_ERR(DFG_BUG, "an elementwise op has %d operands, expected 1 to %d", call->n_in, OPERANDS);
	for (int i = 0; i < call->n_in; i++)
		shapes[i] = &dfg_kernel_input(ctx, i)->shape;
	DFG_TRY(find_row(call, &of.row));
	if (call->op->guard)
		DFG_TRY(call->op->guard(ctx));
	struct dfg_err *err = dfg_shape_broadcast(shapes, call->n_in, &shape);
	if (err && call->op->run) {
		dfg_err_free(err);
		return call->op->run(ctx);
	}
	DFG_TRY(err);
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	int64_t count = dfg_shape_count(&shape);
	if (!count)
		return NULL;

	of.out = out->data;
	of.out_dtype = out->dtype;
	of.out_size = dfg_dtype_size(out->dtype);
	for (int i = 0; i < call->n_in; i++) {
		of.in[i] = dfg_kernel_input(ctx, i)->data;
		of.in_dtype[i] = dfg_kernel_input(ctx, i)->dtype;
	}
	dfg_walk_make(&of.walk, &shape, shapes, of.in_dtype);
	dfg_walk_set_tile(&of.walk, TILE);
	const int64_t least = call->op->flags & DFG_EXACT ? BLOCK : BLOCK_SLOW;
	dfg_kernel_ranges(ctx, count, dfg_grain(count, least), all_plain(&of) ? plain_range : walk_range, &of);
	return NULL;
}

dfg_row_fn *dfg_kernel_row(const struct dfg_resolved_node *call)
{
	dfg_run_fn *run;
	struct dfg_err *err = dfg_kernel_find(call, &run);
	bool simple =
		!err && run == dfg_elementwise_run && call->n_out == 1 && call->n_in > 0 && call->n_in <= DFG_ROW_OPERANDS;
	dfg_err_free(err);
	for (int i = 0; simple && i < call->n_in; i++)
		simple = !dfg_is_half((enum dfg_dtype)call->in_dtype[i]);
	simple = simple && !dfg_is_half((enum dfg_dtype)call->out_dtype[0]);
	return simple ? dfg_op_row(call->op, row_dtype(call)) : NULL;
}
