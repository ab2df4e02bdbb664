#define _GNU_SOURCE
#include "kernels/cuda/standin/standin.h"

#include "kernels/cuda/standin/futex.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

extern char **environ;

/* Far from where the kernel and sanitizers map anything, so that the same addresses are free in the device's process. */
static const uint64_t memory_hint = 0x200000000000, pinned_hint = 0x300000000000, hint_step = UINT64_C(1) << 40;

/* The program beside this library. */
static bool find_program(char *path, size_t capacity)
{
	Dl_info info;
	char library[4096];
	if (!dladdr((void *)find_program, &info) ||
		snprintf(library, sizeof library, "%s", info.dli_fname) >= (int)sizeof library)
		return false;
	return snprintf(path, capacity, "%s/dfg-cuda-standin-device", dirname(library)) < (int)capacity;
}

static int make_file(const char *name, uint64_t bytes)
{
	int file = memfd_create(name, MFD_CLOEXEC);
	if (file >= 0 && ftruncate(file, (off_t)bytes)) {
		close(file);
		return -1;
	}
	return file;
}

static cudaError_t spawn_device(const int *descriptor, pid_t *out_pid)
{
	char path[4200];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	if (!find_program(path, sizeof path))
		return cudaErrorDevicesUnavailable;
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	for (int i = STANDIN_CONTROL; i < STANDIN_DESCRIPTORS; i++)
		posix_spawn_file_actions_adddup2(&actions, descriptor[i], i);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setpgroup(&attributes, 0); /* a signal of the terminal ends the host first */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	int failed = posix_spawn(out_pid, path, &actions, &attributes, (char *[]){path, NULL}, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return failed ? cudaErrorDevicesUnavailable : cudaSuccess;
}

/* Moves the descriptors above those that spawn_device overwrites. */
static bool raise_descriptors(int *descriptor)
{
	bool good = true;
	for (int i = STANDIN_CONTROL; i < STANDIN_DESCRIPTORS; i++) {
		int higher = descriptor[i] < 0 ? -1 : fcntl(descriptor[i], F_DUPFD_CLOEXEC, STANDIN_DESCRIPTORS);
		if (descriptor[i] >= 0)
			close(descriptor[i]);
		descriptor[i] = higher;
		good = good && higher >= 0;
	}
	return good;
}

static bool map_host(
	struct standin_device *device, int number, const struct standin_settings *settings, const int *descriptor)
{
	uint64_t offset = (uint64_t)number * hint_step;
	void *memory = mmap((void *)(memory_hint + offset), settings->memory, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *pinned = mmap((void *)(pinned_hint + offset), settings->memory, PROT_READ | PROT_WRITE, MAP_SHARED,
		descriptor[STANDIN_PINNED], 0);
	void *shared =
		mmap(NULL, sizeof *device->shared, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor[STANDIN_SHARED], 0);
	if (memory == MAP_FAILED || pinned == MAP_FAILED || shared == MAP_FAILED)
		return false;
	device->shared = shared;
	device->shared->memory = (uint64_t)memory;
	device->shared->pinned = (uint64_t)pinned;
	device->shared->memory_bytes = device->shared->pinned_bytes = settings->memory;
	device->shared->delay = settings->delay;
	return standin_heap_init(&device->heap, (uint64_t)memory, settings->memory) &&
		   standin_heap_init(&device->pinned, (uint64_t)pinned, settings->memory);
}

cudaError_t standin_device_start(struct standin_device *device, int number, const struct standin_settings *settings)
{
	int ends[2] = {-1, -1}, descriptor[STANDIN_DESCRIPTORS];
	cudaError_t error = cudaErrorDevicesUnavailable;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return error;
	device->control = ends[0];
	descriptor[STANDIN_CONTROL] = ends[1];
	descriptor[STANDIN_SHARED] = make_file("dfg-standin", sizeof *device->shared);
	descriptor[STANDIN_MEMORY] = make_file("dfg-standin-memory", settings->memory);
	descriptor[STANDIN_PINNED] = make_file("dfg-standin-pinned", settings->memory);
	if (raise_descriptors(descriptor) && map_host(device, number, settings, descriptor))
		error = spawn_device(descriptor, &device->pid);
	device->memory_file = descriptor[STANDIN_MEMORY]; /* for copies from memory that the device cannot map */
	close(descriptor[STANDIN_CONTROL]);
	close(descriptor[STANDIN_SHARED]);
	close(descriptor[STANDIN_PINNED]);
	if (error)
		device->shared = NULL;
	return error;
}

/* A device whose process has ended without a reason is lost. */
cudaError_t standin_device_error(struct standin_device *device)
{
	char byte;
	int error = atomic_load(&device->shared->error);
	if (!error && !recv(device->control, &byte, 1, MSG_PEEK | MSG_DONTWAIT)) {
		int none = 0;
		atomic_compare_exchange_strong(&device->shared->error, &none, cudaErrorLaunchFailure);
		error = atomic_load(&device->shared->error);
		waitpid(device->pid, NULL, WNOHANG);
	}
	return error;
}

bool standin_is_done(struct standin_device *device, uint32_t stream, uint32_t ticket)
{
	return (int32_t)(atomic_load(&device->shared->ring[stream].done) - ticket) >= 0;
}

cudaError_t standin_wait(struct standin_device *device, uint32_t stream, uint32_t ticket)
{
	struct standin_ring *ring = &device->shared->ring[stream];
	for (;;) {
		unsigned done = atomic_load(&ring->done);
		cudaError_t error = standin_device_error(device);
		if (error || (int32_t)(done - ticket) >= 0)
			return error;
		futex_wait(&ring->done, done);
	}
}

cudaError_t standin_issue(
	struct standin_device *device, uint32_t stream, const struct standin_command *command, uint32_t *out_ticket)
{
	struct standin_ring *ring = &device->shared->ring[stream];
	unsigned char number = (unsigned char)stream;
	unsigned issued = atomic_load(&ring->issued);
	cudaError_t error = standin_wait(device, stream, issued - (STANDIN_DEPTH - 1));
	if (error)
		return error;
	if (!(device->started >> stream & 1) && send(device->control, &number, 1, MSG_NOSIGNAL) != 1)
		return standin_device_error(device);
	device->started |= 1u << stream;
	ring->command[issued % STANDIN_DEPTH] = *command;
	atomic_store(&ring->issued, issued + 1);
	futex_wake(&ring->issued);
	*out_ticket = issued + 1;
	return cudaSuccess;
}
