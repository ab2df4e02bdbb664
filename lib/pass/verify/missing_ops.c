#include "lib/pass/verify/missing_ops.h"

#include "lib/graph/function.h"

#include <stdlib.h>
#include <string.h>

/* Functions are visited in the order in which `reached` numbers their names. */
struct walk {
	const struct dfg_graph *graph;
	struct dfg_functions functions;
	struct dfg_map reached, missing;
	uint64_t *nodes; /* by number in `missing`; `capacity` of them */
	size_t capacity;
	struct dfg_arena *arena;
};

static struct dfg_err *put_name(struct dfg_map *map, const char *name, uint32_t *out_number)
{
	return dfg_map_put(map, name, strlen(name), out_number, NULL) ? NULL : dfg_no_memory("names of ops");
}

static struct dfg_err *reach(struct walk *walk, const char *name)
{
	uint32_t number;
	if (dfg_map_find(&walk->functions.names, name, strlen(name)) == DFG_NONE)
		return NULL;
	return put_name(&walk->reached, name, &number);
}

static struct dfg_err *count(struct walk *walk, const char *name)
{
	uint32_t number;
	DFG_TRY(put_name(&walk->missing, name, &number));
	if (number >= walk->capacity) {
		size_t capacity = walk->capacity ? 2 * walk->capacity : 16;
		uint64_t *nodes = dfg_arena_zeros(walk->arena, capacity, sizeof *nodes);
		if (!nodes)
			return dfg_no_memory("counts of ops");
		if (walk->capacity)
			memcpy(nodes, walk->nodes, walk->capacity * sizeof *nodes);
		walk->nodes = nodes;
		walk->capacity = capacity;
	}
	walk->nodes[number]++;
	return NULL;
}

static struct dfg_err *visit(struct walk *walk, const struct dfg_node *node)
{
	for (uint32_t a = 0; a < node->n_attr; a++) {
		const struct dfg_attr *attr = &node->attr[a];
		if (attr->kind == DFG_ATTR_FUNC)
			DFG_TRY(reach(walk, attr->value.func->name));
		const struct dfg_list *list = attr->kind == DFG_ATTR_LIST ? attr->value.list : NULL;
		for (uint32_t i = 0; list && list->kind == DFG_ATTR_FUNC && i < list->count; i++)
			DFG_TRY(reach(walk, list->item[i].func->name));
	}
	if (node->op)
		return NULL;
	if (dfg_map_find(&walk->functions.names, node->op_name, strlen(node->op_name)) != DFG_NONE)
		return reach(walk, node->op_name);
	return count(walk, node->op_name);
}

static struct dfg_err *visit_function(struct walk *walk, const char *name)
{
	struct dfg_function function;
	uint32_t number = dfg_map_find(&walk->functions.names, name, strlen(name));
	DFG_TRY(walk->graph->codec->open(&walk->functions, number, walk->arena, &function));
	for (uint32_t n = 0; n < function.n_node; n++)
		DFG_TRY(visit(walk, &function.node[n].node));
	return NULL;
}

static struct dfg_err *visit_all(struct walk *walk)
{
	DFG_TRY(dfg_functions_list(walk->graph, walk->arena, &walk->functions));
	for (uint32_t n = 0; n < walk->graph->count; n++)
		DFG_TRY(visit(walk, &walk->graph->node[n]));
	for (size_t f = 0; f < walk->reached.count; f++) /* grows meanwhile */
		DFG_TRY(visit_function(walk, walk->reached.name[f].s));
	return NULL;
}

static int by_nodes(const void *a, const void *b)
{
	const struct dfg_missing_op *x = a, *y = b;
	return x->nodes != y->nodes ? (x->nodes < y->nodes) - (x->nodes > y->nodes) : strcmp(x->name, y->name);
}

static struct dfg_err *list(const struct walk *walk, struct dfg_missing_op **out_missing, size_t *out_count)
{
	size_t found = walk->missing.count;
	struct dfg_missing_op *missing = dfg_arena_zeros(walk->arena, found + 1, sizeof *missing);
	if (!missing)
		return dfg_no_memory("the list of missing ops");
	for (size_t i = 0; i < found; i++)
		missing[i] = (struct dfg_missing_op){walk->missing.name[i].s, walk->nodes[i]};
	qsort(missing, found, sizeof *missing, by_nodes);
	*out_missing = missing;
	*out_count = found;
	return NULL;
}

struct dfg_err *dfg_missing_ops(
	const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_missing_op **out_missing, size_t *out_count)
{
	struct walk walk = {.graph = graph, .arena = arena};
	struct dfg_err *err = visit_all(&walk);
	if (!err)
		err = list(&walk, out_missing, out_count);
	dfg_functions_release(&walk.functions);
	dfg_map_release(&walk.reached);
	dfg_map_release(&walk.missing);
	return err;
}
