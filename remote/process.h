#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * This program once more, as a child: with pipes for its stdin, stdout and stderr, in a process group of its own, so that
 * a key at the terminal does not stop it. A zeroed struct is none.
 */
struct dfg_process {
	pid_t pid;
	int in, out, err; /* our ends */
};

/* argument: NULL-terminated, without the program's name. program: NULL for this one. */
DFG_MUST_CHECK struct dfg_err *dfg_process_start(
	const char *program, const char *const *argument, struct dfg_process *out_process);

/* The first line of its stdout, without its end. DFG_UNAVAILABLE where it ends before, or says nothing for so long. */
DFG_MUST_CHECK struct dfg_err *dfg_process_hello(
	struct dfg_process *process, double seconds, char *out_line, size_t room);

void dfg_process_close_stdin(struct dfg_process *process);

/* Whether it has ended, or ends within these seconds; "ended by signal 9", "exited with status 71". */
bool dfg_process_wait(struct dfg_process *process, double seconds, char *out_how, size_t room);

/* Ends it, by force where it does not end within these seconds after its stdin has. */
void dfg_process_end(struct dfg_process *process, double seconds);
