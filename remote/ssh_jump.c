#include "remote/ssh_private.h"

#include "lib/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * libssh needs a descriptor, but a connection through a jump host is a channel of another session: a thread, which owns
 * that session, moves bytes between the channel and one end of a socket pair.
 */
enum { BLOCK = 32768, LOOK_MS = 1000 };

struct dfg_ssh_jump {
	struct dfg_ssh ssh;
	ssh_channel channel;
	int fd;
	pthread_t thread;
	bool done;
	struct flow {
		char bytes[BLOCK];
		size_t used, sent;
	} there, back;
};

/* Moves bytes from the channel to the descriptor; true where any were moved. */
static bool move_back(struct dfg_ssh_jump *jump)
{
	struct flow *flow = &jump->back;
	if (flow->sent == flow->used) {
		int count = dfg_ssh_channel_read_nonblocking(jump->channel, flow->bytes, BLOCK, 0);
		jump->done |= (count < 0 && count != SSH_AGAIN) || (!count && dfg_ssh_channel_is_eof(jump->channel));
		flow->used = count > 0 ? (size_t)count : 0;
		flow->sent = 0;
	}
	if (flow->sent == flow->used)
		return false;
	ssize_t count = send(jump->fd, flow->bytes + flow->sent, flow->used - flow->sent, MSG_NOSIGNAL);
	jump->done |= count < 0 && errno != EAGAIN && errno != EINTR;
	flow->sent += count > 0 ? (size_t)count : 0;
	return count > 0;
}

static bool move_there(struct dfg_ssh_jump *jump)
{
	struct flow *flow = &jump->there;
	if (flow->sent == flow->used) {
		ssize_t count = recv(jump->fd, flow->bytes, BLOCK, 0);
		jump->done |= !count || (count < 0 && errno != EAGAIN && errno != EINTR);
		flow->used = count > 0 ? (size_t)count : 0;
		flow->sent = 0;
	}
	if (flow->sent == flow->used)
		return false;
	int count = dfg_ssh_channel_write(jump->channel, flow->bytes + flow->sent, (uint32_t)(flow->used - flow->sent));
	jump->done |= count < 0 && count != SSH_AGAIN;
	flow->sent += count > 0 ? (size_t)count : 0;
	return count > 0;
}

static void wait_for_either(const struct dfg_ssh_jump *jump)
{
	const bool writes = dfg_ssh_get_poll_flags(jump->ssh.session) & SSH_WRITE_PENDING;
	const bool full = jump->there.sent < jump->there.used, unsent = jump->back.sent < jump->back.used;
	struct pollfd poll_[] = {
		{.fd = dfg_ssh_get_fd(jump->ssh.session), .events = (short)(POLLIN | (writes ? POLLOUT : 0))},
		{.fd = jump->fd, .events = (short)((full ? 0 : POLLIN) | (unsent ? POLLOUT : 0))},
	};
	poll(poll_, 2, LOOK_MS);
}

static void *pump(void *arg)
{
	struct dfg_ssh_jump *jump = arg;
	while (!jump->done) {
		bool moved = move_back(jump);
		moved |= move_there(jump);
		if (!moved && !jump->done)
			wait_for_either(jump);
	}
	close(jump->fd);
	return NULL;
}

static struct dfg_err *open_channel(struct dfg_ssh_jump *jump, const char *host, uint16_t port)
{
	int status;
	struct dfg_ssh *ssh = &jump->ssh;
	if (!(jump->channel = dfg_ssh_channel_new(ssh->session)))
		return dfg_no_memory("an ssh connection");
	const char *what = dfg_arena_print(&ssh->arena, "open a connection to %s port %u", host, port);
	dfg_ssh_begin(ssh);
	while ((status = dfg_ssh_channel_open_forward(jump->channel, host, port, "127.0.0.1", 0)) == SSH_AGAIN)
		DFG_TRY(dfg_ssh_turn(ssh, what ? what : "open a connection"));
	if (status != SSH_OK)
		return DFG_ERR(
			DFG_UNAVAILABLE, "cannot connect to %s port %u: %s", host, port, dfg_ssh_get_error(ssh->session));
	return NULL;
}

static struct dfg_err *start(struct dfg_ssh_jump *jump, int *out_fd)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return DFG_ERR(DFG_MEMORY, "cannot create a descriptor: %s", strerror(errno));
	jump->fd = pair[0];
	int error = pthread_create(&jump->thread, NULL, pump, jump);
	if (!error) {
		*out_fd = pair[1];
		return NULL;
	}
	close(pair[0]);
	close(pair[1]);
	return DFG_ERR(DFG_MEMORY, "cannot start a thread: %s", strerror(error));
}

static void release(struct dfg_ssh_jump *jump)
{
	if (jump->channel)
		dfg_ssh_channel_free(jump->channel);
	dfg_ssh_shut(&jump->ssh);
	dfg_free(jump);
}

struct dfg_err *dfg_ssh_jump_open(
	struct dfg_ssh *ssh, const char *host, uint16_t port, int *out_fd, struct dfg_ssh_jump **out_jump)
{
	struct dfg_ssh_jump *jump = dfg_zeros(1, sizeof *jump);
	if (!jump) {
		dfg_ssh_shut(ssh);
		return dfg_no_memory("an ssh connection");
	}
	jump->ssh = *ssh;
	struct dfg_err *err = open_channel(jump, host, port);
	if (!err)
		err = start(jump, out_fd);
	if (err)
		release(jump);
	else
		*out_jump = jump;
	return err;
}

/* The other end of the pair was closed before: the thread ends by itself. */
void dfg_ssh_jump_close(struct dfg_ssh_jump *jump)
{
	if (!jump)
		return;
	pthread_join(jump->thread, NULL);
	release(jump);
}
