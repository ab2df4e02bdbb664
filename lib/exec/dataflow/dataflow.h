#pragma once

#include "lib/exec/plan/plan.h"
#include "lib/exec/plan/profile.h"

/* The dataflow executor: runs a step by passing tokens through frames and iterations. */
DFG_MUST_CHECK struct dfg_err *dfg_dataflow_run(struct dfg_plan *plan, const struct dfg_tensor *feeds,
	const struct dfg_step_control *control, struct dfg_tensor *out_fetches);
void dfg_executors_free(struct dfg_plan *plan);

/* The rows of the plan's nodes. No step may be running. */
void dfg_dataflow_profile(const struct dfg_plan *plan, const struct profile_sink *sink);
