#include "remote/ssh.h"

#include "lib/base/mem.h"
#include "remote/ssh_process.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 1000, FORCE_MS = 200 };

/* Wakes the thread that holds the process. */
static void wake(const struct dfg_ssh_process *process)
{
	const uint64_t one = 1;
	while (write(process->wake, &one, sizeof one) < 0 && errno == EINTR)
		;
}

static void wait_for_news(struct dfg_ssh_process *process, int ms)
{
	uint64_t count;
	const bool writes = dfg_ssh_get_poll_flags(process->ssh.session) & SSH_WRITE_PENDING;
	struct pollfd poll_[] = {
		{.fd = dfg_ssh_get_fd(process->ssh.session), .events = (short)(POLLIN | (writes ? POLLOUT : 0))},
		{.fd = process->wake, .events = POLLIN},
	};
	if (poll(poll_, 2, ms) > 0 && poll_[1].revents)
		while (read(process->wake, &count, sizeof count) < 0 && errno == EINTR)
			;
}

/* Kills a process that did not end, if the server supports that; its later output is ignored. */
static void force(struct dfg_ssh_process *process)
{
	process->deaf = true;
	dfg_ssh_channel_request_send_signal(process->channel, "KILL");
	dfg_ssh_begin(&process->ssh);
	const uint64_t end = dfg_now() + (uint64_t)FORCE_MS * 1000000;
	for (uint64_t now = dfg_now(); !process->over && now < end; now = dfg_now())
		if (!dfg_ssh_process_move(process))
			wait_for_news(process, (int)((end - now) / 1000000) + 1);
}

static void *hold(void *arg)
{
	struct dfg_ssh_process *process = arg;
	while (!process->over && !atomic_load(&process->forced))
		if (!dfg_ssh_process_move(process))
			wait_for_news(process, LOOK_MS);
	const struct dfg_ssh_options *options = &process->options;
	if (!process->over)
		force(process);
	else if (options->ended)
		options->ended(options->arg, process->host, &process->end);
	pthread_mutex_lock(&process->lock);
	process->ended = true;
	pthread_cond_broadcast(&process->news);
	pthread_mutex_unlock(&process->lock);
	return NULL;
}

static struct dfg_err *start_thread(struct dfg_ssh_process *process)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&process->news, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int error = pthread_create(&process->thread, NULL, hold, process);
	if (error)
		return DFG_ERR(DFG_MEMORY, "cannot start a thread: %s", strerror(error));
	process->threaded = true;
	return NULL;
}

static void tell_start(const struct dfg_ssh_process *process, bool pushing)
{
	if (process->options.starts)
		process->options.starts(process->options.arg, process->host, pushing);
}

/* Moves bytes until the first line of stdout has come, or, with to_end, until the process has ended. */
static struct dfg_err *follow(struct dfg_ssh_process *process, bool to_end)
{
	bool pushing = process->options.push;
	tell_start(process, pushing);
	dfg_ssh_begin(&process->ssh);
	while (!process->over && (to_end || !process->hello.s)) {
		if (dfg_ssh_process_move(process))
			dfg_ssh_begin(&process->ssh);
		else
			DFG_TRY(dfg_ssh_turn(&process->ssh, to_end ? "answer" : "start dfg"));
		if (pushing && !process->queue.length)
			tell_start(process, pushing = false);
	}
	return dfg_text_check(&process->queue);
}

static struct dfg_err *connect_to(
	const struct dfg_worker_host *host, const struct dfg_ssh_options *options, struct dfg_ssh_process *process)
{
	const struct dfg_ssh_wish wish = {
		.file = options->config, .host = host->ssh, .user = host->user, .port = host->port};
	DFG_TRY(dfg_ssh_open(&wish, options->seconds > 0 ? options->seconds : 10, options->deadline, &process->ssh));
	if (options->say && process->ssh.entry.note)
		options->say(options->arg, host, process->ssh.entry.note);
	return NULL;
}

static struct dfg_err *new_process(
	const struct dfg_worker_host *host, const struct dfg_ssh_options *options, struct dfg_ssh_process **out_process)
{
	struct dfg_ssh_process *process = dfg_zeros(1, sizeof *process);
	if (!process)
		return dfg_no_memory("an ssh process");
	*out_process = process;
	process->host = host;
	process->options = *options;
	process->end.status = -1;
	pthread_mutex_init(&process->lock, NULL);
	process->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return process->wake < 0 ? DFG_ERR(DFG_MEMORY, "cannot create a descriptor: %s", strerror(errno)) : NULL;
}

static struct dfg_err *launch(struct dfg_ssh_process *process, const char *const *argument, const char *secret)
{
	DFG_TRY(connect_to(process->host, &process->options, process));
	DFG_TRY(dfg_ssh_process_exec(process, argument));
	if (secret)
		dfg_text_add(&process->queue, "%s\n", secret);
	process->closing = !secret;
	DFG_TRY(follow(process, !secret));
	if (secret && process->over)
		return dfg_ssh_end_reason(process);
	return secret ? start_thread(process) : NULL;
}

struct dfg_err *dfg_ssh_start(const struct dfg_worker_host *host, const struct dfg_ssh_options *options,
	const char *const *argument, const char *secret, struct dfg_ssh_process **out_process)
{
	struct dfg_ssh_process *process = NULL;
	*out_process = NULL;
	struct dfg_err *err = new_process(host, options, &process);
	if (!err)
		err = launch(process, argument, secret);
	if (err)
		dfg_ssh_process_free(process);
	else
		*out_process = process;
	return dfg_err_note(err, "%s", host->name);
}

struct dfg_err *dfg_ssh_run(const struct dfg_worker_host *host, const struct dfg_ssh_options *options,
	const char *const *argument, struct dfg_text *out, struct dfg_ssh_end *out_end)
{
	struct dfg_ssh_process *process = NULL;
	struct dfg_err *err = new_process(host, options, &process);
	if (process)
		process->whole = out;
	if (!err)
		err = launch(process, argument, NULL);
	if (!err)
		*out_end = process->end;
	if (!err && (process->end.lost || process->end.status == 126 || process->end.status == 127))
		err = dfg_ssh_end_reason(process);
	dfg_ssh_process_free(process);
	return err;
}

const char *dfg_ssh_process_hello(const struct dfg_ssh_process *process)
{
	return process->hello.s;
}

const char *dfg_ssh_process_address(const struct dfg_ssh_process *process)
{
	return process->host->addr ? process->host->addr : process->ssh.address;
}

struct dfg_err *dfg_ssh_process_write(struct dfg_ssh_process *process, const void *bytes, size_t count)
{
	pthread_mutex_lock(&process->lock);
	const bool late = process->ended || process->closing;
	if (!late)
		dfg_text_put(&process->queue, bytes, count);
	struct dfg_err *err = dfg_text_check(&process->queue);
	pthread_mutex_unlock(&process->lock);
	wake(process);
	if (late && !err)
		err = DFG_ERR(DFG_UNAVAILABLE, "%s: the worker has ended", process->host->name);
	return err;
}

void dfg_ssh_process_close_stdin(struct dfg_ssh_process *process)
{
	pthread_mutex_lock(&process->lock);
	process->closing = true;
	pthread_mutex_unlock(&process->lock);
	wake(process);
}

bool dfg_ssh_process_wait(struct dfg_ssh_process *process, double seconds, struct dfg_ssh_end *out_end)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	const double whole = floor(seconds), rest = (seconds - whole) * 1e9 + (double)until.tv_nsec;
	until.tv_sec += (time_t)whole + (rest >= 1e9);
	until.tv_nsec = (long)(rest >= 1e9 ? rest - 1e9 : rest);
	pthread_mutex_lock(&process->lock);
	while (!process->ended && !pthread_cond_timedwait(&process->news, &process->lock, &until))
		;
	const bool ended = process->ended;
	if (ended)
		*out_end = process->end;
	pthread_mutex_unlock(&process->lock);
	return ended;
}

void dfg_ssh_process_force(struct dfg_ssh_process *process)
{
	if (!process || !process->threaded)
		return;
	atomic_store(&process->forced, true);
	wake(process);
}

void dfg_ssh_process_free(struct dfg_ssh_process *process)
{
	if (!process)
		return;
	dfg_ssh_process_force(process);
	if (process->threaded) {
		pthread_join(process->thread, NULL);
		pthread_cond_destroy(&process->news);
	}
	if (process->channel)
		dfg_ssh_channel_free(process->channel);
	dfg_ssh_shut(&process->ssh);
	if (process->wake >= 0)
		close(process->wake);
	pthread_mutex_destroy(&process->lock);
	dfg_text_release(&process->queue);
	dfg_text_release(&process->hello);
	dfg_text_release(&process->line[0]);
	dfg_text_release(&process->line[1]);
	dfg_free(process);
}
