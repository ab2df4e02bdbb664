#include "lib/graph/table_entries.h"

#include "lib/graph/loops.h"
#include "lib/graph/shared_name.h"

#include <string.h>

/* The node that made the handle in input 0, through Identities: no more than there are nodes, as these may be a cycle. */
static const struct dfg_node *maker_of(const struct dfg_graph *graph, uint32_t n)
{
	const struct dfg_node *maker = &graph->node[graph->node[n].in[0].node];
	for (uint32_t i = 0; i < graph->count && maker->n_in && dfg_node_role(maker) == DFG_IDENTITY; i++)
		maker = &graph->node[maker->in[0].node];
	return maker;
}

static bool gives_entries(const struct dfg_node *node)
{
	return node->n_in && dfg_node_means(node, DFG_MEANS_TABLE_ENTRIES);
}

/* by_name: the node that gives entries to a table, by the number of the table's name; DFG_NONE: several do. */
static bool list_names(const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_map *names, uint32_t *by_name)
{
	for (uint32_t n = 0; n < graph->count; n++) {
		uint32_t number;
		bool new;
		if (!gives_entries(&graph->node[n]))
			continue;
		const char *name = dfg_node_shared_name(maker_of(graph, n), arena);
		if (!name || !dfg_map_put(names, name, strlen(name), &number, &new))
			return false;
		by_name[number] = new ? n : DFG_NONE;
	}
	return true;
}

struct dfg_err *dfg_table_entries_find(const struct dfg_graph *graph, struct dfg_arena *arena, uint32_t **out_entries)
{
	struct dfg_map names = {0};
	uint32_t most = 0;
	*out_entries = NULL;
	for (uint32_t n = 0; n < graph->count; n++)
		most += gives_entries(&graph->node[n]);
	if (!most)
		return NULL;
	uint32_t *entries = *out_entries = dfg_arena_zeros(arena, graph->count, sizeof *entries);
	uint32_t *by_name = dfg_arena_zeros(arena, most, sizeof *by_name);
	bool listed = entries && by_name && list_names(graph, arena, &names, by_name);
	for (uint32_t n = 0; n < graph->count && listed; n++) {
		const char *name = dfg_node_shared_name(&graph->node[n], arena);
		uint32_t number = name ? dfg_map_find(&names, name, strlen(name)) : DFG_NONE;
		entries[n] = number == DFG_NONE ? DFG_NONE : by_name[number];
		listed = name;
	}
	dfg_map_release(&names);
	return listed ? NULL : dfg_no_memory("initialisers of lookup tables");
}
