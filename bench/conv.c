/*
 * Convolutions, poolings and their gradients on one thread: microseconds, and the share of what the processor's fused
 * multiply-adds can do, measured in the same run. Times are minima of the thread's processor time, so that a busy machine
 * disturbs little.
 * Words of the command line choose among the rows: a row is measured if its name contains one of them.
 */
#include "bench/bench.h"
#include "kernels/gemm/ceiling.h"
#include "kernels/gemm/gemm.h"
#include "lib/base/mem.h"
#include "lib/graph/build.h"

#include <string.h>

enum { ROUNDS = 9, MEMORY = 16 };

/* n x h x w x c by windows of k x k; `out` channels, 0 for poolings. Padding is SAME, without it VALID. */
static const struct {
	const char *name, *op;
	int n, h, w, c, k, out, stride;
	bool valid, channels_first;
	enum { VARYING, DIRECT, F2, F4 } constant; /* whether the filter is constant, and what then computes it */
} cases[] = {
	{"3x3 56x56x64", "Conv2D", 1, 56, 56, 64, 3, 64, 1, false, false, VARYING},
	{"3x3 28x28x128", "Conv2D", 1, 28, 28, 128, 3, 128, 1, false, false, VARYING},
	{"3x3 14x14x256", "Conv2D", 1, 14, 14, 256, 3, 256, 1, false, false, VARYING},
	{"3x3 7x7x512", "Conv2D", 1, 7, 7, 512, 3, 512, 1, false, false, VARYING},
	{"3x3 7x7x512 N8", "Conv2D", 8, 7, 7, 512, 3, 512, 1, false, false, VARYING},
	{"3x3 56x56x64, constant", "Conv2D", 1, 56, 56, 64, 3, 64, 1, false, false, DIRECT},
	{"3x3 56x56x64, F(2,3)", "Conv2D", 1, 56, 56, 64, 3, 64, 1, false, false, F2},
	{"3x3 56x56x64, F(4,3)", "Conv2D", 1, 56, 56, 64, 3, 64, 1, false, false, F4},
	{"3x3 28x28x128, constant", "Conv2D", 1, 28, 28, 128, 3, 128, 1, false, false, DIRECT},
	{"3x3 28x28x128, F(2,3)", "Conv2D", 1, 28, 28, 128, 3, 128, 1, false, false, F2},
	{"3x3 28x28x128, F(4,3)", "Conv2D", 1, 28, 28, 128, 3, 128, 1, false, false, F4},
	{"3x3 14x14x256, constant", "Conv2D", 1, 14, 14, 256, 3, 256, 1, false, false, DIRECT},
	{"3x3 14x14x256, F(2,3)", "Conv2D", 1, 14, 14, 256, 3, 256, 1, false, false, F2},
	{"3x3 7x7x512, constant", "Conv2D", 1, 7, 7, 512, 3, 512, 1, false, false, DIRECT},
	{"3x3 112x112x64, constant", "Conv2D", 1, 112, 112, 64, 3, 64, 1, false, false, DIRECT},
	{"3x3 112x112x64, F(2,3)", "Conv2D", 1, 112, 112, 64, 3, 64, 1, false, false, F2},
	{"3x3 112x112x64, F(4,3)", "Conv2D", 1, 112, 112, 64, 3, 64, 1, false, false, F4},
	{"3x3 28x28x512, constant", "Conv2D", 1, 28, 28, 512, 3, 512, 1, false, false, DIRECT},
	{"3x3 28x28x512, F(2,3)", "Conv2D", 1, 28, 28, 512, 3, 512, 1, false, false, F2},
	{"3x3 28x28x512, F(4,3)", "Conv2D", 1, 28, 28, 512, 3, 512, 1, false, false, F4},
	{"3x3 14x14x512, constant", "Conv2D", 1, 14, 14, 512, 3, 512, 1, false, false, DIRECT},
	{"3x3 14x14x512, F(2,3)", "Conv2D", 1, 14, 14, 512, 3, 512, 1, false, false, F2},
	{"1x1 56x56x256, constant", "Conv2D", 1, 56, 56, 256, 1, 64, 1, false, false, DIRECT},
	{"1x1 7x7x2048, constant", "Conv2D", 1, 7, 7, 2048, 1, 512, 1, false, false, DIRECT},
	{"3x3 28x28x128 NCHW", "Conv2D", 1, 28, 28, 128, 3, 128, 1, false, true, VARYING},
	{"3x3 57x57x64, stride 2", "Conv2D", 1, 57, 57, 64, 3, 64, 2, false, false, VARYING},
	{"1x1 56x56x256", "Conv2D", 1, 56, 56, 256, 1, 64, 1, false, false, VARYING},
	{"1x1 14x14x1024", "Conv2D", 1, 14, 14, 1024, 1, 256, 1, false, false, VARYING},
	{"7x7 224x224x3, stride 2", "Conv2D", 1, 224, 224, 3, 7, 64, 2, false, false, VARYING},
	{"11x11 227x227x3, stride 4", "Conv2D", 1, 227, 227, 3, 11, 96, 4, true, false, VARYING},
	{"LeNet 1", "Conv2D", 64, 28, 28, 1, 5, 32, 1, false, false, VARYING},
	{"LeNet 2", "Conv2D", 64, 14, 14, 32, 5, 64, 1, false, false, VARYING},
	{"input gradient 3x3 56x56x64", "Conv2DBackpropInput", 1, 56, 56, 64, 3, 64, 1, false, false, VARYING},
	{"input gradient 3x3 7x7x512", "Conv2DBackpropInput", 1, 7, 7, 512, 3, 512, 1, false, false, VARYING},
	{"input gradient 3x3 57x57x64, stride 2", "Conv2DBackpropInput", 1, 57, 57, 64, 3, 64, 2, false, false, VARYING},
	{"input gradient LeNet 2", "Conv2DBackpropInput", 64, 14, 14, 32, 5, 64, 1, false, false, VARYING},
	{"filter gradient 3x3 56x56x64 N8", "Conv2DBackpropFilter", 8, 56, 56, 64, 3, 64, 1, false, false, VARYING},
	{"filter gradient 3x3 28x28x128 N8", "Conv2DBackpropFilter", 8, 28, 28, 128, 3, 128, 1, false, false, VARYING},
	{"filter gradient 3x3 14x14x256 N8", "Conv2DBackpropFilter", 8, 14, 14, 256, 3, 256, 1, false, false, VARYING},
	{"filter gradient 3x3 7x7x512 N8", "Conv2DBackpropFilter", 8, 7, 7, 512, 3, 512, 1, false, false, VARYING},
	{"filter gradient 1x1 56x56x256 N8", "Conv2DBackpropFilter", 8, 56, 56, 256, 1, 64, 1, false, false, VARYING},
	{"filter gradient 7x7 224x224x3, stride 2", "Conv2DBackpropFilter", 1, 224, 224, 3, 7, 64, 2, false, false,
		VARYING},
	{"filter gradient LeNet 1", "Conv2DBackpropFilter", 64, 28, 28, 1, 5, 32, 1, false, false, VARYING},
	{"filter gradient LeNet 2", "Conv2DBackpropFilter", 64, 14, 14, 32, 5, 64, 1, false, false, VARYING},
	{"depthwise 3x3 56x56x144", "DepthwiseConv2dNative", 1, 56, 56, 144, 3, 1, 1, false, false, VARYING},
	{"depthwise 3x3 14x14x512", "DepthwiseConv2dNative", 1, 14, 14, 512, 3, 1, 1, false, false, VARYING},
	{"depthwise 7x7 56x56x96", "DepthwiseConv2dNative", 1, 56, 56, 96, 7, 1, 1, false, false, VARYING},
	{"depthwise 3x3 57x57x144, stride 2", "DepthwiseConv2dNative", 1, 57, 57, 144, 3, 1, 2, false, false, VARYING},
	{"depthwise input gradient 3x3 56x56x144", "DepthwiseConv2dNativeBackpropInput", 1, 56, 56, 144, 3, 1, 1, false,
		false, VARYING},
	{"depthwise filter gradient 3x3 56x56x144", "DepthwiseConv2dNativeBackpropFilter", 1, 56, 56, 144, 3, 1, 1, false,
		false, VARYING},
	{"max 2x2 LeNet 1", "MaxPool", 64, 28, 28, 32, 2, 0, 2, true, false, VARYING},
	{"max gradient 2x2 LeNet 1", "MaxPoolGrad", 64, 28, 28, 32, 2, 0, 2, true, false, VARYING},
	{"max 3x3 112x112x64, stride 2", "MaxPool", 1, 112, 112, 64, 3, 0, 2, false, false, VARYING},
	{"max gradient 3x3 112x112x64, stride 2", "MaxPoolGrad", 1, 112, 112, 64, 3, 0, 2, false, false, VARYING},
	{"average 3x3 56x56x64", "AvgPool", 1, 56, 56, 64, 3, 0, 1, false, false, VARYING},
	{"average gradient 3x3 56x56x64", "AvgPoolGrad", 1, 56, 56, 64, 3, 0, 1, false, false, VARYING},
};

/* A host with one thread, whose memory is used again. */
struct host {
	void *memory[MEMORY];
	size_t size[MEMORY];
	int used;
	const void *prepared; /* of a constant filter */
	enum dfg_winograd winograd;
	bool constant;
};

static struct dfg_err *take(struct host *host, size_t bytes, void **out_memory)
{
	int i = host->used++;
	if (i == MEMORY)
		return DFG_ERR(DFG_MEMORY, "too many blocks");
	if (bytes > host->size[i]) {
		dfg_free(host->memory[i]);
		host->memory[i] = dfg_mem->take(dfg_mem, bytes, 64);
		host->size[i] = host->memory[i] ? bytes : 0;
		if (host->memory[i])
			memset(host->memory[i], 0, bytes);
	}
	*out_memory = host->memory[i];
	return *out_memory ? NULL : DFG_ERR(DFG_MEMORY, "out of memory");
}

static struct dfg_err *scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	return take(ctx->runner, bytes, out_memory);
}

static struct dfg_err *grow(struct dfg_kernel *ctx, int i, size_t bytes)
{
	void *memory;
	DFG_TRY(take(ctx->runner, bytes, &memory));
	*ctx->out[i] = (struct dfg_tensor){.data = memory, .capacity = bytes};
	return NULL;
}

static void parallel(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	(void)ctx;
	for (int64_t i = 0; i < n; i++)
		part(arg, i);
}

static struct dfg_err *keep(struct dfg_kernel *ctx, int i, const struct dfg_preparation *preparation,
	const void *elements, const void **out_memory)
{
	struct host *host = ctx->runner;
	(void)i;
	if (!host->prepared && host->constant) {
		void *memory = dfg_mem->take(dfg_mem, preparation->bytes, 64);
		preparation->make(ctx, preparation, elements, memory);
		host->prepared = memory;
	}
	*out_memory = host->prepared;
	return NULL;
}

static enum dfg_winograd winograd(struct dfg_kernel *ctx)
{
	return ((const struct host *)ctx->runner)->winograd;
}

static const struct dfg_kernel_services services = {
	.scratch = scratch, .grow = grow, .parallel = parallel, .kept = keep, .winograd = winograd};

/* A node with its inputs. */
struct node {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_tensor in[3];
	struct dfg_edge edge[3];
	int n_in;
	struct dfg_resolved_node call;
};

static void add_input(struct node *node, struct dfg_tensor in)
{
	int64_t count = dfg_shape_count(&in.shape);
	in.data = dfg_mem->take(dfg_mem, (size_t)count * 4, 64);
	for (int64_t i = 0; i < count && in.dtype == DFG_F32; i++)
		((float *)in.data)[i] = (float)(i * 2654435761u % 64) / 32 - 1;
	struct dfg_attr attr[] = {DFG_ATTR_T("dtype", in.dtype), {"shape", DFG_ATTR_SHAPE, {.shape = &in.shape}}};
	const struct dfg_new_node placeholder = {.op = "Placeholder", .name = "x", .attr = attr, .n_attr = 2};
	expect(dfg_build(&node->builder, &placeholder, &node->edge[node->n_in].node));
	node->in[node->n_in++] = in;
}

static void add_image(struct node *node, int i, bool out)
{
	int64_t k = cases[i].k, stride = cases[i].stride, lost = cases[i].valid ? k - 1 : 0;
	int64_t h = cases[i].h, w = cases[i].w, c = cases[i].c;
	bool depthwise = !strncmp(cases[i].op, "Depthwise", 9);
	if (out) {
		h = (h - lost + stride - 1) / stride, w = (w - lost + stride - 1) / stride;
		c = depthwise || !cases[i].out ? c * (depthwise ? cases[i].out : 1) : cases[i].out;
	}
	struct dfg_shape last = {4, {cases[i].n, h, w, c}}, first = {4, {cases[i].n, c, h, w}};
	add_input(node, (struct dfg_tensor){.dtype = DFG_F32, .shape = cases[i].channels_first ? first : last});
}

static void add_filter(struct node *node, int i)
{
	struct dfg_shape shape = {4, {cases[i].k, cases[i].k, cases[i].c, cases[i].out}};
	add_input(node, (struct dfg_tensor){.dtype = DFG_F32, .shape = shape});
}

static void add_sizes(struct node *node, const int32_t *size)
{
	add_input(node, (struct dfg_tensor){.dtype = DFG_I32, .shape = {1, {4}}});
	memcpy(node->in[node->n_in - 1].data, size, 4 * sizeof *size);
}

static void add_inputs(struct node *node, int i)
{
	const char *op = cases[i].op;
	const int32_t image[4] = {cases[i].n, cases[i].h, cases[i].w, cases[i].c};
	const int32_t filter[4] = {cases[i].k, cases[i].k, cases[i].c, cases[i].out};
	if (strstr(op, "BackpropInput") || !strcmp(op, "AvgPoolGrad"))
		add_sizes(node, image);
	else
		add_image(node, i, false);
	if (strstr(op, "BackpropFilter"))
		add_sizes(node, filter);
	else if (cases[i].out)
		add_filter(node, i);
	else if (!strcmp(op, "MaxPoolGrad"))
		add_image(node, i, true);
	if (strstr(op, "Grad") || strstr(op, "Backprop"))
		add_image(node, i, true);
}

static void build(struct node *node, int i)
{
	*node = (struct node){0};
	dfg_graph_init(&node->graph, &node->arena);
	expect(dfg_builder_init(&node->builder, &node->graph));
	add_inputs(node, i);
	union dfg_value stride[4] = {{.i = 1}, {.i = cases[i].stride}, {.i = cases[i].stride}, {.i = 1}};
	union dfg_value size[4] = {{.i = 1}, {.i = cases[i].k}, {.i = cases[i].k}, {.i = 1}};
	struct dfg_list strides = {DFG_ATTR_INT, 4, stride}, sizes = {DFG_ATTR_INT, 4, size};
	struct dfg_attr attr[] = {{"strides", DFG_ATTR_LIST, {.list = &strides}},
		DFG_ATTR_S("padding", cases[i].valid ? "VALID" : "SAME"),
		DFG_ATTR_S("data_format", cases[i].channels_first ? "NCHW" : "NHWC"),
		{"ksize", DFG_ATTR_LIST, {.list = &sizes}}};
	const struct dfg_new_node made = {.op = cases[i].op,
		.name = "y",
		.in = node->edge,
		.n_in = (uint32_t)node->n_in,
		.attr = attr,
		.n_attr = cases[i].out ? 3 : 4};
	uint32_t number;
	expect(dfg_build(&node->builder, &made, &number));
	expect(dfg_node_resolve(&node->graph, number, &node->arena, &node->call));
}

static void measure(int i, double most)
{
	struct node node;
	struct host host = {.constant = cases[i].constant,
		.winograd = cases[i].constant == F2   ? DFG_WINOGRAD_2
					: cases[i].constant == F4 ? DFG_WINOGRAD_4
											  : DFG_NO_WINOGRAD};
	struct dfg_tensor out = {0}, *in[3] = {&node.in[0], &node.in[1], &node.in[2]}, *outs[1] = {&out};
	dfg_run_fn *run;
	build(&node, i);
	expect(dfg_kernel_find(&node.call, &run));
	double flops = 2.0 * cases[i].n * cases[i].k * cases[i].k * cases[i].c * (cases[i].out ? cases[i].out : 1);
	int64_t lost = cases[i].valid ? cases[i].k - 1 : 0, s = cases[i].stride;
	flops *= (double)((cases[i].h - lost + s - 1) / s) * (double)((cases[i].w - lost + s - 1) / s);
	int times = (int)(1 + 1e8 / flops);
	double best = 1;
	for (int round = 0; round < ROUNDS; round++) {
		double begin = 1e-9 * thread_time();
		for (int t = 0; t < times; t++) {
			host.used = 0;
			out = (struct dfg_tensor){0};
			struct dfg_kernel ctx = {.call = &node.call, .in = in, .out = outs, .host = &services, .runner = &host};
			expect(run(&ctx));
		}
		double each = (1e-9 * thread_time() - begin) / times;
		best = each < best ? each : best;
	}
	printf("%-40s %10.1f us %6.1f GFLOP/s", cases[i].name, best * 1e6, 1e-9 * flops / best);
	printf(most > 0 ? " %.2f of the ceiling\n" : "\n", 1e-9 * flops / best / most);
	for (int m = 0; m < MEMORY; m++)
		dfg_free(host.memory[m]);
	dfg_free((void *)host.prepared);
	for (int t = 0; t < node.n_in; t++)
		dfg_free(node.in[t].data);
	dfg_builder_release(&node.builder);
	dfg_arena_release(&node.arena);
}

int main(int argc, char **argv)
{
	double most = 1e-9 * dfg_product_ceiling(ROUNDS);
	printf("%s, fused multiply-adds: %.1f GFLOP/s\n", dfg_product_name(), most);
	for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
		bool chosen = argc < 2;
		for (int w = 1; w < argc; w++)
			chosen |= strstr(cases[i].name, argv[w]) != NULL;
		if (chosen)
			measure(i, most);
	}
	return 0;
}
