#pragma once

#include "formats/checkpoint.h"
#include "lib/base/text.h"

/* Prints the manifest of a checkpoint, with a checksum of each tensor and of the text itself. */
DFG_MUST_CHECK struct dfg_err *dfg_manifest_print(const struct dfg_checkpoint *checkpoint, struct dfg_text *out_text);

/* Reads the position of the training, and checks the arrays against the manifest. */
DFG_MUST_CHECK struct dfg_err *dfg_manifest_check(const struct dfg_blob *blob, struct dfg_checkpoint *checkpoint);

/* Reads only the limit of the run that wrote it: dfg_checkpoint.keep. DFG_DATA if the text is damaged. */
DFG_MUST_CHECK struct dfg_err *dfg_manifest_keep(const struct dfg_blob *blob, int64_t *out_keep);
