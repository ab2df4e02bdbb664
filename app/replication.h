#pragma once

#include "app/model.h"
#include "app/names.h"
#include "app/placement.h"
#include "app/report.h"
#include "lib/pass/replicate/replicate.h"
#include "remote/coordinator.h"

/* Data parallelism, as a user asks for it: how the batch is sharded, and how gradients are reduced. */
struct dfg_replication {
	int64_t replicas, shards; /* 0: not given */
	int64_t verify;           /* steps between two comparisons of the replicas; 0: not given */
	const char *sync;      /* "allreduce", "quorum", "ps", "async" or "ssp"; NULL: allreduce, or quorum with `replay` */
	int64_t staleness;     /* steps that a replica may be ahead of the slowest one, with "ssp"; -1: not given */
	bool verify_staleness; /* each read of a variable is checked to be within that */
	int64_t need;          /* shards that a step of a quorum waits for; 0: not given */
	const char *record, *replay; /* files of the shards that each step took, or of the order of updates: app/record.h */
	const char *emulate;         /* "flip=STEP,REPLICA;compute=exponential:20ms;seed=7"; NULL: nothing */
	int64_t min_replicas;        /* with which the run continues when others are lost; 0: not given */
	const char *bucket;          /* SIZE, "0", "all" or "auto"; NULL: auto */
	const char *algorithm;       /* "auto", "direct", "shm", "halving" or "ring"; NULL: auto */
	const char *reduce;          /* "mean" or "sum"; NULL: by the loss */
	struct dfg_words_list gradients; /* patterns */
	struct dfg_words_list parts;     /* variables to divide: app/shard_variables.h */
	/* Set by dfg_replication_check(). */
	uint32_t n_shards, n_replicas; /* 1 or more */
	enum dfg_algorithm all_reduce;
	bool servers;   /* the variables are on parameter servers */
	bool async;     /* each replica updates them by itself */
	uint64_t bound; /* of such updates: the staleness; 0: they have no bound */
	bool quorum;    /* steps take the contributions of some shards: the first ones, or those of `replay` */
	struct dfg_replica_checks checks;
};

/* The algorithm of that name; NULL: auto. DFG_USAGE for any other word. */
DFG_MUST_CHECK struct dfg_err *dfg_replication_algorithm(const char *text, enum dfg_algorithm *out_algorithm);

/* DFG_USAGE if the algorithm cannot reduce over these numbers of replicas and shards. */
DFG_MUST_CHECK struct dfg_err *dfg_replication_check_numbers(
	enum dfg_algorithm algorithm, uint32_t replicas, uint32_t shards);

/*
 * With --sync, --min-replicas or the ranks of a job, and without --replicas, sets the number of replicas: that of the hosts
 * other than parameter servers, divided by the workers that a replica has: those of the plan, if `path` is one, or those that
 * --place names. NULL: there is none.
 */
DFG_MUST_CHECK struct dfg_err *dfg_replication_default(struct dfg_replication *replication,
	const struct dfg_placement *placement, const char *path, const struct dfg_report *report);

/*
 * Checks the options, and sets the fields that are derived from them. DFG_USAGE for a value out of range or options that
 * contradict each other.
 */
DFG_MUST_CHECK struct dfg_err *dfg_replication_check(struct dfg_replication *replication, bool has_hosts);

/* The same for a run, whose steps may have a quorum or be asynchronous. `trains`: it has data and a target. */
DFG_MUST_CHECK struct dfg_err *dfg_replication_check_run(
	const struct dfg_replication *replication, bool trains, const struct dfg_report *report);

/*
 * Rewrites the graph of a model so that the given tensors are fed a shard of the batch (lib/pass/replicate), and brings
 * its facts up to date. keep's fetches and targets may change. Notes go to the report. Does nothing for one shard.
 */
DFG_MUST_CHECK struct dfg_err *dfg_replication_apply(const struct dfg_replication *replication, struct dfg_model *model,
	const struct dfg_edge *shard, uint32_t n_shard, const struct dfg_report *report, struct dfg_keep *keep);

/*
 * The same for a graph that will be run on any data: the inputs whose first extent is unknown are sharded; if there are
 * none, all inputs but scalars, which must have one first extent b: a batch has b rows for each shard. Else DFG_DATA.
 */
DFG_MUST_CHECK struct dfg_err *dfg_replication_apply_to_inputs(const struct dfg_replication *replication,
	struct dfg_model *model, const struct dfg_report *report, struct dfg_keep *keep);

/* Records how the values of these fetches are merged over shards. Does nothing for a graph that is not rewritten. */
DFG_MUST_CHECK struct dfg_err *dfg_replication_fetches(struct dfg_model *model, const struct dfg_edges *fetch);

/* How many shards share a batch that feeds the tensor: 1 if it is not sharded. */
uint32_t dfg_replication_shards_of(const struct dfg_model *model, struct dfg_edge edge);
