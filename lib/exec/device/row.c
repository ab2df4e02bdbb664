#include "lib/exec/device/device.h"

#include "lib/exec/device/device_private.h"
#include "lib/exec/device/row_launch.h"

#include <string.h>

/* Rows on a device. */

/*
 * Ops of several outputs or with own rules have no row. A guard that reads elements, such as that of an integer division for
 * zeros, runs where the elements are: on the host.
 */
bool dfg_device_takes_row(const struct dfg_resolved_node *call)
{
	dfg_run_fn *run;
	struct dfg_err *err = dfg_kernel_find(call, &run);
	bool row = !err && call->op->row && call->n_out == 1 && call->n_in > 0 && call->n_in <= DFG_LAUNCH_OPERANDS;
	dfg_err_free(err);
	return row && !(call->op->guard && call->op->guard_reads && !dfg_dtype_is(dfg_kernel_dtype(call), "float"));
}

/* The strides, in elements, by which an operand is read at a position of the output; 0 where it is repeated. */
static void set_strides(const struct dfg_shape *out, const struct dfg_shape *in, int64_t *stride)
{
	int64_t step = 1;
	for (int d = out->rank - 1, from = in->rank - 1; d >= 0; d--, from--) {
		int64_t extent = from >= 0 ? in->dim[from] : 1;
		stride[d] = extent > 1 ? step : 0;
		step *= extent;
	}
}

static void set_operands(
	struct dfg_row_launch *launch, const struct dfg_shape *shape, int n_in, struct dfg_tensor *const *in)
{
	launch->rank = shape->rank;
	memcpy(launch->extent, shape->dim, sizeof launch->extent);
	for (int i = 0; i < n_in; i++) {
		launch->in[i] = in[i]->data;
		launch->plain |= (uint32_t)dfg_shape_equal(&in[i]->shape, shape) << i;
		set_strides(shape, &in[i]->shape, launch->stride[i]);
	}
}

/* Numbers and truth values; the rows of devices read no others. */
static void set_attributes(struct dfg_row_launch *launch, const struct dfg_resolved_node *call)
{
	for (int i = 0; i < DFG_LAUNCH_ATTRS && i < DFG_ATTR_MAX && call->op->attr[i]; i++)
		memcpy(&launch->attr[i], &call->attr[i], sizeof launch->attr[i]);
}

struct dfg_err *dfg_device_run_row(struct dfg_device *device, const struct dfg_device_kernel *kernel,
	const struct dfg_resolved_node *call, struct dfg_tensor *const *in, struct dfg_tensor *out_tensor)
{
	const struct dfg_shape *shapes[DFG_LAUNCH_OPERANDS];
	struct dfg_shape shape;
	struct dfg_row_launch launch = {0};
	for (int i = 0; i < call->n_in; i++)
		shapes[i] = &in[i]->shape;
	DFG_TRY(dfg_shape_broadcast(shapes, call->n_in, &shape));
	DFG_TRY(dfg_device_tensor(device, (enum dfg_dtype)call->out_dtype[0], &shape, out_tensor));
	launch.count = dfg_shape_count(&shape);
	launch.out = out_tensor->data;
	set_operands(&launch, &shape, call->n_in, in);
	set_attributes(&launch, call);
	struct dfg_err *err = dfg_device_launch(device, kernel, launch.count, &launch);
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}
