#pragma once

#include "lib/exec/transport/link.h"

/*
 * Two connected links in one process: a's owner knows the other as peer_b, b's owner as peer_a. A tensor is shared, not
 * copied, unless the sink allocates memory for it.
 *
 * Each end has a thread that delivers messages to its sink, so that a sink is never called under a sender's locks; a
 * thread that polls does it instead. Messages that were sent before the other end closed still arrive.
 */
DFG_MUST_CHECK struct dfg_err *dfg_link_memory_pair(const struct dfg_link_sink *sink_a, uint32_t peer_b,
	const struct dfg_link_sink *sink_b, uint32_t peer_a, struct dfg_link **out_a, struct dfg_link **out_b);
