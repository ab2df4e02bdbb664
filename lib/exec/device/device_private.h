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

/* dfg_cuda_error, with the name of the device in front. */
DFG_MUST_CHECK struct dfg_err *dfg_device_error(const struct dfg_device *device, cudaError_t error, const char *what);
