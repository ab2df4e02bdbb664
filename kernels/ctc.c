/* The most probable sequence of classes by connectionist temporal classification (Graves et al. 2006). */
#include "kernels/shape_rules.h"

#include <inttypes.h>

enum { INPUTS, LENGTHS };

/* Extents of inputs: [time, batch, classes]. */
struct extents {
	int64_t time, batch, classes;
};

static struct extents extents_of(const struct dfg_tensor *inputs)
{
	return (struct extents){inputs->shape.dim[0], inputs->shape.dim[1], inputs->shape.dim[2]};
}

static struct dfg_err *check_inputs(const struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[INPUTS], *length = node->in[LENGTHS];
	if (in->rank >= 0 && in->rank != 3)
		return DFG_ERR(DFG_DATA, "inputs are %s, expected [time, batch, classes]", dfg_shape_words(in).s);
	if (in->rank == 3 && !in->dim[2])
		return DFG_ERR(DFG_DATA, "inputs are %s: there is no class", dfg_shape_words(in).s);
	const struct dfg_shape expected = DFG_SHAPE_VECTOR(in->rank < 0 ? DFG_UNKNOWN : in->dim[1]);
	if (!dfg_shape_fits(length, &expected))
		return DFG_ERR(DFG_DATA, "sequence_length is %s, expected %s, a number for each sequence of the batch",
			dfg_shape_words(length).s, dfg_shape_words(&expected).s);
	return NULL;
}

static struct dfg_err *read_length(const struct dfg_kernel *ctx, int64_t b, int64_t time, int64_t *out_length)
{
	*out_length = ((const int32_t *)dfg_kernel_input(ctx, LENGTHS)->data)[b];
	if (*out_length >= 0 && *out_length <= time)
		return NULL;
	return DFG_ERR(DFG_DATA,
		"sequence_length[%" PRId64 "] is %" PRId64 ", expected 0 to %" PRId64 ", the time of inputs", b, *out_length,
		time);
}

enum { GREEDY_MERGE, GREEDY_BLANK };
enum { DECODED_INDICES, DECODED_VALUES, DECODED_SHAPE, LOG_PROBABILITY };

static struct dfg_err *greedy_shape(struct dfg_infer *node)
{
	DFG_TRY(check_inputs(node));
	node->out[DECODED_INDICES] = (struct dfg_shape){.rank = 2, .dim = {DFG_UNKNOWN, 2}};
	node->out[DECODED_VALUES] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	node->out[DECODED_SHAPE] = DFG_SHAPE_VECTOR(2);
	node->out[LOG_PROBABILITY] =
		(struct dfg_shape){.rank = 2, .dim = {node->in[INPUTS]->rank < 0 ? DFG_UNKNOWN : node->in[INPUTS]->dim[1], 1}};
	return NULL;
}

static int64_t most_likely(const struct dfg_tensor *inputs, int64_t row, int64_t classes, double *out_most)
{
	int64_t best = 0;
	*out_most = dfg_tensor_float(inputs, row * classes);
	for (int64_t c = 1; c < classes; c++) {
		const double value = dfg_tensor_float(inputs, row * classes + c);
		if (value > *out_most) {
			*out_most = value;
			best = c;
		}
	}
	return best;
}

/* Decodes sequence b to `to`, or counts the classes if it is NULL; *out_score is minus the sum of the logits. */
static int64_t decode(struct dfg_kernel *ctx, int64_t b, int64_t length, int64_t *to, double *out_score)
{
	const struct dfg_tensor *inputs = dfg_kernel_input(ctx, INPUTS);
	const struct extents e = extents_of(inputs);
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const int64_t blank = attr[GREEDY_BLANK].i < 0 ? attr[GREEDY_BLANK].i + e.classes : attr[GREEDY_BLANK].i;
	int64_t before = -1, count = 0;
	*out_score = 0;
	for (int64_t t = 0; t < length; t++) {
		double most;
		const int64_t class = most_likely(inputs, t * e.batch + b, e.classes, &most);
		*out_score -= most;
		if (class != blank && !(attr[GREEDY_MERGE].b && class == before)) {
			if (to)
				to[count] = class;
			count++;
		}
		before = class;
	}
	return count;
}

static struct dfg_err *give_decoded(struct dfg_kernel *ctx, const struct extents *e, const int64_t *count)
{
	const struct dfg_tensor *lengths = dfg_kernel_input(ctx, LENGTHS);
	struct dfg_tensor *indices, *values, *shape;
	int64_t all = 0, longest = 0;
	double score;
	for (int64_t b = 0; b < e->batch; b++) {
		all += count[b];
		longest = count[b] > longest ? count[b] : longest;
	}
	DFG_TRY(dfg_kernel_output(ctx, DECODED_INDICES, &(struct dfg_shape){.rank = 2, .dim = {all, 2}}, &indices));
	DFG_TRY(dfg_kernel_output(ctx, DECODED_VALUES, &DFG_SHAPE_VECTOR(all), &values));
	DFG_TRY(dfg_kernel_output(ctx, DECODED_SHAPE, &DFG_SHAPE_VECTOR(2), &shape));
	((int64_t *)shape->data)[0] = e->batch;
	((int64_t *)shape->data)[1] = longest;
	for (int64_t b = 0, at = 0; b < e->batch; at += count[b++]) {
		decode(ctx, b, ((const int32_t *)lengths->data)[b], (int64_t *)values->data + at, &score);
		for (int64_t i = 0; i < count[b]; i++) {
			((int64_t *)indices->data)[2 * (at + i)] = b;
			((int64_t *)indices->data)[2 * (at + i) + 1] = i;
		}
	}
	return NULL;
}

static struct dfg_err *greedy_run(struct dfg_kernel *ctx)
{
	const struct extents e = extents_of(dfg_kernel_input(ctx, INPUTS));
	struct dfg_shape shape[4];
	struct dfg_tensor *score;
	int64_t *count, length;
	double sum;
	DFG_TRY(dfg_shapes_now(ctx, 4, shape));
	DFG_TRY(dfg_kernel_output(ctx, LOG_PROBABILITY, &shape[LOG_PROBABILITY], &score));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)e.batch + 1) * sizeof *count, (void **)&count));
	for (int64_t b = 0; b < e.batch; b++) {
		DFG_TRY(read_length(ctx, b, e.time, &length));
		count[b] = decode(ctx, b, length, NULL, &sum);
		dfg_put_real(score->dtype, dfg_tensor_at(score, b), sum);
	}
	return give_decoded(ctx, &e, count);
}

const struct dfg_op dfg_op_CTCGreedyDecoder = {
	.name = "CTCGreedyDecoder",
	.doc =
		"the most probable class of each time step without blanks, as sparse tensor, and minus the sums of their "
		"logits",
	.sig =
		"<T: f32|f64 = f32>(inputs: T, sequence_length: i32) -> "
		"(decoded_indices: i64, decoded_values: i64, decoded_shape: i64, log_probability: T)",
	.attr = {[GREEDY_MERGE] = "merge_repeated: bool = false", [GREEDY_BLANK] = "blank_index: int = -1"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK,
	.shape = greedy_shape,
	.run = greedy_run,
};
