#include "kernels/random.h"

#include "kernels/random_words.h"
#include "kernels/shape_rules.h"
#include "kernels/math.h"
#include "lib/graph/half.h"

#include <inttypes.h>
#include <string.h>

static struct dfg_philox at(const struct dfg_random *random, uint64_t block)
{
	struct dfg_philox philox = random->philox;
	dfg_philox_skip(&philox, block);
	return philox;
}

static void put_f32(struct dfg_tensor *out, int64_t i, float value)
{
	if (out->dtype == DFG_F32)
		((float *)out->data)[i] = value;
	else
		dfg_half_round(out->dtype, (uint16_t *)out->data + i, &value, 1);
}

/* Elements from a block of four words: two of 8 bytes, or four of fewer. */
static int64_t per_block(const struct dfg_tensor *out)
{
	return dfg_dtype_size(out->dtype) == 8 ? 2 : 4;
}

void dfg_random_uniform(const struct dfg_random *random, int64_t first, int64_t last)
{
	struct dfg_tensor *out = random->out;
	struct dfg_philox philox = at(random, (uint64_t)(first / per_block(out)));
	uint32_t word[4];
	for (int64_t i = first; i < last; i += per_block(out), dfg_philox_skip(&philox, 1)) {
		dfg_philox_words(&philox, word);
		for (int e = 0; e < per_block(out) && i + e < last; e++)
			if (out->dtype == DFG_F64)
				((double *)out->data)[i + e] = unit_f64(word[2 * e], word[2 * e + 1]);
			else if (out->dtype == DFG_F32)
				((float *)out->data)[i + e] = unit_f32(word[e]);
			else if (out->dtype == DFG_F16)
				put_f32(out, i + e, (float)(word[e] & 0x3ff) * 0x1p-10f);
			else
				put_f32(out, i + e, (float)(word[e] & 0x7f) * 0x1p-7f);
	}
}

void dfg_random_normal(const struct dfg_random *random, int64_t first, int64_t last)
{
	struct dfg_tensor *out = random->out;
	struct dfg_philox philox = at(random, (uint64_t)(first / per_block(out)));
	uint32_t word[4];
	for (int64_t i = first; i < last; i += per_block(out), dfg_philox_skip(&philox, 1)) {
		double wide[2];
		float narrow[4];
		dfg_philox_words(&philox, word);
		if (out->dtype == DFG_F64) {
			normal_f64(word, wide);
		} else {
			normal_f32(word, narrow);
			normal_f32(word + 2, narrow + 2);
		}
		for (int e = 0; e < per_block(out) && i + e < last; e++)
			if (out->dtype == DFG_F64)
				((double *)out->data)[i + e] = wide[e];
			else
				put_f32(out, i + e, narrow[e]);
	}
}

/* `count` normal numbers within two standard deviations, by rejection of the others. */
static void truncated(struct dfg_philox philox, bool f64, int64_t count, double *out)
{
	uint32_t word[4];
	for (int64_t n = 0; n < count; dfg_philox_skip(&philox, 1)) {
		dfg_philox_words(&philox, word);
		for (int half = 0; half < (f64 ? 1 : 2); half++) {
			double pair[2];
			float narrow[2];
			if (f64) {
				normal_f64(word, pair);
			} else {
				normal_f32(word + 2 * half, narrow);
				pair[0] = (double)narrow[0];
				pair[1] = (double)narrow[1];
			}
			for (int e = 0; e < 2 && n < count; e++)
				if (abs_f64(pair[e]) < 2)
					out[n++] = pair[e];
		}
	}
}

/* Each block of elements has its own words, for 256 tries an element, so that blocks are independent of each other. */
void dfg_random_truncated_normal(const struct dfg_random *random, int64_t first, int64_t last)
{
	struct dfg_tensor *out = random->out;
	int64_t block = per_block(out);
	for (int64_t i = first; i < last; i += block) {
		double value[4];
		truncated(at(random, (uint64_t)(i / block) * (uint64_t)(block * 256 / 4)), out->dtype == DFG_F64, block, value);
		for (int e = 0; e < block && i + e < last; e++)
			if (out->dtype == DFG_F64)
				((double *)out->data)[i + e] = value[e];
			else
				put_f32(out, i + e, (float)value[e]);
	}
}

static void fill_ints(const struct dfg_random *random, int64_t first, int64_t last)
{
	struct dfg_tensor *out = random->out;
	struct dfg_philox philox = at(random, (uint64_t)(first / per_block(out)));
	uint32_t word[4];
	for (int64_t i = first; i < last; i += per_block(out), dfg_philox_skip(&philox, 1)) {
		dfg_philox_words(&philox, word);
		for (int e = 0; e < per_block(out) && i + e < last; e++) {
			bool wide = per_block(out) == 2;
			uint64_t bits = wide ? word[2 * e] | (uint64_t)word[2 * e + 1] << 32 : word[e];
			uint64_t value = (random->range ? bits % random->range : bits) + (uint64_t)random->low;
			if (wide)
				((uint64_t *)out->data)[i + e] = value;
			else
				((uint32_t *)out->data)[i + e] = (uint32_t)value;
		}
	}
}

void dfg_random_int(const struct dfg_random *random, int64_t first, int64_t last)
{
	fill_ints(random, first, last);
}

void dfg_random_full_int(const struct dfg_random *random, int64_t first, int64_t last)
{
	struct dfg_random all = *random;
	all.low = 0;
	all.range = 0;
	fill_ints(&all, first, last);
}

struct dfg_err *dfg_random_bounds(struct dfg_kernel *ctx, int i, struct dfg_random *random)
{
	const struct dfg_tensor *low = dfg_kernel_input(ctx, i), *high = dfg_kernel_input(ctx, i + 1);
	if (dfg_shape_count(&low->shape) != 1 || dfg_shape_count(&high->shape) != 1)
		return DFG_ERR(DFG_DATA, "minval and maxval have shape %s and %s, expected scalars",
			dfg_shape_words(&low->shape).s, dfg_shape_words(&high->shape).s);
	int64_t a = dfg_tensor_int(low, 0), b = dfg_tensor_int(high, 0);
	if (low->dtype == DFG_U64 ? (uint64_t)a >= (uint64_t)b : a >= b)
		return DFG_ERR(DFG_DATA, "minval %" PRId64 " is not less than maxval %" PRId64, a, b);
	random->low = a;
	random->range = (uint64_t)b - (uint64_t)a;
	return NULL;
}

struct fill {
	const struct dfg_random *random;
	dfg_random_fn *fill;
};

static void fill_range(void *arg, int64_t first, int64_t last)
{
	const struct fill *fill = arg;
	fill->fill(fill->random, first, last);
}

struct dfg_err *dfg_random_run(struct dfg_kernel *ctx, struct dfg_random *random, dfg_random_fn *fill)
{
	struct fill job = {random, fill};
	DFG_TRY(dfg_output_now(ctx, &random->out));
	dfg_kernel_ranges(ctx, dfg_shape_count(&random->out->shape), 8 * 1024, fill_range, &job);
	return NULL;
}

/* Moves the stream on by that many elements, a multiple of 4. */
static void skip(struct dfg_random *random, dfg_random_fn *fill, int64_t elements)
{
	int64_t block = per_block(random->out);
	uint64_t words = fill == dfg_random_truncated_normal ? (uint64_t)(block * 256 / 4) : 1;
	dfg_philox_skip(&random->philox, (uint64_t)(elements / block) * words);
}

struct dfg_err *dfg_random_run_from(
	struct dfg_kernel *ctx, struct dfg_random *random, dfg_random_fn *fill, int64_t first)
{
	enum { GROUP = 4 };
	int64_t lead = first % GROUP;
	struct dfg_tensor *out, wide;
	DFG_TRY(dfg_output_now(ctx, &out));
	random->out = out;
	skip(random, fill, first - lead);
	if (!lead)
		return dfg_random_run(ctx, random, fill);
	int64_t count = dfg_shape_count(&out->shape);
	wide = (struct dfg_tensor){.dtype = out->dtype, .shape = DFG_SHAPE_VECTOR(lead + count)};
	struct fill job = {random, fill};
	DFG_TRY(dfg_kernel_scratch(ctx, dfg_tensor_bytes(&wide), &wide.data));
	random->out = &wide;
	dfg_kernel_ranges(ctx, lead + count, 8 * 1024, fill_range, &job);
	if (count)
		memcpy(out->data, dfg_tensor_at(&wide, lead), dfg_tensor_bytes(out));
	return NULL;
}

struct dfg_err *dfg_random_shape(struct dfg_infer *node)
{
	return dfg_shape_of(node, 0, &node->out[0]);
}
