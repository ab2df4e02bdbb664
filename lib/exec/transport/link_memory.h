#pragma once

#include "lib/exec/transport/link.h"

/*
 * Two links of one process that lead to each other: a's owner knows the other as peer_b, b's owner as peer_a. A tensor is
 * not copied but shared, except into what the sink has room for.
 *
 * Each end has a thread that delivers to its sink what was sent to it, so that no call of a sink ever stands under a
 * sender's locks; a thread that polls does it instead. What was sent before the other end closed still arrives.
 */
DFG_MUST_CHECK struct dfg_err *dfg_link_memory_pair(const struct dfg_link_sink *sink_a, uint32_t peer_b,
	const struct dfg_link_sink *sink_b, uint32_t peer_a, struct dfg_link **out_a, struct dfg_link **out_b);
