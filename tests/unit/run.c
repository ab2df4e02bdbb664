#include "tests/unit/test.h"

#include "app/run.h"
#include "formats/array.h"
#include "lib/base/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Runs as another program would have them: several at a time, each with options, a report and a watch of its own. */

static char folder[] = "/tmp/dfg-run-XXXXXX";

static const char program[] =
	"input x: f32[?]\n"
	"param w: f32[] = 3.0\n"
	"param b: f32[] = 1.0\n"
	"output y = w * x + b\n"
	"AssignAddVariableOp(VarHandleOp(dtype = f32, shape = [], shared_name = \"w\"), 1.0)\n";

/* The lines that a run reports. */
struct heard {
	char last[300];
	int lines;
};

static void hear(void *arg, enum dfg_report_level level, const char *text)
{
	struct heard *heard = arg;
	(void)level;
	heard->lines++;
	snprintf(heard->last, sizeof heard->last, "%s", text);
}

/* A run of the program; it owns what it borrows. */
struct own_run {
	struct dfg_run_options options;
	struct dfg_execution execution;
	struct heard heard;
	struct dfg_report report;
	struct dfg_run run;
};

static void set_up(struct own_run *own, const char *feed)
{
	static const char *fetch[] = {"y", NULL};
	*own = (struct own_run){.options = DFG_RUN_DEFAULTS, .execution = {.seed = -1}};
	own->options.fetch = (struct dfg_words_list){fetch, 1, 1};
	if (feed) {
		const char **word = calloc(2, sizeof *word);
		*word = feed;
		own->options.feed = (struct dfg_words_list){word, 1, 1};
	}
	own->report = (struct dfg_report){hear, &own->heard};
	own->run =
		(struct dfg_run){.options = &own->options, .execution = &own->execution, .input = {.report = &own->report}};
}

static void tear_down(struct own_run *own)
{
	dfg_run_close(&own->run);
	free(own->options.feed.word);
}

static float first_of(struct dfg_arrays *results, const char *name)
{
	const struct dfg_array *array = dfg_arrays_find(results, name);
	assert_non_null(array);
	float value = *(const float *)array->tensor.data;
	dfg_arrays_release(results);
	*results = (struct dfg_arrays){0};
	return value;
}

static void two_runs_at_a_time_have_their_own_options_and_variables(void **state)
{
	(void)state;
	struct own_run one, two;
	struct dfg_arrays results = {0};
	static const char *more[] = {"AssignAddVariableOp", NULL};
	set_up(&one, "x=f32[1]:10");
	set_up(&two, "x=f32[1]:100");
	one.options.target = (struct dfg_words_list){more, 1, 1};
	one.options.repeat = 5;
	succeeds(dfg_run_open("run.dfg", NULL, &one.run));
	succeeds(dfg_run_open("run.dfg", NULL, &two.run));
	succeeds(dfg_run_once(&one.run, &results));
	dfg_arrays_release(&results);
	results = (struct dfg_arrays){0};
	assert_true(one.run.timing.known);
	succeeds(dfg_run_once(&two.run, &results));
	assert_false(two.run.timing.known);
	assert_true(first_of(&results, "y") == 301); /* the variable of the first is 8 by now */
	struct dfg_arrays values = {0};
	succeeds(dfg_variables_values(&one.run.model, &one.run.variables, "test", &values));
	assert_true(first_of(&values, "w") == 8);
	tear_down(&one);
	tear_down(&two);
}

/* A variable that the loaded file lacks is a note of the run that loads it, and of no other. */
static void each_run_reports_to_its_own(void **state)
{
	(void)state;
	struct own_run one, two;
	struct dfg_arrays arrays = {0}, results = {0};
	struct dfg_tensor value;
	static const char *load[] = {"w.safetensors", NULL};
	succeeds(dfg_tensor_new(DFG_F32, &DFG_SHAPE_SCALAR, &value));
	*(float *)value.data = 20;
	succeeds(dfg_arrays_add(&arrays, "w", &value));
	succeeds(dfg_arrays_write(load[0], NULL, false, &arrays));
	dfg_arrays_release(&arrays);
	set_up(&one, "x=f32[1]:2");
	set_up(&two, "x=f32[1]:2");
	one.options.load = (struct dfg_words_list){load, 1, 1};
	one.options.partial = true;
	succeeds(dfg_run_open("run.dfg", NULL, &one.run));
	succeeds(dfg_run_open("run.dfg", NULL, &two.run));
	succeeds(dfg_run_once(&two.run, &results));
	assert_true(first_of(&results, "y") == 7);
	assert_int_equal(two.heard.lines, 0);
	succeeds(dfg_run_once(&one.run, &results));
	assert_true(first_of(&results, "y") == 41);
	assert_int_equal(one.heard.lines, 1);
	assert_non_null(strstr(one.heard.last, "w.safetensors: no array for 1 variable that the step needs"));
	assert_non_null(strstr(one.heard.last, "'b'"));
	tear_down(&one);
	tear_down(&two);
}

/* Stops after some steps. */
struct watched {
	uint64_t most, steps, planned;
	int begun, hidden;
};

static const char *stop(void *arg)
{
	const struct watched *watched = arg;
	return watched->steps < watched->most ? NULL : "the test";
}

static void begin(void *arg, uint64_t done, uint64_t steps, uint64_t epochs)
{
	struct watched *watched = arg;
	(void)epochs;
	assert_int_equal(done, 0);
	watched->begun++;
	watched->planned = steps;
}

static void see_step(void *arg, uint64_t step, uint64_t epoch, const char *name, double value)
{
	struct watched *watched = arg;
	(void)name, (void)value;
	assert_int_equal(step, ++watched->steps);
	assert_int_equal(epoch, 1);
}

static void hide(void *arg)
{
	((struct watched *)arg)->hidden++;
}

static void run_data(
	uint64_t most, struct watched *out_watched, struct own_run *own, bool *out_stopped, struct dfg_arrays *results)
{
	static const char *data[] = {"x=@x.npy", NULL};
	*out_watched = (struct watched){.most = most};
	const struct dfg_data_watch watch = {stop, begin, see_step, hide, out_watched};
	set_up(own, NULL);
	own->options.data = (struct dfg_words_list){data, 1, 1};
	own->options.batch = 2;
	succeeds(dfg_run_open("run.dfg", NULL, &own->run));
	succeeds(dfg_run_data(&own->run, &watch, results, out_stopped));
}

/* Six samples, 0 to 5, in batches of two. */
static void a_watch_follows_a_run_over_data_and_stops_it(void **state)
{
	(void)state;
	struct watched watched;
	struct own_run own;
	struct dfg_arrays arrays = {0}, results = {0};
	struct dfg_tensor x;
	bool stopped;
	succeeds(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(6), &x));
	for (int i = 0; i < 6; i++)
		((float *)x.data)[i] = (float)i;
	succeeds(dfg_arrays_add(&arrays, "x", &x));
	succeeds(dfg_arrays_write("x.npy", NULL, false, &arrays));
	dfg_arrays_release(&arrays);

	run_data(2, &watched, &own, &stopped, &results);
	assert_true(stopped);
	assert_int_equal(watched.steps, 2);
	assert_int_equal(watched.planned, 3);
	assert_int_equal(results.count, 0);
	assert_string_equal(own.heard.last, "stopped by the test after step 2");
	tear_down(&own);

	run_data(100, &watched, &own, &stopped, &results);
	assert_false(stopped);
	assert_int_equal(watched.steps, 3);
	assert_int_equal(watched.begun, 1);
	assert_true(watched.hidden > 0);
	assert_int_equal(own.heard.lines, 0);
	const struct dfg_array *y = dfg_arrays_find(&results, "y");
	assert_non_null(y);
	assert_int_equal(y->tensor.shape.dim[0], 6);
	for (int i = 0; i < 6; i++)
		assert_true(((const float *)y->tensor.data)[i] == 3 * (float)i + 1);
	dfg_arrays_release(&results);
	tear_down(&own);
}

int main(void)
{
	FILE *file;
	if (!mkdtemp(folder) || chdir(folder) || !(file = fopen("run.dfg", "w")))
		return 1;
	fputs(program, file);
	fclose(file);
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_runs_at_a_time_have_their_own_options_and_variables),
		cmocka_unit_test(each_run_reports_to_its_own),
		cmocka_unit_test(a_watch_follows_a_run_over_data_and_stops_it),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	static const char *const made[] = {"run.dfg", "w.safetensors", "x.npy"};
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		unlink(made[i]);
	rmdir(folder);
	return failed;
}
