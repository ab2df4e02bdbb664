#pragma once

#include "lib/base/err.h"

#include <stdbool.h>

/* The status of a program that dfg_child_end() ended, or did not let start. */
enum { DFG_CHILD_ENDED = -1 };

/*
 * Runs a program of the user's, found by PATH, and waits for its end. Its stdin is empty; its stdout and stderr are our
 * stderr if it `talks`, else dropped. It is in a process group of its own, so that an interrupt at the terminal does not reach it; after
 * `seconds` (0: no limit) the group is killed and the status is 124. A program that a signal ended has 128 and the signal.
 * DFG_NO_INPUT if it cannot be started.
 */
DFG_MUST_CHECK struct dfg_err *dfg_child_run(const char *const *argument, bool talks, double seconds, int *out_status);

/*
 * Ends the program that runs, if one does: by SIGTERM, and by SIGKILL what is left of its process group after a second. No
 * program is started from then on. Safe in a signal handler.
 */
void dfg_child_end(void);
