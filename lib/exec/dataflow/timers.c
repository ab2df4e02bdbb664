#include "lib/exec/dataflow/executor_private.h"

/* Sleep holds no thread: its output is there at once, and its consumers hear of it when it is time. */

static void swap(struct sleeper *a, struct sleeper *b)
{
	struct sleeper other = *a;
	*a = *b;
	*b = other;
}

static struct dfg_err *push(struct machine *machine, const struct sleeper *sleeper)
{
	size_t i = machine->sleepers;
	if (!dfg_reserve(&machine->sleeper, &machine->sleeper_room, i + 1, sizeof *sleeper))
		return dfg_no_memory("a timer");
	struct sleeper *heap = machine->sleeper;
	heap[machine->sleepers++] = *sleeper;
	for (; i && heap[i].due < heap[(i - 1) / 2].due; i = (i - 1) / 2)
		swap(&heap[i], &heap[(i - 1) / 2]);
	return NULL;
}

struct sleeper dfg_sleeper_pop(struct machine *machine)
{
	struct sleeper *heap = machine->sleeper, first = heap[0];
	size_t i = 0, count = --machine->sleepers;
	heap[0] = heap[count];
	for (;;) {
		size_t least = 2 * i + 1;
		if (least + 1 < count && heap[least + 1].due < heap[least].due)
			least++;
		if (least >= count || heap[i].due <= heap[least].due)
			return first;
		swap(&heap[i], &heap[least]);
		i = least;
	}
}

struct dfg_err *dfg_sleep(struct machine *machine, struct slab *slab, uint32_t record, uint64_t began)
{
	const int64_t most = INT64_C(1) << 40; /* ms, 35 years: later than any step ends */
	int64_t ms = machine->plan->record[record].call->attr[0].i;
	uint32_t slot = dfg_out_slot(machine, record, 0);
	uint64_t due = began + (uint64_t)(ms < most ? ms : most) * 1000000;
	DFG_TRY(dfg_pass(slab->at[machine->flow->first_use[record]], false, &slab->tensor[slot]));
	slab->state[slot] = LIVE;
	DFG_TRY(push(machine, &(struct sleeper){due, began, slab, record}));
	if (machine->shared)
		dfg_event_signal(&machine->event);
	return NULL;
}
