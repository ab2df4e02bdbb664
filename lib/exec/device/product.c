#include "lib/exec/device/device.h"

#include "lib/exec/device/device_private.h"
#include "lib/exec/device/product_launch.h"

/* Products of matrices on a device (kernels/matmul.c). */
enum { A, B };                     /* inputs */
enum { TRANSPOSE_A, TRANSPOSE_B }; /* attributes */

bool dfg_device_takes_product(const struct dfg_resolved_node *call)
{
	return call->op->means == DFG_MEANS_MATRICES;
}

/* The steps by which the matrices of an operand follow each other; 0 where one is repeated. */
static void set_steps(const struct dfg_shape *out, const struct dfg_shape *in, int64_t *step)
{
	int64_t size = in->dim[in->rank - 2] * in->dim[in->rank - 1];
	for (int d = out->rank - 3, from = in->rank - 3; d >= 0; d--, from--) {
		int64_t extent = from >= 0 ? in->dim[from] : 1;
		step[d] = extent > 1 ? size : 0;
		size *= extent;
	}
}

static struct dfg_product_launch launch_of(
	const struct dfg_resolved_node *call, const struct dfg_tensor *a, const struct dfg_tensor *b, struct dfg_tensor *c)
{
	const bool turned_a = call->attr[TRANSPOSE_A].b, turned_b = call->attr[TRANSPOSE_B].b;
	const int64_t m = c->shape.dim[c->shape.rank - 2], n = c->shape.dim[c->shape.rank - 1],
				  k = a->shape.dim[a->shape.rank - 1 - turned_a];
	struct dfg_product_launch launch = {.count = dfg_shape_count(&c->shape),
		.out = c->data,
		.a = a->data,
		.b = b->data,
		.m = m,
		.n = n,
		.k = k,
		.a_row = turned_a ? 1 : k,
		.a_column = turned_a ? m : 1,
		.b_row = turned_b ? 1 : n,
		.b_column = turned_b ? k : 1,
		.rank = c->shape.rank - 2};
	for (int d = 0; d < launch.rank; d++)
		launch.extent[d] = c->shape.dim[d];
	set_steps(&c->shape, &a->shape, launch.a_step);
	set_steps(&c->shape, &b->shape, launch.b_step);
	return launch;
}

struct dfg_err *dfg_device_run_product(struct dfg_device *device, const struct dfg_device_kernel *kernel,
	const struct dfg_resolved_node *call, struct dfg_tensor *const *in, struct dfg_tensor *out_tensor)
{
	DFG_TRY(dfg_device_output(device, kernel, call, in, out_tensor));
	struct dfg_product_launch launch = launch_of(call, in[A], in[B], out_tensor);
	struct dfg_err *err = dfg_device_launch(device, kernel, launch.count, &launch);
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}
