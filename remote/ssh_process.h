#pragma once

#include "lib/base/pool.h"
#include "remote/ssh.h"
#include "remote/ssh_private.h"

#include <pthread.h>
#include <stdatomic.h>

/* A program on another machine; shared by remote/ssh.c and remote/ssh_process.c. */
struct dfg_ssh_process {
	struct dfg_ssh ssh;
	ssh_channel channel;
	struct ssh_channel_callbacks_struct callbacks;
	const struct dfg_worker_host *host;
	struct dfg_ssh_options options;

	/* Used by the thread of the process; before it runs, by the thread that starts it. */
	struct dfg_text hello;   /* .s NULL: no line has come yet */
	struct dfg_text *whole;  /* collects all of stdout; NULL: only its first line is kept */
	struct dfg_text line[2]; /* the unfinished lines of stdout and stderr */
	struct dfg_ssh_end end;
	bool over;        /* no more output will come */
	bool status_came; /* the exit status has come */
	bool eof_sent;
	bool deaf; /* `say` is not called any more */

	/* Guarded by the lock. */
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct dfg_text queue; /* bytes for its stdin */
	size_t sent;           /* bytes of the queue that were sent */
	bool closing;          /* stdin is closed after the queue */
	bool ended;            /* as seen by other threads */

	atomic_bool forced;
	int wake; /* eventfd */
	bool threaded;
	pthread_t thread;
};

/* Asks the server to run `dfg ARGUMENT...`, or this program with --push. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_process_exec(struct dfg_ssh_process *process, const char *const *argument);

/* Moves data without waiting: both outputs, stdin, the end. True where anything was moved. */
bool dfg_ssh_process_move(struct dfg_ssh_process *process);

/* The reason of its end, as an error without the host's name. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_end_reason(struct dfg_ssh_process *process);

/*
 * Asks the host why its shell did not execute the program: an error without the host's name, or NULL where that stays
 * unknown.
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_process_diagnose(struct dfg_ssh_process *process);

/* Starts a command on a new channel. The error lacks the host's name. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_channel_start(struct dfg_ssh *ssh, ssh_channel channel, const char *command);

/* Adds the path of dfg= to a command line, quoted; NULL: "dfg". */
void dfg_ssh_add_program(struct dfg_text *text, const char *path);
