#pragma once

#include "lib/base/err.h"

/*
 * Tries foreign code on data that may be damaged: calls attempt(arg) in a child process, which may use `seconds` of
 * processor time. Nothing that it does to memory is seen here. DFG_DATA if the child does not return from the call, naming
 * the code and the signal or the limit. The child has the calling thread only, and the locks that it holds.
 */
DFG_MUST_CHECK struct dfg_err *dfg_trial(const char *name, void (*attempt)(void *arg), void *arg, unsigned seconds);
