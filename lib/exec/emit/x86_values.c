#include "lib/exec/emit/x86_scalar_private.h"

#ifdef __x86_64__

/* Machine code of ops that compute a value. */

/* RAX = quotient, RDX = remainder, rounded towards zero; RCX is the divisor. */
static void emit_idiv(
	struct x86_emitter *e, const struct register_op *op, unsigned wide, uint8_t bytes, uint32_t number)
{
	struct x86_code *out = &e->out;
	x86_load_int(e, RCX, x86_operand(e, op->b, false), bytes);
	x86_op(out, 0, wide, 0x85, RCX, x86_in(RCX));
	x86_leave_if(e, X86_E, number);
	x86_load_int(e, RAX, x86_operand(e, op->a, false), bytes);
	x86_op(out, 0, wide, 0x83, 7, x86_in(RCX));
	x86_byte(out, 0xff);
	size_t negates = x86_jump_if(out, X86_E);
	if (wide)
		x86_byte(out, 0x48);
	x86_byte(out, 0x99);
	x86_op(out, 0, wide, 0xf7, 7, x86_in(RCX));
	size_t done = x86_jump(out);
	x86_land(out, negates);
	x86_op(out, 0, wide, 0xf7, 3, x86_in(RAX));
	x86_op(out, 0, 0, 0x33, RDX, x86_in(RDX));
	x86_land(out, done);
}

void dfg_x86_division(struct x86_emitter *e, const struct register_op *op, uint32_t number)
{
	const struct x86_shape *shape = &dfg_x86_shapes[op->code];
	struct x86_code *out = &e->out;
	uint8_t bytes = x86_bytes_of(shape->type);
	unsigned wide = bytes == 8 ? X86_WIDE : 0;
	bool quotient = shape->kind == K_DIV || shape->kind == K_FLOOR_DIV;
	emit_idiv(e, op, wide, bytes, number);
	if (!quotient)
		x86_op(out, 0, wide, 0x8b, RAX, x86_in(RDX));
	if (shape->kind == K_FLOOR_DIV || shape->kind == K_FLOOR_MOD) {
		x86_op(out, 0, wide, 0x85, RDX, x86_in(RDX));
		size_t exact = x86_jump_if(out, X86_E);
		x86_op(out, 0, wide, 0x33, RDX, x86_in(RCX));
		size_t same = x86_jump_if(out, X86_NS);
		if (quotient)
			x86_op(out, 0, wide, 0xff, 1, x86_in(RAX));
		else
			x86_op(out, 0, wide, 0x03, RAX, x86_in(RCX));
		x86_land(out, exact);
		x86_land(out, same);
	}
	x86_store_int(e, op->out, RAX, bytes);
}

/* RAX = floor of a divided by a constant, or with it the remainder. */
void dfg_x86_divide_by(struct x86_emitter *e, const struct register_op *op, bool remainder)
{
	struct x86_code *out = &e->out;
	x86_load_int(e, RAX, x86_operand(e, op->a, false), 4);
	x86_op(out, 0, 0, 0x8b, RCX, x86_in(RAX));
	x86_shift(out, 0, 7, RCX, 31);
	x86_op(out, 0, 0, 0x33, RAX, x86_in(RCX));
	x86_mov_imm(out, RDX, op->by.factor);
	x86_op(out, 0, X86_WIDE, 0x0faf, RAX, x86_in(RDX));
	x86_shift(out, X86_WIDE, 5, RAX, op->by.shift);
	x86_op(out, 0, 0, 0x33, RAX, x86_in(RCX));
	if (!remainder)
		return;
	x86_op(out, 0, 0, 0x69, RCX, x86_in(RAX));
	x86_u32(out, (uint32_t)op->by.divisor);
	x86_load_int(e, RAX, x86_operand(e, op->a, false), 4);
	x86_op(out, 0, 0, 0x2b, RAX, x86_in(RCX));
}

static void emit_shift(struct x86_emitter *e, const struct register_op *op, unsigned wide, uint8_t bytes, bool left)
{
	struct x86_code *out = &e->out;
	x86_load_int(e, RCX, x86_operand(e, op->b, false), bytes);
	x86_op(out, 0, 0, 0x33, RDX, x86_in(RDX));
	x86_op(out, 0, wide, 0x85, RCX, x86_in(RCX));
	x86_op(out, 0, wide, 0x0f48, RCX, x86_in(RDX));
	x86_mov_imm(out, RDX, bytes * 8 - 1);
	x86_op(out, 0, wide, 0x3b, RCX, x86_in(RDX));
	x86_op(out, 0, wide, 0x0f4f, RCX, x86_in(RDX));
	x86_load_int(e, RAX, x86_operand(e, op->a, false), bytes);
	x86_op(out, 0, wide, 0xd3, left ? 4 : 7, x86_in(RAX));
}

void dfg_x86_int(struct x86_emitter *e, const struct register_op *op)
{
	/* the opcode of op RAX, operand; by kind */
	static const uint16_t plain[] = {
		[K_ADD] = 0x03, [K_SUB] = 0x2b, [K_MUL] = 0x0faf, [K_AND] = 0x23, [K_OR] = 0x0b, [K_XOR] = 0x33, [K_GE] = 0};
	const struct x86_shape *shape = &dfg_x86_shapes[op->code];
	struct x86_code *out = &e->out;
	uint8_t bytes = x86_bytes_of(shape->type);
	unsigned wide = bytes == 8 ? X86_WIDE : 0;
	struct x86_operand b = x86_operand(e, op->b, false);
	if (bytes == 1 && shape->operands == 2) {
		x86_load_int(e, RCX, b, 1);
		b = x86_in(RCX);
	}
	if (shape->kind == K_SHL || shape->kind == K_SHR)
		emit_shift(e, op, wide, bytes, shape->kind == K_SHL);
	else
		x86_load_int(e, RAX, x86_operand(e, op->a, false), bytes);
	if (plain[shape->kind]) {
		x86_op(out, 0, wide, plain[shape->kind], RAX, b);
	} else if (shape->kind == K_MAX || shape->kind == K_MIN) {
		x86_op(out, 0, wide, 0x3b, RAX, b);
		x86_op(out, 0, wide, shape->kind == K_MAX ? 0x0f4c : 0x0f4f, RAX, b);
	} else if (shape->kind == K_NEG || shape->kind == K_INVERT) {
		x86_op(out, 0, wide, 0xf7, shape->kind == K_NEG ? 3 : 2, x86_in(RAX));
	} else if (shape->kind == K_ABS) {
		x86_op(out, 0, wide, 0xf7, 3, x86_in(RAX));
		x86_op(out, 0, wide, 0x0f48, RAX, x86_operand(e, op->a, false));
	} else if (shape->kind == K_SQUARE) {
		x86_op(out, 0, wide, 0x0faf, RAX, x86_in(RAX));
	} else if (shape->kind == K_NOT) {
		x86_op(out, 0, 0, 0x83, 6, x86_in(RAX));
		x86_byte(out, 1);
	}
	x86_store_int(e, op->out, RAX, bytes);
}

static void compare_floats(struct x86_emitter *e, uint32_t xmm, struct x86_operand with, uint8_t bytes)
{
	x86_op(&e->out, bytes == 4 ? 0 : 0x66, 0, 0x0f2e, xmm, with);
}

/* The sign bit is inverted; a NaN's too. */
static void emit_negation(struct x86_emitter *e, const struct register_op *op, uint8_t bytes)
{
	struct x86_code *out = &e->out;
	x86_load_int(e, RAX, x86_at(RBX, op->a), bytes);
	x86_op(out, 0, bytes == 8 ? X86_WIDE : 0, 0x0fba, 7, x86_in(RAX));
	x86_byte(out, bytes * 8 - 1);
	x86_op(out, 0x66, bytes == 8 ? X86_WIDE : 0, 0x0f6e, 0, x86_in(RAX));
}

/* XMM0 = x > 0 ? x : 0 - x */
static void emit_magnitude(struct x86_emitter *e, struct x86_operand x, uint8_t bytes)
{
	struct x86_code *out = &e->out;
	x86_load_float(e, 1, x, bytes);
	x86_op(out, 0, 0, 0x0f57, 0, x86_in(0));
	compare_floats(e, 1, x86_in(0), bytes);
	size_t positive = x86_jump_if(out, X86_A);
	x86_op(out, bytes == 4 ? 0xf3 : 0xf2, 0, 0x0f5c, 0, x86_in(1));
	size_t done = x86_jump(out);
	x86_land(out, positive);
	x86_op(out, 0, 0, 0x0f28, 0, x86_in(1));
	x86_land(out, done);
}

/*
 * XMM0 = x if x is larger (smaller) or NaN, else y. Not by maxss, which gives 0 where the result is a denormal and the mode
 * flushes them; a row moves the operand.
 */
static void emit_extreme(
	struct x86_emitter *e, struct x86_operand x, struct x86_operand y, bool is_maximum, uint8_t bytes)
{
	struct x86_code *out = &e->out;
	x86_load_float(e, 0, x, bytes);
	compare_floats(e, 0, x86_in(0), bytes);
	size_t not_a_number = x86_jump_if(out, X86_P);
	x86_load_float(e, 2, y, bytes);
	x86_op(out, 0, 0, 0x0f28, 1, x86_in(is_maximum ? 2 : 0));
	x86_op(out, bytes == 4 ? 0xf3 : 0xf2, 0, 0x0fc2, 1, x86_in(is_maximum ? 0 : 2));
	x86_byte(out, 1); /* less */
	x86_op(out, 0, 0, 0x0f54, 0, x86_in(1));
	x86_op(out, 0, 0, 0x0f55, 1, x86_in(2));
	x86_op(out, 0, 0, 0x0f56, 0, x86_in(1));
	x86_land(out, not_a_number);
}

void dfg_x86_float(struct x86_emitter *e, const struct register_op *op)
{
	static const uint16_t plain[] = {
		[K_ADD] = 0x0f58, [K_SUB] = 0x0f5c, [K_MUL] = 0x0f59, [K_DIV] = 0x0f5e, [K_GE] = 0};
	const struct x86_shape *shape = &dfg_x86_shapes[op->code];
	struct x86_code *out = &e->out;
	uint8_t bytes = x86_bytes_of(shape->type), prefix = bytes == 4 ? 0xf3 : 0xf2;
	struct x86_operand x = x86_operand(e, op->a, true), y = x86_operand(e, op->b, true);
	if (plain[shape->kind]) {
		x86_load_float(e, 0, x, bytes);
		x86_op(out, prefix, 0, plain[shape->kind], 0, y);
	} else if (shape->kind == K_SQUARE) {
		x86_load_float(e, 0, x, bytes);
		x86_op(out, prefix, 0, 0x0f59, 0, x86_in(0));
	} else if (shape->kind == K_SQRT) {
		x86_load_float(e, 1, x, bytes);
		x86_op(out, prefix, 0, 0x0f51, 0, x86_in(1));
	} else if (shape->kind == K_NEG) {
		emit_negation(e, op, bytes);
	} else if (shape->kind == K_ABS) {
		emit_magnitude(e, x, bytes);
	} else {
		emit_extreme(e, x, y, shape->kind == K_MAX, bytes);
	}
	x86_store_float(e, op->out, 0, bytes);
}

/* RAX = the result, 0 or 1. */
void dfg_x86_comparison(struct x86_emitter *e, const struct register_op *op)
{
	static const uint8_t of_int[] = {
		[K_EQ] = X86_E, [K_NE] = X86_NE, [K_LT] = X86_L, [K_LE] = X86_LE, [K_GT] = X86_G, [K_GE] = X86_GE};
	static const uint8_t of_float[] = {
		[K_EQ] = X86_E, [K_NE] = X86_NE, [K_LT] = X86_A, [K_LE] = X86_AE, [K_GT] = X86_A, [K_GE] = X86_AE};
	const struct x86_shape *shape = &dfg_x86_shapes[op->code];
	struct x86_code *out = &e->out;
	uint8_t bytes = x86_bytes_of(shape->type);
	bool floats = x86_is_float(shape->type);
	if (floats) {
		bool swaps = shape->kind == K_LT || shape->kind == K_LE;
		x86_load_float(e, 0, x86_operand(e, swaps ? op->b : op->a, true), bytes);
		compare_floats(e, 0, x86_operand(e, swaps ? op->a : op->b, true), bytes);
	} else {
		x86_load_int(e, RAX, x86_operand(e, op->a, false), bytes);
		if (bytes == 1)
			x86_load_int(e, RCX, x86_operand(e, op->b, false), 1);
		x86_op(out, 0, bytes == 8 ? X86_WIDE : 0, 0x3b, RAX, bytes == 1 ? x86_in(RCX) : x86_operand(e, op->b, false));
	}
	x86_op(out, 0, X86_BYTE, 0x0f90 | (floats ? of_float : of_int)[shape->kind], 0, x86_in(RAX));
	if (floats && (shape->kind == K_EQ || shape->kind == K_NE)) {
		x86_op(out, 0, X86_BYTE, 0x0f90 | (shape->kind == K_EQ ? X86_NP : X86_P), 0, x86_in(RCX));
		x86_op(out, 0, X86_BYTE, shape->kind == K_EQ ? 0x22 : 0x0a, RAX, x86_in(RCX));
	}
	x86_op(out, 0, X86_BYTE, 0x0fb6, RAX, x86_in(RAX));
	x86_store_int(e, op->out, RAX, 1);
}

static void store_bytes(struct x86_emitter *e, uint32_t at, uint8_t bytes)
{
	const struct x86_location *location = x86_find_location(e, at);
	if (location->reg != UNCACHED && location->is_float) {
		x86_op(&e->out, 0x66, bytes == 8 ? X86_WIDE : 0, 0x0f6e, 0, x86_in(RAX));
		x86_store_float(e, at, 0, bytes);
	} else {
		x86_store_int(e, at, RAX, bytes);
	}
}

void dfg_x86_copy(struct x86_emitter *e, const struct register_op *op)
{
	uint8_t bytes = op->code == REG_COPY_1 ? 1 : op->code == REG_COPY_4 ? 4 : 8;
	struct x86_operand from = x86_operand(e, op->a, true);
	if (!from.in_memory && !x86_operand(e, op->out, true).in_memory) {
		x86_load_float(e, 0, from, bytes);
		x86_store_float(e, op->out, 0, bytes);
		return;
	}
	x86_load_int(e, RAX, x86_operand(e, op->a, false), bytes);
	store_bytes(e, op->out, bytes);
}

void dfg_x86_select(struct x86_emitter *e, const struct register_op *op)
{
	uint8_t bytes = op->code == REG_SELECT_1 ? 1 : op->code == REG_SELECT_4 ? 4 : 8;
	x86_load_int(e, RCX, x86_operand(e, op->a, false), 1);
	x86_load_int(e, RAX, x86_operand(e, op->c, false), bytes);
	x86_load_int(e, RDX, x86_operand(e, op->b, false), bytes);
	x86_op(&e->out, 0, 0, 0x85, RCX, x86_in(RCX));
	x86_op(&e->out, 0, X86_WIDE, 0x0f45, RAX, x86_in(RDX));
	store_bytes(e, op->out, bytes);
}
#endif
