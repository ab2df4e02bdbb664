#include "kernels/conv/phases.h"

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
static void set_axis(struct dfg_conv_phase *phase, int a, int64_t at)
{
	const struct dfg_axis *axis = &phase->convolution->window.axis[a];
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

int64_t dfg_conv_phase_tap(const struct dfg_conv_phase *phase, int64_t number)
{
	int64_t tap[DFG_AXES];
	for (int a = DFG_AXES - 1; a >= 0; a--) {
		tap[a] = phase->last[a] - number % phase->walk.axis[a].taps * phase->step[a];
		number /= phase->walk.axis[a].taps;
	}
	const struct dfg_axis *axis = phase->convolution->window.axis;
	return (tap[0] * axis[1].size + tap[1]) * axis[2].size + tap[2];
}

static int64_t phases_along(const struct dfg_axis *axis)
{
	return axis->stride < axis->in ? axis->stride : axis->in;
}

int64_t dfg_conv_phases(const struct dfg_convolution *convolution)
{
	const struct dfg_axis *axis = convolution->window.axis;
	return phases_along(&axis[0]) * phases_along(&axis[1]) * phases_along(&axis[2]);
}

struct dfg_conv_phase dfg_conv_phase(const struct dfg_convolution *convolution, int64_t number)
{
	const struct dfg_convolution *c = convolution;
	struct dfg_conv_phase phase = {
		.convolution = c,
		.walk = {.images = c->window.batch,
			.groups = c->groups,
			.group_in = c->group_out,
			.group_out = c->group_in,
			.dtype = c->dtype},
	};
	for (int a = DFG_AXES - 1; a >= 0; a--) {
		set_axis(&phase, a, number % phases_along(&c->window.axis[a]));
		number /= phases_along(&c->window.axis[a]);
	}
	return phase;
}
