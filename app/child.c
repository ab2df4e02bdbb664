#define _GNU_SOURCE
#include "app/child.h"

#include "lib/base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static volatile sig_atomic_t running;  /* the pid of the program; 0: none */
static volatile sig_atomic_t starting; /* a program is started, whose pid is not known yet */
static volatile sig_atomic_t no_more;  /* dfg_child_end() was called */

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
	no_more = 1;
	for (int i = 0; i < 1000 && starting; i++)
		nanosleep(&pause, NULL);
	const pid_t pid = running;
	if (pid) {
		kill(-pid, SIGTERM);
		for (int i = 0; i < 1000 && !has_ended(pid); i++)
			nanosleep(&pause, NULL);
		kill(-pid, SIGKILL);
	}
	errno = kept;
}

/*
 * A signal must not end this process while the program runs already and its pid is not known: this thread takes none until
 * then, and on another one dfg_child_end() waits. *out_pid 0: it was not started.
 */
static struct dfg_err *start_known(const char *const *argument, bool talks, pid_t *out_pid)
{
	sigset_t all, kept;
	sigfillset(&all);
	*out_pid = 0;
	pthread_sigmask(SIG_BLOCK, &all, &kept);
	starting = 1;
	struct dfg_err *err = no_more ? NULL : start(argument, talks, out_pid);
	running = err ? 0 : *out_pid;
	starting = 0;
	pthread_sigmask(SIG_SETMASK, &kept, NULL);
	return err;
}

struct dfg_err *dfg_child_run(const char *const *argument, bool talks, double seconds, int *out_status)
{
	enum { DEADLINE = 124, SIGNALS = 128 };
	pid_t pid;
	int how = 0;
	*out_status = DFG_CHILD_ENDED;
	DFG_TRY(start_known(argument, talks, &pid));
	if (!pid)
		return NULL;
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
