#include "lib/exec/linear/builder_private.h"

/* The memory plan of a program: live ranges, addresses, releases, and the instructions that follow from them. */

enum { ROW_MOST = 32 * 1024 }; /* elements; longer rows are divided among threads */

bool dfg_is_last_use(struct program_builder *builder, const struct instruction *instruction, uint32_t o, int i)
{
	const uint32_t *use = builder->program->use + instruction->first;
	uint32_t group = dfg_alias_class(builder, use[i]);
	if (builder->last[group] != o || use[i] >= builder->plan->first_feed || builder->borrowed[use[i]] ||
		builder->plan->kind[use[i]] == SLOT_PRESET)
		return false;
	for (int j = 0; j < instruction->n_in; j++)
		if (j != i && dfg_alias_class(builder, use[j]) == group && instruction->kind > INSTR_ROW_NEW)
			return false;
	return true;
}

/* An elementwise instruction may write over any operand, other in-place kernels over the first. */
static void try_in_place(struct program_builder *builder, struct instruction *instruction, uint32_t o)
{
	const struct plan_node *node = instruction->node;
	const uint32_t *use = builder->program->use + instruction->first;
	bool makes = instruction->kind == INSTR_ROW || instruction->kind == INSTR_CHECKED_ROW ||
				 instruction->kind == INSTR_ROW_INDIRECT || instruction->kind == INSTR_ROW_NEW ||
				 instruction->kind == INSTR_KERNEL;
	if (!makes || !node->in_place || !instruction->n_out || builder->plan->session->options.no_opt)
		return;
	uint32_t out = use[instruction->n_in];
	int most = node->run == dfg_elementwise_run ? instruction->n_in : 1;
	for (int i = 0; i < most && i < 32; i++) {
		if (!dfg_is_last_use(builder, instruction, o, i))
			continue;
		instruction->in_place |= UINT32_C(1) << i;
		const struct dfg_inferred *in = &builder->fact[use[i]], *to = &builder->fact[out];
		bool same = dfg_dtype_size(in->dtype) == dfg_dtype_size(to->dtype) && dfg_shape_known(&in->shape) &&
					dfg_shape_known(&to->shape) && dfg_shape_count(&in->shape) == dfg_shape_count(&to->shape);
		if (!same || builder->storage[use[i]] == DFG_NONE || builder->storage[out] != out)
			continue;
		builder->storage[out] = builder->storage[use[i]];
		dfg_alias_join(builder, use[i], out);
	}
}

/* Whether the slot's value certainly has the inferred shape, whatever a kernel does. */
static bool has_certain_shape(const struct program_builder *builder, uint32_t slot)
{
	const struct dfg_plan *plan = builder->plan;
	if (slot >= plan->first_feed || plan->kind[slot] == SLOT_PRESET || builder->storage[slot] != DFG_NONE)
		return true;
	return builder->program->start[slot].data || plan->node[plan->maker[slot]].role == DFG_READ;
}

/* Sets the slot's dtype and shape at the start of a step. */
static void start_tensor(struct program_builder *builder, uint32_t slot)
{
	const struct dfg_inferred *fact = &builder->fact[slot];
	builder->program->start[slot] =
		(struct dfg_tensor){.dtype = fact->dtype, .shape = fact->shape, .capacity = dfg_slot_bytes(builder, slot)};
}

static bool is_fixed(const struct program_builder *builder, uint32_t slot)
{
	return slot >= builder->plan->first_feed || builder->storage[slot] != DFG_NONE ||
		   (builder->program->start[slot].data && !builder->plan->is_ref[slot]);
}

bool dfg_passes_domain_check(const struct program_builder *builder, const struct instruction *instruction)
{
	struct dfg_tensor tensor[DFG_ROW_OPERANDS], *in[DFG_ROW_OPERANDS];
	for (int i = 0; i < instruction->n_in; i++) {
		uint32_t slot = builder->program->use[instruction->first + (uint32_t)i];
		in[i] = &tensor[i];
		tensor[i] = builder->program->start[slot];
		if (tensor[i].data && !builder->plan->is_ref[slot])
			continue;
		if (instruction->node->call->op->guard_reads >> i & 1)
			return false;
		tensor[i] = (struct dfg_tensor){.dtype = builder->fact[slot].dtype, .shape = builder->fact[slot].shape};
	}
	struct runner runner = {.session = builder->plan->session};
	struct dfg_err *err = dfg_runner_check_domain(&runner, instruction->node, in, NULL);
	dfg_err_free(err);
	return !err;
}

/* A row is called directly if all operands certainly have the same shape, or are constants that are repeated. */
static void call_row_directly(struct program_builder *builder, struct instruction *instruction)
{
	const struct plan_node *node = instruction->node;
	const uint32_t *use = builder->program->use + instruction->first;
	const struct dfg_session_options *options = &builder->plan->session->options;
	if (instruction->kind != INSTR_KERNEL || !node->row || node->reads_ref || options->no_opt ||
		options->check_numerics || options->trace)
		return;
	const struct dfg_inferred *out = &builder->fact[use[instruction->n_in]];
	int64_t n = dfg_shape_known(&out->shape) ? dfg_shape_count(&out->shape) : ROW_MOST + 1;
	bool fixed = true;
	for (int i = 0; i < instruction->n_in; i++) {
		const struct dfg_shape *shape = &builder->fact[use[i]].shape;
		if (!has_certain_shape(builder, use[i]) || !dfg_shape_known(shape) ||
			(dfg_shape_count(shape) != n && (node->call->op->guard || !dfg_repeats_constant(builder, use[i], n))))
			return;
		fixed &= is_fixed(builder, use[i]);
	}
	bool counted = builder->storage[use[instruction->n_in]] == DFG_NONE;
	bool guarded = node->call->op->guard && n <= ROW_MOST && !dfg_passes_domain_check(builder, instruction);
	if (n > ROW_MOST || (guarded && (counted || !fixed)))
		return;
	instruction->row = node->row;
	instruction->n = n;
	instruction->kind = guarded ? INSTR_CHECKED_ROW : fixed ? INSTR_ROW : INSTR_ROW_INDIRECT;
	if (!counted)
		return;
	instruction->kind = INSTR_ROW_NEW;
	start_tensor(builder, use[instruction->n_in]);
}

static void find_counted(struct program_builder *builder, bool *seen)
{
	struct program *program = builder->program;
	for (uint32_t o = 0; o < program->count; o++) {
		const struct instruction *instruction = &program->code[o];
		for (uint32_t i = instruction->n_in;
			 i < (uint32_t)instruction->n_in + instruction->n_out && instruction->kind != INSTR_VIEW; i++) {
			uint32_t slot = program->use[instruction->first + i];
			if (builder->storage[slot] == DFG_NONE && !seen[slot])
				program->counted[program->n_counted++] = slot;
			seen[slot] = true;
		}
	}
}

static struct dfg_err *finish_ops(struct program_builder *builder)
{
	struct program *program = builder->program;
	bool *seen = dfg_arena_zeros(builder->scratch, builder->plan->slots, sizeof *seen);
	if (!seen)
		return dfg_no_memory("the memory plan of the step");
	for (uint32_t o = 0; o < program->count; o++) {
		struct instruction *instruction = &program->code[o];
		call_row_directly(builder, instruction);
		if (instruction->kind == INSTR_GROUP)
			dfg_group_write_in_place(builder, instruction, o);
		else
			try_in_place(builder, instruction, o);
	}
	find_counted(builder, seen);
	if (builder->schedule->predicates)
		DFG_TRY(dfg_program_coalesce(builder));
	return dfg_program_move_variables(builder);
}

static struct dfg_err *assign_offsets(struct program_builder *builder)
{
	struct dfg_plan *plan = builder->plan;
	struct program *program = builder->program;
	uint32_t n = 0, *number = dfg_arena_zeros(builder->scratch, plan->slots, sizeof *number);
	if (!number)
		return dfg_no_memory("the memory plan of the step");
	for (uint32_t s = 0; s < plan->slots; s++) {
		if (builder->storage[s] != s)
			continue;
		uint32_t group = dfg_alias_class(builder, s), last = builder->last[group];
		number[s] = n;
		builder->range[n++] = (struct live_range){.bytes = dfg_slot_bytes(builder, s),
			.first = builder->first[group],
			.last = plan->session->options.no_opt || last >= program->count ? program->count : last};
	}
	DFG_TRY(dfg_pack(builder->range, n, builder->scratch, &program->block, &program->live));
	for (uint32_t s = 0; s < plan->slots; s++) {
		if (builder->storage[s] == DFG_NONE)
			continue;
		start_tensor(builder, s);
		program->in_block[s] = true;
		program->start[s].data = (void *)(uintptr_t)builder->range[number[dfg_storage_root(builder, s)]].offset;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct live_range *range = &builder->range[i];
		for (uint32_t o = range->first; n < 4096 && o <= range->last && o < program->count; o++)
			program->alive[o] += range->bytes;
	}
	return NULL;
}

/* A bool at a fixed address is read directly. */
static void fix_choice(struct program_builder *builder, struct instruction *instruction)
{
	const struct dfg_inferred *fact = &builder->fact[builder->program->use[instruction->first]];
	if (is_fixed(builder, builder->program->use[instruction->first]) &&
		has_certain_shape(builder, builder->program->use[instruction->first]) && fact->dtype == DFG_BOOL &&
		fact->shape.rank == 0 && instruction->n == 2)
		instruction->kind = INSTR_TEST;
}

/* A copy between fixed addresses is a copy of bytes. */
static void fix_copies(struct program_builder *builder)
{
	struct program *program = builder->program;
	for (uint32_t o = 0; o < program->count; o++) {
		struct instruction *instruction = &program->code[o];
		if (instruction->kind == INSTR_SWITCH)
			fix_choice(builder, instruction);
		if (instruction->kind != INSTR_COPY_IN)
			continue;
		uint32_t in = program->use[instruction->first], out = program->use[instruction->first + 1];
		if (!is_fixed(builder, in) || !dfg_shape_equal(&builder->fact[in].shape, &builder->fact[out].shape))
			continue;
		instruction->kind =
			builder->storage[in] != DFG_NONE && dfg_storage_root(builder, in) == dfg_storage_root(builder, out)
				? INSTR_NOP
				: INSTR_COPY;
		instruction->n = (int64_t)program->start[out].capacity;
	}
	for (uint32_t m = 0; m < program->moves_made; m++)
		program->move[m].bytes = program->start[program->move[m].to].capacity;
}

/* The shape of a view outside the block is set at the start; its address in the step. */
static void shape_views(struct program_builder *builder)
{
	struct program *program = builder->program;
	for (uint32_t o = 0; o < program->count; o++)
		if (program->code[o].kind == INSTR_VIEW)
			start_tensor(builder, program->use[program->code[o].first + program->code[o].n_in]);
}

/* The caller gets the slot's own reference, unless the slot is fetched twice. */
static void move_fetches(struct program_builder *builder)
{
	const struct dfg_plan *plan = builder->plan;
	struct program *program = builder->program;
	for (uint32_t i = 0; i < plan->step.n_fetch; i++) {
		program->moves[i] = false;
		for (uint32_t c = 0; c < program->n_counted; c++)
			program->moves[i] |= program->counted[c] == program->fetch[i];
		for (uint32_t j = i + 1; j < plan->step.n_fetch; j++)
			program->moves[i] &= program->fetch[j] != program->fetch[i];
	}
}

/* Finds the uses of feeds, whose addresses are filled in at the start of a step. */
static struct dfg_err *find_fed(struct program_builder *builder)
{
	struct program *program = builder->program;
	for (int fill = 0; fill < 2; fill++) {
		program->n_fed = 0;
		for (uint32_t o = 0; o < program->count; o++) {
			const struct instruction *instruction = &program->code[o];
			for (uint32_t u = instruction->first;
				 u < instruction->first + instruction->n_in && instruction->kind <= INSTR_COPY; u++) {
				if (program->use[u] < builder->plan->first_feed)
					continue;
				if (fill)
					program->fed[program->n_fed] = u;
				program->n_fed++;
			}
		}
		if (!fill && !(program->fed = dfg_arena_zeros(&program->arena, program->n_fed, sizeof *program->fed)))
			return dfg_no_memory("the memory plan of the step");
	}
	return NULL;
}

struct dfg_err *dfg_program_plan_memory(struct program_builder *builder)
{
	DFG_TRY(dfg_program_find_escapes(builder));
	DFG_TRY(dfg_program_drop_instructions(builder));
	dfg_program_find_live_ranges(builder);
	DFG_TRY(finish_ops(builder));
	DFG_TRY(assign_offsets(builder));
	shape_views(builder);
	fix_copies(builder);
	DFG_TRY(dfg_program_plan_releases(builder));
	move_fetches(builder);
	DFG_TRY(dfg_program_drop_instructions(builder));
	dfg_program_thread_jumps(builder);
	if (builder->program->groups)
		DFG_TRY(dfg_program_weigh_branches(builder));
	return find_fed(builder);
}
