#pragma once

#include "lib/exec/plan/plan.h"
#include "lib/exec/plan/profile.h"

/* The linear executor: runs a step in one fixed order, in memory that was planned before. */
DFG_MUST_CHECK struct dfg_err *dfg_linear_run(struct dfg_plan *plan, const struct dfg_tensor *feeds,
	const struct dfg_step_control *control, struct dfg_tensor *out_fetches);

/* Makes the program for feeds of any shape, so that shape errors are found before the first step. */
DFG_MUST_CHECK struct dfg_err *dfg_programs_begin(struct dfg_plan *plan);
void dfg_programs_free(struct dfg_plan *plan);

/* The rows of the plan's programs. No step may be running. */
void dfg_linear_profile(const struct dfg_plan *plan, const struct profile_sink *sink);
