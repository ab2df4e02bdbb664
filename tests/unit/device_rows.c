#define _GNU_SOURCE
#include "tests/unit/test.h"

#include "lib/exec/device/device.h"
#include "lib/graph/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Every kernel of a row gives the bits of the host's row, NaN payloads aside, on plain and on broadcast operands. */

static struct dfg_device *device;
static const struct dfg_device_provider *provider;
enum { ROWS = 37, COLUMNS = 5 };

static void open_device(void)
{
	char path[3000];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	assert_true(length > 0);
	path[length] = '\0';
	for (int up = 0; up < 3; up++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/dfg-cuda-standin.so");
	setenv("DFG_CUDA", path, 1);
	setenv("DFG_STANDIN", "memory=16M,poison", 1);
	succeeds(dfg_device_provider_open(&provider));
	succeeds(dfg_device_open(provider, 0, DFG_FLUSH, &device));
}

/* Numbers of several magnitudes, and in floats zeros, a denormal, infinities and NaN. */
static double number_of(uint64_t *random, bool is_float)
{
	static const double special[] = {
		0, -0.0, 1, -1, 0.5, 1e-42, __builtin_inf(), -__builtin_inf(), __builtin_nan(""), 88};
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	uint64_t bits = *random >> 33;
	if (!is_float)
		return (double)(bits % 120) - 40;
	if (bits % 4 == 0)
		return special[bits / 4 % (sizeof special / sizeof *special)];
	return ((double)(bits % 200001) - 100000) / (bits % 3 ? 5000 : 100000);
}

static void fill(struct dfg_tensor *tensor, enum dfg_dtype dtype, const struct dfg_shape *shape, uint64_t seed)
{
	bool is_float = dfg_dtype_is(dtype, "float") || dtype == DFG_F16 || dtype == DFG_BF16;
	succeeds(dfg_tensor_new(dtype, shape, tensor));
	for (int64_t i = 0; i < dfg_shape_count(shape); i++) {
		double value = number_of(&seed, is_float);
		if (dtype == DFG_BOOL)
			value = (int64_t)value & 1;
		dfg_convert(dtype, dfg_tensor_at(tensor, i), DFG_F64, &value, 1);
	}
}

static bool is_nan(const struct dfg_tensor *tensor, int64_t i)
{
	double value;
	if (!dfg_dtype_is(tensor->dtype, "float"))
		return false;
	dfg_convert(DFG_F64, &value, tensor->dtype, dfg_tensor_at(tensor, i), 1);
	return value != value;
}

static unsigned long long bits_of(const struct dfg_tensor *tensor, int64_t i)
{
	unsigned long long bits = 0;
	memcpy(&bits, dfg_tensor_at(tensor, i),
		dfg_dtype_size(tensor->dtype) < sizeof bits ? dfg_dtype_size(tensor->dtype) : sizeof bits);
	return bits;
}

static void compare(const char *kernel, const struct dfg_tensor *host, const struct dfg_tensor *other)
{
	size_t size = dfg_dtype_size(host->dtype);
	assert_int_equal(host->dtype, other->dtype);
	assert_true(dfg_shape_equal(&host->shape, &other->shape));
	for (int64_t i = 0; i < dfg_shape_count(&host->shape); i++)
		if (memcmp(dfg_tensor_at(host, i), dfg_tensor_at(other, i), size) && !(is_nan(host, i) && is_nan(other, i)))
			fail_msg("%s differs from the host's row at element %lld: bits %#llx, not %#llx", kernel, (long long)i,
				bits_of(other, i), bits_of(host, i));
}

/* Runs the node on the host and on the device. */
static void run_both(const char *kernel_name, const struct dfg_resolved_node *call, struct dfg_tensor *in)
{
	struct dfg_tensor here[DFG_ROW_OPERANDS] = {0}, *at[DFG_ROW_OPERANDS], host = {0}, made = {0}, back = {0};
	const struct dfg_tensor *operands[DFG_ROW_OPERANDS];
	const struct dfg_device_kernel *kernel = dfg_device_kernel_of(device, call);
	if (!kernel)
		fail_msg("%s is not found", kernel_name);
	assert_string_equal(kernel->name, kernel_name);
	for (int i = 0; i < call->n_in; i++) {
		operands[i] = &in[i];
		at[i] = &here[i];
		succeeds(dfg_device_copy_in(device, &in[i], &here[i]));
	}
	uint64_t mode = dfg_float_mode_set(DFG_FLUSH);
	succeeds(dfg_eval(call, operands, SIZE_MAX, &host));
	dfg_float_mode_restore(mode);
	succeeds(dfg_device_run(device, kernel, call, at, &made));
	succeeds(dfg_device_copy_out(&made, &back));
	compare(kernel_name, &host, &back);
	for (int i = 0; i < call->n_in; i++)
		dfg_tensor_release(&here[i]);
	dfg_tensor_release(&host);
	dfg_tensor_release(&made);
	dfg_tensor_release(&back);
}

/* A graph of the one node, whose operands have the type; the first of SelectV2 is bool. */
static void try_kernel(const char *kernel, const char *op, enum dfg_dtype dtype, bool broadcast)
{
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_tensor in[DFG_ROW_OPERANDS] = {0};
	struct dfg_edge edge[DFG_ROW_OPERANDS], out;
	struct dfg_resolved_node call;
	const struct dfg_signature *signature;
	succeeds(dfg_op_signature(dfg_op_find(op), &signature));
	int n = signature->n_in;
	dfg_graph_init(&graph, &arena);
	succeeds(dfg_builder_init(&builder, &graph));
	for (int i = 0; i < n; i++) {
		enum dfg_dtype own = signature->in[i].type < 0 ? signature->in[i].dtype : dtype;
		struct dfg_shape shape = {.rank = 2, .dim = {ROWS, COLUMNS}};
		if (broadcast && i + 1 == n)
			shape = n % 2 ? (struct dfg_shape){.rank = 2, .dim = {ROWS, 1}} : DFG_SHAPE_VECTOR(COLUMNS);
		fill(&in[i], own, &shape, (uint64_t)i * 77 + dtype);
		const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", own), {"shape", DFG_ATTR_SHAPE, {.shape = &in[i].shape}}};
		edge[i] = (struct dfg_edge){0};
		succeeds(dfg_build(&builder,
			&(struct dfg_new_node){.op = "Placeholder", .name = "x", .attr = attr, .n_attr = 2}, &edge[i].node));
	}
	succeeds(dfg_build_op(&builder, op, "y", edge, (uint32_t)n, &out));
	succeeds(dfg_node_resolve(&graph, out.node, &arena, &call));
	if (!(call.op->guard && call.op->guard_reads && !dfg_dtype_is(dtype, "float"))) /* the host's: it looks for zeros */
		run_both(kernel, &call, in);
	for (int i = 0; i < n; i++)
		dfg_tensor_release(&in[i]);
	dfg_builder_release(&builder);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
}

static void test_rows_of_the_device_have_the_hosts_bits(void **state)
{
	(void)state;
	enum { KERNELS_LEAST = 600 }; /* ops and types: a table that lost its rows fails */
	assert_true(provider->kernels >= KERNELS_LEAST);
	for (size_t i = 0; i < provider->kernels; i++) {
		const char *name = provider->kernel[DFG_FLUSH][i].name, *type = strrchr(name, '_') + 1;
		char op[100];
		if (provider->kernel[DFG_FLUSH][i].family != DFG_FAMILY_row)
			continue;
		snprintf(op, sizeof op, "%.*s", (int)(type - name) - 1, name);
		const struct dfg_op *found = dfg_op_find(op);
		assert_non_null(found);
		try_kernel(name, op, dfg_dtype_find(type, strlen(type)), false);
		if (found->shape == NULL)
			try_kernel(name, op, dfg_dtype_find(type, strlen(type)), true);
	}
}

static void test_memory_that_ends_is_an_error_with_its_numbers(void **state)
{
	(void)state;
	struct dfg_shape shape = DFG_SHAPE_VECTOR(3 << 20);
	struct dfg_tensor one, two;
	succeeds(dfg_device_tensor(device, DFG_F32, &shape, &one));
	fails(dfg_device_tensor(device, DFG_F32, &shape, &two), DFG_MEMORY,
		"cuda:0 has no memory for f32[3145728] (12582912 bytes): this run uses 12582912 of its 16777216 bytes");
	dfg_tensor_release(&one);
	succeeds(dfg_device_tensor(device, DFG_F32, &shape, &two));
	dfg_tensor_release(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_of_the_device_have_the_hosts_bits),
		cmocka_unit_test(test_memory_that_ends_is_an_error_with_its_numbers),
	};
	open_device();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	dfg_device_close(device);
	return failed;
}
