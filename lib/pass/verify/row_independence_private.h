#pragma once

/* Shared by the files that implement row_independence.h. */
#include "lib/base/arena.h"
#include "lib/pass/verify/row_independence.h"

/* Kinds of tensors beyond those of a verdict. A tensor begins as NONE, becomes one of the others, and then MIXED at most. */
enum {
	DFG_ROWS_SECOND = DFG_ROWS_MIXED + 1, /* the batch is axis 1, as of steps of time that are stacked */
	DFG_ROWS_COUNT, /* the number of rows: an integer, or the first of a vector whose others are the same for all requests */
	DFG_ROWS_SAME, /* the flow of an array, all elements of which are the same for all requests; without elements: NONE */
	DFG_ROWS_ELEMENTS, /* the flow of an array, each element of which has rows */
};

struct dfg_row_analysis {
	const struct dfg_graph *graph;
	struct dfg_facts *facts;
	struct dfg_arena scratch;
	uint8_t *kind;     /* by tensor (facts->first) */
	bool *is_fed;      /* by tensor */
	uint32_t *culprit; /* by node with a mixed output: the node that mixes the rows; else DFG_NONE */
	const char **why;  /* by the same node: the reason */
	bool *is_mixed;    /* by node: an input or output is, which holds for its control edges */
	bool changed;
	bool is_settled; /* the kinds do not change any more, so that those of a Merge's inputs can be compared */
};

int dfg_row_kind(const struct dfg_row_analysis *a, struct dfg_edge edge);
/* Adds a kind to those that the tensor may have; two different ones are MIXED. */
void dfg_row_set(struct dfg_row_analysis *a, struct dfg_edge edge, int kind);
/* Makes all outputs of node n MIXED, because of the node `culprit`, for a static reason. */
void dfg_row_mix(struct dfg_row_analysis *a, uint32_t n, uint32_t culprit, const char *why);
/* Gives output `port` of node n the batch as axis `axis`, 0 or 1, which must be of any extent; otherwise it is MIXED. */
void dfg_row_give(struct dfg_row_analysis *a, uint32_t n, uint32_t port, int axis);
/* Asks the rule of the node's op, which is told that the inputs in by_row have rows. *out_why: NULL, or the reason. */
DFG_MUST_CHECK struct dfg_err *dfg_row_judge(
	struct dfg_row_analysis *a, uint32_t n, uint64_t by_row, const char **out_why);

/* row_arrays.c: a node that has a flow. Returns the reason why it mixes rows; NULL: it does not, and its outputs have their kinds. */
const char *dfg_row_array(struct dfg_row_analysis *a, uint32_t n);

/* row_axes.c: a node with an input whose batch is axis 1, or that turns one. The same. */
bool dfg_row_turns(const struct dfg_row_analysis *a, uint32_t n);
const char *dfg_row_second(struct dfg_row_analysis *a, uint32_t n);

/* row_counts.c: a node that gives the number of rows, or has it as an input. The same, in *out_why. */
bool dfg_row_is_counted(const struct dfg_row_analysis *a, uint32_t n);
DFG_MUST_CHECK struct dfg_err *dfg_row_count(struct dfg_row_analysis *a, uint32_t n, const char **out_why);
