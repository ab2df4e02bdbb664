/*
 * prune. Requires: every edge names a node. Result: the nodes that `keep` depends on, also through control edges.
 * O(nodes + edges).
 */
#include "lib/pass/rewrite/prune.h"

#include "lib/base/plural.h"
#include "lib/graph/initialisers.h"
#include "lib/graph/table_entries.h"
#include "lib/pass/rewrite/renumber.h"

/* Nodes found but not yet expanded. Each is pushed at most once, so the stack is allocated up front. */
struct worklist {
	const struct dfg_graph *graph;
	bool *met;
	uint32_t *node, count;
	uint32_t *setter; /* by node: 1 + the first node that initialises this variable */
	uint32_t *next;   /* by node: 1 + the next node that initialises the same variable */
};

static void meet(struct worklist *work, uint32_t node)
{
	if (work->met[node])
		return;
	work->met[node] = true;
	work->node[work->count++] = node;
}

static void add_setter(struct worklist *work, uint32_t variable, uint32_t setter)
{
	work->next[setter] = work->setter[variable];
	work->setter[variable] = setter + 1;
}

/* Finds initialisers by their marks or, in graphs made by TensorFlow, which have no marks, by their structure. */
static struct dfg_err *find_setters(struct worklist *work, struct dfg_arena *scratch)
{
	const struct dfg_graph *graph = work->graph;
	uint32_t *assign, *entries;
	DFG_TRY(dfg_initialisers_find(graph, scratch, &assign));
	DFG_TRY(dfg_table_entries_find(graph, scratch, &entries));
	for (uint32_t n = 0; n < graph->count; n++) {
		if (graph->node[n].n_in && dfg_node_mark(&graph->node[n], "_dfg_init", NULL))
			add_setter(work, graph->node[n].in[0].node, n);
		if (assign[n] != DFG_NONE && dfg_initialiser_guessed(graph, assign[n]))
			add_setter(work, n, assign[n]);
		if (entries && entries[n] != DFG_NONE)
			add_setter(work, n, entries[n]);
	}
	return NULL;
}

static void meet_all(struct worklist *work, const struct dfg_keep *keep)
{
	for (uint32_t i = 0; i < keep->n_feed; i++)
		meet(work, keep->feed[i].node);
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		meet(work, keep->fetch[i].node);
	for (uint32_t i = 0; i < keep->n_target; i++)
		meet(work, keep->target[i]);
	while (work->count) {
		uint32_t n = work->node[--work->count];
		const struct dfg_node *node = &work->graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			meet(work, node->in[e].node);
		for (uint32_t setter = work->setter[n]; setter; setter = work->next[setter - 1])
			meet(work, setter - 1);
	}
}

struct dfg_err *dfg_prune(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	struct worklist work = {
		.graph = graph,
		.met = dfg_arena_zeros(scratch, graph->count, sizeof *work.met),
		.node = dfg_arena_zeros(scratch, graph->count, sizeof *work.node),
		.setter = dfg_arena_zeros(scratch, graph->count, sizeof *work.setter),
		.next = dfg_arena_zeros(scratch, graph->count, sizeof *work.next),
	};
	uint32_t *number = dfg_arena_zeros(scratch, graph->count, sizeof *number);
	uint32_t before = graph->count, kept = 0;
	if (!work.met || !work.node || !work.setter || !work.next || !number)
		return DFG_ERR(DFG_MEMORY, "no memory to prune %u nodes", graph->count);
	DFG_TRY(find_setters(&work, scratch));
	meet_all(&work, keep);
	for (uint32_t n = 0; n < before; n++)
		if (work.met[n])
			work.node[kept++] = n;
	DFG_TRY(dfg_renumber(graph, work.node, kept, number, keep, scratch));
	dfg_text_add(report, "prune: removed %u of %u node%s\n", before - graph->count, before, dfg_plural(before));
	return NULL;
}
