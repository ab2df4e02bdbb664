#include "cmd/dataset.h"

#include "formats/array.h"

#include <string.h>

/* The file must give what the graph's placeholder takes, but for the number of samples. */
static struct dfg_err *check_type(const struct dfg_model *model, const struct dfg_dataset_input *input)
{
	const struct dfg_fact *fact = dfg_model_fact(model, input->edge);
	struct dfg_shape sample = input->all.shape;
	if (!sample.rank)
		return DFG_ERR(DFG_DATA, "%s is one value, not a list of samples", input->file);
	sample.dim[0] = DFG_UNKNOWN;
	if (fact->dtype != input->all.dtype || !dfg_shape_fits(&sample, &fact->shape))
		return DFG_ERR(DFG_DATA, "%s holds samples of %s, but '%s' is %s", input->file,
			dfg_type_words(input->all.dtype, &sample).s, input->name, dfg_type_words(fact->dtype, &fact->shape).s);
	return NULL;
}

static struct dfg_err *open_input(struct dfg_model *model, const char *word, struct dfg_dataset_input *input)
{
	const char *equals = strchr(word, '=');
	if (!equals || equals[1] != '@' || !equals[2])
		return DFG_ERR(DFG_USAGE, "'%s' is no NAME=@FILE", word);
	input->name = dfg_arena_copy(&model->arena, word, (size_t)(equals - word));
	input->file = equals + 2;
	if (!input->name)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	DFG_TRY(dfg_model_tensor(model, input->name, &input->edge));
	DFG_TRY(dfg_array_read_one(input->file, &input->all));
	return check_type(model, input);
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

struct dfg_err *dfg_dataset_open(
	struct dfg_model *model, const struct dfg_words_list *words, struct dfg_dataset *out_dataset)
{
	*out_dataset =
		(struct dfg_dataset){.input = dfg_arena_zeros(&model->arena, words->count, sizeof(*out_dataset->input))};
	if (!out_dataset->input)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	struct dfg_err *err = NULL;
	for (; !err && out_dataset->count < words->count; out_dataset->count++)
		err = open_input(model, words->word[out_dataset->count], &out_dataset->input[out_dataset->count]);
	if (!err)
		err = count_samples(out_dataset);
	if (err)
		dfg_dataset_release(out_dataset);
	return err;
}

void dfg_dataset_release(struct dfg_dataset *dataset)
{
	for (uint32_t i = 0; i < dataset->count; i++)
		dfg_tensor_release(&dataset->input[i].all);
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
		if (batch < 0)
			batch = fixed;
		if (fixed != batch)
			return DFG_ERR(DFG_DATA, "'%s' is %s: it takes batches of %lld, not of %lld", input->name,
				dfg_shape_words(shape).s, (long long)fixed, (long long)batch);
		if (fixed && meets_last && dataset->samples % fixed)
			return DFG_ERR(DFG_DATA,
				"'%s' is %s: the last batch, of %lld of %lld samples, does not fit; --drop-last leaves it out",
				input->name, dfg_shape_words(shape).s, (long long)(dataset->samples % fixed),
				(long long)dataset->samples);
	}
	*out_batch = batch < 0 ? 32 : batch;
	return *out_batch ? NULL : DFG_ERR(DFG_DATA, "a batch of no samples");
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Below n, each as likely as the other: what would favour the small ones is drawn again. */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t drawn, least = -n % n;
	do
		drawn = next_random(state);
	while (drawn < least);
	return drawn % n;
}

struct dfg_err *dfg_dataset_shuffle(struct dfg_dataset *dataset, uint64_t seed, uint64_t epoch)
{
	uint64_t state = epoch;
	state = next_random(&state) ^ seed;
	if (!dataset->order)
		dataset->order = dfg_zeros((size_t)dataset->samples, sizeof *dataset->order);
	if (!dataset->order)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	for (int64_t i = 0; i < dataset->samples; i++) {
		int64_t j = (int64_t)random_below(&state, (uint64_t)i + 1);
		dataset->order[i] = dataset->order[j];
		dataset->order[j] = i;
	}
	return NULL;
}

/* The samples as they stand are a view. */
static struct dfg_err *take_view(const struct dfg_tensor *all, int64_t first, int64_t n, struct dfg_tensor *out_batch)
{
	int64_t row = dfg_shape_count(&all->shape) / all->shape.dim[0];
	DFG_TRY(dfg_tensor_share(all, out_batch));
	out_batch->data = dfg_tensor_at(all, first * row);
	out_batch->shape.dim[0] = n;
	out_batch->room = dfg_tensor_bytes(out_batch);
	return NULL;
}

static bool can_be_written(const struct dfg_tensor *tensor, const struct dfg_shape *shape)
{
	return tensor->buffer && dfg_shape_equal(&tensor->shape, shape) &&
		   atomic_load_explicit(&tensor->buffer->refs, memory_order_acquire) == 1;
}

static struct dfg_err *gather(const struct dfg_tensor *all, const int64_t *order, int64_t n, struct dfg_tensor *batch)
{
	struct dfg_shape shape = all->shape;
	shape.dim[0] = n;
	if (!can_be_written(batch, &shape)) {
		dfg_tensor_release(batch);
		DFG_TRY(dfg_tensor_new(all->dtype, &shape, batch));
	}
	size_t row = dfg_tensor_bytes(all) / (size_t)all->shape.dim[0];
	for (int64_t i = 0; i < n && row; i++)
		memcpy((char *)batch->data + (size_t)i * row, (const char *)all->data + (size_t)order[i] * row, row);
	return NULL;
}

struct dfg_err *dfg_dataset_batch(const struct dfg_dataset *dataset, int64_t first, int64_t n, struct dfg_tensor *batch)
{
	for (uint32_t i = 0; i < dataset->count; i++) {
		if (dataset->order) {
			DFG_TRY(gather(&dataset->input[i].all, dataset->order + first, n, &batch[i]));
			continue;
		}
		dfg_tensor_release(&batch[i]);
		DFG_TRY(take_view(&dataset->input[i].all, first, n, &batch[i]));
	}
	return NULL;
}
