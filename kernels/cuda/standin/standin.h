#pragma once

#include "lib/exec/device/api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/*
 * The stand-in for CUDA: devices without hardware, which run the same kernels on the processor and enforce CUDA's rules.
 *
 * A device is a process of its own (device.c), so that neither side can reach the other's memory. Its memory is a file in
 * memory (memfd) that only the device maps; the host reserves the same addresses without access, so that a stray dereference
 * is a fault on either side. Memory of cudaMallocHost is mapped by both, at the same addresses. A stream is a thread of the
 * device, which takes commands from a ring in memory that both share; how many it has done is a futex.
 */
enum {
	STANDIN_DEVICES = 8,
	STANDIN_STREAMS = 16,
	STANDIN_EVENTS = 1024,
	STANDIN_DEPTH = 64, /* commands that a stream holds */
	STANDIN_ARGUMENT = 1024,
	STANDIN_BLOCK_THREADS = 1024,
};

/* The descriptors that a device's process begins with, after the standard ones. */
enum { STANDIN_CONTROL = 3, STANDIN_SHARED, STANDIN_MEMORY, STANDIN_PINNED, STANDIN_DESCRIPTORS };

struct standin_index {
	unsigned x, y, z;
};

enum standin_command_kind { STANDIN_KERNEL, STANDIN_COPY, STANDIN_FILL, STANDIN_WAIT };
struct standin_command {
	enum standin_command_kind kind;
	uint32_t kernel; /* its number; from the number of kernels on, with denormals kept */
	struct standin_index grid, block;
	uint64_t to, from, bytes; /* addresses */
	int byte;                 /* of a fill */
	uint32_t stream, ticket;  /* of a wait: the number of commands that it waits for that stream to do */
	_Alignas(16) unsigned char argument[STANDIN_ARGUMENT];
};

struct standin_ring {
	atomic_uint issued, done; /* commands; futexes. They never start again at 0 */
	struct standin_command command[STANDIN_DEPTH];
};

/* Mapped by the host and the device. */
struct standin_shared {
	atomic_int error; /* that ended the device: every later call fails with it */
	uint64_t memory, memory_bytes, pinned, pinned_bytes;
	uint64_t delay; /* seed of random delays; 0: none */
	struct standin_ring ring[STANDIN_STREAMS];
};

/* The settings of the variable DFG_STANDIN (settings.c). */
struct standin_settings {
	int devices, driver; /* driver: a version as of cudaDriverGetVersion */
	uint64_t memory, delay;
	bool poison;                 /* memory that is fresh or freed is filled with NaN */
	const char *fail;            /* the name of a function whose call number fail_at fails; NULL: none */
	uint64_t fail_at, lost, ecc; /* launches at which the device is lost, or its memory is damaged; 0: never */
};
bool standin_settings_read(const char *text, struct standin_settings *out_settings, char *why, size_t capacity);

/* Blocks of a range of memory, in the order of their addresses, used and free (heap.c). */
struct standin_block {
	uint64_t address, bytes;
	bool used;
	uint32_t stream, ticket; /* of a free block: usable on its stream at once, on another one after that ticket */
};
struct standin_heap {
	struct standin_block *block;
	size_t blocks, capacity;
	uint64_t in_use, most;
};
/* Whether all that uses a free block precedes what the asking stream does next. */
typedef bool standin_usable(void *arg, const struct standin_block *block);

bool standin_heap_init(struct standin_heap *heap, uint64_t address, uint64_t bytes);
uint64_t standin_heap_allocate(struct standin_heap *heap, uint64_t bytes, standin_usable *usable, void *arg);
/* The used block that begins at the address; and the one that contains the range; NULL for none. */
struct standin_block *standin_heap_find(struct standin_heap *heap, uint64_t address);
struct standin_block *standin_heap_containing(struct standin_heap *heap, uint64_t address, uint64_t bytes);
void standin_heap_free(struct standin_heap *heap, struct standin_block *block, uint32_t stream, uint32_t ticket);

/* A device as the host sees it (process.c). */
struct standin_device {
	struct standin_shared *shared; /* NULL: its process has not been started */
	pid_t pid;
	int control, memory_file;
	struct standin_heap heap, pinned;
	uint64_t threshold;
	bool stream[STANDIN_STREAMS]; /* in use */
	uint32_t started;             /* bit i: stream i has a thread */
	pthread_mutex_t lock;         /* protects the heaps and the rings' producing ends */
};
/* Starts the process: cudaErrorDevicesUnavailable if that fails. */
cudaError_t standin_device_start(struct standin_device *device, int number, const struct standin_settings *settings);
cudaError_t standin_device_error(struct standin_device *device);

/* With the lock held: adds a command to a stream. *out_ticket: the number of commands after which it is done. */
cudaError_t standin_issue(
	struct standin_device *device, uint32_t stream, const struct standin_command *command, uint32_t *out_ticket);
bool standin_is_done(struct standin_device *device, uint32_t stream, uint32_t ticket);
cudaError_t standin_wait(struct standin_device *device, uint32_t stream, uint32_t ticket);

/* The kernels, once for each mode of denormals (kernels.c); a kernel's `function` is its address here. */
extern const struct dfg_device_kernel standin_kernel_flush[], standin_kernel_keep[];
extern const size_t standin_kernels;
