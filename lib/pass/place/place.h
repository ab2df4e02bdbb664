#pragma once

#include "lib/base/text.h"
#include "lib/graph/build.h"
#include "lib/graph/liveness.h"

/*
 * Placement: the device of each node (OSDI'16 section 3.2.1). Nodes that must be colocated are one group: state with
 * its readers and writers, ref edges, handles and variants, a Save with its Loads, `_class`. A group is placed on the
 * device requested for one of its nodes; contradicting requests are an error.
 *
 * Control-flow primitives are placed with their value: a Switch and an Exit with their input, a loop variable as a
 * unit; a request for one of these counts only if no other node of the group has one. A generator is placed with its
 * only consumer, an Identity or metadata op with its producer, the remainder of a loop as a unit. Groups without a
 * request are placed by list scheduling over estimated costs and transfers; nodes too small to be worth a message are
 * placed with a neighbour, at last on device 0.
 */
struct dfg_place_request {
	/*
	 * A pattern of node names; '*' also matches '/'. The last matching request wins; "*" alone applies to groups that
	 * no other request matches.
	 */
	const char *pattern;
	uint32_t device;
	const char *text; /* "layers*=w1", for messages */
};

struct dfg_place_options {
	const char *const *device; /* full names: "/job:worker/task:0/device:CPU:0" */
	uint32_t devices;
	const struct dfg_place_request *request; /* take precedence over the devices in the graph (node->device) */
	size_t requests;
	struct dfg_text *notes; /* receives lines for the user; NULL: none */
	bool random;            /* place groups without a request at random, by the seed */
	uint64_t seed;
};

enum dfg_place_reason {
	DFG_PLACED_ONLY,      /* there is only one device */
	DFG_PLACED_REQUEST,   /* requested by an option */
	DFG_PLACED_FILE,      /* requested by the graph */
	DFG_PLACED_TOGETHER,  /* colocated with `with`, which has the reason */
	DFG_PLACED_CONSUMER,  /* a generator or metadata op, placed with its only consumer or its producer */
	DFG_PLACED_SCHEDULED, /* by cost */
	DFG_PLACED_RANDOM,    /* at random */
	DFG_PLACED_KERNEL,    /* by the kernels that a device has: `request` is the reason */
};

struct dfg_placed {
	uint32_t device;
	enum dfg_place_reason reason;
	uint32_t with; /* the node meant by DFG_PLACED_TOGETHER and _CONSUMER; else DFG_NONE */
	const char *request;
};

/*
 * Sets *out_placed to one entry for each node, in the arena. DFG_DATA, naming both nodes, if requests within a group
 * contradict each other.
 */
DFG_MUST_CHECK struct dfg_err *dfg_place(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_place_options *options, struct dfg_arena *arena, struct dfg_placed **out_placed);

/*
 * The index of the device that "w1", "ps0" (task 0 of job ps) or a full or partial device name ("/job:worker/task:1", the first match) means;
 * DFG_DATA, with the nearest name, if none matches.
 */
DFG_MUST_CHECK struct dfg_err *dfg_place_device(
	const char *name, const char *const *device, uint32_t devices, uint32_t *out_device);

/* Appends a line without newline: "fc1/w  w1  together with 'fc1' (--place 'fc1=w1')". */
void dfg_place_explain(
	const struct dfg_graph *graph, const struct dfg_placed *placed, uint32_t node, struct dfg_text *out_text);

/* Appends only its last part: "together with 'fc1' (--place 'fc1=w1')". */
void dfg_place_why(
	const struct dfg_graph *graph, const struct dfg_placed *placed, uint32_t node, struct dfg_text *out_text);
