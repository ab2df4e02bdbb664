#pragma once

#include "app/names.h"
#include "app/report.h"
#include "lib/pass/partition/partition.h"
#include "remote/hosts.h"
#include "remote/ranks.h"

/* Partitioning of a graph across hosts, as a user asks for it. */
struct dfg_placement {
	const char *hosts;           /* path of a file, or the list itself; NULL: the run is local */
	const char *secret_file;     /* shared with the workers at tcp= of the hosts, which run already; NULL: none do */
	struct dfg_ranks *ranks;     /* of a job, that the hosts are; NULL: none */
	struct dfg_words_list place; /* PATTERN=DEVICE */
	/* Words of --data, or NULL; those of the form NAME=HOST:@FILE place NAME on HOST. */
	const struct dfg_words_list *data[2];
};

/* Reads --hosts; DFG_USAGE without it. */
DFG_MUST_CHECK struct dfg_err *dfg_placement_hosts(
	const struct dfg_placement *placement, struct dfg_arena *arena, struct dfg_hosts *out_hosts);

/*
 * Divides the hosts, in their order, evenly among the replicas (0: 1): *out_first has those of the first replica, which
 * it borrows. DFG_DATA if they cannot be divided.
 */
DFG_MUST_CHECK struct dfg_err *dfg_placement_first_replica(
	const struct dfg_hosts *hosts, uint32_t replicas, struct dfg_hosts *out_first);

/* The start of HOST in NAME=HOST:@FILE, strcspn(host, ":") bytes long; NULL if the word has another form or several hosts. */
const char *dfg_data_host(const char *word);

/*
 * The same with parameter servers, which are those of every replica: *out_hosts receives the workers of all replicas, each
 * with a lane of each server, and *out_first borrows those of the first.
 */
DFG_MUST_CHECK struct dfg_err *dfg_placement_with_servers(const struct dfg_hosts *hosts, uint32_t replicas,
	struct dfg_arena *arena, struct dfg_hosts *out_hosts, struct dfg_hosts *out_first);

/* DFG_USAGE if a --place is malformed or names an unknown device. Called before a graph is read. */
DFG_MUST_CHECK struct dfg_err *dfg_placement_check(
	const struct dfg_placement *placement, const struct dfg_hosts *hosts, struct dfg_arena *arena);

/*
 * Places the nodes of a lowered and verified graph, and partitions it into one part per worker. The graph does not
 * change. facts are those of all nodes. Results live in the arena and borrow from the graph; the caller releases the
 * parts.
 */
DFG_MUST_CHECK struct dfg_err *dfg_placement_place(const struct dfg_placement *placement, const struct dfg_graph *graph,
	const struct dfg_facts *facts, const struct dfg_hosts *hosts, const struct dfg_report *report,
	struct dfg_arena *arena, struct dfg_placed **out_placed);
DFG_MUST_CHECK struct dfg_err *dfg_placement_partition(struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_hosts *hosts, const struct dfg_placed *placed, struct dfg_arena *arena,
	struct dfg_parts *out_parts);

/* Reports a warning for each --place that matches no node. */
void dfg_placement_warn(
	const struct dfg_placement *placement, const struct dfg_graph *graph, const struct dfg_report *report);
