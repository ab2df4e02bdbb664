#include "lib/graph/function.h"

struct dfg_err *dfg_functions_list(
	const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_functions *out_functions)
{
	*out_functions = (struct dfg_functions){.body = NULL};
	return graph->library && graph->codec ? graph->codec->list(graph, arena, out_functions) : NULL;
}

void dfg_functions_release(struct dfg_functions *functions)
{
	dfg_map_release(&functions->names);
	*functions = (struct dfg_functions){.body = NULL};
}
