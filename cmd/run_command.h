#pragma once

#include "app/run.h"
#include "cmd/cmd.h"

/* Writes results to -o, or to stdout as text or JSON. The arrays have the names of the fetches. */
DFG_MUST_CHECK struct dfg_err *dfg_run_print(struct dfg_run *run, const struct dfg_arrays *results);

/*
 * --repeat with --data: trains with as many seeds, from *seed and --shuffle on, which it changes while they run, and prints what the
 * trainings have in the end (app/seeds.h). `start` has the members of a run that its caller sets.
 */
DFG_MUST_CHECK struct dfg_err *dfg_run_seeds(
	const char *path, const struct dfg_run *start, struct dfg_run_options *options, int64_t *seed, int *out_status);

/* --stats: prints each number to stderr, and all of them as a JSON value. */
struct dfg_json_out;
void dfg_run_print_stats(const struct dfg_run *run, struct dfg_json_out *json);

/* --profile: prints tables to stderr, and a JSON value. */
DFG_MUST_CHECK struct dfg_err *dfg_run_print_profile(struct dfg_run *run, struct dfg_json_out *json);

/* --each: runs a step for each npy array on stdin, and prints its results. */
DFG_MUST_CHECK struct dfg_err *dfg_run_each(struct dfg_run *run);

/*
 * Installs handlers: the first INT or TERM is recorded and ends a program that dfg_child_run() runs, the second ends this
 * one. dfg_stop_signal() returns it; 0: none.
 */
void dfg_stop_catch(void);
int dfg_stop_signal(void);
