#include "kernels/conv/convolve.h"

/* Rows and columns of a square of the matrix that fits in the first cache. */
enum { SQUARE = 16 };

struct transposition {
	const void *in;
	void *out;
	int64_t rows, columns;
};

#define TRANSPOSE(bits, type)                                                      \
	static void transpose_##bits(void *arg, int64_t first, int64_t last)           \
	{                                                                              \
		const struct transposition *t = arg;                                       \
		for (int64_t image = first; image < last; image++) {                       \
			const type *in = (const type *)t->in + image * t->rows * t->columns;   \
			type *out = (type *)t->out + image * t->rows * t->columns;             \
			for (int64_t i = 0; i < t->rows; i += SQUARE)                          \
				for (int64_t j = 0; j < t->columns; j += SQUARE)                   \
					for (int64_t r = i; r < i + SQUARE && r < t->rows; r++)        \
						for (int64_t c = j; c < j + SQUARE && c < t->columns; c++) \
							out[c * t->rows + r] = in[r * t->columns + c];         \
		}                                                                          \
	}
TRANSPOSE(4, uint32_t)
TRANSPOSE(8, uint64_t)

void dfg_transpose_images(struct dfg_kernel *ctx, enum dfg_dtype dtype, int64_t batch, int64_t rows, int64_t columns,
	const void *in, void *out)
{
	struct transposition t = {in, out, rows, columns};
	int64_t block = rows * columns > 0 ? 64 * 1024 / (rows * columns) : 1;
	dfg_kernel_ranges(ctx, batch, block > 0 ? block : 1, dfg_dtype_size(dtype) == 4 ? transpose_4 : transpose_8, &t);
}
