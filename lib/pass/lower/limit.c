#include "lib/pass/lower/lower_private.h"

/*
 * Bounds the expansion. A small file can require an endless or enormous one: functions that call themselves, or thirty
 * levels of functions that each call the next twice. Both are refused before much work is done.
 */
enum {
	DEPTH_MOST = 500,
	UNITS_LEAST = 500000, /* one unit is a node or an input */
	UNITS_A_NODE = 64,
};

void dfg_lower_limit(struct lower *l)
{
	l->most = UNITS_LEAST + (uint64_t)UNITS_A_NODE * l->graph->count + l->graph->n_library;
}

struct dfg_err *dfg_lower_spend(struct lower *l, uint64_t units)
{
	l->spent += units;
	if (l->spent > l->most)
		return DFG_ERR(DFG_DATA, "expanding the function calls would make more than %llu nodes and inputs",
			(unsigned long long)l->most);
	return NULL;
}

struct dfg_err *dfg_lower_descend(const struct lower *l, uint32_t call, uint32_t function)
{
	const struct scope *scope = &l->scope[l->site[call].scope];
	if (scope->depth >= DEPTH_MOST)
		return DFG_ERR(DFG_DATA, "calls are nested more than %d deep", DEPTH_MOST);
	for (; scope->function != DFG_NONE; scope = &l->scope[scope->parent])
		if (scope->function == function)
			return DFG_ERR(DFG_DATA, "function '%.200s' calls itself: recursive calls cannot be expanded",
				l->functions.names.name[function].s);
	return NULL;
}
