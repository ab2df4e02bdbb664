/* Diagonals and bands of matrices: extracted, set, and made into matrices. */
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"

#include <inttypes.h>
#include <string.h>

static struct dfg_err *diag_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	if (in->rank < 1 || 2 * in->rank > DFG_RANK_MAX)
		return DFG_ERR(
			DFG_DATA, "diagonal has shape %s, expected 1 to %d dimensions", dfg_shape_words(in).s, DFG_RANK_MAX / 2);
	node->out[0].rank = 2 * in->rank;
	for (int d = 0; d < 2 * in->rank; d++)
		node->out[0].dim[d] = in->dim[d % in->rank];
	return NULL;
}

/* The result, flattened to a square matrix of n rows, has its diagonal at every (n + 1)-th element. */
static struct dfg_err *diag_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	int64_t n = dfg_shape_count(&in->shape);
	memset(out->data, 0, dfg_tensor_bytes(out));
	dfg_box_copy(ctx, dfg_dtype_size(in->dtype), (struct dfg_strided_box){1, {n}, {1}, {n + 1}}, in->data, out->data);
	return NULL;
}

const struct dfg_op dfg_op_Diag = {
	.name = "Diag",
	.doc = "zeros with the elements of diagonal where the first half of the indices equals the second",
	.sig = "<T: numeric>(diagonal: T) -> (output: T)",
	.flags = DFG_EXACT,
	.shape = diag_shape,
	.gradient = "ddiagonal = DiagPart(doutput)",
	.run = diag_run,
};

static struct dfg_err *diag_part_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	struct dfg_shape first = {.rank = in->rank / 2}, second = first;
	for (int d = 0; d < first.rank; d++) {
		first.dim[d] = in->dim[d];
		second.dim[d] = in->dim[first.rank + d];
	}
	if (in->rank < 2 || in->rank % 2 || !dfg_shape_fits(&first, &second))
		return DFG_ERR(
			DFG_DATA, "%s has no diagonal: both halves of its dimensions must be equal", dfg_shape_words(in).s);
	node->out[0] = dfg_shape_merge(&first, &second);
	return NULL;
}

static struct dfg_err *diag_part_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	int64_t n = dfg_shape_count(&out->shape);
	dfg_box_copy(ctx, dfg_dtype_size(in->dtype), (struct dfg_strided_box){1, {n}, {n + 1}, {1}}, in->data, out->data);
	return NULL;
}

const struct dfg_op dfg_op_DiagPart = {
	.name = "DiagPart",
	.doc = "the elements of input where the first half of the indices equals the second",
	.sig = "<T: numeric>(input: T) -> (diagonal: T)",
	.flags = DFG_EXACT,
	.shape = diag_part_shape,
	.gradient = "dinput = Diag(ddiagonal)",
	.run = diag_part_run,
};

/*
 * A band of a matrix: diagonals low to high; 0 is the main one, and positive ones are above it. As a tensor it is [...,
 * high - low + 1, longest], highest diagonal first, or [..., longest] if it is a single one. A shorter diagonal is
 * aligned to the left or right end of its row, as `align` says for superdiagonals and for subdiagonals.
 */
struct band {
	int64_t rows, columns, low, high, longest;
	bool right_above, right_below;
};

static int64_t length_of(const struct band *band, int64_t k)
{
	int64_t rows = k < 0 ? band->rows + k : band->rows, columns = k > 0 ? band->columns - k : band->columns;
	return rows < columns ? rows : columns;
}

/* align "RIGHT_LEFT": superdiagonals right, subdiagonals left. Ops without the attribute align LEFT_LEFT. */
static struct dfg_err *band_init(
	struct band *band, const struct dfg_resolved_node *call, int64_t rows, int64_t columns, const int64_t k[2])
{
	const struct dfg_string align = call->signature->n_attr ? call->attr[0].s : (struct dfg_string){"LEFT_LEFT", 9};
	*band = (struct band){.rows = rows, .columns = columns, .low = k[0], .high = k[1]};
	band->right_above = align.s[0] == 'R';
	band->right_below = align.length > 5 && !memcmp(align.s + align.length - 5, "RIGHT", 5);
	if (k[0] > k[1])
		return DFG_ERR(DFG_DATA, "the lowest diagonal, %" PRId64 ", is above the highest, %" PRId64, k[0], k[1]);
	int64_t above = k[1] < 0 ? k[1] : 0, below = k[0] > 0 ? k[0] : 0;
	band->longest = rows + above < columns - below ? rows + above : columns - below;
	band->longest = band->longest < 0 ? 0 : band->longest;
	return NULL;
}

/* The same, but each diagonal must be in the matrix. MatrixDiag also accepts diagonals outside its result. */
static struct dfg_err *band_inside(
	struct band *band, const struct dfg_resolved_node *call, int64_t rows, int64_t columns, const int64_t k[2])
{
	bool empty = !rows || !columns;
	DFG_TRY(band_init(band, call, rows, columns, k));
	if (!empty && (k[0] <= -rows || k[0] >= columns || k[1] <= -rows || k[1] >= columns))
		return DFG_ERR(DFG_DATA, "a matrix of %" PRId64 " by %" PRId64 " has no diagonals %" PRId64 " to %" PRId64,
			rows, columns, k[0], k[1]);
	return NULL;
}

/* Index of element (row, column) in the band's tensor; -1 outside the band. The main diagonal is never the shorter. */
static int64_t index_in(const struct band *band, int64_t row, int64_t column)
{
	int64_t k = column - row, along = k > 0 ? row : column;
	if (k < band->low || k > band->high)
		return -1;
	if ((k > 0 && band->right_above) || (k < 0 && band->right_below))
		along += band->longest - length_of(band, k);
	return (band->high - k) * band->longest + along;
}

enum { SOURCE, K, ROWS, COLUMNS, PADDING };

/* The lowest and highest diagonal: input `at`, one number or two; the main diagonal if there is no such input. */
static struct dfg_err *diagonals_of(const struct dfg_infer *node, int at, int64_t out_k[2])
{
	out_k[0] = out_k[1] = 0;
	if (node->call->n_in <= at)
		return NULL;
	int64_t n = dfg_length_of(node, at);
	if (node->in[at]->rank > 1 || n == 0 || n > 2)
		return DFG_ERR(DFG_DATA, "k has shape %s, expected one number or two", dfg_shape_words(node->in[at]).s);
	out_k[0] = dfg_int_of(node, at, 0);
	out_k[1] = n == 1 ? out_k[0] : n == 2 ? dfg_int_of(node, at, 1) : DFG_NOT_KNOWN;
	return NULL;
}

/* The first `batch` dimensions of `in`, followed by n dimensions of the matrix or the band. */
static struct dfg_shape batch_and(const struct dfg_shape *in, int batch, int n, const int64_t *dim)
{
	struct dfg_shape shape = *in;
	shape.rank = batch;
	for (int d = 0; d < n; d++)
		shape.dim[shape.rank++] = dim[d];
	return shape;
}

static struct dfg_err *part_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[SOURCE];
	int64_t k[2];
	struct band band;
	if (in->rank < 2)
		return DFG_ERR(DFG_DATA, "input has shape %s, expected matrices", dfg_shape_words(in).s);
	int64_t rows = in->dim[in->rank - 2], columns = in->dim[in->rank - 1];
	DFG_TRY(diagonals_of(node, K, k));
	if (k[0] == DFG_NOT_KNOWN || k[1] == DFG_NOT_KNOWN)
		return NULL;
	int64_t dim[2] = {k[1] - k[0] + 1, DFG_UNKNOWN};
	if (rows >= 0 && columns >= 0) {
		DFG_TRY(band_inside(&band, node->call, rows, columns, k));
		dim[1] = band.longest;
	}
	bool one = k[0] == k[1];
	node->out[0] = batch_and(in, in->rank - 2, one ? 1 : 2, dim + one);
	return NULL;
}

/* The value of k in a kernel; the shape function has accepted it. */
static void diagonals_now(struct dfg_kernel *ctx, int at, int64_t out_k[2])
{
	bool given = ctx->call->n_in > at;
	out_k[0] = given ? dfg_tensor_int(ctx->in[at], 0) : 0;
	out_k[1] = given && dfg_shape_count(&ctx->in[at]->shape) == 2 ? dfg_tensor_int(ctx->in[at], 1) : out_k[0];
}

static void fill_padding(struct dfg_kernel *ctx, struct dfg_tensor *out, int padding)
{
	if (ctx->call->n_in > padding)
		dfg_repeat(out->data, dfg_shape_count(&out->shape), ctx->in[padding]->data, dfg_dtype_size(out->dtype));
	else
		memset(out->data, 0, dfg_tensor_bytes(out));
}

/* Copies the band of each matrix to the band's tensor, or back. */
static void move_band(
	const struct band *band, int64_t batch, const struct dfg_tensor *in, struct dfg_tensor *out, bool back)
{
	size_t size = dfg_dtype_size(in->dtype);
	int64_t matrix = band->rows * band->columns, diagonals = (band->high - band->low + 1) * band->longest;
	for (int64_t b = 0; b < batch; b++)
		for (int64_t row = 0; row < band->rows; row++) {
			int64_t first = row + band->low < 0 ? 0 : row + band->low;
			int64_t last = row + band->high >= band->columns ? band->columns - 1 : row + band->high;
			for (int64_t column = first; column <= last; column++) {
				int64_t place = b * diagonals + index_in(band, row, column);
				int64_t whole = b * matrix + row * band->columns + column;
				memcpy(dfg_tensor_at(out, back ? whole : place), dfg_tensor_at(in, back ? place : whole), size);
			}
		}
}

static struct dfg_err *part_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, SOURCE);
	int64_t k[2], rank = in->shape.rank;
	struct dfg_tensor *out;
	struct band band;
	DFG_TRY(dfg_output_now(ctx, &out));
	diagonals_now(ctx, K, k);
	DFG_TRY(band_inside(&band, ctx->call, in->shape.dim[rank - 2], in->shape.dim[rank - 1], k));
	fill_padding(ctx, out, K + 1);
	move_band(&band, dfg_count_between(&in->shape, 0, (int)rank - 2), in, out, false);
	return dfg_moved(ctx, 0);
}

/*
 * Rows and columns of the matrix that the diagonals are put in: by num_rows and num_cols, or the fewest that are
 * enough.
 */
static struct dfg_err *matrix_dims(const struct dfg_infer *node, const int64_t k[2], int64_t longest, int64_t dim[2])
{
	int64_t least[2] = {longest - (k[1] < 0 ? k[1] : 0), longest + (k[0] > 0 ? k[0] : 0)};
	for (int i = 0; i < 2; i++) {
		dim[i] = node->call->n_in > ROWS ? dfg_int_of(node, ROWS + i, 0) : -1;
		if (dim[i] == DFG_NOT_KNOWN) {
			dim[0] = dim[1] = DFG_UNKNOWN;
			return NULL;
		}
	}
	if (dim[0] == -1 && dim[1] == -1)
		dim[0] = dim[1] = least[0] > least[1] ? least[0] : least[1];
	for (int i = 0; i < 2; i++)
		dim[i] = dim[i] == -1 ? least[i] : dim[i];
	if (dim[0] < least[0] || dim[1] < least[1] || (dim[0] != least[0] && dim[1] != least[1]))
		return DFG_ERR(DFG_DATA,
			"diagonals %" PRId64 " to %" PRId64 " with up to %" PRId64 " elements require a matrix of at least %" PRId64
			" by %" PRId64 ", with one of these sizes exact, not %" PRId64 " by %" PRId64,
			k[0], k[1], longest, least[0], least[1], dim[0], dim[1]);
	return NULL;
}

static struct dfg_err *matrix_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[SOURCE];
	int64_t k[2], dim[2] = {DFG_UNKNOWN, DFG_UNKNOWN};
	DFG_TRY(diagonals_of(node, K, k));
	if (k[0] == DFG_NOT_KNOWN || k[1] == DFG_NOT_KNOWN)
		return NULL;
	int axes = k[0] == k[1] ? 1 : 2;
	if (in->rank < axes || in->rank - axes + 2 > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "diagonal has shape %s, expected %d to %d dimensions", dfg_shape_words(in).s, axes,
			DFG_RANK_MAX - 2 + axes);
	if (k[0] > k[1])
		return DFG_ERR(DFG_DATA, "the lowest diagonal, %" PRId64 ", is above the highest, %" PRId64, k[0], k[1]);
	if (axes == 2 && in->dim[in->rank - 2] >= 0 && in->dim[in->rank - 2] != k[1] - k[0] + 1)
		return DFG_ERR(DFG_DATA, "diagonal has shape %s, expected a row for each diagonal from %" PRId64 " to %" PRId64,
			dfg_shape_words(in).s, k[0], k[1]);
	if (in->dim[in->rank - 1] >= 0)
		DFG_TRY(matrix_dims(node, k, in->dim[in->rank - 1], dim));
	node->out[0] = batch_and(in, in->rank - axes, 2, dim);
	return NULL;
}

static struct dfg_err *matrix_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, SOURCE);
	struct dfg_tensor *out;
	struct band band;
	int64_t k[2];
	DFG_TRY(dfg_output_now(ctx, &out));
	diagonals_now(ctx, K, k);
	int rank = out->shape.rank;
	fill_padding(ctx, out, PADDING);
	if (!dfg_shape_count(&out->shape))
		return NULL;
	DFG_TRY(band_init(&band, ctx->call, out->shape.dim[rank - 2], out->shape.dim[rank - 1], k));
	move_band(&band, dfg_count_between(&out->shape, 0, rank - 2), in, out, true);
	return dfg_moved(ctx, 0);
}

const struct dfg_op dfg_op_MatrixDiag = {
	.name = "MatrixDiag",
	.doc = "square matrices with the vectors of diagonal on their diagonals, else zeros",
	.sig = "<T: type>(diagonal: T) -> (output: T)",
	.flags = DFG_EXACT,
	.shape = matrix_shape,
	.gradient = "ddiagonal = MatrixDiagPart(doutput)",
	.run = matrix_run,
};

#define PART_GRADIENT(dy, ...)                                      \
	"shape = Shape(input)\n"                                        \
	"rank = Rank(input)\n"                                          \
	"dinput = MatrixDiagV3(ddiagonal, " dy                          \
	", GatherV2(shape, rank - 2, 0), GatherV2(shape, rank - 1, 0)," \
	" Cast(0, DstT = T)" __VA_ARGS__ ")"

const struct dfg_op dfg_op_MatrixDiagPart = {
	.name = "MatrixDiagPart",
	.doc = "the diagonals of matrices",
	.sig = "<T: type>(input: T) -> (diagonal: T)",
	.flags = DFG_EXACT,
	.shape = part_shape,
	.gradient = PART_GRADIENT("0"),
	.run = part_run,
};

/* The sum of the cotangents of elements outside the diagonals; `inside` is 1 on the diagonals and 0 elsewhere. */
#define PADDING_SUM(dy) "Sum(SelectV2(Equal(inside, 0), " dy ", ZerosLike(" dy ")), Range(0, Rank(" dy "), 1))"

#define ALIGN "align: string = 'RIGHT_LEFT' in LEFT_RIGHT|RIGHT_LEFT|LEFT_LEFT|RIGHT_RIGHT"

const struct dfg_op dfg_op_MatrixDiagV3 = {
	.name = "MatrixDiagV3",
	.doc = "matrices with the given diagonals k, or k[0] to k[1], else padding_value",
	.sig = "<T: type>(diagonal: T, k: i32, num_rows: i32, num_cols: i32, padding_value: T) -> (output: T)",
	.attr = {ALIGN},
	.flags = DFG_EXACT,
	.shape = matrix_shape,
	.gradient =
		"ddiagonal = MatrixDiagPartV3(doutput, k, Cast(0, DstT = T), align = align)\n"
		"inside = MatrixDiagV3(ZerosLike(diagonal) + 1, k, num_rows, num_cols, Cast(0, DstT = T), align = align)\n"
		"dpadding_value = " PADDING_SUM("doutput"),
	.run = matrix_run,
};

const struct dfg_op dfg_op_MatrixDiagPartV3 = {
	.name = "MatrixDiagPartV3",
	.doc = "the diagonals k, or k[0] to k[1], of matrices; the shorter are filled with padding_value",
	.sig = "<T: type>(input: T, k: i32, padding_value: T) -> (diagonal: T)",
	.attr = {ALIGN},
	.flags = DFG_EXACT,
	.shape = part_shape,
	.gradient = PART_GRADIENT("k", ", align = align") "\n"
		"inside = MatrixDiagPartV3(ZerosLike(input) + 1, k, Cast(0, DstT = T), align = align)\n"
		"dpadding_value = " PADDING_SUM("ddiagonal"),
	.run = part_run,
};

enum { DIAGONAL = 1, OF_SET }; /* inputs of the ops below: the band's tensor, and k */

/* Checks that the diagonal has the shape of the band of input SOURCE, as far as it is known. */
static struct dfg_err *set_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[SOURCE], *diagonal = node->in[DIAGONAL];
	int64_t k[2], dim[2];
	struct band band;
	if (in->rank < 2)
		return DFG_ERR(DFG_DATA, "input has shape %s, expected matrices", dfg_shape_words(in).s);
	node->out[0] = *in;
	DFG_TRY(diagonals_of(node, OF_SET, k));
	int64_t rows = in->dim[in->rank - 2], columns = in->dim[in->rank - 1];
	if (k[0] == DFG_NOT_KNOWN || k[1] == DFG_NOT_KNOWN || rows < 0 || columns < 0)
		return NULL;
	DFG_TRY(band_inside(&band, node->call, rows, columns, k));
	bool one = k[0] == k[1];
	dim[0] = k[1] - k[0] + 1, dim[1] = band.longest;
	const struct dfg_shape wanted = batch_and(in, in->rank - 2, one ? 1 : 2, dim + one);
	if (!dfg_shape_fits(diagonal, &wanted))
		return DFG_ERR(DFG_DATA, "diagonal has shape %s, but the band of %s has shape %s", dfg_shape_words(diagonal).s,
			dfg_shape_words(in).s, dfg_shape_words(&wanted).s);
	return NULL;
}

static struct dfg_err *set_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, SOURCE);
	int rank = in->shape.rank;
	struct dfg_tensor *out;
	struct band band;
	int64_t k[2];
	DFG_TRY(dfg_output_now(ctx, &out));
	diagonals_now(ctx, OF_SET, k);
	if (!dfg_shape_count(&out->shape))
		return NULL;
	DFG_TRY(band_inside(&band, ctx->call, in->shape.dim[rank - 2], in->shape.dim[rank - 1], k));
	memcpy(out->data, in->data, dfg_tensor_bytes(in));
	move_band(&band, dfg_count_between(&in->shape, 0, rank - 2), ctx->in[DIAGONAL], out, true);
	return dfg_moved(ctx, 0);
}

/* One kernel, three ops: for the main diagonal, for any diagonals aligned left, and for any alignment. */
#define SET(Op, ports, zeros, part, ...)                                                        \
	const struct dfg_op dfg_op_##Op = {                                                         \
		.name = #Op,                                                                            \
		.doc = "matrices whose given diagonals are replaced",                                   \
		.sig = "<T: type>(input: T, diagonal: T" ports ") -> (output: T)",                      \
		.attr = {__VA_ARGS__},                                                                  \
		.flags = DFG_EXACT,                                                                     \
		.shape = set_shape,                                                                     \
		.gradient = "dinput, ddiagonal = " #Op "(doutput, ZerosLike(diagonal)" zeros ")," part, \
		.run = set_run,                                                                         \
	};
SET(MatrixSetDiag, "", "", "MatrixDiagPart(doutput)", NULL)
SET(MatrixSetDiagV2, ", k: i32", ", k", "MatrixDiagPartV3(doutput, k, Cast(0, DstT = T), align = \"LEFT_LEFT\")", NULL)
SET(MatrixSetDiagV3, ", k: i32", ", k, align = align", "MatrixDiagPartV3(doutput, k, Cast(0, DstT = T), align = align)",
	ALIGN)

static struct dfg_err *band_part_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	if (in->rank < 2)
		return DFG_ERR(DFG_DATA, "input has shape %s, expected matrices", dfg_shape_words(in).s);
	for (int i = 1; i <= 2; i++) {
		int64_t number = dfg_int_of(node, i, 0), dim = in->dim[in->rank - 3 + i];
		DFG_TRY(dfg_need_rank(node, i, 0));
		if (number != DFG_NOT_KNOWN && dim >= 0 && number > dim)
			return DFG_ERR(DFG_DATA, "%s does not have %" PRId64 " diagonals %s the main one", dfg_shape_words(in).s,
				number, i == 1 ? "below" : "above");
	}
	node->out[0] = *in;
	return NULL;
}

static struct dfg_err *band_part_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	int64_t lower = dfg_tensor_int(ctx->in[1], 0), upper = dfg_tensor_int(ctx->in[2], 0);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	int rank = in->shape.rank;
	int64_t rows = in->shape.dim[rank - 2], columns = in->shape.dim[rank - 1];
	size_t size = dfg_dtype_size(in->dtype);
	memset(out->data, 0, dfg_tensor_bytes(out));
	for (int64_t i = 0, n = dfg_count_between(&in->shape, 0, rank - 1); i < n && columns; i++) {
		int64_t row = i % rows, first = lower < 0 || row < lower ? 0 : row - lower;
		int64_t last = upper < 0 || upper >= columns - row ? columns : row + upper + 1;
		if (first < last)
			memcpy(dfg_tensor_at(out, i * columns + first), dfg_tensor_at(in, i * columns + first),
				(size_t)(last - first) * size);
	}
	return dfg_moved(ctx, 0);
}

const struct dfg_op dfg_op_MatrixBandPart = {
	.name = "MatrixBandPart",
	.doc =
		"matrices with zeros below num_lower subdiagonals and above num_upper superdiagonals; negative: all are kept",
	.sig = "<T: type, Tindex: index = i64>(input: T, num_lower: Tindex, num_upper: Tindex) -> (band: T)",
	.flags = DFG_EXACT,
	.shape = band_part_shape,
	.gradient = "dinput = MatrixBandPart(dband, num_lower, num_upper)",
	.run = band_part_run,
};
