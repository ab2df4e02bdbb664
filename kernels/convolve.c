#include "kernels/convolve.h"

#include "kernels/gemm/gemm.h"
#include "kernels/im2col.h"
#include "lib/base/vector.h"

#include <string.h>

/*
 * im2col: the patches of a block of positions are the rows of a matrix, which one product multiplies by the filter. A
 * block's patches stay in the second cache. Blocks are divided among TASKS, each with memory for one block, so neither
 * the memory nor the order of any sum depends on the number of threads.
 */
enum { BLOCK_BYTES = 256 * 1024, TASKS = 32, SUMS = 16, SUMS_BYTES = 64 << 20 };

struct work {
	const struct dfg_convolution *c;
	const void *in, *filter;
	void *out;
	void *packed;       /* the filter of each group, packed; NULL: it is read in place */
	char *patches;      /* of one block for each task */
	int64_t positions;  /* in the whole batch */
	int64_t rows, step; /* positions in a block, blocks in a task */
	size_t size;        /* of an element */
};

static const void *element(const struct work *work, const void *data, int64_t i)
{
	return (const char *)data + i * (int64_t)work->size;
}

static void product(enum dfg_dtype dtype, const struct dfg_product *p, const void *a, const void *b, void *c)
{
	if (dtype == DFG_F32) {
		dfg_product_f32(p, a, b, c);
		return;
	}
	if (dtype == DFG_F64) {
		dfg_product_f64(p, a, b, c);
		return;
	}
	const int32_t *left = a, *right = b;
	int32_t *out = c;
	for (int64_t i = 0; i < p->m; i++)
		for (int64_t j = 0; j < p->n; j++) {
			int32_t sum = p->add ? out[i * p->c_row + j] : 0;
			for (int64_t s = 0; s < p->k; s++)
				sum += left[i * p->a_row + s * p->a_column] * right[s * p->b_row + j * p->b_column];
			out[i * p->c_row + j] = sum;
		}
}

/* Whether the image itself is the matrix of patches. */
static bool is_direct(const struct dfg_convolution *c)
{
	for (int a = 0; a < DFG_AXES; a++)
		if (c->window.axis[a].size != 1 || c->window.axis[a].stride != 1 ||
			c->window.axis[a].in != c->window.axis[a].out)
			return false;
	return true;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

static struct dfg_err *take_patches(struct dfg_kernel *ctx, struct work *work, int64_t tasks)
{
	return dfg_kernel_scratch(ctx, (size_t)tasks * (size_t)work->rows * (size_t)dfg_patch_size(work->c) * work->size,
		(void **)&work->patches);
}

static void cut_positions(struct work *work, int64_t positions)
{
	int64_t fit = BLOCK_BYTES / ((int64_t)work->size * dfg_patch_size(work->c));
	work->positions = positions;
	work->rows = fit < 24 ? 24 : fit > 768 ? 768 : fit / 12 * 12;
	if (work->rows > positions)
		work->rows = positions;
}

/* Divides the positions among blocks and at most `tasks` tasks; allocates the patches of each task. */
static struct dfg_err *cut(
	struct dfg_kernel *ctx, struct work *work, int64_t positions, int64_t tasks, int64_t *out_blocks)
{
	cut_positions(work, positions);
	*out_blocks = ceil_div(positions, work->rows);
	work->step = ceil_div(*out_blocks, tasks);
	return is_direct(work->c) ? NULL : take_patches(ctx, work, ceil_div(*out_blocks, work->step));
}

/* The matrix of patches of positions [first, last), and the step between its rows. */
static const void *patches(
	const struct work *work, int64_t group, int64_t task, int64_t first, int64_t last, int64_t *out_step)
{
	const struct dfg_convolution *c = work->c;
	if (!work->patches) {
		*out_step = c->window.channels;
		return element(work, work->in, first * c->window.channels + group * c->group_in);
	}
	*out_step = dfg_patch_size(c);
	char *to = work->patches + task * work->rows * *out_step * (int64_t)work->size;
	dfg_patches(c, group, work->in, first, last, to);
	return to;
}

static int64_t block_end(const struct work *work, int64_t block)
{
	int64_t end = (block + 1) * work->rows;
	return end < work->positions ? end : work->positions;
}

/* The product of a group's patches and its filter; the caller sets the number of rows and their step. */
static struct dfg_product by_filter(const struct dfg_convolution *c)
{
	const int64_t outputs = c->groups * c->group_out;
	return (struct dfg_product){
		.n = c->group_out, .k = dfg_patch_size(c), .a_column = 1, .b_row = outputs, .b_column = 1, .c_row = outputs};
}

static int64_t strips(const struct dfg_convolution *c)
{
	return ceil_div(c->group_out, dfg_product_strip(c->dtype));
}

/* Packs strips [first, last) of the groups' filters. */
static void pack(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const struct dfg_convolution *c = work->c;
	const struct dfg_product p = by_filter(c);
	const int64_t each = strips(c), bytes = dfg_product_strip(c->dtype) * p.k * (int64_t)work->size;
	for (int64_t i = first; i < last; i++)
		dfg_product_pack(&p, c->dtype, element(work, work->filter, i / each * c->group_out), i % each, i % each + 1,
			(char *)work->packed + i / each * each * bytes);
}

/* Packs the filter if many blocks of positions read it. */
static struct dfg_err *pack_filter(struct dfg_kernel *ctx, struct work *work)
{
	const struct dfg_convolution *c = work->c;
	const int64_t strip = dfg_product_strip(c->dtype), size = strip * dfg_patch_size(c), count = c->groups * strips(c);
	if (c->dtype == DFG_I32 || work->positions < 256 || c->group_out < strip)
		return NULL;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(count * size) * work->size, &work->packed));
	dfg_kernel_ranges(ctx, count, 16 * 1024 / size + 1, pack, work);
	return NULL;
}

static void forward(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const struct dfg_convolution *c = work->c;
	const int64_t outputs = c->groups * c->group_out;
	const int64_t filter = strips(c) * dfg_product_strip(c->dtype) * dfg_patch_size(c) * (int64_t)work->size;
	for (int64_t block = first; block < last; block++)
		for (int64_t g = 0; g < c->groups; g++) {
			int64_t begin = block * work->rows, step;
			const void *rows = patches(work, g, first / work->step, begin, block_end(work, block), &step);
			void *out = (void *)element(work, work->out, begin * outputs + g * c->group_out);
			struct dfg_product p = by_filter(c);
			p.m = block_end(work, block) - begin;
			p.a_row = step;
			if (work->packed)
				dfg_product_packed(&p, c->dtype, rows, (char *)work->packed + g * filter, out);
			else
				product(c->dtype, &p, rows, element(work, work->filter, g * c->group_out), out);
		}
}

struct dfg_err *dfg_convolve(
	struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *in, const void *filter, void *out)
{
	const struct dfg_convolution *c = convolution;
	struct work work = {.c = c, .in = in, .filter = filter, .out = out, .size = dfg_dtype_size(c->dtype)};
	int64_t blocks, positions = c->window.batch * dfg_window_positions(&c->window);
	if (!positions || !c->groups || !c->group_out)
		return NULL;
	DFG_TRY(cut(ctx, &work, positions, TASKS, &blocks));
	DFG_TRY(pack_filter(ctx, &work));
	dfg_kernel_ranges(ctx, blocks, work.step, forward, &work);
	return NULL;
}

/* Each task sums the gradient of its positions; the sums are then added in order. */
static void filter_sums(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const struct dfg_convolution *c = work->c;
	const int64_t outputs = c->groups * c->group_out, size = dfg_patch_size(c), task = first / work->step;
	for (int64_t block = first; block < last; block++)
		for (int64_t g = 0; g < c->groups; g++) {
			int64_t begin = block * work->rows, step;
			const void *rows = patches(work, g, task, begin, block_end(work, block), &step);
			struct dfg_product p = {
				.m = size,
				.n = c->group_out,
				.k = block_end(work, block) - begin,
				.a_row = 1,
				.a_column = step,
				.b_row = outputs,
				.b_column = 1,
				.c_row = outputs,
				.add = block > first,
			};
			product(c->dtype, &p, rows, element(work, work->filter, begin * outputs + g * c->group_out),
				(void *)element(work, work->out, task * size * outputs + g * c->group_out));
		}
}

struct total {
	void *sums;
	int64_t count, size;
};

#define ADD(NAME, name, type, ...)                                                   \
	DFG_CLONES static void total_##name(void *arg, int64_t first, int64_t last)      \
	{                                                                                \
		const struct total *total = arg;                                             \
		type *to = total->sums;                                                      \
		for (int64_t s = 1; s < total->count; s++) {                                 \
			const type *from = to + s * total->size;                                 \
			DFG_INDEPENDENT for (int64_t i = first; i < last; i++) to[i] += from[i]; \
		}                                                                            \
	}
DFG_EACH_float(ADD)
ADD(I32, i32, int32_t)

struct dfg_err *dfg_convolve_filter(struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *in,
	const void *d_out, void *d_filter)
{
	const struct dfg_convolution *c = convolution;
	struct work work = {.c = c, .in = in, .filter = d_out, .out = d_filter, .size = dfg_dtype_size(c->dtype)};
	int64_t size = dfg_patch_size(c) * c->groups * c->group_out, bytes = size * (int64_t)work.size;
	int64_t blocks, positions = c->window.batch * dfg_window_positions(&c->window);
	if (!positions) {
		memset(d_filter, 0, (size_t)bytes);
		return NULL;
	}
	int64_t sums = SUMS_BYTES / bytes < 2 ? 2 : SUMS_BYTES / bytes < SUMS ? SUMS_BYTES / bytes : SUMS;
	DFG_TRY(cut(ctx, &work, positions, sums, &blocks));
	sums = ceil_div(blocks, work.step);
	if (sums > 1)
		DFG_TRY(dfg_kernel_scratch(ctx, (size_t)sums * (size_t)bytes, &work.out));
	dfg_kernel_ranges(ctx, blocks, work.step, filter_sums, &work);
	if (sums == 1)
		return NULL;
	struct total total = {work.out, sums, size};
	dfg_kernel_ranges(ctx, size, 16 * 1024,
		c->dtype == DFG_F32   ? total_f32
		: c->dtype == DFG_F64 ? total_f64
							  : total_i32,
		&total);
	memcpy(d_filter, work.out, (size_t)bytes);
	return NULL;
}

/*
 * If the strides are 1, the gradient by the input is a convolution of d out by the filter, reversed along its spatial
 * dimensions and with its input and output channels exchanged.
 */
static struct dfg_convolution reversed(const struct dfg_convolution *c)
{
	struct dfg_convolution back = *c;
	back.window.channels = c->groups * c->group_out;
	back.group_in = c->group_out;
	back.group_out = c->group_in;
	for (int a = 0; a < DFG_AXES; a++) {
		struct dfg_axis *axis = &back.window.axis[a];
		const struct dfg_axis *ahead = &c->window.axis[a];
		axis->in = ahead->out;
		axis->out = ahead->in;
		axis->before = (ahead->size - 1) * ahead->dilation - ahead->before;
	}
	return back;
}

#define REVERSE(bits, type)                                                                                  \
	static void reverse_##bits(const struct dfg_convolution *c, const type *filter, type *to)                \
	{                                                                                                        \
		const int64_t taps = dfg_window_size(&c->window), outputs = c->groups * c->group_out;                \
		for (int64_t t = 0; t < taps; t++)                                                                   \
			for (int64_t o = 0; o < c->group_out; o++)                                                       \
				for (int64_t g = 0; g < c->groups; g++)                                                      \
					for (int64_t i = 0; i < c->group_in; i++)                                                \
						*to++ = filter[((taps - 1 - t) * c->group_in + i) * outputs + g * c->group_out + o]; \
	}
REVERSE(4, uint32_t)
REVERSE(8, uint64_t)

static bool is_dense(const struct dfg_convolution *c)
{
	for (int a = 0; a < DFG_AXES; a++)
		if (c->window.axis[a].stride != 1)
			return false;
	return true;
}

/*
 * col2im: patches of d in, the product of d out and the filter, are added to their image; one task has all of an image.
 */
static void scatter(void *arg, int64_t first, int64_t last)
{
	const struct work *work = arg;
	const struct dfg_convolution *c = work->c;
	const int64_t outputs = c->groups * c->group_out, size = dfg_patch_size(c), each = dfg_window_positions(&c->window);
	char *rows = work->patches + first / work->step * work->rows * size * (int64_t)work->size;
	for (int64_t image = first; image < last; image++)
		for (int64_t begin = image * each, end; begin < (image + 1) * each; begin = end) {
			end = begin + work->rows < (image + 1) * each ? begin + work->rows : (image + 1) * each;
			for (int64_t g = 0; g < c->groups; g++) {
				struct dfg_product p = {
					.m = end - begin,
					.n = size,
					.k = c->group_out,
					.a_row = outputs,
					.a_column = 1,
					.b_row = 1,
					.b_column = outputs,
					.c_row = size,
				};
				product(c->dtype, &p, element(work, work->in, begin * outputs + g * c->group_out),
					element(work, work->filter, g * c->group_out), rows);
				dfg_patches_add(c, g, rows, begin, end, work->out);
			}
		}
}

struct dfg_err *dfg_convolve_input(struct dfg_kernel *ctx, const struct dfg_convolution *convolution,
	const void *filter, const void *d_out, void *d_in)
{
	const struct dfg_convolution *c = convolution;
	struct work work = {.c = c, .in = d_out, .filter = filter, .out = d_in, .size = dfg_dtype_size(c->dtype)};
	int64_t images = c->window.batch, pixels = dfg_window_pixels(&c->window), taps = dfg_window_size(&c->window);
	if (is_dense(c) && dfg_window_positions(&c->window)) {
		struct dfg_convolution back = reversed(c);
		void *reversed_filter;
		DFG_TRY(dfg_kernel_scratch(
			ctx, (size_t)(taps * c->groups * c->group_in * c->group_out) * work.size, &reversed_filter));
		if (work.size == 4)
			reverse_4(c, filter, reversed_filter);
		else
			reverse_8(c, filter, reversed_filter);
		return dfg_convolve(ctx, &back, d_out, reversed_filter, d_in);
	}
	memset(d_in, 0, (size_t)(images * pixels * c->window.channels) * work.size);
	if (!images || !dfg_window_positions(&c->window))
		return NULL;
	cut_positions(&work, dfg_window_positions(&c->window));
	work.step = ceil_div(images, TASKS);
	DFG_TRY(take_patches(ctx, &work, ceil_div(images, work.step)));
	dfg_kernel_ranges(ctx, images, work.step, scatter, &work);
	return NULL;
}

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
