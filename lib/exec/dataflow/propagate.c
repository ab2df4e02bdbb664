#include "lib/exec/dataflow/executor_private.h"

/* Token propagation: the effect of a value that arrives at a node, live or dead. */

static struct dfg_err *two_live(
	const struct executor *executor, const struct iteration_state *iter, uint32_t node, uint32_t one, uint32_t two)
{
	const uint32_t *use = iter->loop->use + executor->frame_info->first_use[node];
	if (executor->plan->node[node].may_agree && dfg_same_value(&iter->tensor[use[one]], &iter->tensor[use[two]]))
		return NULL;
	return dfg_location_note(DFG_ERR(DFG_DATA, "inputs %u and %u are both live, expected one live input",
								 one < two ? one : two, one < two ? two : one),
		iter, executor->plan->node[node].call);
}

static bool has_live_fallback(const struct executor *executor, const struct iteration_state *iter, uint32_t node)
{
	uint32_t input = executor->plan->node[node].fallback;
	if (!input)
		return false;
	uint8_t state = iter->state[iter->loop->use[executor->frame_info->first_use[node] + input - 1]];
	return state == LIVE || state == BORROWED;
}

static void choose(struct iteration_state *iter, uint32_t local, uint32_t input)
{
	iter->choice[local] = input;
	iter->count[local].pending--;
}

/* All inputs of the Merge have arrived, and none that is live can be chosen but for its fallback. */
static struct dfg_err *end_merge(struct executor *executor, struct iteration_state *iter, uint32_t node)
{
	bool live = has_live_fallback(executor, iter, node);
	if (live)
		choose(iter, executor->frame_info->local[node], executor->plan->node[node].fallback - 1u);
	return dfg_make_ready(executor, iter, node, !live);
}

/*
 * A Merge runs with the first live input, or dead when all inputs that can arrive are dead; in either case after its
 * control inputs, whose deadness does not matter. pending is 1 + 2 for each control input to come; the 1 is subtracted
 * by the live input. A live fallback is counted with the dead inputs, and chosen if all others are dead. The back edges of
 * a loop's Merge cannot arrive in iteration 0, so a loop that is entered dead ends.
 */
static struct dfg_err *merge_arrival(struct executor *executor, struct iteration_state *iter,
	const struct consumer *consumer, const struct dead_cause *cause)
{
	const struct plan_node *node = &executor->plan->node[consumer->to];
	uint32_t local = executor->frame_info->local[consumer->to];
	struct count *count = &iter->count[local];
	uint32_t can_arrive = iter->iteration ? node->n_in : executor->frame_info->forward[consumer->to];
	bool is_control = consumer->output == DFG_CONTROL;
	bool is_live = !is_control && !cause && !dfg_is_fallback(node, consumer->input);
	if (is_control) {
		count->pending -= 2;
	} else if (!is_live) {
		if (cause)
			iter->cause[local] = *cause;
		count->dead++;
	} else {
		if (!(count->pending & 1))
			return two_live(executor, iter, consumer->to, iter->choice[local], consumer->input);
		choose(iter, local, consumer->input);
	}
	if (count->pending == 1 && count->dead >= can_arrive)
		return end_merge(executor, iter, consumer->to);
	return count->pending == 0 && (is_live || is_control) ? dfg_make_ready(executor, iter, consumer->to, false) : NULL;
}

struct dfg_err *dfg_token_arrive(struct executor *executor, struct iteration_state *iter,
	const struct consumer *consumer, const struct dead_cause *cause)
{
	enum dfg_role role = executor->plan->node[consumer->to].role;
	if (role == DFG_MERGE)
		return merge_arrival(executor, iter, consumer, cause);
	struct count *count = &iter->count[executor->frame_info->local[consumer->to]];
	if (cause && !count->dead++)
		iter->cause[executor->frame_info->local[consumer->to]] = *cause;
	if (--count->pending)
		return NULL;
	return dfg_make_ready(executor, iter, consumer->to, count->dead && role != DFG_CONTROL_TRIGGER);
}

/* Releases a value that all consumers have read. */
static void consume(struct iteration_state *iter, uint32_t slot)
{
	dfg_tensor_release(&iter->tensor[slot]);
	iter->state[slot] = CONSUMED;
}

struct dfg_err *dfg_propagate(
	struct executor *executor, struct iteration_state *iter, uint32_t node, const struct dead_cause *cause)
{
	const struct frame_info *frame_info = executor->frame_info;
	for (uint32_t a = frame_info->first_consumer[node]; a < frame_info->first_consumer[node + 1]; a++) {
		const struct consumer *consumer = &frame_info->consumer[a];
		const struct dead_cause *dead = cause;
		if (!dead && consumer->output >= 0) {
			uint32_t slot = dfg_out_slot(executor, node, consumer->output);
			dead = iter->state[slot] == DEAD ? &iter->slot_cause[slot] : NULL;
		}
		executor->stats.dead_tokens += dead != NULL;
		DFG_TRY(dfg_token_arrive(executor, iter, consumer, dead));
	}
	for (int i = 0; i < executor->plan->node[node].n_out; i++) {
		uint32_t slot = dfg_out_slot(executor, node, i);
		if (iter->state[slot] == LIVE && !iter->left[slot])
			consume(iter, slot);
	}
	return NULL;
}

void dfg_release_inputs(struct executor *executor, struct iteration_state *iter, uint32_t node)
{
	const uint32_t *use = iter->loop->use + executor->frame_info->first_use[node];
	if (executor->plan->node[node].may_agree) /* kept: it is compared with other live inputs */
		return;
	for (int i = 0; i < executor->plan->node[node].n_in; i++)
		if (iter->state[use[i]] == LIVE && !--iter->left[use[i]])
			consume(iter, use[i]);
}
