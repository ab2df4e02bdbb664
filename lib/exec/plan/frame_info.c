#include "lib/exec/plan/frame_info.h"

#include "lib/base/plural.h"

#include <string.h>

struct frame_info_maker {
	struct dfg_plan *plan;
	struct frame_info *frame_info;
	struct dfg_arena *scratch;
	struct dfg_map names; /* name to number of the loop - 1 */
	size_t capacity;
	uint32_t *out_loop; /* by node: the loop of its outputs */
};

static const union dfg_value *attr_of(const struct plan_node *node, const char *name)
{
	return &node->call->attr[dfg_op_attr(node->call->signature, name)];
}

static struct dfg_err *no_frame(const struct plan_node *node)
{
	return dfg_resolved_note(DFG_ERR(DFG_DATA, "is outside all loops"), node->call);
}

static struct dfg_err *enter_loop(
	struct frame_info_maker *maker, const struct plan_node *node, uint32_t from, uint32_t *out)
{
	struct frame_info *frame_info = maker->frame_info;
	struct dfg_string name = attr_of(node, "frame_name")->s;
	int64_t window = attr_of(node, "parallel_iterations")->i;
	bool is_new;
	if (!dfg_map_put(&maker->names, name.s, name.length, out, &is_new) ||
		!dfg_reserve(&frame_info->loop, &maker->capacity, (size_t)*out + 2, sizeof *frame_info->loop))
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

/* Finds the loop of the node's outputs, given the loop of its inputs. */
static struct dfg_err *loop_of_outputs(
	struct frame_info_maker *maker, const struct plan_node *node, uint32_t from, uint32_t *out)
{
	struct frame_info *frame_info = maker->frame_info;
	*out = from;
	switch (node->role) {
	case DFG_ENTER:
		return dfg_resolved_note(enter_loop(maker, node, from, out), node->call);
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

/* The loop of the first input whose loop is known; check_inputs checks later that all inputs agree. */
static uint32_t loop_of_inputs(const struct frame_info_maker *maker, uint32_t r)
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

static struct dfg_err *mixed(const struct frame_info_maker *maker, uint32_t r, const char *input, uint32_t from)
{
	uint32_t loop = maker->frame_info->loop_of[r];
	return dfg_resolved_note(DFG_ERR(DFG_DATA, "takes inputs from different frames: '%s' is %s%s%s, others %s%s%s",
								 input, from ? "in '" : "", loop_name(maker->frame_info, from), from ? "'" : "",
								 loop ? "in '" : "", loop_name(maker->frame_info, loop), loop ? "'" : ""),
		maker->plan->node[r].call);
}

static struct dfg_err *check_inputs(const struct frame_info_maker *maker, uint32_t r)
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

static struct dfg_err *find_loops(struct frame_info_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t i = 0; i < plan->slots; i++)
		frame_info->slot_loop[i] = dfg_always_there(plan, i) ? 0 : DFG_NONE;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		frame_info->loop_of[r] = loop_of_inputs(maker, r);
		DFG_TRY(loop_of_outputs(maker, node, frame_info->loop_of[r], &maker->out_loop[r]));
		for (int i = 0; i < node->n_out; i++)
			frame_info->slot_loop[dfg_plan_node_out(plan, node, i)] = maker->out_loop[r];
	}
	for (uint32_t r = 0; r < plan->count; r++)
		DFG_TRY(check_inputs(maker, r));
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		if (frame_info->slot_loop[plan->fetch[i]])
			return DFG_ERR(DFG_DATA, "fetch '%s' is inside the loop '%s': only values that leave it can be fetched",
				dfg_slot_words(plan, plan->fetch[i]).s, frame_info->loop[frame_info->slot_loop[plan->fetch[i]]].name);
	return NULL;
}

static struct dfg_err *place_save(struct frame_info_maker *maker, uint32_t r)
{
	struct frame_info *frame_info = maker->frame_info;
	struct save_site *site = &frame_info->save_site[r];
	uint32_t depth = 0;
	site->levels = (uint32_t)maker->plan->node[r].n_in - 1;
	for (uint32_t l = frame_info->loop_of[r]; l; l = frame_info->loop[l].parent)
		depth++;
	if (site->levels > depth)
		return DFG_ERR(DFG_DATA, "has %u keys, but there %s only %u loop%s around it", site->levels,
			depth == 1 ? "is" : "are", depth, dfg_plural(depth));
	if (site->levels > KEYS_MOST)
		return DFG_ERR(DFG_DATA, "has %u keys, the limit is %d", site->levels, KEYS_MOST);
	site->region = frame_info->loop_of[r];
	for (uint32_t i = 0; i < site->levels; i++)
		site->region = frame_info->loop[site->region].parent;
	site->number = frame_info->loop[site->region].saves++;
	return NULL;
}

/*
 * A value is dropped when each Load has read it once. A Load nested deeper than the Save may read a key more than once:
 * if there is one, or if there are more Loads than bits, values stay until the region ends.
 */
static struct dfg_err *place_load(struct frame_info_maker *maker, uint32_t r)
{
	struct frame_info *frame_info = maker->frame_info;
	struct save_site *site = &frame_info->save_site[r], *save = &frame_info->save_site[maker->plan->node[r].save];
	uint32_t loop = frame_info->loop_of[r];
	*site = (struct save_site){.region = save->region, .number = save->number};
	for (; loop && loop != site->region; loop = frame_info->loop[loop].parent)
		site->levels++;
	if (loop != site->region)
		return DFG_ERR(DFG_DATA, "is outside loop '%s', so it cannot load what '%s' saves there",
			frame_info->loop[site->region].path, maker->plan->node[maker->plan->node[r].save].call->node);
	bool countable = site->levels <= save->levels && save->loads < 64 && (save->readers || !save->loads);
	site->readers = countable ? UINT64_C(1) << save->loads : 0;
	save->readers = countable ? save->readers | site->readers : 0;
	save->loads++;
	return NULL;
}

static struct dfg_err *find_regions(struct frame_info_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].role == DFG_SAVE)
			DFG_TRY(dfg_resolved_note(place_save(maker, r), plan->node[r].call));
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].role == DFG_LOAD)
			DFG_TRY(dfg_resolved_note(place_load(maker, r), plan->node[r].call));
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
static struct dfg_err *number_locally(struct frame_info_maker *maker)
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

static void count_uses(struct frame_info_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		struct loop *loop = &frame_info->loop[frame_info->loop_of[r]];
		for (uint32_t i = 0; i < (uint32_t)node->n_in + node->n_out; i++) {
			uint32_t slot = plan->slot[node->first + i];
			/* An output outside the loop is written by the executor, which computes its local slot itself. */
			bool here = frame_info->slot_loop[slot] == frame_info->loop_of[r];
			loop->use[frame_info->first_use[r] + i] = here ? frame_info->slot_local[slot] : 0;
			if (i < node->n_in)
				loop->left[frame_info->slot_local[slot]]++;
		}
	}
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		frame_info->loop[0].left[frame_info->slot_local[plan->fetch[i]]]++;
}

/* Calls add for each edge, from node `from` (DFG_NONE: from a preset or a feed). */
static void each_edge(struct frame_info_maker *maker,
	void (*add)(struct frame_info_maker *maker, uint32_t from, const struct consumer *consumer))
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

static void count_edge(struct frame_info_maker *maker, uint32_t from, const struct consumer *consumer)
{
	struct frame_info *frame_info = maker->frame_info;
	struct count *count = &frame_info->loop[frame_info->loop_of[consumer->to]].count[frame_info->local[consumer->to]];
	bool merge = maker->plan->node[consumer->to].role == DFG_MERGE;
	if (from == DFG_NONE) {
		frame_info->n_start += merge;
		frame_info->forward[consumer->to] +=
			merge && dfg_is_fallback(&maker->plan->node[consumer->to], consumer->input);
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

static void put_edge(struct frame_info_maker *maker, uint32_t from, const struct consumer *consumer)
{
	struct frame_info *frame_info = maker->frame_info;
	if (from != DFG_NONE)
		frame_info->consumer[frame_info->first_consumer[from]++] = *consumer;
	else if (maker->plan->node[consumer->to].role == DFG_MERGE)
		frame_info->start[frame_info->n_start++] = *consumer;
}

static struct dfg_err *make_edges(struct frame_info_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].role == DFG_MERGE)
			frame_info->loop[frame_info->loop_of[r]].count[frame_info->local[r]].pending = 1;
	each_edge(maker, count_edge);
	for (uint32_t r = 0; r < plan->count; r++)
		frame_info->first_consumer[r + 1] += frame_info->first_consumer[r];
	frame_info->consumer =
		dfg_arena_zeros(&plan->arena, frame_info->first_consumer[plan->count], sizeof *frame_info->consumer);
	frame_info->start = dfg_arena_zeros(&plan->arena, frame_info->n_start, sizeof *frame_info->start);
	if (!frame_info->consumer || !frame_info->start)
		return dfg_no_memory("the frames of the step");
	frame_info->n_start = 0;
	each_edge(maker, put_edge);
	memmove(
		frame_info->first_consumer + 1, frame_info->first_consumer, plan->count * sizeof *frame_info->first_consumer);
	frame_info->first_consumer[0] = 0;
	return NULL;
}

static void find_sources(struct frame_info_maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	struct frame_info *frame_info = maker->frame_info;
	for (uint32_t r = 0; r < plan->count; r++)
		if (!frame_info->loop_of[r] && !frame_info->loop[0].count[frame_info->local[r]].pending &&
			!plan->node[r].preset)
			frame_info->source[frame_info->n_source++] = r;
}

static struct dfg_err *allocate_arrays(struct frame_info_maker *maker)
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
		!dfg_reserve(&frame_info->loop, &maker->capacity, 1, sizeof *frame_info->loop))
		return dfg_no_memory("the frames of the step");
	frame_info->loops = 1;
	frame_info->loop[0] = (struct loop){.name = "", .path = ""};
	return NULL;
}

static struct dfg_err *make_frame_info(struct frame_info_maker *maker)
{
	DFG_TRY(allocate_arrays(maker));
	DFG_TRY(find_loops(maker));
	DFG_TRY(find_regions(maker));
	if (maker->plan->transfers)
		DFG_TRY(dfg_ports_find(maker->plan));
	DFG_TRY(number_locally(maker));
	count_uses(maker);
	DFG_TRY(make_edges(maker));
	find_sources(maker);
	return NULL;
}

struct dfg_err *dfg_frame_info_make(struct dfg_plan *plan, struct dfg_arena *scratch)
{
	struct frame_info_maker maker = {.plan = plan, .scratch = scratch};
	struct dfg_err *err = make_frame_info(&maker);
	dfg_map_release(&maker.names);
	return err;
}

void dfg_frame_info_free(struct frame_info *frame_info)
{
	if (frame_info)
		dfg_free(frame_info->loop);
}
