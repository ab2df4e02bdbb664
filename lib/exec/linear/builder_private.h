#pragma once

#include "lib/exec/kernel/services.h"
#include "lib/exec/linear/program_private.h"

enum { UNWRITTEN = -2 }; /* builder->dominating before the first write */

/*
 * Working data for making a program: emit.c chooses the instructions, memory_plan.c the addresses. The arrays are
 * scratch.
 */
struct program_builder {
	struct dfg_plan *plan;
	const struct schedule *schedule;
	struct program *program;
	struct dfg_arena *scratch;
	struct dfg_inferred *fact; /* inferred type and known value, by slot */
	bool *needed;              /* whether the node runs, by plan node */
	bool *tested;              /* whether a needed node depends on it, by predicate */
	bool *kept;                /* of an Exit: its value leaves the step; by plan node */
	uint32_t *forward;         /* slot whose value it forwards unchanged, by slot */
	uint32_t *alias_class;     /* union-find parent, by slot: its root represents all slots that may share memory */
	/* by slot: the slot whose memory holds it, or itself if it has memory of its own; DFG_NONE: reference-counted */
	uint32_t *storage;
	uint32_t *first, *last; /* live range as instruction numbers, by root of an alias class */
	uint32_t
		/* by root of an alias class: the innermost condition that all writes are under; UNREACHABLE: there is none */
		*dominating;
	uint32_t *condition;    /* under which it runs, by instruction */
	uint32_t *begin, *back; /* INSTR_LOOP_ENTER and INSTR_LOOP_BACK, by loop */
	bool *carried;          /* the slot is a loop variable's Merge output */
	bool *borrowed;         /* the slot is a view of memory that the caller or the plan owns */
	struct live_range *range;
	size_t repeated_bytes; /* of the copies of constants that rows will read */
	uint32_t repeats;      /* operands that will be such copies */
};

static inline uint32_t dfg_alias_class(struct program_builder *builder, uint32_t slot)
{
	while (builder->alias_class[slot] != slot)
		slot = builder->alias_class[slot] = builder->alias_class[builder->alias_class[slot]];
	return slot;
}

/*
 * The slot that owns the memory: a view is in the memory of its source, which may in turn be in that of another slot.
 */
static inline uint32_t dfg_storage_root(const struct program_builder *builder, uint32_t slot)
{
	while (builder->storage[slot] != slot)
		slot = builder->storage[slot];
	return slot;
}

static inline uint32_t dfg_condition_of(const struct program_builder *builder, const struct instruction *instruction)
{
	return builder->condition[instruction - builder->program->code];
}

/*
 * coalesce.c: the condition, in a loop, under which an instruction of it or of a loop in it runs; UNREACHABLE: the
 * instruction is outside of the loop.
 */
uint32_t dfg_condition_in_loop(
	const struct program_builder *builder, const struct instruction *instruction, uint32_t loop);

/* The innermost condition that both imply; one may be UNWRITTEN. */
uint32_t dfg_condition_over(const struct schedule *schedule, uint32_t one, uint32_t two);

/* Numbers and bools, whose elements contain no pointers. */
static inline bool dfg_is_plain(enum dfg_dtype dtype)
{
	return dfg_dtype_size(dtype) && !dfg_dtype_is_object(dtype);
}

/* Unites the alias classes of two slots: the live range covers both. */
void dfg_alias_join(struct program_builder *builder, uint32_t one, uint32_t two);

/* Bytes of the slot's value, whose shape is known. */
size_t dfg_slot_bytes(const struct program_builder *builder, uint32_t slot);

/* Whether the value can have a fixed address: a plain dtype, of known size. */
bool dfg_slot_has_fixed_size(const struct program_builder *builder, uint32_t slot);

/*
 * A constant in a branch or a loop, which depends on its predicate only; a small integer value that follows from
 * shapes.
 */
bool dfg_is_bound_constant(const struct program_builder *builder, const struct plan_node *node);
bool dfg_is_known_node(const struct program_builder *builder, const struct plan_node *node);

/*
 * demand.c: finds the nodes that run: those that fetches and targets still require when known values are not computed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_program_find_demand(struct program_builder *builder);

/* attention.c: makes one instruction of those that are attention. Before groups are found. */
DFG_MUST_CHECK struct dfg_err *dfg_program_find_attention(struct program_builder *builder);

/* group.c: makes one instruction of those that can be computed together, tile by tile; group_run.c: runs it. */
DFG_MUST_CHECK struct dfg_err *dfg_program_find_groups(struct program_builder *builder);

/* group_run.c: an output takes the memory of an input that instruction o is the last to read, where it can. */
void dfg_group_write_in_place(struct program_builder *builder, const struct instruction *instruction, uint32_t o);

/*
 * memory_plan.c: whether instruction o is the last use of input i, and no other input shares its memory, unless the
 * instruction is elementwise.
 */
bool dfg_is_last_use(struct program_builder *builder, const struct instruction *instruction, uint32_t o, int i);

/* memory_plan.c: the operands that the domain check reads are known before the step, and pass it. */
bool dfg_passes_domain_check(const struct program_builder *builder, const struct instruction *instruction);

/* live_ranges.c: values that leave the step get storage DFG_NONE; then builder->first, last and dominating are found. */
DFG_MUST_CHECK struct dfg_err *dfg_program_find_escapes(struct program_builder *builder);
void dfg_program_find_live_ranges(struct program_builder *builder);

/* releases.c: finds the instructions after which reference-counted values are released: program->release. */
DFG_MUST_CHECK struct dfg_err *dfg_program_plan_releases(struct program_builder *builder);

/* jump_threading.c: removes instructions that do nothing, and renumbers the others; shortens chains of branches. */
DFG_MUST_CHECK struct dfg_err *dfg_program_drop_instructions(struct program_builder *builder);
void dfg_program_thread_jumps(const struct program_builder *builder);

/* jump_threading.c: a branch that jumps over groups counts their members as dead, not the groups. */
DFG_MUST_CHECK struct dfg_err *dfg_program_weigh_branches(const struct program_builder *builder);

/*
 * repeated.c: whether the slot is a constant of one element that a row of n elements can read as a copy of n, which then
 * counts among the copies; once all else is planned, such rows read copies.
 */
bool dfg_repeats_constant(struct program_builder *builder, uint32_t slot, int64_t n);
DFG_MUST_CHECK struct dfg_err *dfg_program_repeat_constants(struct program_builder *builder);

/* memory_plan.c: finds addresses for all values, and the instructions after which they are released. */
DFG_MUST_CHECK struct dfg_err *dfg_program_plan_memory(struct program_builder *builder);

/* coalesce.c: plans the moves of loop variables, and finds those whose next value can be computed in place. */
DFG_MUST_CHECK struct dfg_err *dfg_program_move_variables(struct program_builder *builder);
DFG_MUST_CHECK struct dfg_err *dfg_program_coalesce(struct program_builder *builder);
