#include "formats/samples.h"

#include <string.h>

static struct dfg_err *take_view(const struct dfg_tensor *all, int64_t first, int64_t n, struct dfg_tensor *batch)
{
	int64_t row = dfg_shape_count(&all->shape) / all->shape.dim[0];
	dfg_tensor_release(batch);
	DFG_TRY(dfg_tensor_share(all, batch));
	batch->data = dfg_tensor_at(all, first * row);
	batch->shape.dim[0] = n;
	batch->room = dfg_tensor_bytes(batch);
	return NULL;
}

static bool can_be_written(const struct dfg_tensor *tensor, const struct dfg_shape *shape)
{
	return tensor->buffer && dfg_shape_equal(&tensor->shape, shape) &&
		   atomic_load_explicit(&tensor->buffer->refs, memory_order_acquire) == 1;
}

static struct dfg_err *gather(const struct dfg_tensor *all, const int64_t *order, int64_t n, struct dfg_tensor *batch)
{
	struct dfg_shape shape = all->shape;
	shape.dim[0] = n;
	if (!can_be_written(batch, &shape)) {
		dfg_tensor_release(batch);
		DFG_TRY(dfg_tensor_new(all->dtype, &shape, batch));
	}
	size_t row = dfg_tensor_bytes(all) / (size_t)all->shape.dim[0];
	for (int64_t i = 0; i < n && row; i++)
		memcpy((char *)batch->data + (size_t)i * row, (const char *)all->data + (size_t)order[i] * row, row);
	return NULL;
}

struct dfg_err *dfg_samples_take(
	const struct dfg_tensor *all, int64_t first, const int64_t *order, int64_t n, struct dfg_tensor *batch)
{
	return order ? gather(all, order, n, batch) : take_view(all, first, n, batch);
}
