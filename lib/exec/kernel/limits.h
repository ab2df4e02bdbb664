#pragma once

#include "lib/exec/plan/plan.h"

/* Limits that may end a step early, and the check of computed values for NaN and infinity. */
struct watch {
	const struct dfg_session_options *options;
	const struct dfg_step_control *control;                        /* NULL: none */
	void (*trace)(void *arg, const struct dfg_trace_event *event); /* NULL: none */
	void *trace_arg;
	uint64_t deadline; /* monotonic clock, in ns; 0: none */
	bool on;           /* there is something to check after each node */
};
void dfg_watch_begin(
	struct watch *watch, const struct dfg_session_options *options, const struct dfg_step_control *control);
DFG_MUST_CHECK struct dfg_err *dfg_watch_check(const struct watch *watch);
DFG_MUST_CHECK struct dfg_err *dfg_check_numerics(const struct dfg_resolved_node *call, struct dfg_tensor *const *out);
