/* The largest elements of rows, and whether a target is among them. */
#include "kernels/shape_rules.h"
#include "kernels/row_rules.h"

#include <inttypes.h>
#include <math.h>

static struct dfg_err *top_k_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	bool v2 = node->call->n_in > 1;
	int64_t k = v2 ? dfg_int_of(node, 1, 0) : node->call->attr[1].i;
	if (v2)
		DFG_TRY(dfg_need_rank(node, 1, 0));
	if (in->rank == 0)
		return DFG_ERR(DFG_DATA, "input is a scalar, expected at least one dimension");
	if (k < 0 && k != DFG_NOT_KNOWN)
		return DFG_ERR(DFG_DATA, "k is %" PRId64 ", expected at least 0", k);
	if (k != DFG_NOT_KNOWN && in->dim[in->rank - 1] >= 0 && k > in->dim[in->rank - 1])
		return DFG_ERR(DFG_DATA, "k is %" PRId64 ", but the rows of %s are shorter", k, dfg_shape_words(in).s);
	node->out[0] = node->out[1] = *in;
	node->out[0].dim[in->rank - 1] = node->out[1].dim[in->rank - 1] = k == DFG_NOT_KNOWN ? DFG_UNKNOWN : k;
	return NULL;
}

/* Rows of n elements, of which the first k in order are found. */
struct top {
	const void *x;
	void *y;
	struct dfg_tensor *indices;
	int64_t *place;
	int64_t n, k;
	/* Whether element i of the row is before element j in order: it is larger, or equal and i < j. */
	bool (*before)(const void *row, int64_t i, int64_t j);
	size_t size;
	void (*copy)(void *y, const void *row, const int64_t *place, int64_t k);
};

/* Restores a heap, whose top is its last element in order, from index `at` down. */
static void sink(const struct top *top, const void *row, int64_t *heap, int64_t count, int64_t at)
{
	for (;;) {
		int64_t child = 2 * at + 1;
		if (child >= count)
			return;
		if (child + 1 < count && top->before(row, heap[child], heap[child + 1]))
			child++;
		if (!top->before(row, heap[at], heap[child]))
			return;
		int64_t moved = heap[at];
		heap[at] = heap[child];
		heap[child] = moved;
		at = child;
	}
}

static void top_row(const struct top *top, const void *row, int64_t *heap)
{
	for (int64_t i = 0; i < top->k; i++)
		heap[i] = i;
	for (int64_t i = top->k / 2 - 1; i >= 0; i--)
		sink(top, row, heap, top->k, i);
	for (int64_t i = top->k; i < top->n && top->k; i++)
		if (top->before(row, i, heap[0])) {
			heap[0] = i;
			sink(top, row, heap, top->k, 0);
		}
	for (int64_t left = top->k - 1; left > 0; left--) {
		int64_t last = heap[0];
		heap[0] = heap[left];
		heap[left] = last;
		sink(top, row, heap, left, 0);
	}
}

static void top_rows(void *arg, int64_t first, int64_t last)
{
	const struct top *top = arg;
	for (int64_t r = first; r < last; r++) {
		const char *row = (const char *)top->x + (size_t)(r * top->n) * top->size;
		int64_t *place = top->place + r * top->k;
		top_row(top, row, place);
		top->copy((char *)top->y + (size_t)(r * top->k) * top->size, row, place, top->k);
		dfg_convert(top->indices->dtype, dfg_tensor_at(top->indices, r * top->k), DFG_I64, place, top->k);
	}
}

static struct dfg_err *top_k(struct dfg_kernel *ctx, struct top top)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_shape shape[2];
	struct dfg_tensor *values;
	DFG_TRY(dfg_shapes_now(ctx, 2, shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape[0], &values));
	DFG_TRY(dfg_kernel_output(ctx, 1, &shape[1], &top.indices));
	top.x = in->data;
	top.y = values->data;
	top.n = in->shape.dim[in->shape.rank - 1];
	top.k = shape[0].dim[shape[0].rank - 1];
	void *place;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)dfg_shape_count(&shape[0]) * sizeof *top.place, &place));
	top.place = place;
	int64_t rows = dfg_count_between(&in->shape, 0, in->shape.rank - 1);
	dfg_kernel_ranges(ctx, rows, (1 << 13) / (top.n + 1) + 1, top_rows, &top);
	return NULL;
}

/* NaN is after all numbers. */
#define TOP_K(NAME, name, type, ...)                                                                         \
	static bool before_##name(const void *row, int64_t i, int64_t j)                                         \
	{                                                                                                        \
		const type a = ((const type *)row)[i], b = ((const type *)row)[j];                                   \
		if (a != a || b != b)                                                                                \
			return (a == a) != (b == b) ? a == a : i < j;                                                    \
		return a > b || (a == b && i < j);                                                                   \
	}                                                                                                        \
	static void copy_##name(void *y, const void *row, const int64_t *place, int64_t k)                       \
	{                                                                                                        \
		for (int64_t i = 0; i < k; i++)                                                                      \
			((type *)y)[i] = ((const type *)row)[place[i]];                                                  \
	}                                                                                                        \
	static struct dfg_err *top_k_##name(struct dfg_kernel *ctx)                                              \
	{                                                                                                        \
		return top_k(ctx, (struct top){.before = before_##name, .size = sizeof(type), .copy = copy_##name}); \
	}
DFG_EACH_number(TOP_K)

/* dinput is zeros with the cotangents at the indices of the elements. */
#define TOP_K_GRADIENT                                                           \
	"width = GatherV2(Shape(input), Rank(input) - 1, 0)\n"                       \
	"k = GatherV2(Shape(indices), Rank(input) - 1, 0)\n"                         \
	"rows = Prod(Slice(Shape(input), [0], Pack([Rank(input) - 1])), 0)\n"        \
	"first = ExpandDims(Range(0, rows, 1) * width, 1)\n"                         \
	"place = Reshape(Reshape(i32(indices), Pack([rows, k])) + first, [-1, 1])\n" \
	"dinput = Reshape(ScatterNd(place, Reshape(dvalues, [-1]), Pack([rows * width])), Shape(input))"

const struct dfg_op dfg_op_TopK = {
	.name = "TopK",
	.doc = "the k largest elements of each row, largest first, and their indices (older form)",
	.sig = "<T: number>(input: T) -> (values: T, indices: i32)",
	.attr = {"sorted: bool = true", "k: int >= 0"},
	.flags = DFG_EXACT,
	.shape = top_k_shape,
	.gradient = TOP_K_GRADIENT,
	.kernel = {DFG_EACH_number(DFG_BY_DTYPE, top_k)},
};

const struct dfg_op dfg_op_TopKV2 = {
	.name = "TopKV2",
	.doc = "the k largest elements of each row, largest first, and their indices",
	.sig =
		"<T: number, Tk: index|i16 = i32, index_type: index|i16 = i32>"
		"(input: T, k: Tk) -> (values: T, indices: index_type)",
	.attr = {"sorted: bool = true"},
	.flags = DFG_EXACT,
	.shape = top_k_shape,
	.rows = dfg_rows_matrix,
	.gradient = TOP_K_GRADIENT,
	.kernel = {DFG_EACH_number(DFG_BY_DTYPE, top_k)},
};

/* NthElement. */
enum { REVERSE };

static struct dfg_err *nth_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	const int64_t n = dfg_int_of(node, 1, 0);
	DFG_TRY(dfg_need_rank(node, 1, 0));
	if (in->rank == 0)
		return DFG_ERR(DFG_DATA, "input is a scalar, expected at least one dimension");
	const int64_t size = in->dim[in->rank - 1];
	if (n != DFG_NOT_KNOWN && (n < 0 || (size >= 0 && n >= size)))
		return DFG_ERR(DFG_DATA, "n is %" PRId64 ", outside of the rows of %s", n, dfg_shape_words(in).s);
	node->out[0] = *in;
	node->out[0].rank--;
	return NULL;
}

/* The last of the k largest elements of each row. */
static void nth_rows(void *arg, int64_t first, int64_t last)
{
	const struct top *top = arg;
	for (int64_t r = first; r < last; r++) {
		const char *row = (const char *)top->x + (size_t)(r * top->n) * top->size;
		int64_t *place = top->place + r * top->k;
		top_row(top, row, place);
		top->copy((char *)top->y + (size_t)r * top->size, row, place + top->k - 1, 1);
	}
}

static struct dfg_err *nth_element(struct dfg_kernel *ctx, struct top top)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	const int64_t n = *(const int32_t *)dfg_kernel_input(ctx, 1)->data;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	const int64_t rows = dfg_shape_count(&out->shape);
	top.x = in->data;
	top.y = out->data;
	top.n = in->shape.dim[in->shape.rank - 1];
	top.k = dfg_kernel_attr(ctx)[REVERSE].b ? n + 1 : top.n - n;
	void *place;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)rows * (size_t)top.k * sizeof *top.place, &place));
	top.place = place;
	dfg_kernel_ranges(ctx, rows, (1 << 13) / (top.n + 1) + 1, nth_rows, &top);
	return NULL;
}

#define NTH_ELEMENT(NAME, name, type, ...)                                                                         \
	static struct dfg_err *nth_element_##name(struct dfg_kernel *ctx)                                              \
	{                                                                                                              \
		return nth_element(ctx, (struct top){.before = before_##name, .size = sizeof(type), .copy = copy_##name}); \
	}
DFG_EACH_number(NTH_ELEMENT)

const struct dfg_op dfg_op_NthElement = {
	.name = "NthElement",
	.doc = "the nth smallest element of each row, counted from 0, or with reverse the nth largest",
	.sig = "<T: number|half>(input: T, n: i32) -> (values: T)",
	.attr = {[REVERSE] = "reverse: bool = false"},
	.flags = DFG_EXACT,
	.shape = nth_shape,
	.gradient =
		"same = Cast(Equal(ExpandDims(values, -1), input), DstT = T)\n"
		"dinput = same * ExpandDims(dvalues, -1) / Sum(same, -1, keep_dims = true)",
	.kernel = {DFG_EACH_number(DFG_BY_DTYPE, nth_element)},
};

enum { PREDICTIONS, TARGETS, K };

static struct dfg_err *in_top_k_shape(struct dfg_infer *node)
{
	const struct dfg_shape *predictions = node->in[PREDICTIONS], *targets = node->in[TARGETS];
	DFG_TRY(dfg_need_rank(node, PREDICTIONS, 2));
	DFG_TRY(dfg_need_rank(node, TARGETS, 1));
	if (node->call->n_in > K)
		DFG_TRY(dfg_need_rank(node, K, 0));
	if (predictions->dim[0] >= 0 && targets->dim[0] >= 0 && predictions->dim[0] != targets->dim[0])
		return DFG_ERR(DFG_DATA, "predictions %s and targets %s differ in rows", dfg_shape_words(predictions).s,
			dfg_shape_words(targets).s);
	node->out[0] = DFG_SHAPE_VECTOR(targets->dim[0] >= 0 ? targets->dim[0] : predictions->dim[0]);
	return NULL;
}

/* False also if the target is not a class, or an element is not finite, unless k larger elements precede it. */
static bool in_top(const float *row, int64_t n, int64_t target, int64_t k)
{
	int64_t larger = 0;
	if (target < 0 || target >= n || !isfinite(row[target]))
		return false;
	for (int64_t i = 0; i < n && larger <= k; i++) {
		if (!isfinite(row[i]))
			return false;
		larger += row[i] > row[target];
	}
	return larger < k;
}

static struct dfg_err *in_top_k_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *predictions = ctx->in[PREDICTIONS], *targets = ctx->in[TARGETS];
	int64_t k = ctx->call->n_in > K ? dfg_tensor_int(ctx->in[K], 0) : ctx->call->attr[0].i;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	int64_t n = predictions->shape.dim[1];
	for (int64_t i = 0; i < out->shape.dim[0]; i++)
		((bool *)out->data)[i] = in_top((const float *)predictions->data + i * n, n, dfg_tensor_int(targets, i), k);
	return NULL;
}

const struct dfg_op dfg_op_InTopK = {
	.name = "InTopK",
	.doc = "whether the target class of each row is among its k most probable (older form)",
	.sig = "<T: index = i32>(predictions: f32, targets: T) -> (precision: bool)",
	.attr = {"k: int"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = in_top_k_shape,
	.run = in_top_k_run,
};

const struct dfg_op dfg_op_InTopKV2 = {
	.name = "InTopKV2",
	.doc = "whether the target class of each row is among its k most probable",
	.sig = "<T: index = i32>(predictions: f32, targets: T, k: T) -> (precision: bool)",
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = in_top_k_shape,
	.run = in_top_k_run,
};
