#include "lib/exec/linear/region_private.h"
#include "lib/exec/linear/saved_values.h"

#include <string.h>

/*
 * Emits the instructions of the nodes that run, in the order of the schedule, with branches around the nodes that
 * depend on predicates.
 */

enum { COPY_MOST = 16 * 1024 }; /* bytes that a Merge copies; a larger value stays at the address of its input */

static uint32_t in_slot(const struct program_builder *builder, const struct plan_node *node, int i)
{
	return builder->forward[dfg_plan_node_in(builder->plan, node, i)];
}

static uint32_t out_slot(const struct program_builder *builder, const struct plan_node *node, int i)
{
	return dfg_plan_node_out(builder->plan, node, i);
}

static struct dfg_err *start_with_known_value(struct program_builder *builder, uint32_t slot)
{
	const struct dfg_inferred *fact = &builder->fact[slot];
	const struct dfg_shape shape = fact->known->rank ? DFG_SHAPE_VECTOR(fact->known->count) : DFG_SHAPE_SCALAR;
	struct dfg_tensor *tensor = &builder->program->start[slot];
	void *data = dfg_arena_zeros(&builder->program->arena, (size_t)fact->known->count, 8);
	if (!data)
		return dfg_no_memory("the program of the step");
	dfg_convert(fact->dtype, data, DFG_I64, fact->known->v, fact->known->count);
	*tensor = (struct dfg_tensor){.dtype = fact->dtype,
		.shape = shape,
		.data = data,
		.capacity = (size_t)fact->known->count * dfg_dtype_size(fact->dtype)};
	return NULL;
}

/* A node that only forwards its input, without reading a ref, needs no instruction. */
static bool is_forward(const struct program_builder *builder, const struct plan_node *node)
{
	bool optional = node->role == DFG_IDENTITY || node->role == DFG_PLACEHOLDER_DEFAULT;
	bool passes = node->role == DFG_SWITCH || node->role == DFG_LOOP_COND || node->role == DFG_ENTER ||
				  (node->role == DFG_EXIT && !builder->kept[node - builder->plan->node]);
	if (!passes && (!optional || builder->plan->session->options.no_opt))
		return false;
	for (int i = 0; i < node->n_out; i++)
		if (builder->plan->is_ref[in_slot(builder, node, optional ? i : 0)] !=
			builder->plan->is_ref[out_slot(builder, node, i)])
			return false;
	return true;
}

static void forward(struct program_builder *builder, const struct plan_node *node)
{
	bool one = node->role == DFG_SWITCH;
	for (int i = 0; i < node->n_out; i++)
		builder->forward[out_slot(builder, node, i)] = in_slot(builder, node, one ? 0 : i);
}

/* The output is the input with another, known shape, whatever the values of the other inputs. */
static bool is_view(const struct program_builder *builder, const struct plan_node *node)
{
	const struct dfg_resolved_node *call = node->call;
	bool only_moves = (call->op->flags & (DFG_VIEW | DFG_STATEFUL)) == DFG_VIEW;
	if (node->role != DFG_PLAIN || !only_moves || call->n_out != 1 || !call->n_in ||
		builder->plan->is_ref[in_slot(builder, node, 0)] || builder->plan->session->options.no_opt)
		return false;
	const struct dfg_inferred *in = &builder->fact[in_slot(builder, node, 0)];
	const struct dfg_inferred *out = &builder->fact[out_slot(builder, node, 0)];
	for (int i = 1; i < call->n_in; i++)
		if (!dfg_known_whole(builder->fact[in_slot(builder, node, i)].known))
			return false;
	return in->dtype == out->dtype && dfg_is_plain(in->dtype) && dfg_shape_known(&in->shape) &&
		   dfg_shape_known(&out->shape) && dfg_shape_count(&in->shape) == dfg_shape_count(&out->shape);
}

/* The emitter's state: the branches and loops that enclose the next instruction. */
struct emitter {
	struct program_builder *builder;
	uint32_t condition; /* of the next instruction */
	/* branches without a target yet, the innermost last; LOOP_DEPTH_MAX loops and the root can each have branches */
	uint32_t open[(LOOP_DEPTH_MAX + 1) * CONDITION_DEPTH_MAX];
	uint32_t n_open;
	uint32_t outer[LOOP_DEPTH_MAX + 2]; /* conditions around the enclosing loops */
	uint32_t depth;
};

static struct instruction *new_op(struct emitter *emitter, uint8_t kind, const struct plan_node *node)
{
	struct program *program = emitter->builder->program;
	struct instruction *instruction = &program->code[program->count++];
	*instruction = (struct instruction){.kind = kind,
		.node = node,
		.attr = node ? node->call->attr : NULL,
		.first = program->uses,
		.loop = emitter->builder->schedule->condition[emitter->condition].loop};
	emitter->builder->condition[instruction - program->code] = emitter->condition;
	return instruction;
}

static void close_branch(struct emitter *emitter)
{
	const struct schedule *schedule = emitter->builder->schedule;
	struct program *program = emitter->builder->program;
	program->code[emitter->open[--emitter->n_open]].to = program->count;
	emitter->condition = schedule->condition[emitter->condition].parent;
}

/* Closes and opens branches so that the next instruction runs under the condition. */
static void enter_condition(struct emitter *emitter, uint32_t condition)
{
	const struct schedule *schedule = emitter->builder->schedule;
	uint32_t path[CONDITION_DEPTH_MAX], n = 0;
	for (uint32_t g = condition; g != emitter->condition;) {
		if (schedule->condition[g].depth > schedule->condition[emitter->condition].depth) {
			path[n++] = g;
			g = schedule->condition[g].parent;
		} else {
			close_branch(emitter);
		}
	}
	while (n--) {
		const struct condition *next = &schedule->condition[path[n]];
		struct instruction *skip = new_op(emitter, INSTR_BRANCH, NULL);
		skip->predicate = next->predicate;
		skip->side = next->side;
		emitter->open[emitter->n_open++] = (uint32_t)(skip - emitter->builder->program->code);
		emitter->condition = path[n];
	}
}

static void use_in(struct emitter *emitter, struct instruction *instruction, uint32_t slot)
{
	struct program *program = emitter->builder->program;
	program->use[program->uses++] = slot;
	instruction->n_in++;
}

/* Adds an output; its address is in the block if `may` is set and its size is known. */
static void use_out(struct emitter *emitter, struct instruction *instruction, uint32_t slot, bool may)
{
	struct program_builder *builder = emitter->builder;
	builder->program->use[builder->program->uses++] = slot;
	builder->storage[slot] = may && dfg_slot_has_fixed_size(builder, slot) ? slot : DFG_NONE;
	instruction->n_out++;
}

/* Small values of one size are stored side by side; of others, references. */
static void add_save(struct emitter *emitter, uint32_t r)
{
	struct program_builder *builder = emitter->builder;
	const struct plan_node *node = &builder->plan->node[r];
	struct instruction *instruction = new_op(emitter, INSTR_SAVE, node);
	uint32_t value = in_slot(builder, node, 0);
	instruction->predicate = builder->schedule->save[r];
	for (int i = 0; i < node->n_in; i++)
		use_in(emitter, instruction, in_slot(builder, node, i));
	if (dfg_slot_has_fixed_size(builder, value) && dfg_slot_bytes(builder, value) <= SAVED_SMALL)
		builder->program->saved[instruction->predicate] = dfg_slot_bytes(builder, value);
}

static void add_load(struct emitter *emitter, const struct plan_node *node)
{
	struct program_builder *builder = emitter->builder;
	struct instruction *instruction = new_op(emitter, INSTR_LOAD, node);
	instruction->predicate = builder->schedule->save[node->save];
	for (int i = 0; i < node->n_in; i++)
		use_in(emitter, instruction, in_slot(builder, node, i));
	use_out(emitter, instruction, out_slot(builder, node, 0), builder->program->saved[instruction->predicate]);
}

static void add_clears(struct emitter *emitter, uint32_t loop)
{
	struct program_builder *builder = emitter->builder;
	const struct dfg_plan *plan = builder->plan;
	for (uint32_t r = 0; r < plan->count && plan->frame_info->loop[loop].saves; r++)
		if (plan->node[r].role == DFG_SAVE && plan->frame_info->save_site[r].region == loop && builder->needed[r])
			new_op(emitter, INSTR_CLEAR, NULL)->predicate = builder->schedule->save[r];
}

static void add_node(struct emitter *emitter, const struct plan_node *node)
{
	struct program_builder *builder = emitter->builder;
	bool view = is_view(builder, node);
	struct instruction *instruction = new_op(emitter,
		!node->run ? INSTR_ALIAS
		: view     ? INSTR_VIEW
				   : INSTR_KERNEL,
		node);
	if (node->role == DFG_EXIT)
		instruction->kind = INSTR_RETAIN;
	for (int i = 0; i < node->n_in; i++)
		use_in(emitter, instruction, in_slot(builder, node, i));
	bool made = node->role == DFG_PLAIN && !(node->call->op->flags & DFG_VIEW);
	for (int i = 0; i < node->n_out; i++)
		use_out(emitter, instruction, out_slot(builder, node, i), made);
	if (view) {
		uint32_t in = in_slot(builder, node, 0), out = out_slot(builder, node, 0);
		dfg_alias_join(builder, in, out);
		builder->storage[out] = builder->storage[in];
		builder->borrowed[out] =
			builder->borrowed[in] || in >= builder->plan->first_feed || builder->program->start[in].data;
	}
	/* An alias does not move the value, so input and output are live together. */
	for (int i = 0; i < node->n_in && instruction->kind == INSTR_ALIAS; i++)
		for (int o = 0; o < node->n_out; o++)
			dfg_alias_join(builder, in_slot(builder, node, i), out_slot(builder, node, o));
}

/* Makes a live input of a Merge its output. */
static void add_merge_input(struct emitter *emitter, const struct schedule_entry *entry)
{
	struct program_builder *builder = emitter->builder;
	const struct plan_node *node = &builder->plan->node[entry->number];
	uint32_t in = in_slot(builder, node, entry->input), out = out_slot(builder, node, 0);
	bool copies = dfg_slot_has_fixed_size(builder, out) && dfg_slot_bytes(builder, out) <= COPY_MOST;
	struct instruction *instruction = new_op(emitter, copies ? INSTR_COPY_IN : INSTR_ALIAS, node);
	use_in(emitter, instruction, in);
	use_out(emitter, instruction, out, copies);
	if (!copies)
		dfg_alias_join(builder, in, out);
	if (!node->tells_index)
		return;
	instruction = new_op(emitter, INSTR_INDEX, node);
	instruction->n = entry->input;
	use_out(emitter, instruction, out_slot(builder, node, 1), true);
}

static void add_switch(struct emitter *emitter, const struct schedule_entry *entry)
{
	struct program_builder *builder = emitter->builder;
	const struct predicate *predicate = &builder->schedule->predicate[entry->number];
	struct instruction *instruction = new_op(emitter, INSTR_SWITCH, &builder->plan->node[predicate->node]);
	instruction->predicate = entry->number;
	instruction->n = predicate->n_out;
	use_in(emitter, instruction, builder->forward[predicate->slot]);
}

static bool is_carried(const struct program_builder *builder, const struct carried *carried)
{
	return builder->needed[builder->plan->maker[carried->merge]];
}

static void add_begin(struct emitter *emitter, uint32_t loop)
{
	struct program_builder *builder = emitter->builder;
	const struct loop_info *loop_info = &builder->schedule->loop_info[loop];
	struct instruction *instruction = new_op(emitter, INSTR_LOOP_ENTER, NULL);
	const struct carried *carried = builder->schedule->carried + loop_info->first_carried;
	builder->begin[loop] = (uint32_t)(instruction - builder->program->code);
	instruction->predicate = loop;
	for (uint32_t i = 0; i < loop_info->n_carried; i++)
		if (is_carried(builder, &carried[i]))
			use_in(emitter, instruction, builder->forward[carried[i].enter]);
	for (uint32_t i = 0; i < loop_info->n_carried; i++)
		if (is_carried(builder, &carried[i])) {
			use_out(emitter, instruction, carried[i].merge, true);
			builder->carried[carried[i].merge] = true;
		}
	emitter->outer[emitter->depth++] = emitter->condition;
	emitter->condition = loop;
}

static void add_back(struct emitter *emitter, uint32_t loop)
{
	struct program_builder *builder = emitter->builder;
	const struct loop_info *loop_info = &builder->schedule->loop_info[loop];
	const struct carried *carried = builder->schedule->carried + loop_info->first_carried;
	add_clears(emitter, loop);
	struct instruction *instruction = new_op(emitter, INSTR_LOOP_BACK, NULL);
	builder->back[loop] = (uint32_t)(instruction - builder->program->code);
	instruction->predicate = loop_info->predicate;
	instruction->to = builder->begin[loop] + 1;
	for (uint32_t i = 0; i < loop_info->n_carried; i++)
		if (is_carried(builder, &carried[i]))
			use_in(emitter, instruction, builder->forward[carried[i].next]);
	for (uint32_t i = 0; i < loop_info->n_carried; i++)
		if (is_carried(builder, &carried[i]))
			use_out(emitter, instruction, carried[i].merge, true);
	emitter->condition = emitter->outer[--emitter->depth];
}

/* An entry that needs no instruction: its node is not needed, or never live. */
static bool is_unneeded(const struct program_builder *builder, const struct schedule_entry *entry)
{
	const struct schedule *schedule = builder->schedule;
	if (entry->condition == UNREACHABLE)
		return true;
	if (entry->kind == ENTRY_CHOOSE)
		return !builder->tested[entry->number];
	if (entry->kind == ENTRY_BEGIN || entry->kind == ENTRY_BACK)
		return !builder->tested[schedule->loop_info[entry->number].predicate];
	return !builder->needed[entry->number] || builder->plan->node[entry->number].preset;
}

static struct dfg_err *add_entry(struct emitter *emitter, const struct schedule_entry *entry)
{
	struct program_builder *builder = emitter->builder;
	const struct plan_node *node = &builder->plan->node[entry->number];
	if (entry->kind == ENTRY_RECORD) {
		bool nothing = node->role == DFG_NO_OP || node->role == DFG_CONTROL_TRIGGER;
		if (nothing || node->role == DFG_MERGE || node->role == DFG_NEXT_ITERATION)
			return NULL;
		if (dfg_is_bound_constant(builder, node)) {
			builder->program->start[out_slot(builder, node, 0)] = builder->plan->preset[out_slot(builder, node, 0)];
			return NULL;
		}
		if (dfg_is_known_node(builder, node)) {
			for (int i = 0; i < node->n_out; i++)
				DFG_TRY(start_with_known_value(builder, out_slot(builder, node, i)));
			return NULL;
		}
		if (is_forward(builder, node)) {
			forward(builder, node);
			return NULL;
		}
	}
	enter_condition(emitter, entry->condition);
	switch ((enum entry_kind)entry->kind) {
	case ENTRY_RECORD:
		if (node->role == DFG_SAVE)
			add_save(emitter, entry->number);
		else if (node->role == DFG_LOAD)
			add_load(emitter, node);
		else
			add_node(emitter, node);
		break;
	case ENTRY_CHOOSE:
		add_switch(emitter, entry);
		break;
	case ENTRY_MOVE:
		add_merge_input(emitter, entry);
		break;
	case ENTRY_BEGIN:
		add_begin(emitter, entry->number);
		break;
	case ENTRY_BACK:
		add_back(emitter, entry->number);
		break;
	}
	return NULL;
}

static struct dfg_err *add_ops(struct program_builder *builder)
{
	const struct schedule *schedule = builder->schedule;
	struct emitter *emitter = dfg_arena_zeros(builder->scratch, 1, sizeof *emitter);
	if (!emitter)
		return dfg_no_memory("the program of the step");
	emitter->builder = builder;
	for (uint32_t i = 0; i < schedule->entries; i++)
		if (!is_unneeded(builder, &schedule->entry[i]))
			DFG_TRY(add_entry(emitter, &schedule->entry[i]));
	enter_condition(emitter, 0);
	return NULL;
}

/* Finds Exits whose value leaves the step: it is copied out of the loop's memory. */
static void mark_kept_exits(struct program_builder *builder, uint32_t slot)
{
	const struct dfg_plan *plan = builder->plan;
	while (slot < plan->first_feed) {
		uint32_t r = plan->maker[slot];
		const struct plan_node *node = &plan->node[r];
		if (node->role == DFG_EXIT)
			builder->kept[r] = true;
		if (node->role != DFG_IDENTITY && node->role != DFG_SWITCH)
			return;
		uint32_t i = node->role == DFG_IDENTITY ? slot - out_slot(builder, node, 0) : 0;
		slot = dfg_plan_node_in(plan, node, (int)i);
	}
}

static void find_kept(struct program_builder *builder)
{
	const struct dfg_plan *plan = builder->plan;
	for (uint32_t i = 0; i < plan->step.n_fetch && plan->loops; i++)
		mark_kept_exits(builder, plan->fetch[i]);
	for (uint32_t r = 0; r < plan->count && plan->loops; r++)
		for (int i = 1; i < plan->node[r].n_in && plan->node[r].role == DFG_ASSIGN; i++)
			mark_kept_exits(builder, dfg_plan_node_in(plan, &plan->node[r], i));
}

static struct dfg_err *allocate_scratch(struct program_builder *builder)
{
	const struct dfg_plan *plan = builder->plan;
	struct dfg_arena *scratch = builder->scratch;
	builder->fact = dfg_arena_zeros(scratch, plan->slots, sizeof *builder->fact);
	builder->needed = dfg_arena_zeros(scratch, plan->count, sizeof *builder->needed);
	builder->tested = dfg_arena_zeros(scratch, builder->schedule->predicates, sizeof *builder->tested);
	builder->kept = dfg_arena_zeros(scratch, plan->count, sizeof *builder->kept);
	builder->forward = dfg_arena_zeros(scratch, plan->slots, sizeof *builder->forward);
	builder->alias_class = dfg_arena_zeros(scratch, plan->slots, sizeof *builder->alias_class);
	builder->storage = dfg_arena_zeros(scratch, plan->slots, sizeof *builder->storage);
	builder->first = dfg_arena_zeros(scratch, plan->slots, sizeof *builder->first);
	builder->dominating = dfg_arena_zeros(scratch, plan->slots, sizeof *builder->dominating);
	builder->last = dfg_arena_zeros(scratch, plan->slots, sizeof *builder->last);
	builder->begin = dfg_arena_zeros(scratch, builder->schedule->loops, sizeof *builder->begin);
	builder->back = dfg_arena_zeros(scratch, builder->schedule->loops, sizeof *builder->back);
	builder->carried = dfg_arena_zeros(scratch, plan->slots, sizeof *builder->carried);
	builder->borrowed = dfg_arena_zeros(scratch, plan->slots, sizeof *builder->borrowed);
	builder->range = dfg_arena_zeros(scratch, plan->slots, sizeof *builder->range);
	bool all = builder->fact && builder->needed && builder->tested && builder->kept && builder->forward &&
			   builder->alias_class && builder->storage && builder->first && builder->dominating && builder->last &&
			   builder->begin && builder->back && builder->carried && builder->borrowed && builder->range;
	return all ? NULL : dfg_no_memory("the program of the step");
}

static struct dfg_err *allocate_program(struct program_builder *builder)
{
	const struct dfg_plan *plan = builder->plan;
	struct program *program = builder->program;
	struct dfg_arena *arena = &program->arena;
	size_t ops = (size_t)builder->schedule->entries + builder->schedule->skips + builder->schedule->saves + plan->uses;
	DFG_TRY(allocate_scratch(builder));
	builder->condition = dfg_arena_zeros(builder->scratch, ops, sizeof *builder->condition);
	program->code = dfg_arena_zeros(arena, ops, sizeof *program->code);
	program->alive = dfg_arena_zeros(arena, ops, sizeof *program->alive);
	program->use = dfg_arena_zeros(arena, 4 * (size_t)plan->uses + builder->schedule->entries, sizeof *program->use);
	program->saved = dfg_arena_zeros(arena, builder->schedule->saves, sizeof *program->saved);
	program->start = dfg_arena_zeros(arena, plan->slots, sizeof *program->start);
	program->in_block = dfg_arena_zeros(arena, plan->slots, sizeof *program->in_block);
	program->counted = dfg_arena_zeros(arena, plan->slots, sizeof *program->counted);
	program->moves = dfg_arena_zeros(arena, plan->step.n_fetch, sizeof *program->moves);
	program->fetch = dfg_arena_zeros(arena, plan->step.n_fetch, sizeof *program->fetch);
	if (!builder->condition || !program->saved || !program->code || !program->alive || !program->use ||
		!program->start || !program->in_block || !program->counted || !program->moves || !program->fetch)
		return dfg_no_memory("the program of the step");
	for (uint32_t s = 0; s < plan->slots; s++) {
		builder->forward[s] = builder->alias_class[s] = s;
		builder->storage[s] = builder->first[s] = DFG_NONE;
		builder->dominating[s] = UNWRITTEN;
		if (plan->kind[s] == SLOT_PRESET)
			program->start[s] = plan->preset[s];
	}
	return NULL;
}

static struct dfg_err *copy_shapes(struct program *program, const struct dfg_tensor *feeds)
{
	uint32_t n = program->plan->step.n_feed;
	if (!feeds)
		return NULL;
	if (!(program->feed = dfg_arena_zeros(&program->arena, n, sizeof *program->feed)))
		return dfg_no_memory("the program of the step");
	for (uint32_t i = 0; i < n; i++)
		program->feed[i] = feeds[i].shape;
	return NULL;
}

static struct dfg_err *build_program(struct program_builder *builder, const struct dfg_tensor *feeds)
{
	DFG_TRY(allocate_program(builder));
	DFG_TRY(copy_shapes(builder->program, feeds));
	DFG_TRY(dfg_plan_infer(builder->plan, feeds, builder->scratch, builder->fact));
	find_kept(builder);
	DFG_TRY(dfg_program_find_demand(builder));
	DFG_TRY(add_ops(builder));
	DFG_TRY(dfg_program_find_attention(builder));
	DFG_TRY(dfg_program_find_groups(builder));
	DFG_TRY(dfg_program_plan_memory(builder));
	DFG_TRY(dfg_program_find_regions(builder));
	return dfg_program_repeat_constants(builder);
}

struct dfg_err *dfg_program_make(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct program **out_program)
{
	struct dfg_arena scratch = {0};
	struct program *program = dfg_zeros(1, sizeof *program);
	if (!program)
		return dfg_no_memory("the program of the step");
	program->plan = plan;
	struct program_builder builder = {
		.plan = plan, .schedule = plan->schedule, .program = program, .scratch = &scratch};
	struct dfg_err *err = build_program(&builder, feeds);
	dfg_arena_release(&scratch);
	if (err)
		dfg_program_free(program);
	else
		*out_program = program;
	return err;
}

void dfg_program_free(struct program *program)
{
	dfg_activations_free(program->idle);
	for (uint32_t i = 0; i < program->regions; i++)
		dfg_native_release(&program->region[i].made);
	dfg_arena_release(&program->arena);
	dfg_free(program);
}
