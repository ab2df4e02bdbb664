#pragma once

#include "formats/array.h"
#include "lib/graph/tensor_files.h"

/*
 * Checkpoints of TensorFlow ("tensor bundles"): PREFIX.index, a table of names (formats/string_table.h), and the elements
 * in PREFIX.data-00000-of-00001. Files of several shards are read too; tensors in slices, big-endian and compressed files
 * are refused. Sums are checked.
 */
extern const struct dfg_tensor_files dfg_bundle_files;

/* Whether there is a checkpoint of that prefix. */
bool dfg_bundle_is(const char *prefix);

/* All tensors of a checkpoint, by their names; the caller releases them, also after an error. */
DFG_MUST_CHECK struct dfg_err *dfg_bundle_read(const char *prefix, struct dfg_arrays *out_arrays);
