#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * A child process that runs this program or another: with pipes for its stdin, stdout and stderr, in a process group of
 * its own, so that an interrupt at the terminal does not reach it. A zeroed struct holds no process.
 */
struct dfg_process {
	pid_t pid;
	int in, out, err; /* our ends of the pipes */
};

/*
 * Starts a program with these descriptors as its stdin, stdout and stderr, in a process group of its own, with default
 * signal handlers and an empty mask. argument: NULL-terminated, with the program's name.
 */
DFG_MUST_CHECK struct dfg_err *dfg_process_spawn(
	const char *program, char *const *argument, const int fd[static 3], pid_t *out_pid);

/* argument: NULL-terminated, without the program's name. program: NULL for this one. */
DFG_MUST_CHECK struct dfg_err *dfg_process_start(
	const char *program, const char *const *argument, struct dfg_process *out_process);

/*
 * Reads the first line of its stdout, without the newline. DFG_UNAVAILABLE where the process ends before, or prints
 * none within `seconds`.
 */
DFG_MUST_CHECK struct dfg_err *dfg_process_hello(
	struct dfg_process *process, double seconds, char *out_line, size_t capacity);

void dfg_process_close_stdin(struct dfg_process *process);

/* Whether it has ended, or ends within these seconds; *out_how is "ended by signal 9" or "exited with status 71". */
bool dfg_process_wait(struct dfg_process *process, double seconds, char *out_how, size_t capacity);

/* Closes its stdin and ends it; by force where it has not ended after these seconds. */
void dfg_process_end(struct dfg_process *process, double seconds);
