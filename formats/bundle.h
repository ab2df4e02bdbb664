#pragma once

#include "formats/array.h"
#include "lib/graph/tensor_files.h"

/*
 * Checkpoints of TensorFlow ("tensor bundles"): PREFIX.index, a table of names (formats/string_table.h), and the elements
 * in PREFIX.data-00000-of-00001. Files of several shards are read too; tensors in slices, big-endian and compressed files
 * are refused. Sums are checked.
 */
extern const struct dfg_tensor_files dfg_bundle_files;
