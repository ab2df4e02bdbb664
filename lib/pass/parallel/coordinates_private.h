#pragma once

#include "lib/graph/build.h"
#include "lib/pass/parallel/dependences.h"

/*
 * Nodes before a parallel loop that compute, for all of its iterations at once, what decides their order: the coordinates,
 * and the rows that they access. All are vectors of i64.
 */
struct dfg_coordinates {
	struct dfg_builder *builder;
	const struct dfg_loop_dependences *loop;
	struct dfg_arena *arena;
	const char *scope;      /* names of the nodes */
	struct dfg_edge n;      /* i64: the number of iterations */
	struct dfg_edge number; /* their numbers, from 0 */
	struct dfg_edge start;  /* the counter's first value, i64; node DFG_NONE: 0 */
	struct dfg_edge *of;    /* by coordinate; node DFG_NONE: not built yet */
};

/* A node of one output. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinates_node(const struct dfg_coordinates *c, const char *op,
	const struct dfg_edge *in, uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_coordinates_i64(
	const struct dfg_coordinates *c, int64_t value, struct dfg_edge *out_edge);

/* The tensor as i64. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinates_cast(
	const struct dfg_coordinates *c, struct dfg_edge edge, struct dfg_edge *out_edge);

/* The values of a coordinate. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinate_build(
	struct dfg_coordinates *c, uint32_t coordinate, struct dfg_edge *out_edge);

/* The values of a subscript that is not ANY. */
DFG_MUST_CHECK struct dfg_err *dfg_subscript_build(
	struct dfg_coordinates *c, const struct dfg_subscript *subscript, struct dfg_edge *out_edge);
