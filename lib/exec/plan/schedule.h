#pragma once

#include "lib/exec/plan/frame_info.h"

/*
 * A course is the order in which one thread runs a plan without tokens: record after record, past those of branches that
 * were not taken, and back to where a loop begins. It is found for plans in which what is live follows from predicates:
 * every loop well formed, at every Merge exactly one live input. Other plans are a machine's.
 */
enum { GUARD_DEEPEST = 64, LOOP_DEEPEST = 32, NEVER = DFG_NONE };

/*
 * What must have been chosen, in the same iteration, for a record to be live: pairs of a flag and its side. A guard is
 * its parent and one pair more, whose flag is the largest; guard number l is that of loop l: none. NEVER: it is dead.
 */
struct guard {
	uint32_t parent, flag, loop;
	int32_t side;
	uint32_t depth;
	uint32_t next; /* of the same flag */
};

/* A predicate that Switches go by, and which of their outputs it chose. */
struct flag {
	uint32_t slot;   /* whose value it is */
	uint32_t record; /* a Switch, or a LoopCond */
	uint32_t guard, first_guard;
	uint16_t n_out;
};

/* What the line knows of a loop: number of the loop in struct flow. */
struct bend {
	uint32_t guard; /* of what enters it; in its parent */
	uint32_t flag;  /* of its LoopCond */
	uint32_t first_carried, n_carried;
};

/* A loop variable: slots. */
struct carried {
	uint32_t merge, enter, next; /* the Merge's output; what goes into its Enter, and into its NextIteration */
	uint32_t spare;              /* the output of the NextIteration, which nobody else reads */
};

enum stop_kind { STOP_RECORD, STOP_CHOOSE, STOP_MOVE, STOP_BEGIN, STOP_BACK };
struct stop {
	uint32_t number; /* record; of STOP_CHOOSE a flag; of STOP_BEGIN and STOP_BACK a loop */
	uint32_t guard;
	uint32_t loop;
	uint16_t input; /* of STOP_MOVE: into output 0 of a Merge, and the number into output 1 */
	uint8_t kind;
};

struct course {
	struct stop *stop;
	uint32_t stops, skips; /* no more skips than that */
	struct guard *guard;   /* heap */
	size_t guards, guard_room;
	struct flag *flag; /* heap */
	size_t flags, flag_room;
	uint32_t *slot_guard, *record_guard; /* in the loop where the slot lives; of the record's control output */
	uint32_t *record_flag;               /* of a Switch */
	struct bend *bend;                   /* by loop */
	struct carried *carried;             /* by loop */
	uint32_t *save;                      /* by record: number of the Save */
	uint32_t saves;
	uint32_t loops;
};

/* NULL in *out_course where only a machine can run the plan. */
DFG_MUST_CHECK struct dfg_err *dfg_course_make(
	struct dfg_plan *plan, struct dfg_arena *scratch, struct course **out_course);
void dfg_course_free(struct course *course); /* NULL is fine */

/* iteration_parallelism.c: whether threads could work on several iterations of some loop at once. */
DFG_MUST_CHECK struct dfg_err *dfg_find_overlap(
	const struct dfg_plan *plan, struct dfg_arena *scratch, bool *out_overlaps);

/* conditions.c: fills guards, flags and bends. *out_odd: what is live does not follow from predicates. */
DFG_MUST_CHECK struct dfg_err *dfg_guards_find(
	struct dfg_plan *plan, struct dfg_arena *scratch, struct course *course, bool *out_odd);

/* conditions.c: whether all was chosen, by flag, that the guard asks for. */
bool dfg_guard_holds(const struct course *course, const int32_t *chosen, uint32_t guard);
/* dead_branch.c */
DFG_MUST_CHECK struct dfg_err *dfg_dead_branch(const struct dfg_plan *plan, const int32_t *chosen, uint32_t fetch);

/* conditions.c: whether no choice makes both live. */
bool dfg_guards_exclude(const struct course *course, uint32_t one, uint32_t two);

static inline uint32_t dfg_loop_of(const struct dfg_plan *plan, uint32_t record)
{
	return plan->flow ? plan->flow->loop_of[record] : 0;
}

/* A Merge with a back edge. */
static inline bool dfg_is_loop_merge(const struct dfg_plan *plan, const struct record *record)
{
	for (int i = 0; i < record->n_in && record->role == DFG_MERGE && plan->flow; i++) {
		uint32_t slot = dfg_record_in(plan, record, i);
		if (!dfg_always_there(plan, slot) && plan->record[plan->maker[slot]].role == DFG_NEXT_ITERATION)
			return true;
	}
	return false;
}

/* Whether all of guard's pairs are among inner's. */
static inline bool dfg_guard_has(const struct course *course, uint32_t inner, uint32_t flag, int32_t side)
{
	for (uint32_t g = inner; course->guard[g].depth; g = course->guard[g].parent)
		if (course->guard[g].flag == flag)
			return course->guard[g].side == side;
	return false;
}
