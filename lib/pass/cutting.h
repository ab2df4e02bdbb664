#pragma once

#include "lib/pass/partition.h"

/*
 * What the files of partition share: partition.c (what comes after what, and what is refused), partition_edge.c (the ways of
 * edges that cross), partition_parts.c (the parts as graphs).
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
	int32_t port;
	uint32_t to;   /* the _Recv, or the clone */
	uint32_t send; /* the _Send, or DFG_NONE */
};

struct cut {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	const struct dfg_placed *placed;
	const struct dfg_place_options *options;
	struct dfg_arena *arena; /* of the parts */
	struct dfg_arena scratch;
	struct dfg_loops loops;
	struct dfg_liveness liveness; /* where there are loops */
	struct added *added;
	size_t n_added, added_room, settled;
	uint32_t *first; /* by node of the graph: a way, + 1 */
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
	return n < c->graph->count ? c->placed[n].device : c->added[n - c->graph->count].device;
}

/* Adds a node; its op is found by its name. What the fields point to is the arena's, or the graph's. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_add(
	struct cut *c, const struct dfg_node *node, uint32_t device, uint32_t *out_number);

/* What `reader`, a node's number, reads in place of the edge: the same each time it is asked. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_lead(
	struct cut *c, uint32_t reader, struct dfg_edge edge, struct dfg_edge *out_edge);

/* Leads every edge, also those of what is added meanwhile. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_edges(struct cut *c);

/* The graphs, once every edge has its way. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_parts(struct cut *c, struct dfg_parts *out_parts);
