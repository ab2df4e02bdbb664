#pragma once

#include "lib/graph/loops.h"

/*
 * When a tensor is live: a conjunction of conditions, each an output of a Switch on a predicate. Sets of conditions are
 * numbered; equal sets have the same number, and 0 is the empty set: always live. They are relative to the tensor's
 * iteration: conditions outside a loop are those of the loop's entry. The set of a Merge of exclusive inputs is their
 * intersection.
 */
struct dfg_condition {
	struct dfg_edge predicate; /* the source of the predicate, through Identity, Switch, LoopCond and constant Enter */
	int32_t side;              /* the Switch's live output */
	int32_t sides;             /* number of outputs */
	uint32_t rank;             /* larger than the rank of each condition under which the predicate itself is live */
	uint32_t other;            /* 1 + an older condition on another output of the predicate's node; 0: none */
	uint32_t alone;            /* 1 + the set of this condition alone; 0: none yet */
};

/*
 * The part of a graph that one step runs. Fed edges cut it: they are always live. A reader of a lowered call's output
 * depends on that output alone (dfg_node_names_outputs).
 */
struct dfg_live_step {
	uint32_t count;         /* number of nodes in the order */
	const uint32_t *number; /* by node: its position in the order, or DFG_NONE */
	const struct dfg_edge *feed;
	uint32_t n_feed;
};

struct dfg_liveness {
	const struct dfg_graph *graph;
	const struct dfg_loops *loops;
	const struct dfg_live_step *step; /* NULL: the whole graph */
	bool *is_fed;                     /* by node: whether some output is fed; NULL: none is */

	/* The next five arrays are by node; for a step, by position in the order, and after that by feed. */
	uint32_t *of;        /* the set of its outputs; each output of a Switch has one more condition */
	uint32_t *side;      /* of a Switch: the condition of output 0, followed by those of the other outputs */
	uint32_t *output;    /* of a Switch: index, in output_set, of the set of output 0 */
	uint32_t *predicate; /* 1 + a condition that one of its outputs decides */
	bool *is_partial;    /* of a Merge: in some case of its set, no input is live */

	struct dfg_condition *condition;
	size_t n_condition, condition_capacity;
	struct dfg_live_set *set;
	size_t n_set, set_capacity;
	uint32_t *item; /* the conditions of all sets, concatenated */
	size_t n_item, item_capacity;
	uint32_t *slot; /* sets by hash: number + 1 */
	size_t slots;
	uint32_t *output_set; /* the sets of the outputs of all Switches */
	size_t n_output_set, output_set_capacity;
	uint32_t *entry; /* by loop: the set, outside, under which it is entered */
	struct dfg_arena arena;
};
struct dfg_live_set {
	uint32_t first, count;
	bool never; /* two of its conditions contradict each other */
};

/*
 * order may be NULL: the file's. step may be NULL: the whole graph; otherwise the order has step->count nodes, and of
 * loops only `count`, `of` and `variable` are read, the last two by position in the order. All arguments are borrowed.
 * Must be released even after an error. DFG_DATA if branches are nested too deep.
 */
DFG_MUST_CHECK struct dfg_err *dfg_liveness_find(const struct dfg_graph *graph, const uint32_t *order,
	const struct dfg_loops *loops, const struct dfg_live_step *step, struct dfg_liveness *out_liveness);
void dfg_liveness_release(struct dfg_liveness *liveness);

/* The set of a tensor, or of a node for a control edge. DFG_DATA if a Switch has no such output. */
DFG_MUST_CHECK struct dfg_err *dfg_live_of(struct dfg_liveness *liveness, struct dfg_edge edge, uint32_t *out_set);

/* The set of all inputs of a node together, which a Merge, an Enter and an Exit do not hand on. */
DFG_MUST_CHECK struct dfg_err *dfg_live_inputs(
	struct dfg_liveness *liveness, const struct dfg_node *node, uint32_t *out_set);

/* The conditions of a set, in an order in which Switches can apply them one after another. */
const uint32_t *dfg_live_conditions(const struct dfg_liveness *liveness, uint32_t set, uint32_t *out_count);

bool dfg_live_has(const struct dfg_liveness *liveness, uint32_t set, uint32_t condition);

/* Whether all conditions of a are in b: wherever b is live, a is. */
bool dfg_live_within(const struct dfg_liveness *liveness, uint32_t a, uint32_t b);

/* Whether the set contradicts itself: it is always dead. */
bool dfg_live_never(const struct dfg_liveness *liveness, uint32_t set);

/* Whether a and b can never both be live. */
bool dfg_live_exclusive(const struct dfg_liveness *liveness, uint32_t a, uint32_t b);

DFG_MUST_CHECK struct dfg_err *dfg_live_both(struct dfg_liveness *liveness, uint32_t a, uint32_t b, uint32_t *out_set);
DFG_MUST_CHECK struct dfg_err *dfg_live_with(
	struct dfg_liveness *liveness, uint32_t set, uint32_t condition, uint32_t *out_set);
DFG_MUST_CHECK struct dfg_err *dfg_live_without(
	struct dfg_liveness *liveness, uint32_t set, uint32_t condition, uint32_t *out_set);

/* The condition that the predicate selects output `side` of `sides`. */
DFG_MUST_CHECK struct dfg_err *dfg_live_condition(
	struct dfg_liveness *liveness, struct dfg_edge predicate, int side, int sides, uint32_t *out_condition);

/*
 * The set that is live where any of the given sets is. *out_whole: the sets are exhaustive, so the result is live
 * whenever their common conditions hold.
 */
DFG_MUST_CHECK struct dfg_err *dfg_live_merge(
	struct dfg_liveness *liveness, const uint32_t *set, uint32_t count, uint32_t *out_set, bool *out_whole);

/*
 * The source of a tensor through Identity, Switch, LoopCond and constant Enter; these must not form a cycle. A ref is
 * not followed: what a node reads of it depends on the time at which it runs.
 */
struct dfg_edge dfg_live_source(const struct dfg_graph *graph, struct dfg_edge edge);

/* One step of that; false, with *edge unchanged, if the node computes the tensor. */
bool dfg_live_step_back(const struct dfg_graph *graph, struct dfg_edge *edge);
