#define _GNU_SOURCE
#include "app/child.h"

#include "lib/base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static volatile sig_atomic_t running; /* the pid of the program; 0: none */
static volatile sig_atomic_t no_more; /* dfg_child_end() was called */

static struct dfg_err *spawn(const char *const *argument, const posix_spawn_file_actions_t *actions, pid_t *out_pid)
{
	posix_spawnattr_t attributes;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawnattr_init(&attributes))
		return dfg_no_memory("a process");
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	const int failed = posix_spawnp(out_pid, argument[0], actions, &attributes, (char *const *)argument, environ);
	posix_spawnattr_destroy(&attributes);
	return failed
			   ? DFG_ERR(dfg_code_of_errno(failed, DFG_NO_INPUT), "cannot start %s: %s", argument[0], strerror(failed))
			   : NULL;
}

/* Its stdin is empty, and what it prints is dropped unless it talks. */
static struct dfg_err *start(const char *const *argument, bool talks, pid_t *out_pid)
{
	posix_spawn_file_actions_t actions;
	if (posix_spawn_file_actions_init(&actions))
		return dfg_no_memory("a process");
	int failed = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (talks)
		failed |= posix_spawn_file_actions_adddup2(&actions, 2, 1);
	for (int fd = 1; fd <= 2 && !talks; fd++)
		failed |= posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
	struct dfg_err *err = failed ? dfg_no_memory("a process") : spawn(argument, &actions, out_pid);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

/* Waits until it ends or the time is over; short programs are not kept waiting. */
static bool ends_within(pid_t pid, double seconds, int *out_how)
{
	const struct timespec pause = {0, 1000000};
	const double until = dfg_seconds() + seconds;
	pid_t got;
	while ((got = waitpid(pid, out_how, seconds > 0 ? WNOHANG : 0)) != pid) {
		if (got < 0 && errno != EINTR)
			return false;
		if (seconds > 0 && dfg_seconds() > until)
			return false;
		if (seconds > 0)
			nanosleep(&pause, NULL);
	}
	return true;
}

/* A program that has ended stays a zombie here, so that dfg_child_run() gets its status, and its process group is its own. */
static bool has_ended(pid_t pid)
{
	siginfo_t end = {.si_pid = 0};
	return waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) || end.si_pid;
}

void dfg_child_end(void)
{
	const struct timespec pause = {0, 1000000};
	const int kept = errno;
	const pid_t pid = running;
	no_more = 1;
	if (pid) {
		kill(-pid, SIGTERM);
		for (int i = 0; i < 1000 && !has_ended(pid); i++)
			nanosleep(&pause, NULL);
		kill(-pid, SIGKILL);
	}
	errno = kept;
}

struct dfg_err *dfg_child_run(const char *const *argument, bool talks, double seconds, int *out_status)
{
	enum { DEADLINE = 124, SIGNALS = 128 };
	pid_t pid;
	int how = 0;
	*out_status = DFG_CHILD_ENDED;
	if (no_more)
		return NULL;
	DFG_TRY(start(argument, talks, &pid));
	running = pid;
	if (no_more)
		dfg_child_end(); /* it was called before the pid was known */
	const bool in_time = ends_within(pid, seconds, &how);
	running = 0;
	if (!in_time) {
		kill(-pid, SIGKILL);
		while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
			continue;
	}
	if (no_more)
		return NULL;
	*out_status = !in_time ? DEADLINE : WIFSIGNALED(how) ? SIGNALS + WTERMSIG(how) : WEXITSTATUS(how);
	return NULL;
}
