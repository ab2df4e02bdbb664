#pragma once

#include "lib/pass/partition/partition.h"

/*
 * What the files of partition share: partition.c (what comes after what), loop.c (loops that several devices take
 * part in), count.c (those where each can tell for itself how long they go on), effects.c (what in them
 * waits for effects), clone.c (what is had
 * again), ref.c (variables that are read from afar), edge.c (the ways of edges that cross),
 * parts.c (the parts as graphs).
 *
 * Nodes have one numbering: those of the graph and, behind them, those that are added, each on one device. What reads a
 * tensor of another device is led another way: to a clone of its maker, or to a _Recv.
 */
struct added {
	struct dfg_node node; /* inputs in the common numbering, and led their way once `settled` has passed it */
	uint32_t device;
};

enum { WAY_OF_ALL = -2 /* the port of a way to a clone, which has every output */ };

struct way {
	uint32_t next; /* another way of the same node, + 1 */
	uint32_t device;
	uint32_t reader; /* whose way it is; 0: of all readers there, + 1 */
	int32_t port;
	uint32_t to;   /* the _Recv, or the clone */
	uint32_t send; /* the _Send, or DFG_NONE */
};

/* What goes round in a loop on a device and says in which of its iterations there is something to do. */
struct control {
	uint32_t turn;  /* a Merge: in each, the last too */
	uint32_t pivot; /* only where the loop goes on */
};

/* A loop that several devices take part in. */
struct spread {
	bool is_spread;
	bool is_uneven;   /* it is entered in the first iteration of the loop around it only, or in all others */
	uint32_t goes_on; /* the condition that the loop goes on */
	const char *path; /* "outer/inner" */
};

struct cut {
	struct dfg_graph *graph; /* is not changed */
	const struct dfg_facts *facts;
	struct dfg_builder builder; /* where there are loops: has facts that say more of them */
	uint32_t *device;           /* by node of the graph */
	const struct dfg_place_options *options;
	struct dfg_arena *arena; /* of the parts */
	const struct dfg_op *send, *recv;
	struct dfg_string *device_text; /* by device: its name, whose length is wanted often */
	const struct dfg_shape *shape;  /* of the last _Recv: many have the same, and share it */
	struct dfg_arena scratch;
	struct dfg_loops loops;
	struct dfg_liveness liveness; /* where there are loops */
	struct spread *spread;        /* by loop */
	struct control *control;      /* by loop and device; .turn is 0 where the device takes no part */
	uint32_t *start;              /* by device: a constant, from which control begins; or DFG_NONE */
	bool *is_copied;              /* by node of the graph: of what says how long a loop goes on */
	bool *orders;                 /* by node of the graph: a loop variable's Merge that comes behind effects */
	bool *is_uneven; /* by node of the graph in a loop: it comes in the first iteration only, or in all others */
	bool has_refs;
	uint32_t readings;
	struct added *added;
	size_t n_added, added_room, settled;
	struct dfg_edge **in; /* by node of the graph: its inputs, led their way */
	uint32_t *first;      /* by node of the graph: a way, + 1 */
	struct way *way;
	size_t ways, way_room;
	struct dfg_transfer *transfer;
	size_t transfers, transfer_room;
};

static inline const struct dfg_node *cut_node(const struct cut *c, uint32_t n)
{
	return n < c->graph->count ? &c->graph->node[n] : &c->added[n - c->graph->count].node;
}
static inline uint32_t cut_device(const struct cut *c, uint32_t n)
{
	return n < c->graph->count ? c->device[n] : c->added[n - c->graph->count].device;
}

/* Adds a node; its op is found by its name where it is NULL. What the fields point to is the arena's, or the graph's. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_add(
	struct cut *c, const struct dfg_node *node, uint32_t device, uint32_t *out_number);

/* What `reader`, a node's number, reads in place of the edge: the same each time it is asked. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_lead(
	struct cut *c, uint32_t reader, struct dfg_edge edge, struct dfg_edge *out_edge);

/* order may be NULL: the file's own. Finds the loops that several devices take part in, and gives each of these devices its control. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_loops(struct cut *c, const uint32_t *order);

/* The Merge of the loop variable that the node is in the body, or DFG_NONE. */
uint32_t dfg_cut_variable_behind(const struct cut *c, uint32_t node);

/* Which of those that others wait for say more than that their loop goes on. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_order(struct cut *c);

/* The loop, where the node's control edge says what every device's own pivot says: it goes on. Else 0. */
uint32_t dfg_cut_pivot_of(const struct cut *c, uint32_t node);

/* What says on a device when there is a transfer of what is live so; DFG_NONE in the root. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_gate(
	struct cut *c, uint32_t loop, uint32_t set, uint32_t device, uint32_t *out_node, bool *out_each_turn);

/* Marks what the loop's predicate is made of, if it is little and each device can make it: a count, mostly. */
void dfg_cut_count(struct cut *c, uint32_t loop);

/* A small constant of the root, or one that waits for nothing but that a loop goes on. */
bool dfg_cut_is_constant(const struct cut *c, uint32_t node);

/* Whether a reader on another device gets a node of its own, that does the same. */
bool dfg_cut_is_cloned(const struct cut *c, uint32_t node);

/* Its inputs are led their way later. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_clone(struct cut *c, uint32_t node, uint32_t device, uint32_t *out_number);

/* The ref that is behind the edge, if some Identities of one are all there is; else the edge. */
struct dfg_edge dfg_cut_variable(const struct cut *c, struct dfg_edge edge);
bool dfg_cut_is_ref(const struct cut *c, struct dfg_edge edge);

/* The value of a variable, as this reader is to see it. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_reading(
	struct cut *c, uint32_t reader, struct dfg_edge edge, struct dfg_edge *out_edge);

/* Leads every edge, also those of what is added meanwhile: inputs become those that the parts have. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_edges(struct cut *c);

/* The graphs, once every edge has its way. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_parts(struct cut *c, struct dfg_parts *out_parts);
