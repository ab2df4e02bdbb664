#pragma once

#include "cmd/distributed.h"
#include "cmd/variables.h"
#include "lib/base/text.h"

/* Values of the options of run. The rows are in cmd/run.c; each part reads its own. */
struct dfg_run_options {
	struct dfg_words_list feed, fetch, target, load, map;
	struct dfg_words_list data, eval_data, eval_fetch;
	const char *output, *init, *each, *save, *metrics, *eval_graph;
	const char *checkpoint, *every, *trace, *device;
	bool if_changed, no_shuffle, drop_last, times, resume, force, stats, partial;
	int64_t batch, epochs, steps, shuffle, keep, repeat, warmup, restarts;
};
extern struct dfg_run_options dfg_run_options;

/* Statistics of the timed steps. */
enum { DFG_TIMINGS = 5 };
extern const char *const dfg_timing_name[DFG_TIMINGS]; /* "median_us" and so on */
struct dfg_timing {
	bool known;
	double value[DFG_TIMINGS];
};

/* A run in progress. */
struct dfg_run {
	struct dfg_model model;
	struct dfg_variables variables;
	struct dfg_feeds feeds; /* values of --feed and --seed, the same in each step */
	struct dfg_edges fetch;
	uint32_t *target, n_target;
	struct dfg_keep keep; /* the fetches and targets, in the form that passes require */
	struct dfg_timing timing;
	struct dfg_stats stats;              /* statistics of the last step */
	struct dfg_distributed *distributed; /* NULL: the run is local */
	struct dfg_graph_input input;        /* how graphs are opened, and the report of the run */
};

/*
 * Checks for outputs that overwrite inputs or cannot be written: before the graph is opened, and once the fetches are
 * known.
 */
DFG_MUST_CHECK struct dfg_err *dfg_run_check_outputs(const char *graph);
DFG_MUST_CHECK struct dfg_err *dfg_run_check_results(const struct dfg_run *run);

/* Prepares the step of a run without data: its plan and the names of its fetches. Sets the variables. */
DFG_MUST_CHECK struct dfg_err *dfg_run_plan(
	struct dfg_run *run, const struct dfg_feeds *feeds, const struct dfg_edges *fetch, struct dfg_plan **out_plan);

/* Binds --feed and --seed. */
DFG_MUST_CHECK struct dfg_err *dfg_run_bind_feeds(struct dfg_run *run);
DFG_MUST_CHECK struct dfg_err *dfg_feeds_add(
	struct dfg_feeds *feeds, struct dfg_edge edge, struct dfg_tensor *value); /* takes the value, also on failure */

/* References to all feeds except those of the n edges, which the caller feeds. */
DFG_MUST_CHECK struct dfg_err *dfg_feeds_share(
	const struct dfg_feeds *feeds, const struct dfg_edge *but, uint32_t n, struct dfg_feeds *out_feeds);
void dfg_feeds_release(struct dfg_feeds *feeds);

/* Fuses spelled-out updates into one op each. Called before the first plan, because a session plans from the graph. */
DFG_MUST_CHECK struct dfg_err *dfg_run_fuse(struct dfg_run *run);

/* Runs --init, then --load. */
DFG_MUST_CHECK struct dfg_err *dfg_run_load(struct dfg_run *run);

/* Writes results to -o, or to stdout as text or JSON. The arrays have the names of the fetches. */
DFG_MUST_CHECK struct dfg_err *dfg_run_print(struct dfg_run *run, const struct dfg_arrays *results);

/* --stats: prints each number to stderr, and all of them as a JSON value. */
struct dfg_json_out;
void dfg_run_print_stats(const struct dfg_run *run, struct dfg_json_out *json);

/* --repeat and --warmup: returns the values of the last step and the times. */
DFG_MUST_CHECK struct dfg_err *dfg_run_once(struct dfg_run *run, struct dfg_arrays *out_results);

/* --each: runs a step for each npy array on stdin. */
DFG_MUST_CHECK struct dfg_err *dfg_run_each(struct dfg_run *run);

/* --data, --steps and their options. */
DFG_MUST_CHECK struct dfg_err *dfg_run_data(struct dfg_run *run, struct dfg_arrays *out_results, int *out_status);

/* --trace. */
struct dfg_trace;
DFG_MUST_CHECK struct dfg_err *dfg_trace_new(const char *path, struct dfg_trace **out_trace);
void dfg_trace_event(void *trace, const struct dfg_trace_event *event);
void dfg_trace_crew_event(
	void *trace, const struct dfg_coordinator_event *event); /* the trace's process is the worker */
DFG_MUST_CHECK struct dfg_err *dfg_trace_end(
	struct dfg_trace *trace); /* closes the file; without this call no file is written */
void dfg_trace_free(struct dfg_trace *trace);

/* Adds the values of fetches by name; takes the values, also on failure. */
DFG_MUST_CHECK struct dfg_err *dfg_results_add(
	struct dfg_arrays *results, const struct dfg_edges *fetch, struct dfg_tensor *value);
