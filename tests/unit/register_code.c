#include "lib/exec/linear/region_private.h"

#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

/* Every operation of register code has the bits of the row of its op, alone and fused with a branch. */

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Often a number at an edge: of zero, of the type, of denormals; NaNs of either sign with a payload. */
static uint64_t draw_operand(enum dfg_dtype dtype)
{
	static const uint32_t floats[] = {0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000,
		0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fc12345, 0xffc54321};
	static const uint64_t doubles[] = {0, UINT64_C(1) << 63, 1, 0x000fffffffffffff, 0x3ff0000000000000,
		0xbff0000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
		0xfff8000000000000, 0x7ff8000000012345, 0xfff8000000054321};
	static const int64_t ints[] = {0, 1, -1, 2, 3, 7, -7, 31, 32, 63, 64, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
	uint64_t bits = draw(), edge = draw();
	if (dtype == DFG_BOOL)
		return bits & 1;
	if (edge & 1)
		return edge & 2 && dtype != DFG_F32 && dtype != DFG_F64 ? bits >> 52 : bits;
	edge >>= 8;
	if (dtype == DFG_F32)
		return floats[edge % (sizeof floats / sizeof *floats)];
	if (dtype == DFG_F64)
		return doubles[edge % (sizeof doubles / sizeof *doubles)];
	return (uint64_t)ints[edge % (sizeof ints / sizeof *ints)];
}

enum { A, B, C, OUT, BLOCK = 4 };

/* An activation of a program of one instruction, whose block holds the operands and the result. */
struct machine {
	struct activation activation;
	struct program program;
	struct instruction instruction;
	struct dfg_session_options options;
	struct region region;
	struct register_op op[4];
	uint64_t block[BLOCK];
	int32_t chosen;
	int64_t iteration;
};

static void machine_begin(struct machine *m, const struct register_op *op)
{
	*m = (struct machine){.chosen = -1};
	m->program.code = &m->instruction;
	m->activation.program = &m->program;
	m->activation.block = m->block;
	m->activation.chosen = &m->chosen;
	m->activation.iteration = &m->iteration;
	m->activation.watch.options = &m->options;
	m->region.code = (struct register_code){.op = m->op, .count = 4};
	m->options.emit_loops_after = UINT64_MAX;
	m->op[0] = *op;
	m->op[0].a = A * 8, m->op[0].b = B * 8, m->op[0].c = C * 8, m->op[0].out = OUT * 8;
	m->op[0].to = 2, m->op[0].jump = 2 * (int32_t)sizeof *m->op, m->op[0].side = 1, m->op[0].dead = 5,
	m->op[0].dead_next = 7;
	m->op[1] = (struct register_op){.code = REG_LEAVE, .to = 11};
	m->op[2] = (struct register_op){.code = REG_LEAVE, .to = 12};
}

/* Runs the ops; returns the number of the instruction after them. */
static int64_t machine_run(struct machine *m)
{
	const struct instruction *next;
	succeeds(dfg_region_run(&m->activation, &m->region, &next));
	return next - m->program.code;
}

/* The same as machine code, if this machine runs it; -1: it does not. */
static int64_t machine_run_native(struct machine *m, const struct native_code *native)
{
	struct register_state state = {.op = m->op, .dead = m->activation.dead_tokens, .fuel = 2, .most = INT64_MAX};
	if (!native->run)
		return -1;
	succeeds(dfg_native_run(&m->activation, &m->region, native, &state));
	m->activation.dead_tokens = state.dead;
	return state.op->code == REG_LEAVE ? state.op->to : 0;
}

static size_t out_bytes(const struct dfg_op *op, enum dfg_dtype dtype)
{
	bool compares = op->means >= DFG_MEANS_EQUAL && op->means <= DFG_MEANS_AT_LEAST;
	return compares ? 1 : dfg_dtype_size(dtype);
}

/* The op, and the op fused with a branch: in the VM and as machine code. */
struct trial {
	const struct dfg_op *op;
	enum dfg_dtype dtype;
	struct machine machine[2];
	struct native_code native[2];
};

/* Compilers differ in the sign of NaNs, and in which of two NaNs a sum is. */
static bool is_same(const struct trial *trial, uint64_t want, uint64_t got)
{
	size_t bytes = out_bytes(trial->op, trial->dtype);
	double a, b;
	if (bytes > 1) {
		dfg_convert(DFG_F64, &a, trial->dtype, &want, 1);
		dfg_convert(DFG_F64, &b, trial->dtype, &got, 1);
		if (a != a && b != b)
			return true;
	}
	return !memcmp(&want, &got, bytes);
}

static void expect_result(struct trial *trial, int fused, bool native, uint64_t want, bool zero)
{
	struct machine *m = &trial->machine[fused];
	uint64_t before = m->activation.dead_tokens;
	m->block[OUT] = 0;
	m->chosen = -1;
	int64_t next = native ? machine_run_native(m, &trial->native[fused]) : machine_run(m);
	if (next < 0)
		return;
	assert_int_equal(next, zero ? 0 : fused && !want ? 12 : 11);
	if (!zero && !is_same(trial, want, m->block[OUT]))
		fail_msg("%s of %s%s: %016llx, %016llx gives %016llx, not %016llx", trial->op->name,
			dfg_dtype_name(trial->dtype), native ? " as machine code" : "", (unsigned long long)m->block[A],
			(unsigned long long)m->block[B], (unsigned long long)m->block[OUT], (unsigned long long)want);
	if (!fused)
		return;
	assert_int_equal(m->activation.dead_tokens - before, want ? 7 : 5);
	assert_int_equal(m->chosen, want);
}

static void trial_begin(struct trial *trial, const struct dfg_op *op, enum dfg_dtype dtype, enum register_opcode code)
{
	const enum register_opcode codes[] = {code, dfg_register_branch(code)};
	*trial = (struct trial){.op = op, .dtype = dtype};
	for (int fused = 0; fused < 2; fused++) {
		if (codes[fused] == REG_OPCODES)
			continue;
		machine_begin(&trial->machine[fused], &(struct register_op){.code = (uint16_t)codes[fused]});
		dfg_native_make(&trial->machine[fused].region.code, &trial->native[fused]);
	}
}

static void expect_row(const struct dfg_op *op, enum dfg_dtype dtype, enum register_opcode code, int count)
{
	dfg_row_fn *row = dfg_op_row(op, dtype) ? dfg_op_row(op, dtype) : dfg_op_row(op, DFG_NO_DTYPE);
	struct trial trial;
	bool fuses = dfg_register_branch(code) != REG_OPCODES;
	bool divides = op->guard && (dtype == DFG_I32 || dtype == DFG_I64);
	trial_begin(&trial, op, dtype, code);
	for (int i = 0; i < count; i++) {
		uint64_t want = 0, operand[] = {draw_operand(dtype), draw_operand(dtype)};
		bool zero = divides && (dtype == DFG_I32 ? !(int32_t)operand[1] : !operand[1]);
		row(1, &want, (const void *[]){&operand[0], &operand[1]}, NULL);
		for (int way = 0; way < 4; way++) {
			memcpy(trial.machine[way & 1].block, operand, sizeof operand);
			if (!(way & 1) || fuses)
				expect_result(&trial, way & 1, way & 2, want, zero);
		}
	}
	dfg_native_release(&trial.native[0]);
	dfg_native_release(&trial.native[1]);
}

static void every_operation_has_the_bits_of_its_row(void **state)
{
	(void)state;
	bool seen[REG_OPCODES] = {0};
	for (size_t i = 0; i < dfg_ops_count; i++)
		for (int dtype = 0; dtype < DFG_DTYPES; dtype++) {
			const struct dfg_op *op = dfg_ops[i];
			bool logical = dtype == DFG_BOOL && dfg_op_row(op, DFG_NO_DTYPE);
			enum register_opcode code = dfg_register_opcode(op->means, (enum dfg_dtype)dtype);
			if (code == REG_OPCODES || (!dfg_op_row(op, dtype) && !logical))
				continue;
			seen[code] = true;
			expect_row(op, (enum dfg_dtype)dtype, code, 100000);
			uint64_t mode = dfg_float_mode_set(DFG_FLUSH);
			expect_row(op, (enum dfg_dtype)dtype, code, 100000);
			dfg_float_mode_restore(mode);
		}
	for (int code = 0; code < REG_SELECT_1; code++)
		if (dfg_register_branch((enum register_opcode)code) != REG_OPCODES || code < REG_BRANCH_EQ_i32)
			assert_true(seen[code]);
}

/* Quotient and remainder of a division by a constant, in the VM or as machine code. */
struct division {
	struct machine machine[2];
	struct native_code native[2];
	int32_t divisor;
};

static int32_t divide(struct division *division, int which, int32_t x, bool native)
{
	struct machine *m = &division->machine[which];
	m->block[A] = (uint32_t)x;
	if (!native || machine_run_native(m, &division->native[which]) < 0)
		machine_run(m);
	return (int32_t)m->block[OUT];
}

static void expect_division(struct division *division, int32_t x)
{
	int32_t d = division->divisor, quotient = x / d - (x % d < 0);
	for (int native = 0; native < 2; native++) {
		int32_t got[] = {divide(division, 0, x, native), divide(division, 1, x, native)};
		if (got[0] != quotient || got[1] != x - quotient * d)
			fail_msg("%d by %d: %d and %d", x, d, got[0], got[1]);
	}
}

static void expect_divisor(int32_t d, int64_t step)
{
	struct division division = {.divisor = d};
	for (int which = 0; which < 2; which++) {
		machine_begin(&division.machine[which],
			&(struct register_op){.code = which ? REG_FLOOR_MOD_BY : REG_FLOOR_DIV_BY, .by = dfg_register_divisor(d)});
		dfg_native_make(&division.machine[which].region.code, &division.native[which]);
	}
	for (int64_t x = INT32_MIN; x <= INT32_MAX; x += step)
		expect_division(&division, (int32_t)x);
	for (int64_t k = INT32_MIN / d - 1; k <= INT32_MAX / d + 1; k += 1 + step * step / d / 64)
		for (int64_t x = k * d - 1; x <= k * d + 1; x++)
			if (x >= INT32_MIN && x <= INT32_MAX)
				expect_division(&division, (int32_t)x);
	expect_division(&division, INT32_MAX);
	dfg_native_release(&division.native[0]);
	dfg_native_release(&division.native[1]);
}

/* Every dividend of some divisors took minutes when these were written: step 1. Here every 65521st, and multiples. */
static void a_constant_divisor_is_a_multiplication(void **state)
{
	(void)state;
	static const int32_t divisors[] = {
		2, 3, 5, 6, 7, 10, 15, 641, 1000, 65535, 65536, 65537, 1000000007, 0x40000000, 0x40000001, INT32_MAX};
	int64_t step = getenv("EVERY_DIVIDEND") ? 1 : 65521;
	for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++)
		expect_divisor(divisors[i], step);
}

static void no_page_is_writable_and_executable(void **state)
{
	(void)state;
	struct machine m;
	struct native_code native;
	char line[600];
	bool found = false;
	machine_begin(&m, &(struct register_op){.code = REG_ADD_i32});
	bool made = dfg_native_make(&m.region.code, &native);
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps)) {
		void *first;
		char rights[5];
		assert_int_equal(sscanf(line, "%p-%*x %4s", &first, rights), 2);
		assert_false(rights[1] == 'w' && rights[2] == 'x');
		found |= made && first == native.memory.bytes && rights[2] == 'x';
	}
	if (maps) {
		fclose(maps);
		assert_true(found == made);
	}
	dfg_native_release(&native);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_has_the_bits_of_its_row),
		cmocka_unit_test(a_constant_divisor_is_a_multiplication),
		cmocka_unit_test(no_page_is_writable_and_executable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
