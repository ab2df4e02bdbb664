/*
 * Bits that ARCHITECTURE.md promises: a row of a batch has those of the row by itself, and no result depends on the number
 * of threads, on the order in which they take blocks, or on where tensors begin.
 */
#include "tests/unit/test.h"

#include "lib/graph/build.h"
#include "lib/graph/kernel.h"

#include <pthread.h>
#include <stdlib.h>

enum { INPUTS = 5, ATTRS = 4, OUTPUTS = 6, ROWS = 64, OFF = 4 };

/* An op, and its inputs: floats, whose first dim is ROWS where they have rows, or a constant of i32. */
struct op_row {
	const char *op;
	struct dfg_shape in[INPUTS];
	struct dfg_attr attr[ATTRS];
	int32_t constant[4]; /* of the input without rows that is i32: its number is `ints` - 1, its length in its shape */
	int ints;
	bool rows[INPUTS];
	bool whole; /* outputs have no rows: blocks are not tried */
	bool sized; /* the first constant is the number of rows */
};

#define S(...)                                              \
	{                                                       \
		sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
		{                                                   \
			__VA_ARGS__                                     \
		}                                                   \
	}
#define X    \
	{        \
		true \
	}
static const union dfg_value by_1[4] = {{.i = 1}, {.i = 1}, {.i = 1}, {.i = 1}};
static const union dfg_value by_2[4] = {{.i = 1}, {.i = 2}, {.i = 2}, {.i = 1}};
static const union dfg_value by_3[4] = {{.i = 1}, {.i = 3}, {.i = 3}, {.i = 1}};
static const struct dfg_list list_1 = {DFG_ATTR_INT, 4, by_1}, list_2 = {DFG_ATTR_INT, 4, by_2},
							 list_3 = {DFG_ATTR_INT, 4, by_3};
#define STRIDES(w)                \
	{                             \
		"strides", DFG_ATTR_LIST, \
		{                         \
			.list = &list_##w     \
		}                         \
	}
#define KSIZE(w)                \
	{                           \
		"ksize", DFG_ATTR_LIST, \
		{                       \
			.list = &list_##w   \
		}                       \
	}
#define SAME DFG_ATTR_S("padding", "SAME")

static const struct op_row table[] = {
	{.op = "MatMul", .in = {S(ROWS, 784), S(784, 128)}, .rows = X},
	{.op = "MatMul", .in = {S(ROWS, 300), S(300, 257)}, .rows = X},
	{.op = "MatMul", .in = {S(ROWS, 4100), S(4100, 33)}, .rows = X},
	{.op = "MatMul", .in = {S(ROWS, 1000), S(1000, 3)}, .rows = X},
	{.op = "MatMul", .in = {S(ROWS, 512), S(600, 512)}, .attr = {DFG_ATTR_B("transpose_b", true)}, .rows = X},
	{.op = "MatMul", .in = {S(ROWS, 20), S(5, 20)}, .attr = {DFG_ATTR_B("transpose_b", true)}, .rows = X},
	{.op = "MatMul", .in = {S(ROWS, 700), S(ROWS, 130)}, .attr = {DFG_ATTR_B("transpose_a", true)}, .whole = true},
	{.op = "MatMul", .in = {S(9000, 10), S(9000, 3)}, .attr = {DFG_ATTR_B("transpose_a", true)}, .whole = true},
	{.op = "BatchMatMulV2", .in = {S(ROWS, 40, 64), S(64, 90)}, .rows = X},
	{.op = "BatchMatMulV2", .in = {S(ROWS, 40, 64), S(ROWS, 64, 90)}, .rows = {true, true}},
	{.op = "BatchMatMulV2",
		.in = {S(ROWS, 130, 64), S(ROWS, 130, 64)},
		.attr = {DFG_ATTR_B("adj_y", true)},
		.rows = {true, true}},
	{.op = "Einsum", .in = {S(ROWS, 300), S(300, 65)}, .attr = {DFG_ATTR_S("equation", "bi,ij->bj")}, .rows = X},
	{.op = "Einsum",
		.in = {S(130, 40), S(ROWS, 130)},
		.attr = {DFG_ATTR_S("equation", "ij,bi->bj")},
		.rows = {false, true}},
	{.op = "Einsum",
		.in = {S(ROWS, 4, 30, 16), S(ROWS, 4, 30, 16)},
		.attr = {DFG_ATTR_S("equation", "bhqd,bhkd->bhqk")},
		.rows = {true, true}},
	{.op = "FusedBatchNormV3", .in = {S(ROWS, 20, 20, 13), S(13), S(13), S(13), S(13)}, .whole = true},
	{.op = "FusedBatchNormV3",
		.in = {S(ROWS, 20, 20, 13), S(13), S(13), S(13), S(13)},
		.attr = {DFG_ATTR_B("is_training", false)},
		.whole = true},
	{.op = "Softmax", .in = {S(ROWS, 1003)}, .rows = X},
	{.op = "LogSoftmax", .in = {S(ROWS, 1003)}, .rows = X},
	{.op = "Softmax", .in = {S(ROWS, 3007)}, .rows = X},
	{.op = "LogSoftmax", .in = {S(ROWS, 3007)}, .rows = X},
	{.op = "Max", .in = {S(ROWS, 3007), S(1)}, .constant = {1}, .ints = 2, .rows = X},
	{.op = "BiasAdd", .in = {S(ROWS, 77), S(77)}, .rows = X},
	{.op = "BiasAddGrad", .in = {S(5000, 37)}, .whole = true},
	{.op = "Sum", .in = {S(ROWS, 98000), S(1)}, .constant = {1}, .ints = 2, .rows = X},
	{.op = "Sum", .in = {S(ROWS, 300, 351), S(2)}, .constant = {1, 2}, .ints = 2, .rows = X},
	{.op = "Mean", .in = {S(ROWS, 3001, 33), S(1)}, .constant = {1}, .ints = 2, .rows = X},
	{.op = "Sum", .in = {S(ROWS, 9, 700, 11), S(2)}, .constant = {1, 3}, .ints = 2, .rows = X},
	{.op = "Sum", .in = {S(98000, 3), S(1)}, .constant = {0}, .ints = 2, .whole = true},
	{.op = "Sum", .in = {S(300000), S(1)}, .constant = {0}, .ints = 2, .whole = true},
	{.op = "Conv2D", .in = {S(ROWS, 14, 14, 3), S(5, 5, 3, 20)}, .attr = {STRIDES(1), SAME}, .rows = X},
	{.op = "Conv2D", .in = {S(ROWS, 9, 9, 40), S(3, 3, 40, 70)}, .attr = {STRIDES(2), SAME}, .rows = X},
	{.op = "Conv2D", .in = {S(ROWS, 6, 6, 64), S(1, 1, 64, 130)}, .attr = {STRIDES(1), SAME}, .rows = X},
	{.op = "Conv2DBackpropInput",
		.in = {S(4), S(3, 3, 12, 20), S(ROWS, 10, 10, 20)},
		.attr = {STRIDES(1), SAME},
		.constant = {ROWS, 10, 10, 12},
		.ints = 1,
		.rows = {false, false, true},
		.sized = true},
	{.op = "Conv2DBackpropInput",
		.in = {S(4), S(3, 3, 12, 20), S(ROWS, 5, 5, 20)},
		.attr = {STRIDES(2), SAME},
		.constant = {ROWS, 10, 10, 12},
		.ints = 1,
		.rows = {false, false, true},
		.sized = true},
	{.op = "Conv2DBackpropFilter",
		.in = {S(ROWS, 10, 10, 12), S(4), S(ROWS, 10, 10, 20)},
		.attr = {STRIDES(1), SAME},
		.constant = {3, 3, 12, 20},
		.ints = 2,
		.whole = true},
	{.op = "DepthwiseConv2dNative", .in = {S(ROWS, 9, 9, 20), S(3, 3, 20, 2)}, .attr = {STRIDES(1), SAME}, .rows = X},
	{.op = "AvgPool", .in = {S(ROWS, 14, 14, 7)}, .attr = {STRIDES(2), KSIZE(3), SAME}, .rows = X},
	{.op = "MaxPool", .in = {S(ROWS, 14, 14, 7)}, .attr = {STRIDES(2), KSIZE(3), SAME}, .rows = X},
	{.op = "MaxPoolGrad",
		.in = {S(ROWS, 14, 14, 41), S(ROWS, 7, 7, 41), S(ROWS, 7, 7, 41)},
		.attr = {STRIDES(2), KSIZE(3), SAME},
		.rows = {true, true, true}},
	{.op = "AvgPoolGrad",
		.in = {S(4), S(ROWS, 7, 7, 41)},
		.attr = {STRIDES(2), KSIZE(3), SAME},
		.constant = {ROWS, 14, 14, 41},
		.ints = 1,
		.rows = {false, true},
		.sized = true},
	{.op = "DepthwiseConv2dNativeBackpropInput",
		.in = {S(4), S(3, 3, 20, 2), S(ROWS, 9, 9, 40)},
		.attr = {STRIDES(1), SAME},
		.constant = {ROWS, 9, 9, 20},
		.ints = 1,
		.rows = {false, false, true},
		.sized = true},
	{.op = "DepthwiseConv2dNativeBackpropFilter",
		.in = {S(ROWS, 9, 9, 21), S(4), S(ROWS, 9, 9, 21)},
		.attr = {STRIDES(1), SAME},
		.constant = {3, 3, 21, 1},
		.ints = 2,
		.whole = true},
	{.op = "LRN", .in = {S(ROWS, 6, 6, 20)}, .rows = X},
	{.op = "SoftmaxCrossEntropyWithLogits", .in = {S(ROWS, 103), S(ROWS, 103)}, .rows = {true, true}},
	{.op = "SoftmaxCrossEntropyWithLogits", .in = {S(ROWS, 3007), S(ROWS, 3007)}, .rows = {true, true}},
	{.op = "SoftmaxCrossEntropyWithLogits", .in = {S(ROWS, 1), S(ROWS, 1030)}, .rows = {true, true}},
	{.op = "Tanh", .in = {S(ROWS, 1003)}, .rows = X},
	{.op = "Mul", .in = {S(ROWS, 1003), S(1003)}, .rows = X},
	{.op = "Cumsum", .in = {S(ROWS, 1003), S()}, .constant = {1}, .ints = 2, .rows = X},
};
enum { CASES = sizeof table / sizeof *table };

/* A host with some threads, or one that takes blocks from the last to the first, whose tensors begin `off` bytes late. */
struct host {
	int threads;
	bool backwards;
	size_t off;
	void *memory[40];
	int count;
	pthread_mutex_t lock;
};

static void *take(struct host *host, size_t bytes)
{
	assert_true(host->count < 40);
	char *memory = host->memory[host->count++] = aligned_alloc(64, (bytes + OFF + 127) / 64 * 64);
	assert_non_null(memory);
	memset(memory, 0xa5, bytes + OFF);
	return memory;
}

static struct dfg_err *grow(struct dfg_kernel *ctx, int i, size_t bytes)
{
	struct host *host = ctx->runner;
	*ctx->out[i] = (struct dfg_tensor){.data = (char *)take(host, bytes) + host->off, .capacity = bytes};
	return NULL;
}

static struct dfg_err *scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	*out_memory = take(ctx->runner, bytes);
	return NULL;
}

struct parts {
	int64_t n, next;
	void (*part)(void *arg, int64_t i);
	void *arg;
};

static void *take_parts(void *arg)
{
	struct parts *parts = arg;
	for (int64_t i; (i = __atomic_fetch_add(&parts->next, 1, __ATOMIC_RELAXED)) < parts->n;)
		parts->part(parts->arg, i);
	return NULL;
}

static void parallel(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	const struct host *host = ctx->runner;
	struct parts parts = {n, 0, part, arg};
	pthread_t thread[4];
	if (host->backwards) {
		while (n--)
			part(arg, n);
		return;
	}
	for (int i = 1; i < host->threads; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_parts, &parts), 0);
	take_parts(&parts);
	for (int i = 1; i < host->threads; i++)
		pthread_join(thread[i], NULL);
}

static const struct dfg_kernel_services services = {.grow = grow, .scratch = scratch, .parallel = parallel};

static void release(struct host *host)
{
	while (host->count)
		free(host->memory[--host->count]);
}

/* Elements of the inputs: no sum of them is exact. */
static float element(int input, int64_t i)
{
	uint32_t x = (uint32_t)(i * 3 + input) * 2654435761u;
	x = (x ^ x >> 15) * 2246822519u;
	return (float)(x >> 8) / (1 << 23) - 1;
}

/* The row's node with `rows` rows from `first` on. Outputs are in the host's memory. */
static void compute(const struct op_row *row, struct host *host, int64_t first, int64_t rows, struct dfg_tensor *out)
{
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_edge in[INPUTS] = {0};
	struct dfg_tensor tensor[INPUTS] = {0}, *inputs[INPUTS], *outputs[OUTPUTS];
	uint32_t n_in = 0, n_attr = 0, number;
	for (int o = 0; o < OUTPUTS; o++)
		outputs[o] = &out[o];
	dfg_graph_init(&graph, &arena);
	succeeds(dfg_builder_init(&builder, &graph));
	for (int i = 0; i < INPUTS && (row->in[i].rank || row->ints == i + 1); i++, n_in++) {
		struct dfg_tensor *t = inputs[i] = &tensor[i];
		bool is_int = row->ints == i + 1;
		t->shape = row->in[i];
		t->dtype = is_int ? DFG_I32 : DFG_F32;
		if (row->rows[i])
			t->shape.dim[0] = rows;
		int64_t count = dfg_shape_count(&t->shape), begin = row->rows[i] ? first * (count / rows) : 0;
		t->data = (char *)take(host, (size_t)count * 4) + host->off;
		for (int64_t e = 0; e < count; e++)
			if (is_int)
				((int32_t *)t->data)[e] = row->sized && !e ? (int32_t)rows : row->constant[e];
			else
				((float *)t->data)[e] = element(i, begin + e);
		struct dfg_attr attr[] = {DFG_ATTR_T("dtype", t->dtype), {"shape", DFG_ATTR_SHAPE, {.shape = &t->shape}}};
		succeeds(dfg_build(&builder,
			&(struct dfg_new_node){.op = "Placeholder", .name = "x", .attr = attr, .n_attr = 2}, &in[i].node));
	}
	while (n_attr < ATTRS && row->attr[n_attr].name)
		n_attr++;
	const struct dfg_new_node node = {
		.op = row->op, .name = "y", .in = in, .n_in = n_in, .attr = row->attr, .n_attr = n_attr};
	struct dfg_resolved_node call;
	dfg_run_fn *run;
	succeeds(dfg_build(&builder, &node, &number));
	succeeds(dfg_node_resolve(&graph, number, &arena, &call));
	succeeds(dfg_kernel_find(&call, &run));
	struct dfg_kernel ctx = {&call, inputs, outputs, &services, host};
	succeeds(run(&ctx));
	dfg_builder_release(&builder);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
}

static int64_t bytes_of(const struct dfg_tensor *tensor)
{
	return dfg_shape_count(&tensor->shape) * 4;
}

static void expect(
	const struct op_row *row, const void *want, const struct dfg_tensor *got, const char *when, int64_t at)
{
	if (got->data && memcmp(want, got->data, (size_t)bytes_of(got)))
		fail_msg("case %d, %s: other bits %s %d", (int)(row - table), row->op, when, (int)at);
}

static void rows_have_the_bits_of_a_batch(void **state)
{
	(void)state;
	static const int64_t sizes[] = {1, 2, 3, 4, 16, 25};
	for (const struct op_row *row = table; row < table + CASES; row++) {
		struct host all = {.threads = 1}, part = {.threads = 1};
		struct dfg_tensor whole[OUTPUTS] = {0};
		if (row->whole)
			continue;
		compute(row, &all, 0, ROWS, whole);
		for (int s = 0; s < 6; s++)
			for (int64_t first = 0; first + sizes[s] <= ROWS; first += s < 4 ? 21 : sizes[s]) {
				struct dfg_tensor out[OUTPUTS] = {0};
				compute(row, &part, first, sizes[s], out);
				for (int o = 0; o < OUTPUTS; o++)
					expect(row, (char *)whole[o].data + first * (bytes_of(&whole[o]) / ROWS), &out[o], "in rows from",
						first);
				release(&part);
			}
		release(&all);
	}
}

static void results_do_not_depend_on_threads_or_alignment(void **state)
{
	(void)state;
	for (const struct op_row *row = table; row < table + CASES; row++) {
		struct host one = {.threads = 1};
		struct host others[] = {
			{.threads = 2}, {.threads = 4}, {.threads = 1, .backwards = true}, {.threads = 1, .off = OFF}};
		struct dfg_tensor want[OUTPUTS] = {0};
		compute(row, &one, 0, ROWS, want);
		for (int h = 0; h < 4; h++) {
			struct dfg_tensor out[OUTPUTS] = {0};
			compute(row, &others[h], 0, ROWS, out);
			for (int o = 0; o < OUTPUTS; o++)
				expect(row, want[o].data, &out[o], "on host", h);
			release(&others[h]);
		}
		release(&one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_the_bits_of_a_batch),
		cmocka_unit_test(results_do_not_depend_on_threads_or_alignment),
	};
	return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
