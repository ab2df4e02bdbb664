#include "remote/launch_private.h"
#include "remote/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/*
 * Workers that someone else starts: a scheduler, or a user in a terminal. The launcher knows where each listens and, from
 * the secret that both have, which key it must show. It may start before they do.
 */
enum { ATTACH_SECONDS = 60, KNOCK_MS = 1000, PAUSE_MS = 100 };

/* Whether something accepts connections there; else errno says why. */
static bool accepts(const struct addrinfo *at)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
	socklen_t size = sizeof error;
	struct pollfd ready = {fd, POLLOUT, 0};
	if (fd < 0)
		return false;
	if (connect(fd, at->ai_addr, at->ai_addrlen) && errno != EINPROGRESS)
		error = errno;
	else if (poll(&ready, 1, KNOCK_MS) < 1)
		error = ETIMEDOUT;
	else
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	close(fd);
	errno = error;
	return !error;
}

/* NULL, or why nobody answers. A name may be unknown until its host has started. */
static const char *knock(const char *host, const char *port)
{
	const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int unknown = getaddrinfo(host, port, &wanted, &found);
	if (unknown)
		return gai_strerror(unknown);
	bool good = false;
	for (const struct addrinfo *at = found; at && !good; at = at->ai_next)
		good = accepts(at);
	const char *why = good ? NULL : strerror(errno);
	freeaddrinfo(found);
	return why;
}

static void pause_for(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};
	while (nanosleep(&left, &left) && errno == EINTR)
		continue;
}

static void put_command(const struct dfg_launch *launch, uint32_t number, char *out, size_t capacity)
{
	const struct dfg_host_lanes *lanes = &dfg_launch_host(launch, number)->lanes;
	char more[60] = "";
	if (lanes->count)
		snprintf(more, sizeof more, " --lanes %u --stride %u", lanes->count, lanes->stride);
	snprintf(out, capacity, "dfg serve --worker --secret-file FILE --number %u%s --port %s",
		number - lanes->number * lanes->stride, more, dfg_launch_host(launch, number)->ports);
}

static struct dfg_err *await_port(const struct dfg_launch *launch, uint32_t number, const char *host, const char *port)
{
	const char *why;
	char command[200];
	double seconds = launch->deadline == UINT64_MAX ? ATTACH_SECONDS : dfg_launch_seconds(launch, 1e9);
	uint64_t until = dfg_now() + (uint64_t)(seconds * 1e9);
	while ((why = knock(host, port))) {
		if (dfg_now() >= until || atomic_load(&launch->ending)) {
			put_command(launch, number, command, sizeof command);
			return DFG_ERR(DFG_UNAVAILABLE, "nothing listens at %s:%s after %.3g s (%s): is `%s` running there?", host,
				port, seconds, why, command);
		}
		pause_for(PAUSE_MS);
	}
	return NULL;
}

static struct dfg_err *attach_one(struct dfg_launch *launch, uint32_t number)
{
	const struct dfg_worker_host *host = dfg_launch_host(launch, number);
	struct dfg_peer *peer = &launch->peer[number];
	unsigned long port = strtoul(host->ports, NULL, 10) + host->lanes.number;
	char digits[8], address[300], fingerprint[DFG_FINGERPRINT_SIZE];
	uint8_t seed[DFG_KEY_SIZE];
	if (port > 65535)
		return DFG_ERR(DFG_CONFIG,
			"tcp= has port %s, but this host runs %u workers, which need consecutive ports from that one on, up to "
			"65535",
			host->ports, host->lanes.count);
	snprintf(digits, sizeof digits, "%lu", port);
	snprintf(address, sizeof address, strchr(host->tcp, ':') ? "[%s]:%s" : "%s:%s", host->tcp, digits);
	dfg_secret_key_worker(&launch->key, number, seed);
	struct dfg_err *err = dfg_tls_fingerprint_of(seed, fingerprint);
	explicit_bzero(seed, sizeof seed);
	if (err)
		return err;
	peer->shm = "";
	peer->address = dfg_launch_copy_text(launch, address);
	peer->fingerprint = dfg_launch_copy_text(launch, fingerprint);
	if (!peer->address || !peer->fingerprint)
		return dfg_no_memory("the addresses of a worker");
	return await_port(launch, number, host->tcp, digits);
}

/* A rank of a job on several machines listens on all its addresses. */
static struct dfg_err *read_rank(struct dfg_launch *launch, uint32_t number)
{
	static const char any[] = "0.0.0.0:";
	const struct dfg_rank *rank = &launch->options.ranks->rank[number];
	struct dfg_peer *peer = &launch->peer[number];
	char address[300];
	DFG_TRY(dfg_launch_read_hello(launch, number, rank->line));
	if (strncmp(peer->address, any, sizeof any - 1))
		return NULL;
	if (!*rank->reach)
		return DFG_ERR(DFG_UNAVAILABLE, "has no address that other machines can reach");
	snprintf(address, sizeof address, strchr(rank->reach, ':') ? "[%s]:%s" : "%s:%s", rank->reach,
		peer->address + sizeof any - 1);
	peer->address = dfg_launch_copy_text(launch, address);
	return peer->address ? NULL : dfg_no_memory("the addresses of a worker");
}

struct dfg_err *dfg_launch_attach(struct dfg_launch *launch, uint32_t number)
{
	struct dfg_err *err = launch->options.ranks ? read_rank(launch, number) : NULL;
	for (uint32_t i = launch->options.ranks ? launch->workers : number; i < launch->workers && !err; i++)
		if (dfg_launch_process_of(launch, i) == number)
			err = attach_one(launch, i);
	return dfg_err_note(err, "%s", launch->peer[number].name);
}

void dfg_launch_await_end(const struct dfg_launch *launch, uint32_t number, uint64_t until)
{
	const long look_ms = 2;
	while (!dfg_coordinator_has_lost(launch->coordinator, number) && dfg_now() < until)
		pause_for(look_ms);
}

struct dfg_err *dfg_launch_not_attached(const struct dfg_launch *launch, uint32_t number, struct dfg_err *err)
{
	char command[200];
	if (err->code != DFG_REFUSED || !dfg_launch_host(launch, number)->tcp || !launch->options.secret_file)
		return err;
	put_command(launch, number, command, sizeof command);
	struct dfg_err *more = DFG_ERR(DFG_REFUSED,
		"%s: the worker at %s has another secret or another number; it must be `%s`, with the file of this run",
		err->text, launch->peer[number].address, command);
	dfg_err_free(err);
	return more;
}
