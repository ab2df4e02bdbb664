#pragma once

#include "lib/base/io.h"

/*
 * Writes a graph made up from a seed, node by node, as a GraphDef: for benches and tests of what is linear. Node i is an
 * AddN of up to edges / nodes earlier nodes, most of them near, some anywhere; the first few are placeholders. Names are
 * such as programs give. The same numbers make the same bytes on every machine.
 */
DFG_MUST_CHECK struct dfg_err *dfg_synthetic_write(uint32_t nodes, uint64_t edges, uint64_t seed, struct dfg_out *out);
