#pragma once

#include "app/report.h"
#include "lib/graph/graph.h"

/*
 * The smallest graph for which a command still fails (lib/pass/rewrite/reduce.h): one that ends with the same status as for
 * the graph itself, which is not 0. Each graph that is tried is written to a file whose path replaces "{}" in the words
 * of the command, or is its last argument if no word has that.
 */
struct dfg_reduce_command {
	const char *const *word; /* NULL-terminated; borrowed */
	bool talks;              /* what the command prints goes to stderr */
	const struct dfg_graph
		*lowered;   /* the graph with its calls written out, in which more can be removed; NULL: none */
	double timeout; /* seconds after which the command is killed, with status 124; 0: none */
	bool (*goes_on)(void *arg, uint32_t nodes, uint32_t runs); /* asked after each run of the command */
	void *arg;

	/* Set by dfg_reduce_by_command(). */
	int status;    /* of the command for the graph; DFG_CHILD_ENDED if it was interrupted, and there is no result */
	uint32_t runs; /* of the command */
};

/* DFG_DATA if the command never fails: not for the graph; or always: even for one NoOp, or not twice the same way. */
DFG_MUST_CHECK struct dfg_err *dfg_reduce_by_command(const struct dfg_graph *graph, struct dfg_reduce_command *command,
	struct dfg_arena *arena, struct dfg_graph *out_graph);
