#pragma once

#include "lib/base/err.h"
#include "lib/base/text.h"
#include "remote/hosts.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Runs dfg on other machines over SSH, with the user's ssh config, agent and keys. It never asks for a password, passes
 * no text of a graph or a hosts list to a shell unquoted, and trusts only hosts whose key is in the user's known_hosts.
 * Errors begin with the host's name, except those of dfg_ssh_run() and dfg_ssh_end_error():
 *
 *     alpha: cannot connect to 10.0.0.7 port 22: Connection refused        DFG_UNAVAILABLE
 *     alpha: no dfg there: 'dfg' is not found (...)                         DFG_UNAVAILABLE
 *     alpha: the host key of 10.0.0.7 is not known: ...                    DFG_REFUSED
 *     alpha: ~/.ssh/config:3: '99999' is not a port                        DFG_CONFIG
 *
 * Hosts may be started from several threads at once.
 */

/* How a program ended. */
struct dfg_ssh_end {
	int status;          /* exit status; -1: ended by a signal, or the connection was lost */
	char signal[16];     /* "KILL"; "": not ended by a signal */
	char last_line[256]; /* of its stderr */
	bool lost;           /* the connection was lost */
	uint64_t heard;      /* the time of the first byte of stdout, by dfg_now(); 0: none came */
};

struct dfg_ssh_options {
	const char *config; /* as ssh -F; NULL: ~/.ssh/config, if there is one */
	double seconds;     /* seconds for which a host may be silent while it is connected, started or sent to; 0: 10 */
	uint64_t deadline;  /* of the whole start, by dfg_now(); 0: none */
	bool push;          /* send this program to the host and run it; no file remains there */

	/* A line that the program wrote to stderr, or a warning about the config. NULL: ignored. */
	void (*say)(void *arg, const struct dfg_worker_host *host, const char *line);

	/* The host is connected: the program is sent (pushing), and then it is started. NULL: ignored. */
	void (*starts)(void *arg, const struct dfg_worker_host *host, bool pushing);

	/*
	 * After a successful start: the program or the connection has ended, before dfg_ssh_process_free(). NULL: ignored.
	 */
	void (*ended)(void *arg, const struct dfg_worker_host *host, const struct dfg_ssh_end *end);
	void *arg;
};

/*
 * A program on another machine, held by a thread of its own, which also calls `say` and `ended`. It ends when its stdin
 * is closed, and so when this process ends. Each function may be called from any thread.
 */
struct dfg_ssh_process;

/*
 * Runs `dfg ARGUMENT...` (NULL-terminated) on the host, writes `secret` and a newline to its stdin, and returns when
 * the first line of its stdout has come. `host`, and what it points to, must live until dfg_ssh_process_free().
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_start(const struct dfg_worker_host *host, const struct dfg_ssh_options *options,
	const char *const *argument, const char *secret, struct dfg_ssh_process **out_process);

/* The first line of its stdout, without the newline. */
const char *dfg_ssh_process_hello(const struct dfg_ssh_process *process);

/*
 * The address at which other hosts reach this one: addr= of the hosts list, else the address that was connected to. The
 * program there finds its own in SSH_CONNECTION.
 */
const char *dfg_ssh_process_address(const struct dfg_ssh_process *process);

/* Queues bytes for its stdin. DFG_UNAVAILABLE where the program has ended. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_process_write(struct dfg_ssh_process *process, const void *bytes, size_t count);

/* Closes its stdin after the queued bytes. */
void dfg_ssh_process_close_stdin(struct dfg_ssh_process *process);

/* Whether it has ended, or ends within these seconds. */
bool dfg_ssh_process_wait(struct dfg_ssh_process *process, double seconds, struct dfg_ssh_end *out_end);

/* The end as an error without the host's name: "dfg was ended by signal KILL: its last line". */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_end_error(const struct dfg_ssh_end *end);

/* Begins to end it by force; dfg_ssh_process_free() waits for that. NULL is allowed. */
void dfg_ssh_process_force(struct dfg_ssh_process *process);

/* Ends it, by force where it has not ended, and frees it. NULL is allowed. */
void dfg_ssh_process_free(struct dfg_ssh_process *process);

/*
 * Runs `dfg ARGUMENT...` there to its end, without stdin. Its stdout is appended to out, and *out_end says how it
 * ended. The error lacks the host's name.
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_run(const struct dfg_worker_host *host, const struct dfg_ssh_options *options,
	const char *const *argument, struct dfg_text *out, struct dfg_ssh_end *out_end);
