#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Boolean functions as reduced ordered binary decision diagrams with complement edges and one shared node table
 * (Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", 1986). A function is a number; equal functions
 * have equal numbers; negation flips the lowest bit. The newest variable is at the root, so conjunction with one more
 * nested condition costs one step at any depth.
 * Time and memory are bounded: once `budget` steps are used up or an allocation fails, every operation that needs more
 * returns DFG_LOST, and so does every operation on DFG_LOST.
 */
enum { DFG_ALWAYS, DFG_NEVER, DFG_LOST = UINT32_MAX };

struct dfg_bdd {
	struct dfg_choice {
		uint32_t variable;  /* numbered from 1; 0 in the terminal */
		uint32_t high, low; /* the functions where the variable is true (never complemented) and where it is false */
	} * choice;             /* by function / 2; entry 0 is the terminal DFG_ALWAYS */
	uint32_t *slot;         /* hash table of choices by content: the choice's number, or 0 for an empty slot */
	struct dfg_conjunction {
		uint32_t a, b, both;
	} * known; /* cache of recent conjunctions; `slots` entries */
	struct dfg_conjoining *stack;
	size_t count, capacity, slots, stack_capacity;
	/* steps left; 0: exhausted */
	size_t budget;
	bool no_memory;
};

/* Frees the tables; a zeroed or partly built *logic is accepted. */
void dfg_bdd_release(struct dfg_bdd *logic);

/* The function that is true exactly where the variable is. Variables are numbered from 1. */
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
 * Describes one case in which `where` (which must not be DFG_NEVER) is true, given that `given` is true: the variables
 * that `given` does not fix, newest first, each as variable * 2 + its value. Writes at most `most` of them to out and
 * returns their number. `given` may be DFG_ALWAYS.
 */
int dfg_bdd_case(struct dfg_bdd *logic, uint32_t where, uint32_t given, uint32_t *out, int most);
