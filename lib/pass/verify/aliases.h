#pragma once

#include "lib/graph/facts.h"
#include "lib/graph/loops.h"

/*
 * Which variable each handle and ref of a graph refers to. Nodes with the same container and shared_name, or without
 * these with the same name, make the same variable.
 */
struct dfg_aliases {
	const struct dfg_facts *facts;
	struct dfg_map names; /* that of a variable in a session, "container/name" or "name": its number */
	uint32_t *of; /* by tensor: number of the variable that it is a handle or ref of, + 1; 0: none, or unknown */
};

/*
 * order: the nodes, inputs first, or NULL for the graph's own. facts: of all nodes. The arrays are in the arena; release
 * frees the remainder, also after an error. A loop variable is taken for the variable that enters the loop.
 */
DFG_MUST_CHECK struct dfg_err *dfg_aliases_find(const struct dfg_graph *graph, const uint32_t *order,
	const struct dfg_facts *facts, struct dfg_arena *arena, struct dfg_aliases *out_aliases);
void dfg_aliases_release(struct dfg_aliases *aliases);

/* The number of the tensor's variable, + 1; 0: none, or unknown. */
uint32_t dfg_alias_of(const struct dfg_aliases *aliases, struct dfg_edge edge);

/* The name of variable `number` in a session. */
const char *dfg_alias_name(const struct dfg_aliases *aliases, uint32_t number);
