/*
 * Candidate samplers, for losses over few of many classes (Jean et al. 2015): classes drawn from a distribution over
 * [0, range_max), with the numbers of times that the true and the drawn classes were to be expected.
 */
#include "kernels/random.h"
#include "kernels/random_words.h"
#include "kernels/shape_rules.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/exec/state/state.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Attributes: random streams read the first two. */
enum { SEED, SEED2, NUM_TRUE, NUM_SAMPLED, UNIQUE, RANGE_MAX };
enum { DISTORTION = RANGE_MAX + 1, RESERVED, SHARDS, SHARD, UNIGRAMS, VOCAB_FILE };
enum { SAMPLED, TRUE_EXPECTED, SAMPLED_EXPECTED };
enum { WORDS_OF_CANDIDATE = 2048 };

/* A distribution over classes. */
struct distribution {
	int64_t (*draw)(const struct distribution *of, struct words *words);
	double (*probability)(const struct distribution *of, int64_t class);
	int64_t range;
	int64_t possible;     /* classes with a probability that is not 0 */
	const double *weight; /* by class */
	double total;         /* of the weights */
	const double *sum;    /* of the weights up to and with a class */
	const double *keep;   /* of the alias method: the probability that a slot gives its own class, not alias[slot] */
	const int32_t *alias;
};

/* Uniform whole numbers below n, without the bias of a remainder. */
static uint32_t below_32(struct words *words, uint32_t n)
{
	if (!(n & (n - 1)))
		return next_word(words) & (n - 1);
	const uint32_t rest = UINT32_MAX % n + 1;
	for (;;) {
		const uint32_t word = next_word(words);
		if (word >= rest)
			return word % n;
	}
}

static uint64_t below_64(struct words *words, uint64_t n)
{
	const uint64_t rest = n & (n - 1) ? UINT64_MAX % n + 1 : 0;
	for (;;) {
		const uint64_t low = next_word(words), number = low | (uint64_t)next_word(words) << 32;
		if (number >= rest)
			return number % n;
	}
}

static int64_t draw_uniform(const struct distribution *of, struct words *words)
{
	return (int64_t)below_64(words, (uint64_t)of->range);
}

static double uniform_probability(const struct distribution *of, int64_t class)
{
	(void)class;
	return 1 / (double)of->range;
}

/* Zipf's law: the probability of class c is proportional to log((c + 2) / (c + 1)). */
static int64_t draw_log_uniform(const struct distribution *of, struct words *words)
{
	const double drawn = exp_f64(next_unit_word(words) * log_f64((double)of->range + 1));
	return (int64_t)drawn - 1 < of->range ? (int64_t)drawn - 1 : ((int64_t)drawn - 1) % of->range;
}

static double log_uniform_probability(const struct distribution *of, int64_t class)
{
	return log_f64(((double)class + 2) / ((double)class + 1)) / log_f64((double)of->range + 1);
}

static double weight_probability(const struct distribution *of, int64_t class)
{
	return class >= 0 && class < of->range ? of->weight[class] / of->total : 0;
}

/* The class whose part of the sum of whole weights a number is in. */
static int64_t draw_by_sum(const struct distribution *of, struct words *words)
{
	const double number = (double)below_32(words, (uint32_t)of->total);
	int64_t low = 0;
	for (int64_t high = of->range - 1; low < high;) {
		const int64_t middle = low + (high - low) / 2;
		if (of->sum[middle] <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int64_t draw_by_alias(const struct distribution *of, struct words *words)
{
	const float number = unit_f32(next_word(words));
	const uint32_t slot = below_32(words, (uint32_t)of->range);
	return number < (float)of->keep[slot] ? (int64_t)slot : of->alias[slot];
}

/* Drawing. */

/* The numbers that were drawn, to draw each once: open addressing; a slot is a number + 1. */
struct drawn_set {
	uint64_t mask, *slot;
};

static struct dfg_err *set_init(struct dfg_kernel *ctx, int64_t most, struct drawn_set *set)
{
	uint64_t slots = 16;
	while (slots < 2 * (uint64_t)most)
		slots *= 2;
	set->mask = slots - 1;
	DFG_TRY(dfg_kernel_scratch(ctx, slots * sizeof *set->slot, (void **)&set->slot));
	memset(set->slot, 0, slots * sizeof *set->slot);
	return NULL;
}

/* Whether the set did not have the number. */
static bool set_add(struct drawn_set *set, int64_t number)
{
	const uint64_t entry = (uint64_t)number + 1;
	uint64_t at = dfg_hash_bytes(dfg_hash_key, &number, sizeof number) & set->mask;
	for (; set->slot[at]; at = (at + 1) & set->mask)
		if (set->slot[at] == entry)
			return false;
	set->slot[at] = entry;
	return true;
}

/* How often a class of this probability is expected among the tries, or whether at all if each is drawn once. */
static float expected_count(double probability, int64_t count, int64_t tries)
{
	if (tries == count)
		return (float)(probability * (double)count);
	return (float)-expm1_f64((double)tries * log1p_f64(-probability));
}

static struct dfg_err *draw_all(
	struct dfg_kernel *ctx, const struct distribution *of, struct words *words, int64_t *out, int64_t *out_tries)
{
	const int64_t count = dfg_kernel_attr(ctx)[NUM_SAMPLED].i;
	const bool unique = dfg_kernel_attr(ctx)[UNIQUE].b;
	struct drawn_set set;
	if (unique && count > of->possible)
		return DFG_ERR(DFG_DATA, "num_sampled is %" PRId64 ", but only %" PRId64 " different classes can be drawn",
			count, of->possible);
	DFG_TRY(set_init(ctx, unique ? count : 0, &set));
	*out_tries = 0;
	for (int64_t n = 0; n < count; ++*out_tries) {
		const int64_t class = of->draw(of, words);
		if (!unique || set_add(&set, class))
			out[n++] = class;
	}
	return NULL;
}

static struct dfg_err *give_candidates(struct dfg_kernel *ctx, const struct distribution *of)
{
	const int64_t count = dfg_kernel_attr(ctx)[NUM_SAMPLED].i;
	const struct dfg_tensor *given = dfg_kernel_input(ctx, 0);
	struct dfg_shape shape[3];
	struct dfg_tensor *out[3];
	struct dfg_philox philox;
	int64_t tries;
	DFG_TRY(dfg_shapes_now(ctx, 3, shape));
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_kernel_output(ctx, i, &shape[i], &out[i]));
	DFG_TRY(dfg_random_stream(ctx, (uint64_t)count * WORDS_OF_CANDIDATE / 4, &philox));
	struct words words = words_of(philox);
	DFG_TRY(draw_all(ctx, of, &words, out[SAMPLED]->data, &tries));
	for (int64_t i = 0; i < count; i++)
		((float *)out[SAMPLED_EXPECTED]->data)[i] =
			expected_count(of->probability(of, ((const int64_t *)out[SAMPLED]->data)[i]), count, tries);
	for (int64_t i = 0, n = dfg_shape_count(&given->shape); i < n; i++)
		((float *)out[TRUE_EXPECTED]->data)[i] =
			expected_count(of->probability(of, ((const int64_t *)given->data)[i]), count, tries);
	return NULL;
}

static struct dfg_err *check_true(const struct dfg_shape *given, int64_t num_true)
{
	if (given->rank < 0 || (given->rank == 2 && (given->dim[1] < 0 || given->dim[1] == num_true)))
		return NULL;
	return DFG_ERR(DFG_DATA, "true_classes are %s, expected a matrix with num_true = %" PRId64 " columns",
		dfg_shape_words(given).s, num_true);
}

static struct dfg_err *all_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	DFG_TRY(check_true(node->in[0], attr[NUM_TRUE].i));
	node->out[SAMPLED] = node->out[SAMPLED_EXPECTED] = DFG_SHAPE_VECTOR(attr[NUM_SAMPLED].i);
	node->out[TRUE_EXPECTED] = (struct dfg_shape){
		.rank = 2, .dim = {node->in[0]->rank < 0 ? DFG_UNKNOWN : node->in[0]->dim[0], attr[NUM_TRUE].i}};
	return NULL;
}

static struct dfg_err *candidates_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	if (attr[UNIQUE].b && attr[NUM_SAMPLED].i > attr[RANGE_MAX].i)
		return DFG_ERR(DFG_DATA, "num_sampled is %" PRId64 ", but there are only %" PRId64 " different classes",
			attr[NUM_SAMPLED].i, attr[RANGE_MAX].i);
	return all_shape(node);
}

static struct dfg_err *uniform_run(struct dfg_kernel *ctx)
{
	const int64_t range = dfg_kernel_attr(ctx)[RANGE_MAX].i;
	return give_candidates(
		ctx, &(struct distribution){
				 .draw = draw_uniform, .probability = uniform_probability, .range = range, .possible = range});
}

static struct dfg_err *log_uniform_run(struct dfg_kernel *ctx)
{
	const int64_t range = dfg_kernel_attr(ctx)[RANGE_MAX].i;
	return give_candidates(
		ctx, &(struct distribution){
				 .draw = draw_log_uniform, .probability = log_uniform_probability, .range = range, .possible = range});
}

/* Weights that are learned: one and how often a class was a true one. The session keeps them by the node's name. */

static struct dfg_err *find_counts(struct dfg_kernel *ctx, int64_t range, struct dfg_variable **out_counts)
{
	struct dfg_state *state = ctx->host->state(ctx);
	struct dfg_text name = {0};
	struct dfg_tensor zeros;
	if (!state)
		return DFG_ERR(DFG_DATA, "%s requires a session", ctx->call->op->name);
	dfg_text_add(&name, "dfg/counts/%s", ctx->call->node);
	struct dfg_err *err = dfg_text_check(&name);
	if (!err)
		err = dfg_state_variable(state, name.s, DFG_I64, &DFG_SHAPE_VECTOR(range), out_counts);
	dfg_text_release(&name);
	DFG_TRY(err);
	pthread_mutex_lock(&(*out_counts)->lock);
	const bool set = (*out_counts)->set;
	pthread_mutex_unlock(&(*out_counts)->lock);
	if (set)
		return NULL;
	DFG_TRY(dfg_tensor_new(DFG_I64, &DFG_SHAPE_VECTOR(range), &zeros));
	memset(zeros.data, 0, dfg_tensor_bytes(&zeros));
	return dfg_variable_assign(*out_counts, &zeros);
}

/* Copies the weights and their sums, then adds the true classes of this step, which count from the next step on. */
static struct dfg_err *read_counts(struct dfg_kernel *ctx, struct dfg_variable *counts, double *weight, double *sum)
{
	const struct dfg_tensor *given = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *value;
	DFG_TRY(dfg_variable_lock(counts, &value));
	const int64_t range = value->shape.dim[0];
	int64_t *count = value->data;
	for (int64_t c = 0; c < range; c++) {
		weight[c] = 1 + (double)count[c];
		sum[c] = weight[c] + (c ? sum[c - 1] : 0);
	}
	for (int64_t i = 0, n = dfg_shape_count(&given->shape); i < n; i++) {
		const int64_t class = ((const int64_t *)given->data)[i];
		if (class >= 0 && class < range)
			count[class]++;
	}
	dfg_variable_unlock(counts);
	return NULL;
}

static struct dfg_err *check_classes(struct dfg_kernel *ctx, int64_t range)
{
	const struct dfg_tensor *given = dfg_kernel_input(ctx, 0);
	for (int64_t i = 0, n = dfg_shape_count(&given->shape); i < n; i++) {
		const int64_t class = ((const int64_t *)given->data)[i];
		if (class < 0 || class >= range)
			return DFG_ERR(DFG_DATA, "true class %" PRId64 " is not in [0, %" PRId64 ")", class, range);
	}
	return NULL;
}

static struct dfg_err *learned_run(struct dfg_kernel *ctx)
{
	const int64_t range = dfg_kernel_attr(ctx)[RANGE_MAX].i;
	const struct dfg_shape numbers = {.rank = 2, .dim = {2, range}};
	struct dfg_variable *counts;
	double *weight;
	size_t bytes;
	DFG_TRY(check_classes(ctx, range));
	DFG_TRY(dfg_shape_bytes(&numbers, DFG_F64, &bytes));
	DFG_TRY(dfg_kernel_scratch(ctx, bytes, (void **)&weight));
	DFG_TRY(find_counts(ctx, range, &counts));
	DFG_TRY(read_counts(ctx, counts, weight, weight + range));
	const double total = weight[2 * range - 1];
	if (total > UINT32_MAX)
		return DFG_ERR(DFG_DATA, "%g true classes were counted: the limit is 2^32", total);
	return give_candidates(ctx, &(struct distribution){.draw = draw_by_sum,
									.probability = weight_probability,
									.range = range,
									.possible = range,
									.weight = weight,
									.total = total,
									.sum = weight + range});
}

/* Weights that are given, by Walker's alias method. */

/* Pairs each class that is drawn less often than the average with one that is drawn more often. */
static void find_aliases(int64_t n, const double *weight, double total, double *keep, int32_t *alias, int32_t *stack)
{
	int64_t low = 0, high = n; /* the ends of two stacks, which grow towards each other */
	for (int64_t i = 0; i < n; i++) {
		keep[i] = weight[i] * (double)n / total;
		alias[i] = (int32_t)i;
		stack[keep[i] < 1 ? low++ : --high] = (int32_t)i;
	}
	while (low && high < n) {
		const int32_t rare = stack[--low], often = stack[high++];
		alias[rare] = often;
		keep[often] -= 1 - keep[rare];
		stack[keep[often] < 1 ? low++ : --high] = often;
	}
	while (low)
		keep[stack[--low]] = 1;
	while (high < n)
		keep[stack[high++]] = 1;
}

/* The weights of the classes of this shard: 0 for reserved ones, then the unigrams to the power of the distortion. */
static int64_t read_weights(const union dfg_value *attr, double *weight)
{
	const int64_t reserved = attr[RESERVED].i, shards = attr[SHARDS].i, shard = attr[SHARD].i;
	int64_t classes = 0;
	for (int64_t i = 0; i < reserved; i++)
		if (i % shards == shard)
			weight[classes++] = 0;
	int64_t class = classes;
	for (uint32_t i = 0; i < attr[UNIGRAMS].list->count; i++, class ++)
		if (class % shards == shard)
			weight[classes++] = (double)(float)dfg_math_pow(attr[UNIGRAMS].list->item[i].f, attr[DISTORTION].f);
	return classes;
}

static struct dfg_err *fixed_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	const int64_t given = attr[UNIGRAMS].list->count;
	if (attr[VOCAB_FILE].s.length)
		return DFG_ERR(DFG_DATA, "vocab_file is not supported: give the counts as unigrams");
	if (!given)
		return DFG_ERR(DFG_DATA, "unigrams is empty, expected the counts of the classes");
	if (attr[RESERVED].i < 0 || attr[RESERVED].i > attr[RANGE_MAX].i)
		return DFG_ERR(DFG_DATA, "num_reserved_ids is %" PRId64 ", expected 0 to %" PRId64 " (range_max)",
			attr[RESERVED].i, attr[RANGE_MAX].i);
	if (attr[SHARD].i >= attr[SHARDS].i)
		return DFG_ERR(DFG_DATA, "shard is %" PRId64 ", expected less than %" PRId64 " (num_shards)", attr[SHARD].i,
			attr[SHARDS].i);
	return candidates_shape(node);
}

static struct dfg_err *fixed_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const int64_t most = attr[RESERVED].i + attr[UNIGRAMS].list->count;
	const struct dfg_shape numbers = {.rank = 2, .dim = {3, most}};
	struct distribution of = {.draw = draw_by_alias, .probability = weight_probability};
	double *weight;
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(&numbers, DFG_F64, &bytes));
	DFG_TRY(dfg_kernel_scratch(ctx, bytes + 1, (void **)&weight));
	of.range = read_weights(attr, weight);
	if (of.range != attr[RANGE_MAX].i)
		return DFG_ERR(
			DFG_DATA, "range_max is %" PRId64 ", but there are %" PRId64 " classes", attr[RANGE_MAX].i, of.range);
	for (int64_t c = 0; c < of.range; c++) {
		if (!(weight[c] >= 0 && weight[c] < MATH_INFINITY))
			return DFG_ERR(DFG_DATA, "the weight of class %" PRId64 " is %g, expected a finite number of at least 0", c,
				weight[c]);
		of.total += weight[c];
		of.possible += weight[c] > 0;
	}
	if (!of.possible)
		return DFG_ERR(DFG_DATA, "no class has a weight above 0");
	double *keep = weight + of.range;
	int32_t *alias = (int32_t *)(keep + of.range);
	find_aliases(of.range, weight, of.total, keep, alias, alias + of.range);
	of.weight = weight;
	of.keep = keep;
	of.alias = alias;
	return give_candidates(ctx, &of);
}

/* Every class is drawn, and so is expected once. */
static struct dfg_err *all_run(struct dfg_kernel *ctx)
{
	struct dfg_shape shape[3];
	struct dfg_tensor *out[3];
	DFG_TRY(dfg_shapes_now(ctx, 3, shape));
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_kernel_output(ctx, i, &shape[i], &out[i]));
	for (int64_t c = 0; c < shape[SAMPLED].dim[0]; c++)
		((int64_t *)out[SAMPLED]->data)[c] = c;
	for (int i = TRUE_EXPECTED; i <= SAMPLED_EXPECTED; i++)
		for (int64_t c = 0; c < dfg_shape_count(&shape[i]); c++)
			((float *)out[i]->data)[c] = 1;
	return NULL;
}

#define SIG "(true_classes: i64) -> (sampled_candidates: i64, true_expected_count: f32, sampled_expected_count: f32)"
#define DRAWN                                                                                \
	[SEED] = "seed: int = 0", [SEED2] = "seed2: int = 0", [NUM_TRUE] = "num_true: int >= 1", \
	[NUM_SAMPLED] = "num_sampled: int >= 1", [UNIQUE] = "unique: bool"
#define ATTR DRAWN, [RANGE_MAX] = "range_max: int >= 1"
#define SAMPLER(Op, text, kernel)                \
	const struct dfg_op dfg_op_##Op = {          \
		.name = #Op,                             \
		.doc = text,                             \
		.sig = SIG,                              \
		.attr = {ATTR},                          \
		.flags = DFG_STATEFUL | DFG_NO_GRADIENT, \
		.shape = candidates_shape,               \
		.run = kernel,                           \
	};
SAMPLER(UniformCandidateSampler,
	"classes drawn uniformly, and the expected counts of the true and of the drawn classes", uniform_run)
SAMPLER(LogUniformCandidateSampler,
	"classes drawn by Zipf's law, the first most often, and the expected counts of the true and of the drawn classes",
	log_uniform_run)
SAMPLER(LearnedUnigramCandidateSampler,
	"classes drawn by how often they were true before, and the expected counts of the true and of the drawn classes",
	learned_run)
SAMPLER(ThreadUnsafeUnigramCandidateSampler, "as LearnedUnigramCandidateSampler", learned_run)

const struct dfg_op dfg_op_AllCandidateSampler = {
	.name = "AllCandidateSampler",
	.doc = "all num_sampled classes in order, and 1 as the number of times that each is to be expected",
	.sig = SIG,
	.attr = {DRAWN},
	.flags = DFG_STATEFUL | DFG_NO_GRADIENT,
	.shape = all_shape,
	.run = all_run,
};

const struct dfg_op dfg_op_FixedUnigramCandidateSampler = {
	.name = "FixedUnigramCandidateSampler",
	.doc = "classes drawn by unigrams, their weights, and the expected counts of the true and of the drawn classes",
	.sig = SIG,
	.attr = {ATTR, [DISTORTION] = "distortion: float = 1.0", [RESERVED] = "num_reserved_ids: int = 0",
		[SHARDS] = "num_shards: int = 1 >= 1", [SHARD] = "shard: int = 0 >= 0",
		[UNIGRAMS] = "unigrams: list(float) = []", [VOCAB_FILE] = "vocab_file: string = ''"},
	.flags = DFG_STATEFUL | DFG_NO_GRADIENT,
	.shape = fixed_shape,
	.run = fixed_run,
};

/* True classes among the candidates. */

enum { INDICES, IDS, WEIGHTS };

static struct dfg_err *hits_shape(struct dfg_infer *node)
{
	DFG_TRY(check_true(node->in[0], node->call->attr[NUM_TRUE].i));
	DFG_TRY(dfg_need_rank(node, 1, 1));
	node->out[INDICES] = node->out[IDS] = node->out[WEIGHTS] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return NULL;
}

/* The last place of each candidate: places with open addressing; a slot is a place + 1. */
struct places {
	const int64_t *candidate;
	uint32_t *slot;
	uint64_t mask;
};

static uint32_t *find_place(const struct places *places, int64_t class)
{
	uint64_t at = dfg_hash_bytes(dfg_hash_key, &class, sizeof class) & places->mask;
	while (places->slot[at] && places->candidate[places->slot[at] - 1] != class)
		at = (at + 1) & places->mask;
	return &places->slot[at];
}

static struct dfg_err *find_places(struct dfg_kernel *ctx, const struct dfg_tensor *candidates, struct places *places)
{
	const int64_t count = candidates->shape.dim[0];
	uint64_t slots = 16;
	if (count > UINT32_MAX / 4)
		return DFG_ERR(DFG_MEMORY, "%" PRId64 " candidates are too many for a hash table", count);
	while (slots < 2 * (uint64_t)count)
		slots *= 2;
	*places = (struct places){.candidate = candidates->data, .mask = slots - 1};
	DFG_TRY(dfg_kernel_scratch(ctx, slots * sizeof *places->slot, (void **)&places->slot));
	memset(places->slot, 0, slots * sizeof *places->slot);
	for (int64_t i = 0; i < count; i++)
		*find_place(places, places->candidate[i]) = (uint32_t)i + 1;
	return NULL;
}

static struct dfg_err *hits_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *given = dfg_kernel_input(ctx, 0), *candidates = dfg_kernel_input(ctx, 1);
	const int64_t num_true = dfg_kernel_attr(ctx)[NUM_TRUE].i, n = dfg_shape_count(&given->shape);
	struct dfg_shape shape[3];
	struct dfg_tensor *out[3];
	struct places places;
	int64_t hits = 0;
	DFG_TRY(dfg_shapes_now(ctx, 3, shape));
	DFG_TRY(find_places(ctx, candidates, &places));
	for (int64_t i = 0; i < n; i++)
		hits += *find_place(&places, ((const int64_t *)given->data)[i]) > 0;
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_kernel_output(ctx, i, &DFG_SHAPE_VECTOR(hits), &out[i]));
	for (int64_t i = 0, hit = 0; i < n; i++) {
		const uint32_t place = *find_place(&places, ((const int64_t *)given->data)[i]);
		if (!place)
			continue;
		((int32_t *)out[INDICES]->data)[hit] = (int32_t)(i / num_true);
		((int64_t *)out[IDS]->data)[hit] = place - 1;
		((float *)out[WEIGHTS]->data)[hit++] = -FLT_MAX;
	}
	return NULL;
}

const struct dfg_op dfg_op_ComputeAccidentalHits = {
	.name = "ComputeAccidentalHits",
	.doc = "for each candidate that is a true class of a row: the row, the candidate's index, and the lowest f32",
	.sig = "(true_classes: i64, sampled_candidates: i64) -> (indices: i32, ids: i64, weights: f32)",
	.attr = {[SEED] = "seed: int = 0", [SEED2] = "seed2: int = 0", [NUM_TRUE] = "num_true: int >= 1"},
	.flags = DFG_NO_GRADIENT,
	.shape = hits_shape,
	.run = hits_run,
};
