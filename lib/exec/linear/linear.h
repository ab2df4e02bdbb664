#pragma once

#include "lib/exec/plan/plan.h"

/* The linear executor: runs a step in one order, in memory that was planned before. */
DFG_MUST_CHECK struct dfg_err *dfg_line_run(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);

/* Makes the layout for feeds of any shape, so that what cannot fit is found before the first step. */
DFG_MUST_CHECK struct dfg_err *dfg_layouts_begin(struct dfg_plan *plan);
void dfg_layouts_free(struct dfg_plan *plan);
