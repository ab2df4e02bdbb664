#include "kernels/shape_rules.h"

/* Vector products, and bits that are set. */
#define CROSS(NAME, name, type, ...)                                                   \
	static void cross_##name(void *arg, int64_t first, int64_t last)                   \
	{                                                                                  \
		void *const *data = arg;                                                       \
		for (int64_t i = 3 * first; i < 3 * last; i += 3) {                            \
			const type *a = (const type *)data[0] + i, *b = (const type *)data[1] + i; \
			type *to = (type *)data[2] + i;                                            \
			for (int k = 0; k < 3; k++) {                                              \
				const int next = (k + 1) % 3, after = (k + 2) % 3;                     \
				to[k] = (type)(a[next] * b[after] - a[after] * b[next]);               \
			}                                                                          \
		}                                                                              \
	}
DFG_EACH_number(CROSS)

#define POPULATION(NAME, name, type, ...)                                  \
	static void population_##name(void *arg, int64_t first, int64_t last)  \
	{                                                                      \
		void *const *data = arg;                                           \
		for (int64_t i = first; i < last; i++) {                           \
			uint64_t bits = (uint64_t)((const type *)data[0])[i];          \
			if (sizeof(type) < 8)                                          \
				bits &= (UINT64_C(1) << (sizeof(type) * 8 % 64)) - 1;      \
			((uint8_t *)data[2])[i] = (uint8_t)__builtin_popcountll(bits); \
		}                                                                  \
	}
DFG_EACH_int(POPULATION)

static dfg_range_fn *const cross_of[DFG_DTYPES] = {DFG_EACH_number(DFG_BY_DTYPE, cross)};
static dfg_range_fn *const population_of[DFG_DTYPES] = {DFG_EACH_int(DFG_BY_DTYPE, population)};

static struct dfg_err *cross_shape(struct dfg_infer *node)
{
	const struct dfg_shape *a = node->in[0], *b = node->in[1];
	if (a->rank < 1 || !dfg_shape_fits(a, b) ||
		!dfg_shape_fits(&DFG_SHAPE_VECTOR(a->dim[a->rank - 1]), &DFG_SHAPE_VECTOR(3)))
		return DFG_ERR(DFG_DATA, "cannot multiply %s by %s, expected equal shapes whose last dimension is 3",
			dfg_shape_words(a).s, dfg_shape_words(b).s);
	node->out[0] = dfg_shape_merge(a, b);
	return NULL;
}

static struct dfg_err *same_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

static struct dfg_err *run_vectors(struct dfg_kernel *ctx, int each, dfg_range_fn *const *range)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	void *data[] = {in->data, ctx->in[ctx->call->n_in - 1]->data, out->data};
	dfg_kernel_ranges(ctx, dfg_shape_count(&in->shape) / each, 4096, range[in->dtype], data);
	return NULL;
}

static struct dfg_err *cross(struct dfg_kernel *ctx)
{
	return run_vectors(ctx, 3, cross_of);
}

static struct dfg_err *population(struct dfg_kernel *ctx)
{
	return run_vectors(ctx, 1, population_of);
}

const struct dfg_op dfg_op_Cross = {
	.name = "Cross",
	.doc = "cross products of vectors in three dimensions",
	.sig = "<T: number>(a: T, b: T) -> (product: T)",
	.shape = cross_shape,
	.gradient = "da, db = Cross(b, dproduct), Cross(dproduct, a)",
	.kernel = {DFG_EACH_number(DFG_FOR_DTYPE, cross)},
};

const struct dfg_op dfg_op_PopulationCount = {
	.name = "PopulationCount",
	.doc = "how many bits of x are set",
	.sig = "<T: int>(x: T) -> (y: u8)",
	.flags = DFG_EXACT,
	.shape = same_shape,
	.gradient = "",
	.kernel = {DFG_EACH_int(DFG_FOR_DTYPE, population)},
};
