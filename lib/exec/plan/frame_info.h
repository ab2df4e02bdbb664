#pragma once

#include "lib/exec/plan/plan.h"

/*
 * What an executor needs of a plan: each node and each slot belongs to a loop (number 0 is the root, outside all loops),
 * and within it has a number of its own, so that an iteration needs room for what is in its loop only.
 */
struct consumer {
	uint32_t to;    /* node */
	int32_t output; /* of the node that the consumer leaves; DFG_CONTROL */
	uint32_t input; /* of `to` */
};

/* Inputs that a node still waits for, and those that came dead. A Merge: see propagate.c. */
struct count {
	uint32_t pending, dead;
};

/* A Save or a Load: where the values are kept, which is an iteration so many levels outwards. */
struct save_site {
	uint32_t region; /* loop */
	uint32_t levels;
	uint32_t number; /* of the Save among those of the region */
	uint32_t loads;  /* of a Save: that read it */
	uint64_t
		readers; /* a bit for each Load, in that Load and in its Save. 0 in a Save: values stay to the region's end */
};
enum { KEYS_MOST = 32 };

/* A Send or a Recv: the number of the transfer, and the worker at its other end. */
struct port {
	uint32_t number, peer;
	enum dfg_dtype dtype;
	const struct dfg_shape *shape; /* of a Recv */
	struct last_dead last_dead;    /* of the last dead value that was sent */
};

/* "[3,4]"; and "in iteration 3 of loop 'w'", of all loops around: "in iteration [3,4] of loop 'outer/w'": words.c */
struct loop;
struct dfg_words dfg_key_words(const int64_t *key, int keys);
DFG_MUST_CHECK struct dfg_err *dfg_iteration_note(
	struct dfg_err *err, const struct loop *loop, const int64_t *iteration, int depth);

struct loop {
	const char *name, *path; /* path: with those around it, "outer/inner" */
	uint32_t parent, child;  /* number of the parent, and this one's number among its children */
	int64_t window;
	uint32_t nodes, slots, uses, children;
	uint32_t enters, constants, exits, nexts; /* nodes of these kinds; constants are among the enters */
	struct count *count;                      /* by local node: at the start of an iteration */
	uint32_t *left;                           /* by local slot: uses to come */
	uint32_t *use;                            /* by local use: its local slot */
	uint32_t saves;                           /* Saves whose region this is */
	int *keys;                                /* by number of these: how many keys */
};

struct frame_info {
	struct loop *loop;
	uint32_t loops;
	uint32_t *loop_of, *local, *first_use; /* by node; uses are local */
	uint32_t *forward;                     /* by node, a Merge's: inputs that are no back edges */
	struct save_site *save_site;           /* by node, a Save's or a Load's */
	struct port *port;                     /* by node; NULL where there is no transfer */
	uint32_t *slot_loop, *slot_local;      /* by slot */
	struct consumer *consumer;
	uint32_t *first_consumer; /* by node, one more than there are */
	struct consumer *start;   /* into Merges, from what is there before the step */
	uint32_t n_start;
	uint32_t *source; /* nodes that wait for nothing */
	uint32_t n_source;
};

/* ports.c: the ends of transfers. DFG_DATA where the session has no rendezvous. */
DFG_MUST_CHECK struct dfg_err *dfg_ports_find(struct dfg_plan *plan);

/* What an executor needs of a plan. */
DFG_MUST_CHECK struct dfg_err *dfg_frame_info_make(struct dfg_plan *plan, struct dfg_arena *scratch);
void dfg_frame_info_free(struct frame_info *frame_info); /* NULL is fine */

static inline bool dfg_always_there(const struct dfg_plan *plan, uint32_t slot)
{
	return plan->kind[slot] == SLOT_PRESET || plan->kind[slot] == SLOT_FEED;
}
