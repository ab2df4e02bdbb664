#pragma once

#include "lib/exec/session.h"
#include "remote/coordinator.h"

/*
 * A Chrome trace of the nodes that run, written as they end. The event functions may be called on any thread; their first
 * argument is the struct dfg_trace.
 */
struct dfg_trace;
DFG_MUST_CHECK struct dfg_err *dfg_trace_new(const char *path, struct dfg_trace **out_trace);
void dfg_trace_event(void *trace, const struct dfg_trace_event *event);
void dfg_trace_worker_event(
	void *trace, const struct dfg_coordinator_event *event); /* the trace's process is the worker */
DFG_MUST_CHECK struct dfg_err *dfg_trace_end(
	struct dfg_trace *trace); /* closes the file; without this call no file is written */
void dfg_trace_free(struct dfg_trace *trace);
