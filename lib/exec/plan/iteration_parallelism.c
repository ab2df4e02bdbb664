#include "lib/exec/plan/schedule.h"

#include <string.h>

/*
 * Whether threads could work on several iterations of a loop at once, which a line never does: there is an expensive op
 * that does not wait for itself, or two of which one does not wait for the other, from iteration to iteration.
 */
enum { ASKED_MOST = 32 };

struct search {
	const struct dfg_plan *plan;
	bool *reached;              /* by record */
	uint32_t *path, *expensive; /* records */
	uint32_t count;
};

static bool is_in(const struct dfg_plan *plan, uint32_t r, uint32_t loop)
{
	uint32_t at = dfg_loop_of(plan, r);
	while (at && at != loop)
		at = plan->flow->loop[at].parent;
	return at == loop;
}

/* All that waits for the record, within the loop. */
static void reach(struct search *search, uint32_t from, uint32_t loop)
{
	const struct flow *flow = search->plan->flow;
	uint32_t depth = 0;
	memset(search->reached, 0, search->plan->count * sizeof *search->reached);
	search->path[depth++] = from;
	while (depth) {
		uint32_t r = search->path[--depth];
		for (uint32_t a = flow->first_arc[r]; a < flow->first_arc[r + 1]; a++) {
			uint32_t to = flow->arc[a].to;
			if (search->reached[to] || !is_in(search->plan, to, loop))
				continue;
			search->reached[to] = true;
			search->path[depth++] = to;
		}
	}
}

static bool overlaps_in(struct search *search, uint32_t loop)
{
	const struct dfg_plan *plan = search->plan;
	search->count = 0;
	for (uint32_t r = 0; r < plan->count && search->count < ASKED_MOST; r++)
		if (plan->record[r].call->op->flags & (DFG_EXPENSIVE | DFG_BLOCKING) && is_in(plan, r, loop))
			search->expensive[search->count++] = r;
	for (uint32_t i = 0; i < search->count; i++) {
		reach(search, search->expensive[i], loop);
		for (uint32_t j = 0; j < search->count; j++)
			if (!search->reached[search->expensive[j]])
				return true;
	}
	return false;
}

struct dfg_err *dfg_find_overlap(const struct dfg_plan *plan, struct dfg_arena *scratch, bool *out_overlaps)
{
	struct search search = {.plan = plan};
	search.reached = dfg_arena_zeros(scratch, plan->count, sizeof *search.reached);
	search.path = dfg_arena_zeros(scratch, plan->count, sizeof *search.path);
	search.expensive = dfg_arena_zeros(scratch, ASKED_MOST, sizeof *search.expensive);
	if (!search.reached || !search.path || !search.expensive)
		return dfg_no_memory("the schedule of the step");
	*out_overlaps = false;
	for (uint32_t l = 1; l < plan->flow->loops && !*out_overlaps; l++)
		*out_overlaps = plan->flow->loop[l].window > 1 && overlaps_in(&search, l);
	return NULL;
}
