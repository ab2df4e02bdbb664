#include "lib/exec/emit/x86_scalar_private.h"

#ifdef __x86_64__

/* Which locations of the block are in registers of the processor. */

static const uint8_t gprs[] = {RSI, RDI, R8, R9, R10, R11, R12, R13};
enum { GPRS = sizeof gprs, XMM_FIRST = 3, XMMS = 13 };

const struct x86_shape dfg_x86_shapes[REG_OPCODES] = {
#define SHAPE(name, Op, ...)          \
	{                                 \
		K_##Op, T_##name, __VA_ARGS__ \
	}
#define SHAPE_1(name, NAME, t, Op, ...) [REG_##Op##_##name] = SHAPE(name, Op, 1, false, false),
#define SHAPE_2(name, NAME, t, Op, ...) [REG_##Op##_##name] = SHAPE(name, Op, 2, false, false),
#define SHAPE_COMPARE(name, NAME, t, Op, ...) \
	[REG_##Op##_##name] = SHAPE(name, Op, 2, true, false), [REG_BRANCH_##Op##_##name] = SHAPE(name, Op, 2, true, true),
#define UNARY(types, ...) DFG_REGISTERS_##types(SHAPE_1, __VA_ARGS__)
#define BINARY(types, ...) DFG_REGISTERS_##types(SHAPE_2, __VA_ARGS__)
#define DIVIDE BINARY
#define COMPARE(types, ...) DFG_REGISTERS_##types(SHAPE_COMPARE, __VA_ARGS__)
#include "lib/exec/emit/register_ops.def"
};

static int by_weight(const void *a, const void *b)
{
	double one = ((const struct x86_location *)a)->weight, two = ((const struct x86_location *)b)->weight;
	return one != two ? (one < two) - (one > two) : x86_by_location(a, b);
}

/* Adds a use of the location; T_none: a copy of some bytes. */
static void use_location(struct x86_emitter *e, uint32_t at, enum x86_type type, uint8_t bytes)
{
	if (at == e->code->unread)
		return;
	e->location[e->locations++] = (struct x86_location){.at = at,
		.bytes = type ? x86_bytes_of(type) : bytes,
		.reg = UNCACHED,
		.is_float = x86_is_float(type),
		.is_int = type && !x86_is_float(type),
		.weight = e->weight};
}

static void use_locations(struct x86_emitter *e, const struct register_op *op)
{
	const struct x86_shape *shape = &dfg_x86_shapes[op->code];
	uint8_t bytes = op->code == REG_SELECT_1 || op->code == REG_COPY_1   ? 1
					: op->code == REG_SELECT_4 || op->code == REG_COPY_4 ? 4
																		 : 8;
	if (shape->kind != K_CONTROL) {
		use_location(e, op->a, shape->type, 0);
		if (shape->operands > 1)
			use_location(e, op->b, shape->type, 0);
		use_location(e, op->out, shape->compares ? T_logical : shape->type, 0);
	} else if (op->code >= REG_SELECT_1 && op->code <= REG_SELECT_8) {
		use_location(e, op->a, T_logical, 0);
		use_location(e, op->b, T_none, bytes);
		use_location(e, op->c, T_none, bytes);
		use_location(e, op->out, T_none, bytes);
	} else if (op->code >= REG_COPY_1 && op->code <= REG_COPY_8) {
		use_location(e, op->a, T_none, bytes);
		use_location(e, op->out, T_none, bytes);
	} else if (op->code == REG_FLOOR_DIV_BY || op->code == REG_FLOOR_MOD_BY || op->code == REG_DIVISIBLE ||
			   op->code == REG_DIVISIBLE_TEST) {
		use_location(e, op->a, T_i32, 0);
		use_location(e, op->out, T_i32, 0);
		if (op->code == REG_FLOOR_DIV_BY || op->code == REG_FLOOR_MOD_BY)
			return;
		use_location(e, op->b, T_i32, 0);
		use_location(e, op->c, T_logical, 0);
	} else if (op->code == REG_TEST || op->code == REG_TEST_BRANCH) {
		use_location(e, op->a, T_logical, 0);
	} else if (op->code == REG_ADD_BACK_i32 || op->code == REG_ADD_BACK_i64) {
		enum x86_type type = op->code == REG_ADD_BACK_i32 ? T_i32 : T_i64;
		use_location(e, op->a, type, 0);
		use_location(e, op->b, type, 0);
		use_location(e, op->out, type, 0);
	}
}

static bool is_back(const struct register_op *op)
{
	return op->code == REG_BACK || op->code == REG_ADD_BACK_i32 || op->code == REG_ADD_BACK_i64;
}

/* The uses of each location become one; locations that ops take for different types are in memory only. */
static void merge_uses(struct x86_emitter *e)
{
	uint32_t kept = 0;
	qsort(e->location, e->locations, sizeof *e->location, x86_by_location);
	for (uint32_t i = 0; i < e->locations; i++) {
		struct x86_location *last = kept ? &e->location[kept - 1] : NULL;
		if (!last || last->at != e->location[i].at) {
			e->location[kept++] = e->location[i];
			continue;
		}
		last->weight += e->location[i].weight;
		last->is_float |= e->location[i].is_float;
		last->is_int |= e->location[i].is_int;
		last->is_mixed |= last->bytes != e->location[i].bytes;
	}
	e->locations = kept;
}

/* Counts the uses of locations; one in a loop counts 8 times as much as one outside of it. */
static void count_uses(struct x86_emitter *e)
{
	enum { DEEP = 8 };
	const struct register_op *op = e->code->op;
	for (uint32_t i = 0; i < e->code->count; i++)
		if (is_back(&op[i]) && op[i].to <= i)
			for (uint32_t inside = op[i].to; inside <= i; inside++)
				e->depth[inside] += e->depth[inside] < DEEP;
	for (uint32_t i = 0; i < e->code->count; i++) {
		e->weight = (double)(UINT64_C(1) << 3 * e->depth[i]);
		use_locations(e, &op[i]);
	}
}

void dfg_x86_choose_locations(struct x86_emitter *e)
{
	uint32_t ints = 0, floats = 0;
	count_uses(e);
	merge_uses(e);
	qsort(e->location, e->locations, sizeof *e->location, by_weight);
	for (uint32_t i = 0; i < e->locations; i++) {
		struct x86_location *location = &e->location[i];
		if (location->is_mixed || (location->is_float && location->is_int))
			continue;
		if (location->is_float && floats < XMMS)
			location->reg = (uint8_t)(XMM_FIRST + floats++);
		else if (!location->is_float && ints < GPRS)
			location->reg = gprs[ints++];
	}
	qsort(e->location, e->locations, sizeof *e->location, x86_by_location);
}

void dfg_x86_load_locations(struct x86_emitter *e)
{
	for (uint32_t i = 0; i < e->locations; i++) {
		const struct x86_location *location = &e->location[i];
		if (location->reg == UNCACHED)
			continue;
		if (location->is_float)
			x86_load_float(e, location->reg, x86_at(RBX, location->at), location->bytes);
		else
			x86_load_int(e, location->reg, x86_at(RBX, location->at), location->bytes);
	}
}
#endif
