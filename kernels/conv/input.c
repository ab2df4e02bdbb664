#include "kernels/conv/walk.h"
#include "kernels/gemm/gemm.h"

#include <string.h>

/*
 * The gradient by the input. With strides of 1 it is a convolution of d out by the filter, reversed along its axes and
 * with input and output channels exchanged. With a stride of s along an axis, each s-th pixel is such a convolution, by
 * each tap that reaches those pixels: a phase.
 */
struct phase {
	const struct dfg_convolution *c;
	struct dfg_conv_walk walk;
	int64_t last[DFG_AXES],
		step[DFG_AXES]; /* the filter's last tap in the phase, which is the walk's first; steps back */
	const char *filter;
	char *packed;
};

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* The pixels at, at + stride, ... of an axis. */
static void set_axis(struct phase *phase, int a, int64_t at)
{
	const struct dfg_axis *axis = &phase->c->window.axis[a];
	const int64_t s = axis->stride, shared = common_divisor(axis->dilation, s), period = s / shared;
	struct dfg_conv_walk_axis *to = &phase->walk.axis[a];
	int64_t tap = 0;
	while (tap < period && tap < axis->size && (at + axis->before - tap * axis->dilation) % s)
		tap++;
	*to = (struct dfg_conv_walk_axis){.in = axis->out,
		.positions = (axis->in - at + s - 1) / s,
		.step = 1,
		.taps = tap < period && tap < axis->size ? (axis->size - 1 - tap) / period + 1 : 0,
		.dilation = axis->dilation / shared,
		.to = at,
		.to_step = s,
		.to_size = axis->in};
	phase->step[a] = period;
	phase->last[a] = tap + (to->taps - 1) * period;
	to->first = to->taps ? (at + axis->before - phase->last[a] * axis->dilation) / s : 0;
}

/* The filter's tap that is tap `number` of the walk. */
static int64_t tap_of(const struct phase *phase, int64_t number)
{
	int64_t tap[DFG_AXES];
	for (int a = DFG_AXES - 1; a >= 0; a--) {
		tap[a] = phase->last[a] - number % phase->walk.axis[a].taps * phase->step[a];
		number /= phase->walk.axis[a].taps;
	}
	const struct dfg_axis *axis = phase->c->window.axis;
	return (tap[0] * axis[1].size + tap[1]) * axis[2].size + tap[2];
}

static int64_t strips(const struct dfg_convolution *c)
{
	const int64_t strip = dfg_product_strip(c->dtype);
	return (c->group_in + strip - 1) / strip;
}

/* Packs strips [first, last) of the groups' filters, tap by tap: a tap's rows are the outputs, columns the inputs. */
static void pack(void *arg, int64_t first, int64_t last)
{
	const struct phase *phase = arg;
	const struct dfg_convolution *c = phase->c;
	const int64_t outputs = c->groups * c->group_out, strip = dfg_product_strip(c->dtype), each = strips(c);
	const int64_t size = (int64_t)dfg_dtype_size(c->dtype), rows = dfg_conv_walk_rows(&phase->walk);
	for (int64_t i = first; i < last; i++) {
		const int64_t column = i % each * strip;
		const struct dfg_product p = {.n = c->group_in - column, .k = c->group_out, .b_row = 1, .b_column = outputs};
		for (int64_t t = 0; t < rows / c->group_out; t++) {
			const int64_t from = (tap_of(phase, t) * c->group_in + column) * outputs + i / each * c->group_out;
			dfg_product_pack(&p, c->dtype, phase->filter + from * size, 0, 1,
				phase->packed + (i * rows + t * c->group_out) * strip * size);
		}
	}
}

static struct dfg_err *run_phase(
	struct dfg_kernel *ctx, struct phase *phase, struct dfg_conv_walk_memory *memory, const void *d_out, void *d_in)
{
	const struct dfg_conv_walk *walk = &phase->walk;
	size_t bytes;
	DFG_TRY(dfg_conv_walk_packed_bytes(walk, &bytes));
	DFG_TRY(dfg_kernel_scratch(ctx, bytes + 1, (void **)&phase->packed));
	const int64_t strip = dfg_conv_walk_rows(walk) * dfg_product_strip(walk->dtype);
	dfg_kernel_ranges(ctx, walk->groups * strips(phase->c), 64 * 1024 / (strip + 1) + 1, pack, phase);
	return dfg_conv_walk_run(ctx, walk, memory, d_out, phase->packed, d_in);
}

struct dfg_err *dfg_convolve_input(struct dfg_kernel *ctx, const struct dfg_convolution *convolution,
	const void *filter, const void *d_out, void *d_in)
{
	const struct dfg_convolution *c = convolution;
	const struct dfg_axis *axis = c->window.axis;
	struct phase phase = {
		.c = c,
		.filter = filter,
		.walk = {.images = c->window.batch,
			.groups = c->groups,
			.group_in = c->group_out,
			.group_out = c->group_in,
			.dtype = c->dtype},
	};
	struct dfg_conv_walk_memory memory = {0};
	for (int64_t d = 0; d < axis[0].stride && d < axis[0].in; d++)
		for (int64_t h = 0; h < axis[1].stride && h < axis[1].in; h++)
			for (int64_t w = 0; w < axis[2].stride && w < axis[2].in; w++) {
				set_axis(&phase, 0, d);
				set_axis(&phase, 1, h);
				set_axis(&phase, 2, w);
				DFG_TRY(run_phase(ctx, &phase, &memory, d_out, d_in));
			}
	return NULL;
}
