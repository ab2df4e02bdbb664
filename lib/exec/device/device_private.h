#pragma once

#include "lib/exec/device/device.h"

struct dfg_device {
	const struct dfg_device_provider *provider;
	const struct dfg_device_api *api;
	int index;
	char name[20];
	enum dfg_denormals denormals;
	cudaStream_t stream;
	cudaMemPool_t pool;
	_Atomic uint64_t in_use, peak; /* bytes of buffers */
	_Atomic uint64_t launches, waits, copies_in, bytes_in, copies_out, bytes_out;
};

typedef struct dfg_err *dfg_device_run_fn(struct dfg_device *device, const struct dfg_device_kernel *kernel,
	const struct dfg_resolved_node *call, struct dfg_tensor *const *in, struct dfg_tensor *out_tensor);

/* For each family of kernels: whether its kernels compute the node, and the function that launches one. */
#define FAMILY(name, host)                                              \
	bool dfg_device_takes_##name(const struct dfg_resolved_node *call); \
	DFG_MUST_CHECK dfg_device_run_fn dfg_device_run_##name;
#include "lib/exec/device/families.def"
#undef FAMILY

/* The output, undefined, in the shape that the op's shape function gives; at most DFG_PORT_MAX inputs. */
DFG_MUST_CHECK struct dfg_err *dfg_device_output(struct dfg_device *device, const struct dfg_device_kernel *kernel,
	const struct dfg_resolved_node *call, struct dfg_tensor *const *in, struct dfg_tensor *out_tensor);

/* Launches a kernel with a thread for each of `count` elements, up to a limit, from which threads take several. */
DFG_MUST_CHECK struct dfg_err *dfg_device_launch(
	struct dfg_device *device, const struct dfg_device_kernel *kernel, int64_t count, void *argument);

/* dfg_cuda_error, with the name of the device in front. */
DFG_MUST_CHECK struct dfg_err *dfg_device_error(const struct dfg_device *device, cudaError_t error, const char *what);
