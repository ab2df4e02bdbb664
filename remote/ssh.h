#pragma once

#include "lib/base/err.h"
#include "lib/base/text.h"
#include "remote/hosts.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * dfg on other machines, over SSH: the user's ssh config, agent and keys; no password is asked for, no shell reads what a
 * graph or a list of hosts says, and no host is believed whose key the user's known_hosts do not hold. Errors begin with
 * the host's name, but for those of dfg_ssh_run() and dfg_ssh_end_error():
 *
 *     alpha: cannot connect to 10.0.0.7 port 22: Connection refused        DFG_UNAVAILABLE
 *     alpha: no dfg there: 'dfg' is not found (...)                         DFG_UNAVAILABLE
 *     alpha: the host key of 10.0.0.7 is not known: ...                    DFG_REFUSED
 *     alpha: ~/.ssh/config:3: '99999' is no port                           DFG_CONFIG
 *
 * Hosts may be started from several threads at once.
 */

/* How a program ended. */
struct dfg_ssh_end {
	int status;          /* of exit; -1: by a signal, or the connection is lost */
	char signal[16];     /* "KILL"; "": by none */
	char last_line[256]; /* of its stderr */
	bool lost;           /* the connection */
	uint64_t heard;      /* when the first byte of stdout came, by dfg_now(); 0: none did */
};

struct dfg_ssh_options {
	const char *config; /* as ssh -F; NULL: ~/.ssh/config, if there is one */
	double seconds;     /* that a host may be silent while it is connected, started or sent to; 0: 10 */
	uint64_t deadline;  /* of the start, by dfg_now(), whatever the host does; 0: none */
	bool push;          /* send this program there, and run that; nothing is left of it */

	/* A line that the program writes to stderr, or what is to be said of the config. NULL: nobody reads them. */
	void (*say)(void *arg, const struct dfg_worker_host *host, const char *line);

	/* The host is there: the program is sent, and then it is started. NULL: nobody asks. */
	void (*starts)(void *arg, const struct dfg_worker_host *host, bool pushing);

	/* Once it has started: it has ended, or the connection has, before dfg_ssh_process_free(). NULL: nobody asks. */
	void (*ended)(void *arg, const struct dfg_worker_host *host, const struct dfg_ssh_end *end);
	void *arg;
};

/*
 * A program there, held by a thread of its own, which also calls `say` and `ended`. It ends when its stdin does, and so
 * when this process does. Each function may be called from any thread.
 */
struct dfg_ssh_process;

/*
 * Runs `dfg ARGUMENT...` (NULL-terminated) on the host, writes `secret` and a newline to its stdin, and returns with the
 * first line of its stdout. `host`, and what it points to, must live until dfg_ssh_process_free().
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_start(const struct dfg_worker_host *host, const struct dfg_ssh_options *options,
	const char *const *argument, const char *secret, struct dfg_ssh_process **out_process);

/* The first line of its stdout, without the newline. */
const char *dfg_ssh_process_hello(const struct dfg_ssh_process *process);

/*
 * Where other hosts reach this one: addr= of the list, else the address that was connected to. The program there finds
 * its own in SSH_CONNECTION.
 */
const char *dfg_ssh_process_address(const struct dfg_ssh_process *process);

/* Puts bytes on their way to its stdin. DFG_UNAVAILABLE where it has ended. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_process_write(struct dfg_ssh_process *process, const void *bytes, size_t count);

/* No more comes to its stdin. */
void dfg_ssh_process_close_stdin(struct dfg_ssh_process *process);

/* Whether it has ended, or ends within these seconds. */
bool dfg_ssh_process_wait(struct dfg_ssh_process *process, double seconds, struct dfg_ssh_end *out_end);

/* "dfg was ended by signal KILL: its last line"; the end as an error, which lacks the host's name. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_end_error(const struct dfg_ssh_end *end);

/* Begins to end it by force, which takes a moment that dfg_ssh_process_free() waits for. NULL is fine. */
void dfg_ssh_process_force(struct dfg_ssh_process *process);

/* Ends it, by force where it did not end before, and forgets it. NULL is fine. */
void dfg_ssh_process_free(struct dfg_ssh_process *process);

/*
 * Runs `dfg ARGUMENT...` there to its end, with no stdin. Its stdout is added to out, how it ended to *out_end. The error
 * lacks the host's name.
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_run(const struct dfg_worker_host *host, const struct dfg_ssh_options *options,
	const char *const *argument, struct dfg_text *out, struct dfg_ssh_end *out_end);
