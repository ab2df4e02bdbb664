#include "lib/pass/pass.h"

#include "lib/pass/lower/lower.h"
#include "lib/pass/rewrite/batch_norm.h"
#include "lib/pass/rewrite/cse.h"
#include "lib/pass/rewrite/fold.h"
#include "lib/pass/rewrite/fuse_updates.h"
#include "lib/pass/rewrite/prune.h"
#include "lib/pass/rewrite/strip.h"
#include "lib/pass/rewrite/tensorflow.h"

const struct dfg_pass dfg_passes[] = {
	{.name = "lower",
		.doc = "Expand calls of functions, including conditionals and loops.",
		.standard = true,
		.run = dfg_lower},
	{.name = "tensorflow",
		.doc = "Replace ops that only dfg has with tensor arrays, so that TensorFlow can run the graph.",
		.whole = true,
		.run = dfg_tensorflow},
	{.name = "fuse",
		.doc = "Fuse updates of variables into the optimizer's op.",
		.standard = true,
		.run = dfg_fuse_updates},
	{.name = "fold",
		.doc = "Fold constants: results that are the same in every run on every machine.",
		.standard = true,
		.run = dfg_fold},
	{.name = "batch-norm",
		.doc = "Fold batch norms and other scales into the weights before them; values change by rounding.",
		.run = dfg_fold_batch_norms},
	{.name = "strip",
		.doc = "Remove assertions, checks of numbers, prints and identities, which inference does not require.",
		.run = dfg_strip},
	{.name = "cse", .doc = "Merge nodes that compute the same value.", .standard = true, .run = dfg_cse},
	{.name = "prune", .doc = "Remove nodes that no output depends on.", .standard = true, .run = dfg_prune},
	{0},
};
