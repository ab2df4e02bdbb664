#pragma once

#include "app/report.h"
#include "formats/checkpoint.h"

/*
 * The arrays that --load and others name by a path: those of a file, of one checkpoint, of the newest
 * complete one in a directory, or of a checkpoint of TensorFlow, by its prefix. A damaged checkpoint that is passed over for an older one is noted. Of a file only `arrays`
 * is set. The caller releases the result, also after an error.
 */
DFG_MUST_CHECK struct dfg_err *dfg_array_source_read(
	const char *path, const struct dfg_report *report, struct dfg_checkpoint *out_source);

/* The same, or of FILE[KEY] that array, without a name. */
DFG_MUST_CHECK struct dfg_err *dfg_array_source_read_words(
	const char *words, const struct dfg_report *report, struct dfg_checkpoint *out_source);

/* Whether the path is the prefix of a checkpoint of TensorFlow, and not a file or folder. */
bool dfg_array_source_is_prefix(const char *path);
