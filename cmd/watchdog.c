#define _GNU_SOURCE /* close_range, POLLRDHUP, program_invocation_name */
#include "cmd/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { GRACE_SECONDS = 2, TITLE_SIZE = 64 };

/* Sets the title shown by ps: the kernel reads the consecutive arguments in their original memory. */
static void set_title(pid_t watched)
{
	char command[4096], title[TITLE_SIZE];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, command, sizeof command) : 0;
	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return;
	snprintf(title, sizeof title, "dfg: watchdog of %d", (int)watched);
	memset(program_invocation_name, 0, (size_t)length);
	memcpy(program_invocation_name, title, strnlen(title, (size_t)length - 1));
}

/* Waits for the end of stdin without reading: the data is for the watched process. */
static void wait_for_end_of_stdin(void)
{
	struct pollfd stdin_ = {.fd = STDIN_FILENO, .events = POLLRDHUP};
	while (poll(&stdin_, 1, -1) < 0 && errno == EINTR)
		continue;
}

static void watch(pid_t watched)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != watched)
		_exit(0);
	setsid(); /* signals to the watched process group must not reach the watchdog */
	set_title(watched);
	/* readers of these descriptors' other ends wait for the watched process only */
	close_range(STDIN_FILENO + 1, ~0u, 0);
	wait_for_end_of_stdin();
	sleep(GRACE_SECONDS);
	if (getppid() == watched)
		kill(watched, SIGKILL);
	_exit(0);
}

struct dfg_err *dfg_watchdog_start(void)
{
	pid_t self = getpid(), pid = fork();
	if (pid < 0)
		return DFG_ERR(DFG_MEMORY, "cannot start a watchdog: %s", strerror(errno));
	if (!pid)
		watch(self);
	return NULL;
}
