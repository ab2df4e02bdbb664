/* The calls of bench/allreduce.sh with MPI_Allreduce: medians on rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void row(const char *name, int count, int calls, double per_second)
{
	float *from = calloc((size_t)count, sizeof *from), *to = calloc((size_t)count, sizeof *to);
	double *seconds = calloc((size_t)calls, sizeof *seconds);
	int rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = -2 - calls / 10; i < calls; i++) {
		double before = MPI_Wtime();
		MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		if (i >= 0)
			seconds[i] = MPI_Wtime() - before;
	}
	qsort(seconds, (size_t)calls, sizeof *seconds, compare);
	if (!rank)
		printf("%s\t%g\tOpenMPI\n", name, seconds[calls / 2] * per_second);
	free(from);
	free(to);
	free(seconds);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	row("all-reduce of 2, 4 bytes", 1, 20000, 1e6);
	row("all-reduce of 2, 64 KiB", 1 << 14, 16384, 1e6);
	row("all-reduce of 2, 64 MiB", 1 << 24, 16, 1e3);
	MPI_Finalize();
	return 0;
}
