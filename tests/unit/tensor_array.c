#include "tests/unit/program.h"

/* Tensor arrays: every rule of theirs. */

#define ARRAY(attributes) "h, f = TensorArrayV3(3, dtype = f32" attributes ")\n"
#define WRITE(index, value) "f = TensorArrayWriteV3(h, " index ", f32(" value "), f)\n"
#define READ(index) "y = TensorArrayReadV3(h, " index ", f, dtype = f32)\n"
#define SIZE "y = TensorArraySizeV3(h, f)\n"
#define GATHER(indices, attributes) "y = TensorArrayGatherV3(h, " indices ", f, dtype = f32" attributes ")\n"

static void elements_are_what_was_written(void **state)
{
	(void)state;
	says(ARRAY("") WRITE("0", "[1, 2]") WRITE("1", "3") READ("0"), "[2] 1 2");
	says(ARRAY("") WRITE("0", "[1, 2]") WRITE("1", "3") READ("1"), "[] 3");
	says(ARRAY("") SIZE, "[] 3");
	says(
		"h, f = TensorArrayV3(1, dtype = string)\nf = TensorArrayWriteV3(h, 0, [\"a\", \"bc\"], f)\n"
		"y = TensorArrayReadV3(h, 0, f, dtype = string)\n",
		"[2] a bc");
	says(
		"h, f = TensorArrayV3(1, dtype = i64)\nf = TensorArrayWriteV3(h, 0, i64([7]), f)\n"
		"y = TensorArrayReadV3(h, 0, f, dtype = i64)\n",
		"[1] 7");
}

static void an_element_is_written_once(void **state)
{
	(void)state;
	refuses(ARRAY("") WRITE("1", "1") WRITE("1", "1") READ("1"),
		"(TensorArrayWriteV3): tensor array 'h': cannot write element 1 twice");
	refuses(ARRAY("") "f = TensorArrayScatterV3(h, [0, 0], f32([1, 2]), f)\n" SIZE, "cannot write element 0 twice");
}

static void an_element_that_was_read_is_not_written(void **state)
{
	(void)state;
	refuses(ARRAY(", element_shape = []") "v = TensorArrayReadV3(h, 1, f, dtype = f32)\n"
										  "f = TensorArrayWriteV3(h, 1, v, f)\n" SIZE,
		"cannot write element 1, which has been read");
}

static void an_element_that_was_never_written_is_zeros_if_its_shape_is_known(void **state)
{
	(void)state;
	says(ARRAY(", element_shape = [2]") READ("1"), "[2] 0 0");
	says(ARRAY(", identical_element_shapes = true") WRITE("0", "[1, 2]") READ("1"), "[2] 0 0");
	says(ARRAY("") WRITE("1", "[1, 2]") GATHER("[0, 1]", ", element_shape = [2]"), "[2,2] 0 0 1 2");
	refuses(ARRAY("") WRITE("0", "[1, 2]") READ("1"), "element 1 was never written, and its shape [...] is unknown");
	refuses(ARRAY("") WRITE("1", "[1, 2]") GATHER("[0, 1]", ""), "element 0 was never written");
}

static void reading_clears_unless_it_must_not(void **state)
{
	(void)state;
	refuses(ARRAY("") WRITE("0", "5") GATHER("[0, 0]", ""),
		"element 0 was read already, which cleared it (set clear_after_read = false)");
	refuses(ARRAY(", element_shape = []") GATHER("[2, 2]", ""),
		"element 2 was read already, which cleared it (set clear_after_read = false)");
	says(ARRAY(", clear_after_read = false") WRITE("0", "5") GATHER("[0, 0]", ""), "[2] 5 5");
}

static void indices_are_in_the_array_or_make_it_grow(void **state)
{
	(void)state;
	refuses(ARRAY("") WRITE("3", "5") SIZE, "has no element 3: it has 3 and does not grow");
	refuses(ARRAY(", dynamic_size = true") WRITE("-1", "5") SIZE, "has no element -1");
	refuses(ARRAY(", dynamic_size = true, element_shape = []") READ("3"), "has no element 3: it has 3");
	refuses(ARRAY("") READ("-1"), "has no element -1");
	says(ARRAY(", dynamic_size = true") WRITE("6", "5") SIZE, "[] 7");
	says(ARRAY(", dynamic_size = true") "f = TensorArrayScatterV3(h, [0, 5], f32([1, 2]), f)\n" SIZE, "[] 6");
	refuses("h, f = TensorArrayV3(-1, dtype = f32)\n" SIZE, "size is -1, expected at least 0");
}

static void elements_are_of_one_type_and_of_the_shape_that_was_declared(void **state)
{
	(void)state;
	refuses(ARRAY("") "f = TensorArrayWriteV3(h, 0, 1, f)\n" SIZE, "the array contains f32, expected i32");
	refuses(ARRAY("") "y = TensorArrayReadV3(h, 0, f, dtype = i32)\n", "the array contains f32, expected i32");
	refuses(ARRAY(", element_shape = [2]") WRITE("0", "[1]") SIZE, "elements have shape [2], expected [1]");
	refuses(ARRAY(", identical_element_shapes = true") WRITE("0", "[1]") WRITE("1", "[1, 2]") SIZE,
		"element 1 is [2], expected [1]");
	refuses(ARRAY("") WRITE("0", "[1]") WRITE("1", "[1, 2]") GATHER("[0, 1]", ""), "cannot stack elements [1] and [2]");
}

static void rows_are_gathered_and_scattered(void **state)
{
	(void)state;
	const char *scatter =
		ARRAY("") "f = TensorArrayScatterV3(h, [2, 0], f32([[1, 2], [3, 4]]), f)\n" GATHER("[0, 2]", "");
	says(scatter, "[2,2] 3 4 1 2");
	says(ARRAY("") GATHER("i32([])", ", element_shape = [4]"), "[0,4]");
	says(ARRAY("") "f = TensorArrayScatterV3(h, i32([]), Fill([0, 2], f32(1)), f)\n" GATHER("i32([])", ""), "[0,2]");
	refuses(ARRAY("") GATHER("i32([])", ""), "is empty, and its elements' shape [...] is unknown");
	refuses(ARRAY("") "f = TensorArrayScatterV3(h, [1], f32([1, 2]), f)\n" SIZE,
		"1 indices, expected one for each row of [2]");
	refuses(ARRAY("") "f = TensorArrayScatterV3(h, [1], f32(1), f)\n" SIZE, "input 2 is a scalar, expected rows");
	refuses(ARRAY("") WRITE("0", "[1, 2]") GATHER("[0]", ", element_shape = [4]"), "element 0 is [2], expected [4]");
}

#define SPLIT(lengths) "f = TensorArraySplitV3(h, f32([1, 2, 3, 4]), i64(" lengths "), f)\n"
#define CONCAT(attributes) "y, lengths = TensorArrayConcatV3(h, f, dtype = f32" attributes ")\n"

static void parts_are_split_and_joined(void **state)
{
	(void)state;
	says(ARRAY("") SPLIT("[1, 0, 3]") CONCAT(""), "[4] 1 2 3 4");
	says(ARRAY("") SPLIT("[1, 0, 3]") "v, n = TensorArrayConcatV3(h, f, dtype = f32)\ny = Identity(n)\n", "[3] 1 0 3");
	says(ARRAY(", dynamic_size = true") SPLIT("[1, 1, 1, 1]") SIZE, "[] 4");
	says("h, f = TensorArrayV3(0, dtype = f32)\n" CONCAT(", element_shape_except0 = [2]"), "[0,2]");
	refuses("h, f = TensorArrayV3(0, dtype = f32)\n" CONCAT(""),
		"tensor array 'h' is empty, and its elements' shape [...] is unknown");
	refuses(ARRAY("") SPLIT("[1, 3]") SIZE, "tensor array 'h' has 3 elements, not 2");
	refuses(ARRAY("") SPLIT("[1, 1, 1]") SIZE, "the lengths add up to 3, but the value has 4 rows");
	refuses(ARRAY("") SPLIT("[-1, 4, 1]") SIZE, "lengths[0] is -1, expected at least 0");
	refuses("h, f = TensorArrayV3(2, dtype = f32)\n" WRITE("0", "1") WRITE("1", "[2]") CONCAT(""), "is a scalar");
	refuses(
		"h, f = TensorArrayV3(2, dtype = f32)\n" WRITE("0", "[1]") WRITE("1", "[[2]]") CONCAT(""), "cannot be joined");
}

#define GRADIENT(source) "g, f = TensorArrayGradV3(h, f, source = \"" source "\")\n"
#define ADD(index, value) "f = TensorArrayWriteV3(g, " index ", f32(" value "), f)\n"
#define TOTAL(index) "y = TensorArrayReadV3(g, " index ", f, dtype = f32)\n"

static void what_is_written_to_a_gradient_array_adds_up(void **state)
{
	(void)state;
	says(ARRAY("") WRITE("0", "[1, 2]") GRADIENT("s") ADD("0", "[1, 1]") ADD("0", "[5, 6]") TOTAL("0"), "[2] 6 7");
	says(ARRAY("") WRITE("0", "[1, 2]") GRADIENT("s") TOTAL("0"), "[2] 0 0");
	refuses(ARRAY("") WRITE("0", "[1, 2]") GRADIENT("s") TOTAL("1"), "'h@s': element 1 was never written");
	refuses(ARRAY("") WRITE("0", "[1, 2]") GRADIENT("s") ADD("0", "[1]") TOTAL("0"), "element 0 is [1], expected [2]");
	refuses(ARRAY("") GRADIENT("s") ADD("0", "[1]") ADD("0", "[1, 2]") TOTAL("0"), "element 0 is [2], expected [1]");
	refuses(ARRAY("") WRITE("0", "1") GRADIENT("s") "v = TensorArrayReadV3(g, 0, f, dtype = f32)\n"
													"f = TensorArrayWriteV3(g, 0, v, f)\n" TOTAL("0"),
		"which has been read");
	says(ARRAY(", element_shape = [2]") "g, f = TensorArrayGradWithShape(h, f, [3], source = \"s\")\n" TOTAL("0"),
		"[3,2] 0 0 0 0 0 0");
}

/* In f32 the order of the terms shows. */
static void a_sum_does_not_depend_on_the_order_of_its_terms(void **state)
{
	(void)state;
	says(ARRAY("") WRITE("0", "0") GRADIENT("s")
			 "a = TensorArrayWriteV3(g, 0, f32(1e8), f)\nb = TensorArrayWriteV3(g, 0, f32(3), f)\n"
			 "c = TensorArrayWriteV3(g, 0, f32(-1e8), f)\nd = TensorArrayWriteV3(g, 0, f32(5), f)\n"
			 "y = TensorArrayReadV3(g, 0, AddN([a, b, c, d]), dtype = f32)\n",
		"[] 8");
}

static void gradients_of_two_sources_do_not_mix(void **state)
{
	(void)state;
	const char *both = ARRAY("") WRITE("0", "1") GRADIENT("s") ADD("0", "2")
		"k, f = TensorArrayGradV3(h, f, source = \"t\")\nf = TensorArrayWriteV3(k, 0, f32(30), f)\n"
		"again, f = TensorArrayGradV3(h, f, source = \"s\")\n"
		"a = TensorArrayReadV3(again, 0, f, dtype = f32)\nb = TensorArrayReadV3(k, 0, f, dtype = f32)\n"
		"y = Pack([a, b])\n";
	says(both, "[2] 2 30");
}

static void an_array_that_has_a_gradient_grows_no_more(void **state)
{
	(void)state;
	refuses(ARRAY(", dynamic_size = true") GRADIENT("s") WRITE("3", "1") SIZE, "has no element 3");
}

#define ARRAYS(name) name ", " name "f = TensorArrayV3(1, dtype = resource)\n"
#define HOLD(outer, inner) outer "f = TensorArrayWriteV3(" outer ", 0, " inner ", " outer "f)\n"

static void arrays_hold_arrays_but_none_itself(void **state)
{
	(void)state;
	const char *nested = ARRAY("") WRITE("0", "7") ARRAYS("a") HOLD("a", "h") ARRAYS("b") "after f, af { " HOLD("b", "a") " }\n"
		"c = TensorArrayReadV3(b, 0, bf, dtype = resource)\nd = TensorArrayReadV3(c, 0, bf, dtype = resource)\n"
		"y = TensorArrayReadV3(d, 0, bf, dtype = f32)\n";
	says(nested, "[] 7");
	refuses(ARRAYS("a") HOLD("a", "a") "y = Identity(af)\n", "a tensor array cannot contain a tensor array");
	refuses(ARRAYS("a") ARRAYS("b") HOLD("a", "b") "after af { " HOLD("b", "a") " }\ny = Identity(bf)\n",
		"a tensor array cannot contain a tensor array");
	refuses(ARRAYS("a") "g, gf = TensorArrayGradV3(a, af, source = \"s\")\n" HOLD("g", "a") "y = Identity(gf)\n",
		"a tensor array cannot contain a tensor array");
}

static void a_closed_array_is_of_no_use(void **state)
{
	(void)state;
	refuses(ARRAY("") "c = TensorArrayCloseV3(h)\nafter c { y = TensorArraySizeV3(h, f) }\n", "is closed");
}

static void a_handle_must_be_of_an_array(void **state)
{
	(void)state;
	refuses("h = StackV2(-1, elem_type = f32)\ny = TensorArraySizeV3(h, 0.0)\n",
		"input 0 is a stack, expected a tensor array");
	refuses("h, f = TensorArrayV3(1, dtype = f32)\ny = StackPopV2(h, elem_type = f32)\n",
		"input 0 is a tensor array, expected a stack");
	refuses("h, f = TensorArrayV3(1, dtype = resource)\nf = TensorArrayWriteV3(h, 0, h, f)\n" SIZE,
		"a tensor array cannot contain a tensor array");
}

#define X_ARRAY(attributes) "h, f = TensorArrayV3(4, dtype = f64" attributes ")\n"
#define UNSTACK "f = TensorArrayScatterV3(h, [0, 1, 2, 3], x * x * x, f)\n"
#define X_READ(name, index) name " = TensorArrayReadV3(h, " index ", f, dtype = f64)\n"

static void derivatives_are_those_of_differences(void **state)
{
	(void)state;
	differentiates(X_ARRAY("") UNSTACK X_READ("a", "2") X_READ("b", "0") "y = a * a * b");
	differentiates(X_ARRAY(", clear_after_read = false") UNSTACK X_READ("a", "2") X_READ("b", "2")
			X_READ("c", "2") "y = a * b * b * c");
	differentiates(X_ARRAY("") UNSTACK "y = Sum(Square(TensorArrayGatherV3(h, [3, 1], f, dtype = f64)), [0])");
	differentiates(X_ARRAY(", clear_after_read = false") UNSTACK
		"y = Sum(Square(TensorArrayGatherV3(h, [3, 1, 3], f, dtype = f64)), [0])");
	differentiates("a, b, c, d = Unpack(x, num = 4)\n" X_ARRAY(
		"") "f = TensorArrayWriteV3(h, 0, a * b, f)\nf = TensorArrayWriteV3(h, 1, c * c * c, f)\n"
			"f = TensorArrayWriteV3(h, 3, d, f)\n" X_READ("p", "0") X_READ("q", "1") "y = p * q * p");
	differentiates(
		"h, f = TensorArrayV3(3, dtype = f64)\nf = TensorArraySplitV3(h, x * x, i64([1, 0, 3]), f)\n"
		"v = TensorArrayReadV3(h, 2, f, dtype = f64)\ny = Sum(v * v, [0])");
	differentiates(
		"h, f = TensorArrayV3(2, dtype = f64)\nf = TensorArrayWriteV3(h, 0, x * x, f)\n"
		"f = TensorArrayWriteV3(h, 1, x, f)\nv, n = TensorArrayConcatV3(h, f, dtype = f64)\n"
		"y = Sum(v * v * v, [0])");
}

/*
 * y = a^2 (a^2 + b^2 + c^2), whose element 0 is read in each iteration and twice in the first. The sums of its slopes:
 * 4a^3 + 2a(b^2 + c^2) + 2a^2(b + c), and of second derivatives 16a^2 + 2b^2 + 2c^2 + 8a(b + c).
 */
static void what_is_read_often_has_derivatives_of_any_order(void **state)
{
	(void)state;
	const char *text =
		"x = f64([1, 2, 3])\n"
		"h, f = TensorArrayV3(3, dtype = f64, clear_after_read = false, element_shape = [])\n"
		"f = TensorArrayScatterV3(h, [0, 1, 2], x * x, f)\n"
		"total = loop (s = f64(0)) for i in 0..3 {\n"
		"next s + TensorArrayReadV3(h, 0, f, dtype = f64) * TensorArrayReadV3(h, i, f, dtype = f64)\n}\n"
		"slope = grad(total, x)\nsecond = grad(Sum(slope, [0]), x)\nthird = grad(Sum(second, [0]), x)\n"
		"y = Pack([slope, second, third])\n";
	says(text, "[3,3] 30 4 6 58 10 14 72 16 20");
}

/* One array is read into the next, and a flow that nobody reads has no derivative. */
static void derivatives_go_from_array_to_array(void **state)
{
	(void)state;
	differentiates(X_ARRAY("") UNSTACK X_READ("a",
		"1") "k, e = TensorArrayV3(1, dtype = f64)\n"
			 "e = TensorArrayWriteV3(k, 0, a * a, e)\nb = TensorArrayReadV3(k, 0, e, dtype = f64)\n" X_READ(
				 "c", "0") "y = b * c");
}

static void rows_of_nothing_have_a_derivative(void **state)
{
	(void)state;
	says(
		"x = Fill([0, 3], f64(1))\nh, f = TensorArrayV3(0, dtype = f64)\n"
		"f = TensorArrayScatterV3(h, i32([]), x, f)\nv = TensorArrayGatherV3(h, i32([]), f, dtype = f64)\n"
		"y = grad(Sum(v, [0, 1]), x)\n",
		"[0,3]");
}

/* Memory that the program holds. */
static struct dfg_mem_limit limit;

static const char text_of_a_step[] =
	X_ARRAY("") "x = f64([1, 2, 3, 4])\n" UNSTACK X_READ("a", "2") "y = grad(a * a, x)\n"
								   "bad = TensorArrayReadV3(h, 2, TensorArrayWriteV3(h, 2, a, f), dtype = f64)\n"
								   "s = StackV2(-1, elem_type = resource)\nt = StackPushV2(s, h)\n"
								   "u = StackPushV2(s, Identity(h))\n"
	"d, e = TensorArrayV3(0, dtype = f64, dynamic_size = true, clear_after_read = false)\n"
	"e = TensorArraySplitV3(d, x, i64([1, 3]), e)\nparts, n = TensorArrayConcatV3(d, e, dtype = f64)\n"
	"g, e = TensorArrayGradV3(d, e, source = \"s\")\n"
	"e = AddN([TensorArrayWriteV3(g, 1, f64([1, 2, 3]), e), TensorArrayWriteV3(g, 1, f64([4, 5, 6]), e),\n"
	"\tTensorArrayWriteV3(g, 1, f64([7, 8, 9]), e)])\n"
	"all = ConcatV2([y, parts, TensorArrayReadV3(g, 1, e, dtype = f64)], 0)\n";

static void nothing_is_alive_after_a_step(void **state)
{
	(void)state;
	size_t before = 0; /* what is kept for good, such as parsed declarations */
	for (int variant = 0; variant < PROGRAM_VARIANTS; variant++) {
		struct dfg_session_options options = program_variant(variant);
		struct program program;
		size_t held = 0;
		succeeds(program_begin(&program, text_of_a_step, &options));
		for (int time = 0; time < 20; time++) {
			struct dfg_tensor y;
			succeeds(program_run(&program, "y", NULL, &y));
			dfg_tensor_release(&y);
			fails(program_run(&program, "bad", NULL, &y), DFG_DATA, "tensor array 'h'");
			succeeds(program_run(&program, "u", NULL, &y));
			dfg_tensor_release(&y);
			if (time == 2)
				held = atomic_load(&limit.used);
		}
		assert_int_equal(atomic_load(&limit.used), held);
		program_end(&program);
		if (variant)
			assert_int_equal(atomic_load(&limit.used), before);
		before = atomic_load(&limit.used);
	}
}

/* Whichever allocation of a step fails, the step says so or does without, and leaves nothing behind. */
static void any_allocation_may_fail(void **state)
{
	(void)state;
	struct dfg_session_options options = program_variant(3);
	struct dfg_mem_failing failing;
	long failed = 0;
	for (long left = 0; left < 400; left++) {
		struct program program;
		struct dfg_tensor y = {0};
		succeeds(program_begin(&program, text_of_a_step, &options));
		succeeds(program_run(&program, "y", NULL, &y));
		dfg_tensor_release(&y);
		dfg_mem_failing_init(&failing, &limit.base, left, false);
		dfg_mem = &failing.base;
		struct dfg_err *err = program_run(&program, "all", NULL, &y);
		dfg_mem = &limit.base;
		if (err && err->code != DFG_MEMORY)
			fail_msg("%s", err->text);
		failed += err != NULL;
		dfg_err_free(err);
		dfg_tensor_release(&y);
		succeeds(program_run(&program, "y", NULL, &y));
		dfg_tensor_release(&y);
		program_end(&program);
	}
	assert_true(failed > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_alive_after_a_step),
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(elements_are_what_was_written),
		cmocka_unit_test(an_element_is_written_once),
		cmocka_unit_test(an_element_that_was_read_is_not_written),
		cmocka_unit_test(an_element_that_was_never_written_is_zeros_if_its_shape_is_known),
		cmocka_unit_test(reading_clears_unless_it_must_not),
		cmocka_unit_test(indices_are_in_the_array_or_make_it_grow),
		cmocka_unit_test(elements_are_of_one_type_and_of_the_shape_that_was_declared),
		cmocka_unit_test(rows_are_gathered_and_scattered),
		cmocka_unit_test(parts_are_split_and_joined),
		cmocka_unit_test(what_is_written_to_a_gradient_array_adds_up),
		cmocka_unit_test(a_sum_does_not_depend_on_the_order_of_its_terms),
		cmocka_unit_test(gradients_of_two_sources_do_not_mix),
		cmocka_unit_test(an_array_that_has_a_gradient_grows_no_more),
		cmocka_unit_test(arrays_hold_arrays_but_none_itself),
		cmocka_unit_test(a_closed_array_is_of_no_use),
		cmocka_unit_test(a_handle_must_be_of_an_array),
		cmocka_unit_test(derivatives_are_those_of_differences),
		cmocka_unit_test(what_is_read_often_has_derivatives_of_any_order),
		cmocka_unit_test(derivatives_go_from_array_to_array),
		cmocka_unit_test(rows_of_nothing_have_a_derivative),
	};
	dfg_mem_limit_init(&limit, dfg_mem, SIZE_MAX / 2);
	dfg_mem = &limit.base;
	return cmocka_run_group_tests_name("tensor arrays", tests, NULL, NULL);
}
