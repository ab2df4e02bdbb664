#include "lib/exec/machine.h"

#include <math.h>

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
		return dfg_no_memory();
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
	const double seconds_most = 1e9;
	struct dfg_tensor *const *in = slab->at + machine->flow->first_use[record];
	uint32_t slot = dfg_out_slot(machine, record, 0);
	if (dfg_shape_count(&in[1]->shape) != 1)
		return DFG_ERR(DFG_DATA, "the seconds must be a scalar, not %s", dfg_type_words(in[1]->dtype, &in[1]->shape).s);
	double seconds = dfg_tensor_float(in[1], 0);
	if (!(seconds >= 0))
		return DFG_ERR(DFG_DATA, "cannot sleep for %g s", seconds);
	uint64_t ns = (uint64_t)(fmin(seconds, seconds_most) * 1e9);
	DFG_TRY(dfg_pass(in[0], false, &slab->tensor[slot]));
	slab->state[slot] = LIVE;
	DFG_TRY(push(machine, &(struct sleeper){began + ns, began, slab, record}));
	if (machine->shared)
		dfg_event_signal(&machine->event);
	return NULL;
}
