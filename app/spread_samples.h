#pragma once

#include "app/distributed.h"
#include "formats/samples.h"

/*
 * Samples of one input that are not all on one machine: NAME=alpha:@F1,beta:@F2, whose files follow each other, or
 * NAME=*:@FILE, of which each host has a copy. Each host reads its own rows; the launcher puts a batch together, unless
 * the worker of the input has a copy, which then needs only the numbers of the rows.
 */
struct dfg_spread_samples {
	const struct dfg_distributed *distributed;
	struct dfg_spread_part {
		uint32_t worker;        /* DFG_NONE: this machine */
		uint32_t source;        /* the number of the file on that worker */
		struct dfg_samples all; /* only the type if a worker has the file */
		int64_t end;            /* one past the number of its last sample */
	} * part;
	uint32_t parts;
	uint32_t *copy; /* by worker, the number of its copy of the file; DFG_NONE: it has none; NULL: no copies */
};

/* Whether the words after NAME= have one of the two forms. */
bool dfg_spread_is(const char *words);

/* The FILE of *:@FILE; NULL for other words. */
const char *dfg_spread_copied(const char *words);

/*
 * Opens the files of the words after NAME=, in the forms above or HOST:@FILE. out_all receives dtype and shape of all
 * samples together. Where the workers of the node, one a replica, all have a copy, and no others are fed, out_spread has
 * `copy`; else it has parts. DFG_DATA, naming host and file, if the samples of two files differ in type, or two copies in
 * length or content.
 */
DFG_MUST_CHECK struct dfg_err *dfg_spread_open(const struct dfg_distributed *distributed, const char *words,
	uint32_t node, const struct dfg_array_input *input, struct dfg_spread_samples *out_spread,
	struct dfg_samples *out_all);
void dfg_spread_release(struct dfg_spread_samples *spread);

/*
 * As dfg_samples_take, but the batch is always a copy, or with copies on the workers, the numbers of its rows, which live
 * as long as out_spread.
 */
DFG_MUST_CHECK struct dfg_err *dfg_spread_take(const struct dfg_spread_samples *spread, const struct dfg_samples *all,
	int64_t first, const int64_t *order, int64_t n, struct dfg_tensor *batch);
