#include "lib/pass/verify/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/unit/sketch.h"

static struct dfg_err *vector(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_VECTOR(node->call->attr[0].i);
	return NULL;
}

static struct dfg_err *first(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

static struct dfg_err *first_twice(struct dfg_infer *node)
{
	node->out[0] = node->out[1] = *node->in[0];
	return NULL;
}

static struct dfg_err *nothing(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

static const struct dfg_op ops[] = {
	{.name = "Source", .sig = "<T: type>() -> (y: T)", .attr = {"n: int"}, .shape = vector},
	{.name = "Plus", .sig = "<T: number>(x: T, y: T) -> (z: T)"},
	{.name = "Many", .sig = "<T: number, N: int>(x: N * T) -> (y: N * T)", .shape = nothing},
	{.name = "Minus", .sig = "<T: number>(x: T) -> (y: T)", .attr = {"mode: string = 'A' in A|B"}},
	{.name = "Nothing", .sig = "() -> ()", .role = DFG_NO_OP, .shape = nothing},
	{.name = "In",
		.sig = "<T: type>(x: T) -> (y: T)",
		.attr = {"frame_name: string", "is_constant: bool = false", "parallel_iterations: int = 10"},
		.role = DFG_ENTER,
		.shape = first},
	{.name = "Join", .sig = "<T: type, N: int>(x: N * T) -> (y: T, i: i32)", .role = DFG_MERGE, .shape = nothing},
	{.name = "Fork", .sig = "<T: type>(x: T, p: bool) -> (f: T, t: T)", .role = DFG_SWITCH, .shape = first_twice},
	{.name = "Next", .sig = "<T: type>(x: T) -> (y: T)", .role = DFG_NEXT_ITERATION, .shape = first},
	{.name = "Out", .sig = "<T: type>(x: T) -> (y: T)", .role = DFG_EXIT, .shape = first},
	{.name = "Test", .sig = "(x: bool) -> (y: bool)", .role = DFG_LOOP_COND, .shape = first},
	{.name = "Ask", .sig = "<T: type>(x: T) -> (y: bool)", .shape = nothing},
	{0},
};

/* The faults of a graph; words[i] is in message i. */
static void expect_faults(const char *text, size_t count, const char *const *words)
{
	struct sketch sketch;
	sketch_init(&sketch, ops, text);
	struct dfg_err *err = dfg_verify(&sketch.graph, &(struct dfg_verify_options){.unknown_ops = true}, NULL);
	size_t met = 0;
	for (const struct dfg_err *e = err; e; e = e->next, met++) {
		assert_int_equal(e->code, DFG_DATA);
		if (met < count && !strstr(e->text, words[met]))
			fail_msg("'%s' does not say '%s'", e->text, words[met]);
	}
	if (met != count)
		fail_msg("%zu faults, not %zu: %s", met, count, err ? err->text : "");
	dfg_err_free(err);
	sketch_release(&sketch);
}
#define EXPECT_FAULTS(text, ...) \
	expect_faults(text, sizeof(const char *[]){__VA_ARGS__} / sizeof(char *), (const char *const[]){__VA_ARGS__})
static void expect_good(const char *text)
{
	expect_faults(text, 0, NULL);
}

static void accepts_nodes_in_any_order(void **state)
{
	(void)state;
	expect_good("y Plus a b T=f32\na Source T=f32 n=3\nb Source T=f32 n=3\n");
}

static void refuses_a_graph_without_nodes(void **state)
{
	(void)state;
	EXPECT_FAULTS("", "graph has no nodes");
}

static void refuses_a_file_for_later_readers(void **state)
{
	(void)state;
	struct sketch sketch;
	sketch_init(&sketch, ops, "a Source T=f32 n=3\n");
	sketch.graph.min_consumer = 1000000;
	struct dfg_err *err = dfg_verify(&sketch.graph, NULL, NULL);
	assert_non_null(err);
	assert_non_null(strstr(err->text, "version 1000000 or later"));
	dfg_err_free(err);
	sketch_release(&sketch);
}

static void names_every_fault_of_the_graph(void **state)
{
	(void)state;
	EXPECT_FAULTS(
		"a Source T=f32 n=3\nb Source T=f32 n=4\nc Plus a b T=f32\nd Plus a T=f32\ne Plus a b T=i32\n"
		"f Minus a T=f32 mode='C'\ng Minus a T=f32 flavour=1\nh Minus a\ni Odd a\nj Minus a:1 T=f32\n",
		"node 'c' (Plus): cannot broadcast", "node 'd' (Plus): has 1 input, expected 2", "node 'e' (Plus): input 0",
		"node 'f' (Minus): attribute 'mode' is 'C'", "no attribute 'flavour'", "attribute 'T' is missing",
		"no op 'Odd'", "input 0 is 'a:1', but 'a' (Source) has 1 output");
}

static void stops_at_as_many_faults_as_asked_for(void **state)
{
	(void)state;
	struct sketch sketch;
	sketch_init(&sketch, ops, "a Minus T=f32\nb Minus T=f32\nc Minus T=f32\n");
	struct dfg_err *err = dfg_verify(&sketch.graph, &(struct dfg_verify_options){.most = 2}, NULL);
	assert_non_null(err);
	assert_non_null(err->next);
	assert_null(err->next->next);
	dfg_err_free(err);
	sketch_release(&sketch);
}

static void a_fault_is_not_reported_again_where_it_is_read(void **state)
{
	(void)state;
	EXPECT_FAULTS(
		"a Source T=f32 n=3\nb Source T=f32 n=4\nc Plus a b T=f32\nd Minus c T=f32\ne Plus c d T=f32\n", "'c'");
}

static void unknown_ops_may_stand_where_they_are_not_run(void **state)
{
	(void)state;
	struct sketch sketch;
	sketch_init(&sketch, ops, "a Odd\nb Minus a:3 T=f32\n");
	struct dfg_facts facts = {.arena = &sketch.arena};
	assert_null(dfg_verify(&sketch.graph, NULL, &facts));
	assert_int_equal(dfg_facts_outputs(&facts, 0), 0);
	assert_int_equal(dfg_facts_of(&facts, (struct dfg_edge){1, 0})->dtype, DFG_F32);
	dfg_facts_release(&facts);
	sketch_release(&sketch);
}

static void gives_out_what_it_inferred(void **state)
{
	(void)state;
	struct sketch sketch;
	sketch_init(&sketch, ops, "y Plus a m:1 T=f32\nm Many a a T=f32 N=2\na Source T=f32 n=3\n");
	struct dfg_facts facts = {.arena = &sketch.arena};
	assert_null(dfg_verify(&sketch.graph, NULL, &facts));
	assert_int_equal(dfg_facts_outputs(&facts, 1), 2);
	assert_int_equal(dfg_facts_of(&facts, (struct dfg_edge){2, 0})->shape.dim[0], 3);
	assert_int_equal(dfg_facts_of(&facts, (struct dfg_edge){0, 0})->dtype, DFG_F32);
	dfg_facts_release(&facts);
	sketch_release(&sketch);
}

/* The heap, and the most that was asked of it at once. */
static struct dfg_allocator *heap;
static size_t asked;

static void *see_take(struct dfg_allocator *self, size_t bytes, size_t align)
{
	(void)self;
	asked = bytes > asked ? bytes : asked;
	return heap->take(heap, bytes, align);
}

static void see_drop(struct dfg_allocator *self, void *memory)
{
	(void)self;
	heap->drop(heap, memory);
}

static struct dfg_allocator seeing = {.take = see_take, .drop = see_drop};

static void works_out_no_value_that_is_large(void **state)
{
	(void)state;
	heap = dfg_mem;
	dfg_mem = &seeing;
	expect_good(
		"x Placeholder dtype=f32 shape=[4000,4000]\nd Shape x T=f32 out_type=i32\nv Rank x T=f32\n"
		"f Fill d v T=i32 index_type=i32\n");
	dfg_mem = heap;
	assert_in_range(asked, 1, 1 << 20);
}

static void refuses_names_that_no_reader_takes(void **state)
{
	(void)state;
	struct sketch sketch;
	sketch_init(&sketch, ops, "a Source T=f32 n=3\nb Source T=f32 n=3\n");
	sketch.graph.node[0].name = "bad name\x1b";
	sketch.graph.node[1].name = "";
	struct dfg_err *err = dfg_verify(&sketch.graph, NULL, NULL);
	assert_non_null(err);
	assert_non_null(strstr(err->text, "node 'bad name\\x1b'"));
	assert_non_null(strstr(err->next->text, "node number 1 (Source) has no name"));
	dfg_err_free(err);
	sketch_release(&sketch);
}

static void names_one_cycle_in_the_direction_of_its_edges(void **state)
{
	(void)state;
	EXPECT_FAULTS("a Source T=f32 n=3\nb Plus a d T=f32\nc Minus b T=f32\nd Minus c T=f32\ne Minus d T=f32\n",
		"'b' -> 'c' -> 'd' -> 'b'");
	EXPECT_FAULTS("a Minus a T=f32\n", "'a' -> 'a'");
	EXPECT_FAULTS("a Source ^b T=f32 n=3\nb Minus a T=f32\n", "'a' -> 'b' -> 'a'");
}

static void what_waits_for_a_cycle_is_checked_too(void **state)
{
	(void)state;
	EXPECT_FAULTS("a Minus b T=f32\nb Minus a T=f32\nc Plus a T=f32\n", "cycle", "node 'c' (Plus): has 1 input");
}

#define LOOP                                                                                                      \
	"x Source T=f32 n=3\nenter In x T=f32 frame_name='f'\nmerge Join enter next T=f32 N=2\nask Ask merge T=f32\n" \
	"test Test ask\nfork Fork merge test T=f32\nbody Minus fork:1 T=f32\nnext Next body T=f32\n"

static void accepts_a_loop(void **state)
{
	(void)state;
	expect_good(LOOP "out Out fork T=f32\ny Minus out T=f32\n");
}

static void a_value_enters_and_leaves_a_loop_by_the_doors(void **state)
{
	(void)state;
	EXPECT_FAULTS(LOOP "y Plus body x T=f32\n",
		"node 'y' (Plus): its inputs are in different frames: 'body' in frame 'f', 'x' in the root");
	EXPECT_FAULTS(LOOP "out Out fork:1 T=f32\n", "node 'out' (Out): its input is 'fork:1' (Fork), expected output 0");
	EXPECT_FAULTS("x Source T=f32 n=3\ny Out x T=f32\n", "node 'y' (Out): is not in a loop");
	EXPECT_FAULTS("x Source T=f32 n=3\ny Next x T=f32\n", "node 'y' (Next): is not in a loop");
}

static void a_frame_has_one_name_one_window_and_one_condition(void **state)
{
	(void)state;
	EXPECT_FAULTS(
		LOOP "two In x T=f32 frame_name='f' parallel_iterations=2\n", "'enter', which enters frame 'f' too, has 10");
	EXPECT_FAULTS(LOOP "test2 Test ask\n", "node 'test2' (Test): frame 'f' has another LoopCond, 'test'");
	EXPECT_FAULTS(LOOP "g In x T=f32 frame_name='g'\nin In g T=f32 frame_name='f'\n",
		"enters frame 'f' from frame 'g', but 'enter' enters it from the root");
}

/* A loop whose Merge and NextIteration are to be written. */
#define OPEN_LOOP                                                                               \
	"x Source T=f32 n=3\nenter In x T=f32 frame_name='f'\nask Ask merge T=f32\ntest Test ask\n" \
	"fork Fork merge test T=f32\nbody Minus fork:1 T=f32\n"

static void a_loop_comes_back_once_to_where_it_entered(void **state)
{
	(void)state;
	EXPECT_FAULTS(OPEN_LOOP "merge Join enter next next T=f32 N=3\nnext Next body T=f32\n",
		"node 'merge' (Join): has 2 inputs from NextIteration");
	EXPECT_FAULTS(OPEN_LOOP "merge Join enter next ^enter T=f32 N=2\nnext Next body T=f32\n",
		"node 'merge' (Join): a loop's Merge cannot have control inputs, here '^enter'");
	EXPECT_FAULTS(OPEN_LOOP "merge Join enter enter next T=f32 N=3\nnext Next body T=f32\n",
		"node 'merge' (Join): a loop's Merge has 3 inputs, expected two");
	EXPECT_FAULTS(OPEN_LOOP "merge Join in next T=f32 N=2\nin Minus enter T=f32\nnext Next body T=f32\n",
		"node 'merge' (Join): input 0 is 'in' (Minus), expected an Enter");
	EXPECT_FAULTS(OPEN_LOOP
		"merge Join in next T=f32 N=2\nin In x T=f32 frame_name='f' is_constant=true\n"
		"next Next body T=f32\n",
		"node 'merge' (Join): input 0 is 'in' (In), an Enter with is_constant");
	EXPECT_FAULTS(OPEN_LOOP "merge Join enter next T=f32 N=2\nagain Ask body T=f32\nnext Next again T=bool\n",
		"comes back from the loop as bool, expected f32");
}

static void a_loop_goes_by_its_condition(void **state)
{
	(void)state;
	EXPECT_FAULTS(
		"x Source T=f32 n=3\nenter In x T=f32 frame_name='f'\nmerge Join enter next T=f32 N=2\n"
		"ask Ask merge T=f32\nfork Fork merge ask T=f32\nnext Next fork:1 T=f32\n",
		"node 'next' (Next): frame 'f' has no LoopCond");
	EXPECT_FAULTS(LOOP "fork2 Fork body ask T=f32\nout Out fork2 T=f32\n",
		"node 'out' (Out): leaves frame 'f' through 'fork2' (Fork), whose predicate 'ask' is not the loop's LoopCond");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_nodes_in_any_order),
		cmocka_unit_test(refuses_a_graph_without_nodes),
		cmocka_unit_test(refuses_a_file_for_later_readers),
		cmocka_unit_test(names_every_fault_of_the_graph),
		cmocka_unit_test(stops_at_as_many_faults_as_asked_for),
		cmocka_unit_test(a_fault_is_not_reported_again_where_it_is_read),
		cmocka_unit_test(unknown_ops_may_stand_where_they_are_not_run),
		cmocka_unit_test(gives_out_what_it_inferred),
		cmocka_unit_test(works_out_no_value_that_is_large),
		cmocka_unit_test(refuses_names_that_no_reader_takes),
		cmocka_unit_test(names_one_cycle_in_the_direction_of_its_edges),
		cmocka_unit_test(what_waits_for_a_cycle_is_checked_too),
		cmocka_unit_test(accepts_a_loop),
		cmocka_unit_test(a_value_enters_and_leaves_a_loop_by_the_doors),
		cmocka_unit_test(a_frame_has_one_name_one_window_and_one_condition),
		cmocka_unit_test(a_loop_comes_back_once_to_where_it_entered),
		cmocka_unit_test(a_loop_goes_by_its_condition),
	};
	return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
