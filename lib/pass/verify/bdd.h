#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Boolean functions of variables, as decision diagrams that share what they have in common: a function is a number, equal
 * functions are equal numbers, `not` flips the lowest bit. The newest variable stands on top, so to nest one condition
 * deeper is one step however deep it stands. Work and room are bounded: past `budget` steps, or without memory, every
 * answer that would need more is DFG_LOST, and so is all that is made of it.
 */
enum { DFG_ALWAYS, DFG_NEVER, DFG_LOST = UINT32_MAX };

struct dfg_bdd {
	struct dfg_choice {
		uint32_t variable;  /* from 1; 0 ends a diagram */
		uint32_t high, low; /* where it is true, never negated; where it is false */
	} * choice;             /* by function / 2; the first is DFG_ALWAYS */
	uint32_t *slot;         /* choices by content: number, or 0 */
	struct dfg_conjunction {
		uint32_t a, b, both;
	} * known; /* conjunctions made lately; as many as slots */
	struct dfg_conjoining *stack;
	size_t count, room, slots, stack_room;
	size_t budget;
	bool no_memory;
};

void dfg_bdd_release(struct dfg_bdd *logic);

/* The function that is its variable; variables are numbered from 1. */
uint32_t dfg_bdd_variable(struct dfg_bdd *logic, uint32_t variable);

uint32_t dfg_bdd_and(struct dfg_bdd *logic, uint32_t a, uint32_t b);
static inline uint32_t dfg_bdd_not(uint32_t a)
{
	return a == DFG_LOST ? a : a ^ 1;
}
static inline uint32_t dfg_bdd_or(struct dfg_bdd *logic, uint32_t a, uint32_t b)
{
	return dfg_bdd_not(dfg_bdd_and(logic, dfg_bdd_not(a), dfg_bdd_not(b)));
}

/*
 * One case of `where`, which is not DFG_NEVER, told by the variables that `given` leaves open, newest first: up to `most`
 * of them, variable * 2 + its value. What is given may be DFG_ALWAYS.
 */
int dfg_bdd_case(struct dfg_bdd *logic, uint32_t where, uint32_t given, uint32_t *out, int most);
