#define _GNU_SOURCE
/*
 * The cost to hand tensors to another process, by each kind of link: 4 bytes there and back while both ends poll,
 * and while both sleep in between; 64 MB into a buffer that exists. In the same run, the same over a TCP socket and a
 * Unix socket, and a copy of the 64 MB within one process. Medians. See bench/rows.txt.
 */
#include "bench/bench.h"
#include "lib/exec/transport/link_memory.h"
#include "remote/shm.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 64 << 20, TRIPS = 5000, SLOW_TRIPS = 300, LARGE_TRIPS = 9, PAUSE_US = 300, MS = 10000 };
static const char secret[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static struct dfg_tensor buffer; /* where large tensors come */
static cpu_set_t cores;          /* that this program may use */

/* A process to a core, where there is more than one: as MPI does, and as chance may not. */
static void bind_to(int nth)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	if (CPU_COUNT(&cores) < 2)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cores) && nth-- == 0)
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
}

/* One side of a link. What comes is counted; the far side sends it back, and polls as long as the number says so. */
struct side {
	struct dfg_link *link;
	atomic_long come;
	atomic_bool polls;
	bool answers;
	sem_t woken;
};
enum { QUIET, POLLED };

static struct dfg_err *allocate(
	void *arg, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	(void)arg;
	if (dfg_shape_count(shape) == LARGE)
		return dfg_tensor_share(&buffer, out_tensor);
	return dfg_tensor_new(dtype, shape, out_tensor);
}

static void send_tensor(struct dfg_link *link, uint32_t number, const struct dfg_tensor *tensor)
{
	struct dfg_message message = {.key = {.step = 1, .number = number}, .tensor = *tensor};
	expect(link->kind->send(link, &message));
}

static void send_word(struct dfg_link *link, uint32_t number)
{
	int32_t word = 7;
	send_tensor(link, number, &(struct dfg_tensor){.dtype = DFG_I32, .data = &word, .capacity = sizeof word});
}

static void deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct side *side = arg;
	(void)peer;
	dfg_tensor_release(&message->tensor);
	if (side->answers)
		send_word(side->link, message->key.number);
	bool polls = message->key.number == POLLED;
	bool began = atomic_exchange(&side->polls, polls) != polls && polls;
	atomic_fetch_add(&side->come, 1);
	if (side->answers ? began : !polls)
		sem_post(&side->woken);
}

static void lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	struct side *side = arg;
	(void)peer;
	dfg_err_free(err);
	_exit(!side->answers); /* the far side is done when the near one closes, and never before */
}

static struct dfg_link_sink sink_of(struct side *side)
{
	return (struct dfg_link_sink){.arg = side, .deliver = deliver, .lost = lost, .allocate = allocate};
}

static _Noreturn void *serve(void *arg)
{
	struct side *side = arg;
	for (;;) {
		if (atomic_load(&side->polls))
			side->link->kind->poll(side->link);
		else
			sem_wait(&side->woken);
	}
}

/* Until the n-th has come. */
static void await(struct side *side, long n, bool polls)
{
	while (atomic_load(&side->come) < n)
		if (polls)
			side->link->kind->poll(side->link);
		else
			sem_wait(&side->woken);
}

/* ns for a round trip of the tensor and a word, polled for by both sides or after a pause that both have slept. */
static double round_trips(struct side *side, const struct dfg_tensor *tensor, int n, bool polls)
{
	static double time[TRIPS];
	for (int i = 0; i < n; i++) {
		long seen = atomic_load(&side->come);
		if (!polls)
			usleep(PAUSE_US);
		double began = now();
		if (tensor)
			send_tensor(side->link, polls ? POLLED : QUIET, tensor);
		else
			send_word(side->link, polls ? POLLED : QUIET);
		await(side, seen + 1, polls);
		time[i] = now() - began;
	}
	qsort(time, (size_t)n, sizeof *time, by_value);
	return time[n / 2];
}

static void report(const char *kind, const char *what, double value, const char *peer)
{
	printf("link %s, %s\t%f%s%s\n", kind, what, value, *peer ? "\t" : "", peer);
	fflush(stdout);
}

static void measure_link(const char *kind, struct side *side, const struct dfg_tensor *large)
{
	round_trips(side, NULL, TRIPS / 10, true);
	report(kind, "4 bytes, polled", round_trips(side, NULL, TRIPS, true) / 1e3, "");
	report(kind, "4 bytes, slept", round_trips(side, NULL, SLOW_TRIPS, false) / 1e3, "");
	round_trips(side, large, 2, true);
	report(kind, "64 MB", round_trips(side, large, LARGE_TRIPS, true) / 1e6, "");
}

static void memory_link(const struct dfg_tensor *large)
{
	static struct side near, far = {.answers = true};
	struct dfg_link_sink a = sink_of(&near), b = sink_of(&far);
	pthread_t thread;
	a.allocate = b.allocate = NULL;
	expect(dfg_link_memory_pair(&a, 1, &b, 0, &near.link, &far.link));
	if (pthread_create(&thread, NULL, serve, &far))
		exit(1);
	measure_link("memory", &near, large);
}

static void shm_far_side(int from)
{
	static struct side far = {.answers = true};
	char address[DFG_SHM_ADDRESS] = "";
	struct dfg_shm *shm;
	expect(dfg_shm_new(&(struct dfg_shm_options){.self = 1, .secret = secret, .sink = sink_of(&far)}, &shm));
	if (read(from, address, sizeof address - 1) <= 0)
		_exit(1);
	expect(dfg_shm_connect(shm, 0, address, MS, &far.link));
	send_word(far.link, QUIET); /* from now on it can answer */
	serve(&far);
}

static void shm_link(int to, const struct dfg_tensor *large)
{
	static struct side near;
	struct dfg_shm *shm;
	expect(dfg_shm_new(&(struct dfg_shm_options){.self = 0, .secret = secret, .sink = sink_of(&near)}, &shm));
	const char *address = dfg_shm_address(shm);
	if (write(to, address, strlen(address)) < 0)
		exit(1);
	expect(dfg_shm_accept(shm, 1, MS, &near.link));
	await(&near, 1, false);
	measure_link("shm", &near, large);
	dfg_shm_free(shm);
}

/* Sockets, as fast as they go: what a link is measured against. */

static void move(
	int fd, char *bytes, size_t count, bool spins, ssize_t (*how)(int fd, char *bytes, size_t count, int flags))
{
	while (count) {
		ssize_t n = how(fd, bytes, count, spins ? MSG_DONTWAIT : 0);
		if (n == 0)
			_exit(0);
		if (n > 0) {
			bytes += n;
			count -= (size_t)n;
		}
	}
}

static ssize_t out(int fd, char *bytes, size_t count, int flags)
{
	return send(fd, bytes, count, flags | MSG_NOSIGNAL);
}

static ssize_t in(int fd, char *bytes, size_t count, int flags)
{
	return recv(fd, bytes, count, flags);
}

/* Each message has that size and is answered by 4 bytes. */
static void answer(int fd, char *bytes, size_t count, int n, bool spins)
{
	for (int i = 0; i < n; i++) {
		move(fd, bytes, count, spins, in);
		move(fd, bytes, 4, spins, out);
	}
}

static double socket_round_trips(int fd, char *bytes, size_t count, int n, bool spins, bool pauses)
{
	static double time[TRIPS];
	for (int i = 0; i < n; i++) {
		if (pauses)
			usleep(PAUSE_US);
		double began = now();
		move(fd, bytes, count, spins, out);
		move(fd, bytes, 4, spins, in);
		time[i] = now() - began;
	}
	qsort(time, (size_t)n, sizeof *time, by_value);
	return time[n / 2];
}

static void measure_socket(const char *name, int near, int far, char *bytes)
{
	pid_t child = fork();
	if (!child) {
		bind_to(1);
		close(near);
		answer(far, bytes, 4, TRIPS, true);
		answer(far, bytes, 4, SLOW_TRIPS, false);
		answer(far, bytes, LARGE, LARGE_TRIPS, false);
		_exit(0);
	}
	close(far);
	report("shm", "4 bytes, polled", socket_round_trips(near, bytes, 4, TRIPS, true, false) / 1e3, name);
	report("shm", "4 bytes, slept", socket_round_trips(near, bytes, 4, SLOW_TRIPS, false, true) / 1e3, name);
	report("shm", "64 MB", socket_round_trips(near, bytes, LARGE, LARGE_TRIPS, false, false) / 1e6, name);
	close(near);
	waitpid(child, NULL, 0);
}

static void unix_socket(char *bytes)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	measure_socket("Unix socket", ends[0], ends[1], bytes);
}

static void tcp_socket(char *bytes)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof name;
	int listener = socket(AF_INET, SOCK_STREAM, 0), near = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	if (bind(listener, (struct sockaddr *)&name, sizeof name) || listen(listener, 1) ||
		getsockname(listener, (struct sockaddr *)&name, &length) || connect(near, (struct sockaddr *)&name, length))
		exit(1);
	int far = accept(listener, NULL, NULL);
	setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(far, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	measure_socket("TCP", near, far, bytes);
	close(listener);
}

static void copy(char *to, const char *from)
{
	double time[LARGE_TRIPS];
	for (int i = 0; i < LARGE_TRIPS; i++) {
		double began = now();
		memcpy(to, from, LARGE);
		__asm__ volatile("" ::"r"(to) : "memory");
		time[i] = now() - began;
	}
	qsort(time, LARGE_TRIPS, sizeof *time, by_value);
	report("shm", "64 MB", time[LARGE_TRIPS / 2] / 1e6, "memcpy");
}

static struct dfg_tensor large_tensor(void)
{
	struct dfg_tensor tensor;
	expect(dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR(LARGE), &tensor));
	memset(tensor.data, 1, LARGE);
	return tensor;
}

int main(void)
{
	int ends[2];
	sched_getaffinity(0, sizeof cores, &cores);
	buffer = large_tensor();
	struct dfg_tensor large = large_tensor();
	if (pipe(ends))
		return 1;
	pid_t child = fork(); /* before there are threads */
	if (!child) {
		close(ends[1]);
		bind_to(1);
		memset(buffer.data, 2, LARGE); /* pages of its own */
		shm_far_side(ends[0]);
	}
	bind_to(0);
	copy(buffer.data, large.data);
	tcp_socket(buffer.data);
	unix_socket(buffer.data);
	shm_link(ends[1], &large);
	waitpid(child, NULL, 0);
	sched_setaffinity(0, sizeof cores, &cores);
	memory_link(&large);
	return 0;
}
