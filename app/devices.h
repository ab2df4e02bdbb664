#pragma once

#include "lib/base/float_mode.h"
#include "lib/exec/device/provider.h"
#include "lib/pass/place/place.h"
#include "remote/hosts.h"

/*
 * The devices of a run, as --device names them: the host is w0, and the device is w1. Nothing of CUDA is opened for "cpu".
 */
struct dfg_devices {
	const struct dfg_device_provider *provider; /* NULL: the host computes all */
	int index[1];
	uint32_t count;         /* of devices */
	struct dfg_hosts hosts; /* the host and the devices, as workers */
	const char **name;      /* by worker: "cpu", "cuda:0" */
	enum dfg_denormals denormals;
};

/*
 * Reads "cpu", "cuda" (cuda:0) or "cuda:I"; NULL is "cpu". DFG_CONFIG, with the remedy, for any other word, if there is no
 * provider, driver or such device. Lives in the arena.
 */
DFG_MUST_CHECK struct dfg_err *dfg_devices_find(
	const char *word, enum dfg_denormals denormals, struct dfg_arena *arena, struct dfg_devices *out_devices);

/*
 * Places each node of a lowered and verified graph: on the device if it has a kernel for the node, else on the host, with
 * the reason. A constant is where all its readers are.
 */
DFG_MUST_CHECK struct dfg_err *dfg_devices_place(const struct dfg_devices *devices, const struct dfg_graph *graph,
	const struct dfg_facts *facts, struct dfg_arena *arena, struct dfg_placed **out_placed);
