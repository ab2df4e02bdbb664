#include "lib/exec/linear/region_private.h"

#include <string.h>

/* Translates loops of a program to register code. */

enum { OPS_MOST = 4 }; /* ops of an instruction, without its moves */
#define OFFSET_MOST ((uintptr_t)1 << 30)

struct translator {
	struct program_builder *builder;
	struct program *program;
	uint32_t first, last; /* the region's instructions: INSTR_LOOP_ENTER to INSTR_LOOP_BACK */
	struct register_code *code;
	uint32_t *op_of;  /* index of an instruction's first op, by instruction */
	uint32_t *end_of; /* of an INSTR_LOOP_BACK: its REG_LOOP_END; by instruction */
	uint32_t *apart;  /* instruction numbers of the branches whose instructions are after the region's others */
	uint32_t n_apart;
	uint32_t *reads; /* how many inputs and fetches read the slot's memory, by the slot that owns it */
};

static bool is_constant(const struct translator *t, uint32_t slot)
{
	return slot < t->builder->plan->first_feed && !t->program->in_block[slot] && t->program->start[slot].data &&
		   !t->builder->plan->is_ref[slot];
}

/* A register outside the block. */
static uint32_t import(struct translator *t, uint32_t slot, uint32_t bytes, int64_t value)
{
	struct register_code *code = t->code;
	for (uint32_t i = 0; i < code->imports; i++)
		if (code->import[i].slot == slot && code->import[i].value == value && code->import[i].bytes == bytes)
			return code->import[i].at;
	uint32_t at = (uint32_t)code->bytes;
	code->bytes += REGISTER_BYTES;
	code->import[code->imports++] =
		(struct register_import){.slot = slot, .at = at, .bytes = bytes, .value = slot == DFG_NONE ? value : 0};
	return at;
}

/* The register of a scalar; DFG_NONE: it has none, since its address is not fixed or it is too large. */
static uint32_t register_of(struct translator *t, uint32_t slot)
{
	size_t bytes = dfg_slot_bytes(t->builder, slot);
	if (bytes > REGISTER_BYTES || dfg_dtype_is_object(t->builder->fact[slot].dtype))
		return DFG_NONE;
	if (t->program->in_block[slot]) {
		uintptr_t offset = (uintptr_t)t->program->start[slot].data;
		return offset < OFFSET_MOST ? (uint32_t)offset : DFG_NONE;
	}
	if (slot < t->builder->plan->first_feed && !is_constant(t, slot))
		return DFG_NONE;
	return import(t, slot, (uint32_t)bytes, 0);
}

static struct register_op *add_op(struct translator *t, enum register_opcode code, uint32_t instruction)
{
	struct register_op *op = &t->code->op[t->code->count++];
	*op = (struct register_op){.code = (uint16_t)code, .instruction = instruction, .to = DFG_NONE};
	return op;
}

static const uint32_t *uses(const struct translator *t, const struct instruction *instruction)
{
	return t->program->use + instruction->first;
}

static uint32_t owner(const struct translator *t, uint32_t slot)
{
	return t->program->in_block[slot] ? dfg_storage_root(t->builder, slot) : slot;
}

/* The value of a constant integer; false: it is not one. */
static bool known_divisor(const struct translator *t, uint32_t slot, int64_t *out_value)
{
	const struct dfg_tensor *start = &t->program->start[slot];
	if (!is_constant(t, slot) || !dfg_dtype_is(start->dtype, "int") || !start->data)
		return false;
	*out_value = dfg_tensor_int(start, 0);
	return true;
}

static bool is_power_of_two(int64_t value)
{
	return value > 0 && !(value & (value - 1));
}

/* Division by a constant: rounded down by a power of two it is a shift or a mask, of i32 a multiplication. */
static void use_constant_divisor(struct translator *t, struct register_op *op, uint32_t slot)
{
	int64_t divisor;
	bool wide = op->code == REG_FLOOR_DIV_i64 || op->code == REG_FLOOR_MOD_i64;
	bool quotient = op->code == REG_FLOOR_DIV_i64 || op->code == REG_FLOOR_DIV_i32;
	if (!wide && !quotient && op->code != REG_FLOOR_MOD_i32)
		return;
	if (!known_divisor(t, slot, &divisor) || divisor < 2)
		return;
	if (is_power_of_two(divisor)) {
		int64_t operand = quotient ? __builtin_ctzll((unsigned long long)divisor) : divisor - 1;
		op->b = import(t, DFG_NONE, wide ? 8 : 4, operand);
		op->code = quotient ? (wide ? REG_SHR_i64 : REG_SHR_i32) : (wide ? REG_AND_i64 : REG_AND_i32);
	} else if (!wide) {
		op->by = dfg_register_divisor((int32_t)divisor);
		op->code = quotient ? REG_FLOOR_DIV_BY : REG_FLOOR_MOD_BY;
	}
}

static enum register_opcode opcode_of(const struct instruction *instruction)
{
	const struct dfg_resolved_node *call = instruction->node->call;
	if (instruction->n != 1 || instruction->n_out != 1 || !instruction->n_in)
		return REG_OPCODES;
	if (call->op->means == DFG_MEANS_SELECTION && instruction->n_in == 3)
		switch (dfg_dtype_size(call->out_dtype[0])) {
		case 1:
			return REG_SELECT_1;
		case 4:
			return REG_SELECT_4;
		case 8:
			return REG_SELECT_8;
		default:
			return REG_OPCODES;
		}
	return dfg_register_opcode(call->op->means, call->in_dtype[0]);
}

static bool add_scalar_row(struct translator *t, const struct instruction *instruction, uint32_t number)
{
	const uint32_t *use = uses(t, instruction);
	enum register_opcode code = opcode_of(instruction);
	uint32_t in[3] = {0};
	if (code == REG_OPCODES || instruction->n_in > 3)
		return false;
	for (int i = 0; i < instruction->n_in; i++)
		if ((in[i] = register_of(t, use[i])) == DFG_NONE)
			return false;
	uint32_t out = register_of(t, use[instruction->n_in]);
	if (out == DFG_NONE)
		return false;
	struct register_op *op = add_op(t, code, number);
	op->out = out;
	op->once = t->reads[owner(t, use[instruction->n_in])] == 1;
	op->a = in[0], op->b = in[1], op->c = in[2];
	if (instruction->n_in == 2)
		use_constant_divisor(t, op, use[1]);
	return true;
}

static bool is_one_number(const struct translator *t, uint32_t slot)
{
	const struct dfg_inferred *fact = &t->builder->fact[slot];
	return !dfg_dtype_is(fact->dtype, "half") && dfg_shape_known(&fact->shape) && dfg_shape_count(&fact->shape) == 1;
}

/* The cast of one number. Only casts to halves depend on the attribute Truncate, and they are left out. */
static bool add_cast(struct translator *t, const struct instruction *instruction, uint32_t number)
{
	const uint32_t *use = uses(t, instruction);
	if (instruction->node->call->op->means != DFG_MEANS_CAST || instruction->n_release || !is_one_number(t, use[0]) ||
		!is_one_number(t, use[1]) || !t->program->in_block[use[1]])
		return false;
	uint32_t in = register_of(t, use[0]), out = register_of(t, use[1]);
	if (in == DFG_NONE || out == DFG_NONE)
		return false;
	struct register_op *op = add_op(t, REG_CAST, number);
	op->a = in;
	op->out = out;
	op->b = t->builder->fact[use[0]].dtype;
	op->c = t->builder->fact[use[1]].dtype;
	return true;
}

static bool add_copy(struct translator *t, uint32_t from, uint32_t to, size_t bytes, uint32_t number)
{
	uint32_t in = register_of(t, from), out = register_of(t, to);
	if (in == DFG_NONE || out == DFG_NONE || !t->program->in_block[to] || (bytes != 1 && bytes != 4 && bytes != 8))
		return false;
	struct register_op *op = add_op(t, bytes == 1 ? REG_COPY_1 : bytes == 4 ? REG_COPY_4 : REG_COPY_8, number);
	op->a = in;
	op->out = out;
	return true;
}

static void add_moves(struct translator *t, const struct instruction *instruction, uint32_t number)
{
	for (uint32_t m = instruction->first_move; m < instruction->first_move + instruction->n_move; m++) {
		const struct move *move = &t->program->move[m];
		bool bytes = move->kind == MOVE_BYTES ||
					 (move->kind == MOVE_COPY_IN && is_constant(t, move->from) &&
						 t->program->start[move->from].dtype == t->program->start[move->to].dtype &&
						 dfg_shape_equal(&t->program->start[move->from].shape, &t->program->start[move->to].shape));
		if (!bytes || !add_copy(t, move->from, move->to, move->bytes, number))
			add_op(t, REG_MOVE, number)->a = m;
	}
}

/* Whether the loop's predicate is known to be true where its last instruction is reached. */
static bool always_continues(const struct translator *t, const struct instruction *back, uint32_t number)
{
	const struct schedule *schedule = t->builder->schedule;
	const struct instruction *code = t->program->code;
	if (number == back->to || schedule->predicate[back->predicate].n_out != 2 ||
		!dfg_condition_has(schedule, dfg_condition_in_loop(t->builder, back - 1, back->loop), back->predicate, 1))
		return false;
	for (uint32_t o = back->to; o < number; o++) {
		if (code[o].kind != INSTR_BRANCH || code[o].to != number || code[o].predicate == back->predicate)
			continue;
		if (!dfg_condition_has(schedule, dfg_condition_in_loop(t->builder, &code[o], back->loop), back->predicate, 1))
			return false;
	}
	return true;
}

static void add_back(struct translator *t, const struct instruction *instruction, uint32_t number)
{
	uint32_t test = DFG_NONE;
	if (!always_continues(t, instruction, number)) {
		test = t->code->count;
		add_op(t, REG_BACK_TEST, number)->predicate = instruction->predicate;
	}
	add_moves(t, instruction, number);
	if (instruction->n_renewed)
		add_op(t, REG_RENEW, number);
	struct register_op *back = add_op(t, REG_BACK, number);
	back->to = t->op_of[instruction->to];
	back->loop = instruction->loop;
	t->end_of[number] = t->code->count;
	if (test != DFG_NONE)
		t->code->op[test].to = t->code->count;
	add_op(t, REG_LOOP_END, number);
}

/* The instructions that run once, where the loop ends: a jump over them in each iteration would cost more than the others. */
static bool is_apart(const struct translator *t, const struct instruction *instruction)
{
	const struct schedule *schedule = t->builder->schedule;
	return instruction->kind == INSTR_BRANCH && !instruction->n_release && instruction->side == 0 &&
		   instruction->loop && schedule->loop_info[instruction->loop].predicate == instruction->predicate &&
		   schedule->predicate[instruction->predicate].n_out == 2;
}

/* aim_branches() sets the target, once all instructions are translated. */
static void add_branch(struct translator *t, const struct instruction *instruction, uint32_t number)
{
	struct register_op *op = add_op(t, REG_BRANCH, number);
	uint32_t dead = instruction->to - number - 1 + (uint32_t)instruction->n;
	op->predicate = instruction->predicate;
	if (is_apart(t, instruction)) {
		t->apart[t->n_apart++] = number;
		op->side = 1;
		op->dead_next = dead;
	} else {
		op->side = instruction->side;
		op->dead = dead;
	}
}

static void add_row(struct translator *t, const struct instruction *instruction, uint32_t number)
{
	struct register_op *op = add_op(t, REG_ROW, number);
	op->a = instruction->first;
	op->b = instruction->n_in;
	op->c = t->code->rows;
	t->code->row[t->code->rows++] = (struct register_row){instruction->row, instruction->n, instruction->attr};
}

static void add_instruction(struct translator *t, uint32_t number)
{
	const struct instruction *instruction = &t->program->code[number];
	const uint32_t *use = uses(t, instruction);
	uint32_t in;
	switch ((enum opcode)instruction->kind) {
	case INSTR_ROW:
	case INSTR_CHECKED_ROW:
		if (!instruction->n_release && add_scalar_row(t, instruction, number))
			return;
		if (instruction->kind == INSTR_ROW && !instruction->n_release)
			add_row(t, instruction, number);
		else
			add_op(t, REG_INTERPRET, number);
		return;
	case INSTR_KERNEL:
		if (!add_cast(t, instruction, number))
			add_op(t, REG_INTERPRET, number);
		return;
	case INSTR_COPY:
		if (!add_copy(t, use[0], use[1], (size_t)instruction->n, number))
			add_op(t, REG_INTERPRET, number);
		return;
	case INSTR_TEST:
		if ((in = register_of(t, use[0])) == DFG_NONE) {
			add_op(t, REG_INTERPRET, number);
			return;
		}
		struct register_op *op = add_op(t, REG_TEST, number);
		op->a = in;
		op->predicate = instruction->predicate;
		return;
	case INSTR_BRANCH:
		add_branch(t, instruction, number);
		return;
	case INSTR_LOOP_ENTER:
		if (instruction->n_release) {
			add_op(t, REG_INTERPRET, number);
			return;
		}
		add_op(t, REG_ENTER, number)->loop = instruction->predicate;
		add_moves(t, instruction, number);
		return;
	case INSTR_LOOP_BACK:
		add_back(t, instruction, number);
		return;
	default:
		add_op(t, REG_INTERPRET, number);
	}
}

static void add_instructions(struct translator *t, uint32_t first, uint32_t end)
{
	for (uint32_t o = first; o < end; o++) {
		const struct instruction *instruction = &t->program->code[o];
		t->op_of[o] = t->code->count;
		add_instruction(t, o);
		if (is_apart(t, instruction))
			o = instruction->to - 1;
	}
}

/* A branch past the end of an iteration that could not continue jumps to the end of the loop. */
static void aim_branches(struct translator *t)
{
	const struct instruction *code = t->program->code;
	for (uint32_t i = 0; i < t->code->count; i++) {
		struct register_op *op = &t->code->op[i];
		const struct instruction *branch = &code[op->instruction], *to;
		if (op->code != REG_BRANCH)
			continue;
		if (is_apart(t, branch)) {
			op->to = t->op_of[op->instruction + 1];
			continue;
		}
		to = &code[branch->to];
		bool ends = to->kind == INSTR_LOOP_BACK && to->predicate == branch->predicate && branch->side == 1;
		op->to = ends ? t->end_of[branch->to] : t->op_of[branch->to];
	}
}

/*
 * Jump threading: a branch that only its predecessor reaches, under a condition that has its predicate, always jumps or
 * never does. A jump to the next op is dropped by the fusion.
 */
static void settle_branch(const struct translator *t, uint32_t number)
{
	const struct schedule *schedule = t->builder->schedule;
	struct register_op *op = &t->code->op[number];
	const struct instruction *branch = &t->program->code[op->instruction];
	const struct instruction *before = &t->program->code[op[-1].instruction];
	bool falls = op[-1].code != REG_BACK && op[-1].code != REG_JUMP && op[-1].code != REG_LEAVE;
	uint32_t condition = dfg_condition_in_loop(t->builder, before, branch->loop);
	if (!falls || branch->n_release || is_apart(t, branch) || condition == UNREACHABLE ||
		schedule->predicate[op->predicate].n_out != 2)
		return;
	bool stays = dfg_condition_has(schedule, condition, op->predicate, op->side);
	if (!stays && !dfg_condition_has(schedule, condition, op->predicate, !op->side))
		return;
	op->code = REG_JUMP;
	op->to = stays ? number + 1 : op->to;
	op->dead = stays ? 0 : op->dead;
}

static struct dfg_err *settle_branches(const struct translator *t)
{
	const struct register_code *code = t->code;
	bool *target = dfg_arena_zeros(t->builder->scratch, code->count, sizeof *target);
	if (!target)
		return dfg_no_memory("the program of the step");
	for (uint32_t i = 0; i < code->count; i++)
		if (code->op[i].to != DFG_NONE && code->op[i].code != REG_LEAVE)
			target[code->op[i].to] = true;
	for (uint32_t i = 1; i < code->count; i++)
		if (code->op[i].code == REG_BRANCH && !target[i])
			settle_branch(t, i);
	return NULL;
}

/* A branch that releases values as it jumps: the ops for that are after all others, since such jumps are rare. */
static void add_releases(struct translator *t)
{
	for (uint32_t i = 0, count = t->code->count; i < count; i++) {
		struct register_op *op = &t->code->op[i];
		if (op->code != REG_BRANCH || !t->program->code[op->instruction].n_release)
			continue;
		uint32_t to = op->to;
		op->to = t->code->count;
		add_op(t, REG_RELEASE, op->instruction);
		add_op(t, REG_JUMP, op->instruction)->to = to;
	}
}

/* Allocates scratch for the most ops and imports that the region may have. */
static struct dfg_err *allocate_code(struct translator *t)
{
	struct dfg_arena *scratch = t->builder->scratch;
	size_t ops = 1, imports = 1;
	for (uint32_t o = t->first; o <= t->last; o++) {
		const struct instruction *instruction = &t->program->code[o];
		bool moves = instruction->kind == INSTR_LOOP_ENTER || instruction->kind == INSTR_LOOP_BACK;
		ops += OPS_MOST + (moves ? instruction->n_move : 0);
		imports += (size_t)instruction->n_in + (moves ? instruction->n_move : 0) + 1;
	}
	t->code->op = dfg_arena_zeros(scratch, ops, sizeof *t->code->op);
	t->code->import = dfg_arena_zeros(scratch, imports, sizeof *t->code->import);
	t->code->row = dfg_arena_zeros(scratch, t->last - t->first + 1, sizeof *t->code->row);
	return t->code->op && t->code->import && t->code->row ? NULL : dfg_no_memory("the program of the step");
}

static struct dfg_err *translate(struct translator *t)
{
	DFG_TRY(allocate_code(t));
	t->n_apart = 0;
	t->code->bytes = (t->program->block + DFG_ALIGN - 1) / DFG_ALIGN * DFG_ALIGN;
	t->code->unread = (uint32_t)t->code->bytes;
	t->code->bytes += REGISTER_BYTES;
	add_instructions(t, t->first, t->last + 1);
	add_op(t, REG_LEAVE, t->last)->to = t->last + 1;
	for (uint32_t i = 0; i < t->n_apart; i++) {
		uint32_t branch = t->apart[i], to = t->program->code[branch].to;
		add_instructions(t, branch + 1, to);
		add_op(t, REG_JUMP, branch)->to = t->op_of[to];
	}
	aim_branches(t);
	DFG_TRY(settle_branches(t));
	add_releases(t);
	return dfg_register_fuse(t->code, t->builder->scratch);
}

static void count_reads(struct translator *t)
{
	for (uint32_t o = 0; o < t->program->count; o++)
		for (uint32_t i = 0; i < t->program->code[o].n_in; i++)
			t->reads[owner(t, uses(t, &t->program->code[o])[i])]++;
	for (uint32_t i = 0; i < t->builder->plan->step.n_fetch; i++)
		t->reads[owner(t, t->program->fetch[i])]++;
}

/*
 * Whether a third of the ops or more call the interpreter. Such a loop spends its time in these calls, which cost more
 * from register code than from the interpreter itself.
 */
static bool calls_much(const struct register_code *code)
{
	uint32_t calls = 0;
	for (uint32_t i = 0; i < code->count; i++)
		calls += code->op[i].code == REG_INTERPRET;
	return 3 * calls >= code->count;
}

/* Copies the code from the scratch to the program: its loop runs as a region. */
static struct dfg_err *keep_region(const struct translator *t)
{
	struct program *program = t->program;
	struct register_code *code = &program->region[program->regions].code;
	*code = *t->code;
	code->op = (void *)dfg_arena_copy(&program->arena, t->code->op, code->count * sizeof *code->op);
	code->import = (void *)dfg_arena_copy(&program->arena, t->code->import, code->imports * sizeof *code->import);
	code->row = (void *)dfg_arena_copy(&program->arena, t->code->row, code->rows * sizeof *code->row);
	if (!code->op || !code->import || !code->row)
		return dfg_no_memory("the program of the step");
	program->bytes = code->bytes > program->bytes ? code->bytes : program->bytes;
	program->code[t->first].region = ++program->regions;
	return NULL;
}

static struct dfg_err *translate_loops(struct translator *t)
{
	const struct dfg_session_options *options = &t->builder->plan->session->options;
	const struct program *program = t->program;
	for (uint32_t o = 0; o < program->count; o++) {
		if (program->code[o].kind != INSTR_LOOP_ENTER)
			continue;
		struct register_code code = {0};
		t->first = o;
		t->last = o = t->builder->back[program->code[o].predicate];
		t->code = &code;
		DFG_TRY(translate(t));
		if (options->emit_loops_after || !calls_much(&code))
			DFG_TRY(keep_region(t));
	}
	return NULL;
}

struct dfg_err *dfg_program_find_regions(struct program_builder *builder)
{
	struct program *program = builder->program;
	const struct dfg_session_options *options = &builder->plan->session->options;
	struct translator t = {.builder = builder, .program = program};
	program->bytes = program->block;
	if (builder->schedule->loops < 2 || program->block >= OFFSET_MOST || options->no_compiled_loops ||
		options->no_opt || options->check_numerics || options->trace)
		return NULL;
	t.op_of = dfg_arena_zeros(builder->scratch, (size_t)program->count + 1, sizeof *t.op_of);
	t.end_of = dfg_arena_zeros(builder->scratch, program->count, sizeof *t.end_of);
	t.apart = dfg_arena_zeros(builder->scratch, program->count, sizeof *t.apart);
	t.reads = dfg_arena_zeros(builder->scratch, builder->plan->slots, sizeof *t.reads);
	program->region = dfg_arena_zeros(&program->arena, builder->schedule->loops, sizeof *program->region);
	if (!t.op_of || !t.end_of || !t.apart || !t.reads || !program->region)
		return dfg_no_memory("the program of the step");
	count_reads(&t);
	return translate_loops(&t);
}
