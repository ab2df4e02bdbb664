#include "kernels/gemm/gemm.h"
#include "kernels/gradient_helpers.h"
#include "kernels/math.h"
#include "kernels/shape_rules.h"

#include <string.h>

/*
 * GRUBlockCell, one step of a GRU: with [x, h] as one row,
 *
 *     r, u = sigmoid([x, h_prev] w_ru + b_ru);   c = tanh([x, r h_prev] w_c + b_c);   h = u h_prev + (1 - u) c
 */
enum { X, H_PREV, W_RU, W_C, B_RU, B_C, INPUTS }; /* inputs, also of the gradient */
enum { R, U, C, H, OUTPUTS }; /* outputs; all but H, and then its cotangent, are the gradient's inputs */
enum {
	DX,
	DH_PREV,
	DC,
	DRU,
	GRADIENTS
}; /* the gradient's outputs: DC and DRU by the sums before c, and before r and u */

static struct dfg_err *check_input(const struct dfg_infer *node, int i, const char *name, const struct dfg_shape *need)
{
	if (dfg_shape_fits(node->in[i], need))
		return NULL;
	return DFG_ERR(
		DFG_DATA, "%s has shape %s, expected %s", name, dfg_shape_words(node->in[i]).s, dfg_shape_words(need).s);
}

/* Checks the six inputs of either op. *out_state: the shape of a state. */
static struct dfg_err *check_inputs(struct dfg_infer *node, struct dfg_shape *out_state)
{
	DFG_TRY(dfg_need_rank(node, X, 2));
	DFG_TRY(dfg_need_rank(node, H_PREV, 2));
	int64_t batch = node->in[X]->dim[0], inputs = node->in[X]->dim[1], cells = node->in[H_PREV]->dim[1], both = cells;
	int64_t rows = inputs == DFG_UNKNOWN || cells == DFG_UNKNOWN ? DFG_UNKNOWN : inputs + cells;
	if (cells != DFG_UNKNOWN)
		DFG_TRY(dfg_dim_product(cells, 2, &both));
	*out_state = (struct dfg_shape){.rank = 2, .dim = {batch, cells}};
	DFG_TRY(check_input(node, H_PREV, "h_prev", out_state));
	DFG_TRY(check_input(node, W_RU, "w_ru", &(struct dfg_shape){.rank = 2, .dim = {rows, both}}));
	DFG_TRY(check_input(node, W_C, "w_c", &(struct dfg_shape){.rank = 2, .dim = {rows, cells}}));
	DFG_TRY(check_input(node, B_RU, "b_ru", &DFG_SHAPE_VECTOR(both)));
	return check_input(node, B_C, "b_c", &DFG_SHAPE_VECTOR(cells));
}

static struct dfg_err *cell_shape(struct dfg_infer *node)
{
	DFG_TRY(check_inputs(node, &node->out[0]));
	for (int i = 1; i < OUTPUTS; i++)
		node->out[i] = node->out[0];
	return NULL;
}

static struct dfg_err *gradient_shape(struct dfg_infer *node)
{
	struct dfg_shape state;
	DFG_TRY(check_inputs(node, &state));
	for (int i = INPUTS; i < INPUTS + OUTPUTS; i++)
		DFG_TRY(check_input(node, i, node->call->signature->in[i].name, &state));
	node->out[DX] = *node->in[X];
	node->out[DH_PREV] = node->out[DC] = node->out[DRU] = state;
	node->out[DRU].dim[1] = state.dim[1] == DFG_UNKNOWN ? DFG_UNKNOWN : 2 * state.dim[1];
	return NULL;
}

struct gru {
	int64_t batch, inputs, cells;
	const float *in[INPUTS + OUTPUTS];
	float *out[OUTPUTS];
	float *sums;   /* before r and u, by row */
	float *scaled; /* r h_prev; the gradient: its cotangent */
};

/* Takes the operands, of which the op has n_in and, in shapes by its rule, n_out. */
static struct dfg_err *take(struct dfg_kernel *ctx, int n_in, int n_out, struct gru *g)
{
	struct dfg_shape shape[OUTPUTS];
	struct dfg_tensor *out;
	DFG_TRY(dfg_shapes_now(ctx, n_out, shape));
	for (int i = 0; i < n_in; i++)
		g->in[i] = dfg_kernel_input(ctx, i)->data;
	for (int i = 0; i < n_out; i++) {
		DFG_TRY(dfg_kernel_output(ctx, i, &shape[i], &out));
		g->out[i] = out->data;
	}
	g->batch = dfg_kernel_input(ctx, X)->shape.dim[0];
	g->inputs = dfg_kernel_input(ctx, X)->shape.dim[1];
	g->cells = dfg_kernel_input(ctx, H_PREV)->shape.dim[1];
	const size_t size = (size_t)(g->batch * g->cells) * sizeof(float);
	DFG_TRY(dfg_kernel_scratch(ctx, 2 * size, (void **)&g->sums));
	return dfg_kernel_scratch(ctx, size, (void **)&g->scaled);
}

/* c = bias + [a, state] w, where w has n columns. */
static struct dfg_err *add_products(struct dfg_kernel *ctx, const struct gru *g, int64_t n, const float *state,
	const float *w, const float *bias, float *c)
{
	struct dfg_products p = {
		.each = {.m = g->batch,
			.n = n,
			.k = g->inputs,
			.a_row = g->inputs,
			.a_column = 1,
			.b_row = n,
			.b_column = 1,
			.c_row = n,
			.add = true},
		.dtype = DFG_F32,
		.count = 1,
		.a = g->in[X],
		.b = w,
		.c = c,
	};
	for (int64_t row = 0; row < g->batch; row++)
		memcpy(c + row * n, bias, (size_t)n * sizeof *c);
	if (!g->batch || !n)
		return NULL;
	if (g->inputs)
		DFG_TRY(dfg_kernel_products(ctx, &p));
	p.each.k = p.each.a_row = g->cells;
	p.a = state;
	p.b = w + g->inputs * n;
	return dfg_kernel_products(ctx, &p);
}

static void open_gates(void *arg, int64_t first, int64_t last)
{
	const struct gru *g = arg;
	for (int64_t row = first; row < last; row++)
		for (int64_t c = 0; c < g->cells; c++) {
			const int64_t at = row * g->cells + c;
			g->out[R][at] = sigmoid_f32(g->sums[2 * row * g->cells + c]);
			g->out[U][at] = sigmoid_f32(g->sums[(2 * row + 1) * g->cells + c]);
			g->scaled[at] = g->out[R][at] * g->in[H_PREV][at];
		}
}

static void mix_states(void *arg, int64_t first, int64_t last)
{
	const struct gru *g = arg;
	for (int64_t at = first * g->cells; at < last * g->cells; at++) {
		const float u = g->out[U][at], c = tanh_f32(g->out[C][at]);
		g->out[C][at] = c;
		g->out[H][at] = u * g->in[H_PREV][at] + (1 - u) * c;
	}
}

static struct dfg_err *cell_run(struct dfg_kernel *ctx)
{
	struct gru g;
	DFG_TRY(take(ctx, INPUTS, OUTPUTS, &g));
	const int64_t block = dfg_kernel_block(g.cells, 1 << 12);
	DFG_TRY(add_products(ctx, &g, 2 * g.cells, g.in[H_PREV], g.in[W_RU], g.in[B_RU], g.sums));
	dfg_kernel_ranges(ctx, g.batch, block, open_gates, &g);
	DFG_TRY(add_products(ctx, &g, g.cells, g.scaled, g.in[W_C], g.in[B_C], g.out[C]));
	dfg_kernel_ranges(ctx, g.batch, block, mix_states, &g);
	return NULL;
}

/* c (+)= a w^T for columns [first, first + n) of the result, where a and w have k columns. */
static struct dfg_err *back(struct dfg_kernel *ctx, const struct gru *g, int64_t k, const float *a, const float *w,
	int64_t first, int64_t n, bool add, float *c)
{
	const struct dfg_products p = {
		.each = {.m = g->batch,
			.n = n,
			.k = k,
			.a_row = k,
			.a_column = 1,
			.b_row = 1,
			.b_column = k,
			.c_row = n,
			.add = add},
		.dtype = DFG_F32,
		.count = 1,
		.a = a,
		.b = w + first * k,
		.c = c,
	};
	return g->batch && n && k ? dfg_kernel_products(ctx, &p) : NULL;
}

/* Input C + INPUTS + 1 is the cotangent of h. */
static void candidate_gradient(void *arg, int64_t first, int64_t last)
{
	const struct gru *g = arg;
	for (int64_t at = first * g->cells; at < last * g->cells; at++) {
		const float u = g->in[INPUTS + U][at], c = g->in[INPUTS + C][at];
		g->out[DC][at] = g->in[INPUTS + H][at] * (1 - u) * (1 - c * c);
	}
}

static void gates_gradient(void *arg, int64_t first, int64_t last)
{
	const struct gru *g = arg;
	for (int64_t row = first; row < last; row++)
		for (int64_t c = 0; c < g->cells; c++) {
			const int64_t at = row * g->cells + c;
			const float r = g->in[INPUTS + R][at], u = g->in[INPUTS + U][at], dh = g->in[INPUTS + H][at];
			const float h = g->in[H_PREV][at];
			g->out[DRU][2 * row * g->cells + c] = g->scaled[at] * h * r * (1 - r);
			g->out[DRU][(2 * row + 1) * g->cells + c] = dh * (h - g->in[INPUTS + C][at]) * u * (1 - u);
			g->out[DH_PREV][at] = g->scaled[at] * r + dh * u;
		}
}

static struct dfg_err *gradient_run(struct dfg_kernel *ctx)
{
	struct gru g;
	DFG_TRY(take(ctx, INPUTS + OUTPUTS, GRADIENTS, &g));
	const int64_t block = dfg_kernel_block(g.cells, 1 << 12), n = g.cells, rows = g.inputs;
	dfg_kernel_ranges(ctx, g.batch, block, candidate_gradient, &g);
	DFG_TRY(back(ctx, &g, n, g.out[DC], g.in[W_C], rows, n, false, g.scaled));
	dfg_kernel_ranges(ctx, g.batch, block, gates_gradient, &g);
	DFG_TRY(back(ctx, &g, 2 * n, g.out[DRU], g.in[W_RU], rows, n, true, g.out[DH_PREV]));
	memset(g.out[DX], 0, (size_t)(g.batch * rows) * sizeof(float));
	DFG_TRY(back(ctx, &g, n, g.out[DC], g.in[W_C], 0, rows, true, g.out[DX]));
	return back(ctx, &g, 2 * n, g.out[DRU], g.in[W_RU], 0, rows, true, g.out[DX]);
}

/* Only h has a cotangent. */
static struct dfg_err *differentiate(struct dfg_gradient *node)
{
	static const char *const name[] = {"r", "u", "c"};
	for (int i = 0; i < H; i++)
		if (dfg_gradient_has(node, i))
			return DFG_ERR(DFG_DATA, "output '%s' has no gradient: only h has one", name[i]);
	return dfg_gradient_formula(node,
		"dx, dh_prev, dc_sum, dru_sum = GRUBlockCellGrad(x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, dh)\n"
		"dw_ru = MatMul(ConcatV2([x, h_prev], 1), dru_sum, transpose_a = true)\n"
		"dw_c = MatMul(ConcatV2([x, r * h_prev], 1), dc_sum, transpose_a = true)\n"
		"db_ru, db_c = Sum(dru_sum, [0]), Sum(dc_sum, [0])");
}

#define INPUT_SIG "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"

const struct dfg_op dfg_op_GRUBlockCell = {
	.name = "GRUBlockCell",
	.doc = "one step of a GRU, with its gates in one product",
	.sig = "<T: f32>(" INPUT_SIG ") -> (r: T, u: T, c: T, h: T)",
	.shape = cell_shape,
	.gradient_fn = differentiate,
	.run = cell_run,
};

const struct dfg_op dfg_op_GRUBlockCellGrad = {
	.name = "GRUBlockCellGrad",
	.doc = "gradients of GRUBlockCell with respect to x, h_prev and the pre-activations of c, r and u",
	.sig = "<T: f32>(" INPUT_SIG ", r: T, u: T, c: T, d_h: T) -> (d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = gradient_shape,
	.run = gradient_run,
};
