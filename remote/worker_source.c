#include "remote/working.h"

#include "formats/array.h"

#include <string.h>

/* "FILE" or "FILE[key]", as the user has typed it; stdin is the launcher's line to this process. */
struct dfg_err *dfg_worker_source(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	struct dfg_source source = {0};
	const char *spec = dfg_packet_get_text(request);
	DFG_TRY(dfg_packet_check(request));
	if (!strcmp(spec, "-"))
		return DFG_ERR(DFG_USAGE, "a worker's stdin holds no data");
	if (!dfg_reserve(&worker->source, &worker->source_room, worker->sources + 1, sizeof *worker->source))
		return DFG_ERR(DFG_MEMORY, "out of memory");
	DFG_TRY(dfg_array_read_one(spec, &source.all));
	dfg_packet_put(answer, worker->sources);
	dfg_packet_put(answer, source.all.dtype);
	dfg_packet_put_shape(answer, &source.all.shape);
	worker->source[worker->sources++] = source;
	return NULL;
}

void dfg_worker_drop_sources(struct dfg_worker *worker)
{
	for (size_t i = 0; i < worker->sources; i++) {
		dfg_tensor_release(&worker->source[i].all);
		dfg_tensor_release(&worker->source[i].batch);
	}
	dfg_free(worker->source);
}
