#pragma once

#include "lib/graph/loops.h"

/*
 * When a tensor is live: a conjunction of conditions, each a side of a Switch on a predicate. Sets of conditions have
 * numbers, equal sets the same one; 0 is the empty set: always. They are relative to the iteration that the tensor is in:
 * conditions outside a loop are those of the loop's entry. A Merge of exclusive sides has what these have in common.
 */
struct dfg_condition {
	struct dfg_edge predicate; /* where it was computed: behind Identity, Switch, LoopCond and constant Enter */
	int32_t side;              /* the Switch's live output */
	int32_t sides;             /* outputs there are */
	uint32_t rank;             /* larger than that of each condition under which the predicate itself is live */
	uint32_t other;            /* a condition of another output of the predicate's node, + 1; 0: no more */
};

struct dfg_liveness {
	const struct dfg_graph *graph;
	const struct dfg_loops *loops;
	struct dfg_condition *condition;
	size_t n_condition, condition_room;
	struct dfg_live_set *set;
	size_t n_set, set_room;
	uint32_t *item; /* conditions of the sets, one set after the other */
	size_t n_item, item_room;
	uint32_t *slot; /* sets by hash: number + 1 */
	size_t slots;
	uint32_t *of;        /* by node: the set that its outputs have; a Switch's have a condition more each */
	uint32_t *side;      /* by Switch: the condition of its output 0, the others behind it */
	uint32_t *predicate; /* by node: a condition that one of its outputs decides, + 1 */
	uint32_t *entry;     /* by loop: the set, outside, under which it is entered */
	struct dfg_arena arena;
};
struct dfg_live_set {
	uint32_t first, count;
};

/* order may be NULL: the file's own. Graph and loops are borrowed. To be released also after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_liveness_find(const struct dfg_graph *graph, const uint32_t *order,
	const struct dfg_loops *loops, struct dfg_liveness *out_liveness);
void dfg_liveness_release(struct dfg_liveness *liveness);

/* The set of a tensor, or of a node for the edge of a control input. DFG_DATA where a Switch has no such output. */
DFG_MUST_CHECK struct dfg_err *dfg_live_of(struct dfg_liveness *liveness, struct dfg_edge edge, uint32_t *out_set);

/* The conditions of a set, as numbers, in an order in which Switches can apply them one after the other. */
const uint32_t *dfg_live_conditions(const struct dfg_liveness *liveness, uint32_t set, uint32_t *out_count);

bool dfg_live_has(const struct dfg_liveness *liveness, uint32_t set, uint32_t condition);

/* Whether all conditions of a are in b: where b is live, a is. */
bool dfg_live_within(const struct dfg_liveness *liveness, uint32_t a, uint32_t b);

/* Whether a and b can never both be live; of one set with itself: whether it is dead always. */
bool dfg_live_exclusive(const struct dfg_liveness *liveness, uint32_t a, uint32_t b);

DFG_MUST_CHECK struct dfg_err *dfg_live_both(struct dfg_liveness *liveness, uint32_t a, uint32_t b, uint32_t *out_set);
DFG_MUST_CHECK struct dfg_err *dfg_live_with(
	struct dfg_liveness *liveness, uint32_t set, uint32_t condition, uint32_t *out_set);
DFG_MUST_CHECK struct dfg_err *dfg_live_without(
	struct dfg_liveness *liveness, uint32_t set, uint32_t condition, uint32_t *out_set);

/* The condition that a predicate's tensor has this side, of so many. */
DFG_MUST_CHECK struct dfg_err *dfg_live_condition(
	struct dfg_liveness *liveness, struct dfg_edge predicate, int side, int sides, uint32_t *out_condition);

/* What is live where one of them is. *out_whole: they leave no case out, so it is live whenever all they share holds. */
DFG_MUST_CHECK struct dfg_err *dfg_live_merge(
	struct dfg_liveness *liveness, const uint32_t *set, uint32_t count, uint32_t *out_set, bool *out_whole);

/* The tensor behind the nodes that only hand it on: Identity, Switch, LoopCond, constant Enter. No cycle of such. */
struct dfg_edge dfg_live_source(const struct dfg_graph *graph, struct dfg_edge edge);

/* One step of that; false, and nothing changed, where the tensor's node makes it. */
bool dfg_live_step_back(const struct dfg_graph *graph, struct dfg_edge *edge);
