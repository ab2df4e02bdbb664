#include "remote/mpi.h"

#include "lib/base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How libraries name what is not a function. */
static const struct abi {
	const char *name;
	const char *comm, *byte; /* symbols whose addresses are the handles; NULL: the numbers are */
	uintptr_t comm_, byte_;  /* MPI_COMM_WORLD, MPI_BYTE */
	uintptr_t status_ignore; /* MPI_STATUS_IGNORE */
	int funneled;            /* MPI_THREAD_FUNNELED */
} abis[] = {
	{"OpenMPI", "ompi_mpi_comm_world", "ompi_mpi_byte", 0, 0, 0, 1},
	{"MPI 5", NULL, NULL, 0x101, 0x247, 0, 1024},
	{"MPICH", NULL, NULL, 0x44000000, 0x4c00010d, 1, 1},
};
enum { OPENMPI, MPI_5, MPICH };

/* Names of libraries, by the variable that the mpirun of each sets; whatever is there comes last. */
static const struct {
	const char *variable, *file[4];
} libraries[] = {
	{"OMPI_COMM_WORLD_RANK", {"libmpi.so.40", "libmpi.so.80"}},
	{"PMI_RANK", {"libmpich.so.12", "libmpi.so.12"}},
	{NULL, {"libmpi_abi.so.0", "libmpi.so.40", "libmpich.so.12", "libmpi.so.12"}},
};
enum { TAG = 1 };

struct dfg_mpi {
#define FUNCTION(name, parameters) int(*name) parameters;
#include "remote/mpi.def"
#undef FUNCTION
	void *handle;
	char file[200];
	uintptr_t comm, byte;
	const struct abi *abi;
	int rank, size;
	int status;
	uint64_t *request; /* an int or a pointer each: by rank of the receiver; of a receiver, one */
};

static bool read_variable(const char *name, uint32_t *out_number)
{
	const char *text = getenv(name);
	char *end;
	unsigned long number = text ? strtoul(text, &end, 10) : 0;
	if (!text || *text < '0' || *text > '9' || *end || number >= INT32_MAX)
		return false;
	*out_number = (uint32_t)number;
	return true;
}

bool dfg_mpi_environment(uint32_t *out_rank, uint32_t *out_size)
{
	static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"},
		{"SLURM_PROCID", "SLURM_NTASKS"}, {"PMIX_RANK", "PMIX_SIZE"}};
	*out_size = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (read_variable(names[i][0], out_rank)) {
			if (!read_variable(names[i][1], out_size))
				*out_size = 0;
			return true;
		}
	return false;
}

static bool try_open(struct dfg_mpi *mpi, const char *file)
{
	/* its plugins look for its symbols in the whole process */
	if (!(mpi->handle = dlopen(file, RTLD_NOW | RTLD_GLOBAL)))
		return false;
	snprintf(mpi->file, sizeof mpi->file, "%s", file);
	return true;
}

static struct dfg_err *open_library(struct dfg_mpi *mpi)
{
	const char *asked = getenv("DFG_MPI");
	if (asked)
		return try_open(mpi, asked) ? NULL : DFG_ERR(DFG_CONFIG, "DFG_MPI: cannot open %s: %s", asked, dlerror());
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		for (size_t k = 0; k < 4 && libraries[i].file[k]; k++)
			if ((!libraries[i].variable || getenv(libraries[i].variable)) && try_open(mpi, libraries[i].file[k]))
				return NULL;
	return DFG_ERR(DFG_CONFIG,
		"cannot open libmpi: install the one of this mpirun (Debian's packages libopenmpi3 and libmpich12), or set "
		"DFG_MPI to its path");
}

static const struct abi *find_abi(const struct dfg_mpi *mpi)
{
	if (dlsym(mpi->handle, abis[OPENMPI].comm))
		return &abis[OPENMPI];
	return strstr(mpi->file, "libmpi_abi") ? &abis[MPI_5] : &abis[MPICH];
}

static struct dfg_err *bind(struct dfg_mpi *mpi)
{
	const struct {
		const char *name;
		void **to;
	} function[] = {
#define FUNCTION(name, parameters) {"MPI_" #name, (void **)&mpi->name},
#include "remote/mpi.def"
#undef FUNCTION
	};
	for (size_t i = 0; i < sizeof function / sizeof *function; i++)
		if (!(*function[i].to = dlsym(mpi->handle, function[i].name)))
			return DFG_ERR(DFG_CONFIG, "%s lacks %s", mpi->file, function[i].name);
	mpi->abi = find_abi(mpi);
	mpi->comm = mpi->abi->comm ? (uintptr_t)dlsym(mpi->handle, mpi->abi->comm) : mpi->abi->comm_;
	mpi->byte = mpi->abi->byte ? (uintptr_t)dlsym(mpi->handle, mpi->abi->byte) : mpi->abi->byte_;
	return mpi->comm && mpi->byte ? NULL : DFG_ERR(DFG_CONFIG, "%s lacks %s", mpi->file, mpi->abi->byte);
}

/* A library of another mpirun takes each process for a job of its own. */
static struct dfg_err *check_size(const struct dfg_mpi *mpi)
{
	uint32_t rank, size;
	if (!dfg_mpi_environment(&rank, &size) || ((!size || (int)size == mpi->size) && (int)rank == mpi->rank))
		return NULL;
	return DFG_ERR(DFG_CONFIG,
		"%s (%s) says that this is rank %d of %d, but mpirun started rank %u of %u: it is not the library of this "
		"mpirun; DFG_MPI can name that",
		mpi->file, mpi->abi->name, mpi->rank, mpi->size, rank, size);
}

static struct dfg_err *failed(const struct dfg_mpi *mpi, const char *function)
{
	return DFG_ERR(DFG_UNAVAILABLE, "MPI_%s of %s failed", function, mpi->file);
}

static struct dfg_err *begin(struct dfg_mpi *mpi)
{
	int provided;
	DFG_TRY(open_library(mpi));
	DFG_TRY(bind(mpi));
	if (mpi->Init_thread(NULL, NULL, mpi->abi->funneled, &provided))
		return failed(mpi, "Init_thread");
	if (mpi->Comm_rank(mpi->comm, &mpi->rank) || mpi->Comm_size(mpi->comm, &mpi->size))
		return failed(mpi, "Comm_size");
	mpi->request = dfg_zeros((size_t)mpi->size, sizeof *mpi->request);
	return mpi->request ? check_size(mpi) : dfg_no_memory("the ranks of MPI");
}

struct dfg_err *dfg_mpi_init(struct dfg_mpi **out_mpi)
{
	struct dfg_mpi *mpi = dfg_zeros(1, sizeof *mpi);
	struct dfg_err *err = mpi ? begin(mpi) : dfg_no_memory("MPI");
	if (err)
		dfg_mpi_free(mpi, false);
	else
		*out_mpi = mpi;
	return err;
}

uint32_t dfg_mpi_rank(const struct dfg_mpi *mpi)
{
	return (uint32_t)mpi->rank;
}

uint32_t dfg_mpi_size(const struct dfg_mpi *mpi)
{
	return (uint32_t)mpi->size;
}

struct dfg_err *dfg_mpi_broadcast(struct dfg_mpi *mpi, void *bytes, size_t count)
{
	return mpi->Bcast(bytes, (int)count, mpi->byte, 0, mpi->comm) ? failed(mpi, "Bcast") : NULL;
}

struct dfg_err *dfg_mpi_gather(struct dfg_mpi *mpi, const void *mine, size_t count, void *out_all)
{
	int failure = mpi->Allgather(mine, (int)count, mpi->byte, out_all, (int)count, mpi->byte, mpi->comm);
	return failure ? failed(mpi, "Allgather") : NULL;
}

static bool is_done(struct dfg_mpi *mpi, int rank)
{
	int done = 0; /* a request that is done becomes the null request, which is done too */
	return !mpi->Test(&mpi->request[rank], &done, (void *)mpi->abi->status_ignore) && done;
}

struct dfg_err *dfg_mpi_send_status(struct dfg_mpi *mpi, int status)
{
	mpi->status = status;
	for (int i = 1; i < mpi->size; i++)
		if (mpi->Isend(&mpi->status, sizeof mpi->status, mpi->byte, i, TAG, mpi->comm, &mpi->request[i]))
			return failed(mpi, "Isend");
	return NULL;
}

bool dfg_mpi_sent_status(struct dfg_mpi *mpi)
{
	bool all = true;
	for (int i = 1; i < mpi->size; i++)
		all &= is_done(mpi, i);
	return all;
}

struct dfg_err *dfg_mpi_await_status(struct dfg_mpi *mpi)
{
	int failure = mpi->Irecv(&mpi->status, sizeof mpi->status, mpi->byte, 0, TAG, mpi->comm, mpi->request);
	return failure ? failed(mpi, "Irecv") : NULL;
}

bool dfg_mpi_got_status(struct dfg_mpi *mpi, int *out_status)
{
	bool got = is_done(mpi, 0);
	*out_status = got ? mpi->status : 0;
	return got;
}

void dfg_mpi_free(struct dfg_mpi *mpi, bool all)
{
	if (mpi && all)
		mpi->Finalize();
	if (mpi)
		dfg_free(mpi->request);
	dfg_free(mpi);
}
