#include "formats/samples.h"

#include "formats/array_spec.h"

#include <stdlib.h>
#include <string.h>

static int64_t row_elements(const struct dfg_samples *samples)
{
	struct dfg_shape row = samples->shape;
	if (!row.dim[0])
		return 0;
	row.dim[0] = 1;
	return dfg_shape_count(&row);
}

/* The part that has a sample; the last part also has the sample after the last. */
static const struct dfg_samples_part *part_of(const struct dfg_samples *samples, int64_t number, int64_t *out_row)
{
	uint32_t low = 0, high = samples->parts - 1;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (samples->part[middle].end > number)
			high = middle;
		else
			low = middle + 1;
	}
	*out_row = number - (low ? samples->part[low - 1].end : 0);
	return &samples->part[low];
}

static struct dfg_err *take_view(
	const struct dfg_samples *samples, const struct dfg_tensor *all, int64_t row, int64_t n, struct dfg_tensor *batch)
{
	dfg_tensor_release(batch);
	DFG_TRY(dfg_tensor_share(all, batch));
	batch->data = dfg_tensor_at(all, row * row_elements(samples));
	batch->shape.dim[0] = n;
	batch->capacity = dfg_tensor_bytes(batch);
	return NULL;
}

/* A batch of strings that were read has their bytes, which a second use of its buffer would keep. */
static bool can_be_written(const struct dfg_tensor *tensor, const struct dfg_shape *shape)
{
	return tensor->buffer && dfg_shape_equal(&tensor->shape, shape) && tensor->dtype != DFG_STRING &&
		   atomic_load_explicit(&tensor->buffer->refs, memory_order_acquire) == 1;
}

static struct dfg_err *make_batch(const struct dfg_samples *samples, int64_t n, struct dfg_tensor *batch)
{
	struct dfg_shape shape = samples->shape;
	shape.dim[0] = n;
	if (can_be_written(batch, &shape))
		return NULL;
	dfg_tensor_release(batch);
	return dfg_tensor_new(samples->dtype, &shape, batch);
}

/* Copies the n samples from `number` on to the rows of the batch from `to` on. */
static struct dfg_err *copy_run(
	const struct dfg_samples *samples, int64_t number, int64_t n, struct dfg_tensor *batch, int64_t to)
{
	int64_t elements = row_elements(samples), row;
	size_t bytes = (size_t)elements * dfg_dtype_size(samples->dtype);
	for (int64_t done = 0, some; done < n && bytes; done += some) {
		const struct dfg_samples_part *part = part_of(samples, number + done, &row);
		some = part->end - number - done;
		some = some < n - done ? some : n - done;
		if (part->rows.reader)
			DFG_TRY(dfg_err_note(
				part->rows.reader->read(part->rows.reader, row, some, batch, to + done), "%s", part->words));
		else
			memcpy(dfg_tensor_at(batch, (to + done) * elements), dfg_tensor_at(&part->rows.all, row * elements),
				(size_t)some * bytes);
	}
	return NULL;
}

struct pick {
	int64_t number, to;
};

static int by_number(const void *a, const void *b)
{
	const struct pick *one = a, *two = b;
	return (one->number > two->number) - (one->number < two->number);
}

/* Reads in the order of the file, where neighbours may be in one compressed chunk. */
static struct dfg_err *read_sorted(
	const struct dfg_samples *samples, const int64_t *order, int64_t n, struct dfg_tensor *batch)
{
	struct pick *pick = dfg_zeros((size_t)n, sizeof *pick);
	if (!pick)
		return dfg_no_memory("the order of a batch");
	for (int64_t i = 0; i < n; i++)
		pick[i] = (struct pick){order[i], i};
	qsort(pick, (size_t)n, sizeof *pick, by_number);
	struct dfg_err *err = NULL;
	for (int64_t i = 0, run; i < n && !err; i += run) {
		for (run = 1;
			 i + run < n && pick[i + run].number == pick[i].number + run && pick[i + run].to == pick[i].to + run;)
			run++;
		err = copy_run(samples, pick[i].number, run, batch, pick[i].to);
	}
	dfg_free(pick);
	return err;
}

/* Rows of the elements of one part. */
static void copy_listed(const struct dfg_tensor *all, size_t bytes, const int64_t *order, int64_t n, char *to)
{
	const char *from = all->data;
	for (int64_t i = 0; i < n && bytes; i++)
		memcpy(to + (size_t)i * bytes, from + (size_t)order[i] * bytes, bytes);
}

static bool has_reader(const struct dfg_samples *samples)
{
	for (uint32_t i = 0; i < samples->parts; i++)
		if (samples->part[i].rows.reader)
			return true;
	return false;
}

struct dfg_err *dfg_samples_take(
	const struct dfg_samples *samples, int64_t first, const int64_t *order, int64_t n, struct dfg_tensor *batch)
{
	int64_t row;
	const struct dfg_samples_part *part = part_of(samples, first, &row);
	if (!order && !part->rows.reader && first + n <= part->end)
		return take_view(samples, &part->rows.all, row, n, batch);
	DFG_TRY(make_batch(samples, n, batch));
	struct dfg_err *err = NULL;
	if (!order)
		err = copy_run(samples, first, n, batch, 0);
	else if (samples->parts == 1 && !part->rows.reader)
		copy_listed(
			&part->rows.all, (size_t)row_elements(samples) * dfg_dtype_size(samples->dtype), order, n, batch->data);
	else if (has_reader(samples))
		err = n ? read_sorted(samples, order, n, batch) : NULL;
	else
		for (int64_t i = 0; i < n && !err; i++)
			err = copy_run(samples, order[i], 1, batch, i);
	if (err)
		dfg_tensor_release(batch);
	return err;
}

struct dfg_err *dfg_samples_extend(
	struct dfg_samples *samples, enum dfg_dtype dtype, const struct dfg_shape *shape, const char *words)
{
	struct dfg_shape row = *shape, before = samples->shape;
	row.dim[0] = before.dim[0] = DFG_UNKNOWN;
	if (!samples->dtype) {
		samples->dtype = dtype;
		samples->shape = *shape;
		return NULL;
	}
	if (dtype != samples->dtype || !dfg_shape_equal(&before, &row))
		return DFG_ERR(DFG_DATA, "%s holds samples of %s, but the files before it of %s", words,
			dfg_type_words(dtype, &row).s, dfg_type_words(samples->dtype, &before).s);
	if (__builtin_add_overflow(samples->shape.dim[0], shape->dim[0], &samples->shape.dim[0]))
		return DFG_ERR(DFG_DATA, "%s: the files have too many samples", words);
	return NULL;
}

static struct dfg_err *add_part(struct dfg_samples *samples, const char *words, const struct dfg_array_input *input,
	bool regular, struct dfg_err **unfit)
{
	struct dfg_samples_part *part = &samples->part[samples->parts];
	DFG_TRY(dfg_array_open_for(words, input, regular, &part->rows, unfit && !*unfit ? unfit : NULL));
	samples->parts++;
	part->words = dfg_zeros(strlen(words) + 1, 1);
	if (!part->words)
		return dfg_no_memory("the name of a file");
	memcpy(part->words, words, strlen(words));
	const struct dfg_shape *shape = dfg_array_rows_shape(&part->rows);
	if (samples->parts > 1 && (!shape->rank || !samples->shape.rank))
		return DFG_ERR(
			DFG_DATA, "%s is one value, not a list of samples", shape->rank ? samples->part[0].words : words);
	DFG_TRY(dfg_samples_extend(samples, dfg_array_rows_dtype(&part->rows), shape, words));
	part->end = samples->shape.dim[0];
	return NULL;
}

static size_t count_parts(const char *words)
{
	size_t count = 1;
	for (words += dfg_array_spec_length(words); *words; words += dfg_array_spec_length(words))
		words++, count++;
	return count;
}

/* Takes the words apart in place. */
static struct dfg_err *open_parts(struct dfg_samples *samples, char *words, const struct dfg_array_input *input,
	bool regular, struct dfg_err **out_unfit)
{
	for (char *next; words; words = next) {
		size_t length = dfg_array_spec_length(words);
		next = words[length] ? words + length + 1 : NULL;
		words[length] = '\0';
		if (next && *next++ != '@')
			return DFG_ERR(DFG_USAGE, "'%s' is not @FILE: the files before it are not of a host", next - 1);
		DFG_TRY(add_part(samples, words, input, regular, out_unfit));
	}
	return NULL;
}

struct dfg_err *dfg_samples_open(const char *words, const struct dfg_array_input *input, bool regular,
	struct dfg_samples *out_samples, struct dfg_err **out_unfit)
{
	char *copy = dfg_zeros(strlen(words) + 1, 1);
	*out_samples = (struct dfg_samples){.part = dfg_zeros(count_parts(words), sizeof *out_samples->part)};
	if (out_unfit)
		*out_unfit = NULL;
	struct dfg_err *err = copy && out_samples->part ? NULL : dfg_no_memory("the files of samples");
	if (!err) {
		memcpy(copy, words, strlen(words));
		err = open_parts(out_samples, copy, input, regular, out_unfit);
	}
	dfg_free(copy);
	if (err)
		dfg_samples_release(out_samples);
	if (err && out_unfit) {
		dfg_err_free(*out_unfit);
		*out_unfit = NULL;
	}
	return err;
}

void dfg_samples_release(struct dfg_samples *samples)
{
	for (uint32_t i = 0; i < samples->parts; i++) {
		dfg_array_rows_release(&samples->part[i].rows);
		dfg_free(samples->part[i].words);
	}
	dfg_free(samples->part);
	*samples = (struct dfg_samples){0};
}
