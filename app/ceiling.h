#pragma once

#include "formats/json.h"
#include "lib/graph/tensor.h"

/* The largest rates of this machine, a second, on that number of threads; measured in some 50 ms. */
struct dfg_ceiling {
	int threads;
	double operations;   /* on f32, in products (a fused multiply-add is two); 0: not known */
	double cache_bytes;  /* read and written by a copy of 512 KiB */
	double memory_bytes; /* read and written by a copy of 64 MiB */
};
DFG_MUST_CHECK struct dfg_err *dfg_ceiling_measure(int threads, struct dfg_ceiling *out_ceiling);

/* The limits as a line of text, and as the members "threads" and "limits" of a JSON object. */
struct dfg_words dfg_ceiling_words(const struct dfg_ceiling *ceiling);
void dfg_ceiling_json(const struct dfg_ceiling *ceiling, struct dfg_json_out *json);

/*
 * The share of the machine's limit that some work reached: of the limit of its operations or of that of its bytes,
 * whichever is nearer. `seconds`, `operations` and `bytes` are sums over all calls. The share is above 1 where values are
 * in a nearer cache than those of the copy.
 */
double dfg_ceiling_share(
	const struct dfg_ceiling *ceiling, double seconds, uint64_t calls, double operations, double bytes);
