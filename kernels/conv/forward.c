#include "kernels/conv/walk.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/gemm.h"
#include "lib/graph/work.h"

struct packing {
	const struct dfg_convolution *c;
	const struct dfg_conv_walk *walk;
	const char *filter;
	char *out;
};

/* Packs strips [first, last) of the groups' filters. */
static void pack(void *arg, int64_t first, int64_t last)
{
	const struct packing *packing = arg;
	const struct dfg_convolution *c = packing->c;
	const int64_t outputs = c->groups * c->group_out, size = (int64_t)dfg_dtype_size(c->dtype),
				  each = dfg_conv_walk_strips(packing->walk);
	const struct dfg_product p = {
		.n = c->group_out, .k = dfg_conv_walk_rows(packing->walk), .b_row = outputs, .b_column = 1};
	for (int64_t i = first, end; i < last; i = end) {
		const int64_t group = i / each;
		end = last < (group + 1) * each ? last : (group + 1) * each;
		dfg_product_pack(&p, c->dtype, packing->filter + group * c->group_out * size, i - group * each,
			end - group * each, packing->out + group * each * dfg_product_strip(c->dtype) * p.k * size);
	}
}

struct dfg_conv_walk dfg_conv_walk_forward(const struct dfg_convolution *convolution)
{
	const struct dfg_convolution *c = convolution;
	struct dfg_conv_walk walk = {.images = c->window.batch,
		.groups = c->groups,
		.group_in = c->group_in,
		.group_out = c->group_out,
		.dtype = c->dtype};
	for (int a = 0; a < DFG_AXES; a++) {
		const struct dfg_axis *axis = &c->window.axis[a];
		walk.axis[a] = (struct dfg_conv_walk_axis){.in = axis->in,
			.positions = axis->out,
			.first = -axis->before,
			.step = axis->stride,
			.taps = axis->size,
			.dilation = axis->dilation,
			.to_step = 1,
			.to_size = axis->out};
	}
	return walk;
}

static void pack_all(struct dfg_kernel *ctx, const struct dfg_preparation *preparation, const void *filter, void *out)
{
	struct packing packing = *(const struct packing *)preparation->arg;
	const struct dfg_conv_walk *walk = packing.walk;
	packing.filter = filter;
	packing.out = out;
	const int64_t strip = dfg_conv_walk_rows(walk) * dfg_product_strip(walk->dtype);
	dfg_kernel_ranges(ctx, walk->groups * dfg_conv_walk_strips(walk), 64 * 1024 / (strip + 1) + 4, pack, &packing);
}

struct dfg_err *dfg_convolve(
	struct dfg_kernel *ctx, const struct dfg_convolution *convolution, const void *in, const void *filter, void *out)
{
	const struct dfg_convolution *c = convolution;
	const struct dfg_conv_walk walk = dfg_conv_walk_forward(c);
	const struct packing packing = {.c = c, .walk = &walk};
	struct dfg_preparation preparation = {
		.make = pack_all, .arg = &packing, .form = {c->dtype, c->groups, c->group_out, dfg_conv_walk_rows(&walk)}};
	struct dfg_conv_walk_memory memory = {0};
	const void *packed;
	const int t = dfg_winograd_tile(c, dfg_kernel_winograd(ctx));
	if (t)
		return dfg_convolve_winograd(ctx, c, t, in, filter, out);
	dfg_work += dfg_convolution_operations(convolution);
	DFG_TRY(dfg_conv_walk_packed_bytes(&walk, &preparation.bytes));
	preparation.bytes += !preparation.bytes;
	DFG_TRY(dfg_kernel_prepared(ctx, DFG_FILTER_INPUT, &preparation, filter, &packed));
	return dfg_conv_walk_run(ctx, &walk, &memory, in, packed, out);
}
