#include "kernels/conv/phases.h"
#include "kernels/gemm/gemm.h"
#include "lib/graph/work.h"

/* A phase's filter, which is packed for its walk. */
struct packing {
	const struct dfg_conv_phase *phase;
	const char *filter;
	char *out;
};

/* Packs strips [first, last) of the groups' filters, tap by tap: a tap's rows are the outputs, columns the inputs. */
static void pack(void *arg, int64_t first, int64_t last)
{
	const struct packing *packing = arg;
	const struct dfg_conv_phase *phase = packing->phase;
	const struct dfg_convolution *c = phase->convolution;
	const int64_t outputs = c->groups * c->group_out, strip = dfg_product_strip(c->dtype),
				  each = dfg_conv_walk_strips(&phase->walk);
	const int64_t size = (int64_t)dfg_dtype_size(c->dtype), rows = dfg_conv_walk_rows(&phase->walk);
	for (int64_t i = first; i < last; i++) {
		const int64_t column = i % each * strip;
		const struct dfg_product p = {.n = c->group_in - column, .k = c->group_out, .b_row = 1, .b_column = outputs};
		for (int64_t t = 0; t < rows / c->group_out; t++) {
			const int64_t from =
				(dfg_conv_phase_tap(phase, t) * c->group_in + column) * outputs + i / each * c->group_out;
			dfg_product_pack(&p, c->dtype, packing->filter + from * size, 0, 1,
				packing->out + (i * rows + t * c->group_out) * strip * size);
		}
	}
}

static void pack_all(struct dfg_kernel *ctx, const struct dfg_preparation *preparation, const void *filter, void *out)
{
	const struct dfg_conv_phase *phase = preparation->arg;
	const struct dfg_conv_walk *walk = &phase->walk;
	struct packing packing = {phase, filter, out};
	const int64_t strip = dfg_conv_walk_rows(walk) * dfg_product_strip(walk->dtype);
	dfg_kernel_ranges(ctx, walk->groups * dfg_conv_walk_strips(walk), 64 * 1024 / (strip + 1) + 1, pack, &packing);
}

static struct dfg_err *run_phase(struct dfg_kernel *ctx, const struct dfg_conv_phase *phase,
	struct dfg_conv_walk_memory *memory, const void *filter, const void *d_out, void *d_in)
{
	const struct dfg_conv_walk *walk = &phase->walk;
	const int64_t *last = phase->last;
	struct dfg_preparation preparation = {.make = pack_all,
		.arg = phase,
		.form = {walk->dtype, walk->groups, last[0], last[1], last[2], dfg_conv_walk_rows(walk)}};
	const void *packed;
	DFG_TRY(dfg_conv_walk_packed_bytes(walk, &preparation.bytes));
	preparation.bytes += !preparation.bytes;
	DFG_TRY(dfg_kernel_prepared(ctx, DFG_FILTER_INPUT, &preparation, filter, &packed));
	return dfg_conv_walk_run(ctx, walk, memory, d_out, packed, d_in);
}

struct dfg_err *dfg_convolve_input(struct dfg_kernel *ctx, const struct dfg_convolution *convolution,
	const void *filter, const void *d_out, void *d_in)
{
	struct dfg_conv_walk_memory memory = {0};
	dfg_work += dfg_convolution_operations(convolution);
	for (int64_t i = 0, phases = dfg_conv_phases(convolution); i < phases; i++) {
		const struct dfg_conv_phase phase = dfg_conv_phase(convolution, i);
		DFG_TRY(run_phase(ctx, &phase, &memory, filter, d_out, d_in));
	}
	return NULL;
}
