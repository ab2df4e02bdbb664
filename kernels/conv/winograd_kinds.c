#include "kernels/conv/winograd.h"
#include "kernels/gemm/micro.h"

#include <string.h>

/* Transforms of Winograd's convolutions for each kind of instructions that products use. */
#if defined(__x86_64__)
#define LANES 16
#define NAME(x) x##_avx512
#define TARGET __attribute__((target("avx512f")))
#include "kernels/conv/winograd.inc"

#define LANES 8
#define NAME(x) x##_avx2
#define TARGET __attribute__((target("avx2")))
#include "kernels/conv/winograd.inc"
#endif

#define LANES 4
#define NAME(x) x##_plain
#define TARGET
#include "kernels/conv/winograd.inc"

const struct dfg_winograd_transforms *dfg_winograd_transforms(int t)
{
	const struct dfg_winograd_transforms *transforms = transforms_plain;
#if defined(__x86_64__)
	if (dfg_product_variant() == &dfg_product_avx512)
		transforms = transforms_avx512;
	else if (dfg_product_variant() == &dfg_product_avx2)
		transforms = transforms_avx2;
#endif
	return &transforms[t == 4];
}

/* One tile of odd numbers, with channels that do not fill a vector. */
enum { CHANNELS = 37, POINTS = 36 };
struct tile {
	float in[POINTS * CHANNELS], points[POINTS * CHANNELS], out[16 * CHANNELS];
};

static void transform(struct tile *tile, const struct dfg_winograd_transforms *transforms)
{
	const float *from[POINTS];
	float *to[16];
	for (int i = 0; i < POINTS; i++)
		from[i] = tile->in + i * CHANNELS;
	for (int i = 0; i < 16; i++)
		to[i] = tile->out + i * CHANNELS;
	transforms->to_points(CHANNELS, from, tile->points, CHANNELS);
	transforms->to_pixels(CHANNELS, tile->points, CHANNELS, to);
}

struct dfg_err *dfg_winograd_check(int *out_kinds)
{
	struct tile one = {0}, two = {0};
	*out_kinds = 0;
	for (int i = 0; i < POINTS * CHANNELS; i++)
		one.in[i] = two.in[i] = (float)((i * 7919 + 13) % 4999) / 1013 - 2;
	for (int t = 2; t <= 4; t += 2) {
		const struct dfg_winograd_transforms *transforms = dfg_winograd_transforms(t);
		transform(&one, transforms);
		transform(&two, &transforms_plain[t == 4]);
		if (memcmp(&one, &two, sizeof one) != 0)
			return DFG_ERR(
				DFG_BUG, "%s: Winograd's transforms F(%d,3) give other results than plain C", dfg_product_name(), t);
		*out_kinds += transforms == &transforms_plain[t == 4] ? 0 : 2;
	}
	return NULL;
}
