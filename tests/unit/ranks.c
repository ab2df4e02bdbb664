#include "remote/mpi.h"
#include "remote/ranks.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct dfg_ranks ranks;

/* The ranks read these lines, and then the end, or nothing more for a while. */
static struct dfg_err *meet(uint32_t count, const char *lines, bool ends)
{
	int pipe_[2];
	assert_int_equal(pipe(pipe_), 0);
	assert_int_equal(write(pipe_[1], lines, strlen(lines)), strlen(lines));
	if (ends)
		close(pipe_[1]);
	dfg_ranks_release(&ranks);
	ranks = (struct dfg_ranks){.what = "rank", .fd = pipe_[0], .seconds = ends ? 0 : 0.05, .count = count};
	struct dfg_err *err = dfg_ranks_meet(&ranks);
	close(pipe_[0]);
	if (!ends)
		close(pipe_[1]);
	return err;
}

#define LINE(rank, machine) \
	"{\"rank\":" #rank ",\"host\":\"h" #rank "\",\"machine\":\"" machine "\",\"reach\":\"10.0.0.1\"}\n"

static void ranks_become_workers_in_their_order(void **state)
{
	(void)state;
	struct dfg_arena arena = {0};
	struct dfg_hosts hosts;
	succeeds(meet(0, "{\"ranks\":3}\n" LINE(2, "m") LINE(0, "k") LINE(1, "m"), true));
	succeeds(dfg_ranks_meet(&ranks)); /* once is enough: the pipe is closed */
	succeeds(dfg_ranks_hosts(&ranks, &arena, &hosts));
	assert_int_equal(hosts.count, 3);
	assert_string_equal(hosts.worker[2].name, "rank 2 (h2)");
	assert_string_equal(hosts.worker[2].label, "w2");
	assert_string_equal(hosts.device[1], "/job:worker/task:1/device:CPU:0");
	assert_int_equal(hosts.worker[0].machine, 0);
	assert_int_equal(hosts.worker[1].machine, 1);
	assert_int_equal(hosts.worker[2].machine, 1);
	assert_true(hosts.worker[0].attached && !hosts.worker[0].local);
	dfg_arena_release(&arena);
}

/* Workers that share the launcher's memory alone are local; others have ports. */
static void those_on_this_machine_are_local(void **state)
{
	(void)state;
	char here[DFG_MACHINE_SIZE], lines[2 * DFG_RANK_LINE];
	dfg_ranks_machine(here);
	snprintf(lines, sizeof lines,
		"{\"rank\":0,\"host\":\"a\",\"machine\":\"%s\"}\n1: {\"rank\":1,\"host\":\"a\",\"machine\":\"%s\"}\n", here,
		here);
	for (int in_memory = 0; in_memory < 2; in_memory++) {
		struct dfg_arena arena = {0};
		struct dfg_hosts hosts;
		succeeds(meet(2, lines, true));
		ranks.in_memory = in_memory;
		succeeds(dfg_ranks_hosts(&ranks, &arena, &hosts));
		assert_int_equal(hosts.worker[0].local, in_memory);
		assert_int_equal(hosts.worker[1].local, in_memory);
		assert_int_equal(hosts.worker[1].machine, 0);
		dfg_arena_release(&arena);
	}
}

static void a_job_that_ends_or_is_late_names_who_is_missing(void **state)
{
	(void)state;
	fails(meet(0, "", true), DFG_UNAVAILABLE, "the job ended before all ranks had reported in");
	fails(meet(0, "", false), DFG_DEADLINE, "timed out before all ranks had reported in");
	fails(meet(0, "{\"ranks\":6}\n" LINE(2, "m"), true), DFG_UNAVAILABLE,
		"the job ended before 5 of 6 ranks had reported where they listen: rank 0, 1, 3, ...");
	fails(meet(3, LINE(2, "m") LINE(0, "m"), false), DFG_DEADLINE,
		"before 1 of 3 ranks had reported where they listen: rank 1");
	fails(meet(2, LINE(0, "m") "{\"rank\":1", true), DFG_UNAVAILABLE, "rank 1");
}

static void the_error_of_a_rank_names_it(void **state)
{
	(void)state;
	fails(meet(0, "{\"error\":\"rank 2 runs dfg 9\",\"code\":76}\n", true), DFG_PROTOCOL, "rank 2 runs dfg 9");
	fails(meet(2, "{\"rank\":1,\"host\":\"h\",\"machine\":\"\",\"error\":\"no port\",\"code\":69}\n", true),
		DFG_UNAVAILABLE, "rank 1 (h): no port");
}

static void lines_that_are_wrong_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = {"Welcome\n", "{}\n", "[]\n", "{\"rank\":-1}\n", "{\"rank\":2}\n",
		"{\"rank\":\"0\"}\n", "{\"rank\":0.5}\n", LINE(1, "m") LINE(1, "m"), "\n", "{\"ranks\":2}\n", "\x01\xff\n",
		"7: x\n"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		fails(meet(2, wrong[i], true), DFG_PROTOCOL, "a rank did not ");
	static char line[2 * DFG_RANK_LINE];
	memset(line, 'x', sizeof line - 1);
	fails(meet(2, line, true), DFG_PROTOCOL, "printed a line of more than");
	fails(meet(0, "{\"ranks\":0}\n", true), DFG_CONFIG, "the job has 0 ranks");
	fails(meet(0, "{\"ranks\":1025}\n", true), DFG_CONFIG, "the job has 1025 ranks");
	fails(meet(0, "{\"ranks\":\"2\"}\n", true), DFG_PROTOCOL, "");
}

/* Variables as OpenMPI, Hydra, PMIx and srun set them. */
static void the_environment_says_rank_and_size(void **state)
{
	(void)state;
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
		"PMIX_RANK", "PMIX_SIZE", "SLURM_PROCID", "SLURM_NTASKS"};
	static const struct {
		const char *set[4];
		bool is;
		uint32_t rank, size;
	} known[] = {
		{{NULL}, false, 0, 0},
		{{"OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "4"}, true, 3, 4},
		{{"PMI_RANK", "1", "PMI_SIZE", "2"}, true, 1, 2},
		{{"PMIX_RANK", "5", NULL, NULL}, true, 5, 0},
		{{"SLURM_PROCID", "0", "SLURM_NTASKS", "8"}, true, 0, 8},
		{{"PMI_RANK", "x", NULL, NULL}, false, 0, 0},
		{{"PMI_RANK", "", NULL, NULL}, false, 0, 0},
		{{"PMI_RANK", "-1", NULL, NULL}, false, 0, 0},
		{{"PMI_RANK", "99999999999", NULL, NULL}, false, 0, 0},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		uint32_t rank = 0, size = 0;
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			unsetenv(names[k]);
		for (size_t k = 0; k < 4 && known[i].set[k]; k += 2)
			setenv(known[i].set[k], known[i].set[k + 1], 1);
		assert_int_equal(dfg_mpi_environment(&rank, &size), known[i].is);
		if (known[i].is) {
			assert_int_equal(rank, known[i].rank);
			assert_int_equal(size, known[i].size);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_become_workers_in_their_order),
		cmocka_unit_test(those_on_this_machine_are_local),
		cmocka_unit_test(a_job_that_ends_or_is_late_names_who_is_missing),
		cmocka_unit_test(the_error_of_a_rank_names_it),
		cmocka_unit_test(lines_that_are_wrong_are_refused),
		cmocka_unit_test(the_environment_says_rank_and_size),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	dfg_ranks_release(&ranks);
	return failed;
}
