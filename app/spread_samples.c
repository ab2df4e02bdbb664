#include "app/spread_samples.h"

#include "formats/array_spec.h"
#include "remote/batch_rows.h"

#include <string.h>

const char *dfg_spread_copied(const char *words)
{
	return !strncmp(words, "*:@", 3) && words[3] ? words + 3 : NULL;
}

/* The length of one part: "HOST:@F1,@F2" or "@F1,@F2", before the next HOST. */
static size_t part_length(const char *words)
{
	size_t length = dfg_array_spec_length(words);
	while (words[length] && words[length + 1] == '@')
		length += 1 + dfg_array_spec_length(words + length + 1);
	return length;
}

bool dfg_spread_is(const char *words)
{
	bool valid = words[0] == '@' || words[strcspn(words, ":@,")] == ':';
	return dfg_spread_copied(words) || (valid && words[part_length(words)]);
}

/* Adds samples to those of the parts before them. */
static struct dfg_err *append(struct dfg_samples *all, const struct dfg_samples *more, const char *file)
{
	if (!more->shape.rank)
		return DFG_ERR(DFG_DATA, "%s is one value, not a list of samples", file);
	return dfg_samples_extend(all, more->dtype, &more->shape, file);
}

/* Opens "HOST:@F1,@F2", whose colon is replaced by a zero, or "@F1,@F2". */
static struct dfg_err *open_part(const struct dfg_distributed *distributed, char *words,
	const struct dfg_array_input *input, struct dfg_spread_part *part)
{
	part->worker = DFG_NONE;
	if (words[0] == '@')
		return dfg_samples_open(words + 1, input, false, &part->all, NULL);
	struct dfg_coordinator_source source;
	char *file = strstr(words, ":@");
	*file = '\0';
	DFG_TRY(dfg_hosts_find(&distributed->hosts, words, &part->worker));
	*file = ':';
	DFG_TRY(dfg_coordinator_open_on(dfg_distributed_coordinator(distributed), part->worker, file + 2, input, &source));
	part->all = source.all;
	part->source = source.number;
	return NULL;
}

static struct dfg_err *open_parts(const struct dfg_distributed *distributed, char *words,
	const struct dfg_array_input *input, struct dfg_spread_samples *spread, struct dfg_samples *all)
{
	for (char *next; words; words = next) {
		size_t length = part_length(words);
		struct dfg_spread_part *part = &spread->part[spread->parts];
		next = words[length] ? words + length + 1 : NULL;
		words[length] = '\0';
		DFG_TRY(open_part(distributed, words, input, part));
		spread->parts++;
		DFG_TRY(append(all, &part->all, words));
		part->end = all->shape.dim[0];
	}
	return NULL;
}

static struct dfg_err *compare_copies(const char *file, const char *one_host, const struct dfg_coordinator_source *one,
	const char *other_host, const struct dfg_coordinator_source *other)
{
	if (one->all.dtype != other->all.dtype || !dfg_shape_equal(&one->all.shape, &other->all.shape))
		return DFG_ERR(DFG_DATA, "%s: %s is %s, but on %s it is %s", other_host, file,
			dfg_type_words(other->all.dtype, &other->all.shape).s, one_host,
			dfg_type_words(one->all.dtype, &one->all.shape).s);
	if (one->digest != other->digest)
		return DFG_ERR(DFG_DATA, "%s: the first rows of %s differ from those on %s", other_host, file, one_host);
	return NULL;
}

/* Opens the file on every worker that has it. The part is that of the first one. */
static struct dfg_err *open_copies(const struct dfg_distributed *distributed, const char *file,
	const struct dfg_array_input *input, uint32_t *copy, struct dfg_spread_part *out_part)
{
	struct dfg_coordinator *coordinator = dfg_distributed_coordinator(distributed);
	const struct dfg_worker_host *host = distributed->hosts.worker;
	struct dfg_coordinator_source first = {0}, source;
	struct dfg_err *err = NULL, *missing = NULL;
	out_part->worker = DFG_NONE;
	for (uint32_t i = 0; !err && i < distributed->hosts.count; i++) {
		copy[i] = DFG_NONE;
		err = dfg_coordinator_open_on(coordinator, i, file, input, &source);
		if (err && err->code == DFG_NO_INPUT) {
			dfg_err_free(missing);
			missing = err;
			err = NULL;
			continue;
		}
		if (!err && out_part->worker != DFG_NONE)
			err = compare_copies(file, host[out_part->worker].name, &first, host[i].name, &source);
		copy[i] = err ? DFG_NONE : source.number;
		if (err || out_part->worker != DFG_NONE)
			continue;
		first = source;
		*out_part = (struct dfg_spread_part){.worker = i, .source = source.number, .all = source.all};
	}
	if (!err && out_part->worker == DFG_NONE)
		return missing;
	dfg_err_free(missing);
	return err;
}

/* Whether each worker that is fed has a copy. */
static bool is_on_all(const struct dfg_distributed *distributed, const uint32_t *copy, uint32_t node)
{
	struct dfg_coordinator *coordinator = dfg_distributed_coordinator(distributed);
	for (uint32_t i = dfg_coordinator_home(coordinator, node); i < distributed->hosts.count;
		 i += distributed->first.count)
		if (copy[i] == DFG_NONE)
			return false;
	return dfg_coordinator_feeds_one(coordinator, node);
}

static struct dfg_err *open_all(const struct dfg_distributed *distributed, char *words, uint32_t node,
	const struct dfg_array_input *input, struct dfg_spread_samples *spread, struct dfg_samples *all)
{
	const char *file = dfg_spread_copied(words);
	if (!file)
		return open_parts(distributed, words, input, spread, all);
	spread->copy = dfg_zeros(distributed->hosts.count, sizeof *spread->copy);
	if (!spread->copy)
		return dfg_no_memory("the files of an input");
	DFG_TRY(open_copies(distributed, file, input, spread->copy, spread->part));
	DFG_TRY(append(all, &spread->part->all, words));
	if (is_on_all(distributed, spread->copy, node))
		return NULL;
	dfg_free(spread->copy);
	spread->copy = NULL;
	spread->part->end = all->shape.dim[0];
	spread->parts = 1;
	return NULL;
}

struct dfg_err *dfg_spread_open(const struct dfg_distributed *distributed, const char *words, uint32_t node,
	const struct dfg_array_input *input, struct dfg_spread_samples *out_spread, struct dfg_samples *out_all)
{
	size_t length = strlen(words), count = 1;
	for (size_t at = part_length(words); words[at]; at += 1 + part_length(words + at + 1))
		count++;
	char *copy = dfg_zeros(length + 1, 1);
	*out_all = (struct dfg_samples){0};
	*out_spread =
		(struct dfg_spread_samples){.distributed = distributed, .part = dfg_zeros(count, sizeof *out_spread->part)};
	struct dfg_err *err = copy && out_spread->part ? NULL : dfg_no_memory("the files of an input");
	if (!err) {
		memcpy(copy, words, length);
		err = open_all(distributed, copy, node, input, out_spread, out_all);
	}
	dfg_free(copy);
	if (err)
		dfg_spread_release(out_spread);
	return err;
}

void dfg_spread_release(struct dfg_spread_samples *spread)
{
	for (uint32_t i = 0; i < spread->parts; i++)
		dfg_samples_release(&spread->part[i].all);
	dfg_free(spread->part);
	dfg_free(spread->copy);
	*spread = (struct dfg_spread_samples){0};
}

/* The rows of a batch by part, and where they belong in the batch. */
struct shares {
	struct dfg_coordinator_rows *rows; /* by part; order: numbers within the part, owned */
	int64_t **to;                      /* by part and row: its number in the batch */
	uint32_t parts;
};

static void release_shares(struct shares *shares)
{
	for (uint32_t p = 0; shares->rows && shares->to && p < shares->parts; p++) {
		dfg_free(shares->rows[p].order);
		dfg_free(shares->to[p]);
		dfg_tensor_release(&shares->rows[p].batch);
	}
	dfg_free(shares->rows);
	dfg_free(shares->to);
}

/* Divides the numbers of a batch among the parts. */
static struct dfg_err *divide(const struct dfg_spread_samples *spread, const struct dfg_samples *all, int64_t first,
	const int64_t *order, int64_t n, struct shares *shares)
{
	int64_t begin = 0;
	for (uint32_t p = 0; p < spread->parts; p++) {
		const struct dfg_spread_part *part = &spread->part[p];
		struct dfg_coordinator_rows *rows = &shares->rows[p];
		*rows = (struct dfg_coordinator_rows){.worker = part->worker, .source = part->source, .like = all};
		rows->order = dfg_zeros((size_t)n, sizeof *order);
		shares->to[p] = dfg_zeros((size_t)n, sizeof *order);
		if (!rows->order || !shares->to[p])
			return dfg_no_memory("the rows of a batch");
		for (int64_t i = 0; i < n; i++) {
			int64_t number = order ? order[i] : first + i;
			if (number < begin || number >= part->end)
				continue;
			shares->to[p][rows->n] = i;
			rows->order[rows->n++] = number - begin;
		}
		rows->taken = part->worker == DFG_NONE || !rows->n;
		begin = part->end;
	}
	return NULL;
}

/* Copies rows to their positions in the batch; the batch has the bytes of its own strings. */
static struct dfg_err *put_rows(
	const struct dfg_coordinator_rows *rows, const int64_t *position, struct dfg_tensor *batch)
{
	struct dfg_shape row = batch->shape;
	row.dim[0] = 1;
	int64_t elements = dfg_shape_count(&row);
	const struct dfg_string *text = rows->batch.data;
	for (int64_t i = 0; i < rows->n; i++) {
		int64_t from = i * elements, to = position[i] * elements;
		if (batch->dtype != DFG_STRING)
			memcpy(dfg_tensor_at(batch, to), dfg_tensor_at(&rows->batch, from),
				(size_t)elements * dfg_dtype_size(batch->dtype));
		for (int64_t k = 0; k < elements && batch->dtype == DFG_STRING; k++)
			DFG_TRY(dfg_buffer_string(
				batch->buffer, text[from + k].s, text[from + k].length, dfg_tensor_at(batch, to + k)));
	}
	return NULL;
}

static struct dfg_err *gather(const struct dfg_spread_samples *spread, const struct dfg_samples *all, int64_t first,
	const int64_t *order, int64_t n, struct shares *shares, struct dfg_tensor *batch)
{
	struct dfg_shape shape = all->shape;
	shape.dim[0] = n;
	DFG_TRY(divide(spread, all, first, order, n, shares));
	for (uint32_t p = 0; p < spread->parts; p++) {
		struct dfg_coordinator_rows *rows = &shares->rows[p];
		if (rows->worker == DFG_NONE && rows->n)
			DFG_TRY(dfg_samples_take(&spread->part[p].all, 0, rows->order, rows->n, &rows->batch));
	}
	DFG_TRY(
		dfg_coordinator_request_rows(dfg_distributed_coordinator(spread->distributed), shares->rows, spread->parts));
	dfg_tensor_release(batch);
	DFG_TRY(dfg_tensor_new(all->dtype, &shape, batch));
	for (uint32_t p = 0; p < spread->parts; p++)
		DFG_TRY(put_rows(&shares->rows[p], shares->to[p], batch));
	return NULL;
}

struct dfg_err *dfg_spread_take(const struct dfg_spread_samples *spread, const struct dfg_samples *all, int64_t first,
	const int64_t *order, int64_t n, struct dfg_tensor *batch)
{
	if (spread->copy) {
		DFG_TRY(dfg_rows_new(all, 0, first, order, n, batch));
		dfg_rows_set_copies(batch, spread->copy);
		return NULL;
	}
	struct shares shares = {
		dfg_zeros(spread->parts, sizeof *shares.rows), dfg_zeros(spread->parts, sizeof *shares.to), spread->parts};
	struct dfg_err *err = shares.rows && shares.to ? NULL : dfg_no_memory("the rows of a batch");
	if (!err)
		err = gather(spread, all, first, order, n, &shares, batch);
	release_shares(&shares);
	return err;
}
