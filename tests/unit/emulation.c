#include "remote/emulation.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 20001 };

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Draws of one replica, in seconds, ascending. */
static void draw(const char *text, double *out_seconds)
{
	struct dfg_emulation emulation = {.seed = 5};
	assert_null(dfg_emulation_parse(text, &emulation));
	for (int i = 0; i < DRAWS; i++)
		out_seconds[i] = (double)dfg_emulation_delay(&emulation, 2, (uint64_t)i + 1) / 1e9;
	qsort(out_seconds, DRAWS, sizeof *out_seconds, compare);
}

static double mean(const double *value)
{
	double sum = 0;
	for (int i = 0; i < DRAWS; i++)
		sum += value[i];
	return sum / DRAWS;
}

static void fixed(void **state)
{
	static double seconds[DRAWS];
	(void)state;
	draw("fixed:20ms", seconds);
	assert_true(fabs(seconds[0] - 0.02) < 1e-9 && fabs(seconds[DRAWS - 1] - 0.02) < 1e-9);
	draw("fixed:0.5s", seconds);
	assert_true(fabs(seconds[0] - 0.5) < 1e-9);
	draw("fixed:300us", seconds);
	assert_true(fabs(seconds[0] - 0.0003) < 1e-9);
}

/* Of mean m: median m ln 2, and m ln 10 is exceeded by a tenth. */
static void exponential(void **state)
{
	static double seconds[DRAWS];
	(void)state;
	draw("exponential:200ms", seconds);
	assert_true(fabs(mean(seconds) / 0.2 - 1) < 0.03);
	assert_true(fabs(seconds[DRAWS / 2] / (0.2 * 0.693147) - 1) < 0.04);
	assert_true(fabs(seconds[DRAWS * 9 / 10] / (0.2 * 2.302585) - 1) < 0.04);
}

/* Of median m and sigma s: mean m exp(s s / 2), and m exp(1.2816 s) is exceeded by a tenth. */
static void lognormal(void **state)
{
	static double seconds[DRAWS];
	(void)state;
	draw("lognormal:20ms,0.5", seconds);
	assert_true(fabs(seconds[DRAWS / 2] / 0.02 - 1) < 0.02);
	assert_true(fabs(mean(seconds) / (0.02 * 1.133148) - 1) < 0.02);
	assert_true(fabs(seconds[DRAWS * 9 / 10] / (0.02 * 1.897914) - 1) < 0.03);
}

static void by_seed_replica_and_step(void **state)
{
	struct dfg_emulation one = {.delay = DFG_DELAY_EXPONENTIAL, .seconds = 1, .seed = 1}, two = one;
	(void)state;
	two.seed = 2;
	assert_int_equal(dfg_emulation_delay(&one, 0, 1), dfg_emulation_delay(&one, 0, 1));
	assert_int_not_equal(dfg_emulation_delay(&one, 0, 1), dfg_emulation_delay(&one, 0, 2));
	assert_int_not_equal(dfg_emulation_delay(&one, 0, 1), dfg_emulation_delay(&one, 1, 1));
	assert_int_not_equal(dfg_emulation_delay(&one, 0, 1), dfg_emulation_delay(&two, 0, 1));
	assert_int_equal(dfg_emulation_delay(&(struct dfg_emulation){.seconds = 1}, 0, 1), 0);
}

static void malformed(void **state)
{
	static const char *const text[] = {"", "fixed", "fixed:", "fixed:20", "fixed:20ms,1", "fixed:-1ms", "fixed:nans",
		"fixed:3601s", "lognormal:20ms", "lognormal:20ms,", "lognormal:20ms,-1", "lognormal:20ms,0.5 ", "normal:1s",
		"exponential:1s,2", "exponential: 1h"};
	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct dfg_emulation emulation = {0};
		struct dfg_err *err = dfg_emulation_parse(text[i], &emulation);
		assert_non_null(err);
		assert_int_equal(err->code, DFG_USAGE);
		dfg_err_free(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed),
		cmocka_unit_test(exponential),
		cmocka_unit_test(lognormal),
		cmocka_unit_test(by_seed_replica_and_step),
		cmocka_unit_test(malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
