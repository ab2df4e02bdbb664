#pragma once

#include "lib/exec/plan/plan.h"

/*
 * Static data of the dataflow executor about a plan. Each node and each slot belongs to a loop (number 0 is the root,
 * outside all loops) and has a local number in it, so that the state of an iteration has an entry only for the nodes
 * and slots of its loop.
 *
 * A consumer is an edge from a node's output to an input of another node.
 */
struct consumer {
	uint32_t to;    /* plan node at the end of the edge */
	int32_t output; /* output of the node at its start; or DFG_CONTROL */
	uint32_t input; /* input of `to` */
};

/* Inputs that a node still waits for, and how many of those that arrived were dead. For a Merge see propagate.c. */
struct count {
	uint32_t pending, dead;
};

/* The storage of a Save or a Load: the state of an iteration of `region`, `levels` loops outwards. */
struct save_site {
	uint32_t region; /* number of the loop */
	uint32_t levels;
	uint32_t number; /* number of the Save among those of the region */
	uint32_t loads;  /* of a Save: number of Loads that read it */
	uint64_t
		/*
		 * of a Load: its own bit; of a Save: the bits of all its Loads. 0 in a Save: values stay until the region ends
		 */
		readers;
};
enum { KEYS_MOST = 32 };

/* One end of a transfer: its number and the worker at the other end. */
struct port {
	uint32_t number, peer;
	enum dfg_dtype dtype;
	const struct dfg_shape *shape; /* declared shape of a Recv */
	struct last_dead last_dead;    /* of a Send: the last dead value that was sent */
};

/*
 * words.c: "[3,4]"; and the note "in iteration 3 of loop 'w'", or in nested loops "in iteration [3,4] of loop
 * 'outer/w'".
 */
struct loop;
struct dfg_words dfg_key_words(const int64_t *key, int keys);
DFG_MUST_CHECK struct dfg_err *dfg_iteration_note(
	struct dfg_err *err, const struct loop *loop, const int64_t *iteration, int depth);

struct loop {
	const char *name, *path; /* path: with the names of the enclosing loops, "outer/inner" */
	uint32_t parent, child;  /* number of the parent; index of this loop among its parent's children */
	int64_t window;
	uint32_t nodes, slots, uses, children;
	uint32_t enters, constants, exits, nexts; /* number of nodes of these kinds; constants are included in the Enters */
	struct count *count;                      /* initial counts of an iteration, by local node */
	uint32_t *left;                           /* initial number of uses, by local slot */
	uint32_t *use;                            /* local slot, by local use */
	uint32_t saves;                           /* number of Saves whose region this is */
	int *keys;                                /* number of keys of each of these Saves */
};

struct frame_info {
	struct loop *loop;
	uint32_t loops;
	/* by plan node; first_use: the number of its first input among the loop's uses */
	uint32_t *loop_of, *local, *first_use;
	uint32_t *forward;                /* of a Merge: number of inputs that are not back edges; by plan node */
	struct save_site *save_site;      /* of a Save or a Load; by plan node */
	struct port *port;                /* by plan node; NULL if the plan has no transfers */
	uint32_t *slot_loop, *slot_local; /* by slot */
	struct consumer *consumer;
	uint32_t *first_consumer; /* index of the node's first consumer; count + 1 entries */
	struct consumer *start;   /* edges into Merges from presets and feeds */
	uint32_t n_start;
	uint32_t *source; /* nodes without inputs */
	uint32_t n_source;
};

/* ports.c: fills in the ports. DFG_DATA if the session has no rendezvous. */
DFG_MUST_CHECK struct dfg_err *dfg_ports_find(struct dfg_plan *plan);

/* Makes plan->frame_info. */
DFG_MUST_CHECK struct dfg_err *dfg_frame_info_make(struct dfg_plan *plan, struct dfg_arena *scratch);
void dfg_frame_info_free(struct frame_info *frame_info); /* NULL is fine */

static inline bool dfg_always_there(const struct dfg_plan *plan, uint32_t slot)
{
	return plan->kind[slot] == SLOT_PRESET || plan->kind[slot] == SLOT_FEED;
}
