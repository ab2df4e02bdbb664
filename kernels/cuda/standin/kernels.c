#include "lib/exec/device/product_launch.h"
#include "lib/exec/device/reduction_launch.h"
#include "lib/exec/device/row_launch.h"
#include "kernels/cuda/standin/standin.h"

/* The table of kernels, whose list make writes from the symbols of kernels/X.cu. The functions are in the device's program. */
enum {
#define KERNEL(family, name) NUMBER_##name,
#include "cuda_kernels.def"
#undef KERNEL
	KERNELS
};
const size_t standin_kernels = KERNELS;

#define KERNEL_OF(family, name, table) \
	{#name, &table[NUMBER_##name], sizeof(struct dfg_##family##_launch), DFG_FAMILY_##family},
const struct dfg_device_kernel standin_kernel_flush[KERNELS] = {
#define KERNEL(family, name) KERNEL_OF(family, name, standin_kernel_flush)
#include "cuda_kernels.def"
#undef KERNEL
};
const struct dfg_device_kernel standin_kernel_keep[KERNELS] = {
#define KERNEL(family, name) KERNEL_OF(family, name, standin_kernel_keep)
#include "cuda_kernels.def"
#undef KERNEL
};
