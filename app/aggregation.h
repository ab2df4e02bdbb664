#pragma once

#include "app/model.h"
#include "formats/array.h"

/*
 * Results accumulated over batches: scalars as their mean, weighted by samples; other tensors concatenated along axis
 * 0. Zero-initialised with `count` set: empty.
 */
struct dfg_aggregation {
	struct dfg_aggregation_fetch {
		double sum;
		enum dfg_dtype dtype;
		struct dfg_tensor *part; /* parts to concatenate, one per batch */
		size_t parts, capacity;
		struct dfg_tensor whole; /* the value over all batches, if it is computed after the last one; else no dtype */
	} * fetch;
	uint32_t count;
	int64_t samples;
};

/* Adds the values of a batch of n samples; one without a dtype is left out. Takes the values, also on failure. */
DFG_MUST_CHECK struct dfg_err *dfg_aggregation_add(
	struct dfg_aggregation *aggregation, const struct dfg_edges *fetch, struct dfg_tensor *value, int64_t n);

/* The value of scalar fetch i over the batches added: its mean, or the one computed after the last batch. */
double dfg_aggregation_mean(const struct dfg_aggregation *aggregation, uint32_t i);

/*
 * All results by name. DFG_DATA if the tensors of two batches differ in more than axis 0. Without batches there is none.
 */
DFG_MUST_CHECK struct dfg_err *dfg_aggregation_results(
	const struct dfg_aggregation *aggregation, const struct dfg_edges *fetch, struct dfg_arrays *out_results);
void dfg_aggregation_release(struct dfg_aggregation *aggregation);
