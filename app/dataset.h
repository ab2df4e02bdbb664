#pragma once

#include "app/distributed.h"
#include "app/model.h"
#include "app/spread_samples.h"
#include "formats/samples.h"

/* Files of samples, one sample per leading index, fed to tensors of a graph in batches. */
struct dfg_dataset {
	struct dfg_dataset_input {
		const char *name, *file; /* name and file of NAME=@FILE, or HOST:@FILE for a remote file */
		struct dfg_edge edge;
		struct dfg_samples all; /* all samples; only the type if the file is remote */
		struct dfg_err *unfit;  /* error for csv values that do not fit the input's dtype; NULL: none */
		bool is_remote;
		uint32_t source;                  /* number of the source on that worker */
		struct dfg_spread_samples spread; /* the files, if they are on several hosts; else zeroed */
	} * input;
	uint32_t count;
	int64_t samples; /* number of samples; 0 without inputs */
	int64_t *order;  /* sample number by position in the epoch; NULL: file order */
};

/*
 * Each word is NAME=@FILE, or NAME=@F1,@F2 for files whose samples follow each other; in a distributed run (distributed
 * is not NULL) also NAME=HOST:@FILE, a file that the worker of NAME reads, or files of several hosts
 * (app/spread_samples.h). DFG_DATA if inputs differ in the number of samples, or a file does not have the type that the
 * graph declares; DFG_USAGE if two words are for one tensor.
 */
DFG_MUST_CHECK struct dfg_err *dfg_dataset_open(struct dfg_model *model, const struct dfg_distributed *distributed,
	const struct dfg_words_list *words, struct dfg_dataset *out_dataset);
void dfg_dataset_release(struct dfg_dataset *dataset);

/*
 * The batch size: `asked`, or if that is -1, the size that the graph declares, times the shards of the batch, or else
 * 32. DFG_DATA if the graph declares another size, or declares one and the last batch would be shorter.
 */
DFG_MUST_CHECK struct dfg_err *dfg_dataset_batch_size(const struct dfg_model *model, const struct dfg_dataset *dataset,
	int64_t asked, bool meets_last, int64_t *out_batch);

/* Sets the order of an epoch, a function of seed and epoch only. */
DFG_MUST_CHECK struct dfg_err *dfg_dataset_shuffle(struct dfg_dataset *dataset, uint64_t seed, uint64_t epoch);

/* Sets batch to n samples from number `first` on, one tensor per input; releases the old contents. */
DFG_MUST_CHECK struct dfg_err *dfg_dataset_batch(
	const struct dfg_dataset *dataset, int64_t first, int64_t n, struct dfg_tensor *batch);
