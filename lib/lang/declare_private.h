#pragma once

#include "lib/lang/statement_private.h"

/* Declarations that only a program has, at its top level; DFG_DATA elsewhere. `const` may also be in an imported file. */
dfg_statement_fn dfg_eval_input, dfg_eval_output, dfg_eval_target, dfg_eval_import, dfg_eval_const_declaration;
