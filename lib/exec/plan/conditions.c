#include "lib/exec/plan/schedule.h"

#include <string.h>

/* Working data for finding the path condition of each slot and node. */

struct condition_finder {
	struct dfg_plan *plan;
	struct schedule *schedule;
	struct dfg_arena *scratch;
	uint32_t *value;        /* by slot: the slot whose value it forwards unchanged */
	uint32_t *predicate_of; /* by slot that is not forwarded: its predicate, or DFG_NONE */
	uint32_t *reads;        /* by slot: number of inputs that read it */
	bool unsupported;
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
			&schedule->condition, &schedule->condition_room, schedule->conditions + 1, sizeof *schedule->condition))
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

/* The pairs of a condition, the largest predicate first. */
struct pairs {
	struct {
		uint32_t predicate;
		int32_t side;
	} pair[CONDITION_DEPTH_MAX];
	uint32_t count, loop;
};

static void list_pairs(const struct schedule *schedule, uint32_t condition, struct pairs *pairs)
{
	pairs->count = 0;
	pairs->loop = schedule->condition[condition].loop;
	for (; schedule->condition[condition].depth && pairs->count < CONDITION_DEPTH_MAX;
		 condition = schedule->condition[condition].parent) {
		pairs->pair[pairs->count].predicate = schedule->condition[condition].predicate;
		pairs->pair[pairs->count++].side = schedule->condition[condition].side;
	}
}

static struct dfg_err *condition_of_pairs(
	struct condition_finder *of, const struct pairs *pairs, uint32_t *out_condition)
{
	*out_condition = pairs->loop;
	for (uint32_t i = pairs->count; i--;)
		DFG_TRY(child_condition(of, *out_condition, pairs->pair[i].predicate, pairs->pair[i].side, out_condition));
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

/* The conjunction of two conditions. */
static struct dfg_err *conjunction(struct condition_finder *of, uint32_t one, uint32_t two, uint32_t *out_condition)
{
	const struct schedule *schedule = of->schedule;
	struct pairs a, b, all = {0};
	*out_condition = one;
	if (one == two || one == UNREACHABLE)
		return NULL;
	*out_condition = UNREACHABLE;
	if (two == UNREACHABLE || dfg_conditions_exclude(schedule, one, two))
		return NULL;
	list_pairs(schedule, one, &a);
	list_pairs(schedule, two, &b);
	if (a.count + b.count >= CONDITION_DEPTH_MAX || a.loop != b.loop) {
		of->unsupported = true;
		return NULL;
	}
	all.loop = a.loop;
	for (uint32_t i = 0, j = 0; i < a.count || j < b.count;) {
		bool first = j == b.count || (i < a.count && a.pair[i].predicate >= b.pair[j].predicate);
		bool second = i == a.count || (j < b.count && b.pair[j].predicate >= a.pair[i].predicate);
		all.pair[all.count++] = first ? a.pair[i] : b.pair[j];
		i += first;
		j += second;
	}
	return condition_of_pairs(of, &all, out_condition);
}

static struct dfg_err *conjunction_with_pair(
	struct condition_finder *of, uint32_t condition, uint32_t predicate, int32_t side, uint32_t *out_condition)
{
	uint32_t only;
	*out_condition = UNREACHABLE;
	if (condition == UNREACHABLE)
		return NULL;
	DFG_TRY(child_condition(of, of->schedule->condition[condition].loop, predicate, side, &only));
	return conjunction(of, condition, only, out_condition);
}

/* The predicate controlled by the value in the slot. */
static struct dfg_err *find_predicate(
	struct condition_finder *of, uint32_t slot, const struct plan_node *node, int n_out, uint32_t *out_predicate)
{
	struct schedule *schedule = of->schedule;
	uint32_t value = of->value[slot], *predicate = &of->predicate_of[value];
	if (*predicate == DFG_NONE) {
		if (!dfg_reserve(
				&schedule->predicate, &schedule->predicate_room, schedule->predicates + 1, sizeof *schedule->predicate))
			return dfg_no_memory("the schedule of the step");
		*predicate = (uint32_t)schedule->predicates++;
		schedule->predicate[*predicate] = (struct predicate){
			.slot = value,
			.node = (uint32_t)(node - of->plan->node),
			.condition = schedule->slot_condition[value],
			.first_condition = DFG_NONE,
			.n_out = (uint16_t)n_out,
		};
	}
	of->unsupported |= schedule->predicate[*predicate].n_out != n_out;
	*out_predicate = *predicate;
	return NULL;
}

/* The conjunction of the conditions of all data and control inputs. */
static struct dfg_err *condition_of_inputs(
	struct condition_finder *of, const struct plan_node *node, uint32_t *out_condition)
{
	struct dfg_plan *plan = of->plan;
	*out_condition = dfg_loop_of(plan, (uint32_t)(node - plan->node));
	for (int i = 0; i < node->n_in; i++)
		if (!dfg_always_there(plan, dfg_plan_node_in(of->plan, node, i)))
			DFG_TRY(conjunction(
				of, *out_condition, of->schedule->slot_condition[dfg_plan_node_in(of->plan, node, i)], out_condition));
	for (uint32_t i = 0; i < node->n_control; i++) {
		uint32_t before = plan->control[node->first_control + i];
		if (!plan->node[before].preset)
			DFG_TRY(conjunction(of, *out_condition, of->schedule->node_condition[before], out_condition));
	}
	return NULL;
}

/*
 * If conditions that differ only in the side of one predicate cover all its sides, replaces them by their common part.
 */
static struct dfg_err *resolve_predicate(
	struct condition_finder *of, uint32_t *condition, uint32_t *count, uint32_t which)
{
	struct pairs pairs, others;
	list_pairs(of->schedule, condition[which], &pairs);
	for (uint32_t p = 0; p < pairs.count; p++) {
		uint32_t predicate = pairs.pair[p].predicate, base, found = 0, kept = 0;
		int32_t sides = of->schedule->predicate[predicate].n_out;
		others = pairs;
		memmove(&others.pair[p], &others.pair[p + 1], (--others.count - p) * sizeof *others.pair);
		DFG_TRY(condition_of_pairs(of, &others, &base));
		for (int32_t side = 0; side < sides; side++) {
			uint32_t wanted;
			DFG_TRY(conjunction_with_pair(of, base, predicate, side, &wanted));
			for (uint32_t i = 0; i < *count; i++)
				found += condition[i] == wanted;
		}
		if (found != (uint32_t)sides)
			continue;
		for (uint32_t i = 0; i < *count; i++) {
			struct pairs other;
			list_pairs(of->schedule, condition[i], &other);
			bool gone = other.count == pairs.count && dfg_condition_has(of->schedule, condition[i], predicate, 0);
			for (int32_t side = 1; side < sides && !gone; side++)
				gone = other.count == pairs.count && dfg_condition_has(of->schedule, condition[i], predicate, side);
			for (uint32_t j = 0; j < others.count && gone; j++)
				gone = dfg_condition_has(of->schedule, condition[i], others.pair[j].predicate, others.pair[j].side);
			if (!gone)
				condition[kept++] = condition[i];
		}
		condition[kept++] = base;
		*count = kept;
		return NULL;
	}
	return NULL;
}

/* The disjunction of the conditions, which must be mutually exclusive and equivalent to a single condition. */
static struct dfg_err *disjunction(
	struct condition_finder *of, uint32_t *condition, uint32_t count, uint32_t *out_condition)
{
	*out_condition = UNREACHABLE;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < i; j++)
			of->unsupported |= !dfg_conditions_exclude(of->schedule, condition[i], condition[j]);
	for (uint32_t before = count + 1; count > 1 && count < before && !of->unsupported;) {
		before = count;
		for (uint32_t i = 0; i < count && count == before; i++)
			DFG_TRY(resolve_predicate(of, condition, &count, i));
	}
	of->unsupported |= count > 1;
	if (count == 1)
		*out_condition = condition[0];
	return NULL;
}

static struct dfg_err *condition_of_merge(
	struct condition_finder *of, const struct plan_node *node, uint32_t *out_condition)
{
	struct dfg_plan *plan = of->plan;
	uint32_t count = 0, *condition = dfg_arena_zeros(of->scratch, node->n_in, sizeof *condition);
	if (!condition)
		return dfg_no_memory("the schedule of the step");
	for (int i = 0; i < node->n_in; i++) {
		uint32_t slot = dfg_plan_node_in(of->plan, node, i);
		uint32_t g = dfg_always_there(plan, slot) ? dfg_loop_of(plan, (uint32_t)(node - plan->node))
												  : of->schedule->slot_condition[slot];
		if (g != UNREACHABLE)
			condition[count++] = g;
	}
	return disjunction(of, condition, count, out_condition);
}

static void set_outputs(struct condition_finder *of, const struct plan_node *node, uint32_t condition)
{
	for (int i = 0; i < node->n_out; i++)
		of->schedule->slot_condition[dfg_plan_node_out(of->plan, node, i)] = condition;
	of->schedule->node_condition[node - of->plan->node] = condition;
}

static struct dfg_err *visit_switch(struct condition_finder *of, const struct plan_node *node, uint32_t condition)
{
	uint32_t predicate;
	set_outputs(of, node, condition);
	DFG_TRY(find_predicate(of, dfg_plan_node_in(of->plan, node, 1), node, node->n_out, &predicate));
	of->schedule->node_predicate[node - of->plan->node] = predicate;
	for (int i = 0; i < node->n_out; i++)
		DFG_TRY(conjunction_with_pair(
			of, condition, predicate, i, &of->schedule->slot_condition[dfg_plan_node_out(of->plan, node, i)]));
	return NULL;
}

static struct dfg_err *visit_loop_cond(struct condition_finder *of, const struct plan_node *node, uint32_t condition)
{
	struct loop_info *loop_info = &of->schedule->loop_info[dfg_loop_of(of->plan, (uint32_t)(node - of->plan->node))];
	uint32_t predicate;
	set_outputs(of, node, condition);
	DFG_TRY(find_predicate(of, dfg_plan_node_in(of->plan, node, 0), node, 2, &predicate));
	of->unsupported |= loop_info->predicate != DFG_NONE && loop_info->predicate != predicate;
	loop_info->predicate = predicate;
	return NULL;
}

static bool is_constant_enter(const struct plan_node *node)
{
	return node->call->attr[dfg_op_attr(node->call->signature, "is_constant")].b;
}

/* All variables of a loop must have the same condition. */
static void visit_enter(struct condition_finder *of, const struct plan_node *node, uint32_t condition)
{
	uint32_t loop = of->plan->frame_info->slot_loop[dfg_plan_node_out(of->plan, node, 0)];
	struct loop_info *loop_info = &of->schedule->loop_info[loop];
	set_outputs(of, node, loop);
	if (is_constant_enter(node))
		return;
	of->unsupported |=
		condition == UNREACHABLE || (loop_info->condition != DFG_NONE && loop_info->condition != condition);
	loop_info->condition = condition;
}

/* A loop invariant must be live whenever its loop runs. */
static struct dfg_err *check_constant(struct condition_finder *of, const struct plan_node *node)
{
	uint32_t condition, all, loop = of->plan->frame_info->slot_loop[dfg_plan_node_out(of->plan, node, 0)];
	uint32_t wanted = of->schedule->loop_info[loop].condition;
	DFG_TRY(condition_of_inputs(of, node, &condition));
	if (wanted == DFG_NONE)
		return NULL;
	DFG_TRY(conjunction(of, wanted, condition, &all));
	of->unsupported |= all != wanted;
	return NULL;
}

/* A value may leave a loop, or its iteration, under the condition of the loop's predicate only. */
static struct dfg_err *visit_loop_output(
	struct condition_finder *of, const struct plan_node *node, uint32_t condition, int32_t side)
{
	uint32_t loop = dfg_loop_of(of->plan, (uint32_t)(node - of->plan->node)), right = UNREACHABLE;
	const struct loop_info *loop_info = &of->schedule->loop_info[loop];
	if (loop_info->predicate != DFG_NONE)
		DFG_TRY(conjunction_with_pair(of, loop, loop_info->predicate, side, &right));
	of->unsupported |= right == UNREACHABLE || right != condition;
	set_outputs(of, node, side ? loop : loop_info->condition);
	return NULL;
}

static struct dfg_err *visit_node(struct condition_finder *of, const struct plan_node *node)
{
	uint32_t condition, loop = dfg_loop_of(of->plan, (uint32_t)(node - of->plan->node));
	if (dfg_is_loop_merge(of->plan, node)) {
		set_outputs(of, node, loop);
		return NULL;
	}
	DFG_TRY(condition_of_inputs(of, node, &condition));
	switch (node->role) {
	case DFG_SWITCH:
		return visit_switch(of, node, condition);
	case DFG_MERGE:
		DFG_TRY(condition_of_merge(of, node, &condition));
		break;
	case DFG_ENTER:
		visit_enter(of, node, condition);
		return NULL;
	case DFG_EXIT:
		return visit_loop_output(of, node, condition, 0);
	case DFG_NEXT_ITERATION:
		return visit_loop_output(of, node, condition, 1);
	case DFG_LOOP_COND:
		return visit_loop_cond(of, node, condition);
	case DFG_CONTROL_TRIGGER:
		condition = loop;
		break;
	default:
		break;
	}
	set_outputs(of, node, condition);
	return NULL;
}

/*
 * Finds slots that have the value of another slot. A ref is excluded: its value depends on the time at which it is
 * read.
 */
static void find_values(struct condition_finder *of)
{
	const struct dfg_plan *plan = of->plan;
	for (uint32_t s = 0; s < plan->slots; s++)
		of->value[s] = s;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		for (int i = 0; i < node->n_in; i++)
			of->reads[dfg_plan_node_in(of->plan, node, i)]++;
		bool passes = node->role == DFG_IDENTITY || node->role == DFG_LOOP_COND || node->role == DFG_SWITCH;
		for (int i = 0; i < node->n_out && passes; i++) {
			uint32_t in = dfg_plan_node_in(of->plan, node, node->role == DFG_SWITCH ? 0 : i);
			if (!plan->is_ref[in])
				of->value[dfg_plan_node_out(of->plan, node, i)] = of->value[in];
		}
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
static struct dfg_err *check_borders(struct condition_finder *of)
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
		if (node->role == DFG_ENTER && is_constant_enter(node))
			DFG_TRY(check_constant(of, node));
	}
	for (uint32_t l = 1; l < of->schedule->loops; l++)
		of->unsupported |= of->schedule->loop_info[l].predicate == DFG_NONE ||
						   of->schedule->loop_info[l].condition == DFG_NONE || !of->schedule->loop_info[l].n_carried;
	return NULL;
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
	of->value = dfg_arena_zeros(of->scratch, plan->slots, sizeof *of->value);
	of->predicate_of = dfg_arena_zeros(of->scratch, plan->slots, sizeof *of->predicate_of);
	of->reads = dfg_arena_zeros(of->scratch, plan->slots, sizeof *of->reads);
	if (!schedule->slot_condition || !schedule->node_condition || !schedule->node_predicate || !schedule->loop_info ||
		!schedule->carried || !of->value || !of->predicate_of || !of->reads ||
		!dfg_reserve(&schedule->condition, &schedule->condition_room, schedule->loops, sizeof *schedule->condition))
		return dfg_no_memory("the schedule of the step");
	schedule->conditions = schedule->loops;
	memset(of->predicate_of, 0xff, plan->slots * sizeof *of->predicate_of);
	for (uint32_t l = 0; l < schedule->loops; l++) {
		schedule->condition[l] = (struct condition){.parent = DFG_NONE, .loop = l};
		schedule->loop_info[l] = (struct loop_info){.condition = l ? DFG_NONE : 0, .predicate = DFG_NONE};
	}
	return NULL;
}

struct dfg_err *dfg_conditions_find(
	struct dfg_plan *plan, struct dfg_arena *scratch, struct schedule *schedule, bool *out_unsupported)
{
	struct condition_finder of = {.plan = plan, .schedule = schedule, .scratch = scratch};
	schedule->loops = plan->frame_info ? plan->frame_info->loops : 1;
	DFG_TRY(allocate_arrays(&of));
	find_values(&of);
	for (uint32_t r = 0; r < plan->count && !of.unsupported; r++)
		if (!plan->node[r].preset)
			DFG_TRY(visit_node(&of, &plan->node[r]));
	if (!of.unsupported)
		find_carried(&of);
	if (!of.unsupported)
		DFG_TRY(check_borders(&of));
	*out_unsupported = of.unsupported;
	return NULL;
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
