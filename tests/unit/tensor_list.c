#include "tests/unit/program.h"

/* Lists of tensors, optionals, and stacks. */

#define EMPTY(shape) "l = EmptyTensorList(" shape ", -1, element_dtype = f32)\n"
#define RESERVE(shape) "l = TensorListReserve(" shape ", 3, element_dtype = f32)\n"
#define PUSH(value) "l = TensorListPushBack(l, f32(" value "))\n"
#define SET(index, value) "l = TensorListSetItem(l, " index ", f32(" value "))\n"
#define GET(index, shape) "y = TensorListGetItem(l, " index ", " shape ", element_dtype = f32)\n"
#define STACK "y = TensorListStack(l, -1, element_dtype = f32)\n"
#define LENGTH "y = TensorListLength(l)\n"

static void what_is_pushed_is_there(void **state)
{
	(void)state;
	says(EMPTY("i32([])") PUSH("1") PUSH("2") STACK, "[2] 1 2");
	says(EMPTY("[2]") PUSH("[1, 2]") LENGTH, "[] 1");
	says(EMPTY("-1") PUSH("[1]") PUSH("[2, 3]") GET("1", "-1"), "[2] 2 3");
	says(
		"l = EmptyTensorList(i32([]), -1, element_dtype = string)\nl = TensorListPushBack(l, \"a\")\n"
		"l = TensorListPushBack(l, \"bc\")\ny = TensorListStack(l, -1, element_dtype = string)\n",
		"[2] a bc");
	refuses("l = EmptyTensorList(i32([]), 1, element_dtype = f32)\n" PUSH("1") PUSH("2") LENGTH,
		"the list is full: its max_num_elements is 1");
	refuses(EMPTY("[2]") PUSH("[1]") LENGTH, "elements have shape [2], expected [1]");
	refuses(EMPTY("i32([])") "l = TensorListPushBack(l, 1)\n" LENGTH, "the list contains f32, expected i32");
}

static void what_was_popped_is_gone(void **state)
{
	(void)state;
	const char *pop = EMPTY("i32([])") PUSH("1") PUSH("2") PUSH("3")
		"l, a = TensorListPopBack(l, -1, element_dtype = f32)\nl, b = TensorListPopBack(l, -1, element_dtype = f32)\n"
		PUSH("9") "y = ConcatV2([TensorListStack(l, -1, element_dtype = f32), Pack([a, b])], 0)\n";
	says(pop, "[4] 1 9 3 2");
	refuses(EMPTY("i32([])") "l, a = TensorListPopBack(l, -1, element_dtype = f32)\ny = Identity(a)\n",
		"cannot pop from an empty list");
}

/* Every list keeps its elements whatever becomes of those it shares them with. */
static void lists_are_values(void **state)
{
	(void)state;
	const char *text = EMPTY("i32([])") PUSH("1") PUSH("2")
		"a = TensorListPushBack(l, f32(3))\nb = TensorListPushBack(l, f32(4))\nc = TensorListSetItem(a, 0, f32(5))\n"
		"d, last = TensorListPopBack(b, -1, element_dtype = f32)\ne = TensorListPushBack(d, f32(6))\n"
		"y = ConcatV2([TensorListStack(l, -1, element_dtype = f32), TensorListStack(a, -1, element_dtype = f32),\n"
		"\tTensorListStack(b, -1, element_dtype = f32), TensorListStack(c, -1, element_dtype = f32),\n"
		"\tTensorListStack(e, -1, element_dtype = f32)], 0)\n";
	says(text, "[14] 1 2 1 2 3 1 2 4 5 2 3 1 2 6");
}

static void an_element_that_was_never_set_is_zeros_if_its_shape_is_known(void **state)
{
	(void)state;
	says(RESERVE("[2]") GET("1", "-1"), "[2] 0 0");
	says(RESERVE("-1") GET("1", "[2]"), "[2] 0 0");
	says(RESERVE("-1") SET("0", "[1, 2]") GET("1", "-1"), "[2] 0 0");
	says(RESERVE("-1") SET("1", "[1, 2]") STACK, "[3,2] 0 0 1 2 0 0");
	refuses(RESERVE("-1") GET("1", "-1"), "is not set, and its shape [...] is unknown");
	refuses(RESERVE("[-1]") GET("1", "[-1]"), "an element of the list is not set, and its shape [?] is unknown");
	refuses(RESERVE("-1") STACK, "is not set, and its shape [...] is unknown");
	refuses(EMPTY("-1") STACK, "is not set, and its shape [...] is unknown");
	says(EMPTY("[2]") STACK, "[0,2]");
	says("y = TensorListGetItem(TensorListReserve([2], 1, element_dtype = bool), 0, -1, element_dtype = bool)\n",
		"[2] 0 0");
}

static void indices_are_in_the_list(void **state)
{
	(void)state;
	refuses(RESERVE("i32([])") GET("3", "-1"), "index 3 is outside [0,3)");
	refuses(RESERVE("i32([])") GET("-1", "-1"), "index -1 is outside");
	refuses(RESERVE("i32([])") SET("3", "1") LENGTH, "index 3 is outside [0,3)");
	says(RESERVE("i32([])") "l = TensorListSetItem(l, 4, f32(1), resize_if_index_out_of_bounds = true)\n" STACK,
		"[5] 0 0 0 0 1");
	says(EMPTY("i32([])") PUSH("1") "l = TensorListResize(l, 3)\n" STACK, "[3] 1 0 0");
	says(EMPTY("i32([])") PUSH("1") PUSH("2") "l = TensorListResize(l, 1)\n" PUSH("3") STACK, "[2] 1 3");
	refuses(EMPTY("i32([])") "l = TensorListResize(l, -1)\n" LENGTH, "number of elements is -1");
	refuses(
		"y = TensorListStack(TensorListReserve(i32([]), 3, element_dtype = f32), -1, element_dtype = f32, num_elements "
		"= 2)\n",
		"the list has 3 elements, expected 2");
}

static void a_list_tells_the_shape_of_its_elements(void **state)
{
	(void)state;
	says(EMPTY("-1") "y = TensorListElementShape(l, shape_type = i32)\n", "[] -1");
	says(EMPTY("[2, -1]") "y = TensorListElementShape(l, shape_type = i64)\n", "[2] 2 -1");
}

#define ROWS "l = TensorListFromTensor(f32([[1, 2], [3, 4], [5, 6]]), -1)\n"

static void rows_become_lists_and_lists_rows(void **state)
{
	(void)state;
	says(ROWS STACK, "[3,2] 1 2 3 4 5 6");
	says(ROWS "y = TensorListGather(l, [2, 2, 0], -1, element_dtype = f32)\n", "[3,2] 5 6 5 6 1 2");
	says(ROWS "y = TensorListGather(l, i32([]), [2], element_dtype = f32)\n", "[0,2]");
	says("l = TensorListScatter(f32([1, 2]), [2, 0], i32([]))\n" STACK, "[3] 2 0 1");
	says("l = TensorListScatterV2(f32([1, 2]), [2, 0], i32([]), 4)\n" STACK, "[4] 2 0 1 0");
	says("l = TensorListScatterV2(f32([1, 2]), [0, 0], i32([]), -1)\n" STACK, "[1] 2");
	says(RESERVE("i32([])") SET("0", "9") "l = TensorListScatterIntoExistingList(l, f32([1, 2]), [3, 1])\n" STACK,
		"[4] 9 2 0 1");
	refuses("l = TensorListScatterV2(f32([1, 2]), [2, 0], i32([]), 2)\n" LENGTH, "index 2 is outside [0,2)");
	refuses("l = TensorListScatterV2(f32([1, 2]), [-1, 0], i32([]), 2)\n" LENGTH, "index -1 is outside");
	refuses("l = TensorListScatter(f32([1, 2]), [1], i32([]))\n" LENGTH, "1 indices, expected one for each row of [2]");
	refuses("l = TensorListFromTensor(f32(1), -1)\n" LENGTH, "input 0 is a scalar, expected rows");
	refuses(ROWS "y = TensorListGather(l, [3], -1, element_dtype = f32)\n", "index 3 is outside [0,3)");
}

#define PARTS(lengths) "l = TensorListSplit(f32([1, 2, 3]), [-1], i64(" lengths "))\n"
#define CONCAT "y, n = TensorListConcat(l, element_dtype = f32)\n"

static void parts_are_split_and_joined(void **state)
{
	(void)state;
	says(PARTS("[1, 0, 2]") CONCAT, "[3] 1 2 3");
	says(PARTS("[1, 0, 2]") "t, n = TensorListConcat(l, element_dtype = f32)\ny = Identity(n)\n", "[3] 1 0 2");
	says("l = TensorListReserve([-1], 2, element_dtype = f32)\n" SET(
			 "0", "[1, 2]") "y, n = TensorListConcatV2(l, [-1], i64([2, 3]), element_dtype = f32)\n",
		"[5] 1 2 0 0 0");
	says("l = TensorListReserve([-1], 2, element_dtype = f32)\n" SET("0", "[1, 2]") CONCAT, "[4] 1 2 0 0");
	says(EMPTY("[-1, 3]") CONCAT, "[0,3]");
	refuses(EMPTY("-1") CONCAT, "the list is empty, and its elements' shape [...] is unknown");
	refuses(PARTS("[1, 1]") LENGTH, "lengths add up to 2, expected the rows of [3]");
	refuses(PARTS("[1, 5]") LENGTH, "lengths[1] is 5, expected 0 to 2, the rows that are left");
	refuses(PARTS("[-1, 4]") LENGTH, "lengths[0] is -1, expected 0 to 3, the rows that are left");
	refuses(EMPTY("-1") PUSH("1") CONCAT, "is a scalar");
	says(EMPTY("i32([])") PUSH("1") "k = TensorListPushBack(l, f32(2))\n"
									"l = TensorListConcatLists(l, k, element_dtype = f32)\n" STACK,
		"[3] 1 1 2");
	says(EMPTY("i32([])") PUSH("1") "k = EmptyTensorList(i32([]), -1, element_dtype = f32)\n"
									"both = TensorListPushBackBatch(Pack([l, k]), f32([3, 4]))\n"
									"y = TensorListStack(Squeeze(Slice(both, [0], [1])), -1, element_dtype = f32)\n",
		"[2] 1 3");
}

static void lists_add_up_and_have_zeros(void **state)
{
	(void)state;
	says(EMPTY("i32([])") PUSH("1") "k = TensorListSetItem(l, 0, f32(4))\nl = AddN([l, k, l])\n" STACK, "[1] 6");
	says(RESERVE("i32([])") "k = TensorListSetItem(l, 1, f32(4))\n" SET("0", "3") "l = AddN([l, k])\n" STACK,
		"[3] 3 4 0");
	says(EMPTY("i32([])") PUSH("5") "l = ZerosLike(l)\n" STACK, "[1] 0");
	refuses(EMPTY("i32([])") "k = TensorListPushBack(l, f32(1))\nl = AddN([l, k])\n" LENGTH,
		"cannot add lists of 0 f32 and 1 f32 elements");
	says(EMPTY("i32([])") PUSH("5") "k = TensorListPushBack(l, f32(1))\nl = Select(true, l, k)\n" STACK, "[1] 5");
}

/* A list with one element set is kept as that element: it must not show. */
static void a_list_of_one_element_is_like_any_other(void **state)
{
	(void)state;
#define ONE RESERVE("i32([])") SET("1", "5")
	says(ONE STACK, "[3] 0 5 0");
	says(ONE SET("1", "6") STACK, "[3] 0 6 0");
	says(ONE SET("2", "6") STACK, "[3] 0 5 6");
	says(ONE PUSH("7") STACK, "[4] 0 5 0 7");
	says(ONE "l = TensorListResize(l, 1)\n" STACK, "[1] 0");
	says(ONE "l = TensorListResize(l, 4)\n" STACK, "[4] 0 5 0 0");
	says(ONE
		"l, a = TensorListPopBack(l, -1, element_dtype = f32)\nl, b = TensorListPopBack(l, -1, element_dtype = f32)\n"
		"y = ConcatV2([TensorListStack(l, -1, element_dtype = f32), Pack([a, b])], 0)\n",
		"[3] 0 0 5");
	says(ONE
		"k = TensorListSetItem(l, 0, f32(1))\nm = TensorListSetItem(l, 1, f32(2))\n"
		"y = TensorListStack(AddN([l, m, k, l]), -1, element_dtype = f32)\n",
		"[3] 1 17 0");
	says(ONE "y = TensorListStack(ZerosLike(l), -1, element_dtype = f32)\n", "[3] 0 0 0");
	says(ONE "k = TensorListFromTensor(f32([1, 2, 3]), -1)\nl = AddN([k, l, k])\n" STACK, "[3] 2 9 6");
}

static void lists_hold_lists(void **state)
{
	(void)state;
	const char *nested = EMPTY("i32([])") PUSH("1")
		"o = EmptyTensorList(i32([]), -1, element_dtype = variant)\no = TensorListPushBack(o, l)\no = TensorListPushBack(o, l)\n";
	char text[1000];
	snprintf(text, sizeof text, "%s%s", nested,
		"l = TensorListGetItem(AddN([o, o]), 1, i32([]), element_dtype = variant)\n" STACK);
	says(text, "[1] 2");
	snprintf(text, sizeof text, "%s%s", nested,
		"l = TensorListGetItem(ZerosLike(o), 1, i32([]), element_dtype = variant)\n" STACK);
	says(text, "[1] 0");
	refuses(
		"o = TensorListReserve(i32([]), 1, element_dtype = variant)\n"
		"y = TensorListLength(TensorListGetItem(o, 0, i32([]), element_dtype = variant))\n",
		"input 0 refers to no object, expected a list");
}

/* Lists in each other are given back one inside the other: there is an end to how deep. */
static void lists_are_not_bottomless(void **state)
{
	(void)state;
	static char text[200000];
	size_t at = (size_t)snprintf(text, sizeof text, "l0 = EmptyTensorList(-1, -1, element_dtype = variant)\n");
	for (int i = 0; i < 1100; i++)
		at += (size_t)snprintf(text + at, sizeof text - at,
			"l%d = TensorListPushBack(EmptyTensorList(-1, -1, element_dtype = variant), l%d)\n", i + 1, i);
	snprintf(text + at, sizeof text - at, "y = TensorListLength(l1100)\n");
	refuses(text, "lists are nested more than 1000 deep");
}

static void optionals_hold_values_or_nothing(void **state)
{
	(void)state;
	says(
		"o = OptionalFromValue([f32([1, 2]), 7])\na, b = OptionalGetValue(o, output_types = [f32, i32], output_shapes "
		"= [[2], []])\ny = Identity(b)\n",
		"[] 7");
	says("y = OptionalHasValue(OptionalNone())\n", "[] 0");
	says("y = OptionalHasValue(OptionalFromValue([1]))\n", "[] 1");
	says(
		"o = OptionalFromValue([f32(2)])\nv = OptionalGetValue(AddN([o, o, ZerosLike(o)]), output_types = [f32], "
		"output_shapes = [[]])\ny = Identity(v[0])\n",
		"[] 4");
	refuses("v = OptionalGetValue(OptionalNone(), output_types = [f32], output_shapes = [[]])\ny = Identity(v[0])\n",
		"the optional is empty");
	refuses(
		"v = OptionalGetValue(OptionalFromValue([1]), output_types = [f32], output_shapes = [[]])\ny = "
		"Identity(v[0])\n",
		"value 0 of the optional is i32[]");
	refuses(
		"v = OptionalGetValue(OptionalFromValue([f32(1)]), output_types = [f32], output_shapes = [[2]])\ny = "
		"Identity(v[0])\n",
		"value 0 of the optional is f32[]");
	refuses(
		"a, b = OptionalGetValue(OptionalFromValue([1]), output_types = [i32, i32], output_shapes = [[], []])\ny = "
		"Identity(b)\n",
		"the optional has 1 values, expected 2");
	refuses("y = OptionalHasValue(AddN([OptionalNone(), OptionalFromValue([1])]))\n",
		"cannot add optionals of -1 and 1 values");
}

static void stacks_give_back_in_turn(void **state)
{
	(void)state;
	const char *text =
		"s = StackV2(-1, elem_type = f32)\na = StackPushV2(s, f32([1, 2]))\nafter a { b = StackPushV2(s, f32(3)) }\n"
		"after b { c = StackPopV2(s, elem_type = f32) }\nafter c { y = StackPopV2(s, elem_type = f32) }\n";
	says(text, "[2] 1 2");
	refuses("s = StackV2(-1, elem_type = f32)\ny = StackPopV2(s, elem_type = f32)\n", "stack 's' is empty");
	refuses("s = StackV2(-1, elem_type = f32)\ny = StackPushV2(s, 1)\n",
		"StackPushV2: the stack contains f32, expected i32");
	refuses("s = StackV2(0, elem_type = f32)\ny = StackPushV2(s, f32(1))\n", "stack 's' is full: its max_size is 0");
	refuses("s = StackV2(0, elem_type = resource)\ny = StackPushV2(s, s)\n", "a stack cannot contain a stack");
}

#define X_LIST "l = TensorListFromTensor(x * x * x, i32([]))\n"
#define X_GET(name, index) name " = TensorListGetItem(l, " index ", i32([]), element_dtype = f64)\n"

static void derivatives_are_those_of_differences(void **state)
{
	(void)state;
	differentiates(X_LIST X_GET("a", "2") X_GET("b", "0") "y = a * a * b");
	differentiates(X_LIST "v = TensorListStack(l, i32([]), element_dtype = f64)\ny = Sum(v * v, [0])");
	differentiates(X_LIST
		"l = TensorListSetItem(l, 1, Sum(x * x, [0]))\nv = TensorListStack(l, i32([]), element_dtype = f64)\ny = Sum(v "
		"* v, [0])");
	differentiates(X_LIST
		"l, a = TensorListPopBack(l, i32([]), element_dtype = f64)\nl, b = TensorListPopBack(l, i32([]), element_dtype "
		"= f64)\n"
		"v = TensorListStack(l, i32([]), element_dtype = f64)\ny = a * b * b * Sum(v * v, [0])");
	differentiates(X_LIST
		"l = TensorListPushBack(l, Sum(x * x, [0]))\nl, a = TensorListPopBack(l, i32([]), element_dtype = f64)\n" X_GET(
			"b", "3") "y = a * b * b");
	differentiates(X_LIST "y = Sum(Square(TensorListGather(l, [3, 1, 3], i32([]), element_dtype = f64)), [0])");
	differentiates(
		"l = TensorListScatterV2(x * x, [4, 0, 2, 1], i32([]), 6)\nv = TensorListStack(l, i32([]), element_dtype = "
		"f64)\ny = Sum(v * v, [0])");
	differentiates(X_LIST
		"l = TensorListScatterIntoExistingList(l, Square(Slice(x, [1], [2])), [0, 3])\n"
		"v = TensorListStack(l, i32([]), element_dtype = f64)\ny = Sum(v * v, [0])");
	differentiates(
		"l = TensorListSplit(x * x, [-1], i64([1, 0, 3]))\n"
		"v, n = TensorListConcat(l, element_dtype = f64)\ny = Sum(v * v * v, [0])");
	differentiates(X_LIST
		"l = TensorListResize(l, 6)\nl = TensorListSetItem(l, 5, Sum(x, [0]))\n"
		"v = TensorListStack(l, i32([]), element_dtype = f64)\ny = Sum(v * v, [0])");
	differentiates(X_LIST
		"o = EmptyTensorList(i32([]), -1, element_dtype = variant)\no = TensorListPushBack(o, l)\n"
		"l = TensorListGetItem(o, 0, i32([]), element_dtype = variant)\n" X_GET("a", "2")
			X_GET("b", "0") "y = a * a * b");
	differentiates(
		"o = OptionalFromValue([x * x, 3])\nv, n = OptionalGetValue(o, output_types = [f64, i32], output_shapes = "
		"[[4], []])\n"
		"y = Sum(v * v, [0])");
}

/* Memory that the program holds. */
static struct dfg_mem_limit limit;

static const char text_of_a_step[] =
	"x = f64([1, 2, 3, 4])\n" X_LIST X_GET("a", "2") "y = grad(a * a, x)\n"
					   "k = TensorListPushBack(TensorListPushBack(l, a), a)\n"
					   "bad = TensorListGetItem(TensorListSetItem(k, 2, a), 9, i32([]), element_dtype = f64)\n"
					   "o = OptionalFromValue([x, k])\nagain = ZerosLike(AddN([o, o]))\n"
	"v = OptionalGetValue(again, output_types = [f64, variant], output_shapes = [[4], []])\n"
	"w = TensorListPushBack(TensorListResize(TensorListScatterIntoExistingList(v[1], x, [0, 2, 3, 7]), 9), a)\n"
	"parts, n = TensorListConcat(TensorListSplit(x, [-1], i64([1, 3])), element_dtype = f64)\n"
	"s = StackV2(-1, elem_type = f64)\npushed = StackPushV2(s, x)\n"
	"all = ConcatV2([y, TensorListStack(w, -1, element_dtype = f64), parts, pushed, v[0]], 0)\n";

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
			fails(program_run(&program, "bad", NULL, &y), DFG_DATA, "index 9 is outside [0,6)");
			succeeds(program_run(&program, "again", NULL, &y));
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
	assert_true(failed > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_alive_after_a_step),
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(what_is_pushed_is_there),
		cmocka_unit_test(what_was_popped_is_gone),
		cmocka_unit_test(lists_are_values),
		cmocka_unit_test(an_element_that_was_never_set_is_zeros_if_its_shape_is_known),
		cmocka_unit_test(indices_are_in_the_list),
		cmocka_unit_test(a_list_tells_the_shape_of_its_elements),
		cmocka_unit_test(rows_become_lists_and_lists_rows),
		cmocka_unit_test(parts_are_split_and_joined),
		cmocka_unit_test(lists_add_up_and_have_zeros),
		cmocka_unit_test(a_list_of_one_element_is_like_any_other),
		cmocka_unit_test(lists_hold_lists),
		cmocka_unit_test(lists_are_not_bottomless),
		cmocka_unit_test(optionals_hold_values_or_nothing),
		cmocka_unit_test(stacks_give_back_in_turn),
		cmocka_unit_test(derivatives_are_those_of_differences),
	};
	dfg_mem_limit_init(&limit, dfg_mem, SIZE_MAX / 2);
	dfg_mem = &limit.base;
	return cmocka_run_group_tests_name("lists, optionals and stacks", tests, NULL, NULL);
}
