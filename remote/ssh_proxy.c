#define _GNU_SOURCE
#include "remote/ssh_private.h"

#include "lib/base/mem.h"
#include "lib/base/text.h"
#include "remote/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* STDERR_MOST: bytes of the program's stderr that are kept. */
enum { STDERR_MOST = 65536, LINE_MOST = 200 };
static const double TO_EXIT = 0.2, TO_FAIL = 0.1; /* seconds */

struct dfg_ssh_proxy {
	struct dfg_process process; /* only its pid is used; 0: it has ended */
	int err;                    /* the file that is its stderr */
	char how[60];               /* how it ended; "": it has not */
};

/* A file that cannot grow: a program that writes too much is not blocked, and its first words are kept. */
static struct dfg_err *make_stderr(int *out_fd)
{
	*out_fd = memfd_create("stderr", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*out_fd < 0 || ftruncate(*out_fd, STDERR_MOST) || fcntl(*out_fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK))
		return DFG_ERR(DFG_MEMORY, "cannot create a file for the stderr of ProxyCommand: %s", strerror(errno));
	return NULL;
}

/* libssh's end does not block; the program's does. */
static struct dfg_err *make_pair(int pair[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return DFG_ERR(DFG_MEMORY, "cannot create a descriptor: %s", strerror(errno));
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	return NULL;
}

static struct dfg_err *start(struct dfg_ssh_proxy *proxy, const char *command, int *out_fd)
{
	int pair[2];
	char *const argument[] = {"sh", "-c", (char *)command, NULL};
	DFG_TRY(make_stderr(&proxy->err));
	DFG_TRY(make_pair(pair));
	struct dfg_err *err =
		dfg_process_spawn("/bin/sh", argument, (int[]){pair[1], pair[1], proxy->err}, &proxy->process.pid);
	close(pair[1]);
	if (err)
		close(pair[0]);
	else
		*out_fd = pair[0];
	return err;
}

struct dfg_err *dfg_ssh_proxy_open(const char *command, int *out_fd, struct dfg_ssh_proxy **out_proxy)
{
	struct dfg_ssh_proxy *proxy = dfg_zeros(1, sizeof *proxy);
	if (!proxy)
		return dfg_no_memory("ProxyCommand");
	proxy->err = -1;
	struct dfg_err *err = start(proxy, command, out_fd);
	if (err)
		dfg_ssh_proxy_close(proxy);
	else
		*out_proxy = proxy;
	return err;
}

/* Reads the last line of its stderr that is not empty. */
static void last_line(const struct dfg_ssh_proxy *proxy, char out_line[static LINE_MOST])
{
	char bytes[4096];
	off_t end = lseek(proxy->err, 0, SEEK_CUR), begin = end > (off_t)sizeof bytes ? end - (off_t)sizeof bytes : 0;
	ssize_t count = end > 0 ? pread(proxy->err, bytes, (size_t)(end - begin), begin) : 0;
	while (count > 0 && strchr("\r\n", bytes[count - 1]))
		count--;
	const char *newline = count > 0 ? memrchr(bytes, '\n', (size_t)count) : NULL;
	const size_t skipped = newline ? (size_t)(newline + 1 - bytes) : 0;
	const size_t length = count > 0 ? (size_t)count - skipped : 0, used = length < LINE_MOST ? length : LINE_MOST - 1;
	memcpy(out_line, bytes + skipped, used);
	out_line[used] = '\0';
}

/* Whether it ends soon, which proxy->how then tells. */
static bool has_ended(struct dfg_ssh_proxy *proxy)
{
	return *proxy->how || dfg_process_wait(&proxy->process, TO_FAIL, proxy->how, sizeof proxy->how);
}

void dfg_ssh_proxy_tell_end(struct dfg_ssh_proxy *proxy, char *out_words, size_t size)
{
	char line[LINE_MOST];
	struct dfg_text text = {0};
	if (!has_ended(proxy))
		return;
	last_line(proxy, line);
	dfg_text_add(&text, "ProxyCommand %s%s%s", proxy->how, *line ? ": " : "", line);
	strncpy(out_words, text.s ? text.s : "", size - 1);
	out_words[size - 1] = '\0';
	dfg_text_release(&text);
}

struct dfg_err *dfg_ssh_proxy_explain(struct dfg_ssh_proxy *proxy, struct dfg_err *err, bool *out_failed)
{
	char line[LINE_MOST];
	(void)has_ended(proxy);
	last_line(proxy, line);
	*out_failed = *proxy->how && strcmp(proxy->how, "exited with status 0") != 0;
	struct dfg_err *told = err;
	if (*out_failed)
		told = DFG_ERR(DFG_UNAVAILABLE, "ProxyCommand %s%s%s", proxy->how, *line ? ": " : "", line);
	else if (*line)
		told = DFG_ERR(err->code, "%s (ProxyCommand: %s)", err->text, line);
	if (told != err)
		dfg_err_free(err);
	return told;
}

/* The program and those that it started are in one process group, which cannot be another one before it is reaped. */
static void end_group(struct dfg_ssh_proxy *proxy)
{
	const pid_t group = proxy->process.pid;
	if (group <= 0 || dfg_process_wait(&proxy->process, TO_EXIT, proxy->how, sizeof proxy->how))
		return;
	kill(-group, SIGHUP);
	if (dfg_process_wait(&proxy->process, TO_EXIT, proxy->how, sizeof proxy->how))
		return;
	kill(-group, SIGKILL);
	(void)dfg_process_wait(&proxy->process, 10, proxy->how, sizeof proxy->how);
}

void dfg_ssh_proxy_close(struct dfg_ssh_proxy *proxy)
{
	if (!proxy)
		return;
	end_group(proxy);
	if (proxy->err >= 0)
		close(proxy->err);
	dfg_free(proxy);
}
