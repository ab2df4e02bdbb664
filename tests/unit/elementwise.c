#include "tests/unit/test.h"

#include "lib/graph/build.h"
#include "lib/graph/half.h"
#include "lib/graph/kernel.h"

#include <math.h>

/* One node of an op with two operands, and what it made of them. */
struct binary {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_tensor a, b, out;
};

static struct dfg_edge placeholder(struct binary *run, const struct dfg_tensor *tensor)
{
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", tensor->dtype), {"shape", DFG_ATTR_SHAPE, {.shape = &tensor->shape}}};
	struct dfg_edge edge = {0};
	succeeds(dfg_build(&run->builder,
		&(struct dfg_new_node){.op = "Placeholder", .name = "x", .attr = attr, .n_attr = 2}, &edge.node));
	return edge;
}

/* Small whole numbers, which every type holds exactly. */
static void fill(struct dfg_tensor *tensor, enum dfg_dtype dtype, struct dfg_shape shape, int seed)
{
	succeeds(dfg_tensor_new(dtype, &shape, tensor));
	for (int64_t i = 0; i < dfg_shape_count(&shape); i++) {
		double value = (double)((i * 7 + seed) % 11);
		dfg_convert(dtype, dfg_tensor_at(tensor, i), DFG_F64, &value, 1);
	}
}

static void begin(struct binary *run, enum dfg_dtype dtype, struct dfg_shape a, struct dfg_shape b)
{
	*run = (struct binary){0};
	dfg_graph_init(&run->graph, &run->arena);
	succeeds(dfg_builder_init(&run->builder, &run->graph));
	fill(&run->a, dtype, a, 1);
	fill(&run->b, dtype, b, 5);
}

static struct dfg_err *eval(struct binary *run, const char *op)
{
	struct dfg_edge in[] = {placeholder(run, &run->a), placeholder(run, &run->b)}, out;
	struct dfg_resolved_node call;
	DFG_TRY(dfg_build_op(&run->builder, op, "y", in, 2, &out));
	DFG_TRY(dfg_node_resolve(&run->graph, out.node, &run->arena, &call));
	return dfg_eval(&call, (const struct dfg_tensor *const[]){&run->a, &run->b}, SIZE_MAX, &run->out);
}

static void end(struct binary *run)
{
	dfg_tensor_release(&run->a);
	dfg_tensor_release(&run->b);
	dfg_tensor_release(&run->out);
	dfg_builder_release(&run->builder);
	dfg_graph_release(&run->graph);
	dfg_arena_release(&run->arena);
}

static double number(const struct dfg_tensor *tensor, int64_t i)
{
	double value;
	dfg_convert(DFG_F64, &value, tensor->dtype, dfg_tensor_at(tensor, i), 1);
	return value;
}

/* The element of t that is at element i of a tensor of that shape, by NumPy's rule written out. */
static double stretched(const struct dfg_tensor *t, const struct dfg_shape *shape, int64_t i)
{
	int64_t index[DFG_RANK_MAX], at = 0;
	for (int d = shape->rank - 1; d >= 0; i /= shape->dim[d--])
		index[d] = i % shape->dim[d];
	for (int d = 0; d < t->shape.rank; d++) {
		int64_t dim = t->shape.dim[d];
		at = at * dim + (dim == 1 ? 0 : index[shape->rank - t->shape.rank + d]);
	}
	return number(t, at);
}

static void expect_difference(enum dfg_dtype dtype, struct dfg_shape a, struct dfg_shape b)
{
	struct binary run;
	begin(&run, dtype, a, b);
	succeeds(eval(&run, "Sub"));
	for (int64_t i = 0; i < dfg_shape_count(&run.out.shape); i++) {
		double want = stretched(&run.a, &run.out.shape, i) - stretched(&run.b, &run.out.shape, i);
		if (number(&run.out, i) != want)
			fail_msg("%s - %s: element %d is %g, not %g", dfg_type_words(dtype, &a).s, dfg_type_words(dtype, &b).s,
				(int)i, number(&run.out, i), want);
	}
	end(&run);
}

#define SHAPE(...)                                          \
	(struct dfg_shape)                                      \
	{                                                       \
		sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
		{                                                   \
			__VA_ARGS__                                     \
		}                                                   \
	}

static void expect_both(enum dfg_dtype dtype, struct dfg_shape a, struct dfg_shape b)
{
	expect_difference(dtype, a, b);
	expect_difference(dtype, b, a);
}

/* Around the sizes of tiles, runs and blocks, with every way in which dims merge or do not. */
static void operands_stretch_in_every_shape(void **state)
{
	(void)state;
	const enum dfg_dtype dtypes[] = {DFG_F32, DFG_F64, DFG_I32, DFG_I8, DFG_I64, DFG_F16, DFG_BF16, DFG_C64, DFG_C128};
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
		expect_both(dtypes[i], SHAPE(3, 700), SHAPE(3, 700));
		expect_both(dtypes[i], SHAPE(3, 700), SHAPE(700));
		expect_both(dtypes[i], SHAPE(300, 3), SHAPE(3));
		expect_both(dtypes[i], SHAPE(300, 3), SHAPE(300, 1));
		expect_both(dtypes[i], SHAPE(2, 600), SHAPE(2, 1));
		expect_both(dtypes[i], SHAPE(1, 65), SHAPE(64, 1));
		expect_both(dtypes[i], SHAPE(2, 1, 70, 3), SHAPE(5, 1, 3));
		expect_both(dtypes[i], SHAPE(4, 1, 5, 1, 7), SHAPE(1, 3, 1, 6, 1));
		expect_both(dtypes[i], SHAPE(1, 1), SHAPE(513));
		expect_both(dtypes[i], DFG_SHAPE_SCALAR, SHAPE(40, 40));
		expect_both(dtypes[i], DFG_SHAPE_SCALAR, DFG_SHAPE_SCALAR);
		expect_both(dtypes[i], SHAPE(0, 3), SHAPE(3));
	}
	expect_both(DFG_F32, SHAPE(70000), SHAPE(1));
	expect_both(DFG_F32, SHAPE(1000, 70), SHAPE(70));
	expect_both(DFG_F16, SHAPE(70, 1000), SHAPE(70, 1));
}

/* Planes of many short runs, of which one operand has a run, one element, or one a run, for each plane or for all. */
static void operands_stretch_along_planes(void **state)
{
	(void)state;
	const struct dfg_shape of_planes[] = {
		SHAPE(24), SHAPE(1), SHAPE(3, 1, 24), SHAPE(3, 1, 1), SHAPE(3, 200, 1), SHAPE(200, 1), SHAPE(200, 24)};
	for (size_t i = 0; i < sizeof of_planes / sizeof *of_planes; i++) {
		expect_both(DFG_F32, SHAPE(3, 200, 24), of_planes[i]);
		expect_both(DFG_C128, SHAPE(3, 200, 24), of_planes[i]);
	}
	expect_both(DFG_BF16, SHAPE(3, 200, 24), SHAPE(3, 1, 24));
	/* blocks of threads that begin within a run */
	expect_both(DFG_F32, SHAPE(4, 9001, 19), SHAPE(4, 1, 19));
	expect_both(DFG_F32, SHAPE(4, 9001, 19), SHAPE(9001, 1));
	expect_both(DFG_F32, SHAPE(9001, 19), SHAPE(19));
	expect_both(DFG_F32, SHAPE(9001, 1), SHAPE(1, 19));
}

static void shapes_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	struct binary run;
	begin(&run, DFG_F32, SHAPE(2, 3), SHAPE(2));
	fails(eval(&run, "Add"), DFG_DATA, "cannot broadcast [2,3] with [2]");
	end(&run);
}

/* The op's elements, which are pairs of f32 or f32. */
static void expect_floats(const char *op, const float *z, struct dfg_attr attr, int n, const float *want)
{
	struct binary run;
	struct dfg_resolved_node call;
	struct dfg_edge in, out = {0};
	begin(&run, DFG_C64, SHAPE(2), SHAPE(2));
	memcpy(run.a.data, z, 4 * sizeof *z);
	in = placeholder(&run, &run.a);
	succeeds(dfg_build(&run.builder,
		&(struct dfg_new_node){.op = op, .name = "y", .in = &in, .n_in = 1, .attr = &attr, .n_attr = 1}, &out.node));
	succeeds(dfg_node_resolve(&run.graph, out.node, &run.arena, &call));
	succeeds(dfg_eval(&call, (const struct dfg_tensor *const[]){&run.a}, SIZE_MAX, &run.out));
	assert_int_equal(dfg_tensor_bytes(&run.out), (size_t)n * sizeof *want);
	for (int i = 0; i < n; i++)
		assert_true(fabsf(((float *)run.out.data)[i] - want[i]) < 1e-6f);
	end(&run);
}

static void complex_numbers_have_two_parts(void **state)
{
	(void)state;
	const float z[] = {3, -4, 0, 2};
	const struct dfg_attr part = DFG_ATTR_T("Tout", DFG_F32), type = DFG_ATTR_T("T", DFG_C64);
	expect_floats("Real", z, part, 2, (const float[]){3, 0});
	expect_floats("Imag", z, part, 2, (const float[]){-4, 2});
	expect_floats("ComplexAbs", z, part, 2, (const float[]){5, 2});
	expect_floats("Angle", z, part, 2, (const float[]){-0.92729522f, 1.57079633f});
	expect_floats("Conj", z, type, 4, (const float[]){3, 4, 0, -2});
	expect_floats("Neg", z, type, 4, (const float[]){-3, 4, 0, -2});
	struct binary run;
	begin(&run, DFG_F32, SHAPE(3), SHAPE(3));
	succeeds(eval(&run, "Complex"));
	for (int i = 0; i < 6; i++)
		assert_true(((float *)run.out.data)[i] == ((float *)(i % 2 ? &run.b : &run.a)->data)[i / 2]);
	end(&run);
}

/* Every f16 and bf16 comes back from f32 as it was, but NaN keeps only its sign. */
static void halves_survive_widening(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		float f16 = dfg_f16_widen((uint16_t)bits), bf16 = dfg_bf16_widen((uint16_t)bits);
		if (!isnan(f16))
			assert_int_equal(dfg_f16_round(f16), bits);
		else
			assert_int_equal(dfg_f16_round(f16), (bits & 0x8000) | 0x7e00);
		if (!isnan(bf16))
			assert_int_equal(dfg_bf16_round(bf16), bits);
		else
			assert_true(isnan(dfg_bf16_widen(dfg_bf16_round(bf16))));
	}
}

/* Halfway between two neighbours the even one, just beside it the nearer one. */
static void rounding_to_halves_is_to_nearest_even(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits < 0x7bff; bits++) {
		float low = dfg_f16_widen((uint16_t)bits), high = dfg_f16_widen((uint16_t)(bits + 1)),
			  middle = (low + high) / 2;
		assert_int_equal(dfg_f16_round(middle), bits & 1 ? bits + 1 : bits);
		assert_int_equal(dfg_f16_round(nextafterf(middle, 1e9f)), bits + 1);
		assert_int_equal(dfg_f16_round(-nextafterf(middle, 0)), bits | 0x8000);
	}
	assert_int_equal(dfg_f16_round(65519.99f), 0x7bff);
	assert_int_equal(dfg_f16_round(65520), 0x7c00);
	assert_int_equal(dfg_bf16_round(1.00390625f), 0x3f80);
	assert_int_equal(dfg_bf16_round(1.01171875f), 0x3f82);
	assert_int_equal(dfg_bf16_round(3.4e38f), 0x7f80);
}

static uint16_t half_of(enum dfg_dtype half, double value)
{
	uint16_t bits;
	dfg_put_real(half, &bits, value);
	return bits;
}

/* As above for f64, whose numbers beside the middle are the middle itself in f32. */
static void f64_is_rounded_to_halves_once(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits < 0x7f7f; bits++)
		for (int k = 0; k < 2; k++) {
			enum dfg_dtype half = k ? DFG_BF16 : DFG_F16;
			if (half == DFG_F16 && bits >= 0x7bff)
				continue;
			double low = k ? dfg_bf16_widen((uint16_t)bits) : dfg_f16_widen((uint16_t)bits),
				   high = k ? dfg_bf16_widen((uint16_t)(bits + 1)) : dfg_f16_widen((uint16_t)(bits + 1)),
				   middle = (low + high) / 2;
			assert_int_equal(half_of(half, low), bits);
			assert_int_equal(half_of(half, middle), bits & 1 ? bits + 1 : bits);
			assert_int_equal(half_of(half, nextafter(middle, INFINITY)), bits + 1);
			assert_int_equal(half_of(half, -nextafter(middle, 0)), bits | 0x8000);
		}
	assert_int_equal(half_of(DFG_F16, 65519.999), 0x7bff);
	assert_int_equal(half_of(DFG_F16, 65520), 0x7c00);
	assert_int_equal(half_of(DFG_F16, -1e300), 0xfc00);
	assert_int_equal(half_of(DFG_F16, 1e-300), 0);
	assert_int_equal(half_of(DFG_BF16, INFINITY), 0x7f80);
	assert_true(isnan(dfg_f16_widen(half_of(DFG_F16, NAN))));
}

/* Loops over many take the vector code, single elements do not. */
static void many_halves_convert_as_each_does(void **state)
{
	(void)state;
	static uint16_t in[0x10000], out[0x10000];
	static float wide[0x10000];
	for (uint32_t i = 0; i < 0x10000; i++)
		in[i] = (uint16_t)i;
	for (int k = 0; k < 2; k++) {
		enum dfg_dtype half = k ? DFG_F16 : DFG_BF16;
		dfg_half_widen(half, wide, in, 0x10000);
		dfg_half_round(half, out, wide, 0x10000);
		for (uint32_t i = 0; i < 0x10000; i++) {
			float one = k ? dfg_f16_widen(in[i]) : dfg_bf16_widen(in[i]);
			assert_true(!memcmp(&wide[i], &one, sizeof one) || isnan(one));
			assert_int_equal(out[i], k ? dfg_f16_round(wide[i]) : dfg_bf16_round(wide[i]));
		}
	}
}

static void expect_converted(enum dfg_dtype from, double x, enum dfg_dtype to, double want)
{
	double element[2], result[2] = {0};
	dfg_convert(from, element, DFG_F64, &x, 1);
	dfg_convert(to, result, from, element, 1);
	double got;
	dfg_convert(DFG_F64, &got, to, result, 1);
	if (got != want)
		fail_msg("%g of %s as %s is %g, not %g", x, dfg_dtype_name(from), dfg_dtype_name(to), got, want);
}

static void conversion_saturates_and_nan_is_zero(void **state)
{
	(void)state;
	const enum dfg_dtype floats[] = {DFG_F32, DFG_F64, DFG_BF16, DFG_C64, DFG_C128};
	for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
		expect_converted(floats[i], 1e9, DFG_I8, 127);
		expect_converted(floats[i], -1e9, DFG_I16, -32768);
		expect_converted(floats[i], 1e30, DFG_I32, 2147483647);
		expect_converted(floats[i], 1e30, DFG_I64, 0x1p63);
		expect_converted(floats[i], -1e30, DFG_I64, -0x1p63);
		expect_converted(floats[i], -1, DFG_U8, 0);
		expect_converted(floats[i], 1e30, DFG_U64, 0x1p64);
		expect_converted(floats[i], NAN, DFG_I32, 0);
		expect_converted(floats[i], INFINITY, DFG_U16, 65535);
		expect_converted(floats[i], -2.75, DFG_I32, -2);
		expect_converted(floats[i], 0.25, DFG_BOOL, 1);
	}
	expect_converted(DFG_I32, 300, DFG_U8, 44);
	expect_converted(DFG_I64, 1099511627777, DFG_F16, INFINITY);
	expect_converted(DFG_U64, 0x1p63, DFG_F64, 0x1p63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands_stretch_in_every_shape),
		cmocka_unit_test(operands_stretch_along_planes),
		cmocka_unit_test(shapes_that_do_not_fit_are_refused),
		cmocka_unit_test(complex_numbers_have_two_parts),
		cmocka_unit_test(halves_survive_widening),
		cmocka_unit_test(rounding_to_halves_is_to_nearest_even),
		cmocka_unit_test(f64_is_rounded_to_halves_once),
		cmocka_unit_test(many_halves_convert_as_each_does),
		cmocka_unit_test(conversion_saturates_and_nan_is_zero),
	};
	return cmocka_run_group_tests_name("elementwise", tests, NULL, NULL);
}
