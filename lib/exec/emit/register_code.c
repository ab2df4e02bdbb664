#include "lib/exec/emit/register_code.h"

/* The opcode + 1, by meaning and dtype; 0: register code does not have it. */
static const uint16_t opcodes[DFG_MEANINGS][DFG_DTYPES] = {
#define OPCODE(name, NAME, type, Op, meaning, ...) [DFG_MEANS_##meaning][DFG_##NAME] = REG_##Op##_##name + 1,
#define UNARY(types, ...) DFG_REGISTERS_##types(OPCODE, __VA_ARGS__)
#define BINARY UNARY
#define DIVIDE UNARY
#define COMPARE UNARY
#include "lib/exec/emit/register_ops.def"
#undef OPCODE
};

enum register_opcode dfg_register_opcode(enum dfg_meaning meaning, enum dfg_dtype dtype)
{
	uint16_t found = opcodes[meaning][dtype];
	return found ? (enum register_opcode)(found - 1) : REG_OPCODES;
}

enum register_opcode dfg_register_branch(enum register_opcode comparison)
{
	switch (comparison) {
#define OPCODE(name, NAME, type, Op, ...) \
	case REG_##Op##_##name:               \
		return REG_BRANCH_##Op##_##name;
#define UNARY DFG_REGISTERS_NONE
#define BINARY DFG_REGISTERS_NONE
#define DIVIDE DFG_REGISTERS_NONE
#define COMPARE(types, ...) DFG_REGISTERS_##types(OPCODE, __VA_ARGS__)
#include "lib/exec/emit/register_ops.def"
#undef OPCODE
	default:
		return REG_OPCODES;
	}
}

/*
 * Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994, for dividends below 2^31:
 * factor = floor(2^(31 + l) / d) + 1 with 2^(l - 1) < d <= 2^l is below 2^32, and t * factor >> (31 + l) is exact.
 */
struct register_divisor dfg_register_divisor(int32_t divisor)
{
	uint32_t l = 0;
	while (INT64_C(1) << l < divisor)
		l++;
	return (struct register_divisor){
		.factor = (uint32_t)((UINT64_C(1) << (31 + l)) / (uint64_t)divisor + 1), .shift = 31 + l, .divisor = divisor};
}
