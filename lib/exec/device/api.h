#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The boundary between dfg and a device: a table of functions that have the names, types and contracts of the CUDA Runtime
 * (CUDA Runtime API, "Modules"). All above it is C that runs without CUDA. The types below are CUDA's, for files that do not
 * include its headers.
 */
#ifndef CUDART_VERSION
typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUmemPoolHandle_st *cudaMemPool_t;
typedef struct dim3 {
	unsigned x, y, z;
} dim3;
enum {
	cudaSuccess = 0,
#define CUDA_ERROR(name, number, ...) name = number,
#include "lib/exec/device/errors.def"
#undef CUDA_ERROR
};
enum cudaDeviceAttr {
	cudaDevAttrMultiProcessorCount = 16,
	cudaDevAttrComputeCapabilityMajor = 75,
	cudaDevAttrComputeCapabilityMinor = 76,
};
enum cudaMemPoolAttr {
	cudaMemPoolAttrReleaseThreshold = 4, /* uint64_t, bytes that the pool keeps when they are free */
	cudaMemPoolAttrUsedMemCurrent = 7,   /* uint64_t, bytes in use */
	cudaMemPoolAttrUsedMemHigh = 8,      /* uint64_t, the most so far; 0 may be set */
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
#endif

struct dfg_device_api {
#define CALL(name, parameters, arguments) cudaError_t(*name) parameters;
#include "lib/exec/device/api.def"
#undef CALL
};

enum dfg_device_family {
#define FAMILY(name, host) DFG_FAMILY_##name,
#include "lib/exec/device/families.def"
#undef FAMILY
};

/* A kernel of a provider, for cudaLaunchKernel, with the size of the struct that is its argument. */
struct dfg_device_kernel {
	const char *name; /* "Exp_f32" */
	const void *function;
	size_t argument_bytes;
	enum dfg_device_family family;
};

/*
 * The symbol of a provider: dfg_device_provider. A provider of another build may disagree on the table and on the structs
 * that kernels take: `build` must be DFG_DEVICE_BUILD, the hash of all sources of devices, before anything else is read.
 */
struct dfg_device_provider {
	char build[17];
	const char *name; /* "CUDA 13.0", "stand-in" */
	bool hardware;    /* it drives devices */
	/* Called once, before any function of the table; false, and why, if its configuration is wrong. */
	bool (*open)(char *why, size_t capacity);
	/* The name of a device, such as "NVIDIA H100"; false if there is none. */
	bool (*describe)(int device, char *name, size_t capacity);
	struct dfg_device_api api;
	const struct dfg_device_kernel *kernel[2]; /* by enum dfg_denormals, in the byte order of their names */
	size_t kernels;
};
