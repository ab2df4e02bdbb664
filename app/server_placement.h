#pragma once

#include "lib/pass/place/place.h"

/*
 * Placement with parameter servers: the devices of a replica are its workers, then the servers. Variables are distributed
 * to servers by bytes, each with its slots: the largest first, to the server with the fewest bytes so far, ties by name.
 * A gradient is reduced on the server of its variable, and the update is computed there. Everything else is on the first
 * worker, unless it is requested elsewhere.
 */
DFG_MUST_CHECK struct dfg_err *dfg_server_requests(const struct dfg_graph *graph, uint32_t workers, uint32_t servers,
	struct dfg_arena *arena, struct dfg_place_request **out_request, size_t *out_count);

/* DFG_DATA, naming the node, if a variable or a reduction is not on a server. */
DFG_MUST_CHECK struct dfg_err *dfg_server_check(
	const struct dfg_graph *graph, const struct dfg_placed *placed, uint32_t workers);

/* The same for a part of a plan, which is on that worker. */
DFG_MUST_CHECK struct dfg_err *dfg_server_check_part(const struct dfg_graph *part, uint32_t worker);
