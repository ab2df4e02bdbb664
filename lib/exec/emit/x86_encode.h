#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The few instructions of x86-64 that scalar loops require, as bytes (Intel's manual, volume 2). An operand is a register or
 * memory at RBX plus an offset.
 */
enum x86_gpr { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
enum x86_condition {
	X86_O,
	X86_NO,
	X86_B,
	X86_AE,
	X86_E,
	X86_NE,
	X86_BE,
	X86_A,
	X86_S,
	X86_NS,
	X86_P,
	X86_NP,
	X86_L,
	X86_GE,
	X86_LE,
	X86_G,
};

struct x86_code {
	uint8_t *bytes;
	size_t size, capacity;
	bool overflow; /* the code does not fit */
};

struct x86_operand {
	bool in_memory;
	uint8_t base;   /* of memory */
	uint32_t where; /* a register, or an offset from the base */
};

static inline struct x86_operand x86_in(uint32_t reg)
{
	return (struct x86_operand){.where = reg};
}

static inline struct x86_operand x86_at(uint8_t base, uint32_t offset)
{
	return (struct x86_operand){.in_memory = true, .base = base, .where = offset};
}

static inline void x86_byte(struct x86_code *code, unsigned byte)
{
	if (code->size < code->capacity)
		code->bytes[code->size++] = (uint8_t)byte;
	else
		code->overflow = true;
}

static inline void x86_u32(struct x86_code *code, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		x86_byte(code, value >> 8 * i & 255);
}

static inline void x86_u64(struct x86_code *code, uint64_t value)
{
	x86_u32(code, (uint32_t)value);
	x86_u32(code, (uint32_t)(value >> 32));
}

/*
 * [prefix] [REX] opcode ModRM: `reg` is the register operand or the opcode's extension. opcode may have 0x0f00 for two
 * bytes. A byte register from RSP on requires a REX prefix, so `byte` always has one.
 */
enum { X86_WIDE = 1, X86_BYTE = 2 };
static inline void x86_op(
	struct x86_code *code, unsigned prefix, unsigned flags, unsigned opcode, uint32_t reg, struct x86_operand rm)
{
	uint32_t low = rm.in_memory ? rm.base : rm.where;
	unsigned rex = (flags & X86_WIDE ? 8 : 0) | (reg >> 3 & 1) << 2 | (low >> 3 & 1);
	if (prefix)
		x86_byte(code, prefix);
	if (rex || flags & X86_BYTE)
		x86_byte(code, 0x40 | rex);
	if (opcode >> 8)
		x86_byte(code, opcode >> 8);
	x86_byte(code, opcode & 255);
	if (!rm.in_memory) {
		x86_byte(code, 0xc0 | (reg & 7) << 3 | (low & 7));
		return;
	}
	bool small = rm.where < 128;
	x86_byte(code, (small ? 0x40 : 0x80) | (reg & 7) << 3 | (low & 7));
	if ((low & 7) == RSP)
		x86_byte(code, 0x24);
	if (small)
		x86_byte(code, rm.where);
	else
		x86_u32(code, rm.where);
}

static inline void x86_mov_imm(struct x86_code *code, uint32_t reg, uint32_t value)
{
	if (reg >> 3)
		x86_byte(code, 0x41);
	x86_byte(code, 0xb8 | (reg & 7));
	x86_u32(code, value);
}

static inline void x86_push(struct x86_code *code, uint32_t reg)
{
	if (reg >> 3)
		x86_byte(code, 0x41);
	x86_byte(code, 0x50 | (reg & 7));
}

static inline void x86_pop(struct x86_code *code, uint32_t reg)
{
	if (reg >> 3)
		x86_byte(code, 0x41);
	x86_byte(code, 0x58 | (reg & 7));
}

/* A shift by a constant: 4 is left, 5 right, 7 right with the sign. */
static inline void x86_shift(struct x86_code *code, unsigned flags, unsigned kind, uint32_t reg, unsigned bits)
{
	x86_op(code, 0, flags, 0xc1, kind, x86_in(reg));
	x86_byte(code, bits);
}

/* A jump whose distance is filled in later, at the offset that is returned. */
static inline size_t x86_jump(struct x86_code *code)
{
	x86_byte(code, 0xe9);
	x86_u32(code, 0);
	return code->size - 4;
}

static inline size_t x86_jump_if(struct x86_code *code, enum x86_condition condition)
{
	x86_byte(code, 0x0f);
	x86_byte(code, 0x80 | condition);
	x86_u32(code, 0);
	return code->size - 4;
}

static inline void x86_aim(struct x86_code *code, size_t at, size_t target)
{
	uint32_t distance = (uint32_t)(target - (at + 4));
	if (!code->overflow)
		memcpy(code->bytes + at, &distance, 4);
}

/* The jump at `at` goes to the next instruction. */
static inline void x86_land(struct x86_code *code, size_t at)
{
	x86_aim(code, at, code->size);
}
