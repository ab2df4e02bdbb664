#include "lib/exec/dataflow/executor_private.h"

/* Sleep holds no thread: its output is set at once, and its consumers are notified when it is due. */

static void swap_timers(struct timer *a, struct timer *b)
{
	struct timer other = *a;
	*a = *b;
	*b = other;
}

static struct dfg_err *push_timer(struct executor *executor, const struct timer *timer)
{
	size_t i = executor->timers;
	if (!dfg_reserve(&executor->timer, &executor->timer_capacity, i + 1, sizeof *timer))
		return dfg_no_memory("a timer");
	struct timer *heap = executor->timer;
	heap[executor->timers++] = *timer;
	for (; i && heap[i].due < heap[(i - 1) / 2].due; i = (i - 1) / 2)
		swap_timers(&heap[i], &heap[(i - 1) / 2]);
	return NULL;
}

struct timer dfg_timer_pop(struct executor *executor)
{
	struct timer *heap = executor->timer, first = heap[0];
	size_t i = 0, count = --executor->timers;
	heap[0] = heap[count];
	for (;;) {
		size_t least = 2 * i + 1;
		if (least + 1 < count && heap[least + 1].due < heap[least].due)
			least++;
		if (least >= count || heap[i].due <= heap[least].due)
			return first;
		swap_timers(&heap[i], &heap[least]);
		i = least;
	}
}

struct dfg_err *dfg_timer_start(struct executor *executor, struct iteration_state *iter, uint32_t node, uint64_t began)
{
	const int64_t most = INT64_C(1) << 40; /* ms, 35 years: longer than any step */
	int64_t ms = executor->plan->node[node].call->attr[0].i;
	uint32_t slot = dfg_out_slot(executor, node, 0);
	uint64_t due = began + (uint64_t)(ms < most ? ms : most) * 1000000;
	DFG_TRY(dfg_forward_value(iter->at[executor->frame_info->first_use[node]], false, &iter->tensor[slot]));
	iter->state[slot] = LIVE;
	DFG_TRY(push_timer(executor, &(struct timer){due, began, iter, node}));
	if (executor->shared)
		dfg_event_signal(&executor->event);
	return NULL;
}
