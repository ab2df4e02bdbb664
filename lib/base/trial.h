#pragma once

#include "lib/base/err.h"

/*
 * Calls foreign code that may crash or never end: attempt(arg) in a child process, which may use `seconds` of processor
 * time. Its writes to memory do not reach this process. DFG_DATA if the child does not return from the call, with the name
 * of the code, the signal or the limit, and the likely reason, such as "the data is probably damaged". The child has only the calling thread: a lock that another thread holds
 * stays locked in it.
 */
DFG_MUST_CHECK struct dfg_err *dfg_trial(
	const char *name, const char *reason, void (*attempt)(void *arg), void *arg, unsigned seconds);
