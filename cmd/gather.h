#pragma once

#include "cmd/model.h"
#include "formats/array.h"

/*
 * What many batches give together: scalars as their mean, weighted by samples; anything else joined along axis 0. A
 * zeroed one with its count set is empty.
 */
struct dfg_gathered {
	struct dfg_gathered_fetch {
		double sum;
		enum dfg_dtype dtype;
		struct dfg_tensor *part; /* batches of what is joined */
		size_t parts, room;
	} * fetch;
	uint32_t count;
	int64_t samples;
};

/* Takes the values of a batch of n samples, on failure too. */
DFG_MUST_CHECK struct dfg_err *dfg_gathered_add(
	struct dfg_gathered *gathered, const struct dfg_edges *fetch, struct dfg_tensor *value, int64_t n);

/* The mean of a scalar fetch so far. */
double dfg_gathered_mean(const struct dfg_gathered *gathered, uint32_t i);

DFG_MUST_CHECK struct dfg_err *dfg_gathered_results(
	const struct dfg_gathered *gathered, const struct dfg_edges *fetch, struct dfg_arrays *out_results);
void dfg_gathered_release(struct dfg_gathered *gathered);
