#include "lib/exec/plan/frame_info.h"

#include <string.h>

struct flow_maker {
	struct dfg_plan *plan;
	struct frame_info *frame_info;
	struct dfg_arena *scratch;
	struct dfg_map names; /* of the loops behind the root */
	size_t room;
	uint32_t *out_loop; /* by node: where its outputs live */
};

static const union dfg_value *attr_of(const struct plan_node *node, const char *name)
{
	return &node->call->attr[dfg_op_attr(node->call->signature, name)];
}

static struct dfg_err *no_frame(const struct plan_node *node)
{
	return dfg_call_note(DFG_ERR(DFG_DATA, "stands outside all loops"), node->call);
}

static struct dfg_err *enter_loop(struct flow_maker *maker, const struct plan_node *node, uint32_t from, uint32_t *out)
{
	struct frame_info *frame_info = maker->frame_info;
	struct dfg_string name = attr_of(node, "frame_name")->s;
	int64_t window = attr_of(node, "parallel_iterations")->i;
	bool is_new;
	if (!dfg_map_put(&maker->names, name.s, name.length, out, &is_new) ||
		!dfg_reserve(&frame_info->loop, &maker->room, (size_t)*out + 2, sizeof *frame_info->loop))
		return dfg_no_memory("the frames of the step");
	struct loop *loop = &frame_info->loop[++*out];
	if (is_new) {
		const char *copy = dfg_arena_copy(&maker->plan->arena, name.s, name.length);
		const char *path =
			from ? dfg_arena_print(&maker->plan->arena, "%s/%s", frame_info->loop[from].path, copy ? copy : "") : copy;
		if (!copy || !path)
			return dfg_no_memory("the frames of the step");
		*loop = (struct loop){
			.name = copy, .path = path, .parent = from, .child = frame_info->loop[from].children++, .window = window};
		frame_info->loops++;
	}
	if (loop->parent != from)
		return DFG_ERR(DFG_DATA, "enters frame '%s', which is entered from another loop too", loop->name);
	if (loop->window != window || window < 1)
		return DFG_ERR(DFG_DATA, "enters frame '%s' with parallel_iterations %lld, others with %lld", loop->name,
			(long long)window, (long long)loop->window);
	loop->enters++;
	loop->constants += attr_of(node, "is_constant")->b;
	return NULL;
}

/* Where the outputs of a node in loop `from` live. */
static struct dfg_err *leave_record(
	struct flow_maker *maker, const struct plan_node *node, uint32_t from, uint32_t *out)
{
	struct frame_info *frame_info = maker->frame_info;
	*out = from;
	switch (node->role) {
	case DFG_ENTER:
		return dfg_call_note(enter_loop(maker, node, from, out), node->call);
	case DFG_EXIT:
		if (!from)
			return no_frame(node);
		frame_info->loop[from].exits++;
		*out = frame_info->loop[from].parent;
		return NULL;
	case DFG_NEXT_ITERATION:
		if (!from)
			return no_frame(node);
		frame_info->loop[from].nexts++;
		return NULL;
	default:
		return NULL;
	}
}

/* The first input that has a loop says in which the node is; all must agree, which is checked when all are known. */
static uint32_t loop_of_inputs(const struct flow_maker *maker, uint32_t r)
{
	const struct dfg_plan *plan = maker->plan;
	const struct plan_node *node = &plan->node[r];
	for (int i = 0; i < node->n_in; i++) {
		uint32_t slot = dfg_plan_node_in(plan, node, i);
		if (!dfg_always_there(plan, slot) && maker->frame_info->slot_loop[slot] != DFG_NONE)
			return maker->frame_info->slot_loop[slot];
	}
	for (uint32_t i = 0; i < node->n_control; i++) {
		uint32_t before = plan->control[node->first_control + i];
		if (!plan->node[before].preset)
			return maker->out_loop[before];
	}
	return 0;
}

static const char *loop_name(const struct frame_info *frame_info, uint32_t loop)
{
	return loop ? frame_info->loop[loop].name : "outside all loops";
}

static struct dfg_err *mixed(const struct flow_maker *maker, uint32_t r, const char *input, uint32_t from)
{
	uint32_t loop = maker->frame_info->loop_of[r];
	return dfg_call_note(DFG_ERR(DFG_DATA, "takes inputs from different frames: '%s' is %s%s%s, others %s%s%s", input,
							 from ? "in '" : "", loop_name(maker->frame_info, from), from ? "'" : "",
							 loop ? "in '" : "", loop_name(maker->frame_info, loop), loop ? "'" : ""),
		maker->plan->node[r].call);
}

static struct dfg_err *check_inputs(const struct flow_maker *maker, uint32_t r)
{
	const struct dfg_plan *plan = maker->plan;
	const struct plan_node *node = &plan->node[r];
	uint32_t loop = maker->frame_info->loop_of[r];
	for (int i = 0; i < node->n_in; i++) {
		uint32_t slot = dfg_plan_node_in(plan, node, i);
		if (maker->frame_info->slot_loop[slot] != loop)
			return mixed(maker, r, dfg_slot_words(plan, slot).s, maker->frame_info->slot_loop[slot]);
	}
	for (uint32_t i = 0; i < node->n_control; i++) {
		uint32_t before = plan->control[node->first_control + i];
		if (!plan->node[before].preset && maker->out_loop[before] != loop)
			return mixed(maker, r, plan->node[before].call->node, maker->out_loop[before]);
	}
	return NULL;
}

static struct dfg_err *find_loops(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t i = 0; i < plan->slots; i++)
		frame_info->slot_loop[i] = dfg_always_there(plan, i) ? 0 : DFG_NONE;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		frame_info->loop_of[r] = loop_of_inputs(maker, r);
		DFG_TRY(leave_record(maker, node, frame_info->loop_of[r], &maker->out_loop[r]));
		for (int i = 0; i < node->n_out; i++)
			frame_info->slot_loop[dfg_plan_node_out(plan, node, i)] = maker->out_loop[r];
	}
	for (uint32_t r = 0; r < plan->count; r++)
		DFG_TRY(check_inputs(maker, r));
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		if (frame_info->slot_loop[plan->fetch[i]])
			return DFG_ERR(DFG_DATA, "fetch '%s' is inside the loop '%s': only what leaves it can be fetched",
				dfg_slot_words(plan, plan->fetch[i]).s, frame_info->loop[frame_info->slot_loop[plan->fetch[i]]].name);
	return NULL;
}

static struct dfg_err *keep_save(struct flow_maker *maker, uint32_t r)
{
	struct frame_info *frame_info = maker->frame_info;
	struct save_site *keep = &frame_info->save_site[r];
	uint32_t depth = 0;
	keep->levels = (uint32_t)maker->plan->node[r].n_in - 1;
	for (uint32_t l = frame_info->loop_of[r]; l; l = frame_info->loop[l].parent)
		depth++;
	if (keep->levels > depth || keep->levels > KEYS_MOST)
		return DFG_ERR(DFG_DATA, "has %u keys, one a loop around it, but stands in %u loops", keep->levels, depth);
	keep->region = frame_info->loop_of[r];
	for (uint32_t i = 0; i < keep->levels; i++)
		keep->region = frame_info->loop[keep->region].parent;
	keep->number = frame_info->loop[keep->region].saves++;
	return NULL;
}

/*
 * A value is dropped when each Load has read it, once. A Load further in than the Save may well read a key more than
 * once: for such a one, or where Loads are too many to tell apart, values stay as long as their region.
 */
static struct dfg_err *keep_load(struct flow_maker *maker, uint32_t r)
{
	struct frame_info *frame_info = maker->frame_info;
	struct save_site *keep = &frame_info->save_site[r], *save = &frame_info->save_site[maker->plan->node[r].save];
	uint32_t loop = frame_info->loop_of[r];
	*keep = (struct save_site){.region = save->region, .number = save->number};
	for (; loop && loop != keep->region; loop = frame_info->loop[loop].parent)
		keep->levels++;
	if (loop != keep->region)
		return DFG_ERR(DFG_DATA, "stands outside of loop '%s', whose iterations keep what '%s' saves",
			frame_info->loop[keep->region].path, maker->plan->node[maker->plan->node[r].save].call->node);
	bool countable = keep->levels <= save->levels && save->loads < 64 && (save->readers || !save->loads);
	keep->readers = countable ? UINT64_C(1) << save->loads : 0;
	save->readers = countable ? save->readers | keep->readers : 0;
	save->loads++;
	return NULL;
}

static struct dfg_err *find_regions(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].role == DFG_SAVE)
			DFG_TRY(dfg_call_note(keep_save(maker, r), plan->node[r].call));
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].role == DFG_LOAD)
			DFG_TRY(dfg_call_note(keep_load(maker, r), plan->node[r].call));
	for (uint32_t l = 0; l < frame_info->loops; l++)
		if (!(frame_info->loop[l].keys = dfg_arena_zeros(&plan->arena, frame_info->loop[l].saves, sizeof(int))))
			return dfg_no_memory("the frames of the step");
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].role == DFG_SAVE)
			frame_info->loop[frame_info->save_site[r].region].keys[frame_info->save_site[r].number] =
				(int)frame_info->save_site[r].levels;
	return NULL;
}

/* Numbers nodes, slots and uses within their loops. */
static struct dfg_err *number(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t i = 0; i < plan->slots; i++)
		frame_info->slot_local[i] = frame_info->loop[frame_info->slot_loop[i]].slots++;
	for (uint32_t r = 0; r < plan->count; r++) {
		struct loop *loop = &frame_info->loop[frame_info->loop_of[r]];
		frame_info->local[r] = loop->nodes++;
		frame_info->first_use[r] = loop->uses;
		loop->uses += (uint32_t)plan->node[r].n_in + plan->node[r].n_out;
	}
	for (uint32_t l = 0; l < frame_info->loops; l++) {
		struct loop *loop = &frame_info->loop[l];
		loop->count = dfg_arena_zeros(&plan->arena, loop->nodes, sizeof *loop->count);
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
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		struct loop *loop = &frame_info->loop[frame_info->loop_of[r]];
		for (uint32_t i = 0; i < (uint32_t)node->n_in + node->n_out; i++) {
			uint32_t slot = plan->slot[node->first + i];
			/* What leaves the loop is written by the executor, which finds the slot's place itself. */
			bool here = frame_info->slot_loop[slot] == frame_info->loop_of[r];
			loop->use[frame_info->first_use[r] + i] = here ? frame_info->slot_local[slot] : 0;
			if (i < node->n_in)
				loop->left[frame_info->slot_local[slot]]++;
		}
	}
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		frame_info->loop[0].left[frame_info->slot_local[plan->fetch[i]]]++;
}

/* Calls add for each consumer there is: from node `from` (DFG_NONE: from what is there before the step). */
static void each_arc(
	struct flow_maker *maker, void (*add)(struct flow_maker *maker, uint32_t from, const struct consumer *consumer))
{
	const struct dfg_plan *plan = maker->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		for (uint32_t i = 0; i < node->n_in; i++) {
			uint32_t slot = dfg_plan_node_in(plan, node, (int)i), from = plan->maker[slot];
			bool there = dfg_always_there(plan, slot);
			int32_t output = there ? 0 : (int32_t)(slot - dfg_plan_node_out(plan, &plan->node[from], 0));
			add(maker, there ? DFG_NONE : from, &(struct consumer){r, output, i});
		}
		for (uint32_t i = 0; i < node->n_control; i++) {
			uint32_t before = plan->control[node->first_control + i];
			if (!plan->node[before].preset)
				add(maker, before, &(struct consumer){r, DFG_CONTROL, 0});
		}
	}
}

static void count_arc(struct flow_maker *maker, uint32_t from, const struct consumer *consumer)
{
	struct frame_info *frame_info = maker->frame_info;
	struct count *count = &frame_info->loop[frame_info->loop_of[consumer->to]].count[frame_info->local[consumer->to]];
	bool merge = maker->plan->node[consumer->to].role == DFG_MERGE;
	if (from == DFG_NONE) {
		frame_info->n_start += merge;
		return;
	}
	frame_info->first_consumer[from + 1]++;
	if (consumer->output != DFG_CONTROL && maker->plan->node[from].role != DFG_NEXT_ITERATION)
		frame_info->forward[consumer->to]++;
	if (!merge)
		count->pending++;
	else if (consumer->output == DFG_CONTROL)
		count->pending += 2;
}

static void put_arc(struct flow_maker *maker, uint32_t from, const struct consumer *consumer)
{
	struct frame_info *frame_info = maker->frame_info;
	if (from != DFG_NONE)
		frame_info->consumer[frame_info->first_consumer[from]++] = *consumer;
	else if (maker->plan->node[consumer->to].role == DFG_MERGE)
		frame_info->start[frame_info->n_start++] = *consumer;
}

static struct dfg_err *make_arcs(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].role == DFG_MERGE)
			frame_info->loop[frame_info->loop_of[r]].count[frame_info->local[r]].pending = 1;
	each_arc(maker, count_arc);
	for (uint32_t r = 0; r < plan->count; r++)
		frame_info->first_consumer[r + 1] += frame_info->first_consumer[r];
	frame_info->consumer =
		dfg_arena_zeros(&plan->arena, frame_info->first_consumer[plan->count], sizeof *frame_info->consumer);
	frame_info->start = dfg_arena_zeros(&plan->arena, frame_info->n_start, sizeof *frame_info->start);
	if (!frame_info->consumer || !frame_info->start)
		return dfg_no_memory("the frames of the step");
	frame_info->n_start = 0;
	each_arc(maker, put_arc);
	memmove(
		frame_info->first_consumer + 1, frame_info->first_consumer, plan->count * sizeof *frame_info->first_consumer);
	frame_info->first_consumer[0] = 0;
	return NULL;
}

static void find_sources(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t r = 0; r < plan->count; r++)
		if (!frame_info->loop_of[r] && !frame_info->loop[0].count[frame_info->local[r]].pending &&
			!plan->node[r].preset)
			frame_info->source[frame_info->n_source++] = r;
}

static struct dfg_err *take_room(struct flow_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct dfg_arena *arena = &plan->arena;
	struct frame_info *frame_info = plan->frame_info = maker->frame_info =
		dfg_arena_zeros(arena, 1, sizeof *frame_info);
	if (!frame_info)
		return dfg_no_memory("the frames of the step");
	frame_info->loop_of = dfg_arena_zeros(arena, plan->count, sizeof *frame_info->loop_of);
	frame_info->local = dfg_arena_zeros(arena, plan->count, sizeof *frame_info->local);
	frame_info->first_use = dfg_arena_zeros(arena, plan->count, sizeof *frame_info->first_use);
	frame_info->slot_loop = dfg_arena_zeros(arena, plan->slots, sizeof *frame_info->slot_loop);
	frame_info->slot_local = dfg_arena_zeros(arena, plan->slots, sizeof *frame_info->slot_local);
	frame_info->forward = dfg_arena_zeros(arena, plan->count, sizeof *frame_info->forward);
	frame_info->first_consumer = dfg_arena_zeros(arena, (size_t)plan->count + 2, sizeof *frame_info->first_consumer);
	frame_info->source = dfg_arena_zeros(arena, plan->count, sizeof *frame_info->source);
	frame_info->save_site = dfg_arena_zeros(arena, plan->count, sizeof *frame_info->save_site);
	maker->out_loop = dfg_arena_zeros(maker->scratch, plan->count, sizeof *maker->out_loop);
	if (!frame_info->loop_of || !frame_info->local || !frame_info->first_use || !frame_info->slot_loop ||
		!frame_info->slot_local || !frame_info->forward || !frame_info->first_consumer || !frame_info->source ||
		!frame_info->save_site || !maker->out_loop ||
		!dfg_reserve(&frame_info->loop, &maker->room, 1, sizeof *frame_info->loop))
		return dfg_no_memory("the frames of the step");
	frame_info->loops = 1;
	frame_info->loop[0] = (struct loop){.name = "", .path = ""};
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

struct dfg_err *dfg_frame_info_make(struct dfg_plan *plan, struct dfg_arena *scratch)
{
	struct flow_maker maker = {.plan = plan, .scratch = scratch};
	struct dfg_err *err = make(&maker);
	dfg_map_release(&maker.names);
	return err;
}

void dfg_frame_info_free(struct frame_info *frame_info)
{
	if (frame_info)
		dfg_free(frame_info->loop);
}
