#include "kernels/shape_rules.h"

#include <inttypes.h>

enum { KNOWN_MAX = 1024 }; /* elements of a tensor whose values are tracked; also the limit of SplitV's parts */

struct dfg_err *dfg_axis(int64_t axis, int rank, int *out_axis)
{
	if (axis < -rank || axis >= rank)
		return DFG_ERR(DFG_DATA, "axis %" PRId64 " is out of range for rank %d", axis, rank);
	*out_axis = (int)(axis < 0 ? axis + rank : axis);
	return NULL;
}

int64_t dfg_int_of(const struct dfg_infer *node, int i, int64_t k)
{
	const struct dfg_known_value *known = node->known[i];
	return known && k < known->count ? known->v[k] : DFG_NOT_KNOWN;
}

int64_t dfg_length_of(const struct dfg_infer *node, int i)
{
	const struct dfg_shape *shape = node->in[i];
	if (node->known[i])
		return node->known[i]->count;
	return shape->rank == 1 ? shape->dim[0] : shape->rank == 0 ? 1 : DFG_UNKNOWN;
}

struct dfg_err *dfg_need_rank(const struct dfg_infer *node, int i, int rank)
{
	static const char *const name[] = {"a scalar", "a vector", "a matrix"};
	if (node->in[i]->rank == rank || node->in[i]->rank < 0)
		return NULL;
	return DFG_ERR(DFG_DATA, "input %d has shape %s, expected %s", i, dfg_shape_words(node->in[i]).s, name[rank]);
}

struct dfg_err *dfg_shape_of(const struct dfg_infer *node, int i, struct dfg_shape *out_shape)
{
	DFG_TRY(dfg_need_rank(node, i, 1));
	int64_t length = dfg_length_of(node, i);
	*out_shape = DFG_SHAPE_UNKNOWN;
	if (length < 0)
		return NULL;
	if (length > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the shape has %" PRId64 " dimensions: the limit is %d", length, DFG_RANK_MAX);

	*out_shape = (struct dfg_shape){.rank = (int)length};
	for (int d = 0; d < length; d++) {
		int64_t dim = dfg_int_of(node, i, d);
		if (dim < -1 && dim != DFG_NOT_KNOWN)
			return DFG_ERR(DFG_DATA, "dimension %d of the shape is %" PRId64 ", expected at least -1", d, dim);
		out_shape->dim[d] = dim == DFG_NOT_KNOWN ? DFG_UNKNOWN : dim;
	}
	return NULL;
}

struct dfg_err *dfg_known_new(
	struct dfg_infer *node, int i, int rank, int64_t count, struct dfg_known_value **out_known)
{
	*out_known = NULL;
	if (count < 0 || count > KNOWN_MAX || rank > 1)
		return NULL;
	struct dfg_known_value *known = dfg_arena_zeros(node->arena, 1, sizeof *known + (size_t)count * sizeof *known->v);
	if (!known)
		return dfg_no_memory("known values of a shape");
	known->rank = rank;
	known->count = count;
	for (int64_t k = 0; k < count; k++)
		known->v[k] = DFG_NOT_KNOWN;
	node->out_known[i] = *out_known = known;
	return NULL;
}

struct dfg_err *dfg_known_same(struct dfg_infer *node, int i)
{
	const struct dfg_known_value *in = node->known[i];
	struct dfg_known_value *out;
	if (!in || node->out[0].rank < 0)
		return NULL;
	DFG_TRY(dfg_known_new(node, 0, node->out[0].rank, in->count, &out));
	for (int64_t k = 0; out && k < in->count; k++)
		out->v[k] = in->v[k];
	return NULL;
}

struct dfg_err *dfg_dim_product(int64_t a, int64_t b, int64_t *out_product)
{
	*out_product = DFG_UNKNOWN;
	if (a < 0 || b < 0)
		return NULL;
	if (__builtin_mul_overflow(a, b, out_product))
		return DFG_ERR(DFG_DATA, "a dimension of %" PRId64 " * %" PRId64 " is more than 2^63 - 1", a, b);
	return NULL;
}

static bool worth_knowing(const struct dfg_tensor *tensor)
{
	return dfg_dtype_is(tensor->dtype, "int") && tensor->shape.rank <= 2 &&
		   dfg_shape_count(&tensor->shape) <= KNOWN_MAX;
}

static struct dfg_known_value *know(const struct dfg_tensor *tensor, void *memory)
{
	struct dfg_known_value *known = memory;
	known->rank = tensor->shape.rank;
	known->count = dfg_shape_count(&tensor->shape);
	for (int64_t k = 0; k < known->count; k++)
		known->v[k] = dfg_tensor_int(tensor, k);
	return known;
}

struct dfg_err *dfg_shapes_now(struct dfg_kernel *ctx, int count, struct dfg_shape *out_shape)
{
	size_t n = ctx->call->n_in, bytes = 0;
	for (size_t i = 0; i < n; i++)
		if (worth_knowing(ctx->in[i]))
			bytes += sizeof(struct dfg_known_value) + (size_t)dfg_shape_count(&ctx->in[i]->shape) * sizeof(int64_t);
	void *memory;
	DFG_TRY(dfg_kernel_scratch(ctx, bytes + n * 2 * sizeof(void *), &memory));
	const struct dfg_shape **shape = memory;
	const struct dfg_known_value **known = (void *)(shape + n);
	char *next = (char *)(known + n);
	for (size_t i = 0; i < n; i++) {
		shape[i] = &ctx->in[i]->shape;
		known[i] = NULL;
		if (worth_knowing(ctx->in[i])) {
			known[i] = know(ctx->in[i], next);
			next += sizeof(struct dfg_known_value) + (size_t)known[i]->count * sizeof(int64_t);
		}
	}
	for (int i = 0; i < count; i++)
		out_shape[i] = DFG_SHAPE_UNKNOWN;
	struct dfg_infer node = {.call = ctx->call, .in = shape, .known = known, .out = out_shape};
	return ctx->call->op->shape(&node);
}

struct dfg_err *dfg_output_now(struct dfg_kernel *ctx, struct dfg_tensor **out_tensor)
{
	struct dfg_shape shape;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	return dfg_kernel_output(ctx, 0, &shape, out_tensor);
}
