#pragma once

#include "lib/base/err.h"

#include <stdint.h>

/*
 * Emulated compute times, for tests and experiments on few machines: each compute run of a replica is preceded by a delay,
 * drawn by the seed, the replica and the number of the step, so that a run with the same seed has the same delays. Zero:
 * there are none.
 */
enum dfg_delay { DFG_DELAY_NONE, DFG_DELAY_FIXED, DFG_DELAY_LOGNORMAL, DFG_DELAY_EXPONENTIAL };
struct dfg_emulation {
	enum dfg_delay delay;
	double seconds; /* fixed: the delay; lognormal: its median; exponential: its mean */
	double sigma;   /* of the logarithm of a lognormal delay */
	uint64_t seed;
};

/* Reads "fixed:20ms", "lognormal:20ms,0.5" or "exponential:200ms". DFG_USAGE for any other text. */
DFG_MUST_CHECK struct dfg_err *dfg_emulation_parse(const char *text, struct dfg_emulation *out_emulation);

/* In ns. */
uint64_t dfg_emulation_delay(const struct dfg_emulation *emulation, uint32_t replica, uint64_t step);
