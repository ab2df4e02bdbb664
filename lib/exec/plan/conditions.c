#include "lib/exec/plan/schedule.h"

#include <string.h>

/* What is live under which predicates. */

struct guarding {
	struct dfg_plan *plan;
	struct course *course;
	struct dfg_arena *scratch;
	uint32_t *value;   /* by slot: the slot whose value it has, through what only passes on */
	uint32_t *flag_of; /* by slot, one that is a value: its flag, or DFG_NONE */
	uint32_t *reads;   /* by slot: inputs that it goes into */
	bool odd;
};

/* The guard with one pair more, of a flag larger than all of the parent's. */
static struct dfg_err *child(struct guarding *of, uint32_t parent, uint32_t flag, int32_t side, uint32_t *out_guard)
{
	struct course *course = of->course;
	for (uint32_t g = course->flag[flag].first_guard; g != DFG_NONE; g = course->guard[g].next)
		if (course->guard[g].parent == parent && course->guard[g].side == side) {
			*out_guard = g;
			return NULL;
		}
	if (!dfg_reserve(&course->guard, &course->guard_room, course->guards + 1, sizeof *course->guard))
		return dfg_no_memory("the schedule of the step");
	const struct guard *above = &course->guard[parent];
	of->odd |= above->depth + 1 >= GUARD_DEEPEST;
	*out_guard = (uint32_t)course->guards++;
	course->guard[*out_guard] = (struct guard){
		.parent = parent,
		.flag = flag,
		.loop = course->guard[parent].loop,
		.side = side,
		.depth = course->guard[parent].depth + 1,
		.next = course->flag[flag].first_guard,
	};
	course->flag[flag].first_guard = *out_guard;
	return NULL;
}

/* Pairs of a guard, the largest flag first. */
struct pairs {
	struct {
		uint32_t flag;
		int32_t side;
	} pair[GUARD_DEEPEST];
	uint32_t count, loop;
};

static void list(const struct course *course, uint32_t guard, struct pairs *pairs)
{
	pairs->count = 0;
	pairs->loop = course->guard[guard].loop;
	for (; course->guard[guard].depth && pairs->count < GUARD_DEEPEST; guard = course->guard[guard].parent) {
		pairs->pair[pairs->count].flag = course->guard[guard].flag;
		pairs->pair[pairs->count++].side = course->guard[guard].side;
	}
}

static struct dfg_err *guard_of_pairs(struct guarding *of, const struct pairs *pairs, uint32_t *out_guard)
{
	*out_guard = pairs->loop;
	for (uint32_t i = pairs->count; i--;)
		DFG_TRY(child(of, *out_guard, pairs->pair[i].flag, pairs->pair[i].side, out_guard));
	return NULL;
}

bool dfg_guards_exclude(const struct course *course, uint32_t one, uint32_t two)
{
	while (course->guard[one].depth && course->guard[two].depth) {
		const struct guard *a = &course->guard[one], *b = &course->guard[two];
		if (a->flag == b->flag && a->side != b->side)
			return true;
		if (a->flag >= b->flag)
			one = a->parent;
		if (b->flag >= a->flag)
			two = b->parent;
	}
	return false;
}

/* Live where both are. */
static struct dfg_err *both(struct guarding *of, uint32_t one, uint32_t two, uint32_t *out_guard)
{
	const struct course *course = of->course;
	struct pairs a, b, all = {0};
	*out_guard = one;
	if (one == two || one == NEVER)
		return NULL;
	*out_guard = NEVER;
	if (two == NEVER || dfg_guards_exclude(course, one, two))
		return NULL;
	list(course, one, &a);
	list(course, two, &b);
	if (a.count + b.count >= GUARD_DEEPEST || a.loop != b.loop) {
		of->odd = true;
		return NULL;
	}
	all.loop = a.loop;
	for (uint32_t i = 0, j = 0; i < a.count || j < b.count;) {
		bool first = j == b.count || (i < a.count && a.pair[i].flag >= b.pair[j].flag);
		bool second = i == a.count || (j < b.count && b.pair[j].flag >= a.pair[i].flag);
		all.pair[all.count++] = first ? a.pair[i] : b.pair[j];
		i += first;
		j += second;
	}
	return guard_of_pairs(of, &all, out_guard);
}

static struct dfg_err *with(struct guarding *of, uint32_t guard, uint32_t flag, int32_t side, uint32_t *out_guard)
{
	uint32_t only;
	*out_guard = NEVER;
	if (guard == NEVER)
		return NULL;
	DFG_TRY(child(of, of->course->guard[guard].loop, flag, side, &only));
	return both(of, guard, only, out_guard);
}

/* The flag of the predicate in the slot. */
static struct dfg_err *find_flag(
	struct guarding *of, uint32_t slot, const struct record *record, int n_out, uint32_t *out_flag)
{
	struct course *course = of->course;
	uint32_t value = of->value[slot], *flag = &of->flag_of[value];
	if (*flag == DFG_NONE) {
		if (!dfg_reserve(&course->flag, &course->flag_room, course->flags + 1, sizeof *course->flag))
			return dfg_no_memory("the schedule of the step");
		*flag = (uint32_t)course->flags++;
		course->flag[*flag] = (struct flag){
			.slot = value,
			.record = (uint32_t)(record - of->plan->record),
			.guard = course->slot_guard[value],
			.first_guard = DFG_NONE,
			.n_out = (uint16_t)n_out,
		};
	}
	of->odd |= course->flag[*flag].n_out != n_out;
	*out_flag = *flag;
	return NULL;
}

/* Live where all inputs are, and all records before it. */
static struct dfg_err *guard_of_inputs(struct guarding *of, const struct record *record, uint32_t *out_guard)
{
	struct dfg_plan *plan = of->plan;
	*out_guard = dfg_loop_of(plan, (uint32_t)(record - plan->record));
	for (int i = 0; i < record->n_in; i++)
		if (!dfg_always_there(plan, dfg_record_in(of->plan, record, i)))
			DFG_TRY(both(of, *out_guard, of->course->slot_guard[dfg_record_in(of->plan, record, i)], out_guard));
	for (uint32_t i = 0; i < record->n_control; i++) {
		uint32_t before = plan->control[record->first_control + i];
		if (!plan->record[before].preset)
			DFG_TRY(both(of, *out_guard, of->course->record_guard[before], out_guard));
	}
	return NULL;
}

/* Replaces guards that differ in the side of one flag only, and have all sides, by what they share. */
static struct dfg_err *resolve_flag(struct guarding *of, uint32_t *guard, uint32_t *count, uint32_t which)
{
	struct pairs pairs, rest;
	list(of->course, guard[which], &pairs);
	for (uint32_t p = 0; p < pairs.count; p++) {
		uint32_t flag = pairs.pair[p].flag, base, found = 0, kept = 0;
		int32_t sides = of->course->flag[flag].n_out;
		rest = pairs;
		memmove(&rest.pair[p], &rest.pair[p + 1], (--rest.count - p) * sizeof *rest.pair);
		DFG_TRY(guard_of_pairs(of, &rest, &base));
		for (int32_t side = 0; side < sides; side++) {
			uint32_t wanted;
			DFG_TRY(with(of, base, flag, side, &wanted));
			for (uint32_t i = 0; i < *count; i++)
				found += guard[i] == wanted;
		}
		if (found != (uint32_t)sides)
			continue;
		for (uint32_t i = 0; i < *count; i++) {
			struct pairs other;
			list(of->course, guard[i], &other);
			bool gone = other.count == pairs.count && dfg_guard_has(of->course, guard[i], flag, 0);
			for (int32_t side = 1; side < sides && !gone; side++)
				gone = other.count == pairs.count && dfg_guard_has(of->course, guard[i], flag, side);
			for (uint32_t j = 0; j < rest.count && gone; j++)
				gone = dfg_guard_has(of->course, guard[i], rest.pair[j].flag, rest.pair[j].side);
			if (!gone)
				guard[kept++] = guard[i];
		}
		guard[kept++] = base;
		*count = kept;
		return NULL;
	}
	return NULL;
}

/* Live where one of them is, which must be the same as where some pairs hold. */
static struct dfg_err *one_of(struct guarding *of, uint32_t *guard, uint32_t count, uint32_t *out_guard)
{
	*out_guard = NEVER;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < i; j++)
			of->odd |= !dfg_guards_exclude(of->course, guard[i], guard[j]);
	for (uint32_t before = count + 1; count > 1 && count < before && !of->odd;) {
		before = count;
		for (uint32_t i = 0; i < count && count == before; i++)
			DFG_TRY(resolve_flag(of, guard, &count, i));
	}
	of->odd |= count > 1;
	if (count == 1)
		*out_guard = guard[0];
	return NULL;
}

static struct dfg_err *guard_of_merge(struct guarding *of, const struct record *record, uint32_t *out_guard)
{
	struct dfg_plan *plan = of->plan;
	uint32_t count = 0, *guard = dfg_arena_zeros(of->scratch, record->n_in, sizeof *guard);
	if (!guard)
		return dfg_no_memory("the schedule of the step");
	for (int i = 0; i < record->n_in; i++) {
		uint32_t slot = dfg_record_in(of->plan, record, i);
		uint32_t g = dfg_always_there(plan, slot) ? dfg_loop_of(plan, (uint32_t)(record - plan->record))
												  : of->course->slot_guard[slot];
		if (g != NEVER)
			guard[count++] = g;
	}
	return one_of(of, guard, count, out_guard);
}

static void set_outputs(struct guarding *of, const struct record *record, uint32_t guard)
{
	for (int i = 0; i < record->n_out; i++)
		of->course->slot_guard[dfg_record_out(of->plan, record, i)] = guard;
	of->course->record_guard[record - of->plan->record] = guard;
}

static struct dfg_err *guard_switch(struct guarding *of, const struct record *record, uint32_t guard)
{
	uint32_t flag;
	set_outputs(of, record, guard);
	DFG_TRY(find_flag(of, dfg_record_in(of->plan, record, 1), record, record->n_out, &flag));
	of->course->record_flag[record - of->plan->record] = flag;
	for (int i = 0; i < record->n_out; i++)
		DFG_TRY(with(of, guard, flag, i, &of->course->slot_guard[dfg_record_out(of->plan, record, i)]));
	return NULL;
}

static struct dfg_err *guard_loop_cond(struct guarding *of, const struct record *record, uint32_t guard)
{
	struct bend *bend = &of->course->bend[dfg_loop_of(of->plan, (uint32_t)(record - of->plan->record))];
	uint32_t flag;
	set_outputs(of, record, guard);
	DFG_TRY(find_flag(of, dfg_record_in(of->plan, record, 0), record, 2, &flag));
	of->odd |= bend->flag != DFG_NONE && bend->flag != flag;
	bend->flag = flag;
	return NULL;
}

static bool is_constant_enter(const struct record *record)
{
	return record->call->attr[dfg_op_attr(record->call->signature, "is_constant")].b;
}

/* All variables of a loop are live together. */
static void guard_enter(struct guarding *of, const struct record *record, uint32_t guard)
{
	uint32_t loop = of->plan->flow->slot_loop[dfg_record_out(of->plan, record, 0)];
	struct bend *bend = &of->course->bend[loop];
	set_outputs(of, record, loop);
	if (is_constant_enter(record))
		return;
	of->odd |= guard == NEVER || (bend->guard != DFG_NONE && bend->guard != guard);
	bend->guard = guard;
}

/* What does not vary is live wherever its loop is. */
static struct dfg_err *check_constant(struct guarding *of, const struct record *record)
{
	uint32_t guard, all, loop = of->plan->flow->slot_loop[dfg_record_out(of->plan, record, 0)];
	uint32_t wanted = of->course->bend[loop].guard;
	DFG_TRY(guard_of_inputs(of, record, &guard));
	if (wanted == DFG_NONE)
		return NULL;
	DFG_TRY(both(of, wanted, guard, &all));
	of->odd |= all != wanted;
	return NULL;
}

/* What leaves a loop does so under its predicate alone. */
static struct dfg_err *guard_leaving(struct guarding *of, const struct record *record, uint32_t guard, int32_t side)
{
	uint32_t loop = dfg_loop_of(of->plan, (uint32_t)(record - of->plan->record)), right = NEVER;
	const struct bend *bend = &of->course->bend[loop];
	if (bend->flag != DFG_NONE)
		DFG_TRY(with(of, loop, bend->flag, side, &right));
	of->odd |= right == NEVER || right != guard;
	set_outputs(of, record, side ? loop : bend->guard);
	return NULL;
}

static struct dfg_err *guard_record(struct guarding *of, const struct record *record)
{
	uint32_t guard, loop = dfg_loop_of(of->plan, (uint32_t)(record - of->plan->record));
	if (dfg_is_loop_merge(of->plan, record)) {
		set_outputs(of, record, loop);
		return NULL;
	}
	DFG_TRY(guard_of_inputs(of, record, &guard));
	switch (record->role) {
	case DFG_SWITCH:
		return guard_switch(of, record, guard);
	case DFG_MERGE:
		DFG_TRY(guard_of_merge(of, record, &guard));
		break;
	case DFG_ENTER:
		guard_enter(of, record, guard);
		return NULL;
	case DFG_EXIT:
		return guard_leaving(of, record, guard, 0);
	case DFG_NEXT_ITERATION:
		return guard_leaving(of, record, guard, 1);
	case DFG_LOOP_COND:
		return guard_loop_cond(of, record, guard);
	case DFG_CONTROL_TRIGGER:
		guard = loop;
		break;
	default:
		break;
	}
	set_outputs(of, record, guard);
	return NULL;
}

/* Slots that have the value of another. A ref is read at a moment. */
static void find_values(struct guarding *of)
{
	const struct dfg_plan *plan = of->plan;
	for (uint32_t s = 0; s < plan->slots; s++)
		of->value[s] = s;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct record *record = &plan->record[r];
		for (int i = 0; i < record->n_in; i++)
			of->reads[dfg_record_in(of->plan, record, i)]++;
		bool passes = record->role == DFG_IDENTITY || record->role == DFG_LOOP_COND || record->role == DFG_SWITCH;
		for (int i = 0; i < record->n_out && passes; i++) {
			uint32_t in = dfg_record_in(of->plan, record, record->role == DFG_SWITCH ? 0 : i);
			if (!plan->is_ref[in])
				of->value[dfg_record_out(of->plan, record, i)] = of->value[in];
		}
	}
}

/* A loop variable is one Enter and one NextIteration that meet in one Merge, and nowhere else. */
static void add_carried(struct guarding *of, const struct record *merge, struct carried *carried)
{
	const struct dfg_plan *plan = of->plan;
	uint32_t first = dfg_record_in(of->plan, merge, 0), second = dfg_record_in(of->plan, merge, merge->n_in - 1);
	of->odd |= merge->n_in != 2 || merge->n_control || merge->tells_index;
	if (of->odd || dfg_always_there(plan, first) || dfg_always_there(plan, second)) {
		of->odd = true;
		return;
	}
	const struct record *enter = &plan->record[plan->maker[first]], *next = &plan->record[plan->maker[second]];
	if (enter->role == DFG_NEXT_ITERATION) {
		const struct record *swap = enter;
		enter = next;
		next = swap;
	}
	of->odd |= enter->role != DFG_ENTER || next->role != DFG_NEXT_ITERATION || is_constant_enter(enter);
	of->odd |= of->reads[first] != 1 || of->reads[second] != 1 || plan->is_ref[first] || plan->is_ref[second];
	*carried = (struct carried){
		.merge = dfg_record_out(of->plan, merge, 0),
		.enter = dfg_record_in(of->plan, enter, 0),
		.next = dfg_record_in(of->plan, next, 0),
		.spare = dfg_record_out(of->plan, next, 0),
	};
}

static void find_carried(struct guarding *of)
{
	const struct dfg_plan *plan = of->plan;
	struct course *course = of->course;
	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t r = 0; r < plan->count; r++) {
			struct bend *bend = &course->bend[dfg_loop_of(plan, r)];
			if (!dfg_is_loop_merge(plan, &plan->record[r]))
				continue;
			if (fill && !of->odd)
				add_carried(of, &plan->record[r], &course->carried[bend->first_carried + bend->n_carried]);
			bend->n_carried++;
		}
		for (uint32_t l = 0, total = 0; l < course->loops && !fill; l++) {
			course->bend[l].first_carried = total;
			total += course->bend[l].n_carried;
			course->bend[l].n_carried = 0;
		}
	}
}

/* What enters is read by Merges, or is there in every iteration; nothing waits for it or for a NextIteration. */
static struct dfg_err *check_borders(struct guarding *of)
{
	const struct dfg_plan *plan = of->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct record *record = &plan->record[r];
		bool merges = dfg_is_loop_merge(plan, record);
		for (uint32_t i = 0; i < (uint32_t)record->n_in + record->n_control; i++) {
			bool control = i >= record->n_in;
			uint32_t slot = control ? 0 : dfg_record_in(of->plan, record, (int)i);
			if (!control && dfg_always_there(plan, slot))
				continue;
			const struct record *from =
				&plan->record[control ? plan->control[record->first_control + i - record->n_in] : plan->maker[slot]];
			bool varies = from->role == DFG_NEXT_ITERATION || (from->role == DFG_ENTER && !is_constant_enter(from));
			of->odd |= varies && (control || !merges);
		}
		bool border = record->role == DFG_ENTER || record->role == DFG_EXIT;
		of->odd |= border && plan->is_ref[dfg_record_out(of->plan, record, 0)] !=
								 plan->is_ref[dfg_record_in(of->plan, record, 0)];
		if (record->role == DFG_ENTER && is_constant_enter(record))
			DFG_TRY(check_constant(of, record));
	}
	for (uint32_t l = 1; l < of->course->loops; l++)
		of->odd |= of->course->bend[l].flag == DFG_NONE || of->course->bend[l].guard == DFG_NONE ||
				   !of->course->bend[l].n_carried;
	return NULL;
}

static struct dfg_err *take_room(struct guarding *of)
{
	const struct dfg_plan *plan = of->plan;
	struct course *course = of->course;
	struct dfg_arena *arena = &of->plan->arena;
	uint32_t merges = 0;
	course->save = dfg_arena_zeros(arena, plan->count, sizeof *course->save);
	if (!course->save)
		return dfg_no_memory("the schedule of the step");
	for (uint32_t r = 0; r < plan->count; r++) {
		merges += plan->record[r].role == DFG_MERGE;
		if (plan->record[r].role == DFG_SAVE)
			course->save[r] = course->saves++;
	}
	course->slot_guard = dfg_arena_zeros(arena, plan->slots, sizeof *course->slot_guard);
	course->record_guard = dfg_arena_zeros(arena, plan->count, sizeof *course->record_guard);
	course->record_flag = dfg_arena_zeros(arena, plan->count, sizeof *course->record_flag);
	course->bend = dfg_arena_zeros(arena, course->loops, sizeof *course->bend);
	course->carried = dfg_arena_zeros(arena, merges, sizeof *course->carried);
	of->value = dfg_arena_zeros(of->scratch, plan->slots, sizeof *of->value);
	of->flag_of = dfg_arena_zeros(of->scratch, plan->slots, sizeof *of->flag_of);
	of->reads = dfg_arena_zeros(of->scratch, plan->slots, sizeof *of->reads);
	if (!course->slot_guard || !course->record_guard || !course->record_flag || !course->bend || !course->carried ||
		!of->value || !of->flag_of || !of->reads ||
		!dfg_reserve(&course->guard, &course->guard_room, course->loops, sizeof *course->guard))
		return dfg_no_memory("the schedule of the step");
	course->guards = course->loops;
	memset(of->flag_of, 0xff, plan->slots * sizeof *of->flag_of);
	for (uint32_t l = 0; l < course->loops; l++) {
		course->guard[l] = (struct guard){.parent = DFG_NONE, .loop = l};
		course->bend[l] = (struct bend){.guard = l ? DFG_NONE : 0, .flag = DFG_NONE};
	}
	return NULL;
}

struct dfg_err *dfg_guards_find(struct dfg_plan *plan, struct dfg_arena *scratch, struct course *course, bool *out_odd)
{
	struct guarding of = {.plan = plan, .course = course, .scratch = scratch};
	course->loops = plan->flow ? plan->flow->loops : 1;
	DFG_TRY(take_room(&of));
	find_values(&of);
	for (uint32_t r = 0; r < plan->count && !of.odd; r++)
		if (!plan->record[r].preset)
			DFG_TRY(guard_record(&of, &plan->record[r]));
	if (!of.odd)
		find_carried(&of);
	if (!of.odd)
		DFG_TRY(check_borders(&of));
	*out_odd = of.odd;
	return NULL;
}

/*
 * Whether all was chosen that the guard asks for. What was not reached has a side of an earlier time, but then what it
 * depends on was not chosen either.
 */
bool dfg_guard_holds(const struct course *course, const int32_t *chosen, uint32_t guard)
{
	if (guard == NEVER)
		return false;
	for (; course->guard[guard].depth; guard = course->guard[guard].parent)
		if (chosen[course->guard[guard].flag] != course->guard[guard].side)
			return false;
	return true;
}
