/* CheckNumerics: an error where there is a NaN or an infinity. */
#include "lib/graph/kernel.h"

enum { MESSAGE };

static struct dfg_err *check_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

/* Counts by the exponent: if all its bits are 1, the number is infinite or, with a fraction, NaN. */
#define COUNT(name, bits_type, exponent)                                                           \
	static void count_##name(const void *data, int64_t n, int64_t *out_nan, int64_t *out_infinite) \
	{                                                                                              \
		const bits_type *bits = data;                                                              \
		const bits_type magnitude = (bits_type)((bits_type) ~(bits_type)0 >> 1);                   \
		int64_t nan = 0, infinite = 0;                                                             \
		for (int64_t i = 0; i < n; i++) {                                                          \
			nan += (bits[i] & magnitude) > (exponent);                                             \
			infinite += (bits[i] & magnitude) == (exponent);                                       \
		}                                                                                          \
		*out_nan = nan;                                                                            \
		*out_infinite = infinite;                                                                  \
	}
COUNT(f16, uint16_t, 0x7c00u)
COUNT(bf16, uint16_t, 0x7f80u)
COUNT(f32, uint32_t, 0x7f800000u)
COUNT(f64, uint64_t, UINT64_C(0x7ff0000000000000))

static struct dfg_err *check_run(struct dfg_kernel *ctx)
{
	static void (*const count[DFG_DTYPES])(const void *, int64_t, int64_t *, int64_t *) = {
		[DFG_F16] = count_f16, [DFG_BF16] = count_bf16, [DFG_F32] = count_f32, [DFG_F64] = count_f64};
	const struct dfg_tensor *x = dfg_kernel_input(ctx, 0);
	struct dfg_string message = dfg_kernel_attr(ctx)[MESSAGE].s;
	int64_t nan, infinite;
	if (!count[x->dtype])
		return DFG_ERR(DFG_DATA, "cannot check %s, expected a float type", dfg_dtype_name(x->dtype));
	count[x->dtype](x->data, dfg_shape_count(&x->shape), &nan, &infinite);
	if (nan || infinite)
		return DFG_ERR(DFG_DATA, "%.*s: %s has %lld NaN and %lld infinite elements", (int)message.length, message.s,
			dfg_type_words(x->dtype, &x->shape).s, (long long)nan, (long long)infinite);
	return dfg_kernel_view(ctx, 0, 0, &x->shape);
}

#define CHECK_NUMERICS(Op)                                                            \
	const struct dfg_op dfg_op_##Op = {                                               \
		.name = #Op,                                                                  \
		.doc = "tensor, or an error with the message if it has a NaN or an infinity", \
		.sig = "<T: float>(tensor: T) -> (output: T)",                                \
		.attr = {[MESSAGE] = "message: string"},                                      \
		.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_VIEW,                              \
		.shape = check_shape,                                                         \
		.gradient = "dtensor = " #Op "(doutput, message = message)",                  \
		.run = check_run,                                                             \
	};
CHECK_NUMERICS(CheckNumerics)
CHECK_NUMERICS(CheckNumericsV2)
