#pragma once

#include "lib/graph/graph.h"

/*
 * The name under which a session keeps what a node makes a handle or ref of, such as a variable, queue or lookup table:
 * "container/shared_name", or the node's name if it has neither. Borrowed from the node or allocated from the arena; NULL:
 * no memory. Kernels, which see attributes and not nodes, have the same rule in dfg_shared_name (kernels/variable.h).
 */
const char *dfg_node_shared_name(const struct dfg_node *node, struct dfg_arena *arena);
