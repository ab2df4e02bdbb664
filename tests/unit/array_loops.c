#include "tests/unit/step.h"

#include "lib/base/mem.h"

/* Arrays and lists in loops, whose iterations overlap. */

#define LOOP(n, window)                                                                            \
	"n Number v=" #n                                                                               \
	"\n"                                                                                           \
	"zero Number v=0\n"                                                                            \
	"one Number v=1\n"                                                                             \
	"i_in Enter zero T=i32 frame_name='iterations' parallel_iterations=" #window                   \
	"\n"                                                                                           \
	"n_in Enter n T=i32 frame_name='iterations' is_constant=true parallel_iterations=" #window     \
	"\n"                                                                                           \
	"one_in Enter one T=i32 frame_name='iterations' is_constant=true parallel_iterations=" #window \
	"\n"                                                                                           \
	"i Merge i_in i_next T=i32 N=2\n"                                                              \
	"p Below i n_in\n"                                                                             \
	"go LoopCond p\n"                                                                              \
	"is Switch i go T=i32\n"                                                                       \
	"i_more Plus is:1 one_in T=i32\n"                                                              \
	"i_next NextIteration i_more T=i32\n"                                                          \
	"square Times is:1 is:1 T=i32\n"

/* A value of type T that goes through the loop: begins as `from`, and continues as `next`. */
#define CARRY(name, T, from, next, window)                                                                          \
	name "_in Enter " from " T=" T " frame_name='iterations' parallel_iterations=" #window "\n" name " Merge " name \
		 "_in " name "_next T=" T " N=2\n" name "s Switch " name " go T=" T "\n" name "_next NextIteration " next   \
		 " T=" T "\n" name "_out Exit " name "s T=" T "\n"

#define ENTER(name, T, from, window) \
	name " Enter " from " T=" T " frame_name='iterations' is_constant=true parallel_iterations=" #window "\n"

/* The squares are written, and read back one after the other; their sum is carried. */
#define WRITES(n, window)                                                       \
	LOOP(n, window)                                                             \
	"array TensorArrayV3 n dtype=i32\n" ENTER("h", "resource", "array", window) \
		CARRY("f", "f32", "array:1", "write", window) "write TensorArrayWriteV3 h is:1 square fs:1 T=i32\n"

static void iterations_write_and_others_read(void **state)
{
	(void)state;
#define SUMS(window)                                                                     \
	WRITES(100, window)                                                                  \
	CARRY("sum", "i32", "zero", "more", window)                                          \
	"read TensorArrayReadV3 h is:1 write dtype=i32\n" /* of what this iteration wrote */ \
	"more Plus sums:1 read T=i32\n"
	gives(SUMS(1), "", "sum_out", 328350);
	gives(SUMS(2), "", "sum_out", 328350);
	gives(SUMS(10), "", "sum_out", 328350);
	gives(SUMS(32), "", "sum_out", 328350);
}

static void what_a_loop_wrote_is_there_behind_it(void **state)
{
	(void)state;
	const char *graph = WRITES(50, 10) "at Number v=7\ny TensorArrayReadV3 array at f_out dtype=i32\n"
									   "size TensorArraySizeV3 array f_out\n";
	gives(graph, "", "y", 49);
	gives(graph, "", "size", 50);
}

/* The array has three elements, the loop four iterations. */
static void errors_tell_the_iteration(void **state)
{
	(void)state;
	const char *graph = LOOP(4, 10) "three Number v=3\narray TensorArrayV3 three dtype=i32\n" ENTER("h", "resource", "array", 10)
		CARRY("f", "f32", "array:1", "write", 10) "write TensorArrayWriteV3 h is:1 square fs:1 T=i32\n"
		"at Number v=1\ny TensorArrayReadV3 array at f_out dtype=i32\n";
	refuses(graph, "", "y",
		"node 'write' (TensorArrayWriteV3): in iteration 3 of loop 'iterations': tensor array 'array': has no element "
		"3");
}

/* An array of its own in each iteration: the last element of each, added up. */
static void each_iteration_may_make_an_array(void **state)
{
	(void)state;
	const char *graph = LOOP(20, 10) CARRY("sum", "i32", "zero", "more", 10)
		"array TensorArrayV3 i_more dtype=i32\n"
		"write TensorArrayWriteV3 array is:1 square array:1 T=i32\n"
		"read TensorArrayReadV3 array is:1 write dtype=i32\n"
		"more Plus sums:1 read T=i32\n";
	gives(graph, "", "sum_out", 2470);
}

#define LIST(n, window)                                                                       \
	LOOP(n, window)                                                                           \
	"any Number v=-1\nlist EmptyTensorList any any element_dtype=i32 shape_type=i32\n" CARRY( \
		"l", "variant", "list", "push", window) "push TensorListPushBack ls:1 square element_dtype=i32\n"

static void a_list_grows_in_a_loop(void **state)
{
	(void)state;
	const char *graph = LIST(60, 10) "at Number v=7\ny TensorListGetItem l_out at any element_dtype=i32 Tshape=i32\n"
									 "length TensorListLength l_out\n";
	gives(graph, "", "y", 49);
	gives(graph, "", "length", 60);
}

/* Pushes and pops, as forward and gradient loops have them, in one: the list stays short. */
static void a_list_grows_and_shrinks(void **state)
{
	(void)state;
	const char *graph = LOOP(40, 4) CARRY("sum", "i32", "zero", "more", 4) ENTER("any_in", "i32", "any", 4)
		"any Number v=-1\nlist EmptyTensorList any any element_dtype=i32 shape_type=i32\n" CARRY("l", "variant", "list", "pop", 4)
		"push TensorListPushBack ls:1 square element_dtype=i32\n"
		"pop TensorListPopBack push any_in element_dtype=i32\n"
		"more Plus sums:1 pop:1 T=i32\n"
		"length TensorListLength l_out\n";
	gives(graph, "", "sum_out", 20540);
	gives(graph, "", "length", 0);
}

/* As the gradient of reading a list in a loop: each iteration adds a list of which one element is set. */
#define ADDS(n)                       \
	LOOP(n, 10)                       \
	ENTER("any_in", "i32", "any", 10) \
	"any Number v=-1\nlist TensorListReserve any n element_dtype=i32 shape_type=i32\n" CARRY("l", "variant", "list", \
		"sum", 10) "none TensorListReserve any_in n_in element_dtype=i32 shape_type=i32\n"                           \
				   "single TensorListSetItem none is:1 square element_dtype=i32\n"                                   \
				   "sum AddN ls:1 single T=variant N=2\n"                                                            \
				   "at Number v=7\ny TensorListGetItem l_out at any element_dtype=i32 Tshape=i32\n"

static void lists_of_one_element_add_up(void **state)
{
	(void)state;
	gives(ADDS(60), "", "y", 49);
}

/* Counts what is asked of the allocator. */
static struct dfg_allocator *heap;
static size_t taken;

static void *count_take(struct dfg_allocator *self, size_t bytes, size_t align)
{
	(void)self;
	__atomic_fetch_add(&taken, bytes, __ATOMIC_RELAXED);
	return heap->take(heap, bytes, align);
}

static void count_drop(struct dfg_allocator *self, void *memory)
{
	(void)self;
	heap->drop(heap, memory);
}

static struct dfg_allocator counting = {.take = count_take, .drop = count_drop};

/* Bytes that the second step of a graph takes. */
static size_t bytes_taken(const char *graph, const char *fetch)
{
	struct steps steps;
	int32_t got;
	steps_begin(&steps, &(struct dfg_session_options){.threads = 1}, graph);
	succeeds(steps_run(&steps, "", fetch, &got));
	taken = 0;
	succeeds(steps_run(&steps, "", fetch, &got));
	size_t bytes = taken;
	steps_end(&steps);
	return bytes;
}

/* A push that copied the list would take 200 times the memory for ten times the iterations. */
static void a_push_onto_a_list_of_ones_own_copies_nothing(void **state)
{
	(void)state;
	size_t few = bytes_taken(LIST(300, 10) "length TensorListLength l_out\n", "length");
	size_t many = bytes_taken(LIST(3000, 10) "length TensorListLength l_out\n", "length");
	assert_in_range(many, 1, 20 * few);
}

/* The same where somebody looks at the list before each push: its elements are shared. */
static void a_push_onto_a_list_that_others_have_copies_nothing(void **state)
{
	(void)state;
#define LOOKED_AT(n)                                             \
	LIST(n, 10)                                                  \
	CARRY("sum", "i32", "zero", "more", 10)                      \
	"before TensorListLength l\nmore Plus sums:1 before T=i32\n" \
	"length TensorListLength l_out\nboth Plus length sum_out T=i32\n"
	size_t few = bytes_taken(LOOKED_AT(300), "both"), many = bytes_taken(LOOKED_AT(3000), "both");
	assert_in_range(many, 1, 20 * few);
}

static void adding_one_element_costs_no_more_than_that(void **state)
{
	(void)state;
	size_t few = bytes_taken(ADDS(300), "y"), many = bytes_taken(ADDS(3000), "y");
	assert_in_range(many, 1, 20 * few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iterations_write_and_others_read),
		cmocka_unit_test(what_a_loop_wrote_is_there_behind_it),
		cmocka_unit_test(errors_tell_the_iteration),
		cmocka_unit_test(each_iteration_may_make_an_array),
		cmocka_unit_test(a_list_grows_in_a_loop),
		cmocka_unit_test(a_list_grows_and_shrinks),
		cmocka_unit_test(lists_of_one_element_add_up),
		cmocka_unit_test(adding_one_element_costs_no_more_than_that),
		cmocka_unit_test(a_push_onto_a_list_of_ones_own_copies_nothing),
		cmocka_unit_test(a_push_onto_a_list_that_others_have_copies_nothing),
	};
	heap = dfg_mem;
	dfg_mem = &counting;
	return cmocka_run_group_tests_name("arrays and lists in loops", tests, NULL, NULL);
}
