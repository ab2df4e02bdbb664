#pragma once

#include "lib/pass/parallel/dependences.h"
#include "lib/pass/verify/aliases.h"

/* The analysis of one loop at work. */
struct dfg_loop_analysis {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	const struct dfg_loops *loops;
	const struct dfg_aliases *aliases;
	struct dfg_arena *arena;
	uint32_t l;
	struct dfg_loop_dependences *out;
	bool *is_inside;    /* by node: in the loop, or in a loop nested in it */
	bool *has_reader;   /* by node: some output is an input of a node */
	uint32_t *array_of; /* by variable: its array + 1; 0: not accessed in the loop */
	uint32_t counter;   /* the Merge that counts iterations by 1; DFG_NONE: there is none */
	bool counts_from_zero;
	struct dfg_radix cut[DFG_CUTS_MOST]; /* the products that separate counters, ascending; the first is 1 */
	uint32_t n_cut;
	bool is_collecting; /* subscripts are read for their cuts alone */
	uint32_t steps;     /* left for the present subscript: a shared subexpression is read once a path */
};

/*
 * The source of a tensor: through Identity, Switch, Enter and loop variables that do not change. The result is outside the
 * loop if the tensor is the same in all iterations, unless the loop computes it from invariants.
 */
struct dfg_edge dfg_parallel_source(const struct dfg_loop_analysis *a, struct dfg_edge edge);

static inline bool dfg_edge_is_inside(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	return a->is_inside[edge.node];
}

/* Whether two subscripts are the same function of the iteration. ANY is not even equal to itself. */
bool dfg_subscript_equal(const struct dfg_subscript *a, const struct dfg_subscript *b);

/* "user[i] + 1"; NULL when memory is short. */
const char *dfg_subscript_words(const struct dfg_loop_analysis *a, const struct dfg_subscript *subscript);

/* Finds the counter, and whether it begins at 0. */
void dfg_counter_find(struct dfg_loop_analysis *a);

/*
 * Recognises an expression of the counter, (counter // stride) % extent, through quotients and remainders. While cuts are
 * collected, adds its stride and stride * extent to them, where these divide or are multiples of all others. Otherwise
 * gives the counters [first, last) that it is the number of. False: it is another expression, or its cuts were not added.
 */
bool dfg_counter_range(struct dfg_loop_analysis *a, struct dfg_edge edge, uint32_t *out_first, uint32_t *out_last);

/* Finds the arrays and their accesses, without subscripts. DFG_DATA: handles of variables go elsewhere. */
DFG_MUST_CHECK struct dfg_err *dfg_accesses_find(struct dfg_loop_analysis *a);

/* Recovers the subscripts of all accesses, and the coordinates. */
DFG_MUST_CHECK struct dfg_err *dfg_subscripts_find(struct dfg_loop_analysis *a);

/* Checks that the loop does what its marks claim. DFG_DATA, joined. */
DFG_MUST_CHECK struct dfg_err *dfg_obligations_check(struct dfg_loop_analysis *a);

/* Distance vectors of all arrays, each once. */
DFG_MUST_CHECK struct dfg_err *dfg_vectors_find(struct dfg_loop_analysis *a);

static inline bool dfg_distance_is(const struct dfg_distance *distance, int64_t number)
{
	return distance->kind == DFG_DISTANCE_NUMBER && distance->number == number;
}

/* Chooses the first family that fits, and its coordinates. */
DFG_MUST_CHECK struct dfg_err *dfg_family_find(struct dfg_loop_analysis *a);

/*
 * The smallest factors of a unit lower triangular matrix, n_counter x n_counter, after which no component of a vector is
 * negative. *out_skew is NULL if the vectors are not numbers, or the factors are too large.
 */
DFG_MUST_CHECK struct dfg_err *dfg_skew_find(const struct dfg_loop_analysis *a, int64_t **out_skew);
