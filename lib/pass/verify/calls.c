#include "lib/pass/verify/calls.h"

#include "lib/graph/function.h"

#include <string.h>

enum { BATCH = 1024 }; /* number of nodes after which their scratch memory is released */

static struct dfg_err *check_node(
	const struct dfg_graph *graph, const struct dfg_functions *functions, uint32_t n, struct dfg_arena *arena)
{
	const struct dfg_node *node = &graph->node[n];
	struct dfg_resolved_node call;
	if (!node->op && dfg_map_find(&functions->names, node->op_name, strlen(node->op_name)) != DFG_NONE)
		return NULL;
	return dfg_node_resolve(graph, n, arena, &call);
}

void dfg_calls_check(const struct dfg_graph *graph, bool ops_only, struct dfg_faults *faults)
{
	struct dfg_arena scratch = {0}, brief = {0};
	struct dfg_functions functions = {0};
	struct dfg_err *err = dfg_functions_list(graph, &scratch, &functions);
	dfg_fault(faults, err);
	for (uint32_t n = 0; n < graph->count && faults->left > 0 && !err; n++) {
		if (n % BATCH == 0)
			dfg_arena_release(&brief);
		if (!graph->node[n].op || !ops_only)
			dfg_fault(faults, check_node(graph, &functions, n, &brief));
	}
	dfg_functions_release(&functions);
	dfg_arena_release(&brief);
	dfg_arena_release(&scratch);
}
