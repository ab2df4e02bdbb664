#define _GNU_SOURCE /* POLLRDHUP */
#include "tests/unit/victim.h"

#include <dirent.h>
#include <pthread.h>

/* Attacks of which some last, and good visitors at the same time. */

/* A peer that breaks the protocol is closed within this time, not after the five seconds of an unauthenticated one. */
enum { AT_ONCE_MS = 2000 };

static bool is_hung_up_on(int fd, int ms)
{
	uint8_t heard[65536];
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	while (poll(&ready, 1, ms) > 0)
		if (recv(fd, heard, sizeof heard, 0) <= 0)
			return true;
	return false;
}

/* None of these begins HTTP/2, or continues as it must. */
struct misplaced {
	const char *name;
	int type, flags;
	uint32_t stream;
	size_t count;
	const char *payload;
};
static const struct misplaced misplaced[] = {
	{"data before a request", DATA, 0, 1, 4, "abcd"},
	{"a request on stream 0", HEADERS, END_HEADERS, 0, 3, "\x82\x84\x87"},
	{"a request on an even stream", HEADERS, END_HEADERS, 2, 3, "\x82\x84\x87"},
	{"a header that never began", CONTINUATION, END_HEADERS, 1, 3, "\x82\x84\x87"},
	{"a promise to a server", 5, END_HEADERS, 1, 7, "\0\0\0\2\x82\x84\x87"},
	{"settings of a stream", SETTINGS, 0, 1, 0, ""},
	{"settings cut short", SETTINGS, 0, 0, 5, "\0\3\0\0\0"},
	{"a window larger than there is", SETTINGS, 0, 0, 6, "\0\4\xff\xff\xff\xff"},
	{"an update by nothing", WINDOW_UPDATE, 0, 0, 4, "\0\0\0\0"},
	{"a reset of what never was", RST_STREAM, 0, 3, 4, "\0\0\0\10"},
	{"a ping cut short", PING, 0, 0, 7, "1234567"},
	{"padding longer than its frame", HEADERS, END_HEADERS | 8, 1, 2, "\xff\x82"},
	{"an index of no field", HEADERS, END_HEADERS, 1, 2, "\xff\x7f"},
	{"a table larger than agreed", HEADERS, END_HEADERS, 1, 5, "\x3f\xe1\xff\xff\x7f"},
};

static void frames_out_of_place_end_the_connection(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof misplaced / sizeof *misplaced; i++) {
		const struct misplaced *frame = &misplaced[i];
		struct bytes *bytes = calloc(1, sizeof *bytes);
		int fd = reach();
		add_preface(bytes);
		add_frame(bytes, frame->type, frame->flags, frame->stream, frame->payload, frame->count);
		assert_true(try_send(fd, bytes));
		if (!is_hung_up_on(fd, AT_ONCE_MS))
			fail_msg("it does not hang up on %s", frame->name);
		close(fd);
		free(bytes);
		a_good_one_is_served();
	}
}

static void a_frame_longer_than_agreed_ends_the_connection(void **state)
{
	(void)state;
	static uint8_t body[20000];
	struct bytes *bytes = calloc(1, sizeof *bytes);
	int fd = reach();
	add_preface(bytes);
	add_frame(bytes, HEADERS, END_HEADERS, 1, body, sizeof body);
	(void)try_send(fd, bytes);
	assert_true(is_hung_up_on(fd, AT_ONCE_MS));
	close(fd);
	free(bytes);
	a_good_one_is_served();
}

/* Streams that the server has to reset itself (CVE-2025-8671), five ways, on one stream after the other. */
static void add_faulty_stream(struct bytes *bytes, uint32_t stream, unsigned way)
{
	add_request(bytes, stream, NULL);
	switch (way % 5) {
	case 0:
		add_frame(bytes, WINDOW_UPDATE, 0, stream, "\x7f\xff\xff\xff", 4);
		break;
	case 1:
		add_frame(bytes, WINDOW_UPDATE, 0, stream, "\0\0\0\0", 4);
		break;
	case 2:
		add_frame(bytes, PRIORITY, 0, stream, "\0\0\0\0", 4);
		break;
	case 3:
		add_frame(bytes, DATA, END_STREAM, stream, "", 0);
		add_frame(bytes, DATA, 0, stream, "more", 4);
		break;
	default:
		add_frame(bytes, HEADERS, END_HEADERS, stream, "\x82\x84\x87", 3);
	}
}

static void streams_that_the_server_must_reset(void **state)
{
	(void)state;
	for (unsigned way = 0; way < 5; way++) {
		struct bytes *bytes = calloc(1, sizeof *bytes);
		int fd = reach();
		add_preface(bytes);
		for (uint32_t stream = 1; stream < 600; stream += 2)
			add_faulty_stream(bytes, stream, way);
		(void)try_send(fd, bytes);
		if (!is_hung_up_on(fd, AT_ONCE_MS))
			fail_msg("it does not hang up on way %u", way);
		close(fd);
		free(bytes);
		a_good_one_is_served();
	}
}

/* Requests whose answers nobody takes. */
static void floods_whose_answers_are_not_read(void **state)
{
	(void)state;
	static const int type[] = {PING, SETTINGS};
	for (size_t i = 0; i < 2; i++) {
		struct bytes *bytes = calloc(1, sizeof *bytes);
		int fd = reach(), times = 0;
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){1024}, sizeof(int));
		add_preface(bytes);
		for (int k = 0; k < 1000; k++)
			add_frame(bytes, type[i], 0, 0, "12345678", type[i] == PING ? 8 : 0);
		while (times < 1000 && try_send(fd, bytes))
			times++;
		assert_true(times < 1000);
		close(fd);
		free(bytes);
		a_good_one_is_served();
	}
}

/* A byte now and then does not count as progress: a stranger has five seconds for all of it. */
static void a_request_that_comes_byte_by_byte(void **state)
{
	(void)state;
	enum { EACH_MS = 100, MOST = GONE_MS / EACH_MS };
	struct bytes *bytes = calloc(1, sizeof *bytes);
	int fd = reach(), sent = 0;
	add_preface(bytes);
	add_request(bytes, 1, NULL);
	assert_true(bytes->count > MOST);
	struct pollfd ready = {.fd = fd, .events = POLLRDHUP | POLLHUP};
	while (sent < MOST && !(poll(&ready, 1, EACH_MS) > 0 && ready.revents))
		if (send(fd, bytes->at + sent++, 1, MSG_NOSIGNAL) < 0)
			break;
	assert_true(sent < MOST);
	close(fd);
	free(bytes);
	a_good_one_is_served();
}

static int descriptors(void)
{
	int count = 0;
	DIR *directory = opendir("/proc/self/fd");
	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* In the ways in which a connection can end: at once, with a request, with a farewell, with a reset of the wire. */
static void visit_and_go(unsigned way)
{
	struct bytes *bytes = calloc(1, sizeof *bytes);
	int fd = reach();
	add_preface(bytes);
	if (way % 4 >= 1)
		add_request(bytes, 1, NULL);
	if (way % 4 >= 2)
		add_frame(bytes, RST_STREAM, 0, 1, "\0\0\0\10", 4);
	if (way % 4 >= 2)
		add_frame(bytes, GOAWAY, 0, 0, "\0\0\0\1\0\0\0\0", 8);
	(void)try_send(fd, bytes);
	if (way % 4 == 3)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
	close(fd);
	free(bytes);
}

static void who_comes_and_goes_leaves_nothing(void **state)
{
	(void)state;
	enum { VISITS = 2000, LATER_MS = GONE_MS };
	int before = descriptors();
	for (unsigned i = 0; i < VISITS; i++)
		visit_and_go(i);
	a_good_one_is_served();
	for (int ms = 0; descriptors() > before && ms < LATER_MS; ms += 50)
		usleep(50000);
	assert_true(descriptors() <= before);
	assert_true(rss() < rss_at_start + RSS_MORE / 2);
}

/* A peer with the secret that enlarges the window by a byte at a time is not sent megabytes of frames with a byte in each. */
static void a_peer_that_takes_a_byte_at_a_time(void **state)
{
	(void)state;
	struct bytes *bytes = calloc(1, sizeof *bytes), *updates = calloc(1, sizeof *updates);
	char bearer[96];
	struct dfg_link *link;
	int fd = reach();
	snprintf(bearer, sizeof bearer, "Bearer %s", secret);
	succeeds(dfg_http_links_connect(victim.http, 7, dfg_http_links_address(victim.http), NULL, &link));
	add_preface(bytes);
	add_frame(bytes, SETTINGS, 0, 0, "\0\4\0\0\0\1", 6);
	add_request(bytes, 1, bearer);
	assert_true(try_send(fd, bytes));
	for (int i = 0; i < 1000; i++)
		add_frame(updates, WINDOW_UPDATE, 0, 1, "\0\0\0\1", 4);
	for (int i = 0; i < 100 && !atomic_load(&victim.lost); i++) {
		(void)try_send(fd, updates);
		a_good_one_is_served();
	}
	assert_true(atomic_load(&victim.lost));
	assert_int_equal(victim.why->code, DFG_PROTOCOL);
	dfg_err_free(victim.why);
	victim.why = NULL;
	atomic_store(&victim.lost, false);
	link->kind->close(link);
	close(fd);
	free(updates);
	free(bytes);
}

/* The beginning of a TLS record, or HTTP/2 in clear, where the server requires TLS. */
static const struct {
	const char *bytes;
	size_t count;
} half[] = {{"\x16\x03\x01\x02", 4}, {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24}, {"", 0}, {"\x15\x03\x03", 3}};
enum { HALVES = sizeof half / sizeof *half };

static void send_halves(struct http_pair_end *to, int fd[HALVES])
{
	struct http_pair_end plain = victim;
	victim.http = to->http;
	for (size_t i = 0; i < HALVES; i++) {
		fd[i] = reach();
		assert_true(send(fd[i], half[i].bytes, half[i].count, MSG_NOSIGNAL) >= 0);
	}
	victim.http = plain.http;
}

/* Workers are linked while strangers hold their ports; a stranger is hung up on after five seconds, or the patience. */
static void half_a_handshake_delays_no_link_and_ends(void **state)
{
	(void)state;
	struct http_pair_end *end = calloc(2, sizeof *end);
	struct dfg_http_links_options options = {.address = "127.0.0.1", .secret = secret, .tls = true};
	int fd[2][HALVES];
	for (uint32_t i = 0; i < 2; i++) {
		http_pair_open_end(&end[i], options, i);
		dfg_http_links_set_patience(end[i].http, i ? 6000 : 0);
		send_halves(&end[i], fd[i]);
	}
	for (uint32_t i = 0; i < 2; i++)
		succeeds(dfg_http_links_connect(end[i].http, !i, dfg_http_links_address(end[!i].http),
			dfg_http_links_fingerprint(end[!i].http), &end[i].link));
	for (uint32_t i = 0; i < 2; i++)
		succeeds(dfg_http_links_wait(end[i].link, SERVED_MS));
	for (uint32_t i = 0; i < 2; i++)
		for (size_t k = 0; k < HALVES; k++) {
			assert_true(is_hung_up_on(fd[i][k], GONE_MS));
			close(fd[i][k]);
		}
	http_pair_close(end);
	free(end);
	a_good_one_is_served();
}

/* Attacks side by side, each repeated. */
static _Atomic bool calm;

static void put_resets(struct bytes *bytes)
{
	for (uint32_t stream = 1; stream < 200; stream += 2) {
		add_request(bytes, stream, NULL);
		add_frame(bytes, RST_STREAM, 0, stream, "\0\0\0\10", 4);
	}
}

static void put_pings(struct bytes *bytes)
{
	for (int i = 0; i < 1000; i++)
		add_frame(bytes, PING, 0, 0, "12345678", 8);
}

static void put_continuations(struct bytes *bytes)
{
	add_frame(bytes, HEADERS, 0, 1, NULL, 0);
	for (int i = 0; i < 1000; i++)
		add_frame(bytes, CONTINUATION, 0, 1, "\20\1a\1b", 5);
}

static void put_bomb(struct bytes *bytes)
{
	struct bytes *block = calloc(1, sizeof *block);
	char value[4000];
	memset(value, 'x', sizeof value);
	add_bytes(block, "\x40\1a\x7f\xa1\x1e", 6); /* a field of 4000 bytes, and then a byte for each more of it */
	add_bytes(block, value, sizeof value);
	for (int i = 0; i < 12000; i++)
		add_bytes(block, "\xbe", 1);
	add_frame(bytes, HEADERS, END_HEADERS, 1, block->at, block->count);
	free(block);
}

static void put_nothing(struct bytes *bytes)
{
	(void)bytes;
}

static void put_faulty(struct bytes *bytes)
{
	for (uint32_t stream = 1; stream < 200; stream += 2)
		add_faulty_stream(bytes, stream, stream / 2);
}

static void *attack(void *arg)
{
	void (*const *put)(struct bytes *) = arg;
	struct bytes *bytes = calloc(1, sizeof *bytes);
	add_preface(bytes);
	(*put)(bytes);
	while (!atomic_load(&calm)) {
		uint8_t heard[4096];
		int fd = reach();
		(void)try_send(fd, bytes);
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		while (!atomic_load(&calm) && (poll(&ready, 1, 20) <= 0 || recv(fd, heard, sizeof heard, 0) > 0))
			continue;
		close(fd);
	}
	free(bytes);
	return NULL;
}

static void all_at_once_and_the_good_are_served(void **state)
{
	(void)state;
	enum { GOOD = 60 };
	static void (*const put[])(struct bytes *) = {
		put_resets, put_pings, put_continuations, put_bomb, put_nothing, put_nothing, put_faulty};
	pthread_t thread[sizeof put / sizeof *put];
	atomic_store(&calm, false);
	for (size_t i = 0; i < sizeof put / sizeof *put; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, attack, (void *)&put[i]), 0);
	for (int i = 0; i < GOOD; i++)
		a_good_one_is_served();
	atomic_store(&calm, true);
	for (size_t i = 0; i < sizeof put / sizeof *put; i++)
		pthread_join(thread[i], NULL);
	a_good_one_is_served();
}

int main(void)
{
	rss_at_start = SIZE_MAX / 2;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_out_of_place_end_the_connection),
		cmocka_unit_test(a_frame_longer_than_agreed_ends_the_connection),
		cmocka_unit_test(streams_that_the_server_must_reset),
		cmocka_unit_test(floods_whose_answers_are_not_read),
		cmocka_unit_test(a_request_that_comes_byte_by_byte),
		cmocka_unit_test(who_comes_and_goes_leaves_nothing),
		cmocka_unit_test(a_peer_that_takes_a_byte_at_a_time),
		cmocka_unit_test(half_a_handshake_delays_no_link_and_ends),
		cmocka_unit_test(all_at_once_and_the_good_are_served),
	};
	return cmocka_run_group_tests_name("http_storm", tests, begin, over);
}
