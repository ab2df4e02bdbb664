#pragma once

#include "app/run.h"

/*
 * The values of a step as another program, or this one on other hosts, computes them: it is started as `PROGRAM run G`, gets the
 * inputs as an npz file, and writes the fetches to one.
 */
struct dfg_other_program {
	const char *program; /* a dfg; NULL: this one */
	const char *hosts;   /* for its --hosts, of which the first runs all nodes; NULL: none */
};
DFG_MUST_CHECK struct dfg_err *dfg_other_program_run(const struct dfg_other_program *other, const char *graph,
	const struct dfg_run_options *options, const struct dfg_execution *execution, const struct dfg_arrays *inputs,
	struct dfg_arrays *out_values);
