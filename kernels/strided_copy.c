#include "kernels/strided_copy.h"

#include "lib/exec/state/state.h"
#include "lib/graph/grain.h"

#include <string.h>

enum {
	TILE = 16,      /* side of a square that is read and written while its lines are in the cache */
	PART = 1 << 16, /* bytes of a task, at least */
};

void dfg_steps(const struct dfg_shape *shape, int64_t *out_step)
{
	int64_t step = 1;
	for (int i = shape->rank - 1; i >= 0; i--) {
		out_step[i] = step;
		step *= shape->dim[i];
	}
}

struct copy {
	struct dfg_strided_box box;
	size_t size;
	const char *in;
	char *out;
	int64_t rows, parts; /* rows in a part, parts in a plane */
};

/* Removes axes of one element, and merges neighbours that are one run in both the source and the target. */
static void simplify(struct dfg_strided_box *box)
{
	struct dfg_strided_box whole = *box;
	box->rank = 0;
	for (int i = 0; i < whole.rank; i++) {
		int last = box->rank - 1;
		if (whole.dim[i] == 1)
			continue;
		if (last >= 0 && box->from[last] == whole.dim[i] * whole.from[i] &&
			box->to[last] == whole.dim[i] * whole.to[i]) {
			box->dim[last] *= whole.dim[i];
			box->from[last] = whole.from[i];
			box->to[last] = whole.to[i];
		} else {
			dfg_box_axis(box, whole.dim[i], whole.from[i], whole.to[i]);
		}
	}
	while (box->rank < 2) { /* the two innermost axes always exist */
		memmove(box->dim + 1, box->dim, (size_t)box->rank * sizeof *box->dim);
		memmove(box->from + 1, box->from, (size_t)box->rank * sizeof *box->from);
		memmove(box->to + 1, box->to, (size_t)box->rank * sizeof *box->to);
		box->dim[0] = 1;
		box->from[0] = box->to[0] = 0;
		box->rank++;
	}
}

#define RUN(type)                                             \
	for (int64_t i = 0; i < n; i++)                           \
		((type *)out)[i * to] = ((const type *)in)[i * from]; \
	break;

struct double_double {
	uint64_t half[2];
};

/* Copies n elements along one axis. */
static void copy_run(size_t size, int64_t n, const void *in, int64_t from, void *out, int64_t to)
{
	if (from == 1 && to == 1) {
		memcpy(out, in, (size_t)n * size);
		return;
	}
	switch (size) {
	case 1:
		RUN(uint8_t)
	case 2:
		RUN(uint16_t)
	case 4:
		RUN(uint32_t)
	case 8:
		RUN(uint64_t)
	default:
		RUN(struct double_double)
	}
}

#define SQUARE(type)                                                      \
	{                                                                     \
		type square[TILE][TILE];                                          \
		for (int j = 0; j < TILE; j++)                                    \
			for (int i = 0; i < TILE; i++)                                \
				square[i][j] = ((const type *)in)[j * from + i];          \
		for (int i = 0; i < TILE; i++)                                    \
			memcpy((type *)out + i * to, square[i], TILE * sizeof(type)); \
		break;                                                            \
	}

/* Transposes a matrix of TILE rows and columns, with as many elements from row to row of the source and of the target. */
static void copy_square(size_t size, const void *in, int64_t from, void *out, int64_t to)
{
	switch (size) {
	case 1:
		SQUARE(uint8_t)
	case 2:
		SQUARE(uint16_t)
	case 4:
		SQUARE(uint32_t)
	case 8:
		SQUARE(uint64_t)
	default:
		SQUARE(struct double_double)
	}
}

/* Copies a part of the two innermost axes, from row i and column j on. */
static void copy_block(
	const struct copy *copy, const char *in, char *out, int64_t i, int64_t rows, int64_t j, int64_t n)
{
	const struct dfg_strided_box *box = &copy->box;
	int a = box->rank - 2, b = box->rank - 1;
	int64_t size = (int64_t)copy->size;
	in += (i * box->from[a] + j * box->from[b]) * size;
	out += (i * box->to[a] + j * box->to[b]) * size;
	if (rows == TILE && n == TILE && box->from[a] == 1 && box->to[b] == 1) {
		copy_square(copy->size, in, box->from[b], out, box->to[a]);
		return;
	}
	for (int64_t row = 0; row < rows; row++)
		copy_run(
			copy->size, n, in + row * box->from[a] * size, box->from[b], out + row * box->to[a] * size, box->to[b]);
}

/*
 * Copies rows [first, last) of the two innermost axes; in squares if source and target are contiguous along different
 * axes.
 */
static void copy_rows(const struct copy *copy, const char *in, char *out, int64_t first, int64_t last)
{
	const struct dfg_strided_box *box = &copy->box;
	int a = box->rank - 2, b = box->rank - 1;
	bool turns = box->from[a] == 1 && box->from[b] != 1;
	int64_t width = turns ? TILE : box->dim[b], height = turns ? TILE : last - first;
	for (int64_t j = 0; j < box->dim[b]; j += width)
		for (int64_t i = first; i < last; i += height)
			copy_block(copy, in, out, i, last - i < height ? last - i : height, j,
				box->dim[b] - j < width ? box->dim[b] - j : width);
}

/* Copies parts, which are rows of one plane of the two innermost axes. */
static void copy_parts(void *arg, int64_t first, int64_t last)
{
	const struct copy *copy = arg;
	const struct dfg_strided_box *box = &copy->box;
	int64_t height = box->dim[box->rank - 2];
	for (int64_t part = first; part < last; part++) {
		int64_t remainder = part / copy->parts, row = part % copy->parts * copy->rows, from = 0, to = 0;
		for (int i = box->rank - 3; i >= 0; i--) {
			from += remainder % box->dim[i] * box->from[i];
			to += remainder % box->dim[i] * box->to[i];
			remainder /= box->dim[i];
		}
		copy_rows(copy, copy->in + from * (int64_t)copy->size, copy->out + to * (int64_t)copy->size, row,
			row + copy->rows < height ? row + copy->rows : height);
	}
}

void dfg_box_copy(struct dfg_kernel *ctx, size_t size, struct dfg_strided_box box, const void *in, void *out)
{
	int64_t planes = 1;
	for (int i = 0; i < box.rank; i++)
		if (!box.dim[i])
			return;
	simplify(&box);
	for (int i = 0; i < box.rank - 2; i++)
		planes *= box.dim[i];
	int64_t height = box.dim[box.rank - 2], width = box.dim[box.rank - 1];
	const int64_t row = width * (int64_t)size;
	int64_t rows = dfg_grain(planes * height, PART / row);
	rows = rows < height ? (rows + TILE - 1) / TILE * TILE : height;
	int64_t parts = (height + rows - 1) / rows;
	struct copy copy = {box, size, in, out, rows, parts};
	dfg_kernel_ranges(ctx, planes * parts, dfg_grain(planes * parts, PART / (rows * row)), copy_parts, &copy);
}

struct dfg_err *dfg_moved(struct dfg_kernel *ctx, int i)
{
	struct dfg_tensor *out = ctx->out[i];
	int64_t count = dfg_shape_count(&out->shape);
	if (dfg_dtype_is_handle(out->dtype))
		for (int64_t e = 0; e < count; e++)
			dfg_resource_ref(((struct dfg_resource **)out->data)[e]);
	if (out->dtype == DFG_STRING)
		for (int64_t e = 0; e < count; e++) {
			struct dfg_string s = ((struct dfg_string *)out->data)[e];
			DFG_TRY(dfg_kernel_string(ctx, i, e, s.s, s.length));
		}
	return NULL;
}
