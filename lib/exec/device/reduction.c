#include "lib/exec/device/device.h"

#include "lib/exec/device/device_private.h"
#include "lib/exec/device/reduction_launch.h"
#include "lib/graph/reduction.h"

#include <string.h>

/* Reductions on a device (kernels/reductions.c): input 1, which the host reads, lists the axes. */

_Static_assert(
	DFG_LAUNCH_LANES == (int)DFG_REDUCE_LANES && DFG_LAUNCH_LEAF == (int)DFG_REDUCE_LEAF, "one order of sums");
_Static_assert(
	DFG_LAUNCH_BLOCK == (int)DFG_REDUCE_BLOCK && DFG_LAUNCH_STACK == (int)DFG_REDUCE_STACK, "one order of sums");

bool dfg_device_takes_reduction(const struct dfg_resolved_node *call)
{
	return call->n_in == 2 && call->n_out == 1;
}

static struct dfg_launch_axes axes_of(const struct dfg_axes *axes)
{
	struct dfg_launch_axes out = {.count = axes->count, .rank = axes->rank};
	memcpy(out.dim, axes->dim, sizeof out.dim);
	memcpy(out.step, axes->step, sizeof out.step);
	return out;
}

/* The axes have been checked by the op's shape function. */
static struct dfg_reduce_order reduction_of(const struct dfg_tensor *in, const struct dfg_tensor *axes)
{
	bool gone[DFG_RANK_MAX] = {0};
	for (int64_t i = 0, n = dfg_shape_count(&axes->shape); i < n; i++) {
		int64_t axis = dfg_tensor_int(axes, i);
		gone[axis < 0 ? axis + in->shape.rank : axis] = true;
	}
	return dfg_reduce_order_of(&in->shape, gone);
}

struct dfg_err *dfg_device_run_reduction(struct dfg_device *device, const struct dfg_device_kernel *kernel,
	const struct dfg_resolved_node *call, struct dfg_tensor *const *in, struct dfg_tensor *out_tensor)
{
	DFG_TRY(dfg_device_output(device, kernel, call, in, out_tensor));
	const struct dfg_reduce_order of = reduction_of(in[0], in[1]);
	struct dfg_reduction_launch launch = {.count = dfg_shape_count(&out_tensor->shape),
		.out = out_tensor->data,
		.in = in[0]->data,
		.gone = axes_of(&of.gone),
		.kept = axes_of(&of.kept),
		.run = of.run,
		.width = of.width,
		.block = of.block};
	struct dfg_err *err = dfg_device_launch(device, kernel, launch.count, &launch);
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}
