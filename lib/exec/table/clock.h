#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Clocks of the replicas that read and update variables with bounded staleness (stale synchronous parallel, SSP). The clock
 * of a replica is the number of its updates that were applied. With the bound s, a read at clock c needs the updates of
 * all replicas of the clocks below c - s, so that a replica begins a step only if it is at most s steps ahead of each other
 * one.
 */
struct dfg_clocks {
	uint32_t count;
	uint64_t bound;
	uint64_t *clock; /* by replica */
};

/* All clocks are 0. */
DFG_MUST_CHECK struct dfg_err *dfg_clocks_init(struct dfg_clocks *clocks, uint32_t count, uint64_t bound);
void dfg_clocks_release(struct dfg_clocks *clocks);

uint64_t dfg_clocks_least(const struct dfg_clocks *clocks);

/* Whether a replica may read at its own clock. */
bool dfg_clocks_may_read(const struct dfg_clocks *clocks, uint32_t replica);

/* DFG_BUG if a value that has all updates of the clocks below `version` is too old for a read of a replica at that clock. */
DFG_MUST_CHECK struct dfg_err *dfg_clocks_check(
	const struct dfg_clocks *clocks, const char *variable, uint64_t version, uint32_t replica, uint64_t clock);
