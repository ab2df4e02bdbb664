#define _GNU_SOURCE
#include "kernels/cuda/standin/futex.h"
#include "kernels/cuda/standin/standin.h"
#include "lib/base/float_mode.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

/* The program that is a device: a thread a stream, until the host closes the other end of the control socket. */
static struct standin_shared *shared;

__thread struct standin_index blockIdx, threadIdx, blockDim, gridDim;

#define KERNEL(family, name) void dfg_##family##_kernel_##name(const void *argument);
#include "cuda_kernels.def"
#undef KERNEL
static void (*const kernels[])(const void *argument) = {
#define KERNEL(family, name) dfg_##family##_kernel_##name,
#include "cuda_kernels.def"
#undef KERNEL
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* The device ends with an error, which the host finds where the streams' progress is. */
static void end_device(int error)
{
	int none = 0;
	atomic_compare_exchange_strong(&shared->error, &none, error);
	for (int i = 0; i < STANDIN_STREAMS; i++)
		futex_wake(&shared->ring[i].done);
	_exit(1);
}

static void catch_fault(int number)
{
	end_device(number == SIGSEGV || number == SIGBUS ? cudaErrorIllegalAddress : cudaErrorLaunchFailure);
}

/* The threads of a block run one after the other: no kernel has a barrier yet. */
static void run_block(void (*kernel)(const void *argument), const void *argument)
{
	for (threadIdx.z = 0; threadIdx.z < blockDim.z; threadIdx.z++)
		for (threadIdx.y = 0; threadIdx.y < blockDim.y; threadIdx.y++)
			for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
				kernel(argument);
}

static void run_kernel(const struct standin_command *command)
{
	uint64_t mode = dfg_float_mode_set(command->kernel < KERNELS ? DFG_FLUSH : DFG_KEEP);
	gridDim = command->grid;
	blockDim = command->block;
	for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
		for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
			for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
				run_block(kernels[command->kernel % KERNELS], command->argument);
	dfg_float_mode_restore(mode);
}

static void wait_for_stream(const struct standin_command *command)
{
	struct standin_ring *ring = &shared->ring[command->stream];
	for (unsigned done; (int32_t)((done = atomic_load(&ring->done)) - command->ticket) < 0;)
		futex_wait(&ring->done, done);
}

static void execute(const struct standin_command *command)
{
	if (command->kind == STANDIN_KERNEL)
		run_kernel(command);
	else if (command->kind == STANDIN_COPY)
		memmove((void *)command->to, (const void *)command->from, command->bytes);
	else if (command->kind == STANDIN_FILL)
		memset((void *)command->to, command->byte, command->bytes);
	else
		wait_for_stream(command);
}

/* Up to 255 us, at random: orders that no event enforces come apart. */
static void delay_stream(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	usleep((useconds_t)(*random >> 56));
}

static void *run_stream(void *arg)
{
	struct standin_ring *ring = arg;
	uint64_t random = shared->delay ^ (uint64_t)(ring - shared->ring);
	for (;;) {
		unsigned done = atomic_load(&ring->done);
		if (atomic_load(&ring->issued) == done) {
			futex_wait(&ring->issued, done);
			continue;
		}
		if (shared->delay)
			delay_stream(&random);
		execute(&ring->command[done % STANDIN_DEPTH]);
		atomic_store(&ring->done, done + 1);
		futex_wake(&ring->done);
	}
	return NULL;
}

static bool map_at(uint64_t address, uint64_t bytes, int file)
{
	void *memory = mmap((void *)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
	return memory == (void *)address;
}

int main(void)
{
	unsigned char number;
	pthread_t thread;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, STANDIN_SHARED, 0);
	if (shared == MAP_FAILED)
		return 1;
	if (!map_at(shared->memory, shared->memory_bytes, STANDIN_MEMORY) ||
		!map_at(shared->pinned, shared->pinned_bytes, STANDIN_PINNED))
		end_device(cudaErrorDevicesUnavailable);
	for (size_t i = 0; i < 4; i++)
		signal((int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL}[i], catch_fault);
	while (read(STANDIN_CONTROL, &number, 1) == 1)
		if (number >= STANDIN_STREAMS || pthread_create(&thread, NULL, run_stream, &shared->ring[number]))
			end_device(cudaErrorDevicesUnavailable);
	return 0;
}
