#include "remote/shm.h"

#include "lib/base/io.h"
#include "remote/shm_link.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { WORD_BYTES = 16 }; /* random bytes of an address */

/* Listening. */

static struct dfg_err *system_error(const char *what)
{
	return DFG_ERR(dfg_code_of_errno(errno, DFG_UNAVAILABLE), "cannot %s for shared memory: %s", what, strerror(errno));
}

/* The name of what processes must share to share memory: the running kernel, the network namespace, the user. */
static struct dfg_err *name_host(char out_host[DFG_SHM_ADDRESS])
{
	struct dfg_blob boot;
	struct stat net;
	DFG_TRY(dfg_blob_open("/proc/sys/kernel/random/boot_id", 64, &boot));
	int length = boot.size && boot.bytes[boot.size - 1] == '\n' ? (int)boot.size - 1 : (int)boot.size;
	if (!stat("/proc/self/ns/net", &net))
		snprintf(out_host, DFG_SHM_ADDRESS, "%.*s.%llu.%u", length, (const char *)boot.bytes,
			(unsigned long long)net.st_ino, (unsigned)geteuid());
	dfg_blob_close(&boot);
	return *out_host ? NULL : system_error("identify this host");
}

/* An abstract socket name, which leaves no file behind. */
static socklen_t socket_name(const char *word, struct sockaddr_un *out_name)
{
	*out_name = (struct sockaddr_un){.sun_family = AF_UNIX};
	int length = snprintf(out_name->sun_path + 1, sizeof out_name->sun_path - 1, "dfg.%s", word);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static struct dfg_err *listen_for_peers(struct dfg_shm *shm)
{
	uint8_t random[WORD_BYTES];
	char word[2 * WORD_BYTES + 1];
	struct sockaddr_un name;
	DFG_TRY(name_host(shm->host));
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return system_error("choose a name");
	for (int i = 0; i < WORD_BYTES; i++)
		snprintf(word + 2 * i, 3, "%02x", random[i]);
	snprintf(shm->address, sizeof shm->address, "%.80s.%s", shm->host, word);
	socklen_t length = socket_name(word, &name);
	shm->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (shm->listener < 0 || bind(shm->listener, (struct sockaddr *)&name, length) || listen(shm->listener, 64))
		return system_error("listen");
	shm->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return shm->nudge < 0 ? system_error("create an eventfd") : NULL;
}

static void release(struct dfg_shm *shm)
{
	while (shm->n_strangers)
		close(shm->stranger[--shm->n_strangers].fd);
	while (shm->arrivals)
		shm_drop_arrival(shm_take_arrival(shm, shm->arrivals->peer));
	if (shm->listener >= 0)
		close(shm->listener);
	if (shm->nudge >= 0)
		close(shm->nudge);
	pthread_cond_destroy(&shm->arrived);
	pthread_mutex_destroy(&shm->lock);
	dfg_free(shm);
}

static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

struct dfg_err *dfg_shm_new(const struct dfg_shm_options *options, struct dfg_shm **out_shm)
{
	if (strlen(options->secret) != sizeof(*out_shm)->secret)
		return DFG_ERR(DFG_CONFIG, "the secret has %zu characters, must have %zu", strlen(options->secret),
			sizeof(*out_shm)->secret);
	struct dfg_shm *shm = dfg_zeros(1, sizeof *shm);
	if (!shm)
		return dfg_no_memory("links");
	shm->options = *options;
	shm->options.secret = NULL;
	shm->options.lease_ms = options->lease_ms ? options->lease_ms : DFG_LEASE_MS;
	memcpy(shm->secret, options->secret, sizeof shm->secret);
	shm->listener = shm->nudge = -1;
	pthread_mutex_init(&shm->lock, NULL);
	init_condition(&shm->arrived);
	struct dfg_err *err = listen_for_peers(shm);
	if (!err)
		err = shm_start(shm);
	if (err) {
		release(shm);
		return err;
	}
	*out_shm = shm;
	return NULL;
}

void dfg_shm_set_patience(struct dfg_shm *shm, uint32_t ms)
{
	atomic_store(&shm->patience_ms, ms);
}

void dfg_shm_free(struct dfg_shm *shm)
{
	if (!shm)
		return;
	while (shm->links)
		shm->links->link.kind->close(&shm->links->link);
	shm_stop(shm);
	release(shm);
}

const char *dfg_shm_address(const struct dfg_shm *shm)
{
	return shm->address;
}

bool dfg_shm_reaches(const struct dfg_shm *shm, const char *address)
{
	size_t length = strlen(shm->host);
	return !strncmp(address, shm->host, length) && address[length] == '.' &&
		   strspn(address + length + 1, "0123456789abcdef") == 2 * WORD_BYTES && !address[length + 1 + 2 * WORD_BYTES];
}

/* Links. */

/* Takes the socket and the segment. */
static struct dfg_err *add_link(struct dfg_shm *shm, uint32_t peer, int fd, struct ring_segment *segment,
	bool connected, struct dfg_link **out_link)
{
	struct shm_link *link;
	DFG_TRY(shm_link_new(shm, &shm->options, peer, fd, segment, connected, &link));
	*out_link = &link->link; /* before it runs: the sink may be called, and answer, before this function returns */
	if (!shm_run(shm, link)) {
		shm_link_unref(link);
		return DFG_ERR(
			DFG_MEMORY, "this process already has %d links over shared memory, which is the limit", LINKS_MOST);
	}
	return NULL;
}

static struct dfg_err *dial(struct dfg_shm *shm, const char *address, uint64_t until, int *out_fd)
{
	struct sockaddr_un name;
	if (!dfg_shm_reaches(shm, address))
		return DFG_ERR(DFG_UNAVAILABLE, "its address is of another host or user");
	socklen_t length = socket_name(address + strlen(shm->host) + 1, &name);
	int fd = *out_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return system_error("create a socket");
	while (connect(fd, (struct sockaddr *)&name, length)) {
		if (errno != EAGAIN && errno != EINTR)
			return DFG_ERR(
				dfg_code_of_errno(errno, DFG_UNAVAILABLE), "no process listens at its address: %s", strerror(errno));
		if (dfg_now() > until)
			return DFG_ERR(DFG_DEADLINE, "it does not answer");
		usleep(1000); /* the listen queue of the peer is full */
	}
	return shm_same_user(fd);
}

/* Sends a hello, and maps the segment of the answer. */
static struct dfg_err *share(
	struct dfg_shm *shm, uint32_t peer, int fd, uint64_t until, struct ring_segment **out_segment)
{
	int memory;
	struct hello hello = shm_hello(&shm->options, shm->secret);
	DFG_TRY(shm_hello_send(fd, &hello, -1));
	DFG_TRY(shm_hello_receive(fd, until, &hello, &memory));
	struct dfg_err *err = shm_hello_check(&hello, shm->secret);
	if (!err && hello.self != peer)
		err = DFG_ERR(DFG_PROTOCOL, "it is %s, expected %s", dfg_peer_words(hello.self).s, dfg_peer_words(peer).s);
	if (!err)
		err = shm_segment_map(memory, out_segment);
	if (memory >= 0)
		close(memory);
	return err;
}

struct dfg_err *dfg_shm_connect(
	struct dfg_shm *shm, uint32_t peer, const char *address, uint32_t ms, struct dfg_link **out_link)
{
	int fd = -1;
	struct ring_segment *segment;
	uint64_t until = dfg_now() + (uint64_t)ms * 1000000;
	struct dfg_err *err = dial(shm, address, until, &fd);
	if (!err)
		err = share(shm, peer, fd, until, &segment);
	if (!err)
		return add_link(shm, peer, fd, segment, true, out_link);
	if (fd >= 0)
		close(fd);
	return dfg_err_note(err, "%s", dfg_peer_words(peer).s);
}

struct dfg_err *dfg_shm_accept(struct dfg_shm *shm, uint32_t peer, uint32_t ms, struct dfg_link **out_link)
{
	uint64_t until = dfg_now() + (uint64_t)ms * 1000000;
	struct timespec deadline = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
	struct arrival *arrival;
	bool in_time = true;
	pthread_mutex_lock(&shm->lock);
	while (!(arrival = shm_take_arrival(shm, peer)) && in_time)
		in_time = !pthread_cond_timedwait(&shm->arrived, &shm->lock, &deadline);
	pthread_mutex_unlock(&shm->lock);
	if (!arrival)
		return DFG_ERR(DFG_DEADLINE, "%s did not connect for a link within %u ms", dfg_peer_words(peer).s, ms);
	int fd = arrival->fd;
	struct ring_segment *segment = arrival->segment;
	dfg_free(arrival);
	return add_link(shm, peer, fd, segment, false, out_link);
}
