#include "remote/ssh_private.h"

#include "lib/base/mem.h"
#include "lib/base/pool.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The result of a non-blocking connect: 0, or an errno. */
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

/* TCP keepalive: a vanished peer is detected within half a minute. */
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

/* Returns 0 with the descriptor, or an errno. */
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

/* The system's resolver has no deadline: a thread calls it, which may be abandoned. */
struct question {
	pthread_mutex_t lock;
	pthread_cond_t news;
	char host[256], service[8];
	struct addrinfo *found;
	int status, error;
	bool answered, abandoned;
};

static void ask_system(struct question *q, int flags)
{
	const struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
	q->status = getaddrinfo(q->host, q->service, &want, &q->found);
	q->error = errno;
}

static void forget(struct question *q)
{
	if (q->found)
		freeaddrinfo(q->found);
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->news);
	dfg_free(q);
}

static void *look_up(void *arg)
{
	struct question *q = arg;
	ask_system(q, AI_ADDRCONFIG);
	pthread_mutex_lock(&q->lock);
	q->answered = true;
	const bool abandoned = q->abandoned;
	pthread_cond_signal(&q->news);
	pthread_mutex_unlock(&q->lock);
	if (abandoned)
		forget(q);
	return NULL;
}

static struct question *new_question(const char *host, uint16_t port)
{
	pthread_condattr_t monotonic;
	struct question *q = dfg_zeros(1, sizeof *q);
	if (!q)
		return NULL;
	strncpy(q->host, host, sizeof q->host - 1);
	for (unsigned digits = port, at = 5; at--; digits /= 10)
		q->service[at] = (char)('0' + digits % 10);
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&q->news, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return q;
}

/* True where there is an answer; else the thread owns the question. */
static bool wait_for_answer(struct question *q, double seconds)
{
	const uint64_t end = dfg_now() + (uint64_t)(seconds * 1e9);
	const struct timespec until = {.tv_sec = (time_t)(end / 1000000000), .tv_nsec = (long)(end % 1000000000)};
	pthread_mutex_lock(&q->lock);
	while (!q->answered && !pthread_cond_timedwait(&q->news, &q->lock, &until))
		;
	const bool answered = q->answered;
	q->abandoned = !answered;
	pthread_mutex_unlock(&q->lock);
	return answered;
}

static struct dfg_err *start_look_up(struct question *q)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, look_up, q);
	if (error)
		return DFG_ERR(DFG_MEMORY, "cannot start a thread: %s", strerror(error));
	pthread_detach(thread);
	return NULL;
}

static struct dfg_err *resolve(const char *host, uint16_t port, double seconds, struct addrinfo **out_found)
{
	struct question *q = new_question(host, port);
	if (!q)
		return dfg_no_memory("the search for an address");
	ask_system(q, AI_NUMERICHOST);
	struct dfg_err *err = NULL;
	if (q->status) {
		err = start_look_up(q);
		if (!err && !wait_for_answer(q, seconds))
			return DFG_ERR(DFG_UNAVAILABLE, "the address of '%s' was not found within %g s", host, seconds);
	}
	if (!err && q->status)
		err = DFG_ERR(dfg_code_of_errno(q->status == EAI_SYSTEM ? q->error : 0, DFG_UNAVAILABLE),
			"cannot find the address of '%s': %s", host,
			q->status == EAI_SYSTEM ? strerror(q->error) : gai_strerror(q->status));
	*out_found = q->found;
	q->found = NULL;
	forget(q);
	return err;
}

struct dfg_err *dfg_ssh_dial(const char *host, uint16_t port, double seconds, int *out_fd, char out_address[static 64])
{
	struct addrinfo *found;
	DFG_TRY(resolve(host, port, seconds, &found));
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
		return DFG_ERR(
			dfg_code_of_errno(error, DFG_UNAVAILABLE), "cannot connect to %s port %u: %s", host, port, strerror(error));
	return NULL;
}
