#pragma once

#include "lib/exec/group/group.h"
#include "lib/exec/plan/step.h"

/*
 * Calls `trace`, unless it is NULL, for each bucket that was reduced in the step in progress of a group: its update run has
 * just ended.
 */
void dfg_trace_buckets(
	struct dfg_group *group, void (*trace)(void *arg, const struct dfg_trace_event *event), void *trace_arg);
