#include "lib/exec/device/device.h"

#include "lib/exec/device/device_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finding and launching the kernel of a node, which its family does. */
static const struct {
	bool (*takes)(const struct dfg_resolved_node *call);
	dfg_device_run_fn *run;
} families[] = {
#define FAMILY(name) [DFG_FAMILY_##name] = {dfg_device_takes_##name, dfg_device_run_##name},
#include "lib/exec/device/families.def"
#undef FAMILY
};

static int compare_names(const void *name, const void *kernel)
{
	return strcmp(name, ((const struct dfg_device_kernel *)kernel)->name);
}

const struct dfg_device_kernel *dfg_device_find_kernel(
	const struct dfg_device_provider *provider, const struct dfg_resolved_node *call, enum dfg_denormals denormals)
{
	char name[120];
	enum dfg_dtype dtype = dfg_kernel_dtype(call);
	snprintf(name, sizeof name, "%s_%s", call->op->name, dtype ? dfg_dtype_name(dtype) : "bool");
	const struct dfg_device_kernel *kernel =
		bsearch(name, provider->kernel[denormals], provider->kernels, sizeof(struct dfg_device_kernel), compare_names);
	return kernel && families[kernel->family].takes(call) ? kernel : NULL;
}

const struct dfg_device_kernel *dfg_device_kernel_of(
	const struct dfg_device *device, const struct dfg_resolved_node *call)
{
	return dfg_device_find_kernel(device->provider, call, device->denormals);
}

struct dfg_err *dfg_device_run(struct dfg_device *device, const struct dfg_device_kernel *kernel,
	const struct dfg_resolved_node *call, struct dfg_tensor *const *in, struct dfg_tensor *out_tensor)
{
	return families[kernel->family].run(device, kernel, call, in, out_tensor);
}

struct dfg_err *dfg_device_launch(
	struct dfg_device *device, const struct dfg_device_kernel *kernel, int64_t count, void *argument)
{
	enum { THREADS = 256, BLOCKS_MOST = 1 << 20 };
	int64_t blocks = (count + THREADS - 1) / THREADS;
	const dim3 grid = {(unsigned)(blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST), 1, 1}, block = {THREADS, 1, 1};
	if (!count)
		return NULL;
	atomic_fetch_add(&device->launches, 1);
	return dfg_device_error(device,
		device->api->cudaLaunchKernel(kernel->function, grid, block, &argument, 0, device->stream), kernel->name);
}
