#include "lib/pass/verify/liveness.h"

#include "lib/base/mem.h"
#include "lib/pass/verify/fallback.h"
#include "lib/pass/verify/frames.h"
#include "lib/pass/verify/array_flow.h"
#include "lib/pass/verify/predicate.h"
#include "lib/pass/verify/races.h"

#include <string.h>

enum { ROOT };
enum { BUDGET = 1 << 22, TRIES = 1 << 16 };

/* The iterations of its frame in which a node runs or is dead; in the others no token reaches it. */
enum comes { UNCHANGED, EACH, FIRST, LATER };

struct life {
	const struct dfg_graph *graph;
	struct dfg_fallbacks fallbacks;
	const struct dfg_facts *facts;
	const struct dfg_loops *loops;
	struct dfg_arena *scratch;
	struct dfg_faults *faults, *warnings;
	struct dfg_predicates predicates;
	struct dfg_bdd *logic; /* of the predicates */
	uint32_t *runs;        /* by node: the condition under which it runs */
	uint8_t *split;        /* by function: whether the two sides of some Switch divide it */
	size_t split_capacity;
	/* by Merge: the value of all its inputs, where they are known to be equal; else NULL */
	const struct dfg_known_value **merged;
	uint32_t *side;      /* by tensor: the condition under which an output of a Switch is live */
	uint8_t *comes;      /* by node: the enum comes of its outputs */
	uint32_t *within;    /* by frame: the condition under which its LoopCond runs */
	uint8_t *entered;    /* by frame: the enum comes, in the parent frame, of its inputs */
	bool *shared;        /* by frame: whether it has a second LoopCond, of a gradient's counting loop */
	uint32_t *unchanged; /* by frame: the nearest enclosing frame in which none of its inputs changes, or the root */
};

#define NODE_WORDS "node '%.200s' (%.100s): "
#define NODE(node) (node)->name, (node)->op_name

static const char *words(const struct life *l, uint32_t frame)
{
	return dfg_frame_words(l->loops, frame, l->scratch);
}

static uint32_t home(const struct life *l, uint32_t n)
{
	return dfg_loop_home(l->graph, l->loops, n);
}

static const char *tensor(const struct life *l, struct dfg_edge edge)
{
	const char *name = dfg_graph_tensor_name(l->graph, edge);
	return name ? name : "";
}

static void warn(struct life *l, struct dfg_err *err)
{
	if (l->warnings)
		dfg_fault(l->warnings, err);
	else
		dfg_err_free(err);
}

/* The condition under which the edge carries a live value. */
static uint32_t live(const struct life *l, struct dfg_edge edge)
{
	if (dfg_node_role(&l->graph->node[edge.node]) == DFG_SWITCH && edge.port >= 0 &&
		(uint32_t)edge.port < dfg_facts_outputs(l->facts, edge.node))
		return l->side[l->facts->first[edge.node] + (uint32_t)edge.port];
	return l->runs[edge.node];
}

static uint32_t all_live(struct life *l, const struct dfg_node *node)
{
	uint32_t runs = DFG_ALWAYS;
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
		if (dfg_edge_brings(node, e))
			runs = dfg_bdd_and(l->logic, runs, live(l, node->in[e]));
	return runs;
}

static bool is_certain(uint32_t function)
{
	return function != DFG_NEVER && function != DFG_LOST;
}

static void note_split(struct life *l, uint32_t function)
{
	if (function == DFG_LOST)
		return;
	if (!dfg_reserve(&l->split, &l->split_capacity, (size_t)function + 1, 1))
		l->predicates.no_memory = true;
	else
		l->split[function] = true;
}

/* Exactly one output of a Switch is live: false or true, or for an integer index one of many. */
static void split(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	uint32_t outputs = dfg_facts_outputs(l->facts, n), *side = &l->side[l->facts->first[n]], rest = l->runs[n];
	if (outputs < 2 || node->n_in < 2) {
		for (uint32_t i = 0; i < outputs; i++)
			side[i] = rest;
		return;
	}
	note_split(l, rest);
	struct dfg_edge by = node->in[1];
	bool told = (uint32_t)by.port < dfg_facts_outputs(l->facts, by.node);
	enum dfg_dtype dtype = told ? dfg_facts_of(l->facts, by)->dtype : DFG_NO_DTYPE;
	bool is_number = dtype != DFG_BOOL && (dtype != DFG_NO_DTYPE || outputs > 2);
	if (!is_number) {
		uint32_t value = dfg_predicate_value(&l->predicates, by);
		side[0] = dfg_bdd_and(l->logic, rest, dfg_bdd_not(value));
		side[1] = dfg_bdd_and(l->logic, rest, value);
		return;
	}
	for (uint32_t i = 0; i + 1 < outputs; i++) {
		uint32_t taken =
			dfg_predicate_claim(&l->predicates, dfg_predicate_origin(&l->predicates, by), DFG_IS_NUMBER + i);
		side[i] = dfg_bdd_and(l->logic, rest, taken);
		rest = dfg_bdd_and(l->logic, rest, dfg_bdd_not(taken));
	}
	side[outputs - 1] = rest;
}

/* Merges. */

static void overlap(struct life *l, const struct dfg_node *node, uint32_t i)
{
	uint32_t j = 0, here = live(l, node->in[i]), both = DFG_NEVER;
	for (; j < i && !is_certain(both) && j < TRIES; j++)
		both = dfg_bdd_and(l->logic, live(l, node->in[j]), here);
	if (!is_certain(both))
		return;
	dfg_fault(l->faults,
		DFG_ERR(DFG_DATA,
			NODE_WORDS
			"inputs %u '%.200s' and %u '%.200s' can both be live%s; a Merge joins the sides of Switches on one "
			"predicate, so that only one is live",
			NODE(node), j - 1, tensor(l, node->in[j - 1]), i, tensor(l, node->in[i]),
			dfg_predicate_words(&l->predicates, both, DFG_ALWAYS)));
}

/* The value of a small tensor where constant folding knows all of it; NULL otherwise. */
static const struct dfg_known_value *known_of(const struct life *l, struct dfg_edge edge)
{
	if (dfg_node_role(&l->graph->node[edge.node]) == DFG_MERGE && edge.port == 0)
		return l->merged[edge.node];
	if (edge.port < 0 || (uint32_t)edge.port >= dfg_facts_outputs(l->facts, edge.node))
		return NULL;
	const struct dfg_known_value *known = dfg_facts_of(l->facts, edge)->known;
	return dfg_known_whole(known) ? known : NULL;
}

/*
 * The value that all inputs are known to have, or NULL. TensorFlow's gradients of a gather in a branch merge the shapes of
 * gradients, some of which are constants that are always live, or Merges of such shapes; equal inputs do no harm.
 */
static const struct dfg_known_value *common_value(const struct life *l, const struct dfg_node *node)
{
	bool starts = node->n_in && !dfg_edge_closes(l->graph, node, node->in[0]);
	const struct dfg_known_value *first = starts ? known_of(l, node->in[0]) : NULL;
	for (uint32_t i = 1; i < node->n_in && first; i++) {
		bool closes = dfg_edge_closes(l->graph, node, node->in[i]);
		const struct dfg_known_value *other = closes ? NULL : known_of(l, node->in[i]);
		if (!other || other->rank != first->rank || other->count != first->count ||
			memcmp(other->v, first->v, (size_t)first->count * sizeof *first->v))
			return NULL;
	}
	return first;
}

static bool is_loop_merge(const struct dfg_graph *graph, const struct dfg_node *node)
{
	if (dfg_node_role(node) != DFG_MERGE)
		return false;
	for (uint32_t i = 0; i < node->n_in; i++)
		if (dfg_edge_closes(graph, node, node->in[i]))
			return true;
	return false;
}

/* Two inputs of the Merge can both be live; i is the second of them. */
static void check_overlap(struct life *l, uint32_t n, uint32_t i)
{
	const struct dfg_node *node = &l->graph->node[n];
	uint32_t both[2] = {live(l, node->in[0]), live(l, node->in[node->n_in > 1])}, fallback = DFG_NONE;
	struct dfg_err *err = l->merged[n] ? dfg_fallback_of_equal(&l->fallbacks, n)
									   : dfg_fallback_find(&l->fallbacks, l->logic, n, both, &fallback);
	if (err)
		dfg_fault(l->faults, err);
	else if (fallback != DFG_NONE)
		warn(l,
			DFG_ERR(DFG_DATA,
				NODE_WORDS "both inputs are live%s, as input %u '%.200s' is a constant outside of the branch; input %u "
						   "is taken there",
				NODE(node), dfg_predicate_words(&l->predicates, both[1 - fallback], both[fallback]), fallback,
				tensor(l, node->in[fallback]), 1 - fallback));
	else if (!l->merged[n])
		overlap(l, node, i);
}

static uint32_t merge(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	l->merged[n] = common_value(l, node);
	uint32_t any = DFG_NEVER;
	bool told = false;
	for (uint32_t i = 0; i < node->n_in; i++) {
		uint32_t here = live(l, node->in[i]);
		if (dfg_edge_closes(l->graph, node, node->in[i]))
			continue;
		if (!told && is_certain(dfg_bdd_and(l->logic, any, here))) {
			check_overlap(l, n, i);
			told = true;
		}
		any = dfg_bdd_or(l->logic, any, here);
	}
	if (!told && !is_loop_merge(l->graph, node) && node->n_in > 1 && is_certain(any) && any != DFG_ALWAYS &&
		(any >= l->split_capacity || !l->split[any]))
		warn(l, DFG_ERR(DFG_DATA, NODE_WORDS "no input is live%s, so its readers are dead there", NODE(node),
					dfg_predicate_words(&l->predicates, dfg_bdd_not(any), DFG_ALWAYS)));
	return any;
}

/* Loops. */

static uint32_t condition_of(struct life *l, uint32_t frame)
{
	return dfg_predicate_value(&l->predicates, (struct dfg_edge){l->loops->loop[frame].condition, 0});
}

/*
 * Whether the frame has exactly one LoopCond, and its predicate can change. A frame shared with a gradient's counting
 * loop has more; a loop with a constant predicate runs never or forever.
 */
static bool has_one_condition(const struct life *l, uint32_t frame)
{
	const struct dfg_loop *of = &l->loops->loop[frame];
	return of->condition != DFG_NONE && !l->shared[frame] && l->comes[of->condition] != UNCHANGED;
}

/*
 * Wherever the loop runs, all values that enter it must be live: a dead value is not carried to the next iteration and
 * would be lost silently. A value may be live where the loop is not, like invariants in the last iteration of the
 * enclosing loop.
 */
static void check_enter(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	uint32_t frame = l->loops->of[n];
	if (!has_one_condition(l, frame))
		return;
	uint32_t condition = l->loops->loop[frame].condition;
	uint32_t dies = dfg_bdd_and(l->logic, l->within[frame], dfg_bdd_not(l->runs[n]));
	if (is_certain(dies))
		dfg_fault(l->faults, DFG_ERR(DFG_DATA,
								 NODE_WORDS "is dead%s, but '%.200s' (LoopCond) of %s is live; all inputs of a loop "
											"must be live together: take all "
											"of them from the branch, or none",
								 NODE(node), dfg_predicate_words(&l->predicates, dies, l->runs[n]),
								 l->graph->node[condition].name, words(l, frame)));
}

static uint32_t leave(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	uint32_t frame = home(l, n), within = l->within[frame];
	const struct dfg_node *from = &l->graph->node[dfg_exit_source(l->graph, node).node];
	if (!has_one_condition(l, frame))
		return l->runs[node->in[0].node];
	if (l->runs[n] == DFG_LOST)
		return DFG_LOST;
	if (l->runs[n] == dfg_bdd_and(l->logic, within, dfg_bdd_not(dfg_predicate_value(&l->predicates, from->in[1]))))
		return within;
	return dfg_bdd_and(l->logic, within, dfg_predicate_claim(&l->predicates, (struct dfg_edge){n, 0}, DFG_IS_LIVE));
}

/* A loop variable is live at NextIteration exactly where the loop continues. */
static void check_next_iteration(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	uint32_t frame = l->loops->of[n];
	if (!has_one_condition(l, frame) || !node->n_in)
		return;
	uint32_t own = all_live(l, node);
	const char *condition = l->graph->node[l->loops->loop[frame].condition].name;
	uint32_t goes_on = dfg_bdd_and(l->logic, l->within[frame], condition_of(l, frame));
	uint32_t more = dfg_bdd_and(l->logic, own, dfg_bdd_not(goes_on));
	uint32_t less = dfg_bdd_and(l->logic, goes_on, dfg_bdd_not(own));
	if (is_certain(more))
		dfg_fault(l->faults,
			DFG_ERR(DFG_DATA,
				NODE_WORDS
				"its input '%.200s' is live where '%.200s' (LoopCond) is false too, so %s would never end; it must "
				"come from the true side of a Switch on '%.200s'",
				NODE(node), tensor(l, node->in[0]), condition, words(l, frame), condition));
	else if (is_certain(less))
		dfg_fault(l->faults,
			DFG_ERR(DFG_DATA,
				NODE_WORDS
				"its input '%.200s' is dead%s, though %s continues, so its value would be lost; join the branches "
				"with a Merge",
				NODE(node), tensor(l, node->in[0]), dfg_predicate_words(&l->predicates, less, goes_on),
				words(l, frame)));
}

/*
 * A Load that reads one value per iteration runs as often as the loop continues; so a Save in the final iteration,
 * which only evaluates the condition, would be one too many.
 */
static void check_save(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	uint32_t frame = home(l, n);
	for (uint32_t i = 1; i < node->n_in && frame != ROOT; i++, frame = l->loops->loop[frame].parent) {
		if (!has_one_condition(l, frame))
			continue;
		if (!is_certain(dfg_bdd_and(l->logic, l->runs[n], dfg_bdd_not(condition_of(l, frame)))))
			continue;
		const char *condition = l->graph->node[l->loops->loop[frame].condition].name;
		dfg_fault(l->faults,
			DFG_ERR(DFG_DATA,
				NODE_WORDS "saves in the last iteration of %s too, where '%.200s' (LoopCond) is false; its input must "
						   "come from the true side of a Switch on '%.200s'",
				NODE(node), words(l, frame), condition, condition));
		return;
	}
}

/* Iterations. */

static const char *const comes_words[] = {"does not change", "in each", "only in the first", "in all but the first"};

/* The iterations in which all inputs arrive. A node whose inputs arrive in different iterations would never run. */
static enum comes comes_of(struct life *l, const struct dfg_node *node)
{
	enum comes comes = UNCHANGED;
	uint32_t by = 0;
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
		enum comes other = l->comes[node->in[e].node];
		if (!dfg_edge_brings(node, e) || dfg_edge_closes(l->graph, node, node->in[e]) || other == UNCHANGED)
			continue;
		if (comes != UNCHANGED && comes != other) {
			dfg_fault(l->faults,
				DFG_ERR(DFG_DATA,
					NODE_WORDS
					"its inputs arrive in different iterations: '%.200s' %s, '%.200s' %s; a value that a loop reads in "
					"every iteration must come from a Merge or from an Enter with is_constant = true",
					NODE(node), l->graph->node[by].name, comes_words[comes], l->graph->node[node->in[e].node].name,
					comes_words[other]));
			return EACH;
		}
		comes = other;
		by = node->in[e].node;
	}
	return comes;
}

static void find_iterations(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	uint32_t frame = home(l, n);
	enum comes comes = frame == ROOT ? EACH : is_loop_merge(l->graph, node) ? EACH : comes_of(l, node);
	switch (dfg_node_role(node)) {
	case DFG_ENTER:
		if (l->entered[l->loops->of[n]] < comes)
			l->entered[l->loops->of[n]] = (uint8_t)comes;
		l->comes[n] = dfg_is_constant_enter(node) ? UNCHANGED : FIRST;
		return;
	case DFG_EXIT:
		l->comes[n] = l->loops->of[n] == ROOT ? EACH : l->entered[frame];
		return;
	case DFG_NEXT_ITERATION:
		if (comes == FIRST || comes == LATER)
			dfg_fault(l->faults,
				DFG_ERR(DFG_DATA, NODE_WORDS "its input '%.200s' arrives %s iteration, so %s would lose its value",
					NODE(node), tensor(l, node->in[0]), comes_words[comes], words(l, frame)));
		l->comes[n] = LATER;
		return;
	default:
		l->comes[n] = (uint8_t)comes;
	}
}

/* Whether running the node once more could be observed: assignments, stateful ops and ops that may fail. */
static bool has_effects(const struct dfg_node *node)
{
	if (!node->op)
		return false;
	if (node->op->role == DFG_ASSIGN)
		return true;
	return node->op->role == DFG_PLAIN && ((node->op->flags & DFG_STATEFUL) || node->op->guard);
}

/* A node that reads only invariants also runs in the final iteration, which only evaluates the loop's condition. */
static void check_unchanged(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	uint32_t frame = home(l, n), around = l->unchanged[frame];
	if (l->comes[n] == UNCHANGED && frame != ROOT)
		around = frame;
	if (around == ROOT || l->loops->loop[around].condition == DFG_NONE)
		return;
	const char *condition = l->graph->node[l->loops->loop[around].condition].name;
	if (has_effects(node))
		dfg_fault(l->faults,
			DFG_ERR(DFG_DATA,
				NODE_WORDS
				"reads only what does not change in %s, so it would run once more often than the loop's body; give it "
				"a control input from the true side of a Switch on '%.200s'",
				NODE(node), words(l, around), condition));
	else if (around == frame && node->op && node->op->role == DFG_PLAIN)
		warn(l,
			DFG_ERR(DFG_DATA,
				NODE_WORDS
				"reads only what does not change in %s: its result is the same in every iteration; it could be moved "
				"out of the loop",
				NODE(node), words(l, around)));
}

static void check_iterations(struct life *l, uint32_t n)
{
	enum dfg_role role = dfg_node_role(&l->graph->node[n]);
	if (role == DFG_NEXT_ITERATION)
		check_next_iteration(l, n);
	else if (role == DFG_SAVE)
		check_save(l, n);
	else
		check_unchanged(l, n);
}

/* An output that may be dead has a value for some feeds; one that is always dead can only be a mistake. */
static void check_output(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	if (l->runs[n] == DFG_ALWAYS || l->runs[n] == DFG_LOST || !dfg_node_mark(node, "_dfg_output", NULL))
		return;
	if (l->runs[n] == DFG_NEVER)
		dfg_fault(l->faults,
			DFG_ERR(DFG_DATA, NODE_WORDS "is an output, but dead whatever the predicates are, so it can have no value",
				NODE(node)));
	else
		warn(l, DFG_ERR(DFG_DATA, NODE_WORDS "is an output, but dead%s: fetching it then is an error", NODE(node),
					dfg_predicate_words(&l->predicates, dfg_bdd_not(l->runs[n]), DFG_ALWAYS)));
}

static void warn_of_dead(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	if (l->runs[n] != DFG_NEVER)
		return;
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
		if (live(l, node->in[e]) == DFG_NEVER)
			return;
	warn(l, DFG_ERR(DFG_DATA, NODE_WORDS "never runs: its inputs are on opposite sides of a predicate", NODE(node)));
}

static void visit(struct life *l, uint32_t n)
{
	const struct dfg_node *node = &l->graph->node[n];
	enum dfg_role role = dfg_node_role(node);
	dfg_predicates_visit(&l->predicates, n);
	find_iterations(l, n);
	dfg_fault(l->faults, dfg_fallback_visit(&l->fallbacks, n));
	l->runs[n] = role == DFG_MERGE             ? merge(l, n)
				 : role == DFG_CONTROL_TRIGGER ? DFG_ALWAYS
				 : !node->op                   ? DFG_LOST
				 : role == DFG_RECV ? DFG_LOST /* depends on the sender's liveness, which is on another device */
									: all_live(l, node);
	if (l->loops->loop[home(l, n)].condition == n)
		l->within[home(l, n)] = l->runs[n];
	else if (role == DFG_NEXT_ITERATION)
		l->runs[n] = l->within[l->loops->of[n]];
	else if (role == DFG_EXIT)
		l->runs[n] = leave(l, n);
	else if (role == DFG_SWITCH)
		split(l, n);
	check_output(l, n);
	warn_of_dead(l, n);
}

static struct dfg_err *visit_all(struct life *l, const uint32_t *order)
{
	uint32_t count = l->graph->count;
	for (uint32_t n = 0; n < count; n++)
		if (dfg_node_role(&l->graph->node[n]) == DFG_LOOP_COND && l->loops->loop[home(l, n)].condition != n)
			l->shared[home(l, n)] = true;
	for (uint32_t i = 0; i < count && l->faults->left > 0; i++)
		visit(l, order ? order[i] : i);
	for (uint32_t f = 1; f < l->loops->count; f++) {
		uint32_t parent = l->loops->loop[f].parent;
		l->unchanged[f] = l->unchanged[parent];
		if (!l->unchanged[f] && l->entered[f] == UNCHANGED)
			l->unchanged[f] = parent;
	}
	long left = l->faults->left;
	for (uint32_t n = 0; n < count && l->faults->left > 0; n++)
		if (dfg_node_role(&l->graph->node[n]) == DFG_ENTER)
			check_enter(l, n);
	bool entered = left == l->faults->left; /* if not, consequences of these faults would be reported too */
	for (uint32_t n = 0; n < count && l->faults->left > 0 && entered; n++)
		check_iterations(l, n);
	if (!l->logic->budget)
		warn(l, DFG_ERR(DFG_DATA,
					"the graph has too many predicates to check which nodes are live; faults will show when it runs"));
	if (l->faults->left == left && entered)
		DFG_TRY(dfg_races_check(l->graph, order, l->facts, l->loops, &l->predicates, l->runs, l->scratch, l->warnings));
	return dfg_array_flow_check(l->graph, &l->predicates, l->runs, l->scratch, l->faults);
}

struct dfg_err *dfg_liveness_check(const struct dfg_graph *graph, struct dfg_graph *marked, const uint32_t *order,
	const struct dfg_facts *facts, const struct dfg_loops *loops, struct dfg_arena *scratch, struct dfg_faults *faults,
	struct dfg_faults *warnings)
{
	struct life l = {
		.graph = graph,
		.facts = facts,
		.loops = loops,
		.scratch = scratch,
		.faults = faults,
		.warnings = warnings,
		.runs = dfg_arena_zeros(scratch, graph->count, sizeof *l.runs),
		.merged = dfg_arena_zeros(scratch, graph->count, sizeof *l.merged),
		.fallbacks = {graph, facts, marked, dfg_arena_zeros(scratch, graph->count, sizeof(bool))},
		.side = dfg_arena_zeros(scratch, facts->count + 1, sizeof *l.side),
		.comes = dfg_arena_zeros(scratch, graph->count, sizeof *l.comes),
		.within = dfg_arena_zeros(scratch, loops->count, sizeof *l.within),
		.entered = dfg_arena_zeros(scratch, loops->count, sizeof *l.entered),
		.shared = dfg_arena_zeros(scratch, loops->count, sizeof *l.shared),
		.unchanged = dfg_arena_zeros(scratch, loops->count, sizeof *l.unchanged),
	};
	bool allocated = l.runs && l.merged && l.fallbacks.constant && l.side && l.comes && l.within && l.entered &&
					 l.shared && l.unchanged;
	l.logic = &l.predicates.logic;
	allocated = dfg_predicates_init(&l.predicates, graph, scratch, BUDGET) && allocated;
	struct dfg_err *err = allocated ? visit_all(&l, order) : NULL;
	bool no_memory = !allocated || l.predicates.no_memory || l.logic->no_memory;
	dfg_free(l.split);
	dfg_predicates_release(&l.predicates);
	if (no_memory && !err)
		err = DFG_ERR(DFG_MEMORY, "no memory for the liveness of %u nodes", graph->count);
	return err;
}
