#pragma once

#include "lib/base/err.h"

/*
 * Tries foreign code on data that may be damaged: calls attempt(arg) in a child process, which may use `seconds` of
 * processor time. Its writes to memory do not reach this process. DFG_DATA if the child does not return from the call, with
 * the name of the code and the signal or the limit. The child has only the calling thread: a lock that another thread holds
 * stays locked in it.
 */
DFG_MUST_CHECK struct dfg_err *dfg_trial(const char *name, void (*attempt)(void *arg), void *arg, unsigned seconds);
