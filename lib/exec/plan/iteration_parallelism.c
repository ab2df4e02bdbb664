#include "lib/exec/plan/schedule.h"

#include <string.h>

/*
 * Whether several iterations of a loop could run in parallel, which a linear program never does: there is an expensive
 * op that does not depend on its own previous iteration, or two of which one does not depend on the other.
 */
enum { EXPENSIVE_MAX = 32 };

struct search {
	const struct dfg_plan *plan;
	bool *reached;              /* by plan node */
	uint32_t *path, *expensive; /* plan nodes */
	uint32_t count;
};

static bool is_in(const struct dfg_plan *plan, uint32_t r, uint32_t loop)
{
	uint32_t at = dfg_loop_of(plan, r);
	while (at && at != loop)
		at = plan->frame_info->loop[at].parent;
	return at == loop;
}

/* Marks all nodes in the loop that depend on the node. */
static void reach(struct search *search, uint32_t from, uint32_t loop)
{
	const struct frame_info *frame_info = search->plan->frame_info;
	uint32_t depth = 0;
	memset(search->reached, 0, search->plan->count * sizeof *search->reached);
	search->path[depth++] = from;
	while (depth) {
		uint32_t r = search->path[--depth];
		for (uint32_t a = frame_info->first_consumer[r]; a < frame_info->first_consumer[r + 1]; a++) {
			uint32_t to = frame_info->consumer[a].to;
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
	for (uint32_t r = 0; r < plan->count && search->count < EXPENSIVE_MAX; r++)
		if (plan->node[r].call->op->flags & (DFG_EXPENSIVE | DFG_BLOCKING) && is_in(plan, r, loop))
			search->expensive[search->count++] = r;
	for (uint32_t i = 0; i < search->count; i++) {
		reach(search, search->expensive[i], loop);
		for (uint32_t j = 0; j < search->count; j++)
			if (!search->reached[search->expensive[j]])
				return true;
	}
	return false;
}

struct dfg_err *dfg_find_iteration_parallelism(
	const struct dfg_plan *plan, struct dfg_arena *scratch, bool *out_parallel)
{
	struct search search = {.plan = plan};
	search.reached = dfg_arena_zeros(scratch, plan->count, sizeof *search.reached);
	search.path = dfg_arena_zeros(scratch, plan->count, sizeof *search.path);
	search.expensive = dfg_arena_zeros(scratch, EXPENSIVE_MAX, sizeof *search.expensive);
	if (!search.reached || !search.path || !search.expensive)
		return dfg_no_memory("the schedule of the step");
	*out_parallel = false;
	for (uint32_t l = 1; l < plan->frame_info->loops && !*out_parallel; l++)
		*out_parallel = plan->frame_info->loop[l].window > 1 && overlaps_in(&search, l);
	return NULL;
}
