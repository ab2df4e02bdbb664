#pragma once

#include "lib/exec/plan/frame_info.h"

/*
 * A schedule is the order in which one thread runs a plan without tokens: node after node, jumping over branches that
 * were not taken, and back to the beginning of a loop. A plan has a schedule if liveness follows from predicates: every
 * loop is well formed, and every Merge has exactly one live input. The dataflow executor runs all other plans.
 */
enum { CONDITION_DEPTH_MAX = 64, LOOP_DEPTH_MAX = 32, UNREACHABLE = DFG_NONE };

/*
 * A path condition: the choices, in the same iteration, that make a node live. It is a conjunction of pairs of a
 * predicate and its side, stored as a parent condition and one more pair, whose predicate is the largest. Condition
 * number l, for each loop l, is the empty conjunction (true) of that loop. UNREACHABLE is false: the node is always
 * dead.
 */
struct condition {
	uint32_t parent, predicate, loop;
	int32_t side;
	uint32_t depth;
	uint32_t next; /* next condition with the same predicate */
};

/* The value that controls a group of Switches: it chooses the output that is live. */
struct predicate {
	uint32_t slot; /* slot of the value */
	uint32_t node; /* one of the Switches, or a LoopCond */
	uint32_t condition, first_condition;
	uint16_t n_out;
};

/* The schedule's data about a loop, by the loop's number in struct frame_info. */
struct loop_info {
	uint32_t condition; /* of the values that enter it; a condition of the parent loop */
	uint32_t predicate; /* that of its LoopCond */
	uint32_t first_carried, n_carried;
};

/* A loop variable; the fields are slots. */
struct carried {
	uint32_t merge, enter, next; /* output of the Merge; input of its Enter; input of its NextIteration */
	uint32_t spare;              /* output of the NextIteration, which no other node reads */
};

enum entry_kind { ENTRY_RECORD, ENTRY_CHOOSE, ENTRY_MOVE, ENTRY_BEGIN, ENTRY_BACK };
struct schedule_entry {
	uint32_t number; /* a plan node; for ENTRY_CHOOSE a predicate; for ENTRY_BEGIN and ENTRY_BACK a loop */
	uint32_t condition;
	uint32_t loop;
	uint16_t input; /* for ENTRY_MOVE: the Merge input that is moved to output 0; its number goes to output 1 */
	uint8_t kind;
};

struct schedule {
	struct schedule_entry *entry;
	uint32_t entries, skips;     /* upper bound of the branches in the program */
	struct condition *condition; /* heap-allocated */
	size_t conditions, condition_capacity;
	struct predicate *predicate; /* heap-allocated */
	size_t predicates, predicate_capacity;
	/* condition of a slot, in the loop of its maker; condition of a node's control output */
	uint32_t *slot_condition, *node_condition;
	uint32_t *node_predicate;    /* of a Switch: its predicate */
	struct loop_info *loop_info; /* by loop */
	struct carried *carried;     /* grouped by loop: see struct loop_info */
	uint32_t *save;              /* of a Save: its number; by plan node */
	uint32_t saves;
	uint32_t loops;
};

/* *out_schedule is NULL if only the dataflow executor can run the plan. */
DFG_MUST_CHECK struct dfg_err *dfg_schedule_make(
	struct dfg_plan *plan, struct dfg_arena *scratch, struct schedule **out_schedule);
void dfg_schedule_free(struct schedule *schedule); /* NULL is fine */

/* iteration_parallelism.c: whether several iterations of some loop could run in parallel. */
DFG_MUST_CHECK struct dfg_err *dfg_find_iteration_parallelism(
	const struct dfg_plan *plan, struct dfg_arena *scratch, bool *out_parallel);

/*
 * conditions.c: finds the conditions, predicates and loop infos. *out_unsupported: liveness does not follow from
 * predicates.
 */
DFG_MUST_CHECK struct dfg_err *dfg_conditions_find(
	struct dfg_plan *plan, struct schedule *schedule, bool *out_unsupported);

/* conditions.c: whether the sides chosen so far, by predicate, satisfy the condition. */
bool dfg_condition_holds(const struct schedule *schedule, const int32_t *chosen, uint32_t condition);
/* dead_branch.c: the error for a fetch that is dead by the choices made. */
DFG_MUST_CHECK struct dfg_err *dfg_dead_branch(const struct dfg_plan *plan, const int32_t *chosen, uint32_t fetch);

/* conditions.c: whether the two conditions contradict each other. */
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

/* Whether the condition includes this pair of predicate and side. */
static inline bool dfg_condition_has(const struct schedule *schedule, uint32_t inner, uint32_t predicate, int32_t side)
{
	for (uint32_t g = inner; schedule->condition[g].depth; g = schedule->condition[g].parent)
		if (schedule->condition[g].predicate == predicate)
			return schedule->condition[g].side == side;
	return false;
}
