/* Random choices: classes drawn by their logits, and rows in random order; the words are used as TensorFlow uses them. */
#include "kernels/random.h"
#include "kernels/random_words.h"
#include "kernels/shape_rules.h"
#include "kernels/strided_copy.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Classes. */

enum { LOGITS, NUM_SAMPLES, STATELESS_SEED };

/* sum[j] is the weight of classes 0 to j; a class whose logit is not finite has none. */
static double accumulate(const double *logit, int64_t classes, double *sum)
{
	double most = -INFINITY, total = 0;
	for (int64_t j = 0; j < classes; j++)
		if (isfinite(logit[j]) && logit[j] > most)
			most = logit[j];
	for (int64_t j = 0; j < classes; j++) {
		if (isfinite(logit[j]))
			total += exp_f64(logit[j] - most);
		sum[j] = total;
	}
	return total;
}

/* The number of elements that are at most `value`, in ascending order. */
static int64_t upper_bound(const double *sum, int64_t n, double value)
{
	int64_t low = 0;
	for (int64_t high = n; low < high;) {
		int64_t middle = low + (high - low) / 2;
		if (sum[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void put_class(struct dfg_tensor *out, int64_t i, int64_t class)
{
	if (out->dtype == DFG_I32)
		((int32_t *)out->data)[i] = (int32_t) class;
	else
		((int64_t *)out->data)[i] = class;
}

static struct dfg_err *draw_classes(struct dfg_kernel *ctx, int64_t samples, struct words *words)
{
	const struct dfg_tensor *logits = dfg_kernel_input(ctx, LOGITS);
	const int64_t rows = logits->shape.dim[0], classes = logits->shape.dim[1];
	struct dfg_tensor *out;
	double *row;
	DFG_TRY(dfg_kernel_output(ctx, 0, &(struct dfg_shape){.rank = 2, .dim = {rows, samples}}, &out));
	DFG_TRY(dfg_kernel_scratch(ctx, (2 * (size_t)classes + 1) * sizeof *row, (void **)&row));
	for (int64_t r = 0; r < rows; r++) {
		dfg_convert(DFG_F64, row, logits->dtype, dfg_tensor_at(logits, r * classes), classes);
		double total = accumulate(row, classes, row + classes);
		for (int64_t s = 0; s < samples; s++)
			put_class(out, r * samples + s, upper_bound(row + classes, classes, next_unit_word(words) * total));
	}
	return NULL;
}

static struct dfg_err *check_samples(const struct dfg_shape *logits, int64_t samples)
{
	if (samples != DFG_NOT_KNOWN && samples < 0)
		return DFG_ERR(DFG_DATA, "num_samples is %" PRId64 ", expected at least 0", samples);
	if (!logits->dim[1] && samples && samples != DFG_NOT_KNOWN && logits->dim[0])
		return DFG_ERR(DFG_DATA, "logits have shape %s: there is no class to draw", dfg_shape_words(logits).s);
	return NULL;
}

static struct dfg_err *classes_shape(struct dfg_infer *node)
{
	const int64_t samples = dfg_int_of(node, NUM_SAMPLES, 0);
	DFG_TRY(dfg_need_rank(node, LOGITS, 2));
	DFG_TRY(dfg_need_rank(node, NUM_SAMPLES, 0));
	node->out[0] = (struct dfg_shape){.rank = 2, .dim = {DFG_UNKNOWN, DFG_UNKNOWN}};
	if (node->in[LOGITS]->rank < 0)
		return NULL;
	DFG_TRY(check_samples(node->in[LOGITS], samples));
	node->out[0].dim[0] = node->in[LOGITS]->dim[0];
	node->out[0].dim[1] = samples == DFG_NOT_KNOWN ? DFG_UNKNOWN : samples;
	return NULL;
}

/* The number of samples, checked, and the blocks that TensorFlow reserves for them. */
static struct dfg_err *read_samples(struct dfg_kernel *ctx, int64_t *out_samples, uint64_t *out_blocks)
{
	struct dfg_shape shape;
	int64_t count;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	DFG_TRY(dfg_dim_product(shape.dim[0], shape.dim[1], &count));
	*out_samples = shape.dim[1];
	*out_blocks = (uint64_t)shape.dim[0] * (((uint64_t)shape.dim[1] + 3) / 4 * 4) * 2 * 256;
	return NULL;
}

static struct dfg_err *multinomial_run(struct dfg_kernel *ctx)
{
	struct dfg_philox philox;
	int64_t samples;
	uint64_t blocks;
	DFG_TRY(read_samples(ctx, &samples, &blocks));
	DFG_TRY(dfg_random_stream(ctx, blocks, &philox));
	struct words words = words_of(philox);
	return draw_classes(ctx, samples, &words);
}

const struct dfg_op dfg_op_Multinomial = {
	.name = "Multinomial",
	.doc = "num_samples classes for each row of logits, which are logarithms of weights; new ones each time",
	.sig = "<T: float, output_dtype: index = i64>(logits: T, num_samples: i32) -> (output: output_dtype)",
	.attr = {"seed: int = 0", "seed2: int = 0"},
	.flags = DFG_NO_GRADIENT | DFG_STATEFUL,
	.shape = classes_shape,
	.run = multinomial_run,
};

static struct dfg_err *stateless_multinomial_run(struct dfg_kernel *ctx)
{
	struct dfg_philox philox;
	int64_t samples;
	uint64_t blocks;
	DFG_TRY(read_samples(ctx, &samples, &blocks));
	DFG_TRY(dfg_random_seed(ctx, STATELESS_SEED, &philox));
	struct words words = words_of(philox);
	return draw_classes(ctx, samples, &words);
}

const struct dfg_op dfg_op_StatelessMultinomial = {
	.name = "StatelessMultinomial",
	.doc = "num_samples classes for each row of logits, which are logarithms of weights; from a seed",
	.sig =
		"<T: float, Tseed: index = i64, output_dtype: index = i64>(logits: T, num_samples: i32, seed: Tseed) -> "
		"(output: output_dtype)",
	.flags = DFG_NO_GRADIENT,
	.shape = classes_shape,
	.run = stateless_multinomial_run,
};

/* Order. */

static struct dfg_err *same_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

/* A random permutation by Fisher and Yates: each position is exchanged with one that is not before it. */
static void permute(int64_t *order, int64_t n, struct words *words)
{
	for (int64_t i = 0; i < n; i++)
		order[i] = i;
	for (int64_t i = 0; i + 1 < n; i++) {
		int64_t j = i + next_word(words) % (uint32_t)(n - i), first = order[i];
		order[i] = order[j];
		order[j] = first;
	}
}

static struct dfg_err *copy_rows(struct dfg_kernel *ctx, const struct dfg_tensor *from, const int64_t *order)
{
	const int64_t rows = from->shape.dim[0], each = rows ? dfg_shape_count(&from->shape) / rows : 0;
	const size_t bytes = (size_t)each * dfg_dtype_size(from->dtype);
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_output(ctx, 0, &from->shape, &out));
	for (int64_t r = 0; r < rows && bytes; r++)
		memcpy((char *)out->data + (size_t)r * bytes, (const char *)from->data + (size_t)order[r] * bytes, bytes);
	return dfg_moved(ctx, 0);
}

/* The rows of value in the random order of a stream. */
static struct dfg_err *shuffle(struct dfg_kernel *ctx, struct dfg_philox philox)
{
	const struct dfg_tensor *value = dfg_kernel_input(ctx, 0);
	const int64_t rows = value->shape.dim[0];
	int64_t *order;
	struct words words = words_of(philox);
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)rows * sizeof *order, (void **)&order));
	permute(order, rows, &words);
	return copy_rows(ctx, value, order);
}

/* The number of rows to be shuffled; 1 where there is one order only. */
static struct dfg_err *count_rows(const struct dfg_tensor *value, int64_t *out_rows)
{
	*out_rows = value->shape.rank && value->shape.dim[0] > 1 ? value->shape.dim[0] : 1;
	if (*out_rows > INT32_MAX)
		return DFG_ERR(DFG_DATA, "value has %" PRId64 " rows: the limit is %d", *out_rows, INT32_MAX);
	return NULL;
}

static struct dfg_err *shuffle_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *value = dfg_kernel_input(ctx, 0);
	struct dfg_philox philox;
	int64_t rows;
	DFG_TRY(count_rows(value, &rows));
	if (rows == 1)
		return dfg_kernel_view(ctx, 0, 0, &value->shape);
	DFG_TRY(dfg_random_stream(ctx, ((uint64_t)rows + 3) / 4, &philox));
	return shuffle(ctx, philox);
}

const struct dfg_op dfg_op_RandomShuffle = {
	.name = "RandomShuffle",
	.doc = "the rows of value in random order, a new one each time",
	.sig = "<T: type>(value: T) -> (output: T)",
	.attr = {"seed: int = 0", "seed2: int = 0"},
	.flags = DFG_NO_GRADIENT | DFG_STATEFUL | DFG_ANY_RANK,
	.shape = same_shape,
	.run = shuffle_run,
};

enum { KEY = 1 };

static struct dfg_err *stateless_shuffle_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, KEY, 1));
	DFG_TRY(dfg_need_rank(node, KEY + 1, 1));
	DFG_TRY(dfg_need_rank(node, KEY + 2, 0));
	return same_shape(node);
}

static struct dfg_err *stateless_shuffle_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *value = dfg_kernel_input(ctx, 0);
	struct dfg_philox philox;
	int64_t rows;
	DFG_TRY(dfg_random_key(ctx, KEY, &philox));
	DFG_TRY(count_rows(value, &rows));
	return rows == 1 ? dfg_kernel_view(ctx, 0, 0, &value->shape) : shuffle(ctx, philox);
}

const struct dfg_op dfg_op_StatelessShuffle = {
	.name = "StatelessShuffle",
	.doc = "the rows of value in the random order of a key and a counter",
	.sig = "<T: type>(value: T, key: u64, counter: u64, alg: i32) -> (output: T)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK,
	.shape = stateless_shuffle_shape,
	.run = stateless_shuffle_run,
};
