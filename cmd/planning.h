#pragma once

#include "cmd/cmd.h"
#include "lib/pass/partition/partition.h"
#include "remote/hosts.h"

/*
 * Cutting a graph across hosts: what `dfg partition` and commands that run a graph with --hosts share. The rows fill one
 * struct; a command without --hosts has planning.hosts NULL.
 */
struct dfg_planning {
	const char *hosts;                    /* as given: the path of a file, or the list itself */
	struct dfg_words_list place;          /* PATTERN=DEVICE */
	const struct dfg_words_list *data[2]; /* NAME=HOST:@FILE among them: NAME is to stand where its file is; or NULL */
};
extern struct dfg_planning dfg_planning;
extern const struct dfg_opt dfg_planning_options[]; /* --hosts, --place */

/* The hosts of --hosts; DFG_USAGE where it was not given. */
DFG_MUST_CHECK struct dfg_err *dfg_planning_hosts(struct dfg_arena *arena, struct dfg_hosts *out_hosts);

/* The HOST of NAME=HOST:@FILE, which has a length of strcspn(host, ":"); NULL where the word is none. */
const char *dfg_data_host(const char *word);

/* Whether each --place is well spelled and names one of the hosts' devices: DFG_USAGE before any graph is read. */
DFG_MUST_CHECK struct dfg_err *dfg_planning_check(const struct dfg_hosts *hosts, struct dfg_arena *arena);

/*
 * Places the nodes of a graph, which is lowered, verified and stays as it is, and cuts it, one part a worker. facts are
 * of all its nodes. What comes out lives in the arena and borrows from the graph; parts are released by the caller.
 */
DFG_MUST_CHECK struct dfg_err *dfg_planning_place(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_hosts *hosts, struct dfg_arena *arena, struct dfg_placed **out_placed);
DFG_MUST_CHECK struct dfg_err *dfg_planning_cut(struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_hosts *hosts, const struct dfg_placed *placed, struct dfg_arena *arena,
	struct dfg_parts *out_parts);

/* Talks of each --place that matches no node of the graph: most often a slip of the pen. */
void dfg_planning_warn(const struct dfg_graph *graph);

/* With -v, talks of how long the phase that ends here took; NULL where the first begins. */
void dfg_planning_phase(const char *what);
