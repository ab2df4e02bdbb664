#pragma once

#include "lib/exec/device/device.h"
#include "remote/coordinator.h"

/*
 * Workers that are threads of this process: w0 computes on the host, and each of the others on a device. They are joined by
 * links in memory, so a device runs a part of the graph as any worker does, and a copy to or from it is a transfer.
 */
struct dfg_device_workers;

struct dfg_device_workers_options {
	const struct dfg_device_provider *provider;
	const int *index; /* of the devices of w1, w2, ... */
	uint32_t devices;
	const char *const *device;                                           /* full names of all workers */
	const char *const *name;                                             /* for messages: "cpu", "cuda:0" */
	struct dfg_session_options session;                                  /* of each worker */
	void (*trace)(void *arg, const struct dfg_coordinator_event *event); /* NULL: no trace */
	void *trace_arg;
};
/* Opens the devices and starts the threads. The options' arrays are borrowed until the end. */
DFG_MUST_CHECK struct dfg_err *dfg_device_workers_new(
	const struct dfg_device_workers_options *options, struct dfg_device_workers **out_workers);
void dfg_device_workers_free(struct dfg_device_workers *workers); /* NULL is fine */

struct dfg_coordinator *dfg_device_workers_coordinator(struct dfg_device_workers *workers);

/* Counts of device i, from 0. */
struct dfg_device_counts dfg_device_workers_counts(const struct dfg_device_workers *workers, uint32_t i);
