#include "remote/ssh_private.h"

#include "lib/base/text.h"
#include "lib/base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TURN_MS = 100, JUMPS_MOST = 8 };

void dfg_ssh_begin(struct dfg_ssh *ssh)
{
	const uint64_t deadline = dfg_now() + (uint64_t)(ssh->seconds * 1e9);
	ssh->deadline = deadline < ssh->last_deadline ? deadline : ssh->last_deadline;
}

struct dfg_err *dfg_ssh_turn(struct dfg_ssh *ssh, const char *what)
{
	const uint64_t now = dfg_now();
	if (now >= ssh->deadline)
		return DFG_ERR(DFG_UNAVAILABLE, "%s did not %s within %g s", ssh->entry.host_name, what, ssh->seconds);
	const int fd = dfg_ssh_get_fd(ssh->session);
	if (fd < 0)
		return DFG_ERR(DFG_UNAVAILABLE, "%s hung up: %s", ssh->entry.host_name, dfg_ssh_get_error(ssh->session));
	const bool writes = dfg_ssh_get_poll_flags(ssh->session) & SSH_WRITE_PENDING;
	struct pollfd poll_ = {.fd = fd, .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
	const uint64_t left_ms = (ssh->deadline - now) / 1000000 + 1;
	poll(&poll_, 1, left_ms < TURN_MS ? (int)left_ms : TURN_MS);
	return NULL;
}

static struct dfg_err *set_options(struct dfg_ssh *ssh, const char *kinds)
{
	const int no = 0;
	const unsigned port = ssh->entry.port;
	const struct {
		enum ssh_options_e option;
		const void *value;
	} options[] = {
		/* first: libssh must not read a config by itself */
		{SSH_OPTIONS_PROCESS_CONFIG, &no},
		{SSH_OPTIONS_HOST, ssh->entry.host_name},
		{SSH_OPTIONS_PORT, &port},
		{SSH_OPTIONS_USER, ssh->entry.user},
		{SSH_OPTIONS_FD, &ssh->lent},
		{SSH_OPTIONS_KNOWNHOSTS, "/dev/null"}, /* remote/ssh_known.c checks known_hosts */
		{SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null"},
		{SSH_OPTIONS_HOSTKEYS, kinds},
		{SSH_OPTIONS_IDENTITY_AGENT, ssh->entry.identity_agent},
	};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (options[i].value && dfg_ssh_options_set(ssh->session, options[i].option, options[i].value))
			return DFG_ERR(DFG_CONFIG, "libssh rejects an option: %s", dfg_ssh_get_error(ssh->session));
	dfg_ssh_set_blocking(ssh->session, 0);
	return NULL;
}

static struct dfg_err *make_session(struct dfg_ssh *ssh)
{
	const char *kinds;
	DFG_TRY(dfg_ssh_known_kinds(ssh, &kinds));
	ssh->lent = fcntl(ssh->fd, F_DUPFD_CLOEXEC, 3);
	if (ssh->lent < 0)
		return DFG_ERR(DFG_MEMORY, "cannot create a descriptor: %s", strerror(errno));
	if (!(ssh->session = dfg_ssh_new()))
		return dfg_no_memory("an ssh connection");
	return set_options(ssh, kinds);
}

/* Exchanges keys. *out_retry: the server hung up without an error, as one does that has many connections. */
static struct dfg_err *greet(struct dfg_ssh *ssh, bool *out_retry)
{
	int status;
	while ((status = dfg_ssh_connect(ssh->session)) == SSH_AGAIN)
		DFG_TRY(dfg_ssh_turn(ssh, "speak SSH"));
	if (status == SSH_OK)
		return NULL;
	*out_retry = !dfg_ssh_get_serverbanner(ssh->session);
	return DFG_ERR(DFG_UNAVAILABLE, "cannot begin an SSH session with %s port %u: %s", ssh->entry.host_name,
		ssh->entry.port, dfg_ssh_get_error(ssh->session));
}

/* Seconds left for a wait that begins now. */
static double seconds_left(const struct dfg_ssh *ssh)
{
	const uint64_t now = dfg_now();
	const double left = ssh->last_deadline > now ? (double)(ssh->last_deadline - now) / 1e9 : 0;
	return left < ssh->seconds ? left : ssh->seconds;
}

static struct dfg_err *open_by(
	const struct dfg_ssh_wish *wish, double seconds, uint64_t deadline, int jumps, struct dfg_ssh *out_ssh);

/*
 * Connects through the last hop of ProxyJump, which the hops before it lead to. The first hop follows its own config.
 */
static struct dfg_err *jump(struct dfg_ssh *ssh, const char *hops, int jumps)
{
	struct dfg_ssh_hop hop;
	struct dfg_ssh gate = {0};
	const char *comma = strrchr(hops, ','), *last = comma ? comma + 1 : hops;
	if (jumps == JUMPS_MOST)
		return DFG_ERR(DFG_CONFIG, "ProxyJump leads over more than %d hosts: they may form a circle", JUMPS_MOST);
	DFG_TRY(dfg_ssh_hop_read(last, last + strlen(last), &ssh->arena, &hop));
	const char *before = comma ? dfg_arena_copy(&ssh->arena, hops, (size_t)(comma - hops)) : NULL;
	const struct dfg_ssh_wish wish = {
		.file = ssh->wish.file, .host = hop.host, .user = hop.user, .port = hop.port, .jump = before};
	struct dfg_err *err = open_by(&wish, ssh->seconds, ssh->last_deadline, jumps + 1, &gate);
	if (!err)
		err = dfg_ssh_jump_open(&gate, ssh->entry.host_name, ssh->entry.port, &ssh->fd, &ssh->jump);
	return dfg_err_note(err, "by way of %s", hop.host);
}

/* A descriptor that leads to the host. */
static struct dfg_err *reach(struct dfg_ssh *ssh, int jumps)
{
	const struct dfg_ssh_entry *entry = &ssh->entry;
	if (entry->proxy_command)
		return dfg_ssh_proxy_open(entry->proxy_command, &ssh->fd, &ssh->proxy);
	if (entry->proxy_jump)
		return jump(ssh, entry->proxy_jump, jumps);
	return dfg_ssh_dial(entry->host_name, entry->port, seconds_left(ssh), &ssh->fd, ssh->address);
}

/* One attempt to connect, check the host's key and authenticate the user. */
static struct dfg_err *attempt(struct dfg_ssh *ssh, int jumps, bool *out_retry)
{
	bool failed = false;
	*out_retry = false;
	DFG_TRY(reach(ssh, jumps));
	DFG_TRY(make_session(ssh));
	dfg_ssh_begin(ssh);
	struct dfg_err *err = greet(ssh, out_retry);
	if (err && ssh->proxy)
		err = dfg_ssh_proxy_explain(ssh->proxy, err, &failed);
	*out_retry &= !failed;
	DFG_TRY(err);
	DFG_TRY(dfg_ssh_known_check(ssh));
	dfg_ssh_begin(ssh);
	return dfg_ssh_login(ssh);
}

/* libssh closes the descriptor after some errors only: whether it is still open is asked of the system. */
static void close_lent(const struct dfg_ssh *ssh)
{
	struct stat own, lent;
	if (ssh->lent > 0 && !fstat(ssh->fd, &own) && !fstat(ssh->lent, &lent) && own.st_dev == lent.st_dev &&
		own.st_ino == lent.st_ino)
		close(ssh->lent);
}

static void hang_up(struct dfg_ssh *ssh)
{
	if (ssh->session) {
		dfg_ssh_disconnect(ssh->session);
		dfg_ssh_free(ssh->session);
	}
	ssh->session = NULL;
	close_lent(ssh);
	if (ssh->fd > 0)
		close(ssh->fd);
	ssh->fd = ssh->lent = 0;
	dfg_ssh_jump_close(ssh->jump);
	dfg_ssh_proxy_close(ssh->proxy);
	ssh->jump = NULL;
	ssh->proxy = NULL;
}

static struct dfg_err *open_by(
	const struct dfg_ssh_wish *wish, double seconds, uint64_t deadline, int jumps, struct dfg_ssh *out_ssh)
{
	*out_ssh = (struct dfg_ssh){.wish = *wish, .seconds = seconds, .last_deadline = deadline};
	bool again = true;
	struct dfg_err *err = dfg_ssh_config_read(wish, &out_ssh->arena, &out_ssh->entry);
	const bool ready = !err;
	if (ready)
		strncpy(out_ssh->address, out_ssh->entry.host_name, sizeof out_ssh->address - 1);
	if (ready && out_ssh->entry.connect_seconds)
		out_ssh->seconds = out_ssh->entry.connect_seconds;
	const uint64_t patience = dfg_now() + (uint64_t)(out_ssh->seconds * 5e8);
	for (unsigned i = 0; ready && again && dfg_now() < patience; i++) {
		dfg_err_free(err);
		err = attempt(out_ssh, jumps, &again);
		if (!err)
			return NULL;
		hang_up(out_ssh);
		if (again)
			usleep((50000u << (i < 3 ? i : 3)) + (unsigned)(dfg_now() % 100000));
	}
	dfg_ssh_shut(out_ssh);
	return err;
}

struct dfg_err *dfg_ssh_open(
	const struct dfg_ssh_wish *wish, double seconds, uint64_t deadline, struct dfg_ssh *out_ssh)
{
	DFG_TRY(dfg_libssh_open());
	return open_by(wish, seconds, deadline ? deadline : UINT64_MAX, 0, out_ssh);
}

void dfg_ssh_shut(struct dfg_ssh *ssh)
{
	hang_up(ssh);
	dfg_arena_release(&ssh->arena);
}
