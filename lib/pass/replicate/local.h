#pragma once

#include "lib/graph/facts.h"
#include "lib/graph/loops.h"

/*
 * The tensors that depend on the rows of a shard. A tensor whose elements are all known before the step is not local,
 * nor is what an all-reduce returns. A node may also be dead by a local predicate: then whether it runs is local.
 */
struct dfg_local {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	int64_t batch;  /* rows of a shard where the graph fixes them; DFG_UNKNOWN: any number */
	bool *tensor;   /* by tensor (facts->first): its value is local */
	bool *dead;     /* by node: a local predicate decides whether it runs */
	uint32_t *from; /* by node: the input node by which it became local or dead; DFG_NONE: an input of the step */
};

/* Allocated from the arena. `facts` are those of all nodes. */
DFG_MUST_CHECK struct dfg_err *dfg_local_find(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_edge *shard, uint32_t n_shard, struct dfg_arena *arena, struct dfg_local *out_local);

/* Whether the edge's value is local; false for a control edge. */
bool dfg_local_is(const struct dfg_local *local, struct dfg_edge edge);

/* "'x' > 'fc1' > 'fc1/mean'": how the node became local, from an input of the step on; long paths are abridged. */
struct dfg_text;
void dfg_local_path(const struct dfg_local *local, uint32_t node, struct dfg_text *text);
