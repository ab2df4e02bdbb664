#pragma once

#include "lib/graph/tensor.h"

/*
 * Files of named tensors, which ops such as SaveV2 write and read in the middle of a step. The formats are those of the
 * program that makes the session (formats/bundle.h); kernels see only this. A prefix is a path, which the functions
 * complete; names are the tensors' keys. DFG_DATA: a file is damaged or lacks a name. Any thread.
 */
struct dfg_tensor_files {
	/* Writes the tensors; the files of that prefix are replaced, whole or not at all. */
	struct dfg_err *(*save)(
		const char *prefix, size_t count, const struct dfg_string *name, const struct dfg_tensor *const *tensor);
	/* Reads the tensors of these names. On error there is nothing to release. */
	struct dfg_err *(*restore)(
		const char *prefix, size_t count, const struct dfg_string *name, struct dfg_tensor *out_tensor);
	/*
	 * Makes the files of several prefixes those of one; the files of the prefixes are gone afterwards, and with
	 * remove_folders their folders too where these are empty.
	 */
	struct dfg_err *(*merge_prefixes)(
		size_t count, const char *const *prefix, const char *destination, bool remove_folders);
};
