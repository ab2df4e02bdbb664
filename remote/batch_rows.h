#pragma once

#include "lib/graph/tensor.h"
#include "remote/control.h"

/*
 * Samples of a file that a worker reads where it is. For the launcher a batch of them is a tensor like another, of their
 * type, but without elements: in their place it says which rows of which source the worker is to take.
 */
struct dfg_rows {
	struct dfg_buffer buffer; /* first: whose tensors these are */
	uint32_t source;          /* its number there */
	int64_t first;
	struct dfg_tensor order; /* i64: the rows by number, in place of those from `first` on; of no dtype: none */
};

/* A batch of type `like` with n rows, in place of what *batch holds. order has n numbers, or is NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_rows_new(const struct dfg_tensor *like, uint32_t source, int64_t first,
	const int64_t *order, int64_t n, struct dfg_tensor *batch);

/* Of a tensor that stands for rows elsewhere; NULL: its elements are here. */
const struct dfg_rows *dfg_rows_of(const struct dfg_tensor *tensor);

/* A feed of a step: elements, or the rows to take. */
void dfg_rows_put(struct dfg_packet *packet, const struct dfg_tensor *feed);

/*
 * What the worker makes of it. Takes nothing from the packet on trust: sources are its own.
 */
struct dfg_batch_source {
	struct dfg_tensor all;
	struct dfg_tensor batch; /* the last that was gathered: its room is used again */
};
DFG_MUST_CHECK struct dfg_err *dfg_rows_get(
	struct dfg_packet *packet, struct dfg_batch_source *source, size_t sources, struct dfg_tensor *out_feed);
