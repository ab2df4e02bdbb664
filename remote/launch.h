#pragma once

#include "remote/coordinator.h"
#include "remote/hosts.h"
#include "remote/ranks.h"

/*
 * Starts the workers of a run, links to them, and ends them. Workers of this machine are child processes; the others
 * are started over SSH. The first line sent to a worker is the secret of the run; its first line of output says where
 * it listens.
 */
struct dfg_launch;

/* The progress of a worker's start. */
enum dfg_launch_stage {
	DFG_LAUNCH_WAITING,
	DFG_LAUNCH_CONNECTING, /* over SSH */
	DFG_LAUNCH_PUSHING,    /* this program is sent there */
	DFG_LAUNCH_STARTING,
	DFG_LAUNCH_LINKING, /* to the launcher and to each other */
	DFG_LAUNCH_LOADING, /* it is given its part; the caller reports this stage */
	DFG_LAUNCH_READY,
	DFG_LAUNCH_FAILED,
};
struct dfg_launch_options {
	const struct dfg_hosts *hosts; /* borrowed, as all pointers here */
	const char *transport;         /* "auto", "libcurl" or "shm" */
	const char *ssh_config;        /* as ssh -F; NULL: the user's */
	const struct dfg_ranks *ranks; /* that the hosts are, which have met; NULL: they are other hosts */
	const char *secret_file; /* that the attached workers have too; NULL: there are none, and the secret is random */
	uint32_t replicas;       /* of the graph, as dfg_coordinator_options.replicas */
	uint32_t min_replicas;   /* as dfg_coordinator_options.min_replicas */
	bool spmd;               /* as dfg_coordinator_options.spmd */
	uint32_t servers;        /* as dfg_coordinator_options.servers */
	enum dfg_algorithm algorithm; /* as dfg_coordinator_options.algorithm */
	struct dfg_replica_checks checks;
	bool async, quorum; /* as in dfg_coordinator_options */
	int64_t *restarts;  /* the number of starts of lost replicas that are left, which each one lowers; NULL: 0 */
	/*
	 * The hosts of workers that are started again. changed(): the list has changed since the last call, and could be read.
	 * replace(): writes the hosts that it has for `count` workers from `first` on, none of which runs, to `hosts`; false:
	 * there is none for one of them. With say_arg; NULL: the hosts never change.
	 */
	bool (*changed)(void *arg);
	bool (*replace)(void *arg, uint32_t first, uint32_t count);
	void (*note)(void *arg, const char *line); /* as dfg_coordinator_options.note, with say_arg */
	bool push;                                 /* send this program to the hosts */
	double lease;                              /* seconds of silence after which a worker is lost */
	struct dfg_session_options session;        /* of each worker; threads 0: a fair share of its machine */
	double timeout;                            /* seconds that the start may take, then DFG_DEADLINE; 0: no limit */
	uint64_t memory_limit;                     /* of each worker, in bytes; 0: none */
	void (*trace)(void *arg, const struct dfg_coordinator_event *event); /* as dfg_coordinator_options.trace */
	void *trace_arg;
	void (*say)(void *arg, uint32_t worker, const char *line); /* a line that a worker wrote to stderr. Any thread */
	/* The worker has reached a stage; words: why it failed, else NULL. Any thread; may be NULL */
	void (*reached)(void *arg, uint32_t worker, enum dfg_launch_stage stage, const char *words);
	void *say_arg;
};

/*
 * Returns when all workers are started and linked. DFG_UNAVAILABLE names the worker that ended, is silent or cannot be
 * reached; the workers started so far are then ended.
 */
DFG_MUST_CHECK struct dfg_err *dfg_launch_new(const struct dfg_launch_options *options, struct dfg_launch **out_launch);
struct dfg_coordinator *dfg_launch_coordinator(struct dfg_launch *launch);

/* The transport between two workers, or a worker and DFG_LAUNCHER, by its --transport name. */
const char *dfg_launch_transport(const struct dfg_launch *launch, uint32_t one, uint32_t two);

/* Ends the workers, and waits until they have ended. NULL is allowed. */
void dfg_launch_free(struct dfg_launch *launch);
