#pragma once

#include "lib/pass/place/place.h"

/*
 * Shared by the files of placement. A choice is a set of devices, by number; choice 0 contains all devices, which means
 * that none was requested. Equal sets have the same number.
 */
struct dfg_choices {
	const char *const *device;
	uint32_t devices, words;
	uint64_t *bits; /* `words` words for each choice */
	size_t count, bits_capacity;
	struct dfg_map text; /* device names of the graph and the choice of each */
	uint32_t *of_text;
	size_t of_text_capacity;
};
DFG_MUST_CHECK struct dfg_err *dfg_choices_init(
	struct dfg_choices *choices, const char *const *device, uint32_t devices);
void dfg_choices_release(struct dfg_choices *choices);
DFG_MUST_CHECK struct dfg_err *dfg_choice_one(struct dfg_choices *choices, uint32_t device, uint32_t *out_choice);
DFG_MUST_CHECK struct dfg_err *dfg_choice_named(struct dfg_choices *choices, const char *name, uint32_t *out_choice);

/* The intersection; *out_choice is DFG_NONE if it is empty. */
DFG_MUST_CHECK struct dfg_err *dfg_choice_both(
	struct dfg_choices *choices, uint32_t a, uint32_t b, uint32_t *out_choice);

/*
 * Whether a node's device is that of a single-process session, as in TensorFlow's dumps ("/job:localhost/..."), and is
 * not one of the devices here, so that it is ignored.
 */
bool dfg_choices_leave(const struct dfg_choices *choices, const char *name);
bool dfg_choice_has(const struct dfg_choices *choices, uint32_t choice, uint32_t device);
uint32_t dfg_choice_first(const struct dfg_choices *choices, uint32_t choice); /* the lowest device of the set */
bool dfg_choice_is_one(const struct dfg_choices *choices, uint32_t choice);

/* The reason for colocating two nodes. */
enum dfg_join_why {
	DFG_JOIN_HANDLE,  /* an edge that carries a handle or a variant */
	DFG_JOIN_REF,     /* an edge that carries a ref, to an input that takes a ref */
	DFG_JOIN_UNKNOWN, /* both ops are unknown, so the type between them is unknown too */
	DFG_JOIN_STORED,  /* a Load and its Save */
	DFG_JOIN_NAME,    /* two nodes for one variable */
	DFG_JOIN_CLASS,   /* `_class` */
	DFG_JOIN_CONTROL, /* a control-flow primitive and its value */
	DFG_JOIN_FOLLOW,  /* a generator or metadata op */
	DFG_JOIN_UPDATE,  /* arithmetic between variables that are read and written by it */
	DFG_JOIN_LOOP,    /* the remainder of a loop */
};
struct dfg_join {
	uint32_t a, b; /* a needs b */
	enum dfg_join_why why;
};

/* The request for a node and the option that it comes from; DFG_NONE: the graph. */
struct dfg_ask {
	uint32_t choice, request;
};

/* Properties of a node that placement reads often, in one byte: a struct dfg_node takes more than a cache line. */
enum dfg_place_kind {
	DFG_KIND_PRIMITIVE = 1, /* a control-flow primitive: placed with its value */
	DFG_KIND_INVARIANT = 2, /* a constant Enter: the partitioner makes one on each device */
	DFG_KIND_FED = 4,       /* a placeholder: its value comes from the launcher and so from device 0 */
	DFG_KIND_FOLLOWS = 8,   /* was joined to its consumer or producer */
	DFG_KIND_BINDS = 16,    /* makes handles, variants or refs */
	DFG_KIND_INITIAL = 32,  /* initialises a variable, or serves only that: not part of a step */
	DFG_KIND_DEFAULT = 64,  /* requested only by the pattern "*" */
};

/* Scheduling data of a node, kept together for locality. Seconds, over all iterations if the node is in a loop. */
struct dfg_place_job {
	uint32_t root;
	float send;          /* time to send its outputs to another device */
	float critical_path; /* critical path from its start to the end of the step */
	float finish;        /* time at which it is finished */
};

struct dfg_placing {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	const struct dfg_place_options *options;
	struct dfg_arena scratch;
	struct dfg_choices choices;
	struct dfg_loops loops;
	uint32_t *order; /* topological; NULL: the graph's order */
	uint8_t *kind;
	struct dfg_ask *ask;
	uint32_t
		*parent; /* union-find; the root of a group is its lowest node. After grouping, parent is the root itself */
	uint32_t *choice;      /* by root */
	uint32_t *decider;     /* by root: the node whose request decides; DFG_NONE */
	uint32_t *follows;     /* by node: the node that a node of DFG_KIND_FOLLOWS is placed with */
	struct dfg_join *join; /* the joins that merged two groups: a forest */
	size_t joins, joins_capacity;
	uint32_t *device; /* by root; DFG_NONE until decided */
	struct dfg_place_job *job;
	float *work; /* by root: seconds */
	bool *whole; /* by root: contains nodes of a loop that is placed as a unit */
};

/* Sets the request of each node. */
DFG_MUST_CHECK struct dfg_err *dfg_place_ask(struct dfg_placing *placing);

/* Merges the groups that must be colocated and finds the choice of each. DFG_DATA if two nodes of a group disagree. */
DFG_MUST_CHECK struct dfg_err *dfg_place_group(struct dfg_placing *placing);

/* Places groups without a request at random. */
DFG_MUST_CHECK struct dfg_err *dfg_place_random(struct dfg_placing *placing);

/* Merges groups that should be colocated, unless their requests differ; afterwards `parent` is the root. */
DFG_MUST_CHECK struct dfg_err *dfg_place_follow(struct dfg_placing *placing);
DFG_MUST_CHECK struct dfg_err *dfg_place_attract(
	struct dfg_placing *placing, uint32_t a, uint32_t b, enum dfg_join_why why, bool *out_together);
uint32_t dfg_place_root(struct dfg_placing *placing, uint32_t node);
DFG_MUST_CHECK struct dfg_err *dfg_place_conflict(const struct dfg_placing *placing, uint32_t a, uint32_t b);

/* A relation as arrays: the items of n are item[first[n]] to item[first[n + 1] - 1]. */
struct dfg_place_lists {
	uint32_t *first, *item;
};

/* By node: the nodes that read it or wait for it. told: only readers of marked nodes in other groups; NULL: all. */
DFG_MUST_CHECK struct dfg_err *dfg_place_readers(
	struct dfg_placing *placing, const bool *told, struct dfg_place_lists *out_readers);

/* Chooses the device of every group. */
DFG_MUST_CHECK struct dfg_err *dfg_place_schedule(struct dfg_placing *placing);

/* Moves groups without a request to a device where the transfers saved outweigh their work. */
DFG_MUST_CHECK struct dfg_err *dfg_place_refine(struct dfg_placing *placing);

/*
 * Cost estimates in seconds, for one run of a node that reads and writes this many bytes. They serve for comparison
 * only: a device is assumed to be a core of a server, and the network 10 Gb/s. HTTP/2 within a machine has the same
 * speed: 64 MB took 63 ms, 4 bytes to a sleeping receiver 72 us, to which a network adds its latency. Shared memory
 * takes less than a tenth of both.
 */
#define DFG_PLACE_LATENCY 1e-4       /* of a message */
#define DFG_PLACE_BYTES_A_SECOND 1e9 /* between devices */
enum { DFG_PLACE_TRIPS = 16 };       /* assumed iterations of a loop whose count is unknown */
double dfg_place_bytes(const struct dfg_placing *placing, uint32_t node); /* of its outputs */
double dfg_place_cost(const struct dfg_placing *placing, uint32_t node, double bytes_moved);
