#pragma once

#include "formats/json.h"
#include "lib/pass/partition/cost_estimate.h"

/* What `dfg partition --explain` and `dfg show PLAN/` tell of a graph that was cut. */

/* {"messages": .., "bytes": .., "links": [..], "hosts": [..], "sizes": {..}} as a value; amounts as formula and as terms. */
void dfg_explain_bill(const struct dfg_cost_estimate *bill, struct dfg_json_out *json);

/* A transfer by its number, as a value. */
void dfg_explain_transfer(const struct dfg_transfer *transfer, uint32_t number, struct dfg_json_out *json);

/* A graph that was placed and cut: device and reason of each node, then the bill. */
struct dfg_explained {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	const struct dfg_placed *placed;
	const struct dfg_parts *parts;
	const char *const *device;
};
DFG_MUST_CHECK struct dfg_err *dfg_explain_text(const struct dfg_explained *explained, struct dfg_text *out_text);
DFG_MUST_CHECK struct dfg_err *dfg_explain_json(const struct dfg_explained *explained, struct dfg_text *out_text);
