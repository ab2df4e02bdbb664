#include "kernels/conv/convolve.h"
#include "kernels/conv/walk.h"

/* Rows and columns of a block of the matrix that fits in the first cache, and elements that are some 20 us of work. */
enum { BLOCK = 16, TASK = 64 * 1024 };

/* A square of four rows and columns. */
typedef uint32_t four __attribute__((vector_size(16)));
typedef uint32_t memory __attribute__((vector_size(16), aligned(4), may_alias));
static inline void square_uint32(int64_t in_row, int64_t out_row, const uint32_t *in, uint32_t *out)
{
	const four a = *(const memory *)in, b = *(const memory *)(in + in_row), c = *(const memory *)(in + 2 * in_row),
			   d = *(const memory *)(in + 3 * in_row);
	const four a_b = __builtin_shufflevector(a, b, 0, 4, 1, 5), c_d = __builtin_shufflevector(c, d, 0, 4, 1, 5);
	const four a_b_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
			   c_d_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
	*(memory *)out = __builtin_shufflevector(a_b, c_d, 0, 1, 4, 5);
	*(memory *)(out + out_row) = __builtin_shufflevector(a_b, c_d, 2, 3, 6, 7);
	*(memory *)(out + 2 * out_row) = __builtin_shufflevector(a_b_high, c_d_high, 0, 1, 4, 5);
	*(memory *)(out + 3 * out_row) = __builtin_shufflevector(a_b_high, c_d_high, 2, 3, 6, 7);
}

#define PLAIN_SQUARE(type)                                                                               \
	static inline void square_##type(int64_t in_row, int64_t out_row, const type##_t *in, type##_t *out) \
	{                                                                                                    \
		for (int64_t c = 0; c < 4; c++)                                                                  \
			for (int64_t r = 0; r < 4; r++)                                                              \
				out[c * out_row + r] = in[r * in_row + c];                                               \
	}
PLAIN_SQUARE(uint8)
PLAIN_SQUARE(uint16)
PLAIN_SQUARE(uint64)

/* A block of at most BLOCK rows and columns: whole squares, and the elements beside and below them. */
#define MATRIX(type)                                                                                       \
	static void block_##type(                                                                              \
		int64_t rows, int64_t columns, int64_t in_row, int64_t out_row, const type##_t *in, type##_t *out) \
	{                                                                                                      \
		const int64_t whole = rows / 4 * 4;                                                                \
		int64_t c = 0;                                                                                     \
		for (; c + 4 <= columns; c += 4)                                                                   \
			for (int64_t r = 0; r < whole; r += 4)                                                         \
				square_##type(in_row, out_row, in + r * in_row + c, out + c * out_row + r);                \
		for (int64_t r = 0; r < rows; r++)                                                                 \
			for (int64_t from = r < whole ? c : 0; from < columns; from++)                                 \
				out[from * out_row + r] = in[r * in_row + from];                                           \
	}                                                                                                      \
	static void matrix_##type(const struct dfg_matrix *m, const void *in, void *out)                       \
	{                                                                                                      \
		for (int64_t c = 0; c < m->columns; c += BLOCK)                                                    \
			for (int64_t r = 0; r < m->rows; r += BLOCK)                                                   \
				block_##type(m->rows - r < BLOCK ? m->rows - r : BLOCK,                                    \
					m->columns - c < BLOCK ? m->columns - c : BLOCK, m->in_row, m->out_row,                \
					(const type##_t *)in + r * m->in_row + c, (type##_t *)out + c * m->out_row + r);       \
	}
MATRIX(uint8)
MATRIX(uint16)
MATRIX(uint32)
MATRIX(uint64)

void dfg_transpose_matrix(const struct dfg_matrix *m, int64_t size, const void *in, void *out)
{
	(size == 1 ? matrix_uint8 : size == 2 ? matrix_uint16 : size == 4 ? matrix_uint32 : matrix_uint64)(m, in, out);
}

/* Images are cut into bands of columns. */
struct images {
	const char *in;
	char *out;
	int64_t rows, columns, size, bands, width;
};

static void transpose_bands(void *arg, int64_t first, int64_t last)
{
	const struct images *all = arg;
	for (int64_t i = first; i < last; i++) {
		const int64_t image = i / all->bands * all->rows * all->columns, begin = i % all->bands * all->width;
		const struct dfg_matrix band = {.rows = all->rows,
			.columns = all->columns - begin < all->width ? all->columns - begin : all->width,
			.in_row = all->columns,
			.out_row = all->rows};
		dfg_transpose_matrix(&band, all->size, all->in + (image + begin) * all->size,
			all->out + (image + begin * all->rows) * all->size);
	}
}

void dfg_transpose_images(struct dfg_kernel *ctx, enum dfg_dtype dtype, int64_t batch, int64_t rows, int64_t columns,
	const void *in, void *out)
{
	struct images all = {in, out, rows, columns, (int64_t)dfg_dtype_size(dtype), 1, 1};
	if (!rows || !columns)
		return;
	all.width = dfg_ceil_div(TASK / rows + 1, BLOCK) * BLOCK;
	all.bands = dfg_ceil_div(columns, all.width);
	dfg_kernel_ranges(
		ctx, batch * all.bands, dfg_kernel_block(rows * (columns / all.bands), TASK), transpose_bands, &all);
}
