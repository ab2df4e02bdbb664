/* Sums, products and reductions of sparse tensors. */
#include "kernels/sparse.h"
#include "kernels/variable.h"

#include <inttypes.h>
#include <string.h>

enum { INDICES, VALUES, DIMS, DENSE };

extern const struct dfg_op dfg_op_AddV2, dfg_op_Maximum, dfg_op_Minimum, dfg_op_Mul, dfg_op_Div;

/* The dense shape as a shape of a tensor. */
static struct dfg_err *shape_of(const struct dfg_sparse *s, struct dfg_shape *out_shape)
{
	*out_shape = (struct dfg_shape){.rank = s->rank};
	if (s->rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the dense shape has %d dimensions, expected at most %d", s->rank, DFG_RANK_MAX);
	for (int d = 0; d < s->rank; d++)
		out_shape->dim[d] = s->dim[d];
	return NULL;
}

/* SparseReduceSum and SparseReduceMax. */
enum { AXES = 3 };
enum { KEEP_DIMS };

static struct dfg_err *reduce_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, INDICES, VALUES, DIMS));
	if (node->in[AXES]->rank > 1)
		return DFG_ERR(
			DFG_DATA, "reduction_axes have shape %s, expected a scalar or a vector", dfg_shape_words(node->in[AXES]).s);
	return NULL;
}

/* gone[d]: dimension d is reduced. Without axes none is, as in TensorFlow. */
static struct dfg_err *reduced(
	struct dfg_kernel *ctx, const struct dfg_sparse *s, bool *gone, struct dfg_shape *out_shape)
{
	const struct dfg_tensor *axes = ctx->in[AXES];
	const int64_t n = dfg_shape_count(&axes->shape);
	struct dfg_shape all;
	DFG_TRY(shape_of(s, &all));
	for (int d = 0; d < s->rank; d++)
		gone[d] = false;
	for (int64_t i = 0; i < n; i++) {
		int axis;
		DFG_TRY(dfg_axis(dfg_tensor_int(axes, i), s->rank, &axis));
		gone[axis] = true;
	}
	*out_shape = DFG_SHAPE_SCALAR;
	for (int d = 0; d < s->rank; d++)
		if (!gone[d] || dfg_kernel_attr(ctx)[KEEP_DIMS].b)
			out_shape->dim[out_shape->rank++] = gone[d] ? 1 : all.dim[d];
	return NULL;
}

/* The element of the result for an entry. */
static int64_t place_of(const struct dfg_sparse *s, const bool *gone, int64_t entry)
{
	int64_t place = 0;
	for (int d = 0; d < s->rank; d++)
		if (!gone[d])
			place = place * s->dim[d] + s->at[entry * s->rank + d];
	return place;
}

/* In halves the sums are rounded at the end, because the values are widened before. */
static struct dfg_err *reduce_run(struct dfg_kernel *ctx, const struct dfg_op *combination)
{
	struct dfg_sparse s;
	struct dfg_tensor *out;
	struct dfg_shape shape;
	bool gone[DFG_RANK_MAX], *set;
	dfg_row_fn *row;
	DFG_TRY(dfg_sparse_of(ctx, INDICES, VALUES, DIMS, &s));
	DFG_TRY(reduced(ctx, &s, gone, &shape));
	DFG_TRY(dfg_row_of(combination, ctx->in[VALUES]->dtype, &row));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	const size_t count = (size_t)dfg_shape_count(&shape), bytes = dfg_dtype_size(out->dtype);
	DFG_TRY(dfg_kernel_scratch(ctx, count + 1, (void **)&set));
	memset(set, 0, count + 1);
	memset(out->data, 0, count * bytes);
	for (int64_t i = 0; i < s.n; i++) {
		const int64_t place = place_of(&s, gone, i);
		if (set[place])
			dfg_combine(row, out->dtype, 1, dfg_tensor_at(out, place), dfg_tensor_at(ctx->in[VALUES], i));
		else
			memcpy(dfg_tensor_at(out, place), dfg_tensor_at(ctx->in[VALUES], i), bytes);
		set[place] = true;
	}
	return NULL;
}

static struct dfg_err *reduce_sum_run(struct dfg_kernel *ctx)
{
	return reduce_run(ctx, &dfg_op_AddV2);
}

static struct dfg_err *reduce_max_run(struct dfg_kernel *ctx)
{
	return reduce_run(ctx, &dfg_op_Maximum);
}

#define SPARSE_INPUT "input_indices: i64, input_values: T, input_shape: i64, reduction_axes: i32"
const struct dfg_op dfg_op_SparseReduceSum = {
	.name = "SparseReduceSum",
	.doc = "sums of a sparse tensor's values along axes, as a dense tensor",
	.sig = "<T: numeric|half>(" SPARSE_INPUT ") -> (output: T)",
	.attr = {[KEEP_DIMS] = "keep_dims: bool = false"},
	.flags = DFG_ANY_RANK,
	.shape = reduce_shape,
	.gradient =
		"axes = Reshape(reduction_axes, [-1])\n"
		"n = Size(input_shape)\n"
		"named = UnsortedSegmentMax(OnesLike(axes), FloorMod(axes + n, n), n)\n"
		"gone = Equal(named, OnesLike(named))\n"
		"kept = SelectV2(gone, OnesLike(input_shape), input_shape)\n"
		"at = SelectV2(gone, ZerosLike(input_indices), input_indices)\n"
		"dinput_values = GatherNd(Reshape(doutput, kept), at)",
	.run = reduce_sum_run,
};

const struct dfg_op dfg_op_SparseReduceMax = {
	.name = "SparseReduceMax",
	.doc = "the largest of a sparse tensor's values along axes, as a dense tensor: 0 where there are none",
	.sig = "<T: number|half>(" SPARSE_INPUT ") -> (output: T)",
	.attr = {[KEEP_DIMS] = "keep_dims: bool = false"},
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = reduce_shape,
	.run = reduce_max_run,
};

/* SparseTensorDenseAdd: indices and shape are of either index type. */

static struct dfg_err *dense_add_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, INDICES, VALUES, DIMS));
	node->out[0] = *node->in[DENSE];
	return NULL;
}

static struct dfg_err *check_dense(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *at = ctx->in[INDICES], *dims = ctx->in[DIMS], *dense = ctx->in[DENSE];
	const int rank = dense->shape.rank;
	if (at->shape.rank != 2 || at->shape.dim[1] != rank || dims->shape.rank != 1 || dims->shape.dim[0] != rank ||
		ctx->in[VALUES]->shape.rank != 1 || ctx->in[VALUES]->shape.dim[0] != at->shape.dim[0])
		return DFG_ERR(DFG_DATA,
			"indices have shape %s, values %s and the dense shape %s, expected [n,%d], [n] and [%d]",
			dfg_shape_words(&at->shape).s, dfg_shape_words(&ctx->in[VALUES]->shape).s, dfg_shape_words(&dims->shape).s,
			rank, rank);
	for (int d = 0; d < rank; d++)
		if (dfg_tensor_int(dims, d) != dense->shape.dim[d])
			return DFG_ERR(DFG_DATA,
				"dimension %d of the dense shape is %" PRId64 ", but the dense tensor has shape %s", d,
				dfg_tensor_int(dims, d), dfg_shape_words(&dense->shape).s);
	return NULL;
}

static struct dfg_err *dense_add_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *at = ctx->in[INDICES], *values = ctx->in[VALUES], *dense = ctx->in[DENSE];
	struct dfg_tensor *out;
	dfg_row_fn *row;
	DFG_TRY(check_dense(ctx));
	DFG_TRY(dfg_row_of(&dfg_op_AddV2, dense->dtype, &row));
	DFG_TRY(dfg_kernel_output(ctx, 0, &dense->shape, &out));
	if (dfg_tensor_bytes(out))
		memcpy(out->data, dense->data, dfg_tensor_bytes(out));
	for (int64_t i = 0; i < at->shape.dim[0]; i++) {
		int64_t place = 0;
		for (int d = 0; d < dense->shape.rank; d++) {
			const int64_t index = dfg_tensor_int(at, i * dense->shape.rank + d);
			if (index < 0 || index >= dense->shape.dim[d])
				return DFG_ERR(DFG_DATA, "index %" PRId64 " of entry %" PRId64 " is outside [0,%" PRId64 ")", index, i,
					dense->shape.dim[d]);
			place = place * dense->shape.dim[d] + index;
		}
		dfg_combine(row, out->dtype, 1, dfg_tensor_at(out, place), dfg_tensor_at(values, i));
	}
	return NULL;
}

const struct dfg_op dfg_op_SparseTensorDenseAdd = {
	.name = "SparseTensorDenseAdd",
	.doc = "a dense tensor with the values of a sparse one added",
	.sig =
		"<T: numeric|half, Tindices: index>(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T) -> (output: T)",
	.flags = DFG_ANY_RANK,
	.shape = dense_add_shape,
	.gradient = "da_values, db = GatherNd(doutput, a_indices), doutput",
	.run = dense_add_run,
};

/* SparseDenseCwiseMul, Div and Add: the dense operand is broadcast to the sparse tensor's shape, but not the other way. */

static struct dfg_err *cwise_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_sparse_need(node, INDICES, VALUES, DIMS));
	node->out[0] = *node->in[VALUES];
	return NULL;
}

static struct dfg_err *check_broadcast(const struct dfg_sparse *s, const struct dfg_shape *dense)
{
	for (int d = 0; d < dense->rank; d++) {
		const int own = d + s->rank - dense->rank;
		if (own < 0 || (dense->dim[d] != 1 && dense->dim[d] != s->dim[own]))
			return DFG_ERR(DFG_DATA, "dense has shape %s, which does not broadcast to the sparse tensor's shape",
				dfg_shape_words(dense).s);
	}
	return NULL;
}

static int64_t dense_place(const struct dfg_sparse *s, const struct dfg_shape *dense, int64_t entry)
{
	int64_t place = 0;
	for (int d = 0; d < dense->rank; d++)
		place = place * dense->dim[d] + (dense->dim[d] == 1 ? 0 : s->at[entry * s->rank + d + s->rank - dense->rank]);
	return place;
}

static struct dfg_err *cwise_run(struct dfg_kernel *ctx, const struct dfg_op *combination)
{
	const struct dfg_tensor *dense = ctx->in[DENSE];
	const size_t bytes = dfg_dtype_size(dense->dtype);
	struct dfg_sparse s;
	struct dfg_tensor *out;
	char *operand;
	dfg_row_fn *row;
	DFG_TRY(dfg_sparse_of(ctx, INDICES, VALUES, DIMS, &s));
	DFG_TRY(check_broadcast(&s, &dense->shape));
	DFG_TRY(dfg_row_of(combination, dense->dtype, &row));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(s.n), &out));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)s.n * bytes + 1, (void **)&operand));
	for (int64_t i = 0; i < s.n; i++)
		memcpy(operand + (size_t)i * bytes, dfg_tensor_at(dense, dense_place(&s, &dense->shape, i)), bytes);
	if (s.n)
		memcpy(out->data, ctx->in[VALUES]->data, (size_t)s.n * bytes);
	dfg_combine(row, out->dtype, s.n, out->data, operand);
	return NULL;
}

static struct dfg_err *check_divisor(const struct dfg_tensor *dense)
{
	for (int64_t i = 0; dfg_dtype_is(dense->dtype, "int") && i < dfg_shape_count(&dense->shape); i++)
		if (!dfg_tensor_int(dense, i))
			return DFG_ERR(DFG_DATA, "element %" PRId64 " of dense is 0: an integer cannot be divided by it", i);
	return NULL;
}

static struct dfg_err *cwise_mul(struct dfg_kernel *ctx)
{
	return cwise_run(ctx, &dfg_op_Mul);
}

static struct dfg_err *cwise_div(struct dfg_kernel *ctx)
{
	DFG_TRY(check_divisor(ctx->in[DENSE]));
	return cwise_run(ctx, &dfg_op_Div);
}

static struct dfg_err *cwise_add(struct dfg_kernel *ctx)
{
	return cwise_run(ctx, &dfg_op_AddV2);
}

/* The elements of dense that the entries meet, and the sum of values at them, in the shape of dense. */
#define MET                                                                                            \
	"size = Cast(Shape(dense), DstT = i64)\n"                                                          \
	"first = Size(sp_shape) - Size(size)\n"                                                            \
	"own = StridedSlice(sp_indices, Pack([0, first]), [0, 0], [1, 1], begin_mask = 1, end_mask = 3)\n" \
	"at = SelectV2(Equal(size, OnesLike(size)), ZerosLike(own), own)\n"                                \
	"met = GatherNd(dense, at)\n"
#define CWISE(Op, run_, text, bits, formula)                                                               \
	const struct dfg_op dfg_op_##Op = {                                                                    \
		.name = #Op,                                                                                       \
		.doc = text,                                                                                       \
		.sig = "<T: numeric|half>(sp_indices: i64, sp_values: T, sp_shape: i64, dense: T) -> (output: T)", \
		.flags = DFG_ANY_RANK | (bits),                                                                    \
		.shape = cwise_shape,                                                                              \
		.gradient = formula,                                                                               \
		.run = run_,                                                                                       \
	};
CWISE(SparseDenseCwiseMul, cwise_mul,
	"the values of a sparse tensor times the elements of a dense one at their indices", 0,
	MET "dsp_values, ddense = doutput * met, ScatterNd(at, doutput * sp_values, size)")
CWISE(SparseDenseCwiseDiv, cwise_div,
	"the values of a sparse tensor divided by the elements of a dense one at their indices", 0,
	MET "dsp_values, ddense = doutput / met, ScatterNd(at, doutput * (-sp_values / Square(met)), size)")
CWISE(SparseDenseCwiseAdd, cwise_add, "the values of a sparse tensor plus the elements of a dense one at their indices",
	DFG_NO_GRADIENT, NULL)

/* SparseTensorDenseMatMul. */
enum { A_INDICES, A_VALUES, A_DIMS, B };
enum { ADJOINT_A, ADJOINT_B };

static struct dfg_err *matmul_shape(struct dfg_infer *node)
{
	const struct dfg_shape *b = node->in[B];
	const bool adjoint_a = node->call->attr[ADJOINT_A].b, adjoint_b = node->call->attr[ADJOINT_B].b;
	DFG_TRY(dfg_sparse_need(node, A_INDICES, A_VALUES, A_DIMS));
	DFG_TRY(dfg_need_rank(node, B, 2));
	const int64_t rows = dfg_int_of(node, A_DIMS, adjoint_a), inner = dfg_int_of(node, A_DIMS, !adjoint_a);
	if (node->in[A_DIMS]->rank == 1 && node->in[A_DIMS]->dim[0] >= 0 && node->in[A_DIMS]->dim[0] != 2)
		return DFG_ERR(DFG_DATA, "a_shape has %" PRId64 " elements, expected 2", node->in[A_DIMS]->dim[0]);
	if (b->rank == 2 && inner >= 0 && b->dim[adjoint_b] >= 0 && inner != b->dim[adjoint_b])
		return DFG_ERR(DFG_DATA, "cannot multiply [%" PRId64 ",%" PRId64 "] by %s%s", rows < 0 ? -1 : rows, inner,
			dfg_shape_words(b).s, adjoint_b ? ", transposed" : "");
	node->out[0] = (struct dfg_shape){.rank = 2,
		.dim = {
			rows == DFG_NOT_KNOWN || rows < 0 ? DFG_UNKNOWN : rows, b->rank == 2 ? b->dim[!adjoint_b] : DFG_UNKNOWN}};
	return NULL;
}

/* The product in progress: entry (row, column) of a adds its value times row `column` of b to row `row` of the result. */
struct matmul {
	const struct dfg_tensor *at, *values, *b;
	struct dfg_tensor *out;
	bool adjoint_a, adjoint_b;
	int64_t n, inner, columns; /* entries; rows of b; columns of the result */
};

static struct dfg_err *begin_matmul(struct dfg_kernel *ctx, struct matmul *m)
{
	const struct dfg_tensor *dims = ctx->in[A_DIMS];
	struct dfg_shape shape;
	*m = (struct matmul){.at = ctx->in[A_INDICES],
		.values = ctx->in[A_VALUES],
		.b = ctx->in[B],
		.adjoint_a = dfg_kernel_attr(ctx)[ADJOINT_A].b,
		.adjoint_b = dfg_kernel_attr(ctx)[ADJOINT_B].b,
		.n = ctx->in[A_INDICES]->shape.dim[0]};
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	if (m->at->shape.dim[1] != 2 || m->values->shape.dim[0] != m->n || dims->shape.dim[0] != 2)
		return DFG_ERR(DFG_DATA, "a_indices have shape %s and a_values %s, expected [n,2] and [n]",
			dfg_shape_words(&m->at->shape).s, dfg_shape_words(&m->values->shape).s);
	m->inner = m->b->shape.dim[m->adjoint_b];
	m->columns = shape.dim[1];
	for (int i = 0; i < 2; i++)
		if (dfg_tensor_int(dims, i) < 0)
			return DFG_ERR(DFG_DATA, "a_shape has dimension %" PRId64, dfg_tensor_int(dims, i));
	if (dfg_tensor_int(dims, !m->adjoint_a) != m->inner)
		return DFG_ERR(DFG_DATA, "the inner dimensions are %" PRId64 " and %" PRId64,
			dfg_tensor_int(dims, !m->adjoint_a), m->inner);
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &m->out));
	memset(m->out->data, 0, dfg_tensor_bytes(m->out));
	return NULL;
}

static struct dfg_err *entry_of(const struct matmul *m, int64_t i, int64_t *out_row, int64_t *out_inner)
{
	*out_row = dfg_tensor_int(m->at, 2 * i + m->adjoint_a);
	*out_inner = dfg_tensor_int(m->at, 2 * i + !m->adjoint_a);
	if (*out_row < 0 || *out_row >= m->out->shape.dim[0] || *out_inner < 0 || *out_inner >= m->inner)
		return DFG_ERR(DFG_DATA, "entry %" PRId64 " is at (%" PRId64 ", %" PRId64 "), outside of a's shape", i,
			m->adjoint_a ? *out_inner : *out_row, m->adjoint_a ? *out_row : *out_inner);
	return NULL;
}

#define SAME(x) (x)
#define MATMUL(NAME, name, type, number, conjugate)                                             \
	static struct dfg_err *matmul_##name(struct dfg_kernel *ctx)                                \
	{                                                                                           \
		struct matmul m;                                                                        \
		DFG_TRY(begin_matmul(ctx, &m));                                                         \
		const type *value = m.values->data, *b = m.b->data;                                     \
		const int64_t step = m.adjoint_b ? m.inner : 1, row_step = m.adjoint_b ? 1 : m.columns; \
		for (int64_t i = 0; i < m.n; i++) {                                                     \
			int64_t row, inner;                                                                 \
			DFG_TRY(entry_of(&m, i, &row, &inner));                                             \
			const type v = (type)(m.adjoint_a ? conjugate(value[i]) : value[i]);                \
			type *out = (type *)m.out->data + row * m.columns;                                  \
			for (int64_t c = 0; c < m.columns; c++) {                                           \
				const type x = b[inner * row_step + c * step];                                  \
				out[c] = (type)(out[c] + v * (type)(m.adjoint_b ? conjugate(x) : x));           \
			}                                                                                   \
		}                                                                                       \
		return NULL;                                                                            \
	}
DFG_EACH_number(MATMUL, SAME)
DFG_EACH_complex(MATMUL, ~)

const struct dfg_op dfg_op_SparseTensorDenseMatMul = {
	.name = "SparseTensorDenseMatMul",
	.doc = "the product of a sparse matrix and a dense one",
	.sig =
		"<T: numeric|half, Tindices: index = i64>(a_indices: Tindices, a_values: T, a_shape: i64, b: T) -> (product: "
		"T)",
	.attr = {[ADJOINT_A] = "adjoint_a: bool = false", [ADJOINT_B] = "adjoint_b: bool = false"},
	.flags = DFG_ANY_RANK,
	.shape = matmul_shape,
	.gradient =
		"row, column = Unpack(a_indices, num = 2, axis = 1)\n"
		"static if adjoint_a { kept, gone = column, row } else { kept, gone = row, column }\n"
		"static if adjoint_b { right = Transpose(b, [1, 0]) } else { right = b }\n"
		"static if adjoint_a { slope = SparseTensorDenseMatMul(a_indices, a_values, a_shape, dproduct) }\n"
		"else { slope = SparseTensorDenseMatMul(a_indices, a_values, a_shape, dproduct, adjoint_a = true) }\n"
		"static if adjoint_b { db = Transpose(slope, [1, 0]) } else { db = slope }\n"
		"da_values = Sum(Gather(dproduct, kept) * Gather(right, gone), 1)",
	.kernel = {DFG_EACH_numeric(DFG_BY_DTYPE, matmul)},
};
