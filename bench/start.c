/*
 * How long a process takes that runs a tiny graph, from fork to exit, against one that only reads the file (cat). Medians.
 * DFG names the program.
 */
#include "formats/graphdef.h"
#include "lib/graph/build.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 101 };

extern char **environ;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static struct dfg_err *write_graph(const char *path)
{
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct dfg_builder build;
	struct dfg_edge a, b, out;
	dfg_graph_init(&graph, &arena);
	DFG_TRY(dfg_builder_init(&build, &graph));
	DFG_TRY(dfg_build_float(&build, "a", DFG_F32, 2, &a));
	DFG_TRY(dfg_build_float(&build, "b", DFG_F32, 3, &b));
	DFG_TRY(dfg_build_op(&build, "AddV2", "sum", (struct dfg_edge[]){a, b}, 2, &out));
	DFG_TRY(dfg_graph_save(&(struct dfg_graph_output){.path = path}, &graph));
	dfg_builder_release(&build);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return NULL;
}

/* Milliseconds, or less than 0 where the program fails. */
static double one_run(char *const *argv)
{
	posix_spawn_file_actions_t quiet;
	pid_t child;
	int status = 1;
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	double start = now();
	if (posix_spawnp(&child, argv[0], &quiet, NULL, argv, environ))
		return -1;
	waitpid(child, &status, 0);
	double end = now();
	posix_spawn_file_actions_destroy(&quiet);
	return status ? -1 : end - start;
}

/* The two take turns, so that both see the same machine. */
static bool measure(char *const *one, char *const *two, double *out_one, double *out_two)
{
	static double first[RUNS], second[RUNS];
	for (int run = 0; run < RUNS; run++) {
		first[run] = one_run(one);
		second[run] = one_run(two);
		if (first[run] < 0 || second[run] < 0)
			return false;
	}
	qsort(first, RUNS, sizeof *first, by_value);
	qsort(second, RUNS, sizeof *second, by_value);
	*out_one = first[RUNS / 2];
	*out_two = second[RUNS / 2];
	return true;
}

int main(void)
{
	char path[] = "/tmp/dfg-bench-XXXXXX";
	char *program = getenv("DFG");
	int fd = mkstemp(path);
	double ours, bare;
	if (!program || fd < 0) {
		fprintf(stderr, "DFG must name the program\n");
		return 2;
	}
	close(fd);
	struct dfg_err *err = write_graph(path);
	if (err) {
		fprintf(stderr, "%s\n", err->text);
		return 1;
	}
	char *run[] = {program, "run", path, "--fetch", "sum", NULL}, *cat[] = {"cat", path, NULL};
	bool measured = measure(run, cat, &ours, &bare);
	unlink(path);
	if (!measured) {
		fprintf(stderr, "'%s run' fails\n", program);
		return 1;
	}
	printf("cold start, tiny graph\t%f\ncold start, tiny graph\t%f\tcat\n", ours, bare);
	return 0;
}
