#include "remote/coordinator_private.h"

#include <stdio.h>
#include <string.h>

/*
 * The cause of a dead fetch if its Switch is on another worker than the fetch: the workers are asked one after the
 * other.
 */

static struct dfg_err *ask(struct dfg_coordinator *coordinator, const struct step_plan *plan, uint32_t worker,
	const struct dfg_cause *of, struct dfg_cause *out)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_CAUSE};
	dfg_packet_put(&packet, plan->number[worker]);
	dfg_packet_put(&packet, of->transfer);
	dfg_packet_put(&packet, (uint64_t)of->iteration);
	dfg_coordinator_ask(coordinator, worker, &packet);
	DFG_TRY(dfg_coordinator_answers(coordinator, 0));
	struct dfg_packet *answer = &coordinator->state[worker].answer;
	out->transfer = dfg_packet_get_u32(answer);
	out->iteration = (int64_t)dfg_packet_get(answer);
	snprintf(out->words, sizeof out->words, "%s", dfg_packet_get_text(answer));
	struct dfg_err *err = dfg_packet_check(answer);
	dfg_coordinator_drop_answers(coordinator);
	return err;
}

/*
 * Appends "fetch 'y:0' is dead: predicate 'p:0' of node 'x' (Switch) is false"; *out_text stays empty if the cause is
 * unknown.
 */
static struct dfg_err *follow(
	struct dfg_coordinator *coordinator, const struct step_plan *plan, uint32_t worker, struct dfg_text *out_text)
{
	struct dfg_cause cause = {0};
	DFG_TRY(ask(coordinator, plan, worker, &cause, &cause));
	if (!cause.transfer)
		return NULL;
	char fetch[sizeof cause.words];
	memcpy(fetch, cause.words, sizeof fetch);
	uint32_t first = worker / coordinator->width * coordinator->width; /* of the replica */
	for (uint32_t hops = 0; cause.transfer && hops < coordinator->parts->transfers; hops++) {
		struct worker_node send = cause.transfer <= coordinator->parts->transfers
									  ? coordinator->send[cause.transfer - 1]
									  : (struct worker_node){DFG_NONE, 0};
		if (send.worker == DFG_NONE || !plan->worker_step[send.worker].runs)
			return NULL;
		DFG_TRY(ask(coordinator, plan, first + send.worker, &cause, &cause));
	}
	if (!cause.transfer && *cause.words)
		dfg_text_add(out_text, "%s: %s", fetch, cause.words);
	return NULL;
}

struct dfg_err *dfg_coordinator_explain(
	struct dfg_coordinator *coordinator, const struct step_plan *plan, uint32_t worker, struct dfg_err *err)
{
	struct dfg_text text = {0};
	struct dfg_err *unknown = follow(coordinator, plan, worker, &text);
	if (!unknown && text.length && !text.short_of_memory) {
		dfg_err_free(err);
		err = DFG_ERR(DFG_DATA, "%s", text.s);
	}
	dfg_err_free(unknown); /* the error that was to be explained is returned */
	dfg_text_release(&text);
	return err;
}
