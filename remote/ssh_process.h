#pragma once

#include "lib/base/pool.h"
#include "remote/ssh.h"
#include "remote/ssh_private.h"

#include <pthread.h>
#include <stdatomic.h>

/* A program on another machine, as remote/ssh.c and remote/ssh_process.c share it. */
struct dfg_ssh_process {
	struct dfg_ssh ssh;
	ssh_channel channel;
	struct ssh_channel_callbacks_struct callbacks;
	const struct dfg_worker_host *host;
	struct dfg_ssh_options options;

	/* Of the thread that holds it; until there is one, of the one that starts it. */
	struct dfg_text hello;   /* .s NULL: no line came yet */
	struct dfg_text *whole;  /* takes all of stdout; NULL: lines are said */
	struct dfg_text line[2]; /* unfinished, of stdout and stderr */
	struct dfg_ssh_end end;
	bool over;        /* nothing comes any more */
	bool status_came; /* of exit */
	bool eof_sent;
	bool deaf; /* `say` is not called any more */

	/* Under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct dfg_text queue; /* for its stdin */
	size_t sent;           /* of the queue */
	bool closing;          /* the queue's end is stdin's */
	bool ended;            /* as others see it */

	atomic_bool forced;
	int wake; /* eventfd */
	bool threaded;
	pthread_t thread;
};

/* Asks the server to run `dfg ARGUMENT...`, or this program with --push. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_process_exec(struct dfg_ssh_process *process, const char *const *argument);

/* Moves what can be moved without waiting: both outputs, stdin, the end. True where anything was. */
bool dfg_ssh_process_move(struct dfg_ssh_process *process);

/* How it ended, as an error that lacks the host's name. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_end_reason(const struct dfg_ssh_process *process);
