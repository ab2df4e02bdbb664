#include "lib/exec/plan/schedule.h"
#include "lib/graph/liveness.h"

#include <string.h>

/*
 * The conditions of a plan. lib/graph/liveness.h finds when each tensor is live, for the nodes and feeds of the step. The
 * schedule requires more: conditions as paths, each a parent and one more pair, since the linear executor branches on one
 * pair after another; predicates that are evaluated in the loop that uses them; and a proof that each Merge has exactly
 * one live input and that each loop is well formed, without which there is no schedule. The loops are the plan's frames,
 * which the dataflow executor requires in any case, so they are recovered once.
 */
struct condition_finder {
	struct dfg_plan *plan;
	struct schedule *schedule;
	struct dfg_arena arena; /* released as soon as the conditions are known, before the nodes are ordered */
	struct dfg_liveness liveness;
	struct dfg_loops loops;    /* the plan's frames; its arrays are by plan node */
	struct dfg_live_step step; /* the plan's nodes and feeds */
	uint32_t *first_of;        /* by condition of the liveness, of side 0: its first predicate, or DFG_NONE */
	size_t first_capacity, firsts;
	uint32_t *next_of; /* by predicate: the one of the same condition in another loop, or DFG_NONE */
	size_t next_capacity;
	uint32_t *loop_condition; /* by loop: the condition of the liveness that ends it, or DFG_NONE */
	uint32_t *reads;          /* by slot: number of inputs that read it */
	struct path *path;        /* by set of the liveness: the last condition that it became */
	size_t path_capacity, paths;
	bool unsupported;
};

/* A set of the liveness in a loop; loop is DFG_NONE if there is none yet. */
struct path {
	uint32_t loop, condition;
};

/* The condition with one more pair, whose predicate is larger than all of the parent's. */
static struct dfg_err *child_condition(
	struct condition_finder *of, uint32_t parent, uint32_t predicate, int32_t side, uint32_t *out_condition)
{
	struct schedule *schedule = of->schedule;
	for (uint32_t g = schedule->predicate[predicate].first_condition; g != DFG_NONE; g = schedule->condition[g].next)
		if (schedule->condition[g].parent == parent && schedule->condition[g].side == side) {
			*out_condition = g;
			return NULL;
		}
	if (!dfg_reserve(
			&schedule->condition, &schedule->condition_capacity, schedule->conditions + 1, sizeof *schedule->condition))
		return dfg_no_memory("the schedule of the step");
	const struct condition *above = &schedule->condition[parent];
	of->unsupported |= above->depth + 1 >= CONDITION_DEPTH_MAX;
	*out_condition = (uint32_t)schedule->conditions++;
	schedule->condition[*out_condition] = (struct condition){
		.parent = parent,
		.predicate = predicate,
		.loop = schedule->condition[parent].loop,
		.side = side,
		.depth = schedule->condition[parent].depth + 1,
		.next = schedule->predicate[predicate].first_condition,
	};
	schedule->predicate[predicate].first_condition = *out_condition;
	return NULL;
}

bool dfg_conditions_exclude(const struct schedule *schedule, uint32_t one, uint32_t two)
{
	while (schedule->condition[one].depth && schedule->condition[two].depth) {
		const struct condition *a = &schedule->condition[one], *b = &schedule->condition[two];
		if (a->predicate == b->predicate && a->side != b->side)
			return true;
		if (a->predicate >= b->predicate)
			one = a->parent;
		if (b->predicate >= a->predicate)
			two = b->parent;
	}
	return false;
}

/* The predicate that decides the condition of the liveness in the loop, or DFG_NONE. */
static uint32_t predicate_in(const struct condition_finder *of, uint32_t condition, uint32_t loop)
{
	uint32_t f = condition < of->firsts ? of->first_of[condition] : DFG_NONE;
	while (f != DFG_NONE && dfg_loop_of(of->plan, of->schedule->predicate[f].node) != loop)
		f = of->next_of[f];
	return f;
}

/*
 * The pairs of a set, the largest predicate first. A predicate of another loop, or too many pairs, cannot be scheduled.
 */
struct pairs {
	struct pair {
		uint32_t predicate;
		int32_t side;
	} pair[CONDITION_DEPTH_MAX];
	uint32_t count;
};

static void list_pairs(struct condition_finder *of, uint32_t set, uint32_t loop, struct pairs *pairs)
{
	uint32_t count;
	const uint32_t *item = dfg_live_conditions(&of->liveness, set, &count);
	pairs->count = 0;
	of->unsupported |= count >= CONDITION_DEPTH_MAX;
	for (uint32_t i = count; i-- && !of->unsupported;) {
		const struct dfg_condition *condition = &of->liveness.condition[item[i]];
		struct pair pair = {predicate_in(of, item[i] - (uint32_t)condition->side, loop), condition->side};
		uint32_t at = pairs->count++;
		of->unsupported |= pair.predicate == DFG_NONE;
		for (; at && pairs->pair[at - 1].predicate < pair.predicate; at--)
			pairs->pair[at] = pairs->pair[at - 1];
		pairs->pair[at] = pair;
	}
}

static struct dfg_err *make_path(struct condition_finder *of, uint32_t set, uint32_t loop, uint32_t *out_condition)
{
	struct pairs pairs;
	*out_condition = UNREACHABLE;
	if (dfg_live_never(&of->liveness, set))
		return NULL;
	list_pairs(of, set, loop, &pairs);
	*out_condition = loop;
	for (uint32_t i = pairs.count; i-- && !of->unsupported;)
		DFG_TRY(child_condition(of, *out_condition, pairs.pair[i].predicate, pairs.pair[i].side, out_condition));
	return NULL;
}

/* The condition of the schedule that is the set, in the loop. */
static struct dfg_err *condition_of(struct condition_finder *of, uint32_t set, uint32_t loop, uint32_t *out_condition)
{
	if (!dfg_reserve(&of->path, &of->path_capacity, (size_t)set + 1, sizeof *of->path))
		return dfg_no_memory("the schedule of the step");
	for (; of->paths <= set; of->paths++)
		of->path[of->paths].loop = DFG_NONE;
	if (of->path[set].loop != loop) {
		of->path[set].loop = loop;
		DFG_TRY(make_path(of, set, loop, &of->path[set].condition));
	}
	*out_condition = of->path[set].condition;
	return NULL;
}

/* The slot whose value the slot forwards unchanged, in the same loop. What is read of a ref depends on the time. */
static uint32_t value_of(const struct dfg_plan *plan, uint32_t slot)
{
	while (!dfg_always_there(plan, slot)) {
		const struct plan_node *node = &plan->node[plan->maker[slot]];
		bool passes = node->role == DFG_IDENTITY || node->role == DFG_LOOP_COND || node->role == DFG_SWITCH;
		int port = node->role == DFG_SWITCH ? 0 : (int)(slot - dfg_plan_node_out(plan, node, 0));
		if (!passes || plan->is_ref[dfg_plan_node_in(plan, node, port)])
			break;
		slot = dfg_plan_node_in(plan, node, port);
	}
	return slot;
}

static const struct dfg_node *graph_node(const struct condition_finder *of, const struct plan_node *node)
{
	return &of->liveness.graph->node[node->graph_node];
}

/* Adds the predicate in the slot, which decides the condition of the liveness. */
static struct dfg_err *add_predicate(
	struct condition_finder *of, const struct plan_node *node, int n_out, uint32_t condition, uint32_t slot)
{
	struct schedule *schedule = of->schedule;
	uint32_t number = (uint32_t)schedule->predicates;
	if (!dfg_reserve(
			&schedule->predicate, &schedule->predicate_capacity, number + (size_t)1, sizeof *schedule->predicate) ||
		!dfg_reserve(&of->next_of, &of->next_capacity, number + (size_t)1, sizeof *of->next_of) ||
		!dfg_reserve(&of->first_of, &of->first_capacity, condition + (size_t)1, sizeof *of->first_of))
		return dfg_no_memory("the schedule of the step");
	for (; of->firsts <= condition; of->firsts++)
		of->first_of[of->firsts] = DFG_NONE;
	schedule->predicates++;
	schedule->predicate[number] = (struct predicate){
		.slot = slot,
		.node = (uint32_t)(node - of->plan->node),
		.condition = schedule->slot_condition[slot],
		.first_condition = DFG_NONE,
		.n_out = (uint16_t)n_out,
	};
	of->next_of[number] = of->first_of[condition];
	of->first_of[condition] = number;
	return NULL;
}

/* The predicate controlled by the value that enters a Switch or a LoopCond. It must not also choose among more outputs. */
static struct dfg_err *find_predicate(struct condition_finder *of, const struct plan_node *node, int input, int n_out,
	uint32_t *out_condition, uint32_t *out_predicate)
{
	uint32_t condition, loop = dfg_loop_of(of->plan, (uint32_t)(node - of->plan->node));
	struct dfg_edge edge = graph_node(of, node)->in[input];
	DFG_TRY(dfg_live_condition(&of->liveness, edge, 0, n_out, &condition));
	const struct dfg_condition *first = &of->liveness.condition[condition];
	for (uint32_t c = first->other; c; c = of->liveness.condition[c - 1].other)
		of->unsupported |= of->liveness.condition[c - 1].predicate.port == first->predicate.port;
	uint32_t slot = value_of(of->plan, dfg_plan_node_in(of->plan, node, input));
	if (predicate_in(of, condition, loop) == DFG_NONE)
		DFG_TRY(add_predicate(of, node, n_out, condition, slot));
	*out_condition = condition;
	*out_predicate = predicate_in(of, condition, loop);
	return NULL;
}

static void set_outputs(struct condition_finder *of, const struct plan_node *node, uint32_t condition)
{
	for (int i = 0; i < node->n_out; i++)
		of->schedule->slot_condition[dfg_plan_node_out(of->plan, node, i)] = condition;
	of->schedule->node_condition[node - of->plan->node] = condition;
}

static struct dfg_err *visit_switch(struct condition_finder *of, const struct plan_node *node, uint32_t loop)
{
	uint32_t condition, number = (uint32_t)(node - of->plan->node);
	const uint32_t *set = &of->liveness.output_set[of->liveness.output[number]];
	DFG_TRY(find_predicate(of, node, 1, node->n_out, &condition, &of->schedule->node_predicate[number]));
	for (int i = 0; i < node->n_out && !of->unsupported; i++)
		DFG_TRY(condition_of(of, set[i], loop, &of->schedule->slot_condition[dfg_plan_node_out(of->plan, node, i)]));
	return NULL;
}

static struct dfg_err *visit_loop_cond(struct condition_finder *of, const struct plan_node *node, uint32_t loop)
{
	uint32_t condition, predicate;
	DFG_TRY(find_predicate(of, node, 0, 2, &condition, &predicate));
	of->unsupported |= of->loop_condition[loop] != DFG_NONE && of->loop_condition[loop] != condition;
	of->loop_condition[loop] = condition;
	of->schedule->loop_info[loop].predicate = predicate;
	return NULL;
}

/* Exactly one input of a Merge is live wherever its output is. */
static struct dfg_err *check_merge(struct condition_finder *of, const struct plan_node *node)
{
	struct dfg_liveness *liveness = &of->liveness;
	uint32_t count = 0, *set = dfg_arena_zeros(&of->arena, node->n_in, sizeof *set);
	if (!set)
		return dfg_no_memory("the schedule of the step");
	for (int i = 0; i < node->n_in; i++) {
		DFG_TRY(dfg_live_of(liveness, graph_node(of, node)->in[i], &set[count]));
		count += !dfg_live_never(liveness, set[count]);
	}
	of->unsupported |= liveness->is_partial[node - of->plan->node];
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < i && !of->unsupported; j++)
			of->unsupported = !dfg_live_exclusive(liveness, set[i], set[j]);
	return NULL;
}

static bool is_constant_enter(const struct plan_node *node)
{
	return node->call->attr[dfg_op_attr(node->call->signature, "is_constant")].b;
}

/* All variables of a loop must have the same condition, and its invariants must be live whenever it runs. */
static struct dfg_err *visit_enter(struct condition_finder *of, const struct plan_node *node, uint32_t inner)
{
	struct loop_info *loop_info = &of->schedule->loop_info[inner];
	uint32_t set, outer = dfg_loop_of(of->plan, (uint32_t)(node - of->plan->node));
	if (is_constant_enter(node))
		return NULL;
	DFG_TRY(dfg_live_inputs(&of->liveness, graph_node(of, node), &set));
	DFG_TRY(condition_of(of, set, outer, &loop_info->condition));
	of->unsupported |= loop_info->condition == UNREACHABLE || set != of->liveness.entry[inner];
	return NULL;
}

/* A value may leave a loop, or its iteration, under the condition of the loop's predicate only. */
static struct dfg_err *check_loop_output(struct condition_finder *of, const struct plan_node *node, uint32_t side)
{
	uint32_t set, wanted, condition = of->loop_condition[dfg_loop_of(of->plan, (uint32_t)(node - of->plan->node))];
	of->unsupported |= condition == DFG_NONE;
	if (of->unsupported)
		return NULL;
	DFG_TRY(dfg_live_with(&of->liveness, 0, condition + side, &wanted));
	DFG_TRY(dfg_live_inputs(&of->liveness, graph_node(of, node), &set));
	of->unsupported |= set != wanted;
	return NULL;
}

/* The loop in which a node's outputs are. */
static uint32_t loop_of_outputs(const struct dfg_plan *plan, const struct plan_node *node)
{
	bool border = node->role == DFG_ENTER || node->role == DFG_EXIT;
	return border ? plan->frame_info->slot_loop[dfg_plan_node_out(plan, node, 0)]
				  : dfg_loop_of(plan, (uint32_t)(node - plan->node));
}

static struct dfg_err *visit_node(struct condition_finder *of, const struct plan_node *node)
{
	uint32_t condition, loop = loop_of_outputs(of->plan, node);
	bool is_next = node->role == DFG_NEXT_ITERATION; /* in the next iteration it is live */
	DFG_TRY(condition_of(of, is_next ? 0 : of->liveness.of[node - of->plan->node], loop, &condition));
	set_outputs(of, node, condition);
	switch (node->role) {
	case DFG_SWITCH:
		return visit_switch(of, node, loop);
	case DFG_LOOP_COND:
		return visit_loop_cond(of, node, loop);
	case DFG_MERGE:
		return dfg_is_loop_merge(of->plan, node) ? NULL : check_merge(of, node);
	case DFG_ENTER:
		return visit_enter(of, node, loop);
	case DFG_EXIT:
		return check_loop_output(of, node, 0);
	case DFG_NEXT_ITERATION:
		return check_loop_output(of, node, 1);
	default:
		return NULL;
	}
}

/* A loop variable is one Enter and one NextIteration, used only by the same Merge. */
static void add_carried(struct condition_finder *of, const struct plan_node *merge, struct carried *carried)
{
	const struct dfg_plan *plan = of->plan;
	uint32_t first = dfg_plan_node_in(of->plan, merge, 0), second = dfg_plan_node_in(of->plan, merge, merge->n_in - 1);
	of->unsupported |= merge->n_in != 2 || merge->n_control || merge->tells_index;
	if (of->unsupported || dfg_always_there(plan, first) || dfg_always_there(plan, second)) {
		of->unsupported = true;
		return;
	}
	const struct plan_node *enter = &plan->node[plan->maker[first]], *next = &plan->node[plan->maker[second]];
	if (enter->role == DFG_NEXT_ITERATION) {
		const struct plan_node *swap = enter;
		enter = next;
		next = swap;
	}
	of->unsupported |= enter->role != DFG_ENTER || next->role != DFG_NEXT_ITERATION || is_constant_enter(enter);
	of->unsupported |= of->reads[first] != 1 || of->reads[second] != 1 || plan->is_ref[first] || plan->is_ref[second];
	*carried = (struct carried){
		.merge = dfg_plan_node_out(of->plan, merge, 0),
		.enter = dfg_plan_node_in(of->plan, enter, 0),
		.next = dfg_plan_node_in(of->plan, next, 0),
		.spare = dfg_plan_node_out(of->plan, next, 0),
	};
}

static void find_carried(struct condition_finder *of)
{
	const struct dfg_plan *plan = of->plan;
	struct schedule *schedule = of->schedule;
	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t r = 0; r < plan->count; r++) {
			struct loop_info *loop_info = &schedule->loop_info[dfg_loop_of(plan, r)];
			if (!dfg_is_loop_merge(plan, &plan->node[r]))
				continue;
			if (fill && !of->unsupported)
				add_carried(of, &plan->node[r], &schedule->carried[loop_info->first_carried + loop_info->n_carried]);
			loop_info->n_carried++;
		}
		for (uint32_t l = 0, total = 0; l < schedule->loops && !fill; l++) {
			schedule->loop_info[l].first_carried = total;
			total += schedule->loop_info[l].n_carried;
			schedule->loop_info[l].n_carried = 0;
		}
	}
}

/*
 * A value that enters a loop is used by Merges only, or is a loop invariant; no node depends on a NextIteration by
 * control.
 */
static void check_borders(struct condition_finder *of)
{
	const struct dfg_plan *plan = of->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		bool merges = dfg_is_loop_merge(plan, node);
		for (uint32_t i = 0; i < (uint32_t)node->n_in + node->n_control; i++) {
			bool control = i >= node->n_in;
			uint32_t slot = control ? 0 : dfg_plan_node_in(of->plan, node, (int)i);
			if (!control && dfg_always_there(plan, slot))
				continue;
			const struct plan_node *from =
				&plan->node[control ? plan->control[node->first_control + i - node->n_in] : plan->maker[slot]];
			bool varies = from->role == DFG_NEXT_ITERATION || (from->role == DFG_ENTER && !is_constant_enter(from));
			of->unsupported |= varies && (control || !merges);
		}
		bool border = node->role == DFG_ENTER || node->role == DFG_EXIT;
		of->unsupported |= border && plan->is_ref[dfg_plan_node_out(of->plan, node, 0)] !=
										 plan->is_ref[dfg_plan_node_in(of->plan, node, 0)];
	}
	for (uint32_t l = 1; l < of->schedule->loops; l++)
		of->unsupported |= of->schedule->loop_info[l].predicate == DFG_NONE ||
						   of->schedule->loop_info[l].condition == DFG_NONE || !of->schedule->loop_info[l].n_carried;
}

static struct dfg_err *allocate_arrays(struct condition_finder *of)
{
	const struct dfg_plan *plan = of->plan;
	struct schedule *schedule = of->schedule;
	struct dfg_arena *arena = &of->plan->arena;
	uint32_t merges = 0;
	schedule->save = dfg_arena_zeros(arena, plan->count, sizeof *schedule->save);
	if (!schedule->save)
		return dfg_no_memory("the schedule of the step");
	for (uint32_t r = 0; r < plan->count; r++) {
		merges += plan->node[r].role == DFG_MERGE;
		if (plan->node[r].role == DFG_SAVE)
			schedule->save[r] = schedule->saves++;
	}
	schedule->slot_condition = dfg_arena_zeros(arena, plan->slots, sizeof *schedule->slot_condition);
	schedule->node_condition = dfg_arena_zeros(arena, plan->count, sizeof *schedule->node_condition);
	schedule->node_predicate = dfg_arena_zeros(arena, plan->count, sizeof *schedule->node_predicate);
	schedule->loop_info = dfg_arena_zeros(arena, schedule->loops, sizeof *schedule->loop_info);
	schedule->carried = dfg_arena_zeros(arena, merges, sizeof *schedule->carried);
	of->reads = dfg_arena_zeros(&of->arena, plan->slots, sizeof *of->reads);
	of->loop_condition = dfg_arena_zeros(&of->arena, schedule->loops, sizeof *of->loop_condition);
	if (!schedule->slot_condition || !schedule->node_condition || !schedule->node_predicate || !schedule->loop_info ||
		!schedule->carried || !of->reads || !of->loop_condition ||
		!dfg_reserve(&schedule->condition, &schedule->condition_capacity, schedule->loops, sizeof *schedule->condition))
		return dfg_no_memory("the schedule of the step");
	schedule->conditions = schedule->loops;
	for (uint32_t l = 0; l < schedule->loops; l++) {
		of->loop_condition[l] = DFG_NONE;
		schedule->condition[l] = (struct condition){.parent = DFG_NONE, .loop = l};
		schedule->loop_info[l] = (struct loop_info){.condition = l ? DFG_NONE : 0, .predicate = DFG_NONE};
	}
	return NULL;
}

static void count_reads(struct condition_finder *of)
{
	const struct dfg_plan *plan = of->plan;
	for (uint32_t r = 0; r < plan->count; r++)
		for (int i = 0; i < plan->node[r].n_in; i++)
			of->reads[dfg_plan_node_in(plan, &plan->node[r], i)]++;
}

/* Finds the liveness of the plan's nodes, in the plan's order and frames. */
static struct dfg_err *find_liveness(struct condition_finder *of)
{
	const struct dfg_plan *plan = of->plan;
	const struct dfg_graph *graph = plan->session->graph;
	uint32_t *order = dfg_arena_zeros(&of->arena, plan->count, sizeof *order);
	uint32_t *number = dfg_arena_zeros(&of->arena, graph->count, sizeof *number);
	of->step = (struct dfg_live_step){plan->count, number, plan->step.feed, plan->step.n_feed};
	of->loops = (struct dfg_loops){
		.count = of->schedule->loops,
		.of = dfg_arena_zeros(&of->arena, plan->count, sizeof *of->loops.of),
		.variable = dfg_arena_zeros(&of->arena, plan->count, sizeof *of->loops.variable),
	};
	if (!order || !number || !of->loops.of || !of->loops.variable)
		return dfg_no_memory("the schedule of the step");
	memset(number, 0xff, graph->count * sizeof *number);
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		order[r] = node->graph_node;
		number[node->graph_node] = r;
		of->loops.of[r] = loop_of_outputs(plan, node);
		of->loops.variable[r] = dfg_is_loop_merge(plan, node) ? 0 : DFG_NONE;
	}
	struct dfg_err *err = dfg_liveness_find(graph, order, &of->loops, &of->step, &of->liveness);
	of->unsupported = err && err->code == DFG_DATA;
	if (!of->unsupported)
		return err;
	dfg_err_free(err); /* branches that are nested too deep: there is no schedule */
	return NULL;
}

static struct dfg_err *find_conditions(struct condition_finder *of)
{
	const struct dfg_plan *plan = of->plan;
	DFG_TRY(allocate_arrays(of));
	DFG_TRY(find_liveness(of));
	for (uint32_t r = 0; r < plan->count && !of->unsupported; r++)
		if (!plan->node[r].preset)
			DFG_TRY(visit_node(of, &plan->node[r]));
	if (of->unsupported)
		return NULL;
	count_reads(of);
	find_carried(of);
	check_borders(of);
	return NULL;
}

struct dfg_err *dfg_conditions_find(struct dfg_plan *plan, struct schedule *schedule, bool *out_unsupported)
{
	struct condition_finder of = {.plan = plan, .schedule = schedule};
	schedule->loops = plan->frame_info ? plan->frame_info->loops : 1;
	struct dfg_err *err = find_conditions(&of);
	*out_unsupported = of.unsupported;
	dfg_liveness_release(&of.liveness);
	dfg_arena_release(&of.arena);
	dfg_free(of.first_of);
	dfg_free(of.next_of);
	dfg_free(of.path);
	return err;
}

/*
 * Whether the sides chosen satisfy the condition. A predicate that was not evaluated still has the side of an earlier
 * time, but then a predicate that it depends on has another side.
 */
bool dfg_condition_holds(const struct schedule *schedule, const int32_t *chosen, uint32_t condition)
{
	if (condition == UNREACHABLE)
		return false;
	for (; schedule->condition[condition].depth; condition = schedule->condition[condition].parent)
		if (chosen[schedule->condition[condition].predicate] != schedule->condition[condition].side)
			return false;
	return true;
}
