#pragma once

#include "lib/pass/partition/cost_estimate.h"

/* Adds times * sizes to an amount; sizes is borrowed for the amount's lifetime. */
DFG_MUST_CHECK struct dfg_err *dfg_amount_add(struct dfg_amount *amount, uint64_t times, const char *sizes);

/*
 * Sets for each of `hosts` hosts the bytes of its variables and constants and its peak of live values. DFG_MEMORY is
 * the only error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_cost_memory(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_placed *placed, uint32_t hosts, struct dfg_cost_host *host);
