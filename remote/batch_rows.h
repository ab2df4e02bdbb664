#pragma once

#include "formats/samples.h"
#include "remote/control.h"

/*
 * Samples of a file that a worker reads on its own machine. For the launcher, a batch of them is a tensor of their
 * dtype and shape, but its buffer holds no elements: it says which rows of which source the worker gathers. Its data is
 * an address that is not read: views of consecutive rows, such as the shards of a batch, are known by their offset from it.
 */
struct dfg_rows {
	struct dfg_buffer buffer; /* first member: the buffer of such a tensor is a dfg_rows */
	uint32_t source;          /* the number of the source on its worker */
	const uint32_t
		*copies; /* by worker, the numbers of the copies of the source; borrowed; NULL: there is one source */
	int64_t first;
	/* i64: the numbers of the rows, in place of those from `first` on; dtype 0: the rows are consecutive */
	struct dfg_tensor order;
};

/*
 * A batch with the dtype and row shape of `like` and n rows replaces *batch, which is released. order has n row numbers
 * (copied), or is NULL for the n rows from `first` on.
 */
DFG_MUST_CHECK struct dfg_err *dfg_rows_new(const struct dfg_samples *like, uint32_t source, int64_t first,
	const int64_t *order, int64_t n, struct dfg_tensor *batch);

/* The rows that a tensor refers to; NULL: its elements are in memory here. */
const struct dfg_rows *dfg_rows_of(const struct dfg_tensor *tensor);

/* Makes the rows those of copies of the source, by worker. Borrows the numbers. */
void dfg_rows_set_copies(struct dfg_tensor *batch, const uint32_t *copies);

/* Writes a feed of a step for a worker: its elements, or the rows to gather. */
void dfg_rows_put(struct dfg_packet *packet, const struct dfg_tensor *feed, uint32_t worker);

/*
 * A source on the worker: reads feeds that dfg_rows_put wrote. Checks source and row numbers: DFG_PROTOCOL where one is
 * out of range.
 */
struct dfg_batch_source {
	struct dfg_samples all;
	struct dfg_tensor batch; /* the batch gathered last, whose buffer is reused */
};
DFG_MUST_CHECK struct dfg_err *dfg_rows_get(
	struct dfg_packet *packet, struct dfg_batch_source *source, size_t sources, struct dfg_tensor *out_feed);
