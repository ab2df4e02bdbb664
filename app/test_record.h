#pragma once

#include "app/run.h"

/*
 * Writes a case for `dfg test`: a folder with the graph, the feeds, the values of its variables before the step, and the
 * results of one step. The run's options give feeds, fetches, targets and where variables come from.
 */
struct dfg_test_record {
	const char *graph, *folder;
	const struct dfg_run_options *options; /* borrowed, as are the others */
	const struct dfg_execution *execution;
	struct dfg_graph_input input;
	double rtol, atol; /* of the case; 0: bit for bit */
};

/* DFG_NO_OUTPUT for a folder with other files. */
DFG_MUST_CHECK struct dfg_err *dfg_test_record_write(const struct dfg_test_record *record);
