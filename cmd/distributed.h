#pragma once

#include "cmd/launch_table.h"
#include "cmd/planning.h"
#include "lib/exec/session.h"
#include "lib/pass/pass.h"
#include "remote/launch.h"

/* Runs across the workers of --hosts: what run and test share. The rows fill one struct. */
struct dfg_distribution {
	const char *transport, *ssh_config;
	double lease;
	bool push;
};
extern struct dfg_distribution dfg_distribution;
extern const struct dfg_opt dfg_distribution_options[]; /* beside those of planning.h */

/* Without --hosts, DFG_USAGE for the options that mean nothing then. */
DFG_MUST_CHECK struct dfg_err *dfg_distribution_check(void);

/* The workers, and the graph that is cut across them. A zeroed one is closed. */
struct dfg_distributed {
	struct dfg_arena arena;
	struct dfg_hosts hosts;
	struct dfg_launch *launch; /* NULL: nothing has been loaded yet */
	struct dfg_launch_table table;
	struct dfg_arena parts_arena;
	struct dfg_parts parts;
	void (*trace)(void *arg, const struct dfg_coordinator_event *event); /* as of a crew; set by whoever wants it */
	void *trace_arg;
	struct dfg_err *(*opened)(void *arg); /* when a model is there, and before it is cut; likewise */
	void *opened_arg;
	const struct dfg_keep *keep; /* NULL, or what is asked of the graph: its updates are fused where they stand */
};

/* Reads --hosts, --place and what goes with them; nothing is started. */
DFG_MUST_CHECK struct dfg_err *dfg_distributed_open(struct dfg_distributed *out_distributed);
void dfg_distributed_close(struct dfg_distributed *distributed);

/* Starts the workers before there is a graph for them: where they cannot be had, that is one error. */
DFG_MUST_CHECK struct dfg_err *dfg_distributed_start(
	struct dfg_distributed *distributed, const struct dfg_session_options *session);

/*
 * Gives the workers, which are started if they are not there, the parts of a graph: `parts`, or, where that is NULL, as
 * the graph is cut by --place and by cost. A session with these options, which are those of each worker, then runs there.
 * Borrows all until the next graph, or the end.
 */
DFG_MUST_CHECK struct dfg_err *dfg_distributed_load(struct dfg_distributed *distributed, struct dfg_graph *graph,
	const struct dfg_facts *facts, const struct dfg_parts *parts, struct dfg_session_options *session);

/* A file that the worker reads on which the node stands; DFG_DATA where that is none of `host`'s. */
DFG_MUST_CHECK struct dfg_err *dfg_distributed_source(const struct dfg_distributed *distributed, const char *name,
	uint32_t node, const char *host, const char *file, const struct dfg_array_input *input,
	struct dfg_coordinator_source *out_source);

/* Messages, bytes and waits of the last step, from worker to worker; NULL where nothing is distributed. */
struct dfg_json_out;
void dfg_distributed_print(const struct dfg_distributed *distributed, struct dfg_json_out *json);
