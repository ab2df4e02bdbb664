#pragma once

#include "cmd/cmd.h"
#include "lib/pass/grad/grad.h"

/* --remat: which values of loops a gradient saves, and which it rematerialises. */
extern const struct dfg_opt dfg_remat_options[];

/* Parses --remat; DFG_USAGE for an unknown policy. */
DFG_MUST_CHECK struct dfg_err *dfg_remat_policy(struct dfg_remat *out_remat);
