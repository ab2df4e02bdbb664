#pragma once

#include "lib/base/err.h"

#include <stdint.h>

/* The largest rates of this machine, a second, on that number of threads; measured in some 50 ms. */
struct dfg_ceiling {
	int threads;
	double operations;   /* on f32, in products (a fused multiply-add is two); 0: not known */
	double cache_bytes;  /* read and written by a copy of 512 KiB */
	double memory_bytes; /* read and written by a copy of 64 MiB */
};
DFG_MUST_CHECK struct dfg_err *dfg_ceiling_measure(int threads, struct dfg_ceiling *out_ceiling);

/*
 * The share of the machine's limit that was reached by that work: the limit of its operations or of its bytes, whichever is
 * nearer. `seconds`, `operations` and `bytes` are of all calls. Above 1 where values are in a nearer cache than those of the
 * copy.
 */
double dfg_ceiling_share(
	const struct dfg_ceiling *ceiling, double seconds, uint64_t calls, double operations, double bytes);
