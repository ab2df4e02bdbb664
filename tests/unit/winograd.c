/*
 * Winograd's convolutions against the sums in f64, element by element: within the bounds that kernels/conv/winograd.h
 * states; and with the same bits whatever the batch, the order of blocks and the kind of instructions.
 */
#include "kernels/conv/winograd.h"
#include "tests/unit/kernel_host.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>

/* Images of `batch`, height, width and channels, by 3 x 3 windows; `before` and `after` are rows and columns of zeros. */
struct shape {
	int64_t batch, h, w, c, out;
	int64_t before, after;
};

static struct dfg_convolution convolution_of(const struct shape *shape)
{
	struct dfg_convolution c = {.groups = 1, .group_in = shape->c, .group_out = shape->out, .dtype = DFG_F32};
	const int64_t in[DFG_AXES] = {1, shape->h, shape->w};
	c.window.batch = shape->batch;
	c.window.channels = shape->c;
	for (int a = 0; a < DFG_AXES; a++)
		c.window.axis[a] = (struct dfg_axis){.in = in[a], .out = in[a], .size = 1, .stride = 1, .dilation = 1};
	for (int a = 1; a < DFG_AXES; a++) {
		c.window.axis[a].size = 3;
		c.window.axis[a].before = shape->before;
		c.window.axis[a].out = in[a] + shape->before + shape->after - 2;
	}
	return c;
}

/* Numbers with all bits of their fractions; `positive`: half of them are 0, as after a ReLU. */
static float *numbers(int64_t count, uint32_t seed, bool positive)
{
	float *x = malloc((size_t)count * sizeof *x);
	assert_non_null(x);
	for (int64_t i = 0; i < count; i++) {
		float sum = 0;
		for (int j = 0; j < 4; j++) {
			seed = seed * 1664525 + 1013904223;
			sum += (float)(seed >> 8) / (1 << 24) - 0.5f;
		}
		x[i] = positive && sum < 0 ? 0 : sum;
	}
	return x;
}

struct data {
	struct shape shape;
	struct dfg_convolution c;
	float *in, *filter, *out;
	int64_t in_size, out_size; /* of an image */
};

static struct data data_of(struct shape shape, bool positive)
{
	struct data data = {.shape = shape, .c = convolution_of(&shape)};
	data.in_size = shape.h * shape.w * shape.c;
	data.out_size = data.c.window.axis[1].out * data.c.window.axis[2].out * shape.out;
	data.in = numbers(shape.batch * data.in_size, 1, positive);
	data.filter = numbers(9 * shape.c * shape.out, 2, false);
	data.out = numbers(shape.batch * data.out_size, 3, false);
	return data;
}

static void release(struct data *data)
{
	free(data->in);
	free(data->filter);
	free(data->out);
}

static void convolve(const struct data *data, int t, bool backwards, const float *in, float *out)
{
	struct host host = {.forwards = !backwards};
	struct dfg_kernel ctx = {.host = &services, .runner = &host};
	succeeds(dfg_convolve_winograd(&ctx, &data->c, t, in, data->filter, out));
	release_host(&host);
}

/* The largest error of image 0, as a share of the sum of |x w|. */
static double largest_error(const struct data *data)
{
	const struct shape *s = &data->shape;
	const int64_t out_h = data->c.window.axis[1].out, out_w = data->c.window.axis[2].out;
	double most = 0;
	for (int64_t i = 0; i < out_h * out_w; i++)
		for (int64_t o = 0; o < s->out; o += 1 + i % 7) {
			double sum = 0, all = 0;
			for (int64_t tap = 0; tap < 9; tap++) {
				const int64_t y = i / out_w + tap / 3 - s->before, x = i % out_w + tap % 3 - s->before;
				for (int64_t c = 0; c < s->c && y >= 0 && y < s->h && x >= 0 && x < s->w; c++) {
					const double one = (double)data->in[(y * s->w + x) * s->c + c] *
									   (double)data->filter[(tap * s->c + c) * s->out + o];
					sum += one;
					all += fabs(one);
				}
			}
			const double error = fabs((double)data->out[i * s->out + o] - sum);
			assert_true(error <= all); /* also where it is NaN */
			most = fmax(most, all > 0 ? error / all : 0);
		}
	return most;
}

static const struct shape shapes[] = {
	{1, 14, 14, 64, 64, 1, 1},                            /* one block, some parts */
	{1, 28, 28, 64, 80, 1, 1}, {1, 17, 30, 70, 65, 1, 1}, /* tiles that are cut, channels that fill no vector */
	{2, 16, 19, 64, 67, 0, 0}, {1, 20, 15, 68, 64, 2, 0}, {1, 61, 58, 64, 64, 1, 1}, /* many blocks */
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void errors_are_within_the_bounds(void **state)
{
	(void)state;
	for (int i = 0; i < 4 * SHAPES; i++) {
		const int t = i % 2 ? 4 : 2;
		struct data data = data_of(shapes[i / 4], i / 2 % 2);
		convolve(&data, t, false, data.in, data.out);
		const double error = largest_error(&data);
		if (!(error <= (t == 2 ? 4e-7 : 4e-6)))
			fail_msg("shape %d, F(%d,3): %.3g of the sum of |x w|", i / 4, t, error);
		release(&data);
	}
}

static void bits_depend_neither_on_the_batch_nor_on_blocks(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * SHAPES; i++) {
		const int t = i % 2 ? 4 : 2;
		struct shape shape = shapes[i / 2];
		shape.batch = 5;
		struct data all = data_of(shape, false), one = all;
		one.c.window.batch = 1;
		one.out = numbers(all.out_size, 4, false);
		convolve(&all, t, true, all.in, all.out);
		for (int64_t image = 0; image < shape.batch; image++) {
			convolve(&one, t, false, all.in + image * all.in_size, one.out);
			assert_memory_equal(one.out, all.out + image * all.out_size, (size_t)all.out_size * sizeof(float));
		}
		free(one.out);
		release(&all);
	}
}

static void an_infinity_spoils_no_other_tile(void **state)
{
	(void)state;
	for (int t = 2; t <= 4; t += 2) {
		struct data data = data_of((struct shape){1, 28, 28, 64, 64, 1, 1}, false);
		float *clean = numbers(data.out_size, 5, false);
		convolve(&data, t, false, data.in, clean);
		data.in[(14 * 28 + 14) * 64 + 3] = INFINITY;
		convolve(&data, t, false, data.in, data.out);
		for (int64_t i = 0; i < 28 * 28 * 64; i++) {
			const int64_t y = i / 64 / 28, x = i / 64 % 28;
			const int64_t above = y / t * t - 1, left = x / t * t - 1; /* where the tile's input begins */
			if (llabs(y - 14) <= 1 && llabs(x - 14) <= 1)
				assert_false(isfinite(data.out[i]));
			else if (above > 14 || 14 >= above + t + 2 || left > 14 || 14 >= left + t + 2)
				assert_memory_equal(&data.out[i], &clean[i], sizeof *clean);
		}
		free(clean);
		release(&data);
	}
}

static int tile_of(struct shape shape, enum dfg_winograd option)
{
	const struct dfg_convolution c = convolution_of(&shape);
	return dfg_winograd_tile(&c, option);
}

static void the_shape_without_the_batch_decides(void **state)
{
	(void)state;
	const struct shape small = {1, 14, 14, 64, 64, 1, 1}, large = {1, 28, 28, 64, 64, 1, 1};
	assert_int_equal(tile_of(small, DFG_WINOGRAD_2), 2);
	assert_int_equal(tile_of(small, DFG_WINOGRAD_4), 2);
	assert_int_equal(tile_of(large, DFG_WINOGRAD_2), 2);
	assert_int_equal(tile_of(large, DFG_WINOGRAD_4), 4);
	assert_int_equal(tile_of(large, DFG_NO_WINOGRAD), 0);
	assert_int_equal(tile_of((struct shape){100, 13, 28, 64, 64, 1, 1}, DFG_WINOGRAD_2), 0);
	assert_int_equal(tile_of((struct shape){1, 28, 28, 63, 64, 1, 1}, DFG_WINOGRAD_2), 0);
	assert_int_equal(tile_of((struct shape){1, 28, 28, 64, 63, 1, 1}, DFG_WINOGRAD_2), 0);
	assert_int_equal(tile_of((struct shape){1, 16, 16, 64, 64, 0, 0}, DFG_WINOGRAD_2), 2);
	assert_int_equal(tile_of((struct shape){1, 15, 15, 64, 64, 0, 0}, DFG_WINOGRAD_2), 0);
	for (int change = 0; change < 5; change++) {
		struct dfg_convolution c = convolution_of(&large);
		struct dfg_axis *axis = &c.window.axis[2 - change % 2];
		if (change < 2)
			axis->stride = 2;
		else if (change < 4)
			axis->dilation = 2;
		else
			c.dtype = DFG_F64;
		assert_int_equal(dfg_winograd_tile(&c, DFG_WINOGRAD_2), 0);
	}
}

static void transforms_have_the_bits_of_plain_c(void **state)
{
	(void)state;
	int kinds;
	succeeds(dfg_winograd_check(&kinds));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_within_the_bounds),
		cmocka_unit_test(bits_depend_neither_on_the_batch_nor_on_blocks),
		cmocka_unit_test(an_infinity_spoils_no_other_tile),
		cmocka_unit_test(the_shape_without_the_batch_decides),
		cmocka_unit_test(transforms_have_the_bits_of_plain_c),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
