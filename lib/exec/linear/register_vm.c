#include "lib/exec/linear/region_private.h"

#include <string.h>

/* Runs register code: each op ends with a jump to the code of the next one. */

enum { FUEL = 1024 }; /* iterations between two looks at the limits of the step */

/* Any type may be in a register. */
#define REGISTER(type, at) (*(type __attribute__((may_alias)) *)(base + (at)))

static inline int32_t quotient_i32(int32_t x, int32_t y)
{
	return y == -1 ? 0 - x : x / y;
}

static inline int64_t quotient_i64(int64_t x, int64_t y)
{
	return y == -1 ? 0 - x : x / y;
}

static inline int32_t remainder_i32(int32_t x, int32_t y)
{
	return y == -1 ? 0 : x % y;
}

static inline int64_t remainder_i64(int64_t x, int64_t y)
{
	return y == -1 ? 0 : x % y;
}

#define quotient(x, y) _Generic((x), int32_t : quotient_i32, int64_t : quotient_i64)(x, y)
#define remainder_of(x, y) _Generic((x), int32_t : remainder_i32, int64_t : remainder_i64)(x, y)
#define rounds_up(x, y) (remainder_of(x, y) != 0 && (x < 0) != (y < 0))
#define floor_quotient(x, y) (quotient(x, y) - rounds_up(x, y))
#define floor_remainder(x, y) (remainder_of(x, y) + (rounds_up(x, y) ? y : 0))
#define SHIFT_COUNT(y) (y < 0 ? 0 : y > (element)sizeof y * 8 - 1 ? (element)sizeof y * 8 - 1 : y)
#define SQUARE_ROOT(x) _Generic((x), float : __builtin_sqrtf, double : __builtin_sqrt)(x)

static inline int32_t floor_quotient_by(int32_t x, const struct register_divisor *by)
{
	int32_t sign = x >> 31;
	return (int32_t)((uint64_t)(uint32_t)(x ^ sign) * by->factor >> by->shift) ^ sign;
}

/* The remainder has the sign of the divisor, which is positive. */
static inline int32_t floor_remainder_by(int32_t x, const struct register_divisor *by)
{
	return x - floor_quotient_by(x, by) * by->divisor;
}

static inline _Bool test_divisible(char *base, const struct register_op *op)
{
	int32_t remainder = floor_remainder_by(REGISTER(int32_t, op->a), &op->by);
	REGISTER(int32_t, op->out) = remainder;
	return REGISTER(_Bool, op->c) = remainder == REGISTER(int32_t, op->b);
}

static void fill_imports(const struct activation *activation, const struct register_code *code)
{
	for (uint32_t i = 0; i < code->imports; i++) {
		const struct register_import *import = &code->import[i];
		const void *from = import->slot == DFG_NONE ? &import->value : activation->tensor[import->slot].data;
		memcpy((char *)activation->block + import->at, from, import->bytes);
	}
}

/* An error if the loop has too many iterations, or the step has to end. */
static struct dfg_err *check_limits(const struct activation *activation, const struct register_op *back)
{
	int64_t most = activation->watch.options->max_iterations;
	if (most > 0 && activation->iteration[back->loop] > most)
		return dfg_interpret_limits(activation, back->loop);
	if (!activation->watch.on)
		return NULL;
	return dfg_interpret_note(
		activation, &activation->program->code[back->instruction], dfg_watch_check(&activation->watch));
}

/* An op that calls the interpreter's functions. */
struct dfg_err *dfg_register_call(struct activation *activation, const struct register_op *op)
{
	const struct instruction *instruction = &activation->program->code[op->instruction];
	switch ((enum register_opcode)op->code) {
	case REG_CAST:
		dfg_convert((enum dfg_dtype)op->c, (char *)activation->block + op->out, (enum dfg_dtype)op->b,
			(char *)activation->block + op->a, 1);
		return NULL;
	case REG_ENTER:
		dfg_interpret_enter(activation, op->loop);
		return NULL;
	case REG_MOVE:
		return dfg_interpret_move(activation, op->a);
	case REG_RENEW:
		dfg_interpret_releases(activation, instruction, instruction->n_renewed);
		return NULL;
	case REG_LOOP_END:
		activation->frames--;
		dfg_interpret_releases(activation, instruction, instruction->n_release);
		return NULL;
	case REG_RELEASE:
		dfg_interpret_releases(activation, instruction, instruction->n_release);
		return NULL;
	default:
		return dfg_interpret_one(activation, instruction, activation->watch.on && instruction->kind == INSTR_KERNEL);
	}
}

#define NEXT goto *label[(++op)->code]
#define GO goto *label[(op = (const struct register_op *)((const char *)op + op->jump))->code]

#define OPERANDS(type)                          \
	typedef type element;                       \
	const element x = REGISTER(element, op->a); \
	const element y = REGISTER(element, op->b);

/* Place b of an operation with one operand may hold a value of another type. */
#define RUN_UNARY(name, NAME, type, Op, meaning, expr) \
	REG_##Op##_##name:                                 \
	{                                                  \
		typedef type element;                          \
		const element x = REGISTER(element, op->a);    \
		REGISTER(element, op->out) = (element)(expr);  \
		NEXT;                                          \
	}
#define RUN_BINARY(name, NAME, type, Op, meaning, expr) \
	REG_##Op##_##name:                                  \
	{                                                   \
		OPERANDS(type)                                  \
		REGISTER(element, op->out) = (element)(expr);   \
		NEXT;                                           \
	}
#define RUN_DIVIDE(name, NAME, type, Op, meaning, expr) \
	REG_##Op##_##name:                                  \
	{                                                   \
		OPERANDS(type)                                  \
		if (y == 0)                                     \
			goto leave;                                 \
		REGISTER(element, op->out) = (element)(expr);   \
		NEXT;                                           \
	}
#define RUN_COMPARE(name, NAME, type, Op, meaning, expr) \
	REG_##Op##_##name:                                   \
	{                                                    \
		OPERANDS(type)                                   \
		REGISTER(_Bool, op->out) = (expr);               \
		NEXT;                                            \
	}                                                    \
	REG_BRANCH_##Op##_##name:                            \
	{                                                    \
		OPERANDS(type)                                   \
		const _Bool yes = (expr);                        \
		REGISTER(_Bool, op->out) = yes;                  \
		CHOOSE(yes)                                      \
	}
#define CHOOSE(result)                \
	chosen[op->predicate] = (result); \
	if ((result) == op->side) {       \
		dead += op->dead_next;        \
		NEXT;                         \
	}                                 \
	dead += op->dead;                 \
	GO;
#define RUN_BYTES(bytes, type)                                                                       \
	REG_SELECT_##bytes : REGISTER(type, op->out) =                                                   \
							 REGISTER(_Bool, op->a) ? REGISTER(type, op->b) : REGISTER(type, op->c); \
	NEXT;                                                                                            \
	REG_COPY_##bytes : REGISTER(type, op->out) = REGISTER(type, op->a);                              \
	NEXT;

#define RUN_EACH_SIZE RUN_BYTES(1, uint8_t) RUN_BYTES(4, uint32_t) RUN_BYTES(8, uint64_t)

#define LABEL(name, NAME, type, Op, ...) [REG_##Op##_##name] = &&REG_##Op##_##name,
#define BRANCH_LABEL(name, NAME, type, Op, ...) [REG_BRANCH_##Op##_##name] = &&REG_BRANCH_##Op##_##name,
#define LABELS(types, ...) DFG_REGISTERS_##types(LABEL, __VA_ARGS__)
#define OWN_LABEL(Op) [REG_##Op] = &&REG_##Op
#define OWN_LABELS(a, b, c, d, e, f) OWN_LABEL(a), OWN_LABEL(b), OWN_LABEL(c), OWN_LABEL(d), OWN_LABEL(e), OWN_LABEL(f)
#define RUN_BY(Op, divide)                                                             \
	REG_##Op : REGISTER(int32_t, op->out) = divide(REGISTER(int32_t, op->a), &op->by); \
	NEXT;

static inline void run_row(const struct register_row *row, void *const *data, uint32_t n_in)
{
	row->row(row->n, data[n_in], (const void *const *)data, row->attr);
}

/* Runs ops until the region is left, or the limits are to be checked. */
static struct dfg_err *run_ops(
	struct activation *activation, const struct register_code *code, struct register_state *state)
{
	static const void *const label[REG_OPCODES] = {
#define UNARY LABELS
#define BINARY LABELS
#define DIVIDE LABELS
#define COMPARE(types, ...) LABELS(types, __VA_ARGS__) DFG_REGISTERS_##types(BRANCH_LABEL, __VA_ARGS__)
#include "lib/exec/emit/register_ops.def"
		OWN_LABELS(SELECT_1, SELECT_4, SELECT_8, COPY_1, COPY_4, COPY_8),
		OWN_LABELS(FLOOR_DIV_BY, FLOOR_MOD_BY, DIVISIBLE, TEST, BRANCH, TEST_BRANCH),
		OWN_LABELS(JUMP, BACK_TEST, BACK, ADD_BACK_i32, ADD_BACK_i64, DIVISIBLE_TEST),
		[REG_CALLS... REG_LEAVE - 1] = &&call,
		OWN_LABEL(ROW),
		OWN_LABEL(LEAVE),
	};
	const struct register_op *op = state->op;
	const int64_t most = state->most;
	int64_t *const iteration = activation->iteration;
	char *const base = activation->block;
	int32_t *const chosen = activation->chosen;
	struct dfg_err *err = NULL;
	uint64_t dead = state->dead, fuel = state->fuel;
	_Bool result;
	goto *label[op->code];

#define UNARY(types, ...) DFG_REGISTERS_##types(RUN_UNARY, __VA_ARGS__)
#define BINARY(types, ...) DFG_REGISTERS_##types(RUN_BINARY, __VA_ARGS__)
#define DIVIDE(types, ...) DFG_REGISTERS_##types(RUN_DIVIDE, __VA_ARGS__)
#define COMPARE(types, ...) DFG_REGISTERS_##types(RUN_COMPARE, __VA_ARGS__)
#include "lib/exec/emit/register_ops.def"
	RUN_EACH_SIZE
	RUN_BY(FLOOR_DIV_BY, floor_quotient_by)
	RUN_BY(FLOOR_MOD_BY, floor_remainder_by)
REG_DIVISIBLE_TEST:
	chosen[op->predicate] = test_divisible(base, op);
	NEXT;
REG_DIVISIBLE:
	result = test_divisible(base, op);
	goto choose;
REG_TEST:
	chosen[op->predicate] = REGISTER(_Bool, op->a);
	NEXT;
REG_TEST_BRANCH:
	result = REGISTER(_Bool, op->a);
choose:
	CHOOSE(result)
REG_BRANCH:
	CHOOSE(chosen[op->predicate])
REG_BACK_TEST:
	if (chosen[op->predicate] == 1)
		NEXT;
REG_JUMP:
	dead += op->dead;
	GO;
REG_ADD_BACK_i32:
	REGISTER(int32_t, op->out) = REGISTER(int32_t, op->a) + REGISTER(int32_t, op->b);
	goto back;
REG_ADD_BACK_i64:
	REGISTER(int64_t, op->out) = REGISTER(int64_t, op->a) + REGISTER(int64_t, op->b);
REG_BACK:
back:
	if (++iteration[op->loop] <= most && --fuel)
		GO;
	state->back = op;
	op = (const struct register_op *)((const char *)op + op->jump);
	goto leave;
REG_ROW:
	run_row(code->row + op->c, activation->data + op->a, op->b);
	NEXT;
call:
	if (!(err = dfg_register_call(activation, op)))
		NEXT;
leave:
REG_LEAVE:
	state->op = op;
	state->dead = dead;
	state->fuel = fuel;
	return err;
}

struct dfg_err *dfg_region_run(
	struct activation *activation, struct region *region, const struct instruction **out_next)
{
	const struct dfg_session_options *options = activation->watch.options;
	uint64_t full = options->emit_loops_after && options->emit_loops_after < FUEL ? options->emit_loops_after : FUEL;
	struct register_state state = {
		.op = region->code.op, .most = options->max_iterations > 0 ? options->max_iterations : INT64_MAX};
	struct dfg_err *err = NULL;
	fill_imports(activation, &region->code);
	do {
		const struct native_code *native = dfg_region_native(activation, region);
		state.back = NULL;
		state.fuel = full;
		if (native)
			err = dfg_native_run(activation, region, native, &state);
		if (!err)
			err = run_ops(activation, &region->code, &state);
		activation->iterations += full - state.fuel;
		atomic_fetch_add_explicit(&region->iterations, full - state.fuel, memory_order_relaxed);
		if (!err && state.back)
			err = check_limits(activation, state.back);
	} while (!err && state.back);
	activation->dead_tokens += state.dead;
	*out_next = activation->program->code + (state.op->code == REG_LEAVE ? state.op->to : state.op->instruction);
	return err;
}
