#include "app/dataset.h"

#include "app/replication.h"

#include "lib/base/random.h"
#include "remote/batch_rows.h"

#include <string.h>

/* The file must have the type of the graph's placeholder, except for the number of samples. */
static struct dfg_err *check_type(const struct dfg_model *model, const struct dfg_dataset_input *input)
{
	const struct dfg_inferred *fact = dfg_model_fact(model, input->edge);
	struct dfg_shape sample = input->all.shape;
	if (!sample.rank)
		return DFG_ERR(DFG_DATA, "%s is one value, not a list of samples", input->file);
	sample.dim[0] = DFG_UNKNOWN;
	if (fact->dtype != input->all.dtype || !dfg_shape_fits(&sample, &fact->shape))
		return DFG_ERR(DFG_DATA, "%s holds samples of %s, but '%s' is %s%s%s", input->file,
			dfg_type_words(input->all.dtype, &sample).s, input->name, dfg_type_words(fact->dtype, &fact->shape).s,
			input->unfit ? ": " : "", input->unfit ? input->unfit->text : "");
	return NULL;
}

/* "beta:@FILE": the text before the first ":@" is the host, as names of hosts contain no '@'. */
static struct dfg_err *open_elsewhere(struct dfg_model *model, const struct dfg_distributed *distributed,
	const struct dfg_array_input *wanted, struct dfg_dataset_input *input)
{
	const char *at = strstr(input->file, ":@");
	const char *host = dfg_arena_copy(&model->arena, input->file, (size_t)(at - input->file));
	struct dfg_coordinator_source source;
	if (!host)
		return dfg_no_memory("the inputs of the data set");
	if (!distributed)
		return DFG_ERR(DFG_USAGE, "'%s': '%s' is not a host of this run, which is local", input->file, host);
	DFG_TRY(dfg_distributed_source(distributed, input->name, input->edge.node, host, at + 2, wanted, &source));
	input->all = source.all;
	input->is_remote = true;
	input->source = source.number;
	return NULL;
}

static struct dfg_err *open_spread(const struct dfg_distributed *distributed, const char *words,
	const struct dfg_array_input *wanted, struct dfg_dataset_input *input)
{
	if (!distributed)
		return DFG_ERR(DFG_USAGE, "'%s': this run is local and has no other hosts", input->file);
	return dfg_spread_open(distributed, words, input->edge.node, wanted, &input->spread, &input->all);
}

static struct dfg_err *open_input(struct dfg_model *model, const struct dfg_distributed *distributed, const char *word,
	struct dfg_dataset_input *input)
{
	const char *equals = strchr(word, '=');
	const char *host = dfg_data_host(word), *copied = equals ? dfg_spread_copied(equals + 1) : NULL;
	bool here = equals && equals[1] == '@' && equals[2], spread = equals && dfg_spread_is(equals + 1);
	if (!here && !host && !spread)
		return DFG_ERR(DFG_USAGE, "'%s' is not NAME=@FILE or NAME=HOST:@FILE", word);
	input->name = dfg_arena_copy(&model->arena, word, (size_t)(equals - word));
	input->file = equals + 1 + here;
	if (copied && !distributed) { /* this machine is the only host */
		here = true;
		spread = false;
		input->file = copied;
	}
	if (host && distributed && distributed->options.replicas > 1) /* a shard may be computed on another host */
		spread = true;
	if (!input->name)
		return dfg_no_memory("the inputs of the data set");
	DFG_TRY(dfg_model_tensor(model, input->name, &input->edge));
	const struct dfg_inferred *fact = dfg_model_fact(model, input->edge);
	const struct dfg_array_input wanted = {fact->dtype, fact->shape};
	if (spread)
		DFG_TRY(open_spread(distributed, equals + 1, &wanted, input));
	else
		DFG_TRY(here ? dfg_samples_open(input->file, &wanted, false, &input->all, &input->unfit)
					 : open_elsewhere(model, distributed, &wanted, input));
	return check_type(model, input);
}

static struct dfg_err *check_once(const struct dfg_dataset *dataset)
{
	for (uint32_t i = 0; i < dataset->count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (dataset->input[i].edge.node == dataset->input[k].edge.node &&
				dataset->input[i].edge.port == dataset->input[k].edge.port)
				return DFG_ERR(DFG_USAGE, "input '%s' is given two files of samples", dataset->input[i].name);
	return NULL;
}

static struct dfg_err *count_samples(struct dfg_dataset *dataset)
{
	for (uint32_t i = 0; i < dataset->count; i++) {
		const struct dfg_dataset_input *input = &dataset->input[i], *first = &dataset->input[0];
		if (input->all.shape.dim[0] != first->all.shape.dim[0])
			return DFG_ERR(DFG_DATA, "%s has %lld samples, but %s has %lld", first->file,
				(long long)first->all.shape.dim[0], input->file, (long long)input->all.shape.dim[0]);
		dataset->samples = first->all.shape.dim[0];
	}
	if (dataset->count && !dataset->samples)
		return DFG_ERR(DFG_DATA, "%s has no samples", dataset->input[0].file);
	return NULL;
}

struct dfg_err *dfg_dataset_open(struct dfg_model *model, const struct dfg_distributed *distributed,
	const struct dfg_words_list *words, struct dfg_dataset *out_dataset)
{
	*out_dataset =
		(struct dfg_dataset){.input = dfg_arena_zeros(&model->arena, words->count, sizeof(*out_dataset->input))};
	if (!out_dataset->input)
		return dfg_no_memory("the inputs of the data set");
	struct dfg_err *err = NULL;
	for (; !err && out_dataset->count < words->count; out_dataset->count++)
		err = open_input(model, distributed, words->word[out_dataset->count], &out_dataset->input[out_dataset->count]);
	if (!err)
		err = check_once(out_dataset);
	if (!err)
		err = count_samples(out_dataset);
	if (err)
		dfg_dataset_release(out_dataset);
	return err;
}

static void release_input(struct dfg_dataset_input *input)
{
	dfg_samples_release(&input->all);
	dfg_spread_release(&input->spread);
	dfg_err_free(input->unfit);
}

void dfg_dataset_release(struct dfg_dataset *dataset)
{
	for (uint32_t i = 0; i < dataset->count; i++)
		release_input(&dataset->input[i]);
	dfg_free(dataset->order);
	*dataset = (struct dfg_dataset){0};
}

struct dfg_err *dfg_dataset_batch_size(const struct dfg_model *model, const struct dfg_dataset *dataset, int64_t asked,
	bool meets_last, int64_t *out_batch)
{
	int64_t batch = asked;
	for (uint32_t i = 0; i < dataset->count; i++) {
		const struct dfg_dataset_input *input = &dataset->input[i];
		const struct dfg_shape *shape = &dfg_model_fact(model, input->edge)->shape;
		int64_t fixed = shape->rank > 0 ? shape->dim[0] : DFG_UNKNOWN;
		if (fixed == DFG_UNKNOWN)
			continue;
		if (__builtin_mul_overflow(fixed, dfg_replication_shards_of(model, input->edge), &fixed))
			return DFG_ERR(DFG_DATA, "input '%s' has shape %s: a batch for %u shards would have too many samples",
				input->name, dfg_shape_words(shape).s, model->shards);
		if (batch < 0)
			batch = fixed;
		if (fixed != batch)
			return DFG_ERR(DFG_DATA,
				"input '%s' has shape %s and requires batches of %lld samples, but the batch size is %lld", input->name,
				dfg_shape_words(shape).s, (long long)fixed, (long long)batch);
		if (fixed && meets_last && dataset->samples % fixed)
			return DFG_ERR(DFG_DATA,
				"input '%s' has shape %s, which the last batch does not fit: it has %lld of the %lld samples; "
				"--drop-last omits it",
				input->name, dfg_shape_words(shape).s, (long long)(dataset->samples % fixed),
				(long long)dataset->samples);
	}
	*out_batch = batch < 0 ? 32 : batch;
	return *out_batch ? NULL : DFG_ERR(DFG_DATA, "a batch has no samples");
}

/* A uniform number below n; draws that would bias it are repeated. */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t drawn, least = -n % n;
	do
		drawn = dfg_random_next(state);
	while (drawn < least);
	return drawn % n;
}

struct dfg_err *dfg_dataset_shuffle(struct dfg_dataset *dataset, uint64_t seed, uint64_t epoch)
{
	uint64_t state = epoch;
	state = dfg_random_next(&state) ^ seed;
	if (!dataset->order)
		dataset->order = dfg_zeros((size_t)dataset->samples, sizeof *dataset->order);
	if (!dataset->order)
		return dfg_no_memory("the order of the samples");
	for (int64_t i = 0; i < dataset->samples; i++) {
		int64_t j = (int64_t)random_below(&state, (uint64_t)i + 1);
		dataset->order[i] = dataset->order[j];
		dataset->order[j] = i;
	}
	return NULL;
}

struct dfg_err *dfg_dataset_batch(const struct dfg_dataset *dataset, int64_t first, int64_t n, struct dfg_tensor *batch)
{
	const int64_t *order = dataset->order ? dataset->order + first : NULL;
	for (uint32_t i = 0; i < dataset->count; i++) {
		const struct dfg_dataset_input *input = &dataset->input[i];
		if (input->spread.part)
			DFG_TRY(dfg_spread_take(&input->spread, &input->all, first, order, n, &batch[i]));
		else if (input->is_remote)
			DFG_TRY(dfg_rows_new(&input->all, input->source, first, order, n, &batch[i]));
		else
			DFG_TRY(dfg_samples_take(&input->all, first, order, n, &batch[i]));
	}
	return NULL;
}
