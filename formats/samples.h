#pragma once

#include "formats/array.h"

/*
 * Samples are the rows of an array, the entries along its leading axis, or of several arrays of equal rows, one after
 * the other. A batch is a tensor of some of them.
 */
struct dfg_samples {
	enum dfg_dtype dtype;
	struct dfg_shape shape; /* of all parts together; dim[0] is the number of samples */
	struct dfg_samples_part {
		char *words; /* FILE, for errors */
		struct dfg_array_rows rows;
		int64_t end; /* one past the number of its last sample */
	} * part;
	uint32_t parts; /* 0: dtype and shape describe samples that are elsewhere */
};

/*
 * Opens the arrays of "FILE" or "F1,@F2,@F3", each as dfg_array_open_for does. DFG_DATA if several
 * files differ in the type of their rows. One file may hold a scalar, which has no rows.
 */
DFG_MUST_CHECK struct dfg_err *dfg_samples_open(const char *words, const struct dfg_array_input *input, bool regular,
	struct dfg_samples *out_samples, struct dfg_err **out_unfit);

/*
 * Adds the samples of an array of this type to the number of all samples; the first call sets their type. Does not add
 * a part. DFG_DATA if the rows differ from those before them in type. `words` name the array, for the error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_samples_extend(
	struct dfg_samples *samples, enum dfg_dtype dtype, const struct dfg_shape *shape, const char *words);
void dfg_samples_release(struct dfg_samples *samples);

/*
 * Replaces *batch by n samples: those from `first` on, as a view where they are in the memory of one part; or if
 * `order` is not NULL, copies of those numbered order[0..n). Copies reuse the buffer of *batch if it is not shared. The
 * caller has checked the numbers.
 */
DFG_MUST_CHECK struct dfg_err *dfg_samples_take(
	const struct dfg_samples *samples, int64_t first, const int64_t *order, int64_t n, struct dfg_tensor *batch);
