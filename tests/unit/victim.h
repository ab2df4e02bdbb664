#pragma once

/*
 * HTTP links that strangers connect to: frames of HTTP/2 as bytes, right and wrong ones, and a visitor who means well, and is to be
 * served whatever the others do.
 */
#include "tests/unit/http_links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEADERS = 1, PRIORITY, RST_STREAM, SETTINGS, PING = 6, GOAWAY, WINDOW_UPDATE, CONTINUATION, DATA = 0 };
enum { PADDED = 8 };
enum { END_STREAM = 1, END_HEADERS = 4, SERVED_MS = 4000, GONE_MS = 9000 };

/* ThreadSanitizer keeps books of its own, AddressSanitizer what was freed. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { RSS_MORE = 1 << 30 };
#else
enum { RSS_MORE = 48 << 20 };
#endif

static char secret[DFG_SECRET_SIZE];
static struct http_pair_end victim;
static size_t rss_at_start;

static inline size_t rss(void)
{
	unsigned long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static inline int reach(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	at.sin_port = htons((uint16_t)atoi(strchr(dfg_http_links_address(victim.http), ':') + 1));
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
	return fd;
}

/* Bytes to send, as they grow. */
struct bytes {
	uint8_t at[1 << 17];
	size_t count;
};

static inline void add_bytes(struct bytes *bytes, const void *more, size_t count)
{
	assert_true(bytes->count + count <= sizeof bytes->at);
	memcpy(bytes->at + bytes->count, more, count);
	bytes->count += count;
}

static inline void add_frame(
	struct bytes *bytes, int type, int flags, uint32_t stream, const void *payload, size_t count)
{
	uint8_t head[9] = {(uint8_t)(count >> 16), (uint8_t)(count >> 8), (uint8_t)count, (uint8_t)type, (uint8_t)flags,
		(uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream};
	add_bytes(bytes, head, sizeof head);
	if (count)
		add_bytes(bytes, payload, count);
}

static inline void add_preface(struct bytes *bytes)
{
	add_bytes(bytes, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
	add_frame(bytes, SETTINGS, 0, 0, NULL, 0);
}

/* Literal, never indexed; both shorter than 127. */
static inline void add_field(struct bytes *block, const char *name, const char *value)
{
	add_bytes(block, (uint8_t[]){0x10, (uint8_t)strlen(name)}, 2);
	add_bytes(block, name, strlen(name));
	add_bytes(block, (uint8_t[]){(uint8_t)strlen(value)}, 1);
	add_bytes(block, value, strlen(value));
}

static inline void add_fields(struct bytes *block, const char *bearer)
{
	add_field(block, ":method", "POST");
	add_field(block, ":scheme", "http");
	add_field(block, ":authority", "x");
	add_field(block, ":path", "/link");
	add_field(block, "dfg-link", "1");
	add_field(block, "dfg-peer", "7");
	if (bearer)
		add_field(block, "authorization", bearer);
}

static inline void add_request(struct bytes *bytes, uint32_t stream, const char *bearer)
{
	struct bytes *block = calloc(1, sizeof *block);
	add_fields(block, bearer);
	add_frame(bytes, HEADERS, END_HEADERS, stream, block->at, block->count);
	free(block);
}

/* False where the server has hung up, or takes nothing more. */
static inline bool try_send(int fd, const struct bytes *bytes)
{
	for (size_t at = 0; at < bytes->count;) {
		struct pollfd ready = {.fd = fd, .events = POLLOUT};
		if (poll(&ready, 1, GONE_MS) <= 0)
			return false;
		ssize_t count = send(fd, bytes->at + at, bytes->count - at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (count < 0 && errno != EAGAIN)
			return false;
		at += count > 0 ? (size_t)count : 0;
	}
	return true;
}

/* Another worker with the right secret gets its link at once. */
static inline void a_good_one_is_served(void)
{
	struct http_pair_end *good = calloc(1, sizeof *good);
	struct dfg_link *link;
	struct dfg_http_links_options options = {.secret = secret};
	http_pair_open_end(good, options, DFG_LAUNCHER);
	succeeds(dfg_http_links_expect(victim.http, DFG_LAUNCHER, &link));
	succeeds(dfg_http_links_connect(good->http, 0, dfg_http_links_address(victim.http), NULL, &good->link));
	succeeds(dfg_http_links_wait(good->link, SERVED_MS));
	uint32_t before = atomic_load(&victim.came);
	struct dfg_message message = {.kind = DFG_MESSAGE_CONTROL, .key.number = 3};
	succeeds(good->link->kind->send(good->link, &message));
	http_pair_await(&victim, before + 1);
	link->kind->close(link);
	good->link->kind->close(good->link);
	dfg_http_links_free(good->http);
	dfg_err_free(good->why);
	free(good);
	assert_true(rss() < rss_at_start + RSS_MORE);
}

static inline int begin(void **state)
{
	(void)state;
	succeeds(dfg_secret_make(secret));
	struct dfg_http_links_options options = {.address = "127.0.0.1", .secret = secret, .tensor_bytes = 1 << 20};
	http_pair_open_end(&victim, options, 0);
	a_good_one_is_served();
	rss_at_start = rss();
	return 0;
}

static inline int over(void **state)
{
	(void)state;
	dfg_http_links_free(victim.http);
	return 0;
}
