#pragma once

#include "lib/pass/place/place.h"

/*
 * A graph becomes one graph a device, with a _Send and a _Recv for each tensor and destination (OSDI'16 section 3.3), and
 * a control loop for each loop that several devices take part in, on each of these (EuroSys'18 section 4):
 *
 *     Enter -> Merge (the turn) -> Switch on the LoopCond, or on what came of it -> (the pivot) -> NextIteration
 *
 * A transfer in a loop happens once a turn: n + 1 times, or, where what it carries is live only on the body's side, once a pivot: n times.
 * Its _Send and _Recv have a control input from the turn or pivot of their own device, which says whether there is a
 * transfer at all; only what the receiver cannot know, another deadness of the value, crosses as a dead message. Where the predicate
 * is a count up to a number that does not change, that number crosses once, and each device counts.
 */
struct dfg_transfer {
	uint32_t from, to;  /* devices */
	const char *tensor; /* in the graph that was cut: "fc1:0"; "^fc1" of a control edge, which goes as an empty f32 */
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	const char *loop; /* the loops it is in, "outer/inner"; "" at the root */
	uint32_t depth;   /* how many */
	bool each_turn;   /* n + 1 times instead of n */
};

struct dfg_parts {
	struct dfg_graph *part; /* by device; versions and library of the whole */
	uint32_t parts;
	struct dfg_transfer *transfer; /* by number, which is `_dfg_edge` of its _Send and _Recv */
	uint32_t transfers;
};

/*
 * A step runs both ends of every transfer that it reaches, also where what a part then computes could do without.
 *
 * graph is flat (lowered), verified and borrowed: the parts use its strings. Every node is in one part, under its name;
 * clones ("_dfg/clone/DEVICE/NAME", without marks: who feeds NAME feeds them too) and what was added are named in no way
 * that a graph's own node is. The same input gives the same bytes.
 */
DFG_MUST_CHECK struct dfg_err *dfg_partition(struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_placed *placed, const struct dfg_place_options *options, struct dfg_arena *arena,
	struct dfg_parts *out_parts);
void dfg_parts_release(struct dfg_parts *parts); /* graphs and transfers; the arena is the caller's */

/* What a device calls its clone of a node; NULL when memory is short. Whoever feeds a node feeds its clones too. */
const char *dfg_clone_name(struct dfg_arena *arena, uint32_t device, const char *name);

/*
 * One graph again: the nodes of all parts, each with its device, a _Recv being an Identity of what its _Send sends, with
 * the _Send as a control input: so what needs the one reaches the other. For names, types and reachability; a loop that
 * was cut has several control loops there, which dfg_verify would refuse. DFG_DATA where the parts do not fit.
 */
DFG_MUST_CHECK struct dfg_err *dfg_parts_join(
	const struct dfg_graph *const *part, uint32_t parts, struct dfg_arena *arena, struct dfg_graph *out_graph);
