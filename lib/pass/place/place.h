#pragma once

#include "lib/base/text.h"
#include "lib/graph/build.h"
#include "lib/graph/liveness.h"

/*
 * Placement: the device of each node (OSDI'16 section 3.2.1). What must stand together is one group: state and what reads
 * or writes it, ref edges, handles and variants, Save with its Loads, `_class`. A group goes where it was asked to; where
 * two of its nodes are asked to different devices there is no answer.
 *
 * The primitives of control flow go where their value is: a Switch and an Exit with what they pass on, a loop variable as
 * one; a request for one of these counts where nothing else in its group asks. A generator goes with its only consumer, an
 * Identity or what looks only at a shape with its producer, the rest of a loop stays whole. What nobody asked for is placed
 * by list scheduling over estimated cost and transfer; what is too small to be worth a message stays next to what it
 * depends on, in the end on device 0.
 */
struct dfg_place_request {
	/* Of node names; '*' also matches '/'. The last request that matches wins; "*" alone is for groups of which no other is. */
	const char *pattern;
	uint32_t device;
	const char *text; /* "layers*=w1", for messages */
};

struct dfg_place_options {
	const char *const *device; /* full names: "/job:worker/task:0/device:CPU:0" */
	uint32_t devices;
	const struct dfg_place_request *request; /* before what the graph's own nodes ask for (node->device) */
	size_t requests;
	struct dfg_text *notes; /* lines for the user; NULL: none */
	bool random;            /* what nobody asked for stands anywhere, by the seed */
	uint64_t seed;
};

enum dfg_place_reason {
	DFG_PLACED_ONLY,      /* there is one device */
	DFG_PLACED_REQUEST,   /* by an option */
	DFG_PLACED_FILE,      /* by the graph's own text */
	DFG_PLACED_TOGETHER,  /* with `with`, which has the reason */
	DFG_PLACED_CONSUMER,  /* a generator or metadata op: with its only consumer, or its producer */
	DFG_PLACED_SCHEDULED, /* by cost */
	DFG_PLACED_RANDOM,    /* drawn */
};

struct dfg_placed {
	uint32_t device;
	enum dfg_place_reason reason;
	uint32_t with; /* node, of DFG_PLACED_TOGETHER and _CONSUMER; else DFG_NONE */
	const char *request;
};

/* out_placed has one a node, in the arena. DFG_DATA, naming both nodes, where requests within a group disagree. */
DFG_MUST_CHECK struct dfg_err *dfg_place(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_place_options *options, struct dfg_arena *arena, struct dfg_placed **out_placed);

/*
 * "w1", or a full or partial device name ("/job:worker/task:1", the first that it fits), as a number; DFG_DATA, with the
 * nearest, where none fits.
 */
DFG_MUST_CHECK struct dfg_err *dfg_place_device(
	const char *name, const char *const *device, uint32_t devices, uint32_t *out_device);

/* A line, without its end: "fc1/w  w1  together with 'fc1' (--place 'fc1=w1')". */
void dfg_place_explain(
	const struct dfg_graph *graph, const struct dfg_placed *placed, uint32_t node, struct dfg_text *out_text);

/* Only the last part of it: "together with 'fc1' (--place 'fc1=w1')". */
void dfg_place_why(
	const struct dfg_graph *graph, const struct dfg_placed *placed, uint32_t node, struct dfg_text *out_text);
