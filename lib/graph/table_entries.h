#pragma once

#include "lib/graph/graph.h"

/*
 * The initialisers of constant lookup tables, which nothing marks. By node that makes a table: the only node that gives
 * the table of that name its entries; DFG_NONE: there is none, or there are several. NULL: the graph has none. O(nodes).
 */
DFG_MUST_CHECK struct dfg_err *dfg_table_entries_find(
	const struct dfg_graph *graph, struct dfg_arena *arena, uint32_t **out_entries);
