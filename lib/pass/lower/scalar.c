#include "lib/pass/lower/scalar.h"

/* Whether the node's output is a scalar if all its inputs are. */
static bool follows_inputs(const struct dfg_node *node)
{
	if (!node->op || !node->n_in)
		return false;
	switch (node->op->role) {
	case DFG_PLAIN:
		return !node->op->shape; /* the shape that all inputs broadcast to */
	case DFG_IDENTITY:
	case DFG_SWITCH:
	case DFG_MERGE:
	case DFG_ENTER:
	case DFG_EXIT:
	case DFG_NEXT_ITERATION:
		return true;
	default:
		return false;
	}
}

static bool are_known(const struct dfg_facts *facts, uint32_t n)
{
	for (uint32_t i = facts->first[n]; i < facts->first[n + 1]; i++)
		if (facts->fact[i]->shape.rank != 0)
			return false;
	return facts->first[n] < facts->first[n + 1];
}

/* The predicate of a Switch is ignored: it must be a scalar anyway. */
static bool holds(const struct dfg_node *node, const bool *scalar)
{
	uint32_t count = node->op->role == DFG_SWITCH ? 1 : node->n_in;
	for (uint32_t i = 0; i < count; i++)
		if (!scalar[node->in[i].node])
			return false;
	return true;
}

/*
 * Readers as linked lists. By node: its first reader; by edge: the next reader of the same node; entries are edge
 * number + 1.
 */
struct readers {
	uint32_t *first, *next, *reader;
};

static struct dfg_err *find_readers(
	const struct dfg_graph *graph, struct dfg_arena *scratch, struct readers *out_readers)
{
	size_t edges = 0;
	for (uint32_t n = 0; n < graph->count; n++)
		edges += graph->node[n].n_in;
	*out_readers = (struct readers){
		dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof(uint32_t)),
		dfg_arena_zeros(scratch, edges + 1, sizeof(uint32_t)),
		dfg_arena_zeros(scratch, edges + 1, sizeof(uint32_t)),
	};
	if (!out_readers->first || !out_readers->next || !out_readers->reader)
		return DFG_ERR(DFG_MEMORY, "no memory to find scalars");
	uint32_t edge = 0;
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t i = 0; i < graph->node[n].n_in; i++, edge++) {
			uint32_t from = graph->node[n].in[i].node;
			out_readers->reader[edge] = n;
			out_readers->next[edge] = out_readers->first[from];
			out_readers->first[from] = edge + 1;
		}
	return NULL;
}

struct dfg_err *dfg_find_scalars(
	const struct dfg_graph *graph, const struct dfg_facts *facts, struct dfg_arena *scratch, bool *out_scalar)
{
	struct readers readers;
	uint32_t *todo = dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof *todo), count = 0;
	if (!todo)
		return DFG_ERR(DFG_MEMORY, "no memory to find scalars");
	DFG_TRY(find_readers(graph, scratch, &readers));
	for (uint32_t n = 0; n < graph->count; n++) {
		out_scalar[n] = are_known(facts, n) || follows_inputs(&graph->node[n]);
		if (!out_scalar[n])
			todo[count++] = n;
	}
	while (count) {
		uint32_t from = todo[--count];
		for (uint32_t edge = readers.first[from]; edge; edge = readers.next[edge - 1]) {
			uint32_t n = readers.reader[edge - 1];
			if (!out_scalar[n] || are_known(facts, n) || holds(&graph->node[n], out_scalar))
				continue;
			out_scalar[n] = false;
			todo[count++] = n;
		}
	}
	return NULL;
}
