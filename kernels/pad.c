/* Borders around a tensor: of one value, or mirrored from its elements. */
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

#include <inttypes.h>
#include <string.h>

enum { INPUT, PADDINGS, VALUE };

/* The numbers of elements before and after those of the input along dimension d; DFG_NOT_KNOWN if unknown. */
static struct dfg_err *padding_of(const struct dfg_infer *node, int d, int64_t *out_before, int64_t *out_after)
{
	*out_before = dfg_int_of(node, PADDINGS, 2 * d);
	*out_after = dfg_int_of(node, PADDINGS, 2 * d + 1);
	if ((*out_before < 0 && *out_before != DFG_NOT_KNOWN) || (*out_after < 0 && *out_after != DFG_NOT_KNOWN))
		return DFG_ERR(DFG_DATA, "the padding of dimension %d is %" PRId64 ", expected at least 0", d,
			*out_before < 0 && *out_before != DFG_NOT_KNOWN ? *out_before : *out_after);
	return NULL;
}

/* The rank by input and paddings, which must agree. */
static struct dfg_err *rank_of(const struct dfg_infer *node, int *out_rank)
{
	const struct dfg_shape *in = node->in[INPUT], *paddings = node->in[PADDINGS];
	*out_rank = in->rank;
	if (paddings->rank < 0)
		return NULL;
	int64_t n = paddings->rank == 2 ? paddings->dim[0] : DFG_UNKNOWN;
	if (paddings->rank != 2 || (paddings->dim[1] != 2 && paddings->dim[1] >= 0) || n > DFG_RANK_MAX ||
		(n >= 0 && in->rank >= 0 && n != in->rank))
		return DFG_ERR(DFG_DATA, "paddings have shape %s, expected [%d,2]", dfg_shape_words(paddings).s, in->rank);
	if (in->rank < 0)
		*out_rank = (int)n;
	return NULL;
}

static struct dfg_err *pad_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[INPUT];
	struct dfg_shape *out = &node->out[0];
	if (node->call->n_in > VALUE)
		DFG_TRY(dfg_need_rank(node, VALUE, 0));
	DFG_TRY(rank_of(node, &out->rank));
	for (int d = 0; d < out->rank; d++) {
		int64_t before, after, dim = in->rank < 0 ? DFG_UNKNOWN : in->dim[d];
		DFG_TRY(padding_of(node, d, &before, &after));
		out->dim[d] = DFG_UNKNOWN;
		if (dim >= 0 && before >= 0 && after >= 0 &&
			(__builtin_add_overflow(dim, before, &out->dim[d]) ||
				__builtin_add_overflow(out->dim[d], after, &out->dim[d])))
			return DFG_ERR(DFG_DATA,
				"dimension %d is %" PRId64 ", with padding of %" PRId64 " and %" PRId64 " more than 2^63 - 1", d, dim,
				before, after);
	}
	return NULL;
}

/* A border that is filled: steps in elements, paddings by dimension, and the last dimension that has any. */
struct border {
	const int64_t *to, *dim, *before, *after;
	int last;
	const void *value; /* NULL: zeros */
	size_t size;
};

static void fill_run(const struct border *border, char *out, int64_t count)
{
	if (border->value)
		dfg_repeat(out, count, border->value, border->size);
	else
		memset(out, 0, (size_t)count * border->size);
}

/* Fills what surrounds the input's elements from dimension d on; they are not touched. */
static void fill_border(const struct border *border, int d, char *out)
{
	const int64_t to = border->to[d], step = to * (int64_t)border->size, dim = border->dim[d];
	fill_run(border, out, border->before[d] * to);
	out += border->before[d] * step;
	for (int64_t i = 0; i < dim && d < border->last; i++)
		fill_border(border, d + 1, out + i * step);
	fill_run(border, out + dim * step, border->after[d] * to);
}

/* Runs that are shorter than this cost more, one by one, than the elements between them. */
enum { RUN_LEAST = 16 };

static void fill(const struct dfg_tensor *in, const struct dfg_tensor *paddings, const struct border *some,
	const struct dfg_tensor *out)
{
	struct border border = *some;
	int64_t before[DFG_RANK_MAX], after[DFG_RANK_MAX];
	border.dim = in->shape.dim;
	border.before = before;
	border.after = after;
	border.last = -1;
	for (int d = 0; d < in->shape.rank; d++) {
		before[d] = dfg_tensor_int(paddings, 2 * d);
		after[d] = dfg_tensor_int(paddings, 2 * d + 1);
		if (before[d] || after[d])
			border.last = d;
	}
	if (border.last < 0)
		return;
	if (border.to[border.last] < RUN_LEAST)
		fill_run(&border, out->data, dfg_shape_count(&out->shape));
	else
		fill_border(&border, 0, out->data);
}

static struct dfg_err *pad_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, INPUT), *paddings = dfg_kernel_input(ctx, PADDINGS);
	int64_t from[DFG_RANK_MAX], to[DFG_RANK_MAX], first = 0;
	size_t size = dfg_dtype_size(in->dtype);
	struct dfg_tensor *out;
	struct dfg_strided_box box = {0};
	DFG_TRY(dfg_output_now(ctx, &out));
	dfg_steps(&in->shape, from);
	dfg_steps(&out->shape, to);
	fill(in, paddings,
		&(struct border){.to = to, .value = ctx->call->n_in > VALUE ? ctx->in[VALUE]->data : NULL, .size = size}, out);
	for (int d = 0; d < in->shape.rank; d++) {
		first += dfg_tensor_int(paddings, 2 * d) * to[d];
		dfg_box_axis(&box, in->shape.dim[d], from[d], to[d]);
	}
	if (dfg_shape_count(&in->shape))
		dfg_box_copy(ctx, size, box, in->data, dfg_tensor_at(out, first));
	return dfg_moved(ctx, 0);
}

/* The first column of paddings is the offset of the input in the output. */
#define PAD_GRADIENT "dinput = Slice(doutput, Reshape(Slice(i32(paddings), [0, 0], [-1, 1]), [-1]), Shape(input))"

static const char *pad_rows(const struct dfg_infer *node, uint64_t by_row)
{
	bool is_plain = by_row == 1 && dfg_int_of(node, 1, 0) == 0 && dfg_int_of(node, 1, 1) == 0;
	return is_plain ? NULL : "it may add rows to the batch";
}

const struct dfg_op dfg_op_Pad = {
	.name = "Pad",
	.doc = "input with a border of zeros: paddings[d] elements before and after it along dimension d",
	.sig = "<T: type, Tpaddings: index = i32>(input: T, paddings: Tpaddings) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT | DFG_KNOWS_MATRICES,
	.shape = pad_shape,
	.rows = pad_rows,
	.gradient = PAD_GRADIENT,
	.run = pad_run,
};

const struct dfg_op dfg_op_PadV2 = {
	.name = "PadV2",
	.doc = "input with a border of one value: paddings[d] elements before and after it along dimension d",
	.sig = "<T: type, Tpaddings: index = i32>(input: T, paddings: Tpaddings, constant_values: T) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT | DFG_KNOWS_MATRICES,
	.shape = pad_shape,
	.rows = pad_rows,
	.gradient = PAD_GRADIENT
	"\n"
	"is_input = PadV2(Fill(Shape(input), true), paddings, false)\n"
	"dconstant_values = Sum(SelectV2(is_input, ZerosLike(doutput), doutput), Range(0, Rank(doutput), 1))",
	.run = pad_run,
};

/* REFLECT mirrors at the element on the edge, SYMMETRIC at the edge itself, which repeats that element. */
static int64_t mirror_offset(const struct dfg_resolved_node *call)
{
	return call->attr[0].s.length && call->attr[0].s.s[0] == 'R';
}

static struct dfg_err *check_mirror(const struct dfg_infer *node, int d, int64_t dim, bool grad)
{
	int64_t before, after, offset = mirror_offset(node->call);
	DFG_TRY(padding_of(node, d, &before, &after));
	if (dim < 0 || before < 0 || after < 0)
		return NULL;
	int64_t inner = grad ? dim - before - after : dim;
	if (before > inner - offset || after > inner - offset)
		return DFG_ERR(DFG_DATA,
			"cannot mirror %" PRId64 " and %" PRId64 " elements at the ends of dimension %d, expected at most %" PRId64,
			before, after, d, inner > offset ? inner - offset : 0);
	return NULL;
}

static struct dfg_err *mirror_shape(struct dfg_infer *node)
{
	DFG_TRY(pad_shape(node));
	for (int d = 0; d < node->in[INPUT]->rank; d++)
		DFG_TRY(check_mirror(node, d, node->in[INPUT]->dim[d], false));
	return NULL;
}

static struct dfg_err *mirror_grad_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[INPUT];
	DFG_TRY(rank_of(node, &node->out[0].rank));
	for (int d = 0; d < node->out[0].rank; d++) {
		int64_t before, after, dim = in->rank < 0 ? DFG_UNKNOWN : in->dim[d];
		DFG_TRY(check_mirror(node, d, dim, true));
		DFG_TRY(padding_of(node, d, &before, &after));
		node->out[0].dim[d] = dim < 0 || before < 0 || after < 0 ? DFG_UNKNOWN : dim - before - after;
	}
	return NULL;
}

/* Moves between the padded tensor and the inner one, element by element along each dimension. */
struct mirror {
	const struct dfg_tensor *paddings;
	struct dfg_shape padded, inner;
	int64_t offset;
};

/* The index, along one dimension, of the inner element that is mirrored to index i of the padded tensor. */
static int64_t mirrored(const struct mirror *m, int64_t i)
{
	int64_t at = 0, step = 1;
	for (int d = m->padded.rank - 1; d >= 0; d--) {
		int64_t dim = m->inner.dim[d], k = i % m->padded.dim[d] - dfg_tensor_int(m->paddings, 2 * d);
		i /= m->padded.dim[d];
		k = k < 0 ? -k - 1 + m->offset : k >= dim ? 2 * dim - 1 - m->offset - k : k;
		at += k * step;
		step *= dim;
	}
	return at;
}

static struct dfg_err *mirror_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, INPUT);
	size_t size = dfg_dtype_size(in->dtype);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	struct mirror m = {dfg_kernel_input(ctx, PADDINGS), out->shape, in->shape, mirror_offset(ctx->call)};
	for (int64_t i = 0, n = dfg_shape_count(&out->shape); i < n; i++)
		memcpy(dfg_tensor_at(out, i), dfg_tensor_at(in, mirrored(&m, i)), size);
	return dfg_moved(ctx, 0);
}

const struct dfg_op dfg_op_MirrorPad = {
	.name = "MirrorPad",
	.doc = "input with a border that mirrors it: paddings[d] elements before and after it along dimension d",
	.sig = "<T: type, Tpaddings: index = i32>(input: T, paddings: Tpaddings) -> (output: T)",
	.attr = {"mode: string in REFLECT|SYMMETRIC"},
	.flags = DFG_ANY_RANK | DFG_EXACT | DFG_KNOWS_MATRICES,
	.shape = mirror_shape,
	.rows = pad_rows,
	.gradient = "dinput = MirrorPadGrad(doutput, paddings, mode = mode)",
	.run = mirror_run,
};

#define MIRROR_GRAD(NAME, name, type, ...)                                                                    \
	static struct dfg_err *mirror_grad_##name(struct dfg_kernel *ctx)                                         \
	{                                                                                                         \
		const struct dfg_tensor *in = dfg_kernel_input(ctx, INPUT);                                           \
		struct dfg_tensor *out;                                                                               \
		DFG_TRY(dfg_output_now(ctx, &out));                                                                   \
		struct mirror m = {dfg_kernel_input(ctx, PADDINGS), in->shape, out->shape, mirror_offset(ctx->call)}; \
		memset(out->data, 0, dfg_tensor_bytes(out));                                                          \
		for (int64_t i = 0, n = dfg_shape_count(&in->shape); i < n; i++)                                      \
			((type *)out->data)[mirrored(&m, i)] += ((const type *)in->data)[i];                              \
		return NULL;                                                                                          \
	}
DFG_EACH_numeric(MIRROR_GRAD)

const struct dfg_op dfg_op_MirrorPadGrad = {
	.name = "MirrorPadGrad",
	.doc = "gradient of MirrorPad: input without its border, whose elements are added to those that they mirror",
	.sig = "<T: numeric, Tpaddings: index = i32>(input: T, paddings: Tpaddings) -> (output: T)",
	.attr = {"mode: string in REFLECT|SYMMETRIC"},
	.flags = DFG_ANY_RANK | DFG_EXACT | DFG_KNOWS_MATRICES,
	.shape = mirror_grad_shape,
	.gradient = "dinput = MirrorPad(doutput, paddings, mode = mode)",
	.kernel = {DFG_EACH_numeric(DFG_BY_DTYPE, mirror_grad)},
};
