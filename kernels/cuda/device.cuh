#pragma once

/*
 * What a kernel needs of CUDA, for nvcc and for g++. KERNEL(family, name) begins the definition of kernel `name`, which
 * takes one struct by value, dfg_<family>_launch, and calls it `launch`. The kernel's symbol is dfg_<family>_kernel_<name>,
 * from which make writes the tables of kernels.
 */
#include "kernels/device_function.h"

#ifdef __CUDACC__
#define KERNEL(family, name) \
	extern "C" __global__ void dfg_##family##_kernel_##name(const struct dfg_##family##_launch launch)
#else
struct standin_index {
	unsigned x, y, z;
};
/* The indices and extents of the block that runs; kernels/cuda/standin/device.c sets them. */
extern "C" __thread struct standin_index blockIdx, threadIdx, blockDim, gridDim;
#define KERNEL(family, name)                                                         \
	static inline void name##_thread(const struct dfg_##family##_launch &launch);    \
	extern "C" void dfg_##family##_kernel_##name(const void *argument)               \
	{                                                                                \
		name##_thread(*static_cast<const struct dfg_##family##_launch *>(argument)); \
	}                                                                                \
	static inline void name##_thread(const struct dfg_##family##_launch &launch)
#endif
