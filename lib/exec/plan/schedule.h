#pragma once

#include "lib/exec/plan/frame_info.h"

/*
 * A schedule is the order in which one thread runs a plan without tokens: node after node, past those of branches that
 * were not taken, and back to where a loop begins. It is found for plans in which what is live follows from predicates:
 * every loop well formed, at every Merge exactly one live input. Other plans are an executor's.
 */
enum { CONDITION_DEPTH_MAX = 64, LOOP_DEPTH_MAX = 32, UNREACHABLE = DFG_NONE };

/*
 * What must have been chosen, in the same iteration, for a node to be live: pairs of a predicate and its side. A condition is
 * its parent and one pair more, whose predicate is the largest; condition number l is that of loop l: none. UNREACHABLE: it is dead.
 */
struct condition {
	uint32_t parent, predicate, loop;
	int32_t side;
	uint32_t depth;
	uint32_t next; /* of the same predicate */
};

/* A predicate that Switches go by, and which of their outputs it chose. */
struct predicate {
	uint32_t slot; /* whose value it is */
	uint32_t node; /* a Switch, or a LoopCond */
	uint32_t condition, first_condition;
	uint16_t n_out;
};

/* What the activation knows of a loop: number of the loop in struct frame_info. */
struct loop_info {
	uint32_t condition; /* of what enters it; in its parent */
	uint32_t predicate; /* of its LoopCond */
	uint32_t first_carried, n_carried;
};

/* A loop variable: slots. */
struct carried {
	uint32_t merge, enter, next; /* the Merge's output; what goes into its Enter, and into its NextIteration */
	uint32_t spare;              /* the output of the NextIteration, which nobody else reads */
};

enum entry_kind { ENTRY_RECORD, ENTRY_CHOOSE, ENTRY_MOVE, ENTRY_BEGIN, ENTRY_BACK };
struct schedule_entry {
	uint32_t number; /* node; of ENTRY_CHOOSE a predicate; of ENTRY_BEGIN and ENTRY_BACK a loop */
	uint32_t condition;
	uint32_t loop;
	uint16_t input; /* of ENTRY_MOVE: into output 0 of a Merge, and the number into output 1 */
	uint8_t kind;
};

struct schedule {
	struct schedule_entry *entry;
	uint32_t entries, skips;     /* no more skips than that */
	struct condition *condition; /* heap */
	size_t conditions, condition_room;
	struct predicate *predicate; /* heap */
	size_t predicates, predicate_room;
	uint32_t *slot_condition, *node_condition; /* in the loop where the slot lives; of the node's control output */
	uint32_t *node_predicate;                  /* of a Switch */
	struct loop_info *loop_info;               /* by loop */
	struct carried *carried;                   /* by loop */
	uint32_t *save;                            /* by node: number of the Save */
	uint32_t saves;
	uint32_t loops;
};

/* NULL in *out_course where only an executor can run the plan. */
DFG_MUST_CHECK struct dfg_err *dfg_schedule_make(
	struct dfg_plan *plan, struct dfg_arena *scratch, struct schedule **out_course);
void dfg_schedule_free(struct schedule *schedule); /* NULL is fine */

/* iteration_parallelism.c: whether threads could work on several iterations of some loop at once. */
DFG_MUST_CHECK struct dfg_err *dfg_find_iteration_parallelism(
	const struct dfg_plan *plan, struct dfg_arena *scratch, bool *out_parallel);

/* conditions.c: fills conditions, predicates and bends. *out_unsupported: what is live does not follow from predicates. */
DFG_MUST_CHECK struct dfg_err *dfg_conditions_find(
	struct dfg_plan *plan, struct dfg_arena *scratch, struct schedule *schedule, bool *out_unsupported);

/* conditions.c: whether all was chosen, by predicate, that the condition asks for. */
bool dfg_condition_holds(const struct schedule *schedule, const int32_t *chosen, uint32_t condition);
/* dead_branch.c */
DFG_MUST_CHECK struct dfg_err *dfg_dead_branch(const struct dfg_plan *plan, const int32_t *chosen, uint32_t fetch);

/* conditions.c: whether no choice makes both live. */
bool dfg_conditions_exclude(const struct schedule *schedule, uint32_t one, uint32_t two);

static inline uint32_t dfg_loop_of(const struct dfg_plan *plan, uint32_t node)
{
	return plan->frame_info ? plan->frame_info->loop_of[node] : 0;
}

/* A Merge with a back edge. */
static inline bool dfg_is_loop_merge(const struct dfg_plan *plan, const struct plan_node *node)
{
	for (int i = 0; i < node->n_in && node->role == DFG_MERGE && plan->frame_info; i++) {
		uint32_t slot = dfg_plan_node_in(plan, node, i);
		if (!dfg_always_there(plan, slot) && plan->node[plan->maker[slot]].role == DFG_NEXT_ITERATION)
			return true;
	}
	return false;
}

/* Whether all of condition's pairs are among inner's. */
static inline bool dfg_condition_has(const struct schedule *schedule, uint32_t inner, uint32_t predicate, int32_t side)
{
	for (uint32_t g = inner; schedule->condition[g].depth; g = schedule->condition[g].parent)
		if (schedule->condition[g].predicate == predicate)
			return schedule->condition[g].side == side;
	return false;
}
