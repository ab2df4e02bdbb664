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

/* An event on a worker, which is a process of the trace. */
void dfg_trace_worker_event(void *trace, const struct dfg_coordinator_event *event);

/* Writes the file, whose error is the first of all events; without this call there is no file. */
DFG_MUST_CHECK struct dfg_err *dfg_trace_end(struct dfg_trace *trace);
void dfg_trace_free(struct dfg_trace *trace);
