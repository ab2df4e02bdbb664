#pragma once

#include "lib/graph/graph.h"

/* A hash map from an edge with a kind and a detail to an edge. A zeroed struct is empty. */
struct dfg_edge_key {
	struct dfg_edge edge;
	uint32_t kind, detail;
};
struct dfg_edge_map {
	struct dfg_edge_entry {
		struct dfg_edge_key key;
		struct dfg_edge value;
		bool used;
	} * entry;
	size_t count, slots;
};

/* NULL if the key is absent. Valid until the next put. */
const struct dfg_edge *dfg_edge_map_find(const struct dfg_edge_map *map, struct dfg_edge_key key);
DFG_MUST_CHECK struct dfg_err *dfg_edge_map_put(
	struct dfg_edge_map *map, struct dfg_edge_key key, struct dfg_edge value);
void dfg_edge_map_release(struct dfg_edge_map *map);
