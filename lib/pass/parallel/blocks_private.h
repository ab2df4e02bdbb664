#pragma once

#include "lib/pass/parallel/batch_private.h"
#include "lib/pass/parallel/blocks.h"
#include "lib/pass/parallel/coordinates_private.h"

/* One loop at work. */
struct dfg_blocking {
	const struct dfg_block_options *options;
	struct dfg_batch batch;
	struct dfg_coordinates coordinates;
	const struct dfg_loop *frame;
	struct dfg_edge schedule; /* output 0 of its node */
	struct dfg_edge *total;   /* by access: the variable with its partial results; node DFG_NONE: none */
	struct dfg_edge *set;     /* by access: the node that sets it before the loop */
	uint32_t *made;           /* nodes that combine partial results or join rows, which wait for the loop itself */
	uint32_t n_made;

	/* Over several workers: blocks_workers.c. */
	uint32_t number;                        /* of the loop among those of the graph */
	bool divides;                           /* each worker runs its blocks; else each runs all of them */
	const struct dfg_loop_variable **token; /* by array: carries its handle; NULL: its rows do not move */
	uint32_t *moved, n_moved;               /* the arrays whose moves the schedule gives, in that order */
	const struct dfg_loop_variable **flow;  /* variables that order the writes of yielded arrays */
	struct dfg_edge *written;               /* by flow: the handle of the array, outside the loop */
	uint32_t flows;
	uint32_t join; /* the node that joins rows after the loop; DFG_NONE: none */
};

/* The number of iterations, as i64, from the condition. DFG_DATA: it is not a comparison of counters with bounds. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_count(struct dfg_blocking *k, struct dfg_edge *out_count);

/* The node that finds the slices. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_schedule(struct dfg_blocking *k);

/* Variables for the partial results of accumulators, which are set before the loop. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_partials(struct dfg_blocking *k);

/* Combines them after the loop. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_totals(struct dfg_blocking *k);

/* Whether the variable counts iterations by 1. */
bool dfg_blocking_is_counter(const struct dfg_blocking *k, const struct dfg_loop_variable *v);

/* Whether subscript i of all accesses to the array is a function of the iteration. */
bool dfg_blocking_is_key(const struct dfg_loop_dependences *loop, uint32_t array, uint32_t i);

/* The handle outside the loop that a handle in the body comes from, and the loop variable that it is or NULL. */
struct dfg_edge dfg_blocking_handle(
	const struct dfg_blocking *k, struct dfg_edge edge, const struct dfg_loop_variable **out_variable);

/* The Exits of the loop, or of one of its variables. */
uint32_t dfg_blocking_exits(const struct dfg_blocking *k, const struct dfg_loop_variable *of, uint32_t *out_exit);

/* A node that waits for the exits; it is not made to wait for itself. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_after(
	struct dfg_blocking *k, struct dfg_edge edge, const uint32_t *exit, uint32_t n_exit);

/* Nodes that waited for the exit, or read it, wait for `last` too. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_delay(struct dfg_blocking *k, uint32_t exit, uint32_t last);

/* blocks_workers.c: whether the loop can be divided among workers; else why not, where the options ask for it. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_divide(struct dfg_blocking *k, const char **out_why);

/* The node that moves rows before a slice; after the counters were replaced. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_move(struct dfg_blocking *k, struct dfg_edge slice);

/* The node that joins rows after the loop; before partial results are combined. */
DFG_MUST_CHECK struct dfg_err *dfg_blocking_join(struct dfg_blocking *k);
