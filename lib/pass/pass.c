#include "lib/pass/pass.h"

#include "lib/pass/lower/lower.h"
#include "lib/pass/rewrite/cse.h"
#include "lib/pass/rewrite/fold.h"
#include "lib/pass/rewrite/fuse_updates.h"
#include "lib/pass/rewrite/prune.h"
#include "lib/pass/rewrite/tensorflow.h"

const struct dfg_pass dfg_passes[] = {
	{.name = "lower",
		.doc = "Write out calls of functions, conditionals and loops among them.",
		.standard = true,
		.run = dfg_lower},
	{.name = "tensorflow",
		.doc = "Say with tensor arrays what only dfg has an op for, so that TensorFlow runs it.",
		.whole = true,
		.run = dfg_tensorflow},
	{.name = "fuse",
		.doc = "Make spelled-out updates of variables the op that does the same.",
		.standard = true,
		.run = dfg_fuse_updates},
	{.name = "fold",
		.doc = "Compute what is the same in every run and on every machine.",
		.standard = true,
		.run = dfg_fold},
	{.name = "cse", .doc = "Join nodes that compute the same.", .standard = true, .run = dfg_cse},
	{.name = "prune", .doc = "Remove what is not needed.", .standard = true, .run = dfg_prune},
	{0},
};
