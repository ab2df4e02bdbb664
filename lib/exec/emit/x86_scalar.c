#include "lib/exec/emit/x86_scalar.h"

#include "lib/exec/emit/x86_scalar_private.h"

#include "lib/base/mem.h"

void dfg_native_release(struct native_code *native)
{
	dfg_code_memory_unmap(&native->memory);
	dfg_free(native->op);
	*native = (struct native_code){0};
}

#ifndef __x86_64__
bool dfg_native_make(const struct register_code *code, struct native_code *out_native)
{
	(void)code;
	*out_native = (struct native_code){0};
	return false;
}
#else

static void jump_to(struct x86_emitter *e, size_t at, uint32_t op)
{
	e->jump[e->jumps++] = (struct x86_distance){at, op};
}

static void add_dead(struct x86_emitter *e, uint32_t dead)
{
	if (!dead)
		return;
	x86_op(&e->out, 0, X86_WIDE, 0x81, 0, x86_in(R14));
	x86_u32(&e->out, dead);
}

/* RAX is the choice. */
static void emit_branch(struct x86_emitter *e, const struct register_op *op)
{
	struct x86_code *out = &e->out;
	x86_op(out, 0, 0, 0x81, 7, x86_in(RAX));
	x86_u32(out, (uint32_t)op->side);
	if (!op->dead) {
		jump_to(e, x86_jump_if(out, X86_NE), op->to);
	} else {
		size_t stays = x86_jump_if(out, X86_E);
		add_dead(e, op->dead);
		jump_to(e, x86_jump(out), op->to);
		x86_land(out, stays);
	}
	add_dead(e, op->dead_next);
}

/* Sets the predicate to RAX. */
static void emit_choice(struct x86_emitter *e, const struct register_op *op)
{
	x86_op(&e->out, 0, X86_WIDE, 0x8b, RCX, FRAME(chosen));
	x86_op(&e->out, 0, 0, 0x89, RAX, x86_at(RCX, op->predicate * 4));
}

static void load_choice(struct x86_emitter *e, const struct register_op *op)
{
	x86_op(&e->out, 0, X86_WIDE, 0x8b, RCX, FRAME(chosen));
	x86_op(&e->out, 0, 0, 0x8b, RAX, x86_at(RCX, op->predicate * 4));
}

/*
 * The end of an iteration. The VM runs the op itself if the fuel would be empty after it, or the loop too long, so that the
 * addition before it is after these tests.
 */
static void emit_back(struct x86_emitter *e, const struct register_op *op, uint32_t number)
{
	struct x86_code *out = &e->out;
	x86_op(out, 0, X86_WIDE, 0x83, 7, x86_in(R15));
	x86_byte(out, 1);
	x86_leave_if(e, X86_BE, number);
	x86_op(out, 0, X86_WIDE, 0x8b, RCX, FRAME(iteration));
	x86_op(out, 0, X86_WIDE, 0x8b, RAX, x86_at(RCX, op->loop * 8));
	x86_op(out, 0, X86_WIDE, 0x83, 0, x86_in(RAX));
	x86_byte(out, 1);
	x86_op(out, 0, X86_WIDE, 0x3b, RAX, FRAME(most));
	x86_leave_if(e, X86_G, number);
	x86_op(out, 0, X86_WIDE, 0x89, RAX, x86_at(RCX, op->loop * 8));
	x86_op(out, 0, X86_WIDE, 0x83, 5, x86_in(R15));
	x86_byte(out, 1);
	if (op->code != REG_BACK) {
		uint8_t bytes = op->code == REG_ADD_BACK_i32 ? 4 : 8;
		x86_load_int(e, RAX, x86_operand(e, op->a, false), bytes);
		x86_op(out, 0, bytes == 8 ? X86_WIDE : 0, 0x03, RAX, x86_operand(e, op->b, false));
		x86_store_int(e, op->out, RAX, bytes);
	}
	jump_to(e, x86_jump(out), op->to);
}

/* A function of the interpreter: it may change any location. */
static void emit_call(struct x86_emitter *e, uint32_t number)
{
	struct x86_code *out = &e->out;
	x86_op(out, 0, X86_WIDE, 0x8b, RDI, x86_in(RBP));
	x86_mov_imm(out, RSI, number);
	x86_op(out, 0, 0, 0xff, 2, FRAME(call));
	x86_op(out, 0, 0, 0x85, RAX, x86_in(RAX));
	x86_leave_if(e, X86_NE, number);
	dfg_x86_load_locations(e);
}

/* A row, which may change any location. */
static void emit_row(struct x86_emitter *e, const struct register_op *op)
{
	struct x86_code *out = &e->out;
	const uint32_t at = op->c * (uint32_t)sizeof(struct register_row);
	x86_op(out, 0, X86_WIDE, 0x8b, RDX, FRAME(data));
	x86_op(out, 0, X86_WIDE, 0x81, 0, x86_in(RDX));
	x86_u32(out, op->a * (uint32_t)sizeof(void *));
	x86_op(out, 0, X86_WIDE, 0x8b, RSI, x86_at(RDX, op->b * (uint32_t)sizeof(void *)));
	x86_op(out, 0, X86_WIDE, 0x8b, RAX, FRAME(row));
	x86_op(out, 0, X86_WIDE, 0x8b, RDI, x86_at(RAX, at + (uint32_t)offsetof(struct register_row, n)));
	x86_op(out, 0, X86_WIDE, 0x8b, RCX, x86_at(RAX, at + (uint32_t)offsetof(struct register_row, attr)));
	x86_op(out, 0, 0, 0xff, 2, x86_at(RAX, at + (uint32_t)offsetof(struct register_row, row)));
	dfg_x86_load_locations(e);
}

static void emit_control(struct x86_emitter *e, const struct register_op *op, uint32_t number)
{
	struct x86_code *out = &e->out;
	switch ((enum register_opcode)op->code) {
	case REG_SELECT_1:
	case REG_SELECT_4:
	case REG_SELECT_8:
		dfg_x86_select(e, op);
		return;
	case REG_COPY_1:
	case REG_COPY_4:
	case REG_COPY_8:
		dfg_x86_copy(e, op);
		return;
	case REG_FLOOR_DIV_BY:
	case REG_FLOOR_MOD_BY:
		dfg_x86_divide_by(e, op, op->code == REG_FLOOR_MOD_BY);
		x86_store_int(e, op->out, RAX, 4);
		return;
	case REG_DIVISIBLE_TEST:
	case REG_DIVISIBLE:
		dfg_x86_divide_by(e, op, true);
		x86_store_int(e, op->out, RAX, 4);
		x86_op(out, 0, 0, 0x3b, RAX, x86_operand(e, op->b, false));
		x86_op(out, 0, X86_BYTE, 0x0f90 | X86_E, 0, x86_in(RAX));
		x86_op(out, 0, X86_BYTE, 0x0fb6, RAX, x86_in(RAX));
		x86_store_int(e, op->c, RAX, 1);
		emit_choice(e, op);
		if (op->code == REG_DIVISIBLE)
			emit_branch(e, op);
		return;
	case REG_TEST:
	case REG_TEST_BRANCH:
		x86_load_int(e, RAX, x86_operand(e, op->a, false), 1);
		emit_choice(e, op);
		if (op->code == REG_TEST_BRANCH)
			emit_branch(e, op);
		return;
	case REG_BRANCH:
		load_choice(e, op);
		emit_branch(e, op);
		return;
	case REG_BACK_TEST:
		load_choice(e, op);
		x86_op(out, 0, 0, 0x83, 7, x86_in(RAX));
		x86_byte(out, 1);
		jump_to(e, x86_jump_if(out, X86_NE), op->to);
		return;
	case REG_JUMP:
		add_dead(e, op->dead);
		jump_to(e, x86_jump(out), op->to);
		return;
	case REG_BACK:
	case REG_ADD_BACK_i32:
	case REG_ADD_BACK_i64:
		emit_back(e, op, number);
		return;
	case REG_ROW:
		emit_row(e, op);
		return;
	case REG_LEAVE:
		e->leave[e->leaves++] = (struct x86_distance){x86_jump(out), number};
		return;
	default:
		emit_call(e, number);
	}
}

static void emit_compared(struct x86_emitter *e, const struct register_op *op)
{
	dfg_x86_comparison(e, op);
	if (!dfg_x86_shapes[op->code].branches)
		return;
	emit_choice(e, op);
	emit_branch(e, op);
}

static void emit_op(struct x86_emitter *e, uint32_t number)
{
	const struct register_op *op = &e->code->op[number];
	const struct x86_shape *shape = &dfg_x86_shapes[op->code];
	bool floats = x86_is_float(shape->type);
	if (shape->kind == K_CONTROL)
		emit_control(e, op, number);
	else if (shape->compares)
		emit_compared(e, op);
	else if (floats)
		dfg_x86_float(e, op);
	else if (shape->kind == K_DIV || shape->kind == K_MOD || shape->kind == K_FLOOR_DIV || shape->kind == K_FLOOR_MOD)
		dfg_x86_division(e, op, number);
	else
		dfg_x86_int(e, op);
}

/* run(frame, from): saves the caller's registers, loads the locations, and jumps to `from`. */
static void emit_entry(struct x86_emitter *e)
{
	static const uint8_t kept[] = {RBX, RBP, R12, R13, R14, R15};
	struct x86_code *out = &e->out;
	for (size_t i = 0; i < sizeof kept; i++)
		x86_push(out, kept[i]);
	x86_op(out, 0, X86_WIDE, 0x83, 5, x86_in(RSP)); /* calls require a stack of whole 16 bytes */
	x86_byte(out, 8);
	x86_op(out, 0, X86_WIDE, 0x8b, RBP, x86_in(RDI));
	x86_op(out, 0, X86_WIDE, 0x8b, RAX, x86_in(RSI));
	x86_op(out, 0, X86_WIDE, 0x8b, RBX, FRAME(block));
	x86_op(out, 0, X86_WIDE, 0x8b, R14, FRAME(dead));
	x86_op(out, 0, X86_WIDE, 0x8b, R15, FRAME(fuel));
	dfg_x86_load_locations(e);
	x86_op(out, 0, 0, 0xff, 4, x86_in(RAX));
}

static void emit_exits(struct x86_emitter *e)
{
	static const uint8_t kept[] = {R15, R14, R13, R12, RBP, RBX};
	struct x86_code *out = &e->out;
	size_t end = out->size;
	x86_op(out, 0, X86_WIDE, 0x89, R14, FRAME(dead));
	x86_op(out, 0, X86_WIDE, 0x89, R15, FRAME(fuel));
	x86_op(out, 0, X86_WIDE, 0x83, 0, x86_in(RSP));
	x86_byte(out, 8);
	for (size_t i = 0; i < sizeof kept; i++)
		x86_pop(out, kept[i]);
	x86_byte(out, 0xc3);
	for (uint32_t i = 0; i < e->leaves; i++) {
		x86_land(out, e->leave[i].at);
		x86_mov_imm(out, RAX, e->leave[i].op);
		x86_aim(out, x86_jump(out), end);
	}
}

static void emit_all(struct x86_emitter *e)
{
	dfg_x86_choose_locations(e);
	emit_entry(e);
	for (uint32_t i = 0; i < e->code->count; i++) {
		e->label[i] = e->out.size;
		emit_op(e, i);
	}
	emit_exits(e);
	for (uint32_t i = 0; i < e->jumps; i++)
		x86_aim(&e->out, e->jump[i].at, e->label[e->jump[i].op]);
}

static bool map_code(const struct x86_emitter *e, struct native_code *out_native)
{
	const void **op = dfg_zeros(e->code->count, sizeof *op);
	*out_native = (struct native_code){.op = op};
	if (e->out.overflow || !op || !dfg_code_memory_map(e->out.bytes, e->out.size, &out_native->memory)) {
		dfg_native_release(out_native);
		return false;
	}
	for (uint32_t i = 0; i < e->code->count; i++)
		op[i] = (const char *)out_native->memory.bytes + e->label[i];
	out_native->run = (native_fn *)(uintptr_t)out_native->memory.bytes;
	return true;
}

bool dfg_native_make(const struct register_code *code, struct native_code *out_native)
{
	enum { USES_MOST = 4, LEAVES_MOST = 2, SMALL = 4096, BYTES_AN_OP = 512, OPS_MOST = 8192 };
	size_t count = code->count;
	struct x86_emitter e = {.code = code, .out = {.capacity = SMALL + count * BYTES_AN_OP}};
	*out_native = (struct native_code){0};
	if (count > OPS_MOST)
		return false;
	e.out.bytes = dfg_zeros(e.out.capacity, 1);
	e.location = dfg_zeros(count * USES_MOST, sizeof *e.location);
	e.label = dfg_zeros(count, sizeof *e.label);
	e.jump = dfg_zeros(count, sizeof *e.jump);
	e.leave = dfg_zeros(count * LEAVES_MOST, sizeof *e.leave);
	e.depth = dfg_zeros(count, sizeof *e.depth);
	bool made = e.out.bytes && e.location && e.label && e.jump && e.leave && e.depth;
	if (made)
		emit_all(&e);
	made = made && map_code(&e, out_native);
	dfg_free(e.out.bytes);
	dfg_free(e.location);
	dfg_free(e.label);
	dfg_free(e.jump);
	dfg_free(e.leave);
	dfg_free(e.depth);
	return made;
}
#endif
