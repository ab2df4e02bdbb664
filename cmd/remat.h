#pragma once

#include "cmd/cmd.h"
#include "lib/pass/grad/grad.h"

/* What gradients keep of loops: --remat, of the commands that make gradients. */
extern const struct dfg_opt dfg_remat_options[];

/* DFG_USAGE for a policy that there is not. */
DFG_MUST_CHECK struct dfg_err *dfg_remat_policy(struct dfg_remat *out_remat);
