#pragma once

#include "lib/pass/partition/partition.h"

/*
 * Shared by the files of this folder: partition.c (the sequence of steps), loop.c (distributed loops and their
 * control), count.c (loops that each device can count by itself), effects.c (loop variables that order side effects),
 * clone.c (nodes that are cloned instead of sent), ref.c (variables read by other devices), edge.c (routes of edges
 * between devices), parts.c (the graphs of the parts).
 *
 * Nodes have a common numbering: first those of the graph, then the added ones, each on one device. An edge from a
 * tensor of another device is routed to a clone of its producer or to a _Recv.
 */
struct added {
	struct dfg_node node; /* inputs in the common numbering; routed once `settled` is greater than its index */
	uint32_t device;
};

enum { ROUTE_OF_ALL = -2 /* port of a route to a clone, which has every output */ };

struct route {
	uint32_t next; /* 1 + the index of another route of the same node; 0: none */
	uint32_t device;
	uint32_t reader; /* 1 + the node that the route is for; 0: all readers on the device */
	int32_t port;
	uint32_t to;   /* the _Recv, or the clone */
	uint32_t send; /* the _Send, or DFG_NONE */
};

/* The control loop of a loop on one device: it decides in which iterations there is something to do. */
struct control {
	uint32_t evaluation; /* a Merge: live in each evaluation of the condition, n + 1 times for n iterations */
	uint32_t pivot;      /* live in each iteration */
};

/* A loop of the graph; is_distributed: several devices take part in it. */
struct distributed_loop {
	bool is_distributed;
	bool is_uneven;     /* entered only in the first iteration of the enclosing loop, or in all others */
	uint32_t continues; /* number of the condition that the loop continues (struct dfg_liveness) */
	const char *path;   /* "outer/inner" */
};

struct cut {
	struct dfg_graph *graph; /* not changed */
	const struct dfg_facts *facts;
	struct dfg_builder builder; /* used only if there are loops; its facts cover loop variables too */
	uint32_t *device;           /* by node of the graph */
	const struct dfg_place_options *options;
	struct dfg_arena *arena; /* of the parts */
	const struct dfg_op *send, *recv;
	struct dfg_string *device_text; /* by device: its name with its length */
	const struct dfg_shape *shape;  /* shape of the last _Recv, shared by those with the same shape */
	struct dfg_arena scratch;
	struct dfg_loops loops;
	struct dfg_liveness liveness;         /* used only if there are loops */
	struct distributed_loop *distributed; /* by loop */
	struct control *control;              /* by loop and device; .evaluation is 0 where the device takes no part */
	uint32_t *start; /* by device: the constant that outermost control loops enter from; or DFG_NONE */
	bool *is_copied; /* by node of the graph: it computes the predicate of a loop and is copied to each device */
	bool *orders;    /* by node of the graph: a loop variable's Merge that follows side effects */
	bool *is_uneven; /* by node of the graph in a loop: it runs only in the first iteration, or in all others */
	bool has_refs;
	uint32_t readings;
	struct added *added;
	size_t n_added, added_capacity, settled;
	struct dfg_edge **in; /* by node of the graph: its routed inputs */
	uint32_t *first;      /* by node of the graph: 1 + the index of its first route */
	struct route *route;
	size_t routes, route_capacity;
	struct dfg_transfer *transfer;
	size_t transfers, transfer_capacity;
};

static inline const struct dfg_node *cut_node(const struct cut *c, uint32_t n)
{
	return n < c->graph->count ? &c->graph->node[n] : &c->added[n - c->graph->count].node;
}
static inline uint32_t cut_device(const struct cut *c, uint32_t n)
{
	return n < c->graph->count ? c->device[n] : c->added[n - c->graph->count].device;
}

/*
 * Adds a node; if its op is NULL, it is looked up by name. What the fields point to must belong to the arena or the
 * graph.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cut_add(
	struct cut *c, const struct dfg_node *node, uint32_t device, uint32_t *out_number);

/* The edge that node number `reader` reads instead of `edge`; repeated calls give the same result. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_lead(
	struct cut *c, uint32_t reader, struct dfg_edge edge, struct dfg_edge *out_edge);

/*
 * Finds the distributed loops and makes their control on each device that takes part. order may be NULL: the file's
 * order.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cut_loops(struct cut *c, const uint32_t *order);

/* The Merge of the loop variable whose value in the body the node is, or DFG_NONE. */
uint32_t dfg_cut_variable_behind(const struct cut *c, uint32_t node);

/* Marks the loop variables that order side effects (c->orders). */
DFG_MUST_CHECK struct dfg_err *dfg_cut_order(struct cut *c);

/*
 * The loop, if the node's control edge only says that the loop continues, which each device's own pivot also says; else
 * 0.
 */
uint32_t dfg_cut_pivot_of(const struct cut *c, uint32_t node);

/*
 * The control node on a device that is live whenever a transfer with this liveness set is needed; DFG_NONE at the root.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cut_gate(
	struct cut *c, uint32_t loop, uint32_t set, uint32_t device, uint32_t *out_node, bool *out_each_evaluation);

/*
 * Marks the nodes that compute the loop's predicate if they are few and each device can compute them: usually a count.
 */
void dfg_cut_count(struct cut *c, uint32_t loop);

/* Whether the node is a small constant at the root, or one that waits only for its loop to continue. */
bool dfg_cut_is_constant(const struct cut *c, uint32_t node);

/* Whether each device that reads an invariant has an Enter of its own. A ref stays with its variable: its value is sent. */
bool dfg_cut_is_cloned_enter(const struct dfg_node *node);

/* Whether readers on other devices get a clone of the node instead of its value. */
bool dfg_cut_is_cloned(const struct cut *c, uint32_t node);

/* Clones a node; the inputs of the clone are routed later. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_clone(struct cut *c, uint32_t node, uint32_t device, uint32_t *out_number);

/* The reference that the edge forwards through Identities only; otherwise the edge itself. */
struct dfg_edge dfg_cut_variable(const struct cut *c, struct dfg_edge edge);
bool dfg_cut_is_ref(const struct cut *c, struct dfg_edge edge);

/* The value of a variable as this reader must see it. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_reading(
	struct cut *c, uint32_t reader, struct dfg_edge edge, struct dfg_edge *out_edge);

/* Routes every edge, including those of nodes added meanwhile. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_edges(struct cut *c);

/* Makes the graphs after every edge has been routed. */
DFG_MUST_CHECK struct dfg_err *dfg_cut_parts(struct cut *c, struct dfg_parts *out_parts);
