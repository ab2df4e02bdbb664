/*
 * Convolutions and their gradients against the definition of their sums (kernels/conv/walk.h, kernels/conv/filter.c),
 * written out here element by element: equal bits, for windows of any stride, dilation, padding and number of groups.
 */
#include "kernels/conv/columns.h"
#include "kernels/conv/depthwise.h"
#include "kernels/gemm/micro.h"
#include "tests/unit/kernel_host.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>

enum { RANDOM = 300 };

/* The widest vectors of depthwise convolutions in plain C. */
#define REAL float
#define LANES 16
#define NAME(x) x##_wide
#define TARGET
#define FUSE(a, b, c)                                          \
	({                                                         \
		vector_wide z_ = (c);                                  \
		for (int l_ = 0; l_ < LANES; l_++)                     \
			z_[l_] = __builtin_fmaf((a)[l_], (b)[l_], z_[l_]); \
		z_;                                                    \
	})
#include "kernels/conv/depthwise.inc"

/* A sum under way: one chain, those before it, and the next step's number. */
struct sum {
	float chain[16];
	int64_t chains;
};

static void step(struct sum *sum, int64_t number, float a, float b)
{
	bool fused = !strcmp(dfg_product_fingerprint(), "fma");
	float *chain = &sum->chain[number / DFG_PRODUCT_CHAIN];
	assert_true(number / DFG_PRODUCT_CHAIN < 16);
	*chain = fused ? fmaf(a, b, *chain) : a * b + *chain;
}

/* The tree over chains [first, last), of which some may have no steps. */
static float total(const struct sum *sum, int64_t first, int64_t last)
{
	int64_t half = 1;
	if (last - first <= 1)
		return sum->chain[first];
	while (2 * half < last - first)
		half *= 2;
	return total(sum, first, first + half) + total(sum, first + half, last);
}

static float value(const struct sum *sum, int64_t steps)
{
	return total(sum, 0, (steps + DFG_PRODUCT_CHAIN - 1) / DFG_PRODUCT_CHAIN);
}

/* Coordinates of element `number` of an array of these sizes. */
static void unfold(int64_t number, const int64_t *size, int64_t *at)
{
	for (int a = DFG_AXES - 1; a >= 0; a--) {
		at[a] = number % size[a];
		number /= size[a];
	}
}

/* Sizes of the arrays along the axes: image, output, window. */
struct sizes {
	int64_t in[DFG_AXES], out[DFG_AXES], taps[DFG_AXES];
};

static struct sizes sizes_of(const struct dfg_convolution *c)
{
	struct sizes s;
	for (int a = 0; a < DFG_AXES; a++) {
		s.in[a] = c->window.axis[a].in;
		s.out[a] = c->window.axis[a].out;
		s.taps[a] = c->window.axis[a].size;
	}
	return s;
}

/* The number of the pixel under a tap of the window at a position; -1 outside the image. */
static int64_t pixel_under(const struct dfg_convolution *c, int64_t position, int64_t tap)
{
	struct sizes s = sizes_of(c);
	int64_t at[DFG_AXES], of[DFG_AXES], pixel = 0;
	unfold(position, s.out, at);
	unfold(tap, s.taps, of);
	for (int a = 0; a < DFG_AXES; a++) {
		const struct dfg_axis *axis = &c->window.axis[a];
		int64_t x = at[a] * axis->stride - axis->before + of[a] * axis->dilation;
		if (x < 0 || x >= axis->in)
			return -1;
		pixel = pixel * axis->in + x;
	}
	return pixel;
}

static void define_forward(const struct dfg_convolution *c, const float *in, const float *filter, float *out)
{
	int64_t positions = dfg_window_positions(&c->window), pixels = dfg_window_pixels(&c->window);
	int64_t taps = dfg_window_size(&c->window), outputs = c->groups * c->group_out;
	for (int64_t i = 0; i < c->window.batch * positions * outputs; i++) {
		int64_t o = i % outputs, position = i / outputs % positions, image = i / outputs / positions;
		int64_t group = o / c->group_out;
		struct sum sum = {0};
		for (int64_t t = 0; t < taps; t++) {
			int64_t pixel = pixel_under(c, position, t);
			for (int64_t k = 0; k < c->group_in && pixel >= 0; k++)
				step(&sum, t * c->group_in + k,
					in[(image * pixels + pixel) * c->window.channels + group * c->group_in + k],
					filter[(t * c->group_in + k) * outputs + o]);
		}
		out[i] = value(&sum, taps * c->group_in);
	}
}

/* Whether a tap of an axis reaches a pixel from some position, which may be outside of the output. */
static bool reaches(const struct dfg_axis *axis, int64_t pixel, int64_t tap)
{
	return (pixel + axis->before - tap * axis->dilation) % axis->stride == 0;
}

static void define_input(const struct dfg_convolution *c, const float *filter, const float *d_out, float *d_in)
{
	int64_t positions = dfg_window_positions(&c->window), pixels = dfg_window_pixels(&c->window);
	int64_t taps = dfg_window_size(&c->window), outputs = c->groups * c->group_out;
	struct sizes s = sizes_of(c);
	for (int64_t i = 0; i < c->window.batch * pixels * c->window.channels; i++) {
		int64_t channel = i % c->window.channels, pixel = i / c->window.channels % pixels;
		int64_t image = i / c->window.channels / pixels, group = channel / c->group_in, number = 0, at[DFG_AXES];
		struct sum sum = {0};
		unfold(pixel, s.in, at);
		for (int64_t t = taps - 1; t >= 0; t--) {
			int64_t of[DFG_AXES], position = 0;
			bool there = true, reached = true;
			unfold(t, s.taps, of);
			for (int a = 0; a < DFG_AXES; a++) {
				const struct dfg_axis *axis = &c->window.axis[a];
				int64_t x = at[a] + axis->before - of[a] * axis->dilation;
				reached &= reaches(axis, at[a], of[a]);
				there &= x >= 0 && x / axis->stride < axis->out;
				position = position * axis->out + x / axis->stride;
			}
			for (int64_t k = 0; k < c->group_out && reached && there; k++)
				step(&sum, number + k, d_out[(image * positions + position) * outputs + group * c->group_out + k],
					filter[(t * c->group_in + channel % c->group_in) * outputs + group * c->group_out + k]);
			number += reached ? c->group_out : 0;
		}
		d_in[i] = value(&sum, number);
	}
}

static void define_filter(const struct dfg_convolution *c, const float *in, const float *d_out, float *d_filter)
{
	int64_t positions = dfg_window_positions(&c->window), pixels = dfg_window_pixels(&c->window);
	int64_t taps = dfg_window_size(&c->window), outputs = c->groups * c->group_out;
	for (int64_t i = 0; i < taps * c->group_in * outputs; i++) {
		int64_t o = i % outputs, k = i / outputs % c->group_in, t = i / outputs / c->group_in;
		int64_t channel = o / c->group_out * c->group_in + k;
		struct sum sum = {0};
		for (int64_t p = 0; p < c->window.batch * positions; p++) {
			int64_t pixel = pixel_under(c, p % positions, t);
			if (pixel >= 0)
				step(&sum, p, in[(p / positions * pixels + pixel) * c->window.channels + channel],
					d_out[p * outputs + o]);
		}
		d_filter[i] = value(&sum, c->window.batch * positions);
	}
}

static float *numbers(int64_t count, uint32_t seed)
{
	float *x = malloc((size_t)(count + 1) * sizeof *x);
	assert_non_null(x);
	for (int64_t i = 0; i < count; i++) {
		seed = seed * 1664525 + 1013904223;
		x[i] = (float)(seed >> 8) / (1 << 23) - 1;
	}
	return x;
}

static void expect(
	const struct dfg_convolution *c, const char *what, const float *want, const float *got, int64_t count)
{
	const struct dfg_axis *a = c->window.axis;
	for (int64_t i = 0; i < count; i++)
		if (memcmp(&want[i], &got[i], sizeof *want))
			fail_msg(
				"%s %lld of %lld is %.9g, expected %.9g: %lld images, %lld groups of %lld to %lld; "
				"size, window, stride, dilation, padding: %lld %lld %lld %lld %lld, %lld %lld %lld %lld %lld, "
				"%lld %lld %lld %lld %lld",
				what, (long long)i, (long long)count, (double)got[i], (double)want[i], (long long)c->window.batch,
				(long long)c->groups, (long long)c->group_in, (long long)c->group_out, (long long)a[0].in,
				(long long)a[0].size, (long long)a[0].stride, (long long)a[0].dilation, (long long)a[0].before,
				(long long)a[1].in, (long long)a[1].size, (long long)a[1].stride, (long long)a[1].dilation,
				(long long)a[1].before, (long long)a[2].in, (long long)a[2].size, (long long)a[2].stride,
				(long long)a[2].dilation, (long long)a[2].before);
}

/* The three functions of a kind of convolutions. */
struct kind {
	struct dfg_err *(*forward)(struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *in,
		const void *filter, void *out);
	struct dfg_err *(*input)(struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *filter,
		const void *d_out, void *d_in);
	struct dfg_err *(*filter)(struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *in,
		const void *d_out, void *d_filter);
};
static const struct kind plain = {dfg_convolve, dfg_convolve_input, dfg_convolve_filter},
						 depthwise = {dfg_depthwise, dfg_depthwise_input, dfg_depthwise_filter};

static void check(const struct kind *kind, const struct dfg_convolution *c)
{
	int64_t ins = c->window.batch * dfg_window_pixels(&c->window) * c->window.channels;
	int64_t outs = c->window.batch * dfg_window_positions(&c->window) * c->groups * c->group_out;
	int64_t filters = dfg_window_size(&c->window) * c->group_in * c->groups * c->group_out;
	float *in = numbers(ins, 1), *filter = numbers(filters, 2), *out = numbers(outs, 3), *want_out = numbers(outs, 4);
	float *want_in = numbers(ins, 5), *want_filter = numbers(filters, 6), *got_in = numbers(ins, 7),
		  *got_filter = numbers(filters, 8);
	struct host host = {0};
	struct dfg_kernel ctx = {.host = &services, .runner = &host};
	define_forward(c, in, filter, want_out);
	succeeds(kind->forward(&ctx, c, in, filter, out));
	expect(c, "output", want_out, out, outs);
	define_input(c, filter, want_out, want_in);
	succeeds(kind->input(&ctx, c, filter, want_out, got_in));
	expect(c, "gradient of the input", want_in, got_in, ins);
	define_filter(c, in, want_out, want_filter);
	succeeds(kind->filter(&ctx, c, in, want_out, got_filter));
	expect(c, "gradient of the filter", want_filter, got_filter, filters);
	release_host(&host);
	free(in), free(filter), free(out), free(want_out), free(want_in), free(want_filter), free(got_in), free(got_filter);
}

static struct dfg_axis axis(int64_t in, int64_t size, int64_t stride, int64_t dilation, int64_t before, int64_t after)
{
	int64_t fit = (in + before + after - (size - 1) * dilation - 1 + stride) / stride;
	return (struct dfg_axis){
		in, in + before + after < (size - 1) * dilation + 1 ? 0 : fit, size, stride, dilation, before};
}

static const struct dfg_axis one = {1, 1, 1, 1, 1, 0};

static struct dfg_convolution convolution(int64_t batch, int64_t groups, int64_t group_in, int64_t group_out,
	struct dfg_axis depth, struct dfg_axis height, struct dfg_axis width)
{
	return (struct dfg_convolution){
		.window = {.axes = 3, .batch = batch, .channels = groups * group_in, .axis = {depth, height, width}},
		.groups = groups,
		.group_in = group_in,
		.group_out = group_out,
		.dtype = DFG_F32};
}

static void usual_layers(void **state)
{
	(void)state;
	const struct dfg_axis first = axis(12, 5, 1, 1, 2, 2), middle = axis(9, 3, 1, 1, 1, 1),
						  stem = axis(21, 7, 2, 1, 3, 3);
	const struct dfg_axis point = axis(6, 1, 1, 1, 0, 0), few = axis(3, 3, 1, 1, 1, 1), valid = axis(10, 3, 1, 1, 0, 0);
	const struct dfg_convolution cases[] = {
		convolution(3, 1, 1, 20, one, first, first),
		convolution(2, 1, 24, 40, one, middle, middle),
		convolution(2, 1, 3, 33, one, stem, stem),
		convolution(2, 1, 40, 70, one, point, point),
		convolution(2, 4, 5, 6, one, middle, valid),
		convolution(2, 1, 7, 9, middle, few, middle),
		convolution(5, 1, 3, 5, one, one, axis(100, 9, 2, 1, 4, 4)),
	};
	for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
		check(&plain, &cases[i]);
}

/* More than DFG_PRODUCT_CHAIN taps and channels, positions, or both; blocks of channels, of taps and of outputs. */
static void long_sums(void **state)
{
	(void)state;
	const struct dfg_axis few = axis(3, 3, 1, 1, 1, 1), wide = axis(70, 3, 1, 1, 1, 1), point = axis(2, 1, 1, 1, 0, 0);
	const struct dfg_convolution cases[] = {
		convolution(1, 1, 480, 3, one, few, few),
		convolution(1, 1, 6, 600, one, few, few),
		convolution(2, 1, 2, 3, one, wide, wide),
		convolution(1, 1, 4200, 2, one, point, point),
		convolution(2, 1, 1, 5, one, one, axis(30, 400, 1, 1, 300, 300)),
		convolution(1, 1, 20, 2, one, one, axis(9000, 2, 2, 1, 0, 0)),
		convolution(1, 1, 1, 300, one, one, axis(4200, 2, 1, 1, 1, 1)),
	};
	for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
		check(&plain, &cases[i]);
}

/* Windows that reach far beyond the image, and those that leave out most of it. */
static void far_taps(void **state)
{
	(void)state;
	const struct dfg_axis few = axis(3, 3, 1, 1, 1, 1);
	const struct dfg_convolution cases[] = {
		convolution(2, 1, 4, 5, one, few, axis(7, 3, 1, 1000000, 1000000, 1000000)),
		convolution(1, 1, 4, 5, one, few, axis(50, 2, 11, 30, 0, 0)),
		convolution(1, 2, 3, 5, one, axis(7, 3, 1, 1 << 29, 1 << 29, 1 << 29), few),
		convolution(1, 1, 3, 5, one, few, axis(4, 2, 1, 1, 9, 9)),
		convolution(1, 1, 3, 5, one, few, axis(9, 2, 5, 1, 0, 0)),
		convolution(0, 1, 3, 5, one, few, few),
		convolution(1, 1, 3, 5, one, few, axis(2, 3, 1, 1, 0, 0)),
	};
	for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
		check(&plain, &cases[i]);
}

static int64_t draw(int64_t most)
{
	static uint32_t state = 7;
	state = state * 1664525 + 1013904223;
	return 1 + (state >> 8) % most;
}

static struct dfg_axis random_axis(void)
{
	const int64_t size = draw(4), dilation = draw(3), span = (size - 1) * dilation + 1;
	const int64_t before = draw(4) - 1, after = draw(4) - 1, in = draw(9);
	return axis(in + before + after < span ? span : in, size, draw(3), dilation, before, after);
}

static void random_windows(void **state)
{
	(void)state;
	for (int i = 0; i < RANDOM; i++) {
		const struct dfg_axis depth = i % 3 ? one : random_axis(), height = random_axis(), width = random_axis();
		const struct dfg_convolution c = convolution(draw(3), draw(3), draw(9), draw(9), depth, height, width);
		check(&plain, &c);
	}
}

static void each_channel_by_itself(void **state)
{
	(void)state;
	const struct dfg_axis usual = axis(14, 3, 1, 1, 1, 1), wide = axis(70, 7, 2, 1, 3, 3), few = axis(3, 3, 1, 1, 1, 1);
	const struct dfg_convolution cases[] = {
		convolution(2, 45, 1, 1, one, usual, usual),
		convolution(3, 19, 1, 1, one, few, wide),
		convolution(2, 9, 1, 1, few, few, usual),
		convolution(2, 17, 1, 1, one, axis(60, 3, 1, 1, 1, 1), axis(60, 3, 1, 1, 1, 1)),
		convolution(1, 9, 1, 1, one, few, axis(7, 3, 1, 1000000, 1000000, 1000000)),
		convolution(0, 9, 1, 1, one, few, few),
	};
	for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
		check(&depthwise, &cases[i]);
	for (int i = 0; i < RANDOM; i++) {
		const struct dfg_axis depth = i % 3 ? one : random_axis(), height = random_axis(), width = random_axis();
		const struct dfg_convolution c = convolution(draw(3), draw(40), 1, 1, depth, height, width);
		check(&depthwise, &c);
	}
}

/* The usual windows, whose pixels are shared by taps, over rows of several runs and of few pixels. */
static void each_channel_by_usual_windows(void **state)
{
	(void)state;
	const int64_t widths[] = {1, 2, 5, 7, 14, 15, 27, 29, 44}, channels[] = {1, 7, 16, 20, 33, 64, 75, 8, 130};
	for (int i = 0; i < 9; i++)
		for (int64_t size = 3; size <= 7; size += 2) {
			const int64_t before = size / 2, after = i % 3 ? before : before + 3;
			const struct dfg_convolution c = convolution(1 + i % 2, channels[i], 1, 1, one,
				axis(6, size, 1 + i % 2, 1, before, before), axis(widths[i], size, 1, 1, before, after));
			check(&depthwise, &c);
		}
}

/* Rows that are longer than a run, of whole vectors and of channels that are left over. */
static void any_row(int64_t channels, int64_t width, int64_t taps)
{
	const struct dfg_conv_walk_axis line = {width, width, -taps / 2, 1, taps, 1, 0, 1, width};
	float *x = numbers(channels * width, 1), *w = numbers(channels * taps, 2), *d = numbers(channels * width, 3);
	float *got = numbers(channels * width, 4), *want = numbers(channels * width, 4);
	const void *rows[] = {x, x}, *weights[] = {w, w};
	const struct dfg_depthwise_functions *kind[] = {dfg_depthwise_functions(DFG_F32), &functions_wide};
	float *to[] = {want, got};
	for (int i = 0; i < 2; i++) {
		struct dfg_depthwise_row row = {.axis = &line,
			.channels = channels,
			.rows = 2,
			.x = rows,
			.w = weights,
			.to = to[i],
			.to_step = channels,
			.d = d,
			.begin = 1,
			.end = width};
		kind[i]->positions(&row);
		kind[i]->sums(&row);
	}
	if (!strcmp(dfg_product_fingerprint(), "fma"))
		assert_memory_equal(got, want, sizeof(float) * (size_t)(channels * width));
	free(x), free(w), free(d), free(got), free(want);
}

static void vectors_of_any_width(void **state)
{
	(void)state;
	for (int64_t taps = 1; taps <= 9; taps++)
		for (int64_t channels = 3; channels <= 75; channels += 18)
			any_row(channels, taps + channels % 7 + 13, taps);
}

/* Integers wrap around; sums have no order. */
static void integers(void **state)
{
	(void)state;
	const struct dfg_axis wide = axis(6, 3, 1, 1, 1, 1), strided = axis(9, 3, 2, 1, 1, 1);
	struct dfg_convolution c = convolution(2, 2, 3, 9, one, wide, strided);
	int64_t outputs = 18, positions = dfg_window_positions(&c.window), pixels = dfg_window_pixels(&c.window);
	int32_t in[2 * 54 * 6], filter[9 * 3 * 18], out[2 * 30 * 18];
	struct host host = {0};
	struct dfg_kernel ctx = {.host = &services, .runner = &host};
	c.dtype = DFG_I32;
	for (int i = 0; i < (int)(sizeof in / sizeof *in); i++)
		in[i] = (int32_t)((uint32_t)i * 2654435761u);
	for (int i = 0; i < (int)(sizeof filter / sizeof *filter); i++)
		filter[i] = i - 100;
	assert_int_equal(pixels, 54);
	assert_int_equal(positions, 30);
	succeeds(dfg_convolve(&ctx, &c, in, filter, out));
	for (int64_t i = 0; i < 2 * positions * outputs; i++) {
		uint32_t sum = 0;
		for (int64_t t = 0; t < 9; t++) {
			int64_t pixel = pixel_under(&c, i / outputs % positions, t);
			for (int64_t k = 0; k < 3 && pixel >= 0; k++)
				sum += (uint32_t)in[(i / outputs / positions * pixels + pixel) * 6 + i % outputs / 9 * 3 + k] *
					   (uint32_t)filter[(t * 3 + k) * outputs + i % outputs];
		}
		assert_int_equal((uint32_t)out[i], sum);
	}
	release_host(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_layers),
		cmocka_unit_test(long_sums),
		cmocka_unit_test(far_taps),
		cmocka_unit_test(random_windows),
		cmocka_unit_test(each_channel_by_itself),
		cmocka_unit_test(each_channel_by_usual_windows),
		cmocka_unit_test(vectors_of_any_width),
		cmocka_unit_test(integers),
	};
	return cmocka_run_group_tests_name("convolve", tests, NULL, NULL);
}
