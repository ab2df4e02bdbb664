#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * MPI, as far as the ranks of a job have to meet: what each has to tell goes to all, and at the end the status of rank 0
 * does. libmpi is opened when it is needed, and may have the ABI of OpenMPI, of MPICH, or that of MPI 5.
 */
struct dfg_mpi;

/* The rank of this process, and the size of its job or 0, as mpirun and srun say in the environment. False: neither did. */
bool dfg_mpi_environment(uint32_t *out_rank, uint32_t *out_size);

/*
 * Waits until all ranks have started. DFG_CONFIG: there is no libmpi for this mpirun. All functions of one object are
 * called by one thread.
 */
DFG_MUST_CHECK struct dfg_err *dfg_mpi_init(struct dfg_mpi **out_mpi);
uint32_t dfg_mpi_rank(const struct dfg_mpi *mpi);
uint32_t dfg_mpi_size(const struct dfg_mpi *mpi);

/* Copies the bytes of rank 0 to all. */
DFG_MUST_CHECK struct dfg_err *dfg_mpi_broadcast(struct dfg_mpi *mpi, void *bytes, size_t count);

/* Each rank has `count` bytes; all get those of all, in the order of ranks. */
DFG_MUST_CHECK struct dfg_err *dfg_mpi_gather(struct dfg_mpi *mpi, const void *mine, size_t count, void *out_all);

/*
 * The status that all return. Rank 0 sends it when it knows it; the others look now and then whether it has come. Neither
 * waits, because a rank may be lost. True: it has been sent, or has come.
 */
DFG_MUST_CHECK struct dfg_err *dfg_mpi_send_status(struct dfg_mpi *mpi, int status);
bool dfg_mpi_sent_status(struct dfg_mpi *mpi);
DFG_MUST_CHECK struct dfg_err *dfg_mpi_await_status(struct dfg_mpi *mpi);
bool dfg_mpi_got_status(struct dfg_mpi *mpi, int *out_status);

/* Ends MPI, which waits for all ranks if `all` are known to end too. */
void dfg_mpi_free(struct dfg_mpi *mpi, bool all);
