#define _GNU_SOURCE
#include "device_build.h"
#include "kernels/cuda/standin/standin.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The functions of the table, by CUDA's rules; each is called through a check that lets a chosen call fail. */
struct CUstream_st {
	int device;
	uint32_t number;
	bool live;
};
struct CUevent_st {
	int device;
	bool live, recorded;
	uint32_t stream, ticket; /* of the last record: the number of commands after which the stream has reached it */
};
struct CUmemPoolHandle_st {
	int device;
};

static struct standin_settings settings;
static struct standin_device devices[STANDIN_DEVICES];
static struct CUstream_st streams[STANDIN_DEVICES][STANDIN_STREAMS];
static struct CUevent_st events[STANDIN_EVENTS];
static struct CUmemPoolHandle_st pools[STANDIN_DEVICES];
static pthread_mutex_t handles = PTHREAD_MUTEX_INITIALIZER; /* protects `streams` and `events` */
static atomic_ullong calls, launches;                       /* calls of settings.fail */
static __thread int current;

static struct standin_device *locked(int device)
{
	pthread_mutex_lock(&devices[device].lock);
	return &devices[device];
}

static cudaError_t unlocked(struct standin_device *device, cudaError_t error)
{
	pthread_mutex_unlock(&device->lock);
	return error;
}

/* A device starts when it is first used. */
static cudaError_t use_device(int number)
{
	cudaError_t error = cudaSuccess;
	if (number < 0 || number >= settings.devices)
		return cudaErrorInvalidDevice;
	struct standin_device *device = locked(number);
	if (!device->shared)
		error = standin_device_start(device, number, &settings);
	return unlocked(device, error ? error : standin_device_error(device));
}

static bool is_stream(cudaStream_t stream)
{
	const struct CUstream_st *first = &streams[0][0];
	return stream >= first && stream < first + STANDIN_DEVICES * STANDIN_STREAMS && stream->live;
}

static bool is_event(cudaEvent_t event)
{
	return event >= events && event < events + STANDIN_EVENTS && event->live;
}

static cudaError_t issue(cudaStream_t stream, const struct standin_command *command)
{
	uint32_t ticket;
	if (!is_stream(stream))
		return cudaErrorInvalidResourceHandle;
	struct standin_device *device = locked(stream->device);
	return unlocked(device, standin_issue(device, stream->number, command, &ticket));
}

static uint32_t issued(const struct CUstream_st *stream)
{
	return atomic_load(&devices[stream->device].shared->ring[stream->number].issued);
}

static cudaError_t standin_cudaDriverGetVersion(int *version)
{
	*version = settings.driver;
	return cudaSuccess;
}

static cudaError_t standin_cudaRuntimeGetVersion(int *version)
{
	*version = 13000;
	return cudaSuccess;
}

static cudaError_t standin_cudaGetDeviceCount(int *count)
{
	*count = settings.devices;
	return settings.devices ? cudaSuccess : cudaErrorNoDevice;
}

static cudaError_t standin_cudaSetDevice(int device)
{
	cudaError_t error = use_device(device);
	if (!error)
		current = device;
	return error;
}

static cudaError_t standin_cudaGetDevice(int *device)
{
	*device = current;
	return cudaSuccess;
}

static cudaError_t standin_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	if (device < 0 || device >= settings.devices)
		return cudaErrorInvalidDevice;
	switch (attribute) {
	case cudaDevAttrMultiProcessorCount:
		*value = 1;
		return cudaSuccess;
	case cudaDevAttrComputeCapabilityMajor:
		*value = 9;
		return cudaSuccess;
	case cudaDevAttrComputeCapabilityMinor:
		*value = 0;
		return cudaSuccess;
	}
	return cudaErrorInvalidValue;
}

static cudaError_t standin_cudaMemGetInfo(size_t *available, size_t *total)
{
	cudaError_t error = use_device(current);
	if (error)
		return error;
	struct standin_device *device = locked(current);
	*total = settings.memory;
	*available = settings.memory - device->heap.in_use;
	return unlocked(device, cudaSuccess);
}

static cudaError_t standin_cudaDeviceSynchronize(void)
{
	cudaError_t error = use_device(current);
	for (int i = 0; i < STANDIN_STREAMS && !error; i++)
		if (streams[current][i].live)
			error = standin_wait(&devices[current], (uint32_t)i, issued(&streams[current][i]));
	return error;
}

static cudaError_t standin_cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	if (device < 0 || device >= settings.devices)
		return cudaErrorInvalidDevice;
	*pool = &pools[device];
	return cudaSuccess;
}

static bool is_pool(cudaMemPool_t pool)
{
	return pool >= pools && pool < pools + settings.devices;
}

static cudaError_t standin_cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	if (!is_pool(pool))
		return cudaErrorInvalidResourceHandle;
	struct standin_device *device = locked(pool->device);
	if (attribute == cudaMemPoolAttrReleaseThreshold)
		device->threshold = *(uint64_t *)value;
	else if (attribute == cudaMemPoolAttrUsedMemHigh && !*(uint64_t *)value)
		device->heap.most = device->heap.in_use;
	else
		return unlocked(device, cudaErrorInvalidValue);
	return unlocked(device, cudaSuccess);
}

static cudaError_t standin_cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	if (!is_pool(pool))
		return cudaErrorInvalidResourceHandle;
	struct standin_device *device = locked(pool->device);
	*(uint64_t *)value = attribute == cudaMemPoolAttrReleaseThreshold ? device->threshold
						 : attribute == cudaMemPoolAttrUsedMemHigh    ? device->heap.most
																	  : device->heap.in_use;
	return unlocked(device, cudaSuccess);
}

/* Free blocks are all that a pool keeps, and other pools do not exist: there is nothing to give back. */
static cudaError_t standin_cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
	(void)keep;
	return is_pool(pool) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

static bool usable_by(void *arg, const struct standin_block *block)
{
	const struct CUstream_st *stream = arg;
	return block->stream == stream->number || standin_is_done(&devices[stream->device], block->stream, block->ticket);
}

/* With the lock held: fills memory that nobody may read with bytes of which every float is a NaN. */
static cudaError_t poison_memory(struct standin_device *device, cudaStream_t stream, uint64_t address, uint64_t bytes)
{
	const struct standin_command fill = {.kind = STANDIN_FILL, .to = address, .bytes = bytes, .byte = 0xff};
	uint32_t ticket;
	return settings.poison ? standin_issue(device, stream->number, &fill, &ticket) : cudaSuccess;
}

static cudaError_t standin_cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	if (!is_pool(pool) || !is_stream(stream) || pool->device != stream->device)
		return cudaErrorInvalidResourceHandle;
	struct standin_device *device = locked(pool->device);
	cudaError_t error = standin_device_error(device);
	uint64_t address = error ? 0 : standin_heap_allocate(&device->heap, bytes, usable_by, stream);
	if (!error && !address)
		error = cudaErrorMemoryAllocation;
	if (!error)
		error = poison_memory(device, stream, address, standin_heap_find(&device->heap, address)->bytes);
	*memory = (void *)address;
	return unlocked(device, error);
}

static cudaError_t standin_cudaFreeAsync(void *memory, cudaStream_t stream)
{
	if (!is_stream(stream))
		return cudaErrorInvalidResourceHandle;
	struct standin_device *device = locked(stream->device);
	struct standin_block *block = standin_heap_find(&device->heap, (uint64_t)memory);
	cudaError_t error = block ? poison_memory(device, stream, block->address, block->bytes) : cudaErrorInvalidValue;
	if (block)
		standin_heap_free(&device->heap, block, stream->number, issued(stream));
	return unlocked(device, error);
}

static bool always_usable(void *arg, const struct standin_block *block)
{
	(void)arg, (void)block;
	return true;
}

static cudaError_t standin_cudaMallocHost(void **memory, size_t bytes)
{
	cudaError_t error = use_device(current);
	if (error)
		return error;
	struct standin_device *device = locked(current);
	uint64_t address = standin_heap_allocate(&device->pinned, bytes, always_usable, NULL);
	*memory = (void *)address;
	return unlocked(device, address ? cudaSuccess : cudaErrorMemoryAllocation);
}

/* The device that has the memory, which is used no more once it is idle. */
static cudaError_t standin_cudaFreeHost(void *memory)
{
	for (int i = 0; i < settings.devices; i++) {
		struct standin_device *device = locked(i);
		struct standin_block *block = device->shared ? standin_heap_find(&device->pinned, (uint64_t)memory) : NULL;
		unlocked(device, cudaSuccess);
		if (!block)
			continue;
		int before = current;
		current = i;
		cudaError_t error = standin_cudaDeviceSynchronize();
		current = before;
		locked(i);
		standin_heap_free(&device->pinned, block, 0, 0);
		return unlocked(device, error);
	}
	return cudaErrorInvalidValue;
}

/* A copy between memory that the device cannot map and its own: when all before it in the stream is done. */
static cudaError_t copy_pageable(cudaStream_t stream, uint64_t address, void *read, const void *written, size_t bytes)
{
	struct standin_device *device = &devices[stream->device];
	cudaError_t error = standin_wait(device, stream->number, issued(stream));
	off_t at = (off_t)(address - device->shared->memory);
	while (bytes && !error) {
		ssize_t n =
			read ? pread(device->memory_file, read, bytes, at) : pwrite(device->memory_file, written, bytes, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return cudaErrorInvalidValue;
		read = read ? (char *)read + n : NULL;
		written = written ? (const char *)written + n : NULL;
		bytes -= (size_t)n;
		at += n;
	}
	return error;
}

static bool on_device(const struct standin_device *device, const void *memory)
{
	uint64_t offset = (uint64_t)memory - device->shared->memory;
	return (uint64_t)memory >= device->shared->memory && offset < device->shared->memory_bytes;
}

/* cudaSuccess if each side of a copy is of the kind that its direction says, and within a block of memory. */
static cudaError_t check_copy(struct standin_device *device, const void *to, const void *from, size_t bytes, int kind)
{
	bool writes = kind != cudaMemcpyDeviceToHost, reads = kind != cudaMemcpyHostToDevice;
	if (kind < cudaMemcpyHostToDevice || kind > cudaMemcpyDeviceToDevice || on_device(device, to) != writes ||
		on_device(device, from) != reads)
		return cudaErrorInvalidMemcpyDirection;
	if (writes && !standin_heap_containing(&device->heap, (uint64_t)to, bytes))
		return cudaErrorInvalidValue;
	return reads && !standin_heap_containing(&device->heap, (uint64_t)from, bytes) ? cudaErrorInvalidValue
																				   : cudaSuccess;
}

static cudaError_t standin_cudaMemcpyAsync(
	void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	if (!is_stream(stream))
		return cudaErrorInvalidResourceHandle;
	struct standin_device *device = locked(stream->device);
	cudaError_t error = bytes ? check_copy(device, to, from, bytes, kind) : cudaSuccess;
	const void *host = kind == cudaMemcpyDeviceToHost ? to : from;
	bool pinned = !error && bytes && standin_heap_containing(&device->pinned, (uint64_t)host, bytes);
	unlocked(device, error);
	if (error || !bytes)
		return error;
	if (kind == cudaMemcpyDeviceToDevice || pinned)
		return issue(stream, &(struct standin_command){
								 .kind = STANDIN_COPY, .to = (uint64_t)to, .from = (uint64_t)from, .bytes = bytes});
	return kind == cudaMemcpyHostToDevice ? copy_pageable(stream, (uint64_t)to, NULL, from, bytes)
										  : copy_pageable(stream, (uint64_t)from, to, NULL, bytes);
}

static cudaError_t standin_cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream)
{
	if (!is_stream(stream))
		return cudaErrorInvalidResourceHandle;
	struct standin_device *device = locked(stream->device);
	bool there = standin_heap_containing(&device->heap, (uint64_t)to, bytes);
	unlocked(device, cudaSuccess);
	if (!there)
		return cudaErrorInvalidValue;
	return issue(
		stream, &(struct standin_command){.kind = STANDIN_FILL, .to = (uint64_t)to, .bytes = bytes, .byte = byte});
}

static cudaError_t standin_cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	cudaError_t error = flags > cudaStreamNonBlocking ? cudaErrorInvalidValue : use_device(current);
	if (error)
		return error;
	pthread_mutex_lock(&handles);
	for (uint32_t i = 0; i < STANDIN_STREAMS; i++) {
		struct CUstream_st *free = &streams[current][i];
		if (free->live)
			continue;
		*free = (struct CUstream_st){.device = current, .number = i, .live = true};
		*stream = free;
		pthread_mutex_unlock(&handles);
		return cudaSuccess;
	}
	pthread_mutex_unlock(&handles);
	return cudaErrorMemoryAllocation;
}

static cudaError_t standin_cudaStreamSynchronize(cudaStream_t stream)
{
	if (!is_stream(stream))
		return cudaErrorInvalidResourceHandle;
	return standin_wait(&devices[stream->device], stream->number, issued(stream));
}

static cudaError_t standin_cudaStreamDestroy(cudaStream_t stream)
{
	if (!is_stream(stream))
		return cudaErrorInvalidResourceHandle;
	cudaError_t error = standin_cudaStreamSynchronize(stream);
	pthread_mutex_lock(&handles);
	stream->live = false;
	pthread_mutex_unlock(&handles);
	return error;
}

static cudaError_t ready(int number, uint32_t stream, uint32_t ticket)
{
	cudaError_t error = standin_device_error(&devices[number]);
	if (error)
		return error;
	return standin_is_done(&devices[number], stream, ticket) ? cudaSuccess : cudaErrorNotReady;
}

static cudaError_t standin_cudaStreamQuery(cudaStream_t stream)
{
	return is_stream(stream) ? ready(stream->device, stream->number, issued(stream)) : cudaErrorInvalidResourceHandle;
}

static cudaError_t standin_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	if (!is_stream(stream) || !is_event(event))
		return cudaErrorInvalidResourceHandle;
	if (flags)
		return cudaErrorInvalidValue;
	if (!event->recorded)
		return cudaSuccess;
	if (event->device != stream->device)
		return standin_wait(&devices[event->device], event->stream, event->ticket);
	return issue(
		stream, &(struct standin_command){.kind = STANDIN_WAIT, .stream = event->stream, .ticket = event->ticket});
}

static cudaError_t standin_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	cudaError_t error = flags & ~(unsigned)cudaEventDisableTiming ? cudaErrorInvalidValue : use_device(current);
	if (error)
		return error;
	pthread_mutex_lock(&handles);
	int i = 0;
	while (i < STANDIN_EVENTS && events[i].live)
		i++;
	if (i < STANDIN_EVENTS)
		events[i] = (struct CUevent_st){.device = current, .live = true};
	pthread_mutex_unlock(&handles);
	*event = &events[i % STANDIN_EVENTS];
	return i < STANDIN_EVENTS ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t standin_cudaEventDestroy(cudaEvent_t event)
{
	if (!is_event(event))
		return cudaErrorInvalidResourceHandle;
	event->live = false;
	return cudaSuccess;
}

static cudaError_t standin_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	if (!is_event(event) || !is_stream(stream) || event->device != stream->device)
		return cudaErrorInvalidResourceHandle;
	event->recorded = true;
	event->stream = stream->number;
	event->ticket = issued(stream);
	return standin_device_error(&devices[event->device]);
}

static cudaError_t standin_cudaEventQuery(cudaEvent_t event)
{
	if (!is_event(event))
		return cudaErrorInvalidResourceHandle;
	return event->recorded ? ready(event->device, event->stream, event->ticket) : cudaSuccess;
}

static cudaError_t standin_cudaEventSynchronize(cudaEvent_t event)
{
	if (!is_event(event))
		return cudaErrorInvalidResourceHandle;
	return event->recorded ? standin_wait(&devices[event->device], event->stream, event->ticket) : cudaSuccess;
}

/* The number of a kernel, over both modes. */
static bool find_kernel(const void *kernel, uint32_t *out_number)
{
	const struct dfg_device_kernel *entry = kernel;
	if (entry >= standin_kernel_flush && entry < standin_kernel_flush + standin_kernels)
		*out_number = (uint32_t)(entry - standin_kernel_flush);
	else if (entry >= standin_kernel_keep && entry < standin_kernel_keep + standin_kernels)
		*out_number = (uint32_t)(entry - standin_kernel_keep) + (uint32_t)standin_kernels;
	else
		return false;
	return true;
}

static bool is_launchable(dim3 grid, dim3 block)
{
	uint64_t threads = (uint64_t)block.x * block.y * block.z;
	return grid.x && grid.y && grid.z && grid.y <= 65535 && grid.z <= 65535 && threads &&
		   threads <= STANDIN_BLOCK_THREADS;
}

/* The faults that are set for this launch: the device is lost as if its process were killed, or its memory is damaged. */
static void inject_faults(struct standin_device *device)
{
	uint64_t launch = atomic_fetch_add(&launches, 1) + 1;
	int none = 0;
	if (launch == settings.ecc)
		atomic_compare_exchange_strong(&device->shared->error, &none, cudaErrorECCUncorrectable);
	if (launch == settings.lost)
		kill(device->pid, SIGKILL);
}

static cudaError_t standin_cudaLaunchKernel(
	const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
	struct standin_command command = {
		.kind = STANDIN_KERNEL, .grid = {grid.x, grid.y, grid.z}, .block = {block.x, block.y, block.z}};
	if (!find_kernel(kernel, &command.kernel))
		return cudaErrorInvalidDeviceFunction;
	if (!is_stream(stream))
		return cudaErrorInvalidResourceHandle;
	if (shared || !is_launchable(grid, block))
		return cudaErrorInvalidConfiguration;
	memcpy(command.argument, *arguments, ((const struct dfg_device_kernel *)kernel)->argument_bytes);
	inject_faults(&devices[stream->device]);
	return issue(stream, &command);
}

/* The chosen call of the chosen function fails: an allocation for want of memory, another for an unknown reason. */
static cudaError_t fault_of(const char *function)
{
	if (!settings.fail || strcmp(function, settings.fail) != 0 || atomic_fetch_add(&calls, 1) + 1 != settings.fail_at)
		return cudaSuccess;
	return !strncmp(function, "cudaMalloc", 10) ? cudaErrorMemoryAllocation : cudaErrorUnknown;
}

#define CALL(name, parameters, arguments)                \
	static cudaError_t checked_##name parameters         \
	{                                                    \
		cudaError_t error = fault_of(#name);             \
		return error ? error : standin_##name arguments; \
	}
#include "lib/exec/device/api.def"
#undef CALL

static bool open_standin(char *why, size_t capacity)
{
	if (!standin_settings_read(getenv("DFG_STANDIN"), &settings, why, capacity))
		return false;
	for (int i = 0; i < STANDIN_DEVICES; i++) {
		pools[i].device = i;
		pthread_mutex_init(&devices[i].lock, NULL);
	}
	return true;
}

static bool describe_device(int device, char *name, size_t capacity)
{
	return device >= 0 && device < settings.devices &&
		   snprintf(name, capacity, "stand-in with %llu MiB", (unsigned long long)(settings.memory >> 20)) > 0;
}

__attribute__((visibility("default")))
const struct dfg_device_provider dfg_device_provider = {.build = DFG_DEVICE_BUILD,
	.name = "stand-in",
	.open = open_standin,
	.describe = describe_device,
	.api =
		{
#define CALL(name, parameters, arguments) .name = checked_##name,
#include "lib/exec/device/api.def"
#undef CALL
		},
	.kernel = {standin_kernel_flush, standin_kernel_keep},
#define KERNEL(family, name) +1
	.kernels = 0
#include "cuda_kernels.def"
#undef KERNEL
};
