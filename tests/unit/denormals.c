#include "tests/unit/program.h"

#include "lib/base/float_mode.h"
#include "lib/graph/kernel.h"
#include "lib/graph/op.h"

#include <fenv.h>
#include <float.h>
#include <math.h>

/* Denormals are flushed, or kept, alike by every thread and by every form of a kernel. */

static volatile float small = FLT_MIN, half = 0.5F;

static bool flushes_results(void)
{
	volatile float y = small * half;
	return y == 0;
}

/* The exact double of a denormal float is a normal number. */
static bool flushes_operands(void)
{
	union {
		uint32_t bits;
		float value;
	} denormal = {.bits = 0x00400000};
	volatile float x = denormal.value;
	volatile double wide = x;
	return wide == 0;
}

static bool rounds_up(void)
{
	volatile double x = 1, y = 0x1p-60;
	return x + y > 1;
}

static void a_mode_is_set_and_restored(void **state)
{
	(void)state;
	fesetround(FE_UPWARD);
	uint64_t before = dfg_float_mode_set(DFG_FLUSH);
	bool nearest = !rounds_up();
	bool results = flushes_results(), operands = flushes_operands();
	uint64_t flushing = dfg_float_mode_set(DFG_KEEP);
	assert_false(flushes_results() || flushes_operands());
	dfg_float_mode_restore(flushing);
	assert_int_equal(flushes_results(), DFG_CAN_FLUSH);
	dfg_float_mode_restore(before);
	assert_true(rounds_up());
	fesetround(FE_TONEAREST);
	assert_true(nearest && results == DFG_CAN_FLUSH && operands == DFG_CAN_FLUSH);
}

enum { N = 77 };

/* Denormals of either sign among zeros, small and usual numbers, infinities and NaNs. */
static void fill(enum dfg_dtype dtype, void *to, int seed)
{
	static const double units[] = {0, -0.0, 1, -1, 0.5, -0.5, 0x1p-10, -0x1p-10, 2, -2, 3.5, INFINITY, -INFINITY, NAN};
	const double least = dtype == DFG_F64 ? DBL_MIN : FLT_MIN;
	for (int i = 0; i < N; i++) {
		int at = (i * 5 + seed * 11) % 28;
		double value = at < 14 ? units[at] * least : units[at - 14];
		dfg_convert(dtype, (char *)to + (size_t)i * dfg_dtype_size(dtype), DFG_F64, &value, 1);
	}
}

static bool same_or_nan(enum dfg_dtype dtype, const void *a, const void *b)
{
	double x = 0, y = 0;
	if (dtype != DFG_F32 && dtype != DFG_F64)
		return *(const char *)a == *(const char *)b;
	dfg_convert(DFG_F64, &x, dtype, a, 1);
	dfg_convert(DFG_F64, &y, dtype, b, 1);
	return (x != x && y != y) || !memcmp(a, b, dfg_dtype_size(dtype));
}

static int inputs_of(const struct dfg_op *op)
{
	const char *end = strstr(op->sig, "->");
	int count = 0;
	for (const char *at = strchr(op->sig, '('); at && at < end; at++)
		count += *at == ':';
	return count;
}

/* Whether each element of the output is of the inputs' type, or a boolean. */
static bool gives_elements(const struct dfg_op *op)
{
	const char *end = strstr(op->sig, "->");
	return end && strchr(end, ')') && (!strncmp(strchr(end, ')') - 3, ": T", 3) || strstr(end, ": bool)"));
}

/* A row computes an element alike wherever in a tensor it is: in a vector, or in the tail after the last one. */
static void expect_alike(const struct dfg_op *op, enum dfg_dtype dtype, int n_in)
{
	double value[3][N], all[N], one;
	const union dfg_value attr[8] = {{.f = 0.25F}, {.f = 0.25F}};
	bool compares = strstr(op->sig, ": bool)") != NULL;
	size_t size = dfg_dtype_size(dtype), out_size = compares ? 1 : size;
	for (int k = 0; k < n_in; k++)
		fill(dtype, value[k], k);
	op->row[dtype](N, all, (const void *[]){value[0], value[1], value[2]}, attr);
	for (int i = 0; i < N; i++) {
		const void *in[3];
		for (int k = 0; k < 3; k++)
			in[k] = (const char *)value[k] + (size_t)i * size;
		op->row[dtype](1, &one, in, attr);
		if (!same_or_nan(compares ? DFG_BOOL : dtype, (const char *)all + (size_t)i * out_size, &one))
			fail_msg(
				"%s of %s: element %d of %d differs from the element by itself", op->name, dfg_dtype_name(dtype), i, N);
	}
}

static void rows_compute_each_element_alike(void **state)
{
	(void)state;
	const enum dfg_dtype dtypes[] = {DFG_F32, DFG_F64};
	int tried = 0;
	for (int mode = 0; mode < 2; mode++) {
		uint64_t before = dfg_float_mode_set((enum dfg_denormals)mode);
		for (size_t i = 0; i < dfg_ops_count; i++)
			for (int d = 0; d < 2; d++) {
				const struct dfg_op *op = dfg_ops[i];
				int n_in = inputs_of(op);
				if (!dfg_op_row(op, dtypes[d]) || n_in < 1 || n_in > 3 || strstr(op->sig, "bool,") ||
					!gives_elements(op))
					continue;
				expect_alike(op, dtypes[d], n_in);
				tried++;
			}
		dfg_float_mode_restore(before);
	}
	assert_true(tried > 200);
}

static struct dfg_err *never_ends(void *arg)
{
	(void)arg;
	return NULL;
}

/* Runs y = x * 0.5 on the least normal float, with a control or without one. */
static float halved(enum dfg_denormals denormals, const struct dfg_step_control *control)
{
	struct program program;
	struct dfg_plan *plan;
	struct dfg_edge x, y;
	struct dfg_tensor out;
	float least = FLT_MIN;
	const struct dfg_session_options options = {.threads = 1, .denormals = denormals};
	const struct dfg_tensor feed = {
		.dtype = DFG_F32, .shape = DFG_SHAPE_SCALAR, .data = &least, .capacity = sizeof least};
	succeeds(program_begin(&program, "input x: f32[]\ny = x * 0.5\n", &options));
	succeeds(dfg_graph_edge(&program.graph, "x", &x));
	succeeds(dfg_graph_edge(&program.graph, "y", &y));
	succeeds(dfg_session_plan(
		program.session, &(struct dfg_step){.feed = &x, .n_feed = 1, .fetch = &y, .n_fetch = 1}, &plan));
	succeeds(dfg_plan_run_controlled(plan, &feed, control, &out));
	float result = *(const float *)out.data;
	dfg_tensor_release(&out);
	program_end(&program);
	return result;
}

static void a_step_with_a_control_has_the_mode_of_its_session(void **state)
{
	(void)state;
	const struct dfg_step_control control = {.check = never_ends};
	const struct dfg_step_control *const controls[] = {NULL, &control};
	for (int i = 0; i < 2; i++) {
		assert_true(halved(DFG_FLUSH, controls[i]) == (DFG_CAN_FLUSH ? 0 : FLT_MIN / 2));
		assert_true(halved(DFG_KEEP, controls[i]) == FLT_MIN / 2);
		assert_false(flushes_results());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mode_is_set_and_restored),
		cmocka_unit_test(a_step_with_a_control_has_the_mode_of_its_session),
		cmocka_unit_test(rows_compute_each_element_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
