#include "lib/exec/device/device.h"

#include "lib/exec/device/device_private.h"

#include <stdio.h>

/* The calling thread uses the device: CUDA's current device is a thread's. */
static struct dfg_err *use_device(const struct dfg_device *device)
{
	return dfg_cuda_error(device->api->cudaSetDevice(device->index), "choosing the device");
}

struct dfg_err *dfg_device_error(const struct dfg_device *device, cudaError_t error, const char *what)
{
	return dfg_err_note(dfg_cuda_error(error, what), "%s", device->name);
}

/* The pool keeps the memory that is freed, because each step takes it again. */
static struct dfg_err *begin_use(struct dfg_device *device)
{
	const struct dfg_device_api *api = device->api;
	uint64_t all = UINT64_MAX;
	DFG_TRY(use_device(device));
	DFG_TRY(dfg_cuda_error(api->cudaDeviceGetDefaultMemPool(&device->pool, device->index), "finding its memory pool"));
	DFG_TRY(dfg_cuda_error(api->cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &all),
		"setting up its memory pool"));
	return dfg_cuda_error(api->cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking), "creating a stream");
}

struct dfg_err *dfg_device_open(
	const struct dfg_device_provider *provider, int index, enum dfg_denormals denormals, struct dfg_device **out_device)
{
	DFG_TRY(dfg_device_check(provider, index));
	struct dfg_device *device = dfg_zeros(1, sizeof *device);
	if (!device)
		return dfg_no_memory("a device");
	device->provider = provider;
	device->api = &provider->api;
	device->index = index;
	device->denormals = denormals;
	snprintf(device->name, sizeof device->name, "cuda:%d", index);
	struct dfg_err *err = dfg_err_note(begin_use(device), "%s", device->name);
	if (err)
		dfg_free(device);
	else
		*out_device = device;
	return err;
}

/* The stream of a lost device cannot be destroyed, and need not be. */
void dfg_device_close(struct dfg_device *device)
{
	if (!device)
		return;
	dfg_err_free(use_device(device));
	(void)device->api->cudaStreamDestroy(device->stream);
	dfg_free(device);
}

const char *dfg_device_name(const struct dfg_device *device)
{
	return device->name;
}

/* The last reference is gone: the memory is free after all that the stream has been given. */
static void free_on_device(struct dfg_buffer *buffer)
{
	struct dfg_device *device = buffer->device;
	dfg_err_free(use_device(device));
	(void)device->api->cudaFreeAsync(buffer->data, device->stream); /* fails on a lost device, whose memory is gone */
	atomic_fetch_sub(&device->in_use, buffer->capacity);
	dfg_free(buffer);
}

static void count_memory(struct dfg_device *device, size_t bytes)
{
	uint64_t now = atomic_fetch_add(&device->in_use, bytes) + bytes, peak = atomic_load(&device->peak);
	while (now > peak && !atomic_compare_exchange_weak(&device->peak, &peak, now))
		;
}

static struct dfg_err *no_device_memory(
	const struct dfg_device *device, enum dfg_dtype dtype, const struct dfg_shape *shape, size_t bytes)
{
	size_t available = 0, total = 0;
	(void)device->api->cudaMemGetInfo(&available, &total);
	return DFG_ERR(DFG_MEMORY, "%s has no memory for %s (%zu bytes): this run uses %llu of its %zu bytes", device->name,
		dfg_type_words(dtype, shape).s, bytes, (unsigned long long)atomic_load(&device->in_use), total);
}

struct dfg_err *dfg_device_tensor(
	struct dfg_device *device, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	size_t bytes;
	void *data;
	DFG_TRY(dfg_shape_bytes(shape, dtype, &bytes));
	DFG_TRY(use_device(device));
	struct dfg_buffer *buffer = dfg_zeros(1, sizeof *buffer);
	if (!buffer)
		return dfg_no_memory("a buffer");
	size_t taken = bytes ? bytes : 1;
	cudaError_t error = device->api->cudaMallocFromPoolAsync(&data, taken, device->pool, device->stream);
	if (error) {
		dfg_free(buffer);
		return error == cudaErrorMemoryAllocation ? no_device_memory(device, dtype, shape, bytes)
												  : dfg_device_error(device, error, "allocating");
	}
	*buffer = (struct dfg_buffer){
		.refs = 1, .holds = dtype, .capacity = taken, .data = data, .release = free_on_device, .device = device};
	count_memory(device, taken);
	*out_tensor = (struct dfg_tensor){dtype, *shape, data, taken, buffer};
	return NULL;
}

struct dfg_err *dfg_device_copy_in(
	struct dfg_device *device, const struct dfg_tensor *from, struct dfg_tensor *out_tensor)
{
	size_t bytes = dfg_tensor_bytes(from);
	DFG_TRY(dfg_device_tensor(device, from->dtype, &from->shape, out_tensor));
	cudaError_t error =
		device->api->cudaMemcpyAsync(out_tensor->data, from->data, bytes, cudaMemcpyHostToDevice, device->stream);
	if (error) {
		dfg_tensor_release(out_tensor);
		return dfg_device_error(device, error, "copying to the device");
	}
	atomic_fetch_add(&device->copies_in, 1);
	atomic_fetch_add(&device->bytes_in, bytes);
	return NULL;
}

struct dfg_err *dfg_device_copy_out(const struct dfg_tensor *from, struct dfg_tensor *out_tensor)
{
	struct dfg_device *device = from->buffer->device;
	size_t bytes = dfg_tensor_bytes(from);
	DFG_TRY(use_device(device));
	DFG_TRY(dfg_tensor_new(from->dtype, &from->shape, out_tensor));
	cudaError_t error =
		device->api->cudaMemcpyAsync(out_tensor->data, from->data, bytes, cudaMemcpyDeviceToHost, device->stream);
	if (!error)
		error = device->api->cudaStreamSynchronize(device->stream);
	if (error) {
		dfg_tensor_release(out_tensor);
		return dfg_device_error(device, error, "copying to the host");
	}
	atomic_fetch_add(&device->waits, 1);
	atomic_fetch_add(&device->copies_out, 1);
	atomic_fetch_add(&device->bytes_out, bytes);
	return NULL;
}

struct dfg_device_counts dfg_device_counts(const struct dfg_device *device)
{
	return (struct dfg_device_counts){
		.launches = atomic_load(&device->launches),
		.waits = atomic_load(&device->waits),
		.copies_in = atomic_load(&device->copies_in),
		.bytes_in = atomic_load(&device->bytes_in),
		.copies_out = atomic_load(&device->copies_out),
		.bytes_out = atomic_load(&device->bytes_out),
		.peak_bytes = atomic_load(&device->peak),
	};
}
