#include "lib/exec/linear/activation_private.h"
#include "lib/exec/linear/group_private.h"
#include "lib/graph/work.h"

#include <stdatomic.h>

/* Two blocks of scores, and the scratch memory of kernels, which each asks for anew. A thread has one while it computes. */
enum { SCRATCHES = 4 };
struct lane {
	_Atomic bool taken;
	char *block[2];
	void *scratch[SCRATCHES];
	size_t bytes[SCRATCHES];
	int scratches;
};

struct work {
	const struct attention *attention;
	struct dfg_tensor *const *at;
	char *out;
	struct lane *lane;
	int lanes;
	struct dfg_err *_Atomic err; /* the first one */
};

static int64_t blocks_of(const struct attention *a)
{
	return (a->rows + a->block - 1) / a->block;
}

static struct dfg_err *grow(struct dfg_kernel *ctx, int i, size_t bytes)
{
	(void)i;
	return DFG_ERR(
		DFG_BUG, "internal error: %s has a result of %zu bytes, more than were inferred", ctx->call->op->name, bytes);
}

static struct dfg_err *scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	struct lane *lane = ctx->runner;
	int i = lane->scratches++;
	if (i >= SCRATCHES)
		return DFG_ERR(DFG_BUG, "%s asks for scratch memory more than %d times", ctx->call->op->name, SCRATCHES);
	if (bytes > lane->bytes[i]) {
		dfg_free(lane->scratch[i]);
		lane->scratch[i] = dfg_mem->take(dfg_mem, bytes, DFG_ALIGN);
		lane->bytes[i] = lane->scratch[i] ? bytes : 0;
	}
	*out_memory = lane->scratch[i];
	return *out_memory || !bytes ? NULL : DFG_ERR(DFG_MEMORY, "no memory for %zu bytes", bytes);
}

static void serial(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	(void)ctx;
	for (int64_t i = 0; i < n; i++)
		part(arg, i);
}

/* The services that kernels of products and of softmax call. */
static const struct dfg_kernel_services services = {.grow = grow, .scratch = scratch, .parallel = serial};

static struct dfg_tensor matrix(enum dfg_dtype dtype, void *data, int64_t rows, int64_t columns)
{
	return (struct dfg_tensor){.dtype = dtype,
		.shape = {.rank = 2, .dim = {rows, columns}},
		.data = data,
		.capacity = (size_t)(rows * columns) * dfg_dtype_size(dtype)};
}

/* Matrix number `number` of the tensor. */
static struct dfg_tensor matrix_of(const struct dfg_tensor *from, int64_t number)
{
	int64_t rows = from->shape.dim[from->shape.rank - 2], columns = from->shape.dim[from->shape.rank - 1];
	return matrix(from->dtype, dfg_tensor_at(from, number * rows * columns), rows, columns);
}

static struct dfg_err *run_call(struct lane *lane, const struct dfg_resolved_node *call, dfg_run_fn *kernel,
	struct dfg_tensor *a, struct dfg_tensor *b, struct dfg_tensor *out)
{
	struct dfg_kernel ctx = {
		call, (struct dfg_tensor *const[]){a, b}, (struct dfg_tensor *const[]){out}, &services, lane};
	lane->scratches = 0;
	return dfg_resolved_note(kernel(&ctx), call);
}

/* The elementwise ops on the scores, which are elements [first, first + n) of all of them. */
static void run_between(const struct work *work, int64_t first, int64_t n, const void *scores, void *out)
{
	const void *in[1 + BETWEEN_MOST * DFG_ROW_OPERANDS];
	const struct dfg_tile_program *tile = &work->attention->between;
	const size_t before = (size_t)first * dfg_dtype_size(work->at[Q]->dtype);
	for (int i = 0; i < tile->walk.n_in; i++)
		in[i] = i ? work->at[ATTENDED - 1 + i]->data : (const void *)((uintptr_t)scores - before);
	void *to = (void *)((uintptr_t)out - before);
	dfg_tile_run_elements(tile, first, first + n, in, &to);
}

/* Rows [row, row + rows) of matrix number `number`. */
static struct dfg_err *compute(const struct work *work, struct lane *lane, int64_t number, int64_t row, int64_t rows)
{
	const struct attention *a = work->attention;
	const enum dfg_dtype dtype = work->at[Q]->dtype;
	const int64_t above = number * a->rows + row;
	struct dfg_tensor q = matrix(dtype, dfg_tensor_at(work->at[Q], above * a->width), rows, a->width);
	struct dfg_tensor k = matrix_of(work->at[K], number), v = matrix_of(work->at[V], number);
	struct dfg_tensor out =
		matrix(dtype, work->out + (size_t)(above * a->depth) * dfg_dtype_size(dtype), rows, a->depth);
	int turn = 0;
	struct dfg_tensor block[2] = {
		matrix(dtype, lane->block[0], rows, a->columns), matrix(dtype, lane->block[1], rows, a->columns)};
	DFG_TRY(run_call(lane, a->scores, a->run_scores, &q, &k, &block[turn]));
	if (a->between.steps) {
		run_between(work, above * a->columns, rows * a->columns, block[turn].data, block[!turn].data);
		turn = !turn;
	}
	DFG_TRY(run_call(lane, a->softmax, a->run_softmax, &block[turn], NULL, &block[!turn]));
	return run_call(lane, a->product, a->run_product, &block[!turn], &v, &out);
}

/* There are as many lanes as threads, so one is free. */
static struct lane *take_lane(const struct work *work)
{
	for (int i = 0;; i = (i + 1) % work->lanes)
		if (!atomic_exchange_explicit(&work->lane[i].taken, true, memory_order_acquire))
			return &work->lane[i];
}

static void compute_blocks(void *arg, int64_t first, int64_t last)
{
	struct work *work = arg;
	const struct attention *a = work->attention;
	const int64_t blocks = blocks_of(a);
	struct lane *lane = take_lane(work);
	for (int64_t i = first; i < last && !atomic_load_explicit(&work->err, memory_order_relaxed); i++) {
		int64_t row = i % blocks * a->block, left = a->rows - row;
		struct dfg_err *err = compute(work, lane, i / blocks, row, left < a->block ? left : a->block), *none = NULL;
		if (err && !atomic_compare_exchange_strong(&work->err, &none, err))
			dfg_err_free(err);
	}
	atomic_store_explicit(&lane->taken, false, memory_order_release);
}

/* The blocks come from the session's buffers, which are used again from step to step. */
static struct dfg_err *take_lanes(struct activation *activation, struct work *work, struct dfg_buffer **out_buffer)
{
	const struct attention *a = work->attention;
	const enum dfg_dtype dtype = work->at[Q]->dtype;
	const size_t bytes = (size_t)(a->block * a->columns) * dfg_dtype_size(dtype);
	const size_t block = (bytes + DFG_ALIGN - 1) / DFG_ALIGN * DFG_ALIGN;
	const int threads = dfg_pool_threads(activation->plan->session->pool);
	work->lanes = a->batch * blocks_of(a) < threads ? (int)(a->batch * blocks_of(a)) : threads;
	if (!(work->lane = dfg_zeros((size_t)work->lanes, sizeof *work->lane)))
		return dfg_no_memory("blocks of attention scores");
	DFG_TRY(
		dfg_buffer_pool_take(activation->plan->session->buffers, dtype, 2 * block * (size_t)work->lanes, out_buffer));
	for (int i = 0; i < 2 * work->lanes; i++)
		work->lane[i / 2].block[i % 2] = (char *)(*out_buffer)->data + (size_t)i * block;
	return NULL;
}

static void free_lanes(struct work *work)
{
	for (int i = 0; work->lane && i < work->lanes; i++)
		for (int k = 0; k < SCRATCHES; k++)
			dfg_free(work->lane[i].scratch[k]);
	dfg_free(work->lane);
}

struct dfg_err *dfg_attention_run(
	struct activation *activation, const struct attention *a, struct dfg_tensor *const *at, void *out)
{
	enum { TASK = 1 << 20 }; /* multiplications */
	struct work work = {.attention = a, .at = at, .out = out};
	struct dfg_kernel ctx = {.host = dfg_runner_services(), .runner = &activation->runner};
	const int64_t blocks = a->batch * blocks_of(a), each = a->block * a->columns;
	const double operations = 2.0 * (double)(a->batch * a->rows * a->columns) * (double)(a->width + a->depth);
	const double before = dfg_work;
	struct dfg_buffer *buffer = NULL;
	struct dfg_err *err = take_lanes(activation, &work, &buffer);
	if (!err)
		dfg_kernel_ranges(&ctx, blocks, dfg_kernel_block(each * (a->width + a->depth), TASK), compute_blocks, &work);
	free_lanes(&work);
	dfg_buffer_unref(buffer);
	dfg_work = before + operations;
	return err ? err : work.err;
}
