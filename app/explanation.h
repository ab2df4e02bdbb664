#pragma once

#include "formats/json.h"
#include "lib/exec/group/group.h"
#include "lib/pass/parallel/dependences.h"
#include "lib/pass/partition/cost_estimate.h"

/* The placement of a partitioned graph and its cost, as text or JSON. */

/*
 * Writes the cost estimate {"messages": .., "bytes": .., "links": [..], "hosts": [..], "sizes": {..}} as a value;
 * amounts as formula and as terms.
 */
void dfg_explain_cost(const struct dfg_cost_estimate *estimate, struct dfg_json_out *json);

/* Writes a transfer and its number, as a value. */
void dfg_explain_transfer(const struct dfg_transfer *transfer, uint32_t number, struct dfg_json_out *json);

/* A placed and partitioned graph: device of each node with the reason, then the cost estimate. */
struct dfg_explained {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	const struct dfg_placed *placed;
	const struct dfg_parts *parts;
	const char *const *device;
	uint32_t replicas, shards;    /* 1 or more */
	enum dfg_algorithm algorithm; /* by which replicas reduce */
	bool servers;                 /* the shards are added on parameter servers */
	struct dfg_dependences loops; /* the parallel loops of the graph */
	uint32_t blocks;              /* into which they are cut, for as many workers at most; 0: they are not */
};

/* Writes the line of text of one bucket, without its end: rule, bytes and tensors. start is a node that contributes. */
void dfg_explain_bucket(const struct dfg_facts *facts, const struct dfg_node *start, struct dfg_text *text);

/* The reductions over shards and their bytes: lines of text, or the member "replication". Nothing for one shard. */
void dfg_explain_replication_text(const struct dfg_explained *explained, struct dfg_text *text);
void dfg_explain_replication_json(const struct dfg_explained *explained, struct dfg_json_out *json);

DFG_MUST_CHECK struct dfg_err *dfg_explain_text(const struct dfg_explained *explained, struct dfg_text *out_text);
DFG_MUST_CHECK struct dfg_err *dfg_explain_json(const struct dfg_explained *explained, struct dfg_text *out_text);
