#pragma once

#include "kernels/conv/walk.h"

/*
 * The gradient by the input. With strides of 1 it is a convolution of d out by the filter, reversed along its axes and
 * with input and output channels exchanged. With a stride of s along an axis, each s-th pixel is such a convolution, by
 * each tap that reaches those pixels: a phase.
 */
struct dfg_conv_phase {
	const struct dfg_convolution *convolution;
	struct dfg_conv_walk walk;
	int64_t last[DFG_AXES]; /* the filter's last tap in the phase, which is the walk's first */
	int64_t step[DFG_AXES]; /* taps of the filter from one tap of the phase to the one before it */
};

/* The number of phases that have pixels, and phase `number` of them. */
int64_t dfg_conv_phases(const struct dfg_convolution *convolution);
struct dfg_conv_phase dfg_conv_phase(const struct dfg_convolution *convolution, int64_t number);

/* The filter's tap that is tap `number` of the walk. */
int64_t dfg_conv_phase_tap(const struct dfg_conv_phase *phase, int64_t number);
