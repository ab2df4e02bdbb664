#pragma once

#include "lib/pass/replicate/local.h"
#include "lib/pass/replicate/replicate.h"

/* A tensor to reduce. */
struct reduction {
	struct dfg_edge source;
	uint32_t reader;  /* the node whose input is replaced; DFG_NONE: all readers */
	const char *name; /* of the variable, or of the node */
	bool is_sum;      /* else a mean weighted by rows */
	bool is_state;    /* a value that is assigned, not a gradient */
	uint32_t ready;   /* position of the source in a topological order */
	uint32_t bucket;  /* number of its bucket */
	struct dfg_edge reduced;
	/* of a gradient that stays rows (lib/pass/grad/train.h): their numbers, and the shape of the table; NULL: it is dense */
	const struct dfg_shape *table;
	struct dfg_edge indices;
	bool
		has_rows; /* the dense gradient of one that stays rows: it is reduced if it is fetched, so in a bucket of its own */
};

struct replicate {
	struct dfg_builder *builder;
	const struct dfg_replicate_options *options;
	struct dfg_keep *keep;
	struct dfg_arena scratch;
	struct dfg_local local;
	uint32_t before; /* nodes before the rewrite */
	bool *needed;    /* by node that was there before: of what is kept */
	bool *reduced;   /* by node: it depends on an all-reduce */
	bool *sharded;   /* by node: it depends on an input that is sharded */
	struct reduction *cut;
	size_t cuts, capacity;
	uint32_t buckets, gradient_buckets; /* those of gradients come first */
	bool marked;                        /* the gradients are those that grad marked */
};

/*
 * cuts.c: adds the gradients to reduce, and the rule of each; then the states. In a graph that grad made these are what
 * it marks, in another one all that the step assigns.
 */
DFG_MUST_CHECK struct dfg_err *dfg_replicate_gradients(struct replicate *r);
DFG_MUST_CHECK struct dfg_err *dfg_replicate_states(struct replicate *r);

/*
 * bucket.c: sorts the cuts by readiness and numbers their buckets, from r->buckets on; then makes the nodes, cuts the
 * edges, and removes the cuts from the list.
 */
DFG_MUST_CHECK struct dfg_err *dfg_replicate_buckets(struct replicate *r);

/* batch_random.c: random ops whose shape is local draw the numbers of the shard's rows. */
DFG_MUST_CHECK struct dfg_err *dfg_replicate_random(struct replicate *r);

/*
 * order.c: cuts the control edges between the compute run and the update run. A target that needs both becomes a node
 * that waits for both.
 */
DFG_MUST_CHECK struct dfg_err *dfg_replicate_order(struct replicate *r);

/* bucket.c: the attribute `reduce` of a bucket. */
const char *dfg_replicate_rule(const struct replicate *r, bool is_sum, bool is_state);

/* rows.c: adds the gradients that stay rows; whether a dense gradient is that of such rows; makes the nodes of one, and cuts its edges. */
DFG_MUST_CHECK struct dfg_err *dfg_replicate_rows(struct replicate *r, bool is_sum);
bool dfg_replicate_has_rows(const struct dfg_graph *graph, uint32_t dense);
DFG_MUST_CHECK struct dfg_err *dfg_replicate_make_rows(struct replicate *r, struct reduction *cut);

/* Adds a cut to the list. */
DFG_MUST_CHECK struct dfg_err *dfg_replicate_add_cut(struct replicate *r, const struct reduction *cut);

/* The name of the variable whose gradient the node is, or of the node; NULL: no memory. */
const char *dfg_replicate_gradient_name(struct replicate *r, const struct dfg_node *node);

/* Readers of a gradient, apart from its Start, read the reduced one, as do fetches of it. */
void dfg_replicate_redirect(struct replicate *r, const struct reduction *cut, uint32_t start);

/* The variable that an edge is a handle or ref of; DFG_NONE: it is not a handle or ref. */
uint32_t dfg_replicate_variable(const struct dfg_graph *graph, struct dfg_edge edge);

/* Whether the node writes the variable that its input 0 refers to. */
bool dfg_replicate_writes(const struct dfg_graph *graph, const struct dfg_node *node);
