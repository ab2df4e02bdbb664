#pragma once

#include "lib/base/text.h"
#include "lib/graph/build.h"
#include "lib/pass/rewrite/keep.h"

/*
 * Data parallelism: cuts a training graph at its gradients, so that a step runs as one compute run for each shard of the
 * batch and one update run. Between the two is an all-reduce: Dfg>AllReduceStart contributes a bucket of gradients, and
 * Dfg>AllReduceDone reads their mean or sum over the shards (lib/exec/group/group.h).
 *
 * A tensor is local if it depends on the rows of a shard. Reduced are the gradients that grad has marked
 * (`_dfg_gradient_of`), or in another program's graph those that an optimizer's op reads; and each local value that a
 * training step assigns to a variable, such as the moving averages of a batch normalization. After that no write may
 * depend on a local tensor: replicas cannot drift.
 */
enum dfg_reduction {
	DFG_REDUCE_BY_LOSS, /* mean if the loss is a mean over the batch, sum if it is a sum */
	DFG_REDUCE_MEAN,
	DFG_REDUCE_SUM,
	DFG_REDUCE_ADASUM, /* of gradients, each in tensors of its own; other values are averaged */
};

struct dfg_replicate_options {
	uint32_t shards;              /* 2 or more */
	const struct dfg_edge *shard; /* the tensors that are fed the rows of a shard */
	uint32_t n_shard;
	bool
		async; /* a step is one shard's: where it needs queues, it is not cut, as these say when variables are updated */
	bool
		partial; /* a shard's part of the gradients is an update by itself: of gradients that do not depend on the batch too */
	enum dfg_reduction reduction;
	uint64_t bucket;              /* bytes that fill a bucket; 0: a bucket for each tensor; UINT64_MAX: all in one */
	const char *const *gradients; /* shell patterns: names of the nodes to reduce, instead of those found */
	size_t n_gradients;
	struct dfg_text *notes; /* receives lines for the user */
};

/*
 * Rewrites the graph of the builder. `keep` names what the step fetches and runs, NULL: everything; a fetch of a
 * gradient becomes one of the reduced gradient. Marks each sharded input `_dfg_shard`, an int: bit i is output i.
 *
 * DFG_DATA, naming the node: the loss is neither a mean nor a sum over the batch; a gradient may be dead or is in a
 * loop; a variable would be assigned a local value that is not reduced; a value to reduce is not of floats.
 */
DFG_MUST_CHECK struct dfg_err *dfg_replicate(
	struct dfg_builder *builder, const struct dfg_replicate_options *options, struct dfg_keep *keep);

/*
 * How the values of a local tensor of all shards are merged into one: rows concatenated, or numbers averaged by rows or
 * added. Recorded as the mark `_dfg_merge` of its node, an int with two bits for each output; the graph has been
 * rewritten. A tensor that is not local gets no mark.
 */
enum dfg_merge { DFG_MERGE_NONE, DFG_MERGE_ROWS, DFG_MERGE_MEAN, DFG_MERGE_SUM };
DFG_MUST_CHECK struct dfg_err *dfg_replicate_merge(
	struct dfg_graph *graph, const struct dfg_facts *facts, const struct dfg_edge *fetch, uint32_t n);
