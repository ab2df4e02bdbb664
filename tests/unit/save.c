#include "tests/unit/ways.h"

/* Save and Load: values of a loop's iterations, read elsewhere, in any order. */

#define NUMBERS ".0 Number v=0\n.1 Number v=1\nn Placeholder dtype=i32\n"
#define K " T=i32 K=i32 N="

/* Loop f saves i * i under i; loop g sums what it loads. */
#define SQUARES NUMBERS "count f n\nsquare Times f.i f.i T=i32\ns Dfg>Save square f.i" K "1\n"
#define SUM "count g n\ncarry g sum .0 add\nadd Plus sum l T=i32\n"

static void a_loop_reads_what_another_saved(void **state)
{
	(void)state;
	const char *down = SQUARES SUM "down Minus g.limit g.more T=i32\nl Dfg>Load s down" K "1\n";
	always(down, "n=10", "sum.out", 285, -1);
	always(down, "n=0", "sum.out", 0, -1);
	always(SQUARES SUM "l Dfg>Load s g.i" K "1\n", "n=40", "sum.out", 20540, -1);
}

static void a_key_is_saved_once(void **state)
{
	(void)state;
	never(SQUARES SUM "s2 Dfg>Save f.i f.0" K "1\nl Dfg>Load s2 g.i" K "1\n", "n=3", "sum.out",
		"of loop 'f': saves key [0] a second time");
}

static void a_key_is_read_once_by_each_load(void **state)
{
	(void)state;
	never(SQUARES SUM "l Dfg>Load s g.0" K "1\n", "n=2", "sum.out", "reads key [0] of 's' (Dfg>Save) a second time");
	always(SQUARES SUM "l Dfg>Load s g.i" K "1\nlast Dfg>Load s five" K
					   "1\nfive Number v=5\nr Plus last sum.out T=i32\n",
		"n=6", "r", 80, -1);
}

static void a_key_that_nobody_saves_is_waited_for_in_vain(void **state)
{
	(void)state;
	never(SQUARES SUM "l Dfg>Load s g.more" K "1\n", "n=3", "sum.out",
		"node 'l' (Dfg>Load): in iteration 2 of loop 'g': waits for key [3] of 's' (Dfg>Save), which did not save it");
	never(SQUARES "l Dfg>Load s .0" K "1\n", "n=0", "l", "node 'l' (Dfg>Load): waits for key [0] of 's'");
}

/* Even i only. */
#define HALF                                                                                                  \
	NUMBERS "count f n\neven_f Even f.i\nside_f Switch f.i even_f T=i32\ns Dfg>Save side_f:1 f.i" K "1\n" SUM \
			"even_g Even g.i\nside_g Switch g.i even_g T=i32\n"

static void what_is_dead_saves_nothing_and_reads_nothing(void **state)
{
	(void)state;
	always(HALF "kept Dfg>Load s side_g:1" K "1\nl Merge side_g kept T=i32 N=2\n", "n=10", "sum.out", 45, -1);
	never(HALF "kept Dfg>Load s side_g" K "1\nl Merge side_g:1 kept T=i32 N=2\n", "n=10", "sum.out",
		"node 'kept' (Dfg>Load): in iteration 1 of loop 'g': waits for key [1] of 's'");
}

/* In the root, where nothing counts: a Load that comes first, since its control input is there at once. */
static void a_value_may_have_no_key(void **state)
{
	(void)state;
	const char *graph =
		NUMBERS "count f n\nt Tick f.i.out\ns Dfg>Save t T=i32 K=i32 N=0\nl Dfg>Load s T=i32 K=i32 N=0\n";
	always(graph, "n=7", "l", 7, 1);
}

/* For i < n, j < i: saved under [i, j], and read from two other loops that count alike. */
#define TRIANGLE                                                             \
	NUMBERS                                                                  \
	"count f n\ncount h f.i f\ninto h h.f f.i\nvalue Times h.i h.f T=i32\n"  \
	"s Dfg>Save value h.f h.i" K                                             \
	"2\n"                                                                    \
	"count g n\ncarry g total .0 inner.out\ncount k g.i g\ninto k k.g g.i\n" \
	"carry k inner total add\nadd Plus inner l T=i32\n"

static void loops_in_loops_have_a_key_each(void **state)
{
	(void)state;
	const char *graph = TRIANGLE "l Dfg>Load s k.g k.i" K "2\n";
	always(graph, "n=7", "total.out", 175, -1);
	always(graph, "n=0", "total.out", 0, -1);
	never(TRIANGLE "l Dfg>Load s k.i k.g" K "2\n", "n=3", "total.out",
		"node 'l' (Dfg>Load): in iteration [1,0] of loop 'g/k': waits for key [0,1] of 's' (Dfg>Save)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_reads_what_another_saved),
		cmocka_unit_test(a_key_is_saved_once),
		cmocka_unit_test(a_key_is_read_once_by_each_load),
		cmocka_unit_test(a_key_that_nobody_saves_is_waited_for_in_vain),
		cmocka_unit_test(what_is_dead_saves_nothing_and_reads_nothing),
		cmocka_unit_test(a_value_may_have_no_key),
		cmocka_unit_test(loops_in_loops_have_a_key_each),
	};
	return cmocka_run_group_tests_name("save", tests, NULL, NULL);
}
