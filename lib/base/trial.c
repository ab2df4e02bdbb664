#include "lib/base/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals have their usual effect, what the C library prints about damaged memory is dropped, and no core is left. */
static void prepare(unsigned seconds)
{
	static const int fatal[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGPROF};
	const struct rlimit no_core = {0, 0};
	const struct itimerval timer = {.it_value.tv_sec = seconds};
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	sigset_t none;
	sigemptyset(&none);
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		signal(fatal[i], SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(null, STDERR_FILENO);
	setitimer(ITIMER_PROF, &timer, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

struct dfg_err *dfg_trial(const char *name, const char *reason, void (*attempt)(void *arg), void *arg, unsigned seconds)
{
	int status;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* handlers of this process do not run in the child */
	const pid_t child = fork();
	const int error = errno;
	if (!child) {
		prepare(seconds);
		attempt(arg);
		_exit(0);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		return DFG_ERR(dfg_code_of_errno(error, DFG_MEMORY), "cannot start a process: %s", strerror(error));
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return NULL; /* SIGCHLD is ignored, so that nobody knows the outcome */
	if (!WIFSIGNALED(status))
		return NULL;
	if (WTERMSIG(status) == SIGPROF)
		return DFG_ERR(DFG_DATA, "%s takes more than %u s: %s", name, seconds, reason);
	return DFG_ERR(DFG_DATA, "%s crashes (signal %d): %s", name, WTERMSIG(status), reason);
}
