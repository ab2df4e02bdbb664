#include "lib/graph/names.h"

#include <string.h>

struct dfg_err *dfg_names_unused(
	struct dfg_names *names, const struct dfg_graph *graph, const char *wanted, const char **out_name)
{
	uint32_t base;
	*out_name = wanted;
	if (dfg_graph_find(graph, wanted) == DFG_NONE)
		return NULL;
	if (!dfg_map_put(&names->bases, wanted, strlen(wanted), &base, NULL) ||
		!dfg_reserve(&names->last, &names->capacity, (size_t)base + 1, sizeof *names->last))
		return dfg_no_memory("the name of a new node");
	do {
		if (!(*out_name = dfg_arena_number(graph->arena, wanted, '_', ++names->last[base])))
			return dfg_no_memory("the name of a new node");
	} while (dfg_graph_find(graph, *out_name) != DFG_NONE);
	return NULL;
}

void dfg_names_release(struct dfg_names *names)
{
	dfg_map_release(&names->bases);
	dfg_free(names->last);
	*names = (struct dfg_names){.last = NULL};
}
