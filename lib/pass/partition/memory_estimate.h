#pragma once

#include "lib/pass/partition/cost_estimate.h"

/* Adds times * sizes to an amount; sizes lives as long as that. */
DFG_MUST_CHECK struct dfg_err *dfg_amount_add(struct dfg_amount *amount, uint64_t times, const char *sizes);

/* What each host keeps, and what is alive there at once at the most; host has one for each of hosts. */
DFG_MUST_CHECK struct dfg_err *dfg_cost_memory(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_placed *placed, uint32_t hosts, struct dfg_cost_host *host);
