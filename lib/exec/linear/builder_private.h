#pragma once

#include "lib/exec/kernel/services.h"
#include "lib/exec/linear/program_private.h"

enum { UNWRITTEN = -2 }; /* of builder->dominating */

/* What a program is worked out with: emit.c says what runs, memory_plan.c where values lie. The arrays are scratch. */
struct program_builder {
	struct dfg_plan *plan;
	const struct schedule *schedule;
	struct program *program;
	struct dfg_arena *scratch;
	struct dfg_inferred *fact; /* by slot */
	bool *needed;              /* by node */
	bool *tested;              /* by predicate: it is asked for */
	bool *kept;                /* by node, an Exit: what leaves by it leaves the step */
	uint32_t *forward;         /* by slot: the slot that it simply is */
	uint32_t *alias_class;     /* by slot: towards the slot that speaks for all that may share memory */
	uint32_t *storage;      /* by slot: the slot whose room it lies in, itself if that is its own; DFG_NONE: counted */
	uint32_t *first, *last; /* by slot, those that speak for a group: ops */
	uint32_t
		*dominating; /* by such a slot: the innermost condition over all ops that write; UNREACHABLE: there is none */
	uint32_t *begin, *back; /* by loop: its ops */
	bool *carried;          /* by slot: the Merge of a loop variable */
	bool *borrowed;         /* by slot: a view of what belongs to the caller, or to the plan */
	struct live_range *range;
};

static inline uint32_t dfg_alias_class(struct program_builder *builder, uint32_t slot)
{
	while (builder->alias_class[slot] != slot)
		slot = builder->alias_class[slot] = builder->alias_class[builder->alias_class[slot]];
	return slot;
}

/* A view lies in what it views, and that perhaps in what its maker worked in. */
static inline uint32_t dfg_storage_root(const struct program_builder *builder, uint32_t slot)
{
	while (builder->storage[slot] != slot)
		slot = builder->storage[slot];
	return slot;
}

/* The innermost condition over both; one may be UNWRITTEN. */
uint32_t dfg_condition_over(const struct schedule *schedule, uint32_t one, uint32_t two);

/* Numbers and bools, which lie in memory as they are. */
static inline bool dfg_is_plain(enum dfg_dtype dtype)
{
	return dfg_dtype_size(dtype) && !dfg_dtype_is_object(dtype);
}

/* What lies in one memory is alive together. */
void dfg_alias_join(struct program_builder *builder, uint32_t one, uint32_t two);

/* Bytes of the slot's value, whose shape is known. */
size_t dfg_slot_bytes(const struct program_builder *builder, uint32_t slot);

/* Whether the value can have a fixed place: a plain type, of known size. */
bool dfg_slot_has_fixed_size(const struct program_builder *builder, uint32_t slot);

/* A constant of a branch or a loop, which waits for its predicate only; small integers that follow from shapes. */
bool dfg_is_bound_constant(const struct program_builder *builder, const struct plan_node *node);
bool dfg_is_known_node(const struct program_builder *builder, const struct plan_node *node);

/* demand.c: which nodes run: those that a fetch or target still needs when what is known is taken for granted. */
DFG_MUST_CHECK struct dfg_err *dfg_program_find_demand(struct program_builder *builder);

/* memory_plan.c: places for all values of the ops, and when they are released. */
DFG_MUST_CHECK struct dfg_err *dfg_program_plan_memory(struct program_builder *builder);

/* coalesce.c: how the variables of loops get their values; whether they may be made where they are to go. */
DFG_MUST_CHECK struct dfg_err *dfg_program_move_variables(struct program_builder *builder);
DFG_MUST_CHECK struct dfg_err *dfg_program_coalesce(struct program_builder *builder);
