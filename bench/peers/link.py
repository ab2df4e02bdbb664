"""The messages of bench/link.c by OpenMPI over shared memory, where mpicc and mpirun are there."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 64 << 20, TRIPS = 5000, LARGE_TRIPS = 9 };
static double time_of[TRIPS];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Seconds, the median of n round trips of count bytes there and 4 back. */
static double trips(int rank, char *bytes, int count, int n)
{
	for (int i = 0; i < n; i++) {
		double began = MPI_Wtime();
		if (rank == 0) {
			MPI_Send(bytes, count, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
			MPI_Recv(bytes, 4, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(bytes, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(bytes, 4, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
		}
		time_of[i] = MPI_Wtime() - began;
	}
	qsort(time_of, n, sizeof *time_of, by_value);
	return time_of[n / 2];
}

int main(int argc, char **argv)
{
	int rank;
	char *bytes = malloc(LARGE);
	memset(bytes, 1, LARGE);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	trips(rank, bytes, 4, TRIPS);
	double small = trips(rank, bytes, 4, TRIPS);
	trips(rank, bytes, LARGE, 2);
	double large = trips(rank, bytes, LARGE, LARGE_TRIPS);
	if (rank == 0)
		printf("link shm, 4 bytes, polled\t%f\tOpenMPI\nlink shm, 64 MB\t%f\tOpenMPI\n", small * 1e6, large * 1e3);
	MPI_Finalize();
}
"""

if not shutil.which("mpicc") or not shutil.which("mpirun"):
    print("OpenMPI is absent")
    sys.exit()
scratch = pathlib.Path(os.environ.get("SCRATCH") or tempfile.mkdtemp())
(scratch / "link.c").write_text(PROGRAM)
subprocess.run(["mpicc", "-O2", "-o", scratch / "link", scratch / "link.c"], check=True)
command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "--mca", "pml", "ob1", "--mca", "btl", "vader,self"]
sys.exit(subprocess.run([*command, scratch / "link"]).returncode)
