#pragma once

#include "lib/pass/grad/gradient_frames.h"

/*
 * Iterations are numbered by a loop variable. Up: it begins with 0 and each trip adds 1, so behind the loop it is the
 * number of trips. Down, in gradient loops: it is counted from one less than that number to 0. A loop that has neither
 * gets a variable of the first kind. i32 or i64.
 */

/* Looks for one among the loop's variables. */
void dfg_induction_find(struct dfg_gradient_frames *m, uint32_t loop);

/* The variable in the body of the forward loop; adds it where there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_induction_index(
	struct dfg_gradient_frames *m, uint32_t loop, struct dfg_edge *out_edge);

/* The number of trips, outside the forward loop. */
DFG_MUST_CHECK struct dfg_err *dfg_induction_trips(
	struct dfg_gradient_frames *m, uint32_t loop, struct dfg_edge *out_edge);

enum dfg_dtype dfg_induction_dtype(const struct dfg_gradient_frames *m, uint32_t loop);

/* A loop variable being made, in a forward loop or in a gradient loop. */
struct dfg_new_variable {
	struct dfg_edge merge, body; /* its value, and that on the body's side of the Switch */
	struct dfg_edge out;         /* on the other side */
};

/* start stands at the loop's entry. The shape of what it holds is not known; whoever knows may say so. */
DFG_MUST_CHECK struct dfg_err *dfg_variable_merge(struct dfg_gradient_frames *m, uint32_t loop, bool mirrored,
	struct dfg_edge start, struct dfg_new_variable *out_variable);
DFG_MUST_CHECK struct dfg_err *dfg_variable_switch(
	struct dfg_gradient_frames *m, uint32_t loop, bool mirrored, struct dfg_new_variable *variable);

/* next stands in the body. */
DFG_MUST_CHECK struct dfg_err *dfg_variable_close(struct dfg_gradient_frames *m, uint32_t loop, bool mirrored,
	const struct dfg_new_variable *variable, struct dfg_edge next);
DFG_MUST_CHECK struct dfg_err *dfg_variable_exit(struct dfg_gradient_frames *m, uint32_t loop, bool mirrored,
	const struct dfg_new_variable *variable, struct dfg_edge *out_edge);
