#pragma once

#include <stdbool.h>

enum { DFG_STACK_RESERVE = 96 * 1024 }; /* bytes: enough for the deepest chain of calls that does not recurse */

/*
 * Whether less than DFG_STACK_RESERVE is left of the calling thread's stack. Recursion over an untrusted text or graph
 * must ask before it goes deeper, and refuse: the size of the stack is the user's choice (ulimit -s).
 * False if the system does not tell where the stack ends.
 */
bool dfg_stack_is_low(void);
