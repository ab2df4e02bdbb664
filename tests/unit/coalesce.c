#include "tests/unit/test.h"

#include "tests/unit/sketch.h"

#include "lib/graph/kernel.h"

#include <math.h>
#include <stdio.h>

/*
 * The engines under the ops that move and reduce, on shapes too large for an activation of tests/ops, against loops that cannot
 * be wrong. The host runs the parts of a kernel in whatever order `backwards` says.
 */
static bool backwards;
static void *scratches[64];
static int n_scratches;

static struct dfg_err *grow(struct dfg_kernel *ctx, int i, size_t bytes)
{
	return dfg_tensor_new((enum dfg_dtype)ctx->call->out_dtype[i], &DFG_SHAPE_VECTOR((int64_t)bytes), ctx->out[i]);
}

static struct dfg_err *scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	(void)ctx;
	assert_true(n_scratches < 64);
	*out_memory = scratches[n_scratches++] = aligned_alloc(DFG_ALIGN, (bytes / DFG_ALIGN + 1) * DFG_ALIGN);
	return NULL;
}

static void parallel(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	(void)ctx;
	for (int64_t i = 0; i < n; i++)
		part(arg, backwards ? n - 1 - i : i);
}

static const struct dfg_kernel_services host = {.grow = grow, .scratch = scratch, .parallel = parallel};

/* op(x, ints) of f32, as a tensor that the caller releases. */
static struct dfg_tensor run_op(const char *activation, const struct dfg_tensor *x, const int32_t *ints, int64_t n)
{
	struct sketch sketch;
	struct dfg_resolved_node call;
	struct dfg_tensor in[2] = {*x, {DFG_I32, DFG_SHAPE_VECTOR(n), (void *)ints, 0, NULL}}, out = {0};
	dfg_run_fn *kernel;
	char text[200];
	snprintf(text, sizeof text, "x Placeholder dtype=f32\ni Placeholder dtype=i32\ny %s", activation);
	sketch_init(&sketch, NULL, text);
	succeeds(dfg_node_resolve(&sketch.graph, 2, &sketch.arena, &call));
	succeeds(dfg_kernel_find(&call, &kernel));
	struct dfg_kernel ctx = {
		&call, (struct dfg_tensor *[]){&in[0], &in[1]}, (struct dfg_tensor *[]){&out}, &host, NULL};
	succeeds(kernel(&ctx));
	while (n_scratches)
		free(scratches[--n_scratches]);
	sketch_release(&sketch);
	return out;
}

/* Elements that are different, and no sum of which is exact. */
static struct dfg_tensor numbers(const struct dfg_shape *shape)
{
	struct dfg_tensor x;
	succeeds(dfg_tensor_new(DFG_F32, shape, &x));
	for (int64_t i = 0, n = dfg_shape_count(shape); i < n; i++)
		((float *)x.data)[i] = (float)(i * 7919 % 100003) / 1000.0f - 40;
	return x;
}

static int64_t place(const struct dfg_shape *shape, const int64_t *index)
{
	int64_t at = 0;
	for (int d = 0; d < shape->rank; d++)
		at = at * shape->dim[d] + index[d];
	return at;
}

static bool next_index(const struct dfg_shape *shape, int64_t *index)
{
	for (int d = shape->rank - 1; d >= 0; d--) {
		if (++index[d] < shape->dim[d])
			return true;
		index[d] = 0;
	}
	return false;
}

static void transposes(struct dfg_shape shape, int32_t a, int32_t b, int32_t c)
{
	const int32_t perm[] = {a, b, c};
	struct dfg_tensor x = numbers(&shape), y = run_op("Transpose x i T=f32 Tperm=i32", &x, perm, 3);
	int64_t index[DFG_RANK_MAX] = {0};
	do {
		int64_t to[] = {index[a], index[b], index[c]};
		assert_true(((float *)y.data)[place(&y.shape, to)] == ((float *)x.data)[place(&shape, index)]);
	} while (next_index(&shape, index));
	dfg_tensor_release(&x);
	dfg_tensor_release(&y);
}

static void every_order_of_axes_is_a_copy_of_its_elements(void **state)
{
	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		backwards = turn;
		for (int32_t a = 0; a < 3; a++)
			for (int32_t b = 0; b < 3; b++)
				if (a != b)
					transposes((struct dfg_shape){3, {37, 65, 50}}, a, b, 3 - a - b);
		transposes((struct dfg_shape){3, {1, 700, 300}}, 0, 2, 1);
		transposes((struct dfg_shape){3, {3, 1, 2}}, 2, 1, 0);
	}
}

/* Sums over the axes whose bits are set, forwards and backwards. */
static void sums(struct dfg_shape shape, int mask)
{
	int32_t axis[DFG_RANK_MAX];
	int64_t n = 0, index[DFG_RANK_MAX] = {0};
	for (int d = 0; d < shape.rank; d++)
		if (mask >> d & 1)
			axis[n++] = d;
	struct dfg_tensor x = numbers(&shape), y[2];
	for (int turn = 0; turn < 2; turn++) {
		backwards = turn;
		y[turn] = run_op("Sum x i T=f32 Tidx=i32 keep_dims=true", &x, axis, n);
	}
	int64_t count = dfg_shape_count(&y[0].shape);
	assert_memory_equal(y[0].data, y[1].data, (size_t)count * sizeof(float));

	double *wanted = calloc((size_t)count, 2 * sizeof *wanted), *size = wanted + count;
	do {
		int64_t to[DFG_RANK_MAX];
		for (int d = 0; d < shape.rank; d++)
			to[d] = mask >> d & 1 ? 0 : index[d];
		wanted[place(&y[0].shape, to)] += (double)((float *)x.data)[place(&shape, index)];
		size[place(&y[0].shape, to)] += fabs((double)((float *)x.data)[place(&shape, index)]);
	} while (next_index(&shape, index));
	for (int64_t i = 0; i < count; i++)
		assert_true(fabs((double)((float *)y[0].data)[i] - wanted[i]) <= 2e-6 * size[i]);
	free(wanted);
	for (int turn = 0; turn < 2; turn++)
		dfg_tensor_release(&y[turn]);
	dfg_tensor_release(&x);
}

static void sums_are_near_and_do_not_depend_on_the_order_of_parts(void **state)
{
	(void)state;
	for (int mask = 0; mask < 8; mask++)
		sums((struct dfg_shape){3, {70, 130, 50}}, mask);
	for (int mask = 0; mask < 16; mask++)
		sums((struct dfg_shape){4, {9, 1, 31, 17}}, mask);
	sums((struct dfg_shape){1, {300007}}, 1);
	sums((struct dfg_shape){2, {100003, 3}}, 1);
	sums((struct dfg_shape){2, {3, 100003}}, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_order_of_axes_is_a_copy_of_its_elements),
		cmocka_unit_test(sums_are_near_and_do_not_depend_on_the_order_of_parts),
	};
	return cmocka_run_group_tests_name("coalesce", tests, NULL, NULL);
}
