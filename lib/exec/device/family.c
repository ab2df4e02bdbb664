#include "lib/exec/device/device.h"

#include "lib/exec/device/device_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finding and launching the kernel of a node, which its family does. */
static const struct {
	bool (*takes)(const struct dfg_resolved_node *call);
	dfg_device_run_fn *run;
	uint32_t host; /* bit i: the host reads input i */
} families[] = {
#define FAMILY(name, host) [DFG_FAMILY_##name] = {dfg_device_takes_##name, dfg_device_run_##name, host},
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

bool dfg_device_reads(const struct dfg_device_kernel *kernel, int i)
{
	return kernel && !(i < 32 && families[kernel->family].host >> i & 1);
}

/* The elements of an integer tensor of the host, for a shape function. */
static struct dfg_err *know(
	struct dfg_arena *arena, const struct dfg_tensor *tensor, struct dfg_known_value **out_known)
{
	int64_t count = dfg_shape_count(&tensor->shape);
	struct dfg_known_value *known = dfg_arena_zeros(arena, 1, sizeof *known + (size_t)count * sizeof *known->v);
	if (!known)
		return dfg_no_memory("the shape of an output");
	known->rank = tensor->shape.rank;
	known->count = count;
	for (int64_t i = 0; i < count; i++)
		known->v[i] = dfg_tensor_int(tensor, i);
	*out_known = known;
	return NULL;
}

static struct dfg_err *infer(const struct dfg_device_kernel *kernel, const struct dfg_resolved_node *call,
	struct dfg_tensor *const *in, struct dfg_arena *arena, struct dfg_shape *out_shape)
{
	const struct dfg_shape *shape[DFG_PORT_MAX];
	const struct dfg_known_value *known[DFG_PORT_MAX] = {0};
	for (int i = 0; i < call->n_in; i++) {
		struct dfg_known_value *value = NULL;
		shape[i] = &in[i]->shape;
		if (!dfg_device_reads(kernel, i))
			DFG_TRY(know(arena, in[i], &value));
		known[i] = value;
	}
	struct dfg_infer node = {.call = call, .in = shape, .known = known, .out = out_shape, .arena = arena};
	return call->op->shape(&node);
}

struct dfg_err *dfg_device_output(struct dfg_device *device, const struct dfg_device_kernel *kernel,
	const struct dfg_resolved_node *call, struct dfg_tensor *const *in, struct dfg_tensor *out_tensor)
{
	struct dfg_arena arena = {0};
	struct dfg_shape shape = DFG_SHAPE_UNKNOWN;
	struct dfg_err *err = infer(kernel, call, in, &arena, &shape);
	dfg_arena_release(&arena);
	DFG_TRY(err);
	return dfg_device_tensor(device, (enum dfg_dtype)call->out_dtype[0], &shape, out_tensor);
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
