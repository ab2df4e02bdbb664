#pragma once

#include "lib/base/err.h"

/*
 * Starts a process that ends this one by SIGKILL two seconds after the end of stdin: a stopped process (SIGSTOP) does
 * not read its stdin, and sshd does not pass signals to a program of root. The watchdog ends with this process. Must be
 * called while the process has a single thread. DFG_MEMORY if no process can be started.
 */
DFG_MUST_CHECK struct dfg_err *dfg_watchdog_start(void);
