/* ReverseSequence and Roll: parts of a tensor reversed or rotated. */
#include "kernels/strided_copy.h"
#include "kernels/shape_rules.h"

#include <inttypes.h>
#include <string.h>

enum { SEQ_DIM, BATCH_DIM };

static struct dfg_err *sequence_axes(const struct dfg_resolved_node *call, int rank, int *out_seq, int *out_batch)
{
	DFG_TRY(dfg_axis(call->attr[SEQ_DIM].i, rank, out_seq));
	DFG_TRY(dfg_axis(call->attr[BATCH_DIM].i, rank, out_batch));
	if (*out_seq == *out_batch)
		return DFG_ERR(DFG_DATA, "seq_dim and batch_dim are both %d, expected different dimensions", *out_seq);
	return NULL;
}

static struct dfg_err *reverse_sequence_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0], *lengths = node->in[1];
	int seq, batch;
	DFG_TRY(dfg_need_rank(node, 1, 1));
	node->out[0] = *in;
	if (in->rank < 0)
		return NULL;
	DFG_TRY(sequence_axes(node->call, in->rank, &seq, &batch));
	if (lengths->rank == 1 && lengths->dim[0] >= 0 && in->dim[batch] >= 0 && lengths->dim[0] != in->dim[batch])
		return DFG_ERR(DFG_DATA, "%" PRId64 " lengths, expected one for each index of dimension %d of %s",
			lengths->dim[0], batch, dfg_shape_words(in).s);
	return NULL;
}

/* Copies the sequence that begins at element `first`: its first `length` steps reversed, the others unchanged. */
static void reverse_one(struct dfg_kernel *ctx, const struct dfg_strided_box *others, int64_t first, int64_t step,
	int64_t steps, int64_t length)
{
	size_t size = dfg_dtype_size(ctx->out[0]->dtype);
	struct dfg_strided_box box = *others;
	const char *in = dfg_tensor_at(ctx->in[0], first);
	char *out = dfg_tensor_at(ctx->out[0], first);
	int64_t bytes = step * (int64_t)size;
	dfg_box_axis(&box, length, -step, step);
	if (length)
		dfg_box_copy(ctx, size, box, in + (length - 1) * bytes, out);
	box.rank--;
	dfg_box_axis(&box, steps - length, step, step);
	dfg_box_copy(ctx, size, box, in + length * bytes, out + length * bytes);
}

static struct dfg_err *reverse_sequence_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0), *lengths = dfg_kernel_input(ctx, 1);
	int64_t step[DFG_RANK_MAX];
	struct dfg_tensor *out;
	struct dfg_strided_box others = {0};
	int seq, batch;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(sequence_axes(ctx->call, in->shape.rank, &seq, &batch));
	dfg_steps(&in->shape, step);
	for (int d = 0; d < in->shape.rank; d++)
		if (d != seq && d != batch)
			dfg_box_axis(&others, in->shape.dim[d], step[d], step[d]);
	for (int64_t b = 0; b < in->shape.dim[batch]; b++) {
		int64_t length = dfg_tensor_int(lengths, b);
		if (length < 0 || length > in->shape.dim[seq])
			return DFG_ERR(DFG_DATA, "length %" PRId64 " of sequence %" PRId64 " is outside [0,%" PRId64 "]", length, b,
				in->shape.dim[seq]);
		reverse_one(ctx, &others, b * step[batch], step[seq], in->shape.dim[seq], length);
	}
	return dfg_moved(ctx, 0);
}

const struct dfg_op dfg_op_ReverseSequence = {
	.name = "ReverseSequence",
	.doc = "a batch of sequences, each with its first seq_lengths steps reversed",
	.sig = "<T: type, Tlen: index = i64>(input: T, seq_lengths: Tlen) -> (output: T)",
	.attr = {[SEQ_DIM] = "seq_dim: int", [BATCH_DIM] = "batch_dim: int = 0"},
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = reverse_sequence_shape,
	.gradient = "dinput = ReverseSequence(doutput, seq_lengths, seq_dim = seq_dim, batch_dim = batch_dim)",
	.run = reverse_sequence_run,
};

enum { INPUT, SHIFT, AXIS };

static struct dfg_err *roll_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[INPUT];
	int64_t shifts = dfg_length_of(node, SHIFT), axes = dfg_length_of(node, AXIS);
	if (node->in[SHIFT]->rank > 1 || node->in[AXIS]->rank > 1 || (shifts >= 0 && axes >= 0 && shifts != axes))
		return DFG_ERR(DFG_DATA, "shift and axis must be scalars or vectors of equal length, not %s and %s",
			dfg_shape_words(node->in[SHIFT]).s, dfg_shape_words(node->in[AXIS]).s);
	if (in->rank == 0)
		return DFG_ERR(DFG_DATA, "input is a scalar, expected at least one dimension");
	/* Axes may repeat, so there may be any number of them. Only those that are known are checked. */
	for (int64_t i = 0; node->known[AXIS] && i < node->known[AXIS]->count; i++) {
		int64_t given = dfg_int_of(node, AXIS, i);
		int axis;
		if (given != DFG_NOT_KNOWN && in->rank >= 0)
			DFG_TRY(dfg_axis(given, in->rank, &axis));
	}
	node->out[0] = *in;
	return NULL;
}

static struct dfg_err *roll_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, INPUT), *axes = dfg_kernel_input(ctx, AXIS);
	int64_t step[DFG_RANK_MAX], shift[DFG_RANK_MAX] = {0}, count = dfg_shape_count(&in->shape);
	size_t size = dfg_dtype_size(in->dtype);
	struct dfg_tensor *out;
	int rank = in->shape.rank;
	DFG_TRY(dfg_output_now(ctx, &out));
	if (!count)
		return NULL;
	for (int64_t i = 0, n = dfg_shape_count(&axes->shape); i < n; i++) {
		int axis;
		DFG_TRY(dfg_axis(dfg_tensor_int(axes, i), rank, &axis));
		int64_t dim = in->shape.dim[axis], by = dfg_tensor_int(ctx->in[SHIFT], i) % dim;
		shift[axis] = (shift[axis] + by + dim) % dim;
	}
	dfg_steps(&in->shape, step);
	/* Two parts along each dimension: the elements that stay before the end, and those that wrap around. */
	for (int part = 0; part < 1 << rank; part++) {
		struct dfg_strided_box box = {0};
		int64_t from = 0, to = 0;
		for (int d = 0; d < rank; d++) {
			bool round = part >> d & 1;
			from += round ? (in->shape.dim[d] - shift[d]) * step[d] : 0;
			to += round ? 0 : shift[d] * step[d];
			dfg_box_axis(&box, round ? shift[d] : in->shape.dim[d] - shift[d], step[d], step[d]);
		}
		if (from < count)
			dfg_box_copy(ctx, size, box, dfg_tensor_at(in, from), dfg_tensor_at(out, to));
	}
	return dfg_moved(ctx, 0);
}

const struct dfg_op dfg_op_Roll = {
	.name = "Roll",
	.doc = "input rotated by shift along the axes: elements that leave at one end enter at the other",
	.sig = "<T: type, Tshift: index, Taxis: index>(input: T, shift: Tshift, axis: Taxis) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT,
	.shape = roll_shape,
	.gradient = "dinput = Roll(doutput, -shift, axis)",
	.run = roll_run,
};
