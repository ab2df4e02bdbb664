#pragma once

#include "app/other_program.h"
#include "app/run.h"
#include "formats/differ.h"

/*
 * Two graphs on the same inputs. Both have the results that `options` fetch, which are the declared outputs of the first
 * graph without --fetch; where it declares none, the tensors that nothing reads. Inputs that --feed does not give are made up
 * from the execution's seed; variables get their values from --load, else from their initialisers.
 */
enum { DFG_COMPARED_BATCH = 4 };
struct dfg_compared_runs {
	const char *path[2];
	const struct dfg_run_options *options; /* feed, fetch, init, load, map, partial; borrowed */
	const struct dfg_execution *execution;
	struct dfg_graph_input input;
	int64_t batch; /* for dimensions of unknown size in made-up inputs; -1: that of an input that is fed, else 4 */
	const struct dfg_other_program *other; /* computes the second graph's values; NULL: this process does. Borrowed */
	bool every_node;                       /* compares the tensors inside, too, though the results are equal */
};

/* The names of the results of the first graph, in the arena. DFG_DATA if there are none, or no node is named as --init says. */
DFG_MUST_CHECK struct dfg_err *dfg_compared_results(
	const struct dfg_compared_runs *runs, struct dfg_arena *arena, struct dfg_words_list *out_names);

/*
 * Runs both, and adds a line for each result that differs. If one does, both are run again with all tensors that they have
 * by the same name and that the results depend on: the first line is then the first of them, in topological order, that
 * differs. *out_first is its name in the arena, or NULL. Tensors within loops, and in branches that were not taken, have no
 * value that can be compared; of a loop the results are.
 */
DFG_MUST_CHECK struct dfg_err *dfg_compare_runs(
	const struct dfg_compared_runs *runs, struct dfg_arena *arena, struct dfg_differ *differ, const char **out_first);
