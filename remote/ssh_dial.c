#include "remote/ssh_inside.h"

#include "lib/exec/plan.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The outcome of a connection that is being made: 0, or an errno. */
static int outcome(int fd, double seconds)
{
	struct pollfd poll_ = {.fd = fd, .events = POLLOUT};
	const uint64_t end = dfg_now() + (uint64_t)(seconds * 1e9);
	for (uint64_t now = dfg_now(); now < end; now = dfg_now()) {
		int ready = poll(&poll_, 1, (int)((end - now) / 1000000) + 1);
		if (ready < 0 && errno != EINTR)
			return errno;
		if (ready <= 0)
			continue;
		int error = 0;
		socklen_t size = sizeof error;
		return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ? errno : error;
	}
	return ETIMEDOUT;
}

/* A peer that vanished is missed by the system within half a minute, whatever was last sent. */
static void watch(int fd)
{
	const int on = 1, idle = 5, interval = 3, times = 3, unheard_ms = 15000;
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard_ms, sizeof unheard_ms);
}

/* 0 with the descriptor, or an errno. */
static int dial_one(const struct addrinfo *to, double seconds, int *out_fd)
{
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return errno;
	int error = connect(fd, to->ai_addr, to->ai_addrlen) ? errno : 0;
	if (error == EINPROGRESS || error == EINTR)
		error = outcome(fd, seconds);
	if (error) {
		close(fd);
		return error;
	}
	watch(fd);
	*out_fd = fd;
	return 0;
}

static struct dfg_err *resolve(const char *host, uint16_t port, struct addrinfo **out_found)
{
	const struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG};
	char service[8] = {0};
	for (unsigned digits = port, at = 5; at--; digits /= 10)
		service[at] = (char)('0' + digits % 10);
	int status = getaddrinfo(host, service, &want, out_found);
	if (status)
		return DFG_ERR(DFG_UNAVAILABLE, "cannot find the address of '%s': %s", host,
			status == EAI_SYSTEM ? strerror(errno) : gai_strerror(status));
	return NULL;
}

struct dfg_err *dfg_ssh_dial(const char *host, uint16_t port, double seconds, int *out_fd, char out_address[static 64])
{
	struct addrinfo *found;
	DFG_TRY(resolve(host, port, &found));
	double left = 0;
	int error = ETIMEDOUT;
	for (const struct addrinfo *to = found; to; to = to->ai_next)
		left++;
	for (const struct addrinfo *to = found; to; to = to->ai_next) {
		error = dial_one(to, seconds / left, out_fd);
		if (error)
			continue;
		getnameinfo(to->ai_addr, to->ai_addrlen, out_address, 64, NULL, 0, NI_NUMERICHOST);
		break;
	}
	freeaddrinfo(found);
	if (error == ETIMEDOUT)
		return DFG_ERR(DFG_UNAVAILABLE, "%s port %u did not answer within %g s", host, port, seconds);
	if (error)
		return DFG_ERR(DFG_UNAVAILABLE, "cannot connect to %s port %u: %s", host, port, strerror(error));
	return NULL;
}
