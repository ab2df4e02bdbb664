#pragma once

#include "lib/base/dynamic_library.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

/* libssh, opened on first use. */
#define FUNCTION(name) extern __typeof__(name) *dfg_##name;
#include "remote/libssh.def"
#undef FUNCTION

DFG_MUST_CHECK struct dfg_err *dfg_libssh_open(void);
