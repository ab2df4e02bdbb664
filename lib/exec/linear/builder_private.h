#pragma once

#include "lib/exec/kernel/services.h"
#include "lib/exec/linear/program_private.h"

enum { UNWRITTEN = -2 }; /* of laying->under */

/* What a layout is worked out with: emit.c says what runs, memory_plan.c where values lie. The arrays are scratch. */
struct laying {
	struct dfg_plan *plan;
	const struct course *course;
	struct layout *layout;
	struct dfg_arena *scratch;
	struct dfg_fact *fact;  /* by slot */
	bool *needed;           /* by record */
	bool *flagged;          /* by flag: it is asked for */
	bool *kept;             /* by record, an Exit: what leaves by it leaves the step */
	uint32_t *forward;      /* by slot: the slot that it simply is */
	uint32_t *group;        /* by slot: towards the slot that speaks for all that may share memory */
	uint32_t *store;        /* by slot: the slot whose room it lies in, itself if that is its own; DFG_NONE: counted */
	uint32_t *first, *last; /* by slot, those that speak for a group: ops */
	uint32_t *under;        /* by such a slot: the innermost guard over all ops that write; NEVER: there is none */
	uint32_t *begin, *back; /* by loop: its ops */
	bool *carried;          /* by slot: the Merge of a loop variable */
	bool *lent;             /* by slot: a view of what belongs to the caller, or to the plan */
	struct item *item;
};

static inline uint32_t dfg_group_of(struct laying *laying, uint32_t slot)
{
	while (laying->group[slot] != slot)
		slot = laying->group[slot] = laying->group[laying->group[slot]];
	return slot;
}

/* A view lies in what it views, and that perhaps in what its maker worked in. */
static inline uint32_t dfg_home_of(const struct laying *laying, uint32_t slot)
{
	while (laying->store[slot] != slot)
		slot = laying->store[slot];
	return slot;
}

/* The innermost guard over both; one may be UNWRITTEN. */
uint32_t dfg_laying_over(const struct course *course, uint32_t one, uint32_t two);

/* Numbers and bools, which lie in memory as they are. */
static inline bool dfg_is_plain(enum dfg_dtype dtype)
{
	return dfg_dtype_size(dtype) && !dfg_dtype_is_object(dtype);
}

/* What lies in one memory is alive together. */
void dfg_laying_join(struct laying *laying, uint32_t one, uint32_t two);

/* Bytes of the slot's value, whose shape is known. */
size_t dfg_laying_bytes(const struct laying *laying, uint32_t slot);

/* Whether the value can have a fixed place: a plain type, of known size. */
bool dfg_laying_fits(const struct laying *laying, uint32_t slot);

/* A constant of a branch or a loop, which waits for its predicate only; small integers that follow from shapes. */
bool dfg_laying_constant(const struct laying *laying, const struct record *record);
bool dfg_laying_known(const struct laying *laying, const struct record *record);

/* demand.c: which records run: those that a fetch or target still needs when what is known is taken for granted. */
DFG_MUST_CHECK struct dfg_err *dfg_laying_need(struct laying *laying);

/* memory_plan.c: places for all values of the ops, and when they are released. */
DFG_MUST_CHECK struct dfg_err *dfg_laying_place(struct laying *laying);

/* coalesce.c: how the variables of loops get their values; whether they may be made where they are to go. */
DFG_MUST_CHECK struct dfg_err *dfg_laying_move(struct laying *laying);
DFG_MUST_CHECK struct dfg_err *dfg_laying_meet(struct laying *laying);
