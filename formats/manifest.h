#pragma once

#include "formats/checkpoint.h"
#include "lib/base/text.h"

/* What a checkpoint holds, with a checksum of each tensor and one of the text itself. */
DFG_MUST_CHECK struct dfg_err *dfg_manifest_print(const struct dfg_checkpoint *checkpoint, struct dfg_text *out_text);

/* Reads where the training stood, and holds the arrays against the text. */
DFG_MUST_CHECK struct dfg_err *dfg_manifest_check(const struct dfg_blob *blob, struct dfg_checkpoint *checkpoint);

/* Of the text alone, the limit of the run that made it: dfg_checkpoint.keep. Damage is an error. */
DFG_MUST_CHECK struct dfg_err *dfg_manifest_keep(const struct dfg_blob *blob, int64_t *out_keep);
