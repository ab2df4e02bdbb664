#pragma once

#include "lib/base/io.h"

/*
 * Writes a graph generated from a seed node by node as a GraphDef, for benchmarks and tests of linear time. Node i is
 * an AddN of up to edges / nodes earlier nodes, most of them near; the first few nodes are placeholders. Names resemble
 * those of real programs. Equal arguments give equal bytes on all machines.
 */
DFG_MUST_CHECK struct dfg_err *dfg_synthetic_write(uint32_t nodes, uint64_t edges, uint64_t seed, struct dfg_out *out);
