#include "kernels/matrices.h"
#include "kernels/shape_rules.h"

#include <string.h>

struct job {
	const struct dfg_matrix_work *work;
	dfg_matrix_fn *run;
};

static void run_block(void *arg, int64_t first, int64_t last)
{
	const struct job *job = arg;
	for (int64_t t = first; t < last; t++)
		job->work->failed[t] = !job->run(job->work, t, job->work->memory + first / job->work->block * job->work->each);
}

void dfg_matrix_read(enum dfg_dtype as, const struct dfg_tensor *tensor, int64_t at, int64_t n, void *to)
{
	dfg_convert(as, to, tensor->dtype, dfg_tensor_at(tensor, at), n);
}

void dfg_matrix_write(enum dfg_dtype as, const struct dfg_tensor *tensor, int64_t at, int64_t n, const void *from)
{
	dfg_convert(tensor->dtype, dfg_tensor_at(tensor, at), as, from, n);
}

struct dfg_err *dfg_need_matrices(const struct dfg_shape *in, bool square)
{
	int64_t rows = in->rank < 2 ? 0 : in->dim[in->rank - 2], columns = in->rank < 2 ? 1 : in->dim[in->rank - 1];
	if (in->rank < 2 || (square && rows != columns && rows >= 0 && columns >= 0))
		return DFG_ERR(DFG_DATA, "input has shape %s, expected %s", dfg_shape_words(in).s,
			square ? "square matrices" : "matrices");
	return NULL;
}

struct dfg_shape dfg_matrix_shape(const struct dfg_shape *in, int count, int64_t a, int64_t b)
{
	struct dfg_shape shape = *in;
	shape.rank = in->rank - 2 + count;
	memset(shape.dim + in->rank - 2, 0, 2 * sizeof *shape.dim);
	if (count > 0)
		shape.dim[in->rank - 2] = a;
	if (count > 1)
		shape.dim[in->rank - 1] = b;
	return shape;
}

struct dfg_err *dfg_square_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_matrices(node->in[0], true));
	node->out[0] = *node->in[0];
	return NULL;
}

int64_t dfg_smaller_dim(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? DFG_UNKNOWN : a < b ? a : b;
}

static struct dfg_err *get_memory(struct dfg_kernel *ctx, struct dfg_matrix_work *work, int64_t count)
{
	const struct dfg_shape memory = {.rank = 2, .dim = {(count + work->block - 1) / work->block, work->each}};
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(&memory, DFG_F64, &bytes));
	DFG_TRY(dfg_kernel_scratch(ctx, bytes + 1, (void **)&work->memory));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)count + 1, (void **)&work->failed));
	memset(work->failed, 0, (size_t)count + 1);
	return NULL;
}

struct dfg_err *dfg_each_matrix(struct dfg_kernel *ctx, struct dfg_matrix_work *work,
	int64_t (*numbers)(const struct dfg_matrix_work *work), dfg_matrix_fn *function, const char *failure)
{
	struct dfg_shape shape[3];
	const struct dfg_shape *in = &ctx->in[0]->shape;
	work->in = ctx->in[0];
	DFG_TRY(dfg_shapes_now(ctx, ctx->call->n_out, shape));
	for (int i = 0; i < ctx->call->n_out; i++)
		DFG_TRY(dfg_kernel_output(ctx, i, &shape[i], &work->out[i]));
	work->rows = in->dim[in->rank - 2];
	work->columns = in->dim[in->rank - 1];
	int64_t count = dfg_count_between(in, 0, in->rank - 2), least = dfg_smaller_dim(work->rows, work->columns);
	if (!count) /* of any size */
		return NULL;
	int64_t flops = 8 * (work->rows + work->columns) * least * least;
	work->block = flops < 1 << 16 ? (1 << 16) / (flops + 1) + 1 : 1;
	work->each = numbers(work);
	DFG_TRY(get_memory(ctx, work, count));
	dfg_kernel_ranges(ctx, count, work->block, run_block, &(struct job){work, function});
	for (int64_t t = 0; t < count; t++)
		if (work->failed[t])
			return DFG_ERR(DFG_DATA, "matrix %lld %s", (long long)t, failure);
	return NULL;
}
