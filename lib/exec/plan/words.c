#include "lib/exec/plan/frame_info.h"

#include <stdio.h>

/* Names of keys, iterations and slots, for messages. */

struct dfg_words dfg_key_words(const int64_t *key, int keys)
{
	struct dfg_words words = {"["};
	size_t at = 1;
	for (int i = 0; i < keys && at + 24 < sizeof words.s; i++)
		at += (size_t)snprintf(words.s + at, sizeof words.s - at, "%s%lld", i ? "," : "", (long long)key[i]);
	snprintf(words.s + at, sizeof words.s - at, "]");
	return words;
}

struct dfg_err *dfg_iteration_note(struct dfg_err *err, const struct loop *loop, const int64_t *iteration, int depth)
{
	if (depth == 1)
		return dfg_err_note(err, "in iteration %lld of loop '%s'", (long long)*iteration, loop->path);
	return dfg_err_note(err, "in iteration %s of loop '%s'", dfg_key_words(iteration, depth).s, loop->path);
}

struct dfg_words dfg_slot_words(const struct dfg_plan *plan, uint32_t slot)
{
	struct dfg_words words;
	struct dfg_edge edge;
	if (slot >= plan->first_feed) {
		edge = plan->step.feed[slot - plan->first_feed];
	} else {
		const struct plan_node *node = &plan->node[plan->maker[slot]];
		edge = (struct dfg_edge){node->graph_node, (int32_t)(slot - dfg_plan_node_out(plan, node, 0))};
	}
	snprintf(words.s, sizeof words.s, "%s:%d", plan->session->graph->node[edge.node].name, edge.port);
	return words;
}
