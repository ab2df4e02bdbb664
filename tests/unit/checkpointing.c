#include "tests/unit/coordinator.h"

#include "app/checkpointing.h"
#include "lib/base/folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Checkpoints whose values are read from several workers, one of which is lost meanwhile. */

static char folder[] = "/tmp/dfg-checkpointing-XXXXXX";

static void set_variable(struct coordinator_test *test, const struct dfg_variable_ref *ref, double value)
{
	struct dfg_tensor tensor;
	succeeds(dfg_tensor_new(DFG_F64, &DFG_SHAPE_VECTOR(1), &tensor));
	*(double *)tensor.data = value;
	succeeds(dfg_session_assign(test->session, ref, &tensor));
}

static struct dfg_err *commit(struct dfg_checkpointing *checkpointing, const struct dfg_run *run, uint64_t step)
{
	return dfg_checkpointing_commit(checkpointing, run, &(struct dfg_checkpoint){.step = step, .epoch = 1});
}

static struct dfg_err *is_ours(void *count, const char *name)
{
	++*(int *)count;
	assert_true(!strcmp(name, "step-1") || !strcmp(name, ".lock"));
	return NULL;
}

/* Nothing of the second is written, not even its beginning, and the first is whole. */
static void holds_the_first(double value)
{
	struct dfg_checkpoint found;
	int count = 0;
	succeeds(dfg_folder_each(folder, is_ours, &count));
	assert_in_range(count, 1, 2);
	succeeds(dfg_checkpoint_load(folder, NULL, &found));
	assert_int_equal(found.step, 1);
	assert_int_equal(found.arrays.count, 2);
	for (int i = 0; i < 2; i++)
		assert_true(dfg_tensor_float(&found.arrays.array[i].tensor, 0) == value);
	dfg_checkpoint_release(&found);
}

static void a_worker_killed_between_two_reads_leaves_the_checkpoint_before(void **state)
{
	(void)state;
	struct coordinator_test test;
	struct dfg_run run = {0};
	struct dfg_checkpointing checkpointing = {.wanted = true};
	coordinator_begin(&test, 2, "param u: f64[1] = [0.0]\nparam v: f64[1] = [0.0]\ny = u + v\n", "v=w1 v/*=w1", NULL);
	struct worker_thread *there = &test.thread[1];
	run.model.file.graph = test.program.graph;
	run.model.session = test.session;
	succeeds(dfg_variables_list(&run.model, &run.variables));
	assert_int_equal(run.variables.count, 2);
	for (int i = 0; i < 2; i++)
		set_variable(&test, &run.variables.ref[i], 1);
	succeeds(dfg_checkpoints_open(folder, &checkpointing.checkpoints));
	succeeds(commit(&checkpointing, &run, 1));
	for (int i = 0; i < 2; i++)
		set_variable(&test, &run.variables.ref[i], 2);

	/* w0 has said what u is, and is asked no more; w1 is gone when it is asked for v. */
	uint32_t here = atomic_load(&test.thread[0].asked[DFG_PACKET_READ]);
	atomic_store(&there->dies_at, DFG_PACKET_READ);
	fails(commit(&checkpointing, &run, 2), DFG_UNAVAILABLE, "w1: ");
	assert_int_equal(atomic_load(&test.thread[0].asked[DFG_PACKET_READ]), here + 1);
	holds_the_first(1);

	pthread_join(there->killer, NULL);
	there->launcher = NULL;
	dfg_worker_sink(there->worker).lost(there->worker, DFG_LAUNCHER, DFG_ERR(DFG_UNAVAILABLE, "closed"));
	dfg_checkpointing_close(&checkpointing);
	dfg_arena_release(&run.model.arena);
	coordinator_end(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_killed_between_two_reads_leaves_the_checkpoint_before),
	};
	if (!mkdtemp(folder))
		return 1;
	int status = cmocka_run_group_tests(tests, NULL, NULL);
	char command[64];
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command) || status;
}
