#include "remote/worker_private.h"

/*
 * Opens "FILE", "FILE[key]" or "F1,@F2", as typed by the user. A pipe is refused: a worker must not block on one, and its own are
 * not for data.
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
	if (!dfg_reserve(&worker->source, &worker->source_room, worker->sources + 1, sizeof *worker->source))
		return dfg_no_memory("the data of an input");
	DFG_TRY(dfg_samples_open(spec, &input, true, &source.all, NULL));
	dfg_packet_put(answer, worker->sources);
	dfg_packet_put(answer, source.all.dtype);
	dfg_packet_put_shape(answer, &source.all.shape);
	worker->source[worker->sources++] = source;
	return NULL;
}

void dfg_worker_drop_sources(struct dfg_worker *worker)
{
	for (size_t i = 0; i < worker->sources; i++) {
		dfg_samples_release(&worker->source[i].all);
		dfg_tensor_release(&worker->source[i].batch);
	}
	dfg_free(worker->source);
}
