#include "lib/graph/kernel.h"

#include <string.h>

struct dfg_err *dfg_kernel_output(
	struct dfg_kernel *ctx, int i, const struct dfg_shape *shape, struct dfg_tensor **out_tensor)
{
	struct dfg_tensor *tensor = ctx->out[i];
	enum dfg_dtype dtype = (enum dfg_dtype)ctx->call->out_dtype[i];
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(shape, dtype, &bytes));
	if (bytes > tensor->capacity || !tensor->data)
		DFG_TRY(ctx->host->grow(ctx, i, bytes));
	tensor->dtype = dtype;
	tensor->shape = *shape;
	*out_tensor = tensor;
	return NULL;
}

struct dfg_err *dfg_kernel_view(struct dfg_kernel *ctx, int i, int j, const struct dfg_shape *shape)
{
	struct dfg_tensor view;
	DFG_TRY(ctx->host->keep(ctx, j, &view));
	view.shape = *shape;
	return ctx->host->give(ctx, i, &view);
}

struct dfg_err *dfg_kernel_string(struct dfg_kernel *ctx, int i, int64_t e, const void *bytes, size_t length)
{
	struct dfg_tensor *tensor = ctx->out[i];
	return dfg_buffer_string(tensor->buffer, bytes, length, (struct dfg_string *)tensor->data + e);
}

struct dfg_err *dfg_kernel_kept(struct dfg_kernel *ctx, int i, const struct dfg_preparation *preparation,
	const void *elements, const void **out_memory)
{
	*out_memory = NULL;
	return ctx->host->kept ? ctx->host->kept(ctx, i, preparation, elements, out_memory) : NULL;
}

struct dfg_err *dfg_kernel_prepared(struct dfg_kernel *ctx, int i, const struct dfg_preparation *preparation,
	const void *elements, const void **out_memory)
{
	void *memory;
	DFG_TRY(dfg_kernel_kept(ctx, i, preparation, elements, out_memory));
	if (*out_memory)
		return NULL;
	DFG_TRY(dfg_kernel_scratch(ctx, preparation->bytes, &memory));
	preparation->make(ctx, preparation, elements, memory);
	*out_memory = memory;
	return NULL;
}

/* Calls the range function for block i of [0, n). */
struct ranges {
	int64_t n, block;
	void (*range)(void *arg, int64_t first, int64_t last);
	void *arg;
};

static void run_block(void *arg, int64_t i)
{
	const struct ranges *ranges = arg;
	int64_t first = i * ranges->block, left = ranges->n - first;
	ranges->range(ranges->arg, first, first + (left < ranges->block ? left : ranges->block));
}

void dfg_kernel_ranges(
	struct dfg_kernel *ctx, int64_t n, int64_t block, void (*range)(void *arg, int64_t first, int64_t last), void *arg)
{
	if (n <= 0)
		return;
	if (n <= block) {
		range(arg, 0, n);
		return;
	}
	struct ranges ranges = {n, block, range, arg};
	ctx->host->parallel(ctx, (n + block - 1) / block, run_block, &ranges);
}

enum dfg_dtype dfg_kernel_dtype(const struct dfg_resolved_node *call)
{
	for (int i = 0; i < call->signature->n_param; i++)
		if (call->signature->param[i].types && !call->signature->param[i].is_list)
			return call->param[i].dtype;
	return DFG_NO_DTYPE;
}

struct dfg_err *dfg_kernel_find(const struct dfg_resolved_node *call, dfg_run_fn **out_run)
{
	const struct dfg_op *op = call->op;
	enum dfg_dtype dtype = dfg_kernel_dtype(call);
	bool half = dtype == DFG_F16 || dtype == DFG_BF16;
	if (dfg_op_kernel(op, dtype))
		*out_run = dfg_op_kernel(op, dtype);
	else if (dfg_op_row(op, dtype) || (half && dfg_op_row(op, DFG_F32)))
		*out_run = dfg_elementwise_run;
	else if (op->run)
		*out_run = op->run;
	else if (half && dfg_op_kernel(op, DFG_F32))
		*out_run = dfg_half_run;
	else
		return dfg_resolved_note(DFG_ERR(DFG_DATA, "has no kernel for %s", dfg_dtype_name(dtype)), call);
	return NULL;
}
