#pragma once

#include "lib/graph/op.h"

/*
 * Register code: a loop of a linear program as operations on scalars and jumps. A register is a location in the activation's
 * block, so that nothing has to be stored when the code is left: the interpreter can continue at any instruction.
 * Constants and feeds that a region reads have registers after the block, filled when it is entered.
 */
enum { REGISTER_BYTES = 8 };

/* The types of operations, as lists: X(name, dtype, C type, ...). */
#define DFG_REGISTERS_INT(X, ...)     \
	X(i32, I32, int32_t, __VA_ARGS__) \
	X(i64, I64, int64_t, __VA_ARGS__)
#define DFG_REGISTERS_FLOAT(X, ...) \
	X(f32, F32, float, __VA_ARGS__) \
	X(f64, F64, double, __VA_ARGS__)
#define DFG_REGISTERS_NUMBER(X, ...)  \
	DFG_REGISTERS_INT(X, __VA_ARGS__) \
	DFG_REGISTERS_FLOAT(X, __VA_ARGS__)
#define DFG_REGISTERS_BOOL(X, ...) X(logical, BOOL, _Bool, __VA_ARGS__)

#define DFG_REGISTERS_NONE(...)

enum register_opcode {
#define OPCODE(name, NAME, type, Op, ...) REG_##Op##_##name,
#define UNARY(types, ...) DFG_REGISTERS_##types(OPCODE, __VA_ARGS__)
#define BINARY UNARY
#define DIVIDE UNARY
#define COMPARE UNARY
#include "lib/exec/emit/register_ops.def"
#undef OPCODE
/* each comparison once more, fused with the test and the branch that follow it */
#define OPCODE(name, NAME, type, Op, ...) REG_BRANCH_##Op##_##name,
#define UNARY DFG_REGISTERS_NONE
#define BINARY DFG_REGISTERS_NONE
#define DIVIDE DFG_REGISTERS_NONE
#define COMPARE(types, ...) DFG_REGISTERS_##types(OPCODE, __VA_ARGS__)
#include "lib/exec/emit/register_ops.def"
#undef OPCODE
	REG_SELECT_1, /* out = a ? b : c, of this number of bytes */
	REG_SELECT_4,
	REG_SELECT_8,
	REG_COPY_1,
	REG_COPY_4,
	REG_COPY_8,
	REG_FLOOR_DIV_BY, /* i32, by a constant of at least 2, as are the next two */
	REG_FLOOR_MOD_BY,
	REG_DIVISIBLE_TEST, /* out = a mod constant; c = out == b; then as REG_TEST of c */
	REG_DIVISIBLE,      /* the same, and the branch on it */
	REG_TEST,           /* sets the predicate from the bool a */
	REG_BRANCH,         /* jumps to `to` unless `side` was chosen */
	REG_TEST_BRANCH,    /* REG_TEST, then REG_BRANCH */
	REG_JUMP,           /* jumps to `to`, past `dead` instructions */
	REG_BACK_TEST,      /* jumps to `to` if the loop ends */
	REG_BACK,           /* counts an iteration and jumps to the head of the loop */
	REG_ADD_BACK_i32,   /* an addition, then REG_BACK */
	REG_ADD_BACK_i64,
	REG_ROW, /* calls row c with the b operands that are in the activation's list from number a on */
	/* the following call functions of the interpreter, and never jump */
	REG_CALLS,
	REG_CAST = REG_CALLS, /* of register a: number b of enum dfg_dtype becomes number c */
	REG_INTERPRET,        /* all that `instruction` does; it is not a jump */
	REG_ENTER,            /* begins a loop, but for its moves */
	REG_MOVE,             /* move number `a` of the program */
	REG_RENEW,            /* releases the values that each iteration computes anew */
	REG_LOOP_END,         /* ends a loop */
	REG_RELEASE,          /* the releases of a branch that jumps */
	/* ends the region; instruction `to` is the next */
	REG_LEAVE,
	REG_OPCODES,
};

/* Division of an i32 by a constant d >= 2: with t = x ^ (x >> 31), floor(x / d) is t * factor >> shift, with the sign. */
struct register_divisor {
	uint32_t factor, shift;
	int32_t divisor;
};

struct register_op {
	uint16_t code;
	bool once; /* only one instruction reads the result */
	int32_t side;
	uint32_t out, a, b, c; /* registers: offsets from the block */
	uint32_t to;           /* index of an op */
	int32_t jump;          /* distance from this op to that one, in bytes */
	uint32_t predicate, loop;
	uint32_t dead, dead_next; /* instructions that a branch passes if it jumps, and if it does not */
	uint32_t instruction;     /* its number in the program, at which the interpreter can continue before this op */
	struct register_divisor by;
};

/* A register that is filled when the region is entered: from a slot, or from `value` if that is DFG_NONE. */
struct register_import {
	uint32_t slot, at;
	uint32_t bytes;
	int64_t value;
};

/* A row with its number of elements; its domain needs no check. */
struct register_row {
	dfg_row_fn *row;
	int64_t n;
	const union dfg_value *attr;
};

struct register_code {
	struct register_op *op;
	uint32_t count;
	struct register_row *row;
	uint32_t rows;
	struct register_import *import;
	uint32_t imports;
	uint32_t unread; /* register of results that no op reads */
	size_t bytes;    /* of the block with the registers after it */
};

/* The divisor's constants. */
struct register_divisor dfg_register_divisor(int32_t divisor);

/* The operation for an op with this meaning on operands of this dtype, or REG_OPCODES. */
enum register_opcode dfg_register_opcode(enum dfg_meaning meaning, enum dfg_dtype dtype);

/* The same comparison, fused with a test and a branch; REG_OPCODES: it is not a comparison. */
enum register_opcode dfg_register_branch(enum register_opcode comparison);
