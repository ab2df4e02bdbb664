#pragma once

#include "lib/lang/name_scope_private.h"

/* The standard library, parsed once for the life of the process. */
struct dfg_lang_library {
	struct dfg_arena arena;
	struct dfg_name_scope bindings; /* all its functions and layers; it has no outer scope */
};

/* The library, which is parsed at the first call; any thread may call. */
DFG_MUST_CHECK struct dfg_err *dfg_library_get(struct dfg_lang_library **out_library);
