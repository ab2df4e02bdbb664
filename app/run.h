#pragma once

#include "app/blocks.h"
#include "app/distributed.h"
#include "app/record.h"
#include "app/trace.h"
#include "app/variables.h"
#include "lib/pass/pass.h"

/* The options of a run, as a user gives them. Lists may be empty, texts NULL; a number that is -1 is not given. */
struct dfg_run_options {
	/* Each step. */
	struct dfg_words_list feed;   /* NAME=VALUE (app/feed.h), or a file of named arrays */
	struct dfg_words_list fetch;  /* tensors, many in a word with commas; without targets too: the declared outputs */
	struct dfg_words_list target; /* nodes to run for their effect */
	int64_t repeat, warmup;       /* timed steps, and untimed ones before them (0) */

	/* Variables. */
	const char *init;           /* the node that sets them */
	struct dfg_words_list load; /* array files and checkpoints that set them after that */
	struct dfg_words_list map;  /* OLD=NEW: patterns by which the arrays of `load` are renamed */
	bool partial;               /* initialise variables that `load` lacks, even if the step reads them */
	const char *save;           /* the file that dfg_run_save() writes */
	bool if_changed;            /* do not touch a file that would not change */

	/* Steps over data (dfg_run_data). */
	struct dfg_words_list data;                  /* NAME=@FILE (app/dataset.h) */
	int64_t batch;                               /* samples per step (32, or as the graph declares) */
	int64_t epochs, steps;                       /* limits, of which the earlier ends the run (1 epoch) */
	int64_t shuffle;                             /* seed of the order of samples (0) */
	bool no_shuffle, drop_last;                  /* the order of the file; without a last batch that is not full */
	const char *metrics;                         /* file of metrics (app/metrics.h); "-": stdout */
	bool times;                                  /* metrics with seconds */
	const char *checkpoint;                      /* directory of checkpoints (app/checkpointing.h) */
	const char *every;                           /* "100" steps or "30s" between checkpoints (an epoch) */
	int64_t keep;                                /* number of checkpoints to keep (5); 0: all */
	bool resume, force;                          /* continue from those that are there; replace them */
	struct dfg_words_list eval_data, eval_fetch; /* evaluation after each epoch (app/evaluation.h) */
	int64_t eval_every;                          /* steps between evaluations, instead of epochs */
	const char *stop_early, *keep_best;          /* "loss:5", and a file of variables (app/best.h) */
	const char *eval_graph;                      /* the graph to evaluate (the trained one) */

	/* Where the results go, which is the caller's work: dfg_run_check_outputs() finds conflicts. */
	const char *output, *each, *trace;
	const char *record, *replay; /* of struct dfg_replication, for conflicts */
	bool stats, profile;
	struct dfg_err *(*explain)(const struct dfg_explained *explained, struct dfg_text *out_text); /* NULL: not wanted */
};
#define DFG_RUN_DEFAULTS                                                                                  \
	{                                                                                                     \
		.epochs = -1, .steps = -1, .repeat = -1, .batch = -1, .shuffle = -1, .keep = -1, .eval_every = -1 \
	}

/* Statistics of the timed steps. */
enum { DFG_TIMINGS = 5 };
extern const char *const dfg_timing_name[DFG_TIMINGS]; /* "median_us" and so on */
struct dfg_timing {
	bool known;
	double value[DFG_TIMINGS];
};

/*
 * A run: a graph that is open, on this machine or on workers, its variables, and what each step is fed, fetches and runs.
 * The caller sets the first five members, the others to zero; then
 *
 *     dfg_run_open(), then one of dfg_run_once(), dfg_run_data(), or own steps by dfg_run_plan(); dfg_run_save();
 *     and in any case dfg_run_close().
 */
struct dfg_run {
	const struct dfg_run_options *options; /* borrowed, as is `execution` */
	const struct dfg_execution *execution;
	const struct dfg_replication *replication; /* checked; borrowed; NULL: one shard */
	const struct dfg_block_choice *blocks;     /* checked; borrowed; NULL: parallel loops run as they are */
	struct dfg_graph_input input;              /* how graphs are opened, and the report of the run */
	struct dfg_distributed *distributed;       /* NULL: the run is local */

	struct dfg_model model;
	struct dfg_record record; /* of the shards that steps take */
	struct dfg_staleness {
		uint64_t updates, sum, max; /* of asynchronous steps: how many updates each missed */
		/* With bounded staleness, instead: how many steps ahead of the slowest replica each read was, and the waits for it. */
		uint64_t *lag; /* by steps: the number of reads */
		size_t lags, lag_capacity;
		uint64_t waits, waited_ns;
	} staleness;
	struct dfg_variables variables;
	struct dfg_evaluated {
		const char **name;
		double *value;
		uint32_t count;
	} evaluated;            /* the scalars of the last evaluation, in the model's arena */
	uint64_t loaded_step;   /* of the last checkpoint that `load` gave; 0: none */
	struct dfg_feeds feeds; /* values of --feed and --seed, the same in each step */
	struct dfg_edges fetch;
	const char *only_training; /* without targets: a fetch that has no variant for inference; NULL: none */
	uint32_t *target, n_target;
	struct dfg_keep keep;         /* the fetches and targets, in the form that passes require */
	struct dfg_dependences loops; /* the parallel loops before they are cut into blocks, if they are to be explained */
	struct dfg_text explanation;  /* of the partitioned graph, by `explain` */
	struct dfg_timing timing;     /* of dfg_run_once() */
	struct dfg_stats stats;       /* statistics of the last step */
};

/*
 * Opens the graph, resolves --fetch, --target and --feed in it, fuses updates, and sets the variables that --init and
 * --load give. Events go to the trace, which may be NULL. DFG_DATA and DFG_USAGE name the file and the option.
 */
DFG_MUST_CHECK struct dfg_err *dfg_run_open(const char *path, struct dfg_trace *trace, struct dfg_run *run);
void dfg_run_close(struct dfg_run *run);

/* --save: writes the variables to a file. Does nothing without the option. */
DFG_MUST_CHECK struct dfg_err *dfg_run_save(struct dfg_run *run);

/* The plan of a step with these feeds and fetches and the targets of the run. Initialises the variables it reads. */
DFG_MUST_CHECK struct dfg_err *dfg_run_plan(
	struct dfg_run *run, const struct dfg_feeds *feeds, const struct dfg_edges *fetch, struct dfg_plan **out_plan);

/* Runs one step, or with --repeat and --warmup many, and times them. Returns the values of the last. */
DFG_MUST_CHECK struct dfg_err *dfg_run_once(struct dfg_run *run, struct dfg_arrays *out_results);

/*
 * Opens a graph, feeds its placeholders made-up values, in which dimensions of unknown size are `batch`, and times its
 * steps, like dfg_run_once().
 */
DFG_MUST_CHECK struct dfg_err *dfg_run_made_up(const char *path, int64_t batch, struct dfg_run *run);

/* Callbacks of a run over data, on the thread that runs it. All are set. */
struct dfg_data_watch {
	const char *(*stop)(void *arg); /* asked before each step: the cause to stop, such as "SIGINT"; NULL: none */
	void (*begin)(void *arg, uint64_t done, uint64_t steps, uint64_t epochs); /* steps and epochs 0: unknown */
	/* name and value: the first fetch that is a float; NULL: there is none */
	void (*step)(void *arg, uint64_t step, uint64_t epoch, const char *name, double value);
	void (*hide)(void *arg); /* before a line is reported, and at the end: a picture of the progress is removed */
	void *arg;
};

/*
 * --data, --steps and their options: steps over batches, with evaluations, metrics and checkpoints. With a target it is
 * a training, and the results are those of the last step; else they are gathered over the batches. *out_stopped: the
 * watch ended it before its end, and there are no results; if it has checkpoints, that is DFG_STOPPED.
 */
DFG_MUST_CHECK struct dfg_err *dfg_run_data(
	struct dfg_run *run, const struct dfg_data_watch *watch, struct dfg_arrays *out_results, bool *out_stopped);

/* Adds the values of fetches by name; takes the values, also on failure. */
DFG_MUST_CHECK struct dfg_err *dfg_results_add(
	struct dfg_arrays *results, const struct dfg_edges *fetch, struct dfg_tensor *value);

/*
 * DFG_USAGE and the like for outputs that would overwrite an input, share stdout or cannot be written: before the graph
 * is opened, and (by dfg_run_open) once the fetches are known. json: the results are printed as JSON.
 */
DFG_MUST_CHECK struct dfg_err *dfg_run_check_outputs(
	const struct dfg_run_options *options, const char *graph, bool json);
