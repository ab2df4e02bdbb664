#include "lib/exec/plan/frame_info.h"

#include <string.h>

struct flow_maker {
	struct dfg_plan *plan;
	struct flow *flow;
	struct dfg_arena *scratch;
	struct dfg_map names; /* of the loops behind the root */
	size_t room;
	uint32_t *out_loop; /* by record: where its outputs live */
};

static const union dfg_value *attr_of(const struct record *record, const char *name)
{
	return &record->call->attr[dfg_op_attr(record->call->signature, name)];
}

static struct dfg_err *no_frame(const struct record *record)
{
	return dfg_call_note(DFG_ERR(DFG_DATA, "stands outside all loops"), record->call);
}

static struct dfg_err *enter_loop(struct flow_maker *maker, const struct record *record, uint32_t from, uint32_t *out)
{
	struct flow *flow = maker->flow;
	struct dfg_string name = attr_of(record, "frame_name")->s;
	int64_t window = attr_of(record, "parallel_iterations")->i;
	bool is_new;
	if (!dfg_map_put(&maker->names, name.s, name.length, out, &is_new) ||
		!dfg_reserve(&flow->loop, &maker->room, (size_t)*out + 2, sizeof *flow->loop))
		return dfg_no_memory("the frames of the step");
	struct loop *loop = &flow->loop[++*out];
	if (is_new) {
		const char *copy = dfg_arena_copy(&maker->plan->arena, name.s, name.length);
		const char *path =
			from ? dfg_arena_print(&maker->plan->arena, "%s/%s", flow->loop[from].path, copy ? copy : "") : copy;
		if (!copy || !path)
			return dfg_no_memory("the frames of the step");
		*loop = (struct loop){
			.name = copy, .path = path, .parent = from, .child = flow->loop[from].children++, .window = window};
		flow->loops++;
	}
	if (loop->parent != from)
		return DFG_ERR(DFG_DATA, "enters frame '%s', which is entered from another loop too", loop->name);
	if (loop->window != window || window < 1)
		return DFG_ERR(DFG_DATA, "enters frame '%s' with parallel_iterations %lld, others with %lld", loop->name,
			(long long)window, (long long)loop->window);
	loop->enters++;
	loop->constants += attr_of(record, "is_constant")->b;
	return NULL;
}

/* Where the outputs of a record in loop `from` live. */
static struct dfg_err *leave_record(struct flow_maker *maker, const struct record *record, uint32_t from, uint32_t *out)
{
	struct flow *flow = maker->flow;
	*out = from;
	switch (record->role) {
	case DFG_ENTER:
		return dfg_call_note(enter_loop(maker, record, from, out), record->call);
	case DFG_EXIT:
		if (!from)
			return no_frame(record);
		flow->loop[from].exits++;
		*out = flow->loop[from].parent;
		return NULL;
	case DFG_NEXT_ITERATION:
		if (!from)
			return no_frame(record);
		flow->loop[from].nexts++;
		return NULL;
	default:
		return NULL;
	}
}

/* The first input that has a loop says in which the record is; all must agree, which is checked when all are known. */
static uint32_t loop_of_inputs(const struct flow_maker *maker, uint32_t r)
{
	const struct dfg_plan *plan = maker->plan;
	const struct record *record = &plan->record[r];
	for (int i = 0; i < record->n_in; i++) {
		uint32_t slot = dfg_record_in(plan, record, i);
		if (!dfg_always_there(plan, slot) && maker->flow->slot_loop[slot] != DFG_NONE)
			return maker->flow->slot_loop[slot];
	}
	for (uint32_t i = 0; i < record->n_control; i++) {
		uint32_t before = plan->control[record->first_control + i];
		if (!plan->record[before].preset)
			return maker->out_loop[before];
	}
	return 0;
}

static const char *loop_name(const struct flow *flow, uint32_t loop)
{
	return loop ? flow->loop[loop].name : "outside all loops";
}

static struct dfg_err *mixed(const struct flow_maker *maker, uint32_t r, const char *input, uint32_t from)
{
	uint32_t loop = maker->flow->loop_of[r];
	return dfg_call_note(DFG_ERR(DFG_DATA, "takes inputs from different frames: '%s' is %s%s%s, others %s%s%s", input,
							 from ? "in '" : "", loop_name(maker->flow, from), from ? "'" : "", loop ? "in '" : "",
							 loop_name(maker->flow, loop), loop ? "'" : ""),
		maker->plan->record[r].call);
}

static struct dfg_err *check_inputs(const struct flow_maker *maker, uint32_t r)
{
	const struct dfg_plan *plan = maker->plan;
	const struct record *record = &plan->record[r];
	uint32_t loop = maker->flow->loop_of[r];
	for (int i = 0; i < record->n_in; i++) {
		uint32_t slot = dfg_record_in(plan, record, i);
		if (maker->flow->slot_loop[slot] != loop)
			return mixed(maker, r, dfg_slot_words(plan, slot).s, maker->flow->slot_loop[slot]);
	}
	for (uint32_t i = 0; i < record->n_control; i++) {
		uint32_t before = plan->control[record->first_control + i];
		if (!plan->record[before].preset && maker->out_loop[before] != loop)
			return mixed(maker, r, plan->record[before].call->node, maker->out_loop[before]);
	}
	return NULL;
}

static struct dfg_err *find_loops(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct flow *flow = maker->flow;
	for (uint32_t i = 0; i < plan->slots; i++)
		flow->slot_loop[i] = dfg_always_there(plan, i) ? 0 : DFG_NONE;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct record *record = &plan->record[r];
		flow->loop_of[r] = loop_of_inputs(maker, r);
		DFG_TRY(leave_record(maker, record, flow->loop_of[r], &maker->out_loop[r]));
		for (int i = 0; i < record->n_out; i++)
			flow->slot_loop[dfg_record_out(plan, record, i)] = maker->out_loop[r];
	}
	for (uint32_t r = 0; r < plan->count; r++)
		DFG_TRY(check_inputs(maker, r));
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		if (flow->slot_loop[plan->fetch[i]])
			return DFG_ERR(DFG_DATA, "fetch '%s' is inside the loop '%s': only what leaves it can be fetched",
				dfg_slot_words(plan, plan->fetch[i]).s, flow->loop[flow->slot_loop[plan->fetch[i]]].name);
	return NULL;
}

static struct dfg_err *keep_save(struct flow_maker *maker, uint32_t r)
{
	struct flow *flow = maker->flow;
	struct keep *keep = &flow->keep[r];
	uint32_t depth = 0;
	keep->levels = (uint32_t)maker->plan->record[r].n_in - 1;
	for (uint32_t l = flow->loop_of[r]; l; l = flow->loop[l].parent)
		depth++;
	if (keep->levels > depth || keep->levels > KEYS_MOST)
		return DFG_ERR(DFG_DATA, "has %u keys, one a loop around it, but stands in %u loops", keep->levels, depth);
	keep->region = flow->loop_of[r];
	for (uint32_t i = 0; i < keep->levels; i++)
		keep->region = flow->loop[keep->region].parent;
	keep->number = flow->loop[keep->region].saves++;
	return NULL;
}

/*
 * A value is dropped when each Load has read it, once. A Load further in than the Save may well read a key more than
 * once: for such a one, or where Loads are too many to tell apart, values stay as long as their region.
 */
static struct dfg_err *keep_load(struct flow_maker *maker, uint32_t r)
{
	struct flow *flow = maker->flow;
	struct keep *keep = &flow->keep[r], *save = &flow->keep[maker->plan->record[r].save];
	uint32_t loop = flow->loop_of[r];
	*keep = (struct keep){.region = save->region, .number = save->number};
	for (; loop && loop != keep->region; loop = flow->loop[loop].parent)
		keep->levels++;
	if (loop != keep->region)
		return DFG_ERR(DFG_DATA, "stands outside of loop '%s', whose iterations keep what '%s' saves",
			flow->loop[keep->region].path, maker->plan->record[maker->plan->record[r].save].call->node);
	bool countable = keep->levels <= save->levels && save->loads < 64 && (save->readers || !save->loads);
	keep->readers = countable ? UINT64_C(1) << save->loads : 0;
	save->readers = countable ? save->readers | keep->readers : 0;
	save->loads++;
	return NULL;
}

static struct dfg_err *find_regions(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct flow *flow = maker->flow;
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->record[r].role == DFG_SAVE)
			DFG_TRY(dfg_call_note(keep_save(maker, r), plan->record[r].call));
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->record[r].role == DFG_LOAD)
			DFG_TRY(dfg_call_note(keep_load(maker, r), plan->record[r].call));
	for (uint32_t l = 0; l < flow->loops; l++)
		if (!(flow->loop[l].keys = dfg_arena_zeros(&plan->arena, flow->loop[l].saves, sizeof(int))))
			return dfg_no_memory("the frames of the step");
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->record[r].role == DFG_SAVE)
			flow->loop[flow->keep[r].region].keys[flow->keep[r].number] = (int)flow->keep[r].levels;
	return NULL;
}

/* Numbers records, slots and uses within their loops. */
static struct dfg_err *number(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct flow *flow = maker->flow;
	for (uint32_t i = 0; i < plan->slots; i++)
		flow->slot_local[i] = flow->loop[flow->slot_loop[i]].slots++;
	for (uint32_t r = 0; r < plan->count; r++) {
		struct loop *loop = &flow->loop[flow->loop_of[r]];
		flow->local[r] = loop->records++;
		flow->first_use[r] = loop->uses;
		loop->uses += (uint32_t)plan->record[r].n_in + plan->record[r].n_out;
	}
	for (uint32_t l = 0; l < flow->loops; l++) {
		struct loop *loop = &flow->loop[l];
		loop->count = dfg_arena_zeros(&plan->arena, loop->records, sizeof *loop->count);
		loop->left = dfg_arena_zeros(&plan->arena, loop->slots, sizeof *loop->left);
		loop->use = dfg_arena_zeros(&plan->arena, loop->uses, sizeof *loop->use);
		if (!loop->count || !loop->left || !loop->use)
			return dfg_no_memory("the frames of the step");
	}
	return NULL;
}

static void count_uses(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct flow *flow = maker->flow;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct record *record = &plan->record[r];
		struct loop *loop = &flow->loop[flow->loop_of[r]];
		for (uint32_t i = 0; i < (uint32_t)record->n_in + record->n_out; i++) {
			uint32_t slot = plan->slot[record->first + i];
			/* What leaves the loop is written by the machine, which finds the slot's place itself. */
			bool here = flow->slot_loop[slot] == flow->loop_of[r];
			loop->use[flow->first_use[r] + i] = here ? flow->slot_local[slot] : 0;
			if (i < record->n_in)
				loop->left[flow->slot_local[slot]]++;
		}
	}
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		flow->loop[0].left[flow->slot_local[plan->fetch[i]]]++;
}

/* Calls add for each arc there is: from record `from` (DFG_NONE: from what is there before the step). */
static void each_arc(
	struct flow_maker *maker, void (*add)(struct flow_maker *maker, uint32_t from, const struct arc *arc))
{
	const struct dfg_plan *plan = maker->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct record *record = &plan->record[r];
		for (uint32_t i = 0; i < record->n_in; i++) {
			uint32_t slot = dfg_record_in(plan, record, (int)i), from = plan->maker[slot];
			bool there = dfg_always_there(plan, slot);
			int32_t output = there ? 0 : (int32_t)(slot - dfg_record_out(plan, &plan->record[from], 0));
			add(maker, there ? DFG_NONE : from, &(struct arc){r, output, i});
		}
		for (uint32_t i = 0; i < record->n_control; i++) {
			uint32_t before = plan->control[record->first_control + i];
			if (!plan->record[before].preset)
				add(maker, before, &(struct arc){r, DFG_CONTROL, 0});
		}
	}
}

static void count_arc(struct flow_maker *maker, uint32_t from, const struct arc *arc)
{
	struct flow *flow = maker->flow;
	struct count *count = &flow->loop[flow->loop_of[arc->to]].count[flow->local[arc->to]];
	bool merge = maker->plan->record[arc->to].role == DFG_MERGE;
	if (from == DFG_NONE) {
		flow->n_start += merge;
		return;
	}
	flow->first_arc[from + 1]++;
	if (arc->output != DFG_CONTROL && maker->plan->record[from].role != DFG_NEXT_ITERATION)
		flow->forward[arc->to]++;
	if (!merge)
		count->pending++;
	else if (arc->output == DFG_CONTROL)
		count->pending += 2;
}

static void put_arc(struct flow_maker *maker, uint32_t from, const struct arc *arc)
{
	struct flow *flow = maker->flow;
	if (from != DFG_NONE)
		flow->arc[flow->first_arc[from]++] = *arc;
	else if (maker->plan->record[arc->to].role == DFG_MERGE)
		flow->start[flow->n_start++] = *arc;
}

static struct dfg_err *make_arcs(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct flow *flow = maker->flow;
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->record[r].role == DFG_MERGE)
			flow->loop[flow->loop_of[r]].count[flow->local[r]].pending = 1;
	each_arc(maker, count_arc);
	for (uint32_t r = 0; r < plan->count; r++)
		flow->first_arc[r + 1] += flow->first_arc[r];
	flow->arc = dfg_arena_zeros(&plan->arena, flow->first_arc[plan->count], sizeof *flow->arc);
	flow->start = dfg_arena_zeros(&plan->arena, flow->n_start, sizeof *flow->start);
	if (!flow->arc || !flow->start)
		return dfg_no_memory("the frames of the step");
	flow->n_start = 0;
	each_arc(maker, put_arc);
	memmove(flow->first_arc + 1, flow->first_arc, plan->count * sizeof *flow->first_arc);
	flow->first_arc[0] = 0;
	return NULL;
}

static void find_sources(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct flow *flow = maker->flow;
	for (uint32_t r = 0; r < plan->count; r++)
		if (!flow->loop_of[r] && !flow->loop[0].count[flow->local[r]].pending && !plan->record[r].preset)
			flow->source[flow->n_source++] = r;
}

static struct dfg_err *take_room(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct dfg_arena *arena = &plan->arena;
	struct flow *flow = plan->flow = maker->flow = dfg_arena_zeros(arena, 1, sizeof *flow);
	if (!flow)
		return dfg_no_memory("the frames of the step");
	flow->loop_of = dfg_arena_zeros(arena, plan->count, sizeof *flow->loop_of);
	flow->local = dfg_arena_zeros(arena, plan->count, sizeof *flow->local);
	flow->first_use = dfg_arena_zeros(arena, plan->count, sizeof *flow->first_use);
	flow->slot_loop = dfg_arena_zeros(arena, plan->slots, sizeof *flow->slot_loop);
	flow->slot_local = dfg_arena_zeros(arena, plan->slots, sizeof *flow->slot_local);
	flow->forward = dfg_arena_zeros(arena, plan->count, sizeof *flow->forward);
	flow->first_arc = dfg_arena_zeros(arena, (size_t)plan->count + 2, sizeof *flow->first_arc);
	flow->source = dfg_arena_zeros(arena, plan->count, sizeof *flow->source);
	flow->keep = dfg_arena_zeros(arena, plan->count, sizeof *flow->keep);
	maker->out_loop = dfg_arena_zeros(maker->scratch, plan->count, sizeof *maker->out_loop);
	if (!flow->loop_of || !flow->local || !flow->first_use || !flow->slot_loop || !flow->slot_local || !flow->forward ||
		!flow->first_arc || !flow->source || !flow->keep || !maker->out_loop ||
		!dfg_reserve(&flow->loop, &maker->room, 1, sizeof *flow->loop))
		return dfg_no_memory("the frames of the step");
	flow->loops = 1;
	flow->loop[0] = (struct loop){.name = "", .path = ""};
	return NULL;
}

static struct dfg_err *make(struct flow_maker *maker)
{
	DFG_TRY(take_room(maker));
	DFG_TRY(find_loops(maker));
	DFG_TRY(find_regions(maker));
	if (maker->plan->transfers)
		DFG_TRY(dfg_ports_find(maker->plan));
	DFG_TRY(number(maker));
	count_uses(maker);
	DFG_TRY(make_arcs(maker));
	find_sources(maker);
	return NULL;
}

struct dfg_err *dfg_flow_make(struct dfg_plan *plan, struct dfg_arena *scratch)
{
	struct flow_maker maker = {.plan = plan, .scratch = scratch};
	struct dfg_err *err = make(&maker);
	dfg_map_release(&maker.names);
	return err;
}

void dfg_flow_free(struct flow *flow)
{
	if (flow)
		dfg_free(flow->loop);
}
