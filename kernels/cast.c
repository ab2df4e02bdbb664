/* Elements of another type: by value (Cast) or by their bits (Bitcast). */
#include "lib/graph/kernel.h"
#include "kernels/row_rules.h"

enum { TRUNCATE };
enum { FROM, TO };

static struct dfg_err *cast_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

/* The values of small integers stay known. */
static struct dfg_err *cast_known(struct dfg_infer *node)
{
	enum dfg_dtype from = node->call->param[FROM].dtype, to = node->call->param[TO].dtype;
	uint64_t index = dfg_dtype_class("index", 5);
	if (index & dfg_dtype_bit(from) && index & dfg_dtype_bit(to))
		node->out_known[0] = node->known[0];
	return NULL;
}

struct cast {
	const struct dfg_tensor *x;
	struct dfg_tensor *y;
	bool truncate;
};

/* Rounds towards zero: the bits that a half cannot hold are cleared, so the conversion that follows is exact. */
static float truncated(float x, enum dfg_dtype half)
{
	union {
		float value;
		uint32_t bits;
	} as = {x};
	as.bits &= half == DFG_BF16 ? 0xffff0000u : 0xffffe000u;
	return x == x ? as.value : x;
}

static void truncate_range(const struct cast *cast, int64_t first, int64_t last)
{
	for (int64_t i = first; i < last; i++) {
		float wide;
		dfg_convert(DFG_F32, &wide, cast->x->dtype, dfg_tensor_at(cast->x, i), 1);
		wide = truncated(wide, cast->y->dtype);
		dfg_convert(cast->y->dtype, dfg_tensor_at(cast->y, i), DFG_F32, &wide, 1);
	}
}

static void cast_range(void *arg, int64_t first, int64_t last)
{
	const struct cast *cast = arg;
	if (cast->truncate && dfg_dtype_is(cast->y->dtype, "half") && dfg_dtype_is(cast->x->dtype, "float"))
		truncate_range(cast, first, last);
	else
		dfg_convert(
			cast->y->dtype, dfg_tensor_at(cast->y, first), cast->x->dtype, dfg_tensor_at(cast->x, first), last - first);
}

static struct dfg_err *cast_run(struct dfg_kernel *ctx)
{
	struct cast cast = {.x = dfg_kernel_input(ctx, 0), .truncate = dfg_kernel_attr(ctx)[TRUNCATE].b};
	const struct dfg_shape *shape = &cast.x->shape;
	if (cast.x->dtype == (enum dfg_dtype)ctx->call->out_dtype[0])
		return dfg_kernel_view(ctx, 0, 0, shape);
	DFG_TRY(dfg_kernel_output(ctx, 0, shape, &cast.y));
	dfg_kernel_ranges(ctx, dfg_shape_count(shape), 64 * 1024, cast_range, &cast);
	return NULL;
}

const struct dfg_op dfg_op_Cast = {
	.name = "Cast",
	.doc =
		"x in another type; floats are truncated to integers, NaN becomes 0, numbers out of range the nearest in range",
	.sig = "<SrcT: plain, DstT: plain>(x: SrcT) -> (y: DstT)",
	.attr = {[TRUNCATE] = "Truncate: bool = false"},
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.means = DFG_MEANS_CAST,
	.shape = cast_shape,
	.known = cast_known,
	.rows = dfg_rows_first,
	.gradient = "dx = Cast(dy, DstT = SrcT)",
	.run = cast_run,
};

/* A last dimension is added if elements get smaller, and removed if they get larger. */
static struct dfg_err *bits_shape(
	const struct dfg_resolved_node *call, const struct dfg_shape *in, struct dfg_shape *out)
{
	int64_t from = (int64_t)dfg_dtype_size(call->in_dtype[0]), to = (int64_t)dfg_dtype_size(call->out_dtype[0]);
	struct dfg_shape shape = *in;
	if (from > to) {
		if (shape.rank == DFG_RANK_MAX)
			return DFG_ERR(DFG_DATA, "cannot add a dimension to %s: the limit is %d dimensions", dfg_shape_words(in).s,
				DFG_RANK_MAX);
		shape.dim[shape.rank++] = from / to;
	} else if (from < to) {
		if (!shape.rank || (shape.dim[shape.rank - 1] >= 0 && shape.dim[shape.rank - 1] != to / from))
			return DFG_ERR(DFG_DATA, "%s does not end with a dimension of %lld, whose elements become one %s",
				dfg_type_words(call->in_dtype[0], in).s, (long long)(to / from), dfg_dtype_name(call->out_dtype[0]));
		shape.dim[--shape.rank] = 0;
	}
	*out = shape;
	return NULL;
}

static struct dfg_err *bitcast_shape(struct dfg_infer *node)
{
	return bits_shape(node->call, node->in[0], &node->out[0]);
}

static struct dfg_err *bitcast_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(bits_shape(ctx->call, &in->shape, &shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	__builtin_memcpy(out->data, in->data, dfg_tensor_bytes(in));
	return NULL;
}

#define BITS "numeric|qi8|qu8|qi16|qu16|qi32"

const struct dfg_op dfg_op_Bitcast = {
	.name = "Bitcast",
	.doc = "the same bits as elements of another type",
	.sig = "<T: " BITS ", type: " BITS ">(input: T) -> (output: type)",
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = bitcast_shape,
	.run = bitcast_run,
};
