#pragma once

#include "lib/exec/emit/x86_encode.h"
#include "lib/exec/emit/x86_scalar.h"

#include <stdlib.h>

/*
 * How register code becomes machine code. RBX is the block, RBP the frame, R14 and R15 count passed instructions and fuel.
 * RAX, RCX, RDX and XMM0 to XMM2 hold the operands of the running op. The others hold the locations that ops use most, weighted
 * by the depth of their loops.
 */
enum { UNCACHED = 255 };

enum x86_kind {
	K_CONTROL,
	K_ADD,
	K_SUB,
	K_MUL,
	K_DIV,
	K_MAX,
	K_MIN,
	K_NEG,
	K_ABS,
	K_SQUARE,
	K_SQRT,
	K_FLOOR_DIV,
	K_FLOOR_MOD,
	K_MOD,
	K_AND,
	K_OR,
	K_XOR,
	K_SHL,
	K_SHR,
	K_INVERT,
	K_NOT,
	K_EQ,
	K_NE,
	K_LT,
	K_LE,
	K_GT,
	K_GE,
};
enum x86_type { T_none, T_i32, T_i64, T_f32, T_f64, T_logical };

/* The value of an op on scalars; kind K_CONTROL: it is another op. */
struct x86_shape {
	uint8_t kind, type, operands;
	bool compares, branches;
};
extern const struct x86_shape dfg_x86_shapes[REG_OPCODES];

/* A location in the block that ops read or write, and the processor's register that has its value. */
struct x86_location {
	uint32_t at;
	uint8_t bytes;
	uint8_t reg; /* UNCACHED: none */
	bool is_float, is_int, is_mixed;
	double weight;
};

struct x86_distance {
	size_t at;   /* of the distance */
	uint32_t op; /* to the code of this op, or an exit before this op */
};

struct x86_emitter {
	const struct register_code *code;
	struct x86_code out;
	struct x86_location *location;
	uint32_t locations;
	size_t *label; /* by op */
	struct x86_distance *jump, *leave;
	uint32_t jumps, leaves;
	uint8_t *depth; /* loops around an op; by op */
	double weight;  /* of the uses that are being counted */
};

static inline bool x86_is_float(enum x86_type type)
{
	return type == T_f32 || type == T_f64;
}

static inline uint8_t x86_bytes_of(enum x86_type type)
{
	return type == T_logical ? 1 : type == T_i32 || type == T_f32 ? 4 : 8;
}

static inline int x86_by_location(const void *a, const void *b)
{
	uint32_t one = ((const struct x86_location *)a)->at, two = ((const struct x86_location *)b)->at;
	return (one > two) - (one < two);
}

static inline struct x86_location *x86_find_location(const struct x86_emitter *e, uint32_t at)
{
	return bsearch(&(struct x86_location){.at = at}, e->location, e->locations, sizeof *e->location, x86_by_location);
}

/* The location as an operand of an op on its kind of registers. A location in a register of the other kind is read in memory. */
static inline struct x86_operand x86_operand(const struct x86_emitter *e, uint32_t at, bool as_float)
{
	const struct x86_location *location = x86_find_location(e, at);
	return location && location->reg != UNCACHED && location->is_float == as_float ? x86_in(location->reg)
																				   : x86_at(RBX, at);
}

static inline void x86_load_int(struct x86_emitter *e, uint32_t reg, struct x86_operand from, uint8_t bytes)
{
	if (bytes == 1 && from.in_memory)
		x86_op(&e->out, 0, 0, 0x0fb6, reg, from);
	else
		x86_op(&e->out, 0, bytes == 8 ? X86_WIDE : 0, 0x8b, reg, from);
}

static inline void x86_load_float(struct x86_emitter *e, uint32_t xmm, struct x86_operand from, uint8_t bytes)
{
	if (from.in_memory)
		x86_op(&e->out, bytes == 4 ? 0xf3 : 0xf2, 0, 0x0f10, xmm, from);
	else
		x86_op(&e->out, 0, 0, 0x0f28, xmm, from);
}

static inline void x86_store_int(struct x86_emitter *e, uint32_t at, uint32_t reg, uint8_t bytes)
{
	if (at == e->code->unread)
		return;
	const struct x86_location *location = x86_find_location(e, at);
	if (location->reg != UNCACHED)
		x86_op(&e->out, 0, bytes == 8 ? X86_WIDE : 0, 0x8b, location->reg, x86_in(reg));
	if (bytes == 1)
		x86_op(&e->out, 0, X86_BYTE, 0x88, reg, x86_at(RBX, at));
	else
		x86_op(&e->out, 0, bytes == 8 ? X86_WIDE : 0, 0x89, reg, x86_at(RBX, at));
}

static inline void x86_store_float(struct x86_emitter *e, uint32_t at, uint32_t xmm, uint8_t bytes)
{
	const struct x86_location *location = x86_find_location(e, at);
	if (location->reg != UNCACHED)
		x86_op(&e->out, 0, 0, 0x0f28, location->reg, x86_in(xmm));
	x86_op(&e->out, bytes == 4 ? 0xf3 : 0xf2, 0, 0x0f11, xmm, x86_at(RBX, at));
}

/* A field of the frame. */
#define FRAME(field) x86_at(RBP, (uint32_t)offsetof(struct native_frame, field))

/* Leaves the code before the op if the condition holds. */
static inline void x86_leave_if(struct x86_emitter *e, enum x86_condition condition, uint32_t op)
{
	e->leave[e->leaves++] = (struct x86_distance){x86_jump_if(&e->out, condition), op};
}

/* x86_locations.c: chooses the locations that are in registers; loads them from the block. */
void dfg_x86_choose_locations(struct x86_emitter *e);
void dfg_x86_load_locations(struct x86_emitter *e);

/* x86_values.c: ops that compute a value. A divisor of zero leaves the code before op `number`. */
void dfg_x86_int(struct x86_emitter *e, const struct register_op *op);
void dfg_x86_float(struct x86_emitter *e, const struct register_op *op);
void dfg_x86_division(struct x86_emitter *e, const struct register_op *op, uint32_t number);
void dfg_x86_copy(struct x86_emitter *e, const struct register_op *op);
void dfg_x86_select(struct x86_emitter *e, const struct register_op *op);

/* RAX = the result, 0 or 1; it is stored too. */
void dfg_x86_comparison(struct x86_emitter *e, const struct register_op *op);

/* RAX = a, rounded down, divided by the op's constant, or the remainder. */
void dfg_x86_divide_by(struct x86_emitter *e, const struct register_op *op, bool remainder);
