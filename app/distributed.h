#pragma once

#include "app/devices.h"
#include "app/execution.h"
#include "app/explanation.h"
#include "app/placement.h"
#include "app/report.h"
#include "lib/exec/session.h"
#include "lib/pass/pass.h"
#include "remote/device_workers.h"
#include "remote/launch.h"

#include <sys/stat.h>

/* How workers are started and reached, as a user asks for it. */
struct dfg_distribution {
	const char *transport;  /* "auto", "libcurl" or "shm" */
	const char *ssh_config; /* NULL: the user's own */
	double lease;           /* seconds of silence after which a worker counts as lost */
	bool push;              /* copy this program to the hosts */
};
#define DFG_DISTRIBUTION_DEFAULTS         \
	{                                     \
		.transport = "auto", .lease = 2.5 \
	}

/* DFG_USAGE, naming the option, for a transport that does not exist or a lease that is not 0.1 to 86400 seconds. */
DFG_MUST_CHECK struct dfg_err *dfg_distribution_check(const struct dfg_distribution *distribution);

/* Callbacks with the progress of a launch, for a picture of it. All are set, or none. */
struct dfg_launch_watch {
	void (*begin)(void *arg, const struct dfg_hosts *hosts); /* hosts live until end() */
	void (*reached)(void *arg, uint32_t worker, enum dfg_launch_stage stage, const char *words); /* on any thread */
	void (*end)(void *arg, bool failed); /* may be called more than once */
	void *arg;
};

/* All are borrowed until the workers are closed. */
struct dfg_distributed_options {
	const struct dfg_placement *placement;
	const struct dfg_distribution *distribution;
	uint32_t replicas;                     /* of the graph, over the hosts in their order; 0: 1 */
	struct dfg_replica_checks checks;      /* that they stay equal */
	int64_t *restarts;                     /* as dfg_launch_options.restarts; NULL: none */
	uint32_t min_replicas;                 /* the run survives the loss of the others; 0: of none */
	enum dfg_algorithm algorithm;          /* by which they reduce */
	const struct dfg_execution *execution; /* its memory limit applies to each worker; without swap */
	const struct dfg_report *report; /* receives notes, output of workers and, as details, the transports in use */
	struct dfg_launch_watch watch;
	bool servers;   /* the variables are on the hosts of job=ps, which all replicas share */
	bool async;     /* each replica updates them by itself */
	bool quorum;    /* steps do not wait for all replicas, of which there is one for each shard */
	int64_t blocks; /* of parallel loops, which the workers divide: each has the whole graph; 0: they do not */
	const struct dfg_devices *devices; /* of this process, in place of hosts; NULL: there are hosts */
};

/* The identity of a version of the hosts file. `exists` false: the hosts are not a file. */
struct dfg_hosts_file {
	bool exists;
	dev_t device;
	ino_t inode;
	off_t bytes;
	struct timespec changed;
};

/* The workers, and the graph that is partitioned across them. Zero-initialised: closed. */
struct dfg_distributed {
	struct dfg_distributed_options options;
	struct dfg_arena arena;
	struct dfg_hosts hosts; /* the workers; a parameter server is one worker of each replica */
	struct dfg_hosts first; /* those of replica 0, on whose devices the graph is placed */
	struct dfg_hosts
		listed; /* the file of hosts as it was last read while the run was in progress; empty: it was not */
	struct dfg_hosts_file hosts_file;
	struct dfg_launch *launch; /* NULL: nothing has been loaded yet, or the workers are devices of this process */
	struct dfg_device_workers *device_workers; /* NULL: nothing has been loaded yet, or the workers are on hosts */
	struct dfg_arena parts_arena;
	struct dfg_parts parts;

	uint64_t step; /* set by the caller: the number of the step that runs, for notes; 0: none */

	/* Set by the caller, or NULL: called with each event of the coordinator. */
	void (*trace)(void *arg, const struct dfg_coordinator_event *event);
	void *trace_arg;

	/* Set by the caller, or NULL: called after a model is opened and before it is partitioned. */
	struct dfg_err *(*opened)(void *arg);
	void *opened_arg;

	/* Set by the caller, or NULL: called with a graph that was partitioned here, before workers are started. */
	struct dfg_err *(*cut)(void *arg, struct dfg_explained *explained);
	void *cut_arg;

	/* Nodes and tensors to keep when updates are fused on their devices; NULL: no fusion. */
	const struct dfg_keep *keep;
};

/* The coordinator of the workers; NULL: nothing has been loaded yet. */
struct dfg_coordinator *dfg_distributed_coordinator(const struct dfg_distributed *distributed);

/* Reads the hosts and checks the options; starts nothing. DFG_USAGE for an option that is wrong. */
DFG_MUST_CHECK struct dfg_err *dfg_distributed_open(
	const struct dfg_distributed_options *options, struct dfg_distributed *out_distributed);
void dfg_distributed_close(struct dfg_distributed *distributed);

/* Starts the workers before a graph is loaded, so that a failure to start is one error. */
DFG_MUST_CHECK struct dfg_err *dfg_distributed_start(
	struct dfg_distributed *distributed, const struct dfg_session_options *session);

/*
 * Sends the workers the parts of a graph, and starts them if necessary: `parts`, or if that is NULL, the graph
 * partitioned by --place and cost. Then opens a session with these options, which apply to each worker. Borrows all
 * arguments until the next graph or the end.
 */
DFG_MUST_CHECK struct dfg_err *dfg_distributed_load(struct dfg_distributed *distributed, struct dfg_graph *graph,
	const struct dfg_facts *facts, const struct dfg_parts *parts, struct dfg_session_options *session);

/* Registers a file that is read by the worker that runs the node; DFG_DATA if that worker is not on `host`. */
DFG_MUST_CHECK struct dfg_err *dfg_distributed_source(const struct dfg_distributed *distributed, const char *name,
	uint32_t node, const char *host, const char *file, const struct dfg_array_input *input,
	struct dfg_coordinator_source *out_source);
