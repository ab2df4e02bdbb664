#pragma once

#include "cmd/distributed.h"
#include "cmd/model.h"

/* Files of samples, one each leading index, given to tensors of a graph batch by batch. */
struct dfg_dataset {
	struct dfg_dataset_input {
		const char *name, *file; /* of NAME=@FILE; HOST:@FILE of a file elsewhere */
		struct dfg_edge edge;
		struct dfg_tensor all; /* its type alone where it is elsewhere */
		struct dfg_err *unfit; /* why numbers of csv are not of the input's dtype; NULL */
		bool elsewhere;
		uint32_t source; /* its number there */
	} * input;
	uint32_t count;
	int64_t samples; /* 0 where there is no input */
	int64_t *order;  /* by place in the epoch, the sample; NULL: as they stand */
};

/*
 * Each word is NAME=@FILE, or, where the model is distributed (else NULL), NAME=HOST:@FILE of a file that the worker reads
 * on which NAME stands. DFG_DATA where files have different numbers of samples, or not the type that the graph says,
 * DFG_USAGE where two are for one tensor.
 */
DFG_MUST_CHECK struct dfg_err *dfg_dataset_open(struct dfg_model *model, const struct dfg_distributed *distributed,
	const struct dfg_words_list *words, struct dfg_dataset *out_dataset);
void dfg_dataset_release(struct dfg_dataset *dataset);

/*
 * The batch size: asked, or where that is -1 what the graph declares, or else 32. DFG_DATA where the graph declares
 * another, or where it declares one and the last batch will be shorter.
 */
DFG_MUST_CHECK struct dfg_err *dfg_dataset_batch_size(const struct dfg_model *model, const struct dfg_dataset *dataset,
	int64_t asked, bool meets_last, int64_t *out_batch);

/* The order of an epoch: a function of seed and epoch alone. */
DFG_MUST_CHECK struct dfg_err *dfg_dataset_shuffle(struct dfg_dataset *dataset, uint64_t seed, uint64_t epoch);

/* n samples from `first` on, a tensor an input, in place of what batch holds. */
DFG_MUST_CHECK struct dfg_err *dfg_dataset_batch(
	const struct dfg_dataset *dataset, int64_t first, int64_t n, struct dfg_tensor *batch);
