/*
 * Poolings and their gradients against their definition, written out here element by element: equal bits, for windows of
 * any size, stride and padding, any number of channels, first or last, and each kind of vectors that this processor has.
 */
#include "kernels/pool_loops.h"
#include "lib/base/vector.h"
#include "tests/unit/kernel_host.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>

enum { RANDOM = 60 };

/* Coordinates of element `number` of an array of these sizes. */
static void unfold(int64_t number, const int64_t *size, int64_t *at)
{
	for (int a = DFG_AXES - 1; a >= 0; a--) {
		at[a] = number % size[a];
		number /= size[a];
	}
}

/* The pixel under a tap of the window at a position, -1 outside of the image. */
static int64_t pixel_under(const struct dfg_window *w, int64_t position, int64_t tap)
{
	int64_t at[DFG_AXES], of[DFG_AXES], pixel = 0;
	unfold(position, (int64_t[]){w->axis[0].out, w->axis[1].out, w->axis[2].out}, at);
	unfold(tap, (int64_t[]){w->axis[0].size, w->axis[1].size, w->axis[2].size}, of);
	for (int a = 0; a < DFG_AXES; a++) {
		const int64_t x = at[a] * w->axis[a].stride - w->axis[a].before + of[a];
		if (x < 0 || x >= w->axis[a].in)
			return -1;
		pixel = pixel * w->axis[a].in + x;
	}
	return pixel;
}

/* Of an image's array that has `count` elements a channel: the index of one of them. */
static int64_t place(const struct dfg_window *w, int64_t image, int64_t channel, int64_t count, int64_t i)
{
	return w->channels_first ? (image * w->channels + channel) * count + i
							 : (image * count + i) * w->channels + channel;
}

/* One window of one channel; the first of equal largest elements counts, a NaN is larger than any number. */
#define DEFINE(type, least)                                                                                          \
	static void window_##type(const struct dfg_window *w, enum dfg_pooling pooling, int64_t image, int64_t channel,  \
		int64_t position, const type *x, const type *d, type *out)                                                   \
	{                                                                                                                \
		const int64_t pixels = dfg_window_pixels(w), positions = dfg_window_positions(w), taps = dfg_window_size(w); \
		const int64_t here = place(w, image, channel, positions, position);                                          \
		int64_t best = -1;                                                                                           \
		type sum = 0, number = 0;                                                                                    \
		for (int64_t t = 0; t < taps; t++) {                                                                         \
			const int64_t pixel = pixel_under(w, position, t), at = place(w, image, channel, pixels, pixel);         \
			if (pixel < 0)                                                                                           \
				continue;                                                                                            \
			number += 1;                                                                                             \
			if (pooling == DFG_POOL_MEAN)                                                                            \
				sum += x[at];                                                                                        \
			else if (pooling != DFG_POOL_MEAN_GRADIENT &&                                                            \
					 (best < 0 || x[at] > x[best] || (x[at] != x[at] && x[best] == x[best])))                        \
				best = at;                                                                                           \
		}                                                                                                            \
		for (int64_t t = 0; t < taps && pooling == DFG_POOL_MEAN_GRADIENT; t++)                                      \
			if (pixel_under(w, position, t) >= 0)                                                                    \
				out[place(w, image, channel, pixels, pixel_under(w, position, t))] += d[here] / number;              \
		if (pooling == DFG_POOL_MEAN)                                                                                \
			out[here] = sum / number;                                                                                \
		if (pooling == DFG_POOL_MAX)                                                                                 \
			out[here] = best < 0 ? least : x[best];                                                                  \
		if (pooling == DFG_POOL_MAX_ELEMENTS)                                                                        \
			out[here] = best < 0 ? 0 : d[best];                                                                      \
		if (pooling == DFG_POOL_MAX_GRADIENT && best >= 0)                                                           \
			out[best] += d[here];                                                                                    \
	}
DEFINE(float, -INFINITY)
DEFINE(double, -INFINITY)
DEFINE(uint8_t, 0)
DEFINE(int16_t, INT16_MIN)

static void define(
	const struct dfg_window *w, enum dfg_pooling pooling, enum dfg_dtype dtype, const void *x, const void *d, void *out)
{
	for (int64_t i = 0; i < w->batch * w->channels; i++)
		for (int64_t p = 0; p < dfg_window_positions(w); p++) {
			const int64_t image = i / w->channels, channel = i % w->channels;
			if (dtype == DFG_F32)
				window_float(w, pooling, image, channel, p, x, d, out);
			else if (dtype == DFG_F64)
				window_double(w, pooling, image, channel, p, x, d, out);
			else if (dtype == DFG_U8)
				window_uint8_t(w, pooling, image, channel, p, x, d, out);
			else
				window_int16_t(w, pooling, image, channel, p, x, d, out);
		}
}

static uint32_t state = 7;

static int64_t draw(int64_t most)
{
	state = state * 1664525 + 1013904223;
	return 1 + (state >> 8) % most;
}

/* Numbers of which many are equal; among floats are zeros of both signs, infinities and a NaN. */
static void *numbers(enum dfg_dtype dtype, int64_t count)
{
	const double odd[] = {0, -0.0, INFINITY, -INFINITY, NAN};
	char *all = malloc((size_t)(count + 1) * dfg_dtype_size(dtype));
	assert_non_null(all);
	for (int64_t i = 0; i < count; i++) {
		const int64_t kind = draw(40);
		const double value = kind <= 5 ? odd[kind - 1] : (double)draw(9) / 3 - 1;
		if (dtype == DFG_F32)
			((float *)all)[i] = (float)value;
		else if (dtype == DFG_F64)
			((double *)all)[i] = value;
		else if (dtype == DFG_U8)
			((uint8_t *)all)[i] = (uint8_t)(draw(6) * 50);
		else
			((int16_t *)all)[i] = (int16_t)(draw(9) * 7000 - 35000);
	}
	return all;
}

/* Equal bits, but a NaN's sign and payload are the compiler's. */
static bool is_equal(enum dfg_dtype dtype, const void *a, const void *b, int64_t i)
{
	const size_t size = dfg_dtype_size(dtype);
	if (dtype == DFG_F32 && isnan(((const float *)a)[i]))
		return isnan(((const float *)b)[i]);
	if (dtype == DFG_F64 && isnan(((const double *)a)[i]))
		return isnan(((const double *)b)[i]);
	return !memcmp((const char *)a + (size_t)i * size, (const char *)b + (size_t)i * size, size);
}

static void expect(const struct dfg_window *w, enum dfg_pooling pooling, enum dfg_dtype dtype, const void *want,
	const void *got, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (!is_equal(dtype, want, got, i))
			fail_msg(
				"%s %s, pooling %d, element %lld of %lld: %lld images, %lld channels %s; "
				"size, window, stride, padding: %lld %lld %lld %lld, %lld %lld %lld %lld, %lld %lld %lld %lld",
				dfg_vectors_name(), dfg_dtype_name(dtype), pooling, (long long)i, (long long)count, (long long)w->batch,
				(long long)w->channels, w->channels_first ? "first" : "last", (long long)w->axis[0].in,
				(long long)w->axis[0].size, (long long)w->axis[0].stride, (long long)w->axis[0].before,
				(long long)w->axis[1].in, (long long)w->axis[1].size, (long long)w->axis[1].stride,
				(long long)w->axis[1].before, (long long)w->axis[2].in, (long long)w->axis[2].size,
				(long long)w->axis[2].stride, (long long)w->axis[2].before);
}

static void check(const struct dfg_window *w, enum dfg_pooling pooling, enum dfg_dtype dtype)
{
	const bool to_pixels = pooling == DFG_POOL_MAX_GRADIENT || pooling == DFG_POOL_MEAN_GRADIENT;
	const int64_t pixels = w->batch * w->channels * dfg_window_pixels(w),
				  positions = w->batch * w->channels * dfg_window_positions(w), count = to_pixels ? pixels : positions;
	void *x = numbers(dtype, pixels), *d = numbers(dtype, to_pixels ? positions : pixels);
	void *want = calloc((size_t)count + 1, dfg_dtype_size(dtype)), *got = numbers(dtype, count);
	struct host host = {0};
	struct dfg_kernel ctx = {.host = &services, .runner = &host};
	assert_non_null(want);
	define(w, pooling, dtype, x, d, want);
	succeeds(dfg_pool(&ctx, pooling, w, dtype, x, d, got));
	expect(w, pooling, dtype, want, got, count);
	release_host(&host);
	free(x), free(d), free(want), free(got);
}

/* Poolings of all types and both orders of channels, by each kind of vectors. */
static void check_all(struct dfg_window w)
{
	const enum dfg_dtype dtypes[] = {DFG_F32, DFG_F64, DFG_U8, DFG_I16};
	const int widest = (int)dfg_vectors();
	if (!w.axis[0].out || !w.axis[1].out || !w.axis[2].out)
		return;
	for (int kind = DFG_VECTORS_OF_ALL; kind <= widest; kind++)
		for (int i = 0; i < 8; i++) {
			dfg_vectors_known = kind;
			w.channels_first = i % 2;
			check(&w, DFG_POOL_MAX, dtypes[i / 2]);
			check(&w, DFG_POOL_MAX_GRADIENT, dtypes[i / 2]);
			check(&w, DFG_POOL_MAX_ELEMENTS, dtypes[i / 2]);
			if (i / 2 < 2) {
				check(&w, DFG_POOL_MEAN, dtypes[i / 2]);
				check(&w, DFG_POOL_MEAN_GRADIENT, dtypes[i / 2]);
			}
		}
	dfg_vectors_known = widest;
}

/* Padding is smaller than the window, as ops demand. */
static struct dfg_axis axis(int64_t in, int64_t size, int64_t stride, int64_t before, int64_t after)
{
	const int64_t left = in + before + after - size;
	return (struct dfg_axis){in, left < 0 ? 0 : left / stride + 1, size, stride, 1, before};
}

static struct dfg_axis random_axis(void)
{
	const int64_t size = draw(4);
	return axis(draw(11), size, draw(4), draw(size) - 1, draw(size) - 1);
}

static const struct dfg_axis one = {1, 1, 1, 1, 1, 0};

static void usual_layers(void **unused)
{
	(void)unused;
	const struct dfg_axis halved = axis(12, 2, 2, 0, 0), odd = axis(13, 2, 2, 0, 0), padded = axis(13, 3, 2, 1, 1),
						  around = axis(9, 3, 1, 1, 1), all = axis(7, 7, 1, 0, 0), apart = axis(11, 2, 3, 0, 0);
	const struct dfg_axis axes[] = {halved, odd, padded, around, all, apart};
	for (int i = 0; i < 6; i++) {
		const int64_t channels[] = {1, 3, 20, 64, 75, 33};
		check_all((struct dfg_window){.axes = 2, .batch = 3, .channels = channels[i], .axis = {one, axes[i], axes[i]}});
		check_all((struct dfg_window){
			.axes = 2, .batch = 2, .channels = channels[5 - i], .axis = {one, axes[i], axes[5 - i]}});
	}
}

static void random_windows(void **unused)
{
	(void)unused;
	for (int i = 0; i < RANDOM; i++) {
		const struct dfg_axis depth = i % 3 ? one : random_axis(), height = random_axis(), width = random_axis();
		check_all((struct dfg_window){
			.axes = 3, .batch = draw(3), .channels = draw(i % 5 ? 40 : 4), .axis = {depth, height, width}});
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_layers),
		cmocka_unit_test(random_windows),
	};
	return cmocka_run_group_tests_name("pooling", tests, NULL, NULL);
}
