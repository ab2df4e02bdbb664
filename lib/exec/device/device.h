#pragma once

#include "lib/exec/device/provider.h"
#include "lib/base/float_mode.h"
#include "lib/graph/kernel.h"

#include <stdatomic.h>

/*
 * A device in use by a session: a stream, in whose order everything on the device happens, and a pool of memory. A tensor on
 * a device has a buffer whose `device` is set, and its data must not be dereferenced. Any thread.
 */
struct dfg_device;

/*
 * Opens device `index` of the provider, whose kernels then flush or keep denormals. DFG_CONFIG, listing those that exist, if
 * there is no such device. No buffer of the device may be left when it is closed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_device_open(const struct dfg_device_provider *provider, int index,
	enum dfg_denormals denormals, struct dfg_device **out_device);
void dfg_device_close(struct dfg_device *device); /* NULL is fine */

/* "cuda:0" */
const char *dfg_device_name(const struct dfg_device *device);

static inline bool dfg_on_device(const struct dfg_tensor *tensor)
{
	return tensor->buffer && tensor->buffer->device;
}

/* A tensor on the device, with undefined elements. DFG_MEMORY, with the bytes in use, if there is no memory for it. */
DFG_MUST_CHECK struct dfg_err *dfg_device_tensor(
	struct dfg_device *device, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor);

/* A copy of a tensor of the host on the device; and of one on a device on the host, which the stream is waited for. */
DFG_MUST_CHECK struct dfg_err *dfg_device_copy_in(
	struct dfg_device *device, const struct dfg_tensor *from, struct dfg_tensor *out_tensor);
DFG_MUST_CHECK struct dfg_err *dfg_device_copy_out(const struct dfg_tensor *from, struct dfg_tensor *out_tensor);

/* The kernel for the node with its types; NULL where devices have none for it. */
const struct dfg_device_kernel *dfg_device_find_kernel(
	const struct dfg_device_provider *provider, const struct dfg_resolved_node *call, enum dfg_denormals denormals);

/* Whether the kernel reads input i on the device; else it is a tensor of the host, as all are without a kernel (NULL). */
bool dfg_device_reads(const struct dfg_device_kernel *kernel, int i);

/* Launches the kernel; the inputs that it reads are on the device. *out_tensor is the output. DFG_DATA if their shapes do not fit. */
DFG_MUST_CHECK struct dfg_err *dfg_device_run(struct dfg_device *device, const struct dfg_device_kernel *kernel,
	const struct dfg_resolved_node *call, struct dfg_tensor *const *in, struct dfg_tensor *out_tensor);

/* The kernel for the node on this device, as dfg_device_find_kernel. */
const struct dfg_device_kernel *dfg_device_kernel_of(
	const struct dfg_device *device, const struct dfg_resolved_node *call);

/* Totals since the device was opened; waits: how often a thread of the host waited for the stream. */
struct dfg_device_counts {
	uint64_t launches, waits, copies_in, bytes_in, copies_out, bytes_out, peak_bytes;
};
struct dfg_device_counts dfg_device_counts(const struct dfg_device *device);
