#define _GNU_SOURCE
#include "remote/shm_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = "dfg shm";
enum { VERSION = 1 };

struct hello shm_hello(const struct dfg_shm_options *options, const char *secret)
{
	struct hello hello = {.version = VERSION, .bytes = sizeof(struct ring_segment), .self = options->self};
	memcpy(hello.magic, magic, sizeof magic);
	memcpy(hello.secret, secret, sizeof hello.secret);
	return hello;
}

/* Compares in constant time. */
static bool same_secret(const char *a, const char *b)
{
	volatile uint8_t other = 0;
	for (int i = 0; i < DFG_SECRET_SIZE - 1; i++)
		other = other | (uint8_t)(a[i] ^ b[i]);
	return !other;
}

static struct dfg_err *refusal(uint32_t code)
{
	switch (code) {
	case DFG_REFUSED:
		return DFG_ERR(DFG_REFUSED, "it refuses the secret of this run");
	case DFG_PROTOCOL:
		return DFG_ERR(DFG_PROTOCOL, "it runs another build of dfg: install the same on all hosts");
	case DFG_MEMORY:
		return DFG_ERR(DFG_MEMORY, "it has no memory for a link");
	default:
		return DFG_ERR(DFG_UNAVAILABLE, "it cannot share memory");
	}
}

struct dfg_err *shm_hello_check(const struct hello *hello, const char *secret)
{
	if (hello->refused)
		return refusal(hello->refused);
	if (memcmp(hello->magic, magic, sizeof magic) || hello->version != VERSION ||
		hello->bytes != sizeof(struct ring_segment))
		return DFG_ERR(DFG_PROTOCOL, "it runs another build of dfg: install the same on all hosts");
	if (!same_secret(hello->secret, secret))
		return DFG_ERR(DFG_REFUSED, "it does not know the secret of this run");
	return NULL;
}

struct dfg_err *shm_same_user(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof peer;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) || peer.uid != geteuid())
		return DFG_ERR(DFG_REFUSED, "it runs as another user");
	return NULL;
}

/* Space for one descriptor, in the system's layout. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

ssize_t shm_packet_send(int socket, const void *bytes, size_t length, int fd)
{
	union control control = {0};
	struct iovec part = {(void *)bytes, length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof control;
		control.header = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	}
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Further descriptors are dropped by the kernel. */
ssize_t shm_packet_receive(int socket, void *out_bytes, size_t length, int *out_fd, bool *out_cut)
{
	union control control;
	struct iovec part = {out_bytes, length};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	*out_fd = -1;
	ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
		header->cmsg_len == CMSG_LEN(sizeof *out_fd))
		memcpy(out_fd, CMSG_DATA(header), sizeof *out_fd);
	*out_cut = got > 0 && message.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	return got;
}

struct dfg_err *shm_hello_send(int socket, const struct hello *hello, int fd)
{
	if (shm_packet_send(socket, hello, sizeof *hello, fd) != sizeof *hello)
		return DFG_ERR(DFG_UNAVAILABLE, "it closed the connection");
	return NULL;
}

static struct dfg_err *await(int socket, uint64_t until)
{
	for (;;) {
		uint64_t now = dfg_now(), left = now < until ? until - now : 0;
		struct timespec wait = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
		int ready = ppoll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, &wait, NULL);
		if (ready > 0)
			return NULL;
		if (!ready || errno != EINTR)
			return DFG_ERR(DFG_DEADLINE, "it does not answer");
	}
}

struct dfg_err *shm_hello_receive(int socket, uint64_t ns, struct hello *out_hello, int *out_fd)
{
	bool cut;
	*out_fd = -1;
	DFG_TRY(await(socket, ns));
	ssize_t got = shm_packet_receive(socket, out_hello, sizeof *out_hello, out_fd, &cut);
	if (cut && *out_fd < 0 && got == sizeof *out_hello) /* the system had no number for it */
		return DFG_ERR(DFG_MEMORY, "cannot receive the descriptor of its memory: %s", strerror(EMFILE));
	if (got == sizeof *out_hello && !cut)
		return NULL;
	if (*out_fd >= 0)
		close(*out_fd);
	*out_fd = -1;
	if (got <= 0)
		return DFG_ERR(DFG_UNAVAILABLE, "it closed the connection");
	return DFG_ERR(DFG_PROTOCOL, "it runs another build of dfg: install the same on all hosts");
}

static struct dfg_err *map(int fd, struct ring_segment **out_segment)
{
	void *at = mmap(NULL, sizeof **out_segment, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return DFG_ERR(DFG_MEMORY, "cannot map shared memory: %s", strerror(errno));
	*out_segment = at;
	return NULL;
}

struct dfg_err *shm_segment_new(int *out_fd, struct ring_segment **out_segment)
{
	int fd = memfd_create("dfg", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return DFG_ERR(DFG_MEMORY, "cannot create shared memory: %s", strerror(errno));
	struct dfg_err *err = NULL;
	if (ftruncate(fd, sizeof **out_segment) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		err = DFG_ERR(DFG_MEMORY, "cannot create shared memory: %s", strerror(errno));
	if (!err)
		err = map(fd, out_segment);
	if (err)
		close(fd);
	else
		*out_fd = fd;
	return err;
}

struct dfg_err *shm_segment_map(int fd, struct ring_segment **out_segment)
{
	struct stat stat;
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &stat) || stat.st_size != sizeof **out_segment)
		return DFG_ERR(DFG_PROTOCOL, "its segment of shared memory is malformed");
	return map(fd, out_segment);
}
