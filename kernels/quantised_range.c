#include "kernels/quantised_range.h"
#include "kernels/shape_rules.h"

int64_t dfg_quantised_read(const struct dfg_tensor *tensor, int64_t i)
{
	switch (tensor->dtype) {
	case DFG_QI8:
		return ((const int8_t *)tensor->data)[i];
	case DFG_QU8:
		return ((const uint8_t *)tensor->data)[i];
	case DFG_QI16:
		return ((const int16_t *)tensor->data)[i];
	case DFG_QU16:
		return ((const uint16_t *)tensor->data)[i];
	default:
		return ((const int32_t *)tensor->data)[i];
	}
}

void dfg_quantised_write(struct dfg_tensor *tensor, int64_t i, int64_t value)
{
	switch (dfg_dtype_size(tensor->dtype)) {
	case 1:
		((uint8_t *)tensor->data)[i] = (uint8_t)value;
		break;
	case 2:
		((uint16_t *)tensor->data)[i] = (uint16_t)value;
		break;
	default:
		((uint32_t *)tensor->data)[i] = (uint32_t)value;
	}
}

struct dfg_err *dfg_quantised_input(struct dfg_kernel *ctx, int i, struct dfg_quantised *out_range)
{
	const float min = (float)dfg_tensor_float(ctx->in[i], 0), max = (float)dfg_tensor_float(ctx->in[i + 1], 0);
	*out_range = (struct dfg_quantised){min, max};
	if (min <= max && isfinite(min) && isfinite(max))
		return NULL;
	return DFG_ERR(DFG_DATA, "inputs %d and %d are %g and %g, expected the finite minimum and maximum of a range", i,
		i + 1, (double)min, (double)max);
}

struct dfg_err *dfg_quantised_elements(struct dfg_kernel *ctx, struct dfg_tensor **out_tensor)
{
	struct dfg_shape shape[3];
	DFG_TRY(dfg_shapes_now(ctx, 3, shape));
	return dfg_kernel_output(ctx, 0, &shape[0], out_tensor);
}

struct dfg_err *dfg_quantised_output(struct dfg_kernel *ctx, int i, struct dfg_quantised range)
{
	const struct dfg_shape scalar = {0};
	struct dfg_tensor *end[2];
	for (int e = 0; e < 2; e++)
		DFG_TRY(dfg_kernel_output(ctx, i + e, &scalar, &end[e]));
	*(float *)end[0]->data = range.min;
	*(float *)end[1]->data = range.max;
	return NULL;
}

struct dfg_err *dfg_quantised_scalars(struct dfg_infer *node, int first, int last)
{
	for (int i = first; i < last; i++)
		DFG_TRY(dfg_need_rank(node, i, 0));
	for (int i = 0; i < node->call->n_out; i++)
		if (i > 0)
			node->out[i] = (struct dfg_shape){0};
	return NULL;
}

struct requantising {
	const struct dfg_tensor *in;
	struct dfg_tensor *out;
	struct dfg_quantised from, to;
	int64_t out_at;
};

/* From 32 to 8 unsigned bits, TensorFlow multiplies numbers of 16 bits after the point. */
struct fixed {
	int64_t scale, in_offset, out_offset;
};

static struct fixed fixed_of(struct dfg_quantised from, struct dfg_quantised to)
{
	const float in = from.max - from.min, out = to.max - to.min, middle = (from.min + from.max) / 2;
	if (out == 0)
		return (struct fixed){0};
	return (struct fixed){(int64_t)(255.0 * 65536 * (double)in / (double)out),
		(int64_t)(middle * (255.0f / out) * 65536), (int64_t)(65536 * ((double)to.min * 255.0) / (double)out)};
}

static int64_t requantise_fixed(const struct fixed *fixed, int64_t element)
{
	int64_t product;
	if (__builtin_mul_overflow(element, fixed->scale, &product))
		product = (element < 0) == (fixed->scale < 0) ? INT64_MAX : INT64_MIN;
	int64_t at = ((product >> 32) + fixed->in_offset - fixed->out_offset + 32768) >> 16;
	return at < 0 ? 0 : at > 255 ? 255 : at;
}

static void requantise_elements(void *arg, int64_t first, int64_t last)
{
	const struct requantising *r = arg;
	const bool is_fixed = r->in->dtype == DFG_QI32 && r->out->dtype == DFG_QU8;
	const struct fixed fixed = is_fixed ? fixed_of(r->from, r->to) : (struct fixed){0};
	for (int64_t i = first; i < last; i++) {
		const int64_t element = dfg_quantised_read(r->in, i);
		dfg_quantised_write(r->out, r->out_at + i,
			is_fixed ? requantise_fixed(&fixed, element)
					 : dfg_quantise(r->out->dtype, r->to, dfg_dequantise(r->in->dtype, r->from, element)));
	}
}

void dfg_requantise(struct dfg_kernel *ctx, const struct dfg_tensor *in, struct dfg_quantised from,
	struct dfg_tensor *out, int64_t out_at, struct dfg_quantised to)
{
	struct requantising work = {in, out, from, to, out_at};
	dfg_kernel_ranges(ctx, dfg_shape_count(&in->shape), 4096, requantise_elements, &work);
}
