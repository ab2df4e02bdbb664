/* Parts of a tensor: Slice, StridedSlice and its gradient. */
#include "kernels/gradient_helpers.h"
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"
#include "kernels/variable.h"
#include "kernels/row_rules.h"

#include <inttypes.h>
#include <string.h>

enum { INPUT, BEGIN, SIZE };

/* Dimension d of the slice; DFG_UNKNOWN if it depends on unknown values. */
static struct dfg_err *slice_dim(const struct dfg_infer *node, int d, int64_t *out_dim)
{
	int64_t dim = node->in[INPUT]->rank < 0 ? DFG_UNKNOWN : node->in[INPUT]->dim[d];
	int64_t begin = dfg_int_of(node, BEGIN, d), size = dfg_int_of(node, SIZE, d);
	*out_dim = size >= 0 ? size : DFG_UNKNOWN;
	if (begin < 0 && begin != DFG_NOT_KNOWN)
		return DFG_ERR(DFG_DATA, "begin is %" PRId64 " in dimension %d, expected at least 0", begin, d);
	if (size < -1 && size != DFG_NOT_KNOWN)
		return DFG_ERR(DFG_DATA, "size is %" PRId64 " in dimension %d, expected at least -1", size, d);
	if (dim < 0 || begin < 0)
		return NULL;
	if (begin > dim || (size >= 0 && size > dim - begin))
		return DFG_ERR(DFG_DATA, "cannot take %" PRId64 " elements from index %" PRId64 " of dimension %d of %s",
			size < 0 ? 0 : size, begin, d, dfg_shape_words(node->in[INPUT]).s);
	if (size == -1)
		*out_dim = dim - begin;
	return NULL;
}

static struct dfg_err *slice_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[INPUT];
	int64_t n = in->rank;
	for (int i = BEGIN; i <= SIZE; i++) {
		int64_t length = dfg_length_of(node, i);
		DFG_TRY(dfg_need_rank(node, i, 1));
		if (length > DFG_RANK_MAX || (n >= 0 && length >= 0 && length != n))
			return DFG_ERR(DFG_DATA, "%s has shape %s, expected a number for each dimension of %s",
				node->call->signature->in[i].name, dfg_shape_words(node->in[i]).s, dfg_shape_words(in).s);
		n = length >= 0 ? length : n;
	}
	node->out[0].rank = (int)n;
	for (int d = 0; d < n; d++)
		DFG_TRY(slice_dim(node, d, &node->out[0].dim[d]));
	return NULL;
}

static struct dfg_err *slice_known(struct dfg_infer *node)
{
	const struct dfg_known_value *in = node->known[INPUT];
	int64_t begin = dfg_int_of(node, BEGIN, 0);
	struct dfg_known_value *known;
	if (!in || node->out[0].rank != 1 || begin < 0)
		return NULL;
	DFG_TRY(dfg_known_new(node, 0, 1, node->out[0].dim[0], &known));
	for (int64_t k = 0; known && k < known->count && begin + k < in->count; k++)
		known->v[k] = in->v[begin + k];
	return NULL;
}

static struct dfg_err *slice_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, INPUT);
	int64_t from[DFG_RANK_MAX], to[DFG_RANK_MAX], first = 0;
	struct dfg_tensor *out;
	struct dfg_strided_box box = {0};
	DFG_TRY(dfg_output_now(ctx, &out));
	dfg_steps(&in->shape, from);
	dfg_steps(&out->shape, to);
	for (int d = 0; d < in->shape.rank; d++) {
		first += dfg_tensor_int(ctx->in[BEGIN], d) * from[d];
		dfg_box_axis(&box, out->shape.dim[d], from[d], to[d]);
	}
	dfg_box_copy(ctx, dfg_dtype_size(in->dtype), box, dfg_tensor_at(in, first), out->data);
	return dfg_moved(ctx, 0);
}

static const char *slice_rows(const struct dfg_infer *node, uint64_t by_row)
{
	bool is_whole = by_row == 1 && dfg_int_of(node, 1, 0) == 0 && dfg_int_of(node, 2, 0) == -1;
	return is_whole ? NULL : "it takes some rows of the batch";
}

static const char *strided_slice_rows(const struct dfg_infer *node, uint64_t by_row)
{
	const union dfg_value *mask = node->call->attr;
	bool is_whole = by_row == 1 && (mask[0].i & mask[1].i & 1) && !((mask[2].i | mask[3].i | mask[4].i) & 1) &&
					dfg_int_of(node, 3, 0) == 1;
	return is_whole ? NULL : "it takes some rows of the batch";
}

const struct dfg_op dfg_op_Slice = {
	.name = "Slice",
	.doc = "the part of input that begins at begin and has size elements along each axis; -1: up to the end",
	.sig = "<T: type, Index: index>(input: T, begin: Index, size: Index) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = slice_shape,
	.known = slice_known,
	.rows = slice_rows,
	.gradient = "dinput = Pad(doutput, Pack([i32(begin), Shape(input) - Shape(output) - i32(begin)], axis = 1))",
	.run = slice_run,
};

/* A strided slice of a tensor of shape `of`. */
enum { BEGIN_MASK, END_MASK, ELLIPSIS_MASK, NEW_AXIS_MASK, SHRINK_AXIS_MASK };
struct cut {
	const union dfg_value *mask;
	const struct dfg_shape *of;
	int d;                                                                 /* the next axis of `of` */
	int64_t begin[DFG_RANK_MAX], stride[DFG_RANK_MAX], size[DFG_RANK_MAX]; /* for each axis of `of` */
	struct dfg_shape out;
};
struct item {
	int64_t begin, end, stride; /* may be DFG_NOT_KNOWN */
};

static bool masked(const struct cut *cut, int mask, int i)
{
	return cut->mask[mask].i >> i & 1;
}

static struct dfg_err *add_out(struct cut *cut, int64_t dim)
{
	if (cut->out.rank == DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the slice has more than %d dimensions", DFG_RANK_MAX);
	cut->out.dim[cut->out.rank++] = dim;
	return NULL;
}

static int64_t clamp(int64_t value, int64_t dim, int64_t low, int64_t high)
{
	if (value < 0)
		value += dim;
	return value < low ? low : value > high ? high : value;
}

/* A single index, which removes the axis. */
static struct dfg_err *cut_index(struct cut *cut, const struct item *item)
{
	int64_t dim = cut->of->dim[cut->d], begin = item->begin;
	if (item->stride <= 0 && item->stride != DFG_NOT_KNOWN)
		return DFG_ERR(DFG_DATA, "the stride of an index is %" PRId64 ", expected a positive number", item->stride);
	cut->size[cut->d] = cut->stride[cut->d] = 1;
	if (dim >= 0 && begin != DFG_NOT_KNOWN) {
		if (begin < -dim || begin >= dim)
			return DFG_ERR(DFG_DATA, "index %" PRId64 " is out of range for dimension %d of %s", begin, cut->d,
				dfg_shape_words(cut->of).s);
		cut->begin[cut->d] = begin < 0 ? begin + dim : begin;
	}
	cut->d++;
	return NULL;
}

/* A range of an axis. */
static struct dfg_err *cut_range(struct cut *cut, int i, const struct item *item)
{
	int64_t dim = cut->of->dim[cut->d], stride = item->stride, size = DFG_UNKNOWN, begin = 0;
	bool from_start = masked(cut, BEGIN_MASK, i), to_end = masked(cut, END_MASK, i);
	if (!stride)
		return DFG_ERR(DFG_DATA, "stride %d is 0, expected another number", i);
	if (dim >= 0 && stride != DFG_NOT_KNOWN && (from_start || item->begin != DFG_NOT_KNOWN) &&
		(to_end || item->end != DFG_NOT_KNOWN)) {
		int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;
		begin = from_start ? (stride > 0 ? low : high) : clamp(item->begin, dim, low, high);
		int64_t end = to_end ? (stride > 0 ? high : low) : clamp(item->end, dim, low, high);
		/* Unsigned, because -INT64_MIN overflows. */
		uint64_t length = stride > 0 ? (uint64_t)(end - begin) : (uint64_t)(begin - end);
		uint64_t step = stride > 0 ? (uint64_t)stride : -(uint64_t)stride;
		size = (stride > 0 ? end > begin : end < begin) ? (int64_t)((length - 1) / step + 1) : 0;
	}
	cut->begin[cut->d] = begin;
	cut->stride[cut->d] = size > 1 ? stride : 1;
	cut->size[cut->d++] = size;
	return add_out(cut, size);
}

static struct dfg_err *cut_whole(struct cut *cut, int axes)
{
	for (; axes > 0; axes--) {
		cut->begin[cut->d] = 0;
		cut->stride[cut->d] = 1;
		cut->size[cut->d] = cut->of->dim[cut->d];
		DFG_TRY(add_out(cut, cut->size[cut->d++]));
	}
	return NULL;
}

/* Applies all n items. Axes without an item, at the ellipsis or at the end, are taken whole. */
static struct dfg_err *cut_all(struct cut *cut, const struct item *item, int n)
{
	int named = 0, ellipses = 0;
	for (int i = 0; i < n; i++) {
		ellipses += masked(cut, ELLIPSIS_MASK, i);
		named += !masked(cut, ELLIPSIS_MASK, i) && !masked(cut, NEW_AXIS_MASK, i);
	}
	if (ellipses > 1)
		return DFG_ERR(DFG_DATA, "ellipsis_mask has %d bits, expected at most one", ellipses);
	if (named > cut->of->rank)
		return DFG_ERR(DFG_DATA, "there are %d indices for the %d dimensions of %s", named, cut->of->rank,
			dfg_shape_words(cut->of).s);
	for (int i = 0; i < n; i++) {
		if (masked(cut, ELLIPSIS_MASK, i))
			DFG_TRY(cut_whole(cut, cut->of->rank - named));
		else if (masked(cut, NEW_AXIS_MASK, i))
			DFG_TRY(add_out(cut, 1));
		else if (masked(cut, SHRINK_AXIS_MASK, i))
			DFG_TRY(cut_index(cut, &item[i]));
		else
			DFG_TRY(cut_range(cut, i, &item[i]));
	}
	return cut_whole(cut, cut->of->rank - cut->d);
}

/* The slice of a tensor of shape `of` by inputs first, first + 1 and first + 2. Unknown if the rank is. */
static struct dfg_err *cut_of(const struct dfg_infer *node, const struct dfg_shape *of, int first, struct cut *out_cut)
{
	struct item item[2 * DFG_RANK_MAX];
	int64_t n = DFG_UNKNOWN;
	*out_cut = (struct cut){.mask = node->call->attr, .of = of, .out = DFG_SHAPE_UNKNOWN};
	for (int i = first; i < first + 3; i++) {
		int64_t length = dfg_length_of(node, i);
		DFG_TRY(dfg_need_rank(node, i, 1));
		if (n >= 0 && length >= 0 && length != n)
			return DFG_ERR(DFG_DATA, "%s has %" PRId64 " numbers, expected %" PRId64, node->call->signature->in[i].name,
				length, n);
		n = length >= 0 ? length : n;
	}
	if (n > 2 * DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the slice has %" PRId64 " indices: the limit is %d", n, 2 * DFG_RANK_MAX);
	if (n < 0 || of->rank < 0)
		return NULL;
	for (int i = 0; i < n; i++)
		item[i] =
			(struct item){dfg_int_of(node, first, i), dfg_int_of(node, first + 1, i), dfg_int_of(node, first + 2, i)};
	out_cut->out = DFG_SHAPE_SCALAR;
	return cut_all(out_cut, item, (int)n);
}

static struct dfg_err *strided_slice_shape(struct dfg_infer *node)
{
	struct cut cut;
	DFG_TRY(cut_of(node, node->in[0], 1, &cut));
	node->out[0] = cut.out;
	return NULL;
}

static struct dfg_err *strided_slice_known(struct dfg_infer *node)
{
	const struct dfg_known_value *in = node->known[0];
	struct dfg_known_value *known;
	struct cut cut;
	if (!in || in->rank != 1 || node->out[0].rank < 0)
		return NULL;
	for (int i = 1; i < 4; i++)
		for (int64_t k = 0; k < (node->known[i] ? node->known[i]->count : 1); k++)
			if (dfg_int_of(node, i, k) == DFG_NOT_KNOWN)
				return NULL;
	DFG_TRY(cut_of(node, &DFG_SHAPE_VECTOR(in->count), 1, &cut));
	DFG_TRY(dfg_known_new(node, 0, cut.out.rank, cut.size[0], &known));
	for (int64_t k = 0; known && k < cut.size[0]; k++)
		known->v[k] = in->v[cut.begin[0] + k * cut.stride[0]];
	return NULL;
}

/* The slice by the values of the inputs. */
static struct dfg_err *cut_now(struct dfg_kernel *ctx, const struct dfg_shape *of, int first, struct cut *out_cut)
{
	struct item item[2 * DFG_RANK_MAX];
	int64_t n = dfg_shape_count(&ctx->in[first]->shape);
	for (int i = first; i < first + 3; i++)
		if (ctx->in[i]->shape.rank != 1 || ctx->in[i]->shape.dim[0] != n || n > 2 * DFG_RANK_MAX)
			return DFG_ERR(DFG_DATA, "begin, end and strides must be vectors of equal length, not %s",
				dfg_shape_words(&ctx->in[i]->shape).s);
	for (int i = 0; i < n; i++)
		item[i] = (struct item){dfg_tensor_int(ctx->in[first], i), dfg_tensor_int(ctx->in[first + 1], i),
			dfg_tensor_int(ctx->in[first + 2], i)};
	*out_cut = (struct cut){.mask = ctx->call->attr, .of = of};
	return cut_all(out_cut, item, (int)n);
}

/*
 * The offset of the slice in the whole tensor, in elements, and the box that copies it. The steps in the whole tensor
 * are its own times the strides.
 */
static int64_t cut_box(const struct cut *cut, bool into, struct dfg_strided_box *out_box)
{
	int64_t whole[DFG_RANK_MAX], part[DFG_RANK_MAX], first = 0;
	struct dfg_shape size = {.rank = cut->of->rank};
	memcpy(size.dim, cut->size, sizeof size.dim);
	dfg_steps(cut->of, whole);
	dfg_steps(&size, part);
	*out_box = (struct dfg_strided_box){0};
	for (int d = 0; d < size.rank; d++) {
		int64_t step = whole[d] * cut->stride[d];
		first += cut->begin[d] * whole[d];
		dfg_box_axis(out_box, size.dim[d], into ? part[d] : step, into ? step : part[d]);
	}
	return dfg_shape_count(&size) ? first : 0;
}

static struct dfg_err *strided_slice_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	struct dfg_strided_box box;
	struct cut cut;
	DFG_TRY(cut_now(ctx, &in->shape, 1, &cut));
	DFG_TRY(dfg_kernel_output(ctx, 0, &cut.out, &out));
	int64_t first = cut_box(&cut, false, &box);
	dfg_box_copy(ctx, dfg_dtype_size(in->dtype), box, dfg_tensor_at(in, first), out->data);
	return dfg_moved(ctx, 0);
}

/* StridedSliceGrad(shape, begin, end, strides, dy). */
static struct dfg_err *strided_slice_gradient(struct dfg_gradient *node)
{
	struct dfg_edge dx, in[] = {DFG_NO_EDGE, node->in[1], node->in[2], node->in[3], node->dy[0]};
	enum dfg_dtype index = (enum dfg_dtype)node->call->in_dtype[1];
	if (index == DFG_I16) {
		for (int i = 1; i <= 3; i++)
			DFG_TRY(dfg_gradient_op(node, "Cast", &in[i], 1, &DFG_ATTR_T("DstT", DFG_I32), 1, &in[i]));
		index = DFG_I32;
	}
	DFG_TRY(dfg_gradient_op(node, "Shape", node->in, 1, &DFG_ATTR_T("out_type", index), 1, &in[0]));
	DFG_TRY(dfg_adjoint_same(node, "StridedSliceGrad", in, 5, &dx));
	dfg_gradient_set(node, 0, dx);
	return NULL;
}

#define MASKS                                                                                           \
	{                                                                                                   \
		"begin_mask: int = 0", "end_mask: int = 0", "ellipsis_mask: int = 0", "new_axis_mask: int = 0", \
			"shrink_axis_mask: int = 0"                                                                 \
	}

const struct dfg_op dfg_op_StridedSlice = {
	.name = "StridedSlice",
	.doc =
		"input[begin:end:strides]; bit i of a mask: item i has no begin or end, is `...`, a new axis, or a single "
		"index",
	.sig = "<T: type, Index: index|i16>(input: T, begin: Index, end: Index, strides: Index) -> (output: T)",
	.attr = MASKS,
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.means = DFG_MEANS_SLICE,
	.shape = strided_slice_shape,
	.known = strided_slice_known,
	.rows = strided_slice_rows,
	.gradient_fn = strided_slice_gradient,
	.run = strided_slice_run,
};

static struct dfg_err *strided_slice_grad_shape(struct dfg_infer *node)
{
	struct cut cut;
	DFG_TRY(dfg_shape_of(node, 0, &node->out[0]));
	DFG_TRY(cut_of(node, &node->out[0], 1, &cut));
	if (!dfg_shape_fits(&cut.out, node->in[4]))
		return DFG_ERR(DFG_DATA, "dy has shape %s, expected the slice's %s", dfg_shape_words(node->in[4]).s,
			dfg_shape_words(&cut.out).s);
	return NULL;
}

static struct dfg_err *strided_slice_grad_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *dy = dfg_kernel_input(ctx, 4);
	struct dfg_tensor *out;
	struct dfg_strided_box box;
	struct cut cut;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(cut_now(ctx, &out->shape, 1, &cut));
	if (!dfg_shape_equal(&cut.out, &dy->shape))
		return DFG_ERR(DFG_DATA, "dy has shape %s, expected the slice's %s", dfg_shape_words(&dy->shape).s,
			dfg_shape_words(&cut.out).s);
	memset(out->data, 0, dfg_tensor_bytes(out));
	int64_t first = cut_box(&cut, true, &box);
	dfg_box_copy(ctx, dfg_dtype_size(dy->dtype), box, dy->data, dfg_tensor_at(out, first));
	return dfg_moved(ctx, 0);
}

static struct dfg_err *strided_slice_grad_gradient(struct dfg_gradient *node)
{
	struct dfg_edge ddy, in[] = {node->dy[0], node->in[1], node->in[2], node->in[3]};
	DFG_TRY(dfg_adjoint_same(node, "StridedSlice", in, 4, &ddy));
	dfg_gradient_set(node, 4, ddy);
	return NULL;
}

const struct dfg_op dfg_op_StridedSliceGrad = {
	.name = "StridedSliceGrad",
	.doc = "zeros of the given shape, with dy stored in the slice",
	.sig = "<T: type, Index: index>(shape: Index, begin: Index, end: Index, strides: Index, dy: T) -> (output: T)",
	.attr = MASKS,
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = strided_slice_grad_shape,
	.gradient_fn = strided_slice_grad_gradient,
	.run = strided_slice_grad_run,
};

/* Assignment to a slice of a variable. The value is broadcast to the slice. */
enum { ASSIGNED = 4 };

static struct dfg_err *slice_assign_shape(struct dfg_infer *node)
{
	const struct dfg_shape shape = dfg_variable_shape(node, 0);
	struct cut cut;
	DFG_TRY(dfg_check_variable_dtype(node));
	DFG_TRY(cut_of(node, &shape, 1, &cut));
	if (node->in[ASSIGNED]->rank > cut.out.rank && cut.out.rank >= 0)
		return DFG_ERR(DFG_DATA, "value has shape %s, which does not broadcast to the slice's %s",
			dfg_shape_words(node->in[ASSIGNED]).s, dfg_shape_words(&cut.out).s);
	return dfg_shape_of_ref(node);
}

/* The value's elements in the shape of the slice. */
static struct dfg_err *broadcast_value(
	struct dfg_kernel *ctx, const struct dfg_tensor *value, const struct dfg_shape *to, const void **out_elements)
{
	const size_t size = dfg_dtype_size(value->dtype);
	struct dfg_strided_box box = {0};
	int64_t from[DFG_RANK_MAX], step[DFG_RANK_MAX];
	void *elements;
	const int more = to->rank - value->shape.rank;
	bool fits = more >= 0;
	for (int d = 0; d < value->shape.rank && fits; d++)
		fits = value->shape.dim[d] == 1 || value->shape.dim[d] == to->dim[d + more];
	if (!fits)
		return DFG_ERR(DFG_DATA, "value has shape %s, which does not broadcast to the slice's %s",
			dfg_shape_words(&value->shape).s, dfg_shape_words(to).s);
	*out_elements = value->data;
	if (dfg_shape_equal(&value->shape, to))
		return NULL;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)dfg_shape_count(to) * size + 1, &elements));
	dfg_steps(&value->shape, from);
	dfg_steps(to, step);
	for (int d = 0; d < to->rank; d++)
		dfg_box_axis(&box, to->dim[d], d < more || value->shape.dim[d - more] == 1 ? 0 : from[d - more], step[d]);
	dfg_box_copy(ctx, size, box, value->data, elements);
	*out_elements = elements;
	return NULL;
}

static struct dfg_err *assign_slice(struct dfg_kernel *ctx, const char *name, struct dfg_tensor *to)
{
	const struct dfg_tensor *value = dfg_kernel_input(ctx, ASSIGNED);
	struct dfg_strided_box box;
	const void *elements;
	struct cut cut;
	if (to->dtype != value->dtype)
		return DFG_ERR(DFG_DATA, "variable '%s' is %s, and value is %s", name, dfg_dtype_name(to->dtype),
			dfg_dtype_name(value->dtype));
	DFG_TRY(cut_now(ctx, &to->shape, 1, &cut));
	DFG_TRY(broadcast_value(ctx, value, &cut.out, &elements));
	const int64_t first = cut_box(&cut, true, &box);
	dfg_box_copy(ctx, dfg_dtype_size(to->dtype), box, elements, dfg_tensor_at(to, first));
	return NULL;
}

static struct dfg_err *slice_assign_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor *to;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	DFG_TRY(dfg_variable_lock(variable, &to));
	struct dfg_err *err = assign_slice(ctx, variable->resource.name, to);
	dfg_variable_unlock(variable);
	return err ? err : dfg_give_back(ctx, variable);
}

#define SLICE_ASSIGN(Op, input, output)                                                            \
	const struct dfg_op dfg_op_##Op = {                                                            \
		.name = #Op,                                                                               \
		.doc = "sets the slice ref[begin:end:strides] of a variable to value, which is broadcast", \
		.sig = "<T: plain|half, Index: index>(ref: " input                                         \
			   ", begin: Index, end: Index, strides: Index, value: T)"                             \
			   " -> (" output ")",                                                                 \
		.attr = MASKS,                                                                             \
		.flags = DFG_STATEFUL | DFG_READS | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,           \
		.shape = slice_assign_shape,                                                               \
		.run = slice_assign_run,                                                                   \
	};
SLICE_ASSIGN(StridedSliceAssign, "ref T", "output_ref: ref T")
SLICE_ASSIGN(ResourceStridedSliceAssign, "resource", "")
