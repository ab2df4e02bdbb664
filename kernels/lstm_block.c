#include "kernels/gemm/gemm.h"
#include "kernels/gradient_helpers.h"
#include "kernels/math.h"
#include "kernels/shape_rules.h"

#include <string.h>

/*
 * LSTMBlockCell, one step of an LSTM, and BlockLSTM, all steps of a sequence: TensorFlow's kernels with the gates in one
 * product. With the gates i, f and o, the candidate ci and [x, h] as one row:
 *
 *     i, ci, f, o = [x, h_prev] w + b                   (BlockLSTMV2: i, f, ci, o)
 *     cs = clip(sigmoid(f + forget_bias) cs_prev + sigmoid(i) tanh(ci));   co = tanh(cs);   h = sigmoid(o) co
 *
 * With peepholes, i and f also have wci cs_prev and wcf cs_prev, and o has wco cs.
 */

/* Inputs of the cell; those of a sequence, and of both gradients, are in the same order at another place. */
enum { X, CS_PREV, H_PREV, W, WCI, WCF, WCO, B, CELL_INPUTS };
/* Outputs of the cell, which are inputs of the gradients. */
enum { I, CS, F, O, CI, CO, H, CELL_OUTPUTS };
enum { GATE_I, GATE_CI, GATE_F, GATE_O, GATES };

/* Sizes, attributes and operands of a running op. */
struct lstm {
	int64_t steps, batch, inputs, cells;
	float forget_bias, cell_clip;
	bool peephole;
	int64_t gate[GATES]; /* the column block of each gate in w and b */
	const float *in[CELL_INPUTS];
	float *out[CELL_OUTPUTS];
};

static struct dfg_err *check_state(const struct dfg_infer *node, int i, const char *name, const struct dfg_shape *need)
{
	if (dfg_shape_fits(node->in[i], need))
		return NULL;
	return DFG_ERR(
		DFG_DATA, "%s has shape %s, expected %s", name, dfg_shape_words(node->in[i]).s, dfg_shape_words(need).s);
}

/* The shapes of the inputs, of which the first is number `first`; x has `rank` dimensions. *out: those of an output. */
static struct dfg_err *check_inputs(
	struct dfg_infer *node, int first, int rank, struct dfg_shape *out, int64_t *out_inputs)
{
	static const char *const vector[] = {"wci", "wcf", "wco"};
	const struct dfg_shape *x = node->in[first + X], *state = node->in[first + CS_PREV];
	DFG_TRY(dfg_need_rank(node, first + X, rank));
	DFG_TRY(dfg_need_rank(node, first + CS_PREV, 2));
	int64_t batch = x->dim[rank - 2], inputs = x->dim[rank - 1], cells = state->dim[1];
	int64_t rows = inputs == DFG_UNKNOWN || cells == DFG_UNKNOWN ? DFG_UNKNOWN : inputs + cells;
	int64_t gates = cells;
	if (cells != DFG_UNKNOWN)
		DFG_TRY(dfg_dim_product(cells, GATES, &gates));
	const struct dfg_shape need = {.rank = 2, .dim = {batch, cells}};
	DFG_TRY(check_state(node, first + CS_PREV, "cs_prev", &need));
	DFG_TRY(check_state(node, first + H_PREV, "h_prev", &need));
	DFG_TRY(check_state(node, first + W, "w", &(struct dfg_shape){.rank = 2, .dim = {rows, gates}}));
	for (int i = 0; i < 3; i++)
		DFG_TRY(check_state(node, first + WCI + i, vector[i], &DFG_SHAPE_VECTOR(cells)));
	DFG_TRY(check_state(node, first + B, "b", &DFG_SHAPE_VECTOR(gates)));
	*out = need;
	*out_inputs = inputs;
	return NULL;
}

static struct dfg_err *cell_shape(struct dfg_infer *node)
{
	int64_t inputs;
	DFG_TRY(check_inputs(node, 0, 2, &node->out[0], &inputs));
	for (int i = 1; i < CELL_OUTPUTS; i++)
		node->out[i] = node->out[0];
	return NULL;
}

static struct dfg_err *sequence_shape(struct dfg_infer *node)
{
	struct dfg_shape of_step;
	int64_t inputs;
	DFG_TRY(dfg_need_rank(node, 0, 0));
	DFG_TRY(check_inputs(node, 1, 3, &of_step, &inputs));
	for (int i = 0; i < CELL_OUTPUTS; i++)
		node->out[i] = (struct dfg_shape){.rank = 3, .dim = {node->in[1]->dim[0], of_step.dim[0], of_step.dim[1]}};
	return NULL;
}

/* The sizes and inputs at a running kernel; the shapes have been checked. */
static void take_inputs(struct dfg_kernel *ctx, int first, struct lstm *l)
{
	const struct dfg_tensor *x = dfg_kernel_input(ctx, first + X), *state = dfg_kernel_input(ctx, first + CS_PREV);
	l->steps = x->shape.rank == 3 ? x->shape.dim[0] : 1;
	l->batch = state->shape.dim[0];
	l->cells = state->shape.dim[1];
	l->inputs = x->shape.dim[x->shape.rank - 1];
	for (int i = 0; i < CELL_INPUTS; i++)
		l->in[i] = dfg_kernel_input(ctx, first + i)->data;
}

static void set_gates(struct lstm *l, bool candidate_last)
{
	l->gate[GATE_I] = 0;
	l->gate[GATE_CI] = candidate_last ? 2 : 1;
	l->gate[GATE_F] = candidate_last ? 1 : 2;
	l->gate[GATE_O] = 3;
}

static struct dfg_err *multiply(
	struct dfg_kernel *ctx, const struct dfg_product *each, const float *a, const float *b, float *c)
{
	const struct dfg_products products = {.each = *each, .dtype = DFG_F32, .count = 1, .a = a, .b = b, .c = c};
	return each->m && each->n && each->k ? dfg_kernel_products(ctx, &products) : NULL;
}

/* One step: the pre-activations of the gates become the outputs, rows [first, last) of the batch. */
struct cell_work {
	const struct lstm *l;
	const float *gates, *cs_prev;
	float *out[CELL_OUTPUTS];
};

static float clipped(float x, float most)
{
	return most > 0 ? x > most ? most : x < -most ? -most : x : x;
}

static void cell_rows(void *arg, int64_t first, int64_t last)
{
	const struct cell_work *work = arg;
	const struct lstm *l = work->l;
	const int64_t n = l->cells;
	for (int64_t row = first; row < last; row++) {
		const float *gates = work->gates + row * GATES * n;
		for (int64_t c = 0; c < n; c++) {
			const int64_t at = row * n + c;
			const float before = work->cs_prev[at];
			float i = gates[l->gate[GATE_I] * n + c], ci = gates[l->gate[GATE_CI] * n + c];
			float f = gates[l->gate[GATE_F] * n + c] + l->forget_bias, o = gates[l->gate[GATE_O] * n + c];
			if (l->peephole) {
				i += before * l->in[WCI][c];
				f += before * l->in[WCF][c];
			}
			i = sigmoid_f32(i);
			f = sigmoid_f32(f);
			ci = tanh_f32(ci);
			const float cs = clipped(ci * i + before * f, l->cell_clip);
			o = sigmoid_f32(l->peephole ? o + cs * l->in[WCO][c] : o);
			const float co = tanh_f32(cs), all[CELL_OUTPUTS] = {i, cs, f, o, ci, co, co * o};
			for (int k = 0; k < CELL_OUTPUTS; k++)
				work->out[k][at] = all[k];
		}
	}
}

/* Computes step t from the states before it. `gates` is memory for the pre-activations. */
static struct dfg_err *run_step(
	struct dfg_kernel *ctx, const struct lstm *l, int64_t t, const float *cs_prev, const float *h_prev, float *gates)
{
	const int64_t width = GATES * l->cells, size = l->batch * l->cells;
	struct cell_work work = {.l = l, .gates = gates, .cs_prev = cs_prev};
	for (int k = 0; k < CELL_OUTPUTS; k++)
		work.out[k] = l->out[k] + t * size;
	for (int64_t row = 0; row < l->batch; row++)
		memcpy(gates + row * width, l->in[B], (size_t)width * sizeof *gates);
	struct dfg_product p = {.m = l->batch,
		.n = width,
		.k = l->inputs,
		.a_row = l->inputs,
		.a_column = 1,
		.b_row = width,
		.b_column = 1,
		.c_row = width,
		.add = true};
	DFG_TRY(multiply(ctx, &p, l->in[X] + t * l->batch * l->inputs, l->in[W], gates));
	p.k = p.a_row = l->cells;
	DFG_TRY(multiply(ctx, &p, h_prev, l->in[W] + l->inputs * width, gates));
	dfg_kernel_ranges(ctx, l->batch, dfg_kernel_block(l->cells, 1 << 12), cell_rows, &work);
	return NULL;
}

static struct dfg_err *take_outputs(struct dfg_kernel *ctx, struct lstm *l, const struct dfg_shape *shape)
{
	struct dfg_tensor *out;
	for (int i = 0; i < CELL_OUTPUTS; i++) {
		DFG_TRY(dfg_kernel_output(ctx, i, shape, &out));
		l->out[i] = out->data;
	}
	return NULL;
}

static struct dfg_err *take_gates(struct dfg_kernel *ctx, const struct lstm *l, float **out_gates)
{
	return dfg_kernel_scratch(ctx, (size_t)(l->batch * l->cells) * GATES * sizeof **out_gates, (void **)out_gates);
}

enum { FORGET_BIAS, CELL_CLIP, PEEPHOLE }; /* attributes of the cell and of BlockLSTM */
enum { CELL_CLIP_V2, PEEPHOLE_V2 };        /* of BlockLSTMV2 */

static struct dfg_err *cell_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct lstm l = {
		.forget_bias = (float)attr[FORGET_BIAS].f, .cell_clip = (float)attr[CELL_CLIP].f, .peephole = attr[PEEPHOLE].b};
	struct dfg_shape shape[CELL_OUTPUTS];
	float *gates;
	DFG_TRY(dfg_shapes_now(ctx, CELL_OUTPUTS, shape));
	take_inputs(ctx, 0, &l);
	set_gates(&l, false);
	DFG_TRY(take_outputs(ctx, &l, &shape[0]));
	DFG_TRY(take_gates(ctx, &l, &gates));
	return run_step(ctx, &l, 0, l.in[CS_PREV], l.in[H_PREV], gates);
}

/* The number of steps to compute, the first of those that x has. */
static struct dfg_err *steps_of(struct dfg_kernel *ctx, const struct lstm *l, int64_t *out_steps)
{
	*out_steps = *(const int64_t *)dfg_kernel_input(ctx, 0)->data;
	if (*out_steps < 0 || *out_steps > l->steps)
		return DFG_ERR(DFG_DATA, "seq_len_max is %lld, expected 0 to %lld, the steps of x", (long long)*out_steps,
			(long long)l->steps);
	return NULL;
}

/* The last operand of a step, which is an output of the one before. */
static const float *before_step(const struct lstm *l, int64_t t, int output, const float *first)
{
	return t ? l->out[output] + (t - 1) * l->batch * l->cells : first;
}

static struct dfg_err *sequence(struct dfg_kernel *ctx, struct lstm *l)
{
	struct dfg_shape shape[CELL_OUTPUTS];
	float *gates;
	int64_t steps;
	DFG_TRY(dfg_shapes_now(ctx, CELL_OUTPUTS, shape));
	take_inputs(ctx, 1, l);
	DFG_TRY(steps_of(ctx, l, &steps));
	DFG_TRY(take_outputs(ctx, l, &shape[0]));
	DFG_TRY(take_gates(ctx, l, &gates));
	for (int64_t t = 0; t < steps; t++)
		DFG_TRY(run_step(ctx, l, t, before_step(l, t, CS, l->in[CS_PREV]), before_step(l, t, H, l->in[H_PREV]), gates));
	const size_t size = (size_t)(l->batch * l->cells);
	for (int i = 0; i < CELL_OUTPUTS; i++)
		memset(l->out[i] + (size_t)steps * size, 0, (size_t)(l->steps - steps) * size * sizeof(float));
	return NULL;
}

static struct dfg_err *sequence_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct lstm l = {
		.forget_bias = (float)attr[FORGET_BIAS].f, .cell_clip = (float)attr[CELL_CLIP].f, .peephole = attr[PEEPHOLE].b};
	set_gates(&l, false);
	return sequence(ctx, &l);
}

static struct dfg_err *sequence_run_v2(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct lstm l = {.cell_clip = (float)attr[CELL_CLIP_V2].f, .peephole = attr[PEEPHOLE_V2].b};
	set_gates(&l, true);
	return sequence(ctx, &l);
}

/* The gradients. Their inputs after those of the forward op: its outputs, H only of a sequence, and the two cotangents. */
struct lstm_gradient {
	struct lstm l;
	const float *kept[CELL_OUTPUTS];
	const float *cs_grad, *h_grad;
	float *peephole_sum[3]; /* outputs, by cell */
};

/* One step: rows [first, last) of the pre-activations' cotangents and of the cotangent of cs_prev. */
struct gradient_work {
	const struct lstm_gradient *g;
	const float *kept[CELL_OUTPUTS];
	const float *cs_prev, *dcs, *dh;
	float *gates, *dcs_prev; /* dcs_prev may be dcs */
};

static void gradient_rows(void *arg, int64_t first, int64_t last)
{
	const struct gradient_work *work = arg;
	const struct lstm *l = &work->g->l;
	const int64_t n = l->cells;
	for (int64_t row = first; row < last; row++) {
		float *gates = work->gates + row * GATES * n;
		for (int64_t c = 0; c < n; c++) {
			const int64_t at = row * n + c;
			const float i = work->kept[I][at], f = work->kept[F][at], o = work->kept[O][at];
			const float ci = work->kept[CI][at], co = work->kept[CO][at], dh = work->dh[at];
			const float dgate_o = o * (1 - o) * dh * co;
			float dcs = (1 - co * co) * dh * o + work->dcs[at];
			if (l->peephole)
				dcs += dgate_o * l->in[WCO][c];
			const float dgate_f = f * (1 - f) * dcs * work->cs_prev[at], dgate_i = i * (1 - i) * dcs * ci;
			gates[l->gate[GATE_I] * n + c] = dgate_i;
			gates[l->gate[GATE_CI] * n + c] = (1 - ci * ci) * dcs * i;
			gates[l->gate[GATE_F] * n + c] = dgate_f;
			gates[l->gate[GATE_O] * n + c] = dgate_o;
			work->dcs_prev[at] = dcs * f + (l->peephole ? dgate_i * l->in[WCI][c] + dgate_f * l->in[WCF][c] : 0);
		}
	}
}

/* Adds what the step gives for wci, wcf and wco, in the order of rows. */
static void add_peepholes(const struct gradient_work *work)
{
	const struct lstm *l = &work->g->l;
	const int64_t n = l->cells;
	for (int64_t row = 0; row < l->batch && l->peephole; row++) {
		const float *gates = work->gates + row * GATES * n;
		for (int64_t c = 0; c < n; c++) {
			work->g->peephole_sum[0][c] += gates[l->gate[GATE_I] * n + c] * work->cs_prev[row * n + c];
			work->g->peephole_sum[1][c] += gates[l->gate[GATE_F] * n + c] * work->cs_prev[row * n + c];
			work->g->peephole_sum[2][c] += gates[l->gate[GATE_O] * n + c] * work->kept[CS][row * n + c];
		}
	}
}

static void step_gradient(struct dfg_kernel *ctx, struct gradient_work *work, int64_t t)
{
	const struct lstm *l = &work->g->l;
	const int64_t size = l->batch * l->cells;
	for (int k = 0; k < H; k++)
		work->kept[k] = work->g->kept[k] + t * size;
	work->cs_prev = t ? work->g->kept[CS] + (t - 1) * size : l->in[CS_PREV];
	dfg_kernel_ranges(ctx, l->batch, dfg_kernel_block(l->cells, 1 << 12), gradient_rows, work);
	add_peepholes(work);
}

/* Output i with the shape of input j, zeroed. */
static struct dfg_err *zeroed_like(struct dfg_kernel *ctx, int i, int j, float **out)
{
	struct dfg_tensor *tensor;
	DFG_TRY(dfg_kernel_output(ctx, i, &dfg_kernel_input(ctx, j)->shape, &tensor));
	memset(tensor->data, 0, dfg_tensor_bytes(tensor));
	*out = tensor->data;
	return NULL;
}

/* Takes the operands; `first` is the number of x, `grads` that of cs_grad, and `sums` the output of wci's gradient. */
static struct dfg_err *take_gradient(struct dfg_kernel *ctx, int first, int grads, int sums, struct lstm_gradient *g)
{
	take_inputs(ctx, first, &g->l);
	for (int i = first + CELL_INPUTS; i < grads; i++)
		g->kept[i - first - CELL_INPUTS] = dfg_kernel_input(ctx, i)->data;
	g->cs_grad = dfg_kernel_input(ctx, grads)->data;
	g->h_grad = dfg_kernel_input(ctx, grads + 1)->data;
	for (int i = 0; i < 3; i++)
		DFG_TRY(zeroed_like(ctx, sums + i, first + WCI + i, &g->peephole_sum[i]));
	return NULL;
}

static struct dfg_err *check_kept(const struct dfg_infer *node, int from, int to, const struct dfg_shape *need)
{
	for (int i = from; i < to; i++)
		DFG_TRY(check_state(node, i, node->call->signature->in[i].name, need));
	return NULL;
}

static struct dfg_err *cell_gradient_shape(struct dfg_infer *node)
{
	struct dfg_shape state;
	int64_t inputs;
	DFG_TRY(check_inputs(node, 0, 2, &state, &inputs));
	DFG_TRY(check_kept(node, CELL_INPUTS, CELL_INPUTS + CELL_OUTPUTS + 1, &state));
	node->out[0] = node->out[1] = state;
	node->out[1].dim[1] = state.dim[1] == DFG_UNKNOWN ? DFG_UNKNOWN : GATES * state.dim[1];
	for (int i = 2; i < 5; i++)
		node->out[i] = DFG_SHAPE_VECTOR(state.dim[1]);
	return NULL;
}

static struct dfg_err *cell_gradient_run(struct dfg_kernel *ctx)
{
	struct lstm_gradient g = {.l.peephole = dfg_kernel_attr(ctx)[0].b};
	struct gradient_work work = {.g = &g};
	struct dfg_shape shape[5];
	struct dfg_tensor *gates;
	DFG_TRY(dfg_shapes_now(ctx, 5, shape));
	DFG_TRY(take_gradient(ctx, 0, CELL_INPUTS + H, 2, &g));
	set_gates(&g.l, false);
	DFG_TRY(zeroed_like(ctx, 0, CS_PREV, &work.dcs_prev));
	DFG_TRY(dfg_kernel_output(ctx, 1, &shape[1], &gates));
	work.gates = gates->data;
	work.dcs = g.cs_grad;
	work.dh = g.h_grad;
	step_gradient(ctx, &work, 0);
	return NULL;
}

static struct dfg_err *sequence_gradient_shape(struct dfg_infer *node)
{
	struct dfg_shape state;
	int64_t inputs;
	DFG_TRY(dfg_need_rank(node, 0, 0));
	DFG_TRY(check_inputs(node, 1, 3, &state, &inputs));
	const struct dfg_shape all = {.rank = 3, .dim = {node->in[1]->dim[0], state.dim[0], state.dim[1]}};
	DFG_TRY(check_kept(node, 1 + CELL_INPUTS, 1 + CELL_INPUTS + CELL_OUTPUTS + 2, &all));
	for (int i = 0; i < CELL_INPUTS; i++)
		node->out[i] = *node->in[1 + i];
	return NULL;
}

/* The contributions of a step to the cotangents of x, h_prev, w and b, from those of its pre-activations. */
static struct dfg_err *spread_gates(
	struct dfg_kernel *ctx, const struct gradient_work *work, int64_t t, float *dh_prev, float *const *out)
{
	const struct lstm *l = &work->g->l;
	const int64_t width = GATES * l->cells, x_size = l->batch * l->inputs;
	const float *x = l->in[X] + t * x_size,
				*h_prev = t ? work->g->kept[H] + (t - 1) * l->batch * l->cells : l->in[H_PREV];
	const struct dfg_product back = {.m = l->batch,
		.n = l->inputs,
		.k = width,
		.a_row = width,
		.a_column = 1,
		.b_row = 1,
		.b_column = width,
		.c_row = l->inputs};
	const struct dfg_product outer = {.m = l->inputs,
		.n = width,
		.k = l->batch,
		.a_row = 1,
		.a_column = l->inputs,
		.b_row = width,
		.b_column = 1,
		.c_row = width,
		.add = true};
	struct dfg_product back_h = back, outer_h = outer;
	back_h.n = back_h.c_row = outer_h.m = outer_h.a_column = l->cells;
	DFG_TRY(multiply(ctx, &back, work->gates, l->in[W], out[X] + t * x_size));
	DFG_TRY(multiply(ctx, &back_h, work->gates, l->in[W] + l->inputs * width, dh_prev));
	DFG_TRY(multiply(ctx, &outer, x, work->gates, out[W]));
	DFG_TRY(multiply(ctx, &outer_h, h_prev, work->gates, out[W] + l->inputs * width));
	for (int64_t row = 0; row < l->batch; row++)
		for (int64_t c = 0; c < width; c++)
			out[B][c] += work->gates[row * width + c];
	return NULL;
}

static void add_to(float *sum, const float *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		sum[i] += x[i];
}

/* From the last step to the first; the cotangents of cs_prev and h_prev are those of the step before. */
static struct dfg_err *sequence_gradient(struct dfg_kernel *ctx, bool candidate_last)
{
	struct lstm_gradient g = {.l.peephole = dfg_kernel_attr(ctx)[0].b};
	struct gradient_work work = {.g = &g};
	struct dfg_shape shape[CELL_INPUTS];
	float *out[CELL_INPUTS];
	int64_t steps;
	DFG_TRY(dfg_shapes_now(ctx, CELL_INPUTS, shape));
	DFG_TRY(take_gradient(ctx, 1, 1 + CELL_INPUTS + CELL_OUTPUTS, WCI, &g));
	DFG_TRY(steps_of(ctx, &g.l, &steps));
	set_gates(&g.l, candidate_last);
	for (int i = 0; i < CELL_INPUTS; i++)
		if (i < WCI || i > WCO)
			DFG_TRY(zeroed_like(ctx, i, 1 + i, &out[i]));
	DFG_TRY(take_gates(ctx, &g.l, &work.gates));
	work.dcs = work.dcs_prev = out[CS_PREV];
	work.dh = out[H_PREV];
	const int64_t size = g.l.batch * g.l.cells;
	for (int64_t t = steps - 1; t >= 0; t--) {
		add_to(out[CS_PREV], g.cs_grad + t * size, size);
		add_to(out[H_PREV], g.h_grad + t * size, size);
		step_gradient(ctx, &work, t);
		DFG_TRY(spread_gates(ctx, &work, t, out[H_PREV], out));
	}
	return NULL;
}

static struct dfg_err *sequence_gradient_run(struct dfg_kernel *ctx)
{
	return sequence_gradient(ctx, false);
}

static struct dfg_err *sequence_gradient_run_v2(struct dfg_kernel *ctx)
{
	return sequence_gradient(ctx, true);
}

/* Gradients are those by cs and h, as TensorFlow's; of the other outputs there are none. */
static struct dfg_err *refuse_others(const struct dfg_gradient *node)
{
	static const char *const name[CELL_OUTPUTS] = {"i", "cs", "f", "o", "ci", "co", "h"};
	for (int i = 0; i < CELL_OUTPUTS; i++)
		if (i != CS && i != H && dfg_gradient_has(node, i))
			return DFG_ERR(DFG_DATA, "output '%s' has no gradient: only cs and h have one", name[i]);
	return NULL;
}

static struct dfg_err *differentiate_cell(struct dfg_gradient *node)
{
	DFG_TRY(refuse_others(node));
	return dfg_gradient_formula(node,
		"dcs_prev, gates, dwci, dwcf, dwco = LSTMBlockCellGrad(x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, "
		"ci, co, "
		"dcs, dh, use_peephole = use_peephole)\n"
		"xh = ConcatV2([x, h_prev], 1)\n"
		"dx, dh_prev = SplitV(MatMul(gates, w, transpose_b = true), Pack([Shape(x)[1], Shape(h_prev)[1]]), 1, "
		"num_split = 2)\n"
		"dw = MatMul(xh, gates, transpose_a = true)\n"
		"db = Sum(gates, [0])");
}

#define OF_SEQUENCE(op)                                          \
	"dx, dcs_prev, dh_prev, dw, dwci, dwcf, dwco, db = " op      \
	"(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, i, " \
	"cs, f, o, ci, co, h, dcs, dh, use_peephole = use_peephole)"

static struct dfg_err *differentiate_sequence(struct dfg_gradient *node)
{
	DFG_TRY(refuse_others(node));
	return dfg_gradient_formula(node, OF_SEQUENCE("BlockLSTMGrad"));
}

static struct dfg_err *differentiate_sequence_v2(struct dfg_gradient *node)
{
	DFG_TRY(refuse_others(node));
	return dfg_gradient_formula(node, OF_SEQUENCE("BlockLSTMGradV2"));
}

#define STATE_SIG "cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
#define KEPT_SIG "i: T, cs: T, f: T, o: T, ci: T, co: T"
#define SEQUENCE_GRADIENT_SIG                                        \
	"<T: f32|half>(seq_len_max: i64, x: T, " STATE_SIG ", " KEPT_SIG \
	", h: T, cs_grad: T, h_grad: T) -> (x_grad: T, "                 \
	"cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T)"

const struct dfg_op dfg_op_LSTMBlockCell = {
	.name = "LSTMBlockCell",
	.doc = "one step of an LSTM, with the gates in one product",
	.sig = "<T: f32|half>(x: T, " STATE_SIG ") -> (" KEPT_SIG ", h: T)",
	.attr = {"forget_bias: float = 1", "cell_clip: float = 3", "use_peephole: bool = false"},
	.shape = cell_shape,
	.gradient_fn = differentiate_cell,
	.run = cell_run,
};

const struct dfg_op dfg_op_LSTMBlockCellGrad = {
	.name = "LSTMBlockCellGrad",
	.doc = "gradients with respect to cs_prev, the pre-activations of the gates (dicfo) and the peephole weights",
	.sig = "<T: f32|half>(x: T, " STATE_SIG ", " KEPT_SIG
		   ", cs_grad: T, h_grad: T) -> (cs_prev_grad: T, dicfo: T, "
		   "wci_grad: T, wcf_grad: T, wco_grad: T)",
	.attr = {"use_peephole: bool"},
	.flags = DFG_NO_GRADIENT,
	.shape = cell_gradient_shape,
	.run = cell_gradient_run,
};

const struct dfg_op dfg_op_BlockLSTM = {
	.name = "BlockLSTM",
	.doc = "an LSTM over the first seq_len_max steps of x; the outputs of later steps are 0",
	.sig = "<T: f32|half>(seq_len_max: i64, x: T, " STATE_SIG ") -> (" KEPT_SIG ", h: T)",
	.attr = {"forget_bias: float = 1", "cell_clip: float = 3", "use_peephole: bool = false"},
	.shape = sequence_shape,
	.gradient_fn = differentiate_sequence,
	.run = sequence_run,
};

const struct dfg_op dfg_op_BlockLSTMV2 = {
	.name = "BlockLSTMV2",
	.doc = "BlockLSTM with the gates in the order i, f, ci, o, and without forget_bias",
	.sig = "<T: f32|half>(seq_len_max: i64, x: T, " STATE_SIG ") -> (" KEPT_SIG ", h: T)",
	.attr = {"cell_clip: float = 0", "use_peephole: bool = false"},
	.shape = sequence_shape,
	.gradient_fn = differentiate_sequence_v2,
	.run = sequence_run_v2,
};

const struct dfg_op dfg_op_BlockLSTMGrad = {
	.name = "BlockLSTMGrad",
	.doc = "gradient of BlockLSTM",
	.sig = SEQUENCE_GRADIENT_SIG,
	.attr = {"use_peephole: bool"},
	.flags = DFG_NO_GRADIENT,
	.shape = sequence_gradient_shape,
	.run = sequence_gradient_run,
};

const struct dfg_op dfg_op_BlockLSTMGradV2 = {
	.name = "BlockLSTMGradV2",
	.doc = "gradient of BlockLSTMV2",
	.sig = SEQUENCE_GRADIENT_SIG,
	.attr = {"use_peephole: bool"},
	.flags = DFG_NO_GRADIENT,
	.shape = sequence_gradient_shape,
	.run = sequence_gradient_run_v2,
};
