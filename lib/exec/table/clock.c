#include "lib/exec/table/clock.h"

#include "lib/base/mem.h"

struct dfg_err *dfg_clocks_init(struct dfg_clocks *clocks, uint32_t count, uint64_t bound)
{
	*clocks = (struct dfg_clocks){count, bound, dfg_zeros(count, sizeof *clocks->clock)};
	return clocks->clock ? NULL : dfg_no_memory("the clocks of the replicas");
}

void dfg_clocks_release(struct dfg_clocks *clocks)
{
	dfg_free(clocks->clock);
	*clocks = (struct dfg_clocks){0};
}

uint64_t dfg_clocks_least(const struct dfg_clocks *clocks)
{
	uint64_t least = clocks->clock[0];
	for (uint32_t i = 1; i < clocks->count; i++)
		least = clocks->clock[i] < least ? clocks->clock[i] : least;
	return least;
}

static bool is_fresh(const struct dfg_clocks *clocks, uint64_t version, uint64_t clock)
{
	return clock <= version || clock - version <= clocks->bound;
}

bool dfg_clocks_may_read(const struct dfg_clocks *clocks, uint32_t replica)
{
	return is_fresh(clocks, dfg_clocks_least(clocks), clocks->clock[replica]);
}

struct dfg_err *dfg_clocks_check(
	const struct dfg_clocks *clocks, const char *variable, uint64_t version, uint32_t replica, uint64_t clock)
{
	if (is_fresh(clocks, version, clock))
		return NULL;
	return DFG_ERR(DFG_BUG,
		"variable '%.200s' is staler than --staleness allows: replica %u has done %llu steps, but reads the updates of "
		"the first %llu only (--staleness %llu)",
		variable, replica, (unsigned long long)clock, (unsigned long long)version, (unsigned long long)clocks->bound);
}
