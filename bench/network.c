/*
 * Tensors between two processes over loopback, against a plain TCP connection that moves the same bytes: 4 bytes there and
 * back, with threads that spin and with threads that sleep, and 64 MB one way. Medians.
 */
#include "bench/bench.h"
#include "lib/base/pool.h"
#include "remote/http_links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIPS = 5000, WARM = 500, BULKS = 9, BULK = 64 << 20 };

enum { SMALL = 1, LARGE, DONE }; /* numbers of messages */

static void say(int fd, const void *bytes, size_t count)
{
	for (const char *at = bytes; count;) {
		ssize_t n = write(fd, at, count);
		if (n <= 0)
			exit(1);
		at += n;
		count -= (size_t)n;
	}
}

static void hear(int fd, void *bytes, size_t count, int flags)
{
	for (char *at = bytes; count;) {
		ssize_t n = recv(fd, at, count, flags);
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			exit(1);
		at += n;
		count -= (size_t)n;
	}
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, by_value);
	return values[count / 2];
}

/* Plain TCP. */

static void raw_peer(int fd, char *bulk)
{
	char word[4];
	for (int flags = 0; flags <= MSG_DONTWAIT; flags += MSG_DONTWAIT)
		for (int i = 0; i < TRIPS + WARM; i++) {
			hear(fd, word, sizeof word, flags);
			say(fd, word, sizeof word);
		}
	for (int i = 0; i < BULKS; i++) {
		hear(fd, bulk, BULK, 0);
		say(fd, word, sizeof word);
	}
}

static double raw_round_trips(int fd, int flags)
{
	static double took[TRIPS];
	char word[4] = "abc";
	for (int i = -WARM; i < TRIPS; i++) {
		double begin = now();
		say(fd, word, sizeof word);
		hear(fd, word, sizeof word, flags);
		if (i >= 0)
			took[i] = (now() - begin) / 1e3;
	}
	return median(took, TRIPS);
}

static double raw_bulk(int fd, const char *bulk)
{
	double took[BULKS];
	char word[4];
	for (int i = 0; i < BULKS; i++) {
		double begin = now();
		say(fd, bulk, BULK);
		hear(fd, word, sizeof word, 0);
		took[i] = (now() - begin) / 1e6;
	}
	return median(took, BULKS);
}

static int tcp_pair(bool child, int listener, const struct sockaddr_in *at)
{
	int fd = child ? socket(AF_INET, SOCK_STREAM, 0) : accept(listener, NULL, NULL);
	if (fd < 0 || (child && connect(fd, (const struct sockaddr *)at, sizeof *at)))
		exit(1);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	return fd;
}

/* A link. */

struct end {
	struct dfg_http_links *http;
	struct dfg_link *link;
	bool child;
	struct dfg_tensor word, place;
	_Atomic uint32_t came, done;
	struct dfg_event event;
	_Atomic int round_trips; /* asleep: the thread that reads sends the next one */
	double begin, took[TRIPS];
};

static void tell(struct end *end, uint32_t number, const struct dfg_tensor *tensor)
{
	struct dfg_message message = {.key.number = number, .tensor = *tensor};
	expect(end->link->kind->send(end->link, &message));
}

static void deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct end *end = arg;
	(void)peer;
	if (message->key.number == DONE)
		atomic_store(&end->done, 1);
	else if (end->child)
		tell(end, SMALL, &end->word);
	dfg_tensor_release(&message->tensor);
	atomic_fetch_add(&end->came, 1);
	int left = atomic_load(&end->round_trips);
	if (!end->child && left > 0) {
		if (left <= TRIPS)
			end->took[left - 1] = (now() - end->begin) / 1e3;
		atomic_store(&end->round_trips, left - 1);
		end->begin = now();
		if (left > 1)
			tell(end, SMALL, &end->word);
	}
	dfg_event_signal(&end->event);
}

/* Each tensor replaces the one before, as it would in a plan. */
static struct dfg_err *allocate(void *arg, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out)
{
	struct end *end = arg;
	if (end->place.dtype != dtype || !dfg_shape_equal(&end->place.shape, shape)) {
		dfg_tensor_release(&end->place);
		expect(dfg_tensor_new(dtype, shape, &end->place));
	}
	return dfg_tensor_share(&end->place, out);
}

static void lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	struct end *end = arg;
	(void)peer;
	if (!end->child)
		fprintf(stderr, "%s\n", err->text);
	dfg_err_free(err);
	atomic_store(&end->done, 1);
}

static void await(struct end *end, uint32_t came)
{
	for (uint32_t seen; seen = atomic_load(&end->event.word), atomic_load(&end->came) < came;)
		dfg_event_wait(&end->event, seen);
}

static double trips_asleep(struct end *end)
{
	end->begin = now();
	atomic_store(&end->round_trips, TRIPS + WARM);
	tell(end, SMALL, &end->word);
	while (atomic_load(&end->round_trips))
		usleep(1000);
	return median(end->took, TRIPS);
}

static double trips_spinning(struct end *end)
{
	for (int i = -WARM; i < TRIPS; i++) {
		double begin = now();
		uint32_t before = atomic_load(&end->came);
		tell(end, SMALL, &end->word);
		while (atomic_load(&end->came) == before)
			end->link->kind->poll(end->link);
		if (i >= 0)
			end->took[i] = (now() - begin) / 1e3;
	}
	return median(end->took, TRIPS);
}

static double bulk(struct end *end, const struct dfg_tensor *large)
{
	double took[BULKS];
	for (int i = 0; i < BULKS; i++) {
		uint32_t before = atomic_load(&end->came);
		double begin = now();
		tell(end, LARGE, large);
		await(end, before + 1);
		took[i] = (now() - begin) / 1e6;
	}
	return median(took, BULKS);
}

static void open_end(struct end *end, bool child, const char *secret, int to, int from)
{
	char address[64] = "";
	struct dfg_http_links_options options = {.self = child,
		.address = "127.0.0.1",
		.secret = secret,
		.sink = {.arg = end, .deliver = deliver, .lost = lost, .allocate = allocate},
		.tls = getenv("TLS")};
	end->child = child;
	expect(dfg_tensor_new(DFG_F32, &DFG_SHAPE_SCALAR, &end->word));
	expect(dfg_http_links_new(&options, &end->http));
	char pin[64] = "";
	snprintf(address, sizeof address, "%s", dfg_http_links_address(end->http));
	if (options.tls)
		snprintf(pin, sizeof pin, "%s", dfg_http_links_fingerprint(end->http));
	say(to, address, sizeof address);
	say(to, pin, sizeof pin);
	if (read(from, address, sizeof address) != sizeof address || read(from, pin, sizeof pin) != sizeof pin)
		exit(1);
	expect(dfg_http_links_connect(end->http, !child, address, options.tls ? pin : NULL, &end->link));
	expect(dfg_http_links_wait(end->link, 10000));
}

static void link_peer(struct end *end, int begin)
{
	char word;
	/* Asleep first, then spinning until it is over. */
	if (read(begin, &word, 1) != 1)
		exit(1);
	while (!atomic_load(&end->done))
		end->link->kind->poll(end->link);
}

static void link_rows(struct end *end, int begin)
{
	struct dfg_tensor large;
	expect(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(BULK / 4), &large));
	memset(large.data, 1, BULK);
	printf("4 bytes there and back, asleep\t%.3f\n", trips_asleep(end));
	printf("64 MB to another process\t%.3f\n", bulk(end, &large));
	say(begin, "x", 1);
	printf("4 bytes there and back, awake\t%.3f\n", trips_spinning(end));
	tell(end, DONE, &end->word);
	usleep(100000);
	dfg_tensor_release(&large);
}

static void raw_rows(int fd, const char *bytes)
{
	printf("4 bytes there and back, asleep\t%.3f\tTCP\n", raw_round_trips(fd, 0));
	printf("4 bytes there and back, awake\t%.3f\tTCP\n", raw_round_trips(fd, MSG_DONTWAIT));
	printf("64 MB to another process\t%.3f\tTCP\n", raw_bulk(fd, bytes));
}

int main(void)
{
	static struct end end;
	char secret[DFG_SECRET_SIZE];
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof at;
	int there[2], back[2], begin[2], listener = socket(AF_INET, SOCK_STREAM, 0);
	expect(dfg_secret_make(secret));
	if (bind(listener, (struct sockaddr *)&at, length) || getsockname(listener, (struct sockaddr *)&at, &length) ||
		listen(listener, 1) || pipe(there) || pipe(back) || pipe(begin))
		return 1;
	pid_t peer = fork();
	bool child = !peer;
	int fd = tcp_pair(child, listener, &at);
	char *bytes = malloc(BULK);
	memset(bytes, 1, BULK);
	if (child)
		raw_peer(fd, bytes);
	else
		raw_rows(fd, bytes);
	free(bytes);
	open_end(&end, child, secret, child ? back[1] : there[1], child ? there[0] : back[0]);
	if (child)
		link_peer(&end, begin[0]);
	else
		link_rows(&end, begin[1]);
	dfg_http_links_free(end.http);
	dfg_tensor_release(&end.word);
	dfg_tensor_release(&end.place);
	if (child)
		_exit(0);
	waitpid(peer, NULL, 0);
	return 0;
}
