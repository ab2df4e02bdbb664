#include "remote/worker_private.h"

#include "lib/base/crc32c.h"

/* A digest of the first sixteen rows, or of one if they are long, by which copies of a file are told apart. */
static struct dfg_err *digest(const struct dfg_samples *samples, uint32_t *out_digest)
{
	enum { ROWS = 16, ROW_BYTES = 1 << 16 };
	struct dfg_tensor rows = {0};
	struct dfg_shape row = samples->shape;
	int64_t n = row.rank ? row.dim[0] : 0;
	*out_digest = 0;
	if (!n)
		return NULL;
	row.dim[0] = 1;
	int64_t most = dfg_shape_count(&row) <= ROW_BYTES ? ROWS : 1;
	DFG_TRY(dfg_samples_take(samples, 0, NULL, n < most ? n : most, &rows));
	int64_t count = dfg_shape_count(&rows.shape);
	const struct dfg_string *text = rows.data;
	if (rows.dtype != DFG_STRING)
		*out_digest = dfg_crc32c(0, rows.data, dfg_tensor_bytes(&rows));
	for (int64_t i = 0; i < count && rows.dtype == DFG_STRING; i++) {
		*out_digest = dfg_crc32c(*out_digest, &text[i].length, sizeof text[i].length);
		*out_digest = dfg_crc32c(*out_digest, text[i].s, text[i].length);
	}
	dfg_tensor_release(&rows);
	return NULL;
}

/*
 * Opens "FILE", "FILE[key]" or "F1,@F2", as typed by the user. A pipe is refused: a worker must not block on one, and its
 * own are not for data.
 */
struct dfg_err *dfg_worker_source(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	struct dfg_batch_source source = {0};
	struct dfg_array_input input;
	const char *spec = dfg_packet_get_text(request);
	uint64_t dtype = dfg_packet_get(request);
	dfg_packet_get_shape(request, &input.shape);
	DFG_TRY(dfg_packet_check(request));
	if (dtype >= DFG_DTYPES)
		return DFG_ERR(DFG_PROTOCOL, "a request for data has the unknown dtype number %llu", (unsigned long long)dtype);
	input.dtype = (enum dfg_dtype)dtype;
	if (!dfg_reserve(&worker->source, &worker->source_capacity, worker->sources + 1, sizeof *worker->source))
		return dfg_no_memory("the data of an input");
	uint32_t sum;
	DFG_TRY(dfg_samples_open(spec, &input, true, &source.all, NULL));
	struct dfg_err *err = digest(&source.all, &sum);
	if (err) {
		dfg_samples_release(&source.all);
		return err;
	}
	dfg_packet_put(answer, worker->sources);
	dfg_packet_put(answer, source.all.dtype);
	dfg_packet_put_shape(answer, &source.all.shape);
	dfg_packet_put(answer, sum);
	worker->source[worker->sources++] = source;
	return NULL;
}

struct dfg_err *dfg_worker_rows(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	struct dfg_tensor rows = {0};
	struct dfg_err *err = dfg_rows_get(request, worker->source, worker->sources, &rows);
	if (!err)
		err = dfg_packet_check(request);
	if (!err)
		dfg_packet_put_tensor(answer, &rows);
	dfg_tensor_release(&rows);
	return err;
}

void dfg_worker_drop_sources(struct dfg_worker *worker)
{
	for (size_t i = 0; i < worker->sources; i++) {
		dfg_samples_release(&worker->source[i].all);
		dfg_tensor_release(&worker->source[i].batch);
	}
	dfg_free(worker->source);
}
