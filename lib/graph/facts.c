#include "lib/graph/facts.h"

#include "lib/base/mem.h"
#include "lib/graph/resolve_cache.h"

const struct dfg_inferred dfg_fact_nothing = {.shape = {.rank = DFG_UNKNOWN}};

void dfg_facts_release(struct dfg_facts *facts)
{
	dfg_free(facts->fact);
	dfg_free(facts->first);
	dfg_resolve_cache_free(facts->alike);
	*facts = (struct dfg_facts){0};
}

struct dfg_err *dfg_facts_add(struct dfg_facts *facts, uint32_t n_out)
{
	if (!dfg_reserve(&facts->fact, &facts->capacity, facts->count + n_out, sizeof(void *)) ||
		!dfg_reserve(&facts->first, &facts->nodes_capacity, facts->nodes + 2, sizeof *facts->first))
		return DFG_ERR(DFG_MEMORY, "no memory for the types and shapes of %zu nodes", facts->nodes);
	for (uint32_t i = 0; i < n_out; i++)
		facts->fact[facts->count++] = &dfg_fact_nothing;
	facts->first[++facts->nodes] = (uint32_t)facts->count;
	return NULL;
}
