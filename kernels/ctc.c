/*
 * Connectionist temporal classification (Graves et al. 2006): the loss of a label sequence whose alignment to the time steps
 * is not known, and the most probable sequence of classes. In f64 for both types.
 */
#include "kernels/ctc.h"

#include "kernels/gradient_helpers.h"
#include "kernels/math.h"
#include "kernels/shape_rules.h"

#include <inttypes.h>
#include <string.h>

enum { INPUTS, INDICES, VALUES, LENGTHS };
enum { COLLAPSE, MERGE, IGNORE_LONGER };

/* Extents of inputs: [time, batch, classes]. */
struct extents {
	int64_t time, batch, classes;
};

static struct extents extents_of(const struct dfg_tensor *inputs)
{
	return (struct extents){inputs->shape.dim[0], inputs->shape.dim[1], inputs->shape.dim[2]};
}

struct dfg_err *dfg_ctc_check_inputs(const struct dfg_infer *node, int lengths)
{
	const struct dfg_shape *in = node->in[INPUTS], *length = node->in[lengths];
	if (in->rank >= 0 && in->rank != 3)
		return DFG_ERR(DFG_DATA, "inputs are %s, expected [time, batch, classes]", dfg_shape_words(in).s);
	if (in->rank == 3 && !in->dim[2])
		return DFG_ERR(DFG_DATA, "inputs are %s: there is no class", dfg_shape_words(in).s);
	const struct dfg_shape expected = DFG_SHAPE_VECTOR(in->rank < 0 ? DFG_UNKNOWN : in->dim[1]);
	if (!dfg_shape_fits(length, &expected))
		return DFG_ERR(DFG_DATA, "sequence_length has shape %s, expected %s: a number for each sequence of the batch",
			dfg_shape_words(length).s, dfg_shape_words(&expected).s);
	return NULL;
}

struct dfg_err *dfg_ctc_length(const struct dfg_kernel *ctx, int i, int64_t b, int64_t time, int64_t *out_length)
{
	*out_length = ((const int32_t *)dfg_kernel_input(ctx, i)->data)[b];
	if (*out_length >= 0 && *out_length <= time)
		return NULL;
	return DFG_ERR(DFG_DATA,
		"sequence_length[%" PRId64 "] is %" PRId64 ", expected 0 to %" PRId64 ", the time of inputs", b, *out_length,
		time);
}

/* The loss. */

/* A sequence of the batch, with its labels and blanks between them, before the first and after the last. */
struct sequence {
	int64_t number, length;
	int64_t first, last; /* its entries of the sparse labels */
	int64_t count;       /* of labels and blanks */
	int64_t *label;
};

/* The memory of one sequence, for the longest one. */
struct memory {
	double *log_y, *before, *after, *sum; /* [time, classes], twice [time, labels and blanks], [classes] */
	int64_t *label;
};

struct loss {
	struct extents extents;
	const struct dfg_tensor *inputs, *values;
	struct dfg_tensor *out[2];
	bool merge;
	struct memory memory;
};

static double log_add(double a, double b)
{
	const double more = a > b ? a : b, less = a > b ? b : a;
	return more == -MATH_INFINITY ? more : more + log1p_f64(exp_f64(less - more));
}

/* The logarithms of the probabilities of the classes at each time step. */
static void find_log_y(const struct loss *loss, const struct sequence *sequence)
{
	const struct extents *e = &loss->extents;
	for (int64_t t = 0; t < sequence->length; t++) {
		double *row = loss->memory.log_y + t * e->classes, most = -MATH_INFINITY, sum = 0;
		dfg_convert(DFG_F64, row, loss->inputs->dtype,
			dfg_tensor_at(loss->inputs, (t * e->batch + sequence->number) * e->classes), e->classes);
		for (int64_t c = 0; c < e->classes; c++)
			most = row[c] > most ? row[c] : most;
		for (int64_t c = 0; c < e->classes; c++)
			sum += exp_f64(row[c] - most);
		for (int64_t c = 0; c < e->classes; c++)
			row[c] -= most + log_f64(sum);
	}
}

/* Whether a path may stay at label u for another step, and whether it may leave out the blank before label u. */
static bool may_stay(const struct loss *loss, const struct sequence *sequence, int64_t u)
{
	return loss->merge || sequence->label[u] == loss->extents.classes - 1;
}

static bool may_skip(const struct loss *loss, const struct sequence *sequence, int64_t u)
{
	const int64_t blank = loss->extents.classes - 1;
	return u > 1 && sequence->label[u] != blank && !(loss->merge && sequence->label[u] == sequence->label[u - 2]);
}

static double log_of(const struct loss *loss, const struct sequence *sequence, int64_t t, int64_t u)
{
	return loss->memory.log_y[t * loss->extents.classes + sequence->label[u]];
}

/* before[t, u]: the probability of the paths up to t that end at u; after[t, u]: of those that follow. */
static void find_before(const struct loss *loss, const struct sequence *sequence)
{
	const int64_t n = sequence->count;
	for (int64_t t = 0; t < sequence->length; t++)
		for (int64_t u = 0; u < n; u++) {
			const double *last = loss->memory.before + (t - 1) * n;
			double sum = t == 0 && u < 2 ? 0 : -MATH_INFINITY;
			if (t && may_stay(loss, sequence, u))
				sum = log_add(sum, last[u]);
			if (t && u)
				sum = log_add(sum, last[u - 1]);
			if (t && may_skip(loss, sequence, u))
				sum = log_add(sum, last[u - 2]);
			loss->memory.before[t * n + u] = sum + log_of(loss, sequence, t, u);
		}
}

static void find_after(const struct loss *loss, const struct sequence *sequence)
{
	const int64_t n = sequence->count, end = sequence->length - 1;
	for (int64_t t = end; t >= 0; t--)
		for (int64_t u = 0; u < n; u++) {
			const double *next = loss->memory.after + (t + 1) * n;
			double sum = t == end && u >= n - 2 ? 0 : -MATH_INFINITY;
			if (t < end && may_stay(loss, sequence, u))
				sum = log_add(sum, next[u] + log_of(loss, sequence, t + 1, u));
			if (t < end && u + 1 < n)
				sum = log_add(sum, next[u + 1] + log_of(loss, sequence, t + 1, u + 1));
			if (t < end && u + 2 < n && may_skip(loss, sequence, u + 2))
				sum = log_add(sum, next[u + 2] + log_of(loss, sequence, t + 1, u + 2));
			loss->memory.after[t * n + u] = sum;
		}
}

/* The probability of each class less its part in the paths; where there is no path, the probability itself. */
static void give_slopes(const struct loss *loss, const struct sequence *sequence, double log_p)
{
	const struct extents *e = &loss->extents;
	const int64_t n = sequence->count;
	for (int64_t t = 0; t < sequence->length; t++) {
		double *sum = loss->memory.sum;
		for (int64_t c = 0; c < e->classes; c++)
			sum[c] = -MATH_INFINITY;
		for (int64_t u = 0; u < n && log_p > -MATH_INFINITY; u++) {
			double *of = &sum[sequence->label[u]];
			*of = log_add(*of, loss->memory.before[t * n + u] + loss->memory.after[t * n + u]);
		}
		for (int64_t c = 0; c < e->classes; c++) {
			const double part = log_p > -MATH_INFINITY ? exp_f64(sum[c] - log_p) : 0;
			dfg_put_real(loss->out[1]->dtype,
				dfg_tensor_at(loss->out[1], (t * e->batch + sequence->number) * e->classes + c),
				exp_f64(loss->memory.log_y[t * e->classes + c]) - part);
		}
	}
}

static void give_loss(const struct loss *loss, const struct sequence *sequence)
{
	double log_p = -MATH_INFINITY;
	find_log_y(loss, sequence);
	find_before(loss, sequence);
	find_after(loss, sequence);
	for (int64_t u = 0; u < sequence->count; u++)
		log_p = log_add(log_p, loss->memory.before[u] + loss->memory.after[u]);
	dfg_put_real(loss->out[0]->dtype, dfg_tensor_at(loss->out[0], sequence->number), -log_p);
	give_slopes(loss, sequence, log_p);
}

/* Puts the labels with blanks between them; a label that is the blank ends them. */
static struct dfg_err *read_labels(const struct loss *loss, bool collapse, struct sequence *sequence)
{
	const int32_t *value = loss->values->data;
	const int64_t blank = loss->extents.classes - 1;
	bool ended = false;
	sequence->label = loss->memory.label;
	sequence->label[0] = blank;
	sequence->count = 1;
	for (int64_t i = sequence->first; i < sequence->last; i++) {
		if (collapse && i > sequence->first && value[i] == value[i - 1])
			continue;
		if (value[i] < 0 || (ended && value[i] < blank))
			return DFG_ERR(DFG_DATA, "label %" PRId32 " of sequence %" PRId64 " %s", value[i], sequence->number,
				value[i] < 0 ? "is negative" : "follows a blank");
		ended |= value[i] >= blank;
		if (value[i] >= blank)
			continue;
		sequence->label[sequence->count++] = value[i];
		sequence->label[sequence->count++] = blank;
	}
	return NULL;
}

/* The entries of each sequence, in order; *out_longest is the most of a sequence. */
static struct dfg_err *find_entries(const struct dfg_kernel *ctx, int64_t batch, int64_t *first, int64_t *out_longest)
{
	const struct dfg_tensor *indices = dfg_kernel_input(ctx, INDICES);
	const int64_t n = indices->shape.dim[0], *index = indices->data;
	int64_t b = 0;
	*out_longest = 0;
	first[0] = 0;
	for (int64_t i = 0; i < n; i++) {
		if (index[2 * i] < b || index[2 * i] >= batch)
			return DFG_ERR(DFG_DATA,
				"labels_indices[%" PRId64 "] is of sequence %" PRId64 ", expected ascending numbers less than %" PRId64,
				i, index[2 * i], batch);
		while (b < index[2 * i])
			first[++b] = i;
		*out_longest = i + 1 - first[b] > *out_longest ? i + 1 - first[b] : *out_longest;
	}
	while (b < batch)
		first[++b] = n;
	return NULL;
}

static struct dfg_err *take_numbers(struct dfg_kernel *ctx, int64_t rows, int64_t columns, double **out_memory)
{
	const struct dfg_shape shape = {.rank = 2, .dim = {rows, columns}};
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(&shape, DFG_F64, &bytes));
	return dfg_kernel_scratch(ctx, bytes + 1, (void **)out_memory);
}

static struct dfg_err *take_memory(struct dfg_kernel *ctx, struct loss *loss, int64_t longest)
{
	double *label;
	DFG_TRY(take_numbers(ctx, loss->extents.time, loss->extents.classes, &loss->memory.log_y));
	DFG_TRY(take_numbers(ctx, loss->extents.time, 2 * longest + 1, &loss->memory.before));
	DFG_TRY(take_numbers(ctx, loss->extents.time, 2 * longest + 1, &loss->memory.after));
	DFG_TRY(take_numbers(ctx, 1, loss->extents.classes, &loss->memory.sum));
	DFG_TRY(take_numbers(ctx, 1, 2 * longest + 1, &label));
	loss->memory.label = (int64_t *)label;
	return NULL;
}

static struct dfg_err *run_sequence(struct dfg_kernel *ctx, struct loss *loss, struct sequence *sequence)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	DFG_TRY(dfg_ctc_length(ctx, LENGTHS, sequence->number, loss->extents.time, &sequence->length));
	DFG_TRY(read_labels(loss, attr[COLLAPSE].b, sequence));
	/* All of them, as TensorFlow counts, whatever collapses. */
	const int64_t labels = sequence->last - sequence->first;
	if (sequence->first == sequence->last)
		return DFG_ERR(DFG_DATA, "sequence %" PRId64 " has no labels", sequence->number);
	if (labels > sequence->length && !attr[IGNORE_LONGER].b)
		return DFG_ERR(DFG_DATA, "sequence %" PRId64 " has %" PRId64 " labels, more than its %" PRId64 " time steps",
			sequence->number, labels, sequence->length);
	if (sequence->length && labels <= sequence->length)
		give_loss(loss, sequence);
	return NULL;
}

static struct dfg_err *loss_run(struct dfg_kernel *ctx)
{
	struct loss loss = {.inputs = dfg_kernel_input(ctx, INPUTS),
		.values = dfg_kernel_input(ctx, VALUES),
		.merge = dfg_kernel_attr(ctx)[MERGE].b};
	struct dfg_shape shape[2];
	int64_t *first, longest;
	DFG_TRY(dfg_shapes_now(ctx, 2, shape));
	loss.extents = extents_of(loss.inputs);
	for (int i = 0; i < 2; i++) {
		DFG_TRY(dfg_kernel_output(ctx, i, &shape[i], &loss.out[i]));
		memset(loss.out[i]->data, 0, dfg_tensor_bytes(loss.out[i]));
	}
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)loss.extents.batch + 1) * sizeof *first, (void **)&first));
	DFG_TRY(find_entries(ctx, loss.extents.batch, first, &longest));
	DFG_TRY(take_memory(ctx, &loss, longest));
	for (int64_t b = 0; b < loss.extents.batch; b++)
		DFG_TRY(run_sequence(ctx, &loss, &(struct sequence){.number = b, .first = first[b], .last = first[b + 1]}));
	return NULL;
}

static struct dfg_err *loss_shape(struct dfg_infer *node)
{
	const struct dfg_shape *indices = node->in[INDICES], *values = node->in[VALUES], *in = node->in[INPUTS];
	const struct dfg_shape pairs = {.rank = 2, .dim = {values->rank == 1 ? values->dim[0] : DFG_UNKNOWN, 2}};
	DFG_TRY(dfg_ctc_check_inputs(node, LENGTHS));
	DFG_TRY(dfg_need_rank(node, VALUES, 1));
	if (!dfg_shape_fits(indices, &pairs))
		return DFG_ERR(DFG_DATA, "labels_indices are %s and labels_values %s, expected [n,2] and [n]",
			dfg_shape_words(indices).s, dfg_shape_words(values).s);
	node->out[0] = DFG_SHAPE_VECTOR(in->rank < 0 ? DFG_UNKNOWN : in->dim[1]);
	node->out[1] = *in;
	return NULL;
}

/* The slopes are an output; they have no derivative, so neither has the gradient. */
static struct dfg_err *loss_gradient(struct dfg_gradient *node)
{
	if (dfg_gradient_has(node, 1))
		return DFG_ERR(DFG_DATA, "there is no gradient of output 'gradient': CTCLoss has no second derivative");
	return dfg_gradient_formula(node, "dinputs = gradient * ExpandDims(dloss, -1)");
}

const struct dfg_op dfg_op_CTCLoss = {
	.name = "CTCLoss",
	.doc = "CTC loss of sparse labels, where the last class is the blank, and its gradient with respect to inputs",
	.sig =
		"<T: f32|f64 = f32>(inputs: T, labels_indices: i64, labels_values: i32, sequence_length: i32) -> "
		"(loss: T, gradient: T)",
	.attr = {[COLLAPSE] = "preprocess_collapse_repeated: bool = false",
		[MERGE] = "ctc_merge_repeated: bool = true",
		[IGNORE_LONGER] = "ignore_longer_outputs_than_inputs: bool = false"},
	.flags = DFG_EXPENSIVE | DFG_ANY_RANK,
	.shape = loss_shape,
	.gradient_fn = loss_gradient,
	.run = loss_run,
};

/* The most probable class of each time step. */

enum { GREEDY_LENGTHS = 1 };
enum { GREEDY_MERGE, GREEDY_BLANK };
enum { DECODED_INDICES, DECODED_VALUES, DECODED_SHAPE, LOG_PROBABILITY };

static struct dfg_err *greedy_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_ctc_check_inputs(node, GREEDY_LENGTHS));
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
	const struct dfg_tensor *lengths = dfg_kernel_input(ctx, GREEDY_LENGTHS);
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
		DFG_TRY(dfg_ctc_length(ctx, GREEDY_LENGTHS, b, e.time, &length));
		count[b] = decode(ctx, b, length, NULL, &sum);
		dfg_put_real(score->dtype, dfg_tensor_at(score, b), sum);
	}
	return give_decoded(ctx, &e, count);
}

const struct dfg_op dfg_op_CTCGreedyDecoder = {
	.name = "CTCGreedyDecoder",
	.doc =
		"the most probable class of each time step without blanks, as a sparse tensor, and minus the sums of their "
		"logits",
	.sig =
		"<T: f32|f64 = f32>(inputs: T, sequence_length: i32) -> "
		"(decoded_indices: i64, decoded_values: i64, decoded_shape: i64, log_probability: T)",
	.attr = {[GREEDY_MERGE] = "merge_repeated: bool = false", [GREEDY_BLANK] = "blank_index: int = -1"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK,
	.shape = greedy_shape,
	.run = greedy_run,
};
