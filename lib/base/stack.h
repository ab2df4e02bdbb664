#pragma once

#include <stdbool.h>

enum { DFG_STACK_RESERVE = 96 * 1024 }; /* bytes: enough for the deepest chain of calls that does not recurse */

/*
 * Whether less than DFG_STACK_RESERVE is left of the calling thread's stack. Recursion over a text or graph that somebody
 * else wrote asks before it goes deeper, and refuses: the size of a stack is the user's (ulimit -s), not ours.
 * False where the system does not say where the stack ends.
 */
bool dfg_stack_is_low(void);
