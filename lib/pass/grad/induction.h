#pragma once

#include "lib/pass/grad/gradient_frames.h"

/*
 * Induction variables number the iterations of a loop (i32 or i64). Upwards: from 0 by 1, so that the value after the
 * loop is the number of iterations N. Downwards, in gradient loops: from N - 1 to 0. A loop that has neither gets one
 * that counts upwards.
 */

/* Searches the loop's variables for an induction variable. */
void dfg_induction_find(struct dfg_gradient_frames *m, uint32_t loop);

/* The induction variable in the body of the forward loop, added if the loop has none. */
DFG_MUST_CHECK struct dfg_err *dfg_induction_index(
	struct dfg_gradient_frames *m, uint32_t loop, struct dfg_edge *out_edge);

/* The number of iterations, outside the forward loop. */
DFG_MUST_CHECK struct dfg_err *dfg_induction_iterations(
	struct dfg_gradient_frames *m, uint32_t loop, struct dfg_edge *out_edge);

enum dfg_dtype dfg_induction_dtype(const struct dfg_gradient_frames *m, uint32_t loop);

/* A loop variable under construction, in a forward loop or a gradient loop. */
struct dfg_new_variable {
	struct dfg_edge merge, body; /* its value, and its value on the body's side of the Switch */
	struct dfg_edge out;         /* its value on the other side */
};

/* start: at the loop's entry. The Merge has an unknown shape; the caller may set it. */
DFG_MUST_CHECK struct dfg_err *dfg_variable_merge(struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient,
	struct dfg_edge start, struct dfg_new_variable *out_variable);
DFG_MUST_CHECK struct dfg_err *dfg_variable_switch(
	struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient, struct dfg_new_variable *variable);

/* next: in the body. */
DFG_MUST_CHECK struct dfg_err *dfg_variable_close(struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient,
	const struct dfg_new_variable *variable, struct dfg_edge next);
DFG_MUST_CHECK struct dfg_err *dfg_variable_exit(struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient,
	const struct dfg_new_variable *variable, struct dfg_edge *out_edge);
