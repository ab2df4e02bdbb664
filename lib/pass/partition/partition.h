#pragma once

#include "lib/pass/place/place.h"

/*
 * Splits a graph into one graph for each device, with a _Send and a _Recv for each pair of tensor and destination
 * (OSDI'16 section 3.3), and a control loop on each device that takes part in a distributed loop (EuroSys'18 section
 * 4):
 *
 * Enter -> Merge (the evaluation) -> Switch on the LoopCond or its copy -> (the pivot) -> NextIteration
 *
 * A transfer in a loop happens in each evaluation of its condition, n + 1 times for n iterations, or, if the value is
 * live only in the body, in each iteration. Its _Send and _Recv have a control input from the evaluation or pivot of
 * their own device, which decides whether there is a transfer at all. Deadness that the receiver cannot know crosses as
 * a dead message. If the predicate counts up to a number that does not change, the number crosses once and each device
 * counts.
 */
struct dfg_transfer {
	uint32_t from, to; /* indices of devices */
	const char
		*tensor; /* name in the original graph: "fc1:0"; "^fc1" for a control edge, which is sent as an empty f32 */
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	const char *loop;     /* path of the loops that contain it, "outer/inner"; "" at the root */
	uint32_t depth;       /* number of those loops */
	bool each_evaluation; /* n + 1 times for n iterations instead of n */
};

struct dfg_parts {
	struct dfg_graph *part; /* by device: its graph, with the versions and library of the original */
	uint32_t parts;
	struct dfg_transfer *transfer; /* by number, which is `_dfg_edge` of its _Send and _Recv */
	uint32_t transfers;
};

/*
 * A step runs both ends of each transfer that it reaches, even if the receiving part does not use the value.
 *
 * graph is lowered, verified and borrowed: the parts share its strings. Every node is in exactly one part under its
 * name; clones are named "_dfg/clone/DEVICE/NAME" and have no marks (a feed of NAME also feeds its clones), and added
 * nodes have names that no node of a graph can have. The result is deterministic. options names the devices. The caller
 * releases *out_parts. Errors: DFG_DATA, naming the nodes, if an edge or loop cannot be distributed; DFG_MEMORY.
 */
DFG_MUST_CHECK struct dfg_err *dfg_partition(struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_placed *placed, const struct dfg_place_options *options, struct dfg_arena *arena,
	struct dfg_parts *out_parts);
void dfg_parts_release(struct dfg_parts *parts); /* frees graphs and transfers; the arena is the caller's */

/*
 * The name of a device's clone of a node, in the arena; NULL when out of memory. A feed of the node also feeds its
 * clones.
 */
const char *dfg_clone_name(struct dfg_arena *arena, uint32_t device, const char *name);

/*
 * Joins the parts to one graph: the nodes of all parts with their devices, where a _Recv is an Identity of the tensor
 * that its _Send sends, with the _Send as a control input, so that a reader of one reaches the other. It serves for
 * names, types and reachability; a distributed loop has several control loops in it, which dfg_verify would refuse.
 * DFG_DATA if the parts do not belong together.
 */
DFG_MUST_CHECK struct dfg_err *dfg_parts_join(
	const struct dfg_graph *const *part, uint32_t parts, struct dfg_arena *arena, struct dfg_graph *out_graph);
