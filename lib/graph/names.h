#pragma once

#include "lib/graph/graph.h"

/*
 * Makes unused node names. The last number used for each requested name is kept, because n nodes with one name would
 * take n * n / 2 attempts otherwise. A zeroed struct is empty.
 */
struct dfg_names {
	struct dfg_map bases;
	uint32_t *last; /* by base */
	size_t capacity;
};

/* "x", or "x_1", "x_2", ... if that is taken. wanted and the result are in the graph's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_names_unused(
	struct dfg_names *names, const struct dfg_graph *graph, const char *wanted, const char **out_name);
void dfg_names_release(struct dfg_names *names);
