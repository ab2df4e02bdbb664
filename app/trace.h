#pragma once

#include "lib/exec/session.h"
#include "remote/coordinator.h"

/*
 * A Chrome trace of the nodes that run, written as they end. The event functions may be called on any thread; their first
 * argument is the struct dfg_trace.
 */
struct dfg_trace;
DFG_MUST_CHECK struct dfg_err *dfg_trace_new(const char *path, struct dfg_trace **out_trace);

/* The same, into the text, which is borrowed and has the trace after the end. Events beyond that many bytes are counted only. */
DFG_MUST_CHECK struct dfg_err *dfg_trace_new_memory(
	struct dfg_text *text, size_t most_bytes, struct dfg_trace **out_trace);
/* Names a process, which otherwise is a worker. Any thread; before its events. */
void dfg_trace_name(struct dfg_trace *trace, int process, const char *name);
void dfg_trace_event(void *trace, const struct dfg_trace_event *event);

/* An event on a worker, which is a process of the trace. */
void dfg_trace_worker_event(void *trace, const struct dfg_coordinator_event *event);

/* Writes the file or the text. Returns the first error of all events. The file exists only after this call. */
DFG_MUST_CHECK struct dfg_err *dfg_trace_end(struct dfg_trace *trace);
void dfg_trace_free(struct dfg_trace *trace);
