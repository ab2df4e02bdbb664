#define _GNU_SOURCE
#include "remote/process.h"

#include "lib/base/pool.h"
#include "remote/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MOST_ARGUMENTS = 30 };

static double seconds_now(void)
{
	return (double)dfg_now() / 1e9;
}

static void close_pipes(int pipes[3][2])
{
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 2; k++)
			if (pipes[i][k] >= 0)
				close(pipes[i][k]);
}

struct dfg_err *dfg_process_spawn(const char *program, char *const *argument, const int fd[static 3], pid_t *out_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&actions))
		return dfg_no_memory("a process");
	int failed = posix_spawnattr_init(&attributes);
	for (int i = 0; i < 3 && !failed; i++)
		failed = posix_spawn_file_actions_adddup2(&actions, fd[i], i);
	if (!failed)
		failed = posix_spawnattr_setflags(
			&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!failed)
		failed = posix_spawnattr_setsigmask(&attributes, &none) | posix_spawnattr_setsigdefault(&attributes, &all);
	if (!failed)
		failed = posix_spawn(out_pid, program, &actions, &attributes, argument, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	struct dfg_err *other = failed == ENOEXEC ? dfg_elf_check_file(program) : NULL;
	if (other)
		return other;
	return failed
			   ? DFG_ERR(dfg_code_of_errno(failed, DFG_UNAVAILABLE), "cannot start %s: %s", program, strerror(failed))
			   : NULL;
}

struct dfg_err *dfg_process_start(const char *program, const char *const *argument, struct dfg_process *out_process)
{
	int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
	const char *words[MOST_ARGUMENTS + 2] = {"dfg"};
	struct dfg_err *err = NULL;
	for (int i = 0; i < MOST_ARGUMENTS && argument[i]; i++)
		words[i + 1] = argument[i];
	for (int i = 0; i < 3 && !err; i++)
		if (pipe2(pipes[i], O_CLOEXEC))
			err = DFG_ERR(DFG_MEMORY, "cannot create a pipe for a worker: %s%s", strerror(errno),
				errno == EMFILE ? "; `ulimit -n` prints the limit of open files" : "");
	if (!err)
		err = dfg_process_spawn(program ? program : "/proc/self/exe", (char *const *)words,
			(int[]){pipes[0][0], pipes[1][1], pipes[2][1]}, &out_process->pid);
	if (err) {
		close_pipes(pipes);
		return err;
	}
	out_process->in = pipes[0][1];
	out_process->out = pipes[1][0];
	out_process->err = pipes[2][0];
	close(pipes[0][0]);
	close(pipes[1][1]);
	close(pipes[2][1]);
	return NULL;
}

/* An error with the last line of its stderr. */
static struct dfg_err *silent(struct dfg_process *process, const char *what)
{
	char line[200] = "", how[60] = "";
	struct pollfd waiting = {process->err, POLLIN, 0};
	ssize_t got = poll(&waiting, 1, 100) > 0 ? read(process->err, line, sizeof line - 1) : 0;
	line[got > 0 ? got : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	bool ended = dfg_process_wait(process, 0.1, how, sizeof how);
	return DFG_ERR(DFG_UNAVAILABLE, "%s%s%s%s", ended ? how : what, *line ? " (" : "", line, *line ? ")" : "");
}

struct dfg_err *dfg_process_hello(struct dfg_process *process, double seconds, char *out_line, size_t capacity)
{
	double until = seconds_now() + seconds;
	for (size_t at = 0; at + 1 < capacity;) {
		struct pollfd waiting = {process->out, POLLIN, 0};
		double left = until - seconds_now();
		if (left <= 0 || poll(&waiting, 1, (int)(left * 1000) + 1) == 0)
			return silent(process, "gave no answer");
		ssize_t got = read(process->out, out_line + at, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return silent(process, "gave no answer");
		if (out_line[at] == '\n') {
			out_line[at] = '\0';
			return NULL;
		}
		at++;
	}
	return DFG_ERR(DFG_PROTOCOL, "did not answer as a worker of dfg");
}

void dfg_process_close_stdin(struct dfg_process *process)
{
	if (process->in >= 0)
		close(process->in);
	process->in = -1;
}

static void tell_end(int status, char *out_how, size_t capacity)
{
	if (WIFSIGNALED(status))
		snprintf(out_how, capacity, "ended by signal %d", WTERMSIG(status));
	else
		snprintf(out_how, capacity, "exited with status %d", WEXITSTATUS(status));
}

bool dfg_process_wait(struct dfg_process *process, double seconds, char *out_how, size_t capacity)
{
	double until = seconds_now() + seconds;
	int status;
	for (;;) {
		pid_t pid = process->pid > 0 ? waitpid(process->pid, &status, WNOHANG) : 0;
		if (pid > 0) {
			process->pid = 0;
			tell_end(status, out_how, capacity);
			return true;
		}
		if (process->pid <= 0 || seconds_now() >= until)
			return process->pid <= 0;
		struct timespec nap = {0, 1000000};
		nanosleep(&nap, NULL);
	}
}

void dfg_process_end(struct dfg_process *process, double seconds)
{
	char how[60];
	if (!process->pid && !process->out)
		return;
	dfg_process_close_stdin(process);
	if (process->pid > 0 && !dfg_process_wait(process, seconds, how, sizeof how)) {
		kill(process->pid, SIGKILL);
		(void)dfg_process_wait(process, 10, how, sizeof how);
	}
	close(process->out);
	close(process->err);
	*process = (struct dfg_process){0};
}
