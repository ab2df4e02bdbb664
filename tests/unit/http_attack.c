#include "tests/unit/victim.h"

#include <dlfcn.h>
#include <nghttp2/nghttp2.h>

/*
 * Strangers at the port of the HTTP links, and hostile peers that have the secret: each is disconnected within its time,
 * memory stays bounded, and whoever comes meanwhile as he should is served.
 */

/* Reads the server's bytes until it hangs up, which it must do in time. */
static size_t hear_all(int fd, uint8_t *to, size_t capacity)
{
	size_t at = 0;
	for (;;) {
		uint8_t rest[4096];
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		if (poll(&ready, 1, GONE_MS) <= 0)
			fail_msg("it does not hang up");
		ssize_t count = at < capacity ? recv(fd, to + at, capacity - at, 0) : recv(fd, rest, sizeof rest, 0);
		if (count <= 0)
			return at;
		at += at < capacity ? (size_t)count : 0;
	}
}

static void is_gone(int fd)
{
	uint8_t heard[65536];
	hear_all(fd, heard, sizeof heard);
	close(fd);
}

/* The preface, then `bytes` again and again, until the server hangs up: after at most `most` times. */
static void flood(const struct bytes *bytes, int most)
{
	struct bytes *preface = calloc(1, sizeof *preface);
	int fd = reach(), times = 0;
	add_preface(preface);
	bool open = try_send(fd, preface);
	uint8_t heard[4096];
	for (; open && times < most; times++) {
		open = try_send(fd, bytes);
		ssize_t count;
		while ((count = recv(fd, heard, sizeof heard, MSG_DONTWAIT)) > 0)
			continue;
		open = open && count != 0;
	}
	if (open)
		is_gone(fd);
	else
		close(fd);
	free(preface);
	a_good_one_is_served();
}

static size_t answer_to(const char *bearer, uint8_t *to, size_t capacity)
{
	struct bytes *bytes = calloc(1, sizeof *bytes);
	int fd = reach();
	add_preface(bytes);
	add_request(bytes, 1, bearer);
	assert_true(try_send(fd, bytes));
	size_t count = hear_all(fd, to, capacity);
	close(fd);
	free(bytes);
	return count;
}

static void none_and_a_wrong_secret_hear_the_same(void **state)
{
	(void)state;
	uint8_t none[512], other[512];
	static const char *const wrong[] = {"", "Bearer 00", "Basic Zm9v",
		"Bearer 0000000000000000000000000000000000000000000000000000000000000000",
		"bearer 0000000000000000000000000000000000000000000000000000000000000000"};
	size_t count = answer_to(NULL, none, sizeof none);
	assert_true(count > 0);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(answer_to(wrong[i], other, sizeof other), count);
		assert_memory_equal(other, none, count);
	}
	a_good_one_is_served();
}

static void what_is_no_http2_is_hung_up_on(void **state)
{
	(void)state;
	static const char *const words[] = {
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "SSH-2.0-x\r\n", "\x16\x03\x01\x02\x00\x01"};
	for (size_t i = 0; i < 3; i++) {
		int fd = reach();
		assert_true(send(fd, words[i], strlen(words[i]), 0) > 0);
		is_gone(fd);
	}
	a_good_one_is_served();
}

/* Half a preface, or nothing, on more connections than are let in: the oldest make way. */
static void who_says_nothing_keeps_nobody_out(void **state)
{
	(void)state;
	enum { MANY = 450 };
	int fd[MANY];
	for (int i = 0; i < MANY; i++) {
		fd[i] = reach();
		if (i % 2)
			assert_int_equal(send(fd[i], "PRI * HTTP", 10, MSG_NOSIGNAL), 10);
	}
	a_good_one_is_served();
	for (int i = 0; i < MANY; i++)
		is_gone(fd[i]);
}

static void rapid_resets(void **state)
{
	(void)state;
	struct bytes *bytes = calloc(1, sizeof *bytes);
	for (uint32_t stream = 1; stream < 200; stream += 2) {
		add_request(bytes, stream, NULL);
		add_frame(bytes, RST_STREAM, 0, stream, "\0\0\0\10", 4);
	}
	flood(bytes, 2);
	free(bytes);
}

static void continuations_without_end(void **state)
{
	(void)state;
	struct bytes *bytes = calloc(1, sizeof *bytes);
	add_frame(bytes, HEADERS, 0, 1, NULL, 0);
	for (int i = 0; i < 1000; i++)
		add_frame(bytes, CONTINUATION, 0, 1, "\20\1a\1b", 5);
	flood(bytes, 1);
	free(bytes);
}

/* A field of 4000 bytes is put into the table once, then named in a byte each. */
static void a_header_that_unpacks_to_megabytes(void **state)
{
	(void)state;
	struct bytes *bytes = calloc(1, sizeof *bytes), *block = calloc(1, sizeof *block);
	char value[4000];
	memset(value, 'x', sizeof value);
	add_bytes(block, "\x40\1a\x7f\xa1\x1e", 6); /* 127 + 33 + 30 * 128 = 4000 */
	add_bytes(block, value, sizeof value);
	for (int i = 0; i < 12000; i++)
		add_bytes(block, "\xbe", 1);
	add_frame(bytes, HEADERS, END_HEADERS, 1, block->at, block->count);
	flood(bytes, 1);
	free(block);
	free(bytes);
}

static void many_fields(void **state)
{
	(void)state;
	struct bytes *bytes = calloc(1, sizeof *bytes), *block = calloc(1, sizeof *block);
	for (int i = 0; i < 200; i++)
		add_field(block, "a", "b");
	add_frame(bytes, HEADERS, END_HEADERS, 1, block->at, block->count);
	flood(bytes, 1);
	free(block);
	free(bytes);
}

static void flood_of(int type, int flags, uint32_t stream, const void *payload, size_t count)
{
	struct bytes *bytes = calloc(1, sizeof *bytes);
	for (int i = 0; i < 1000; i++)
		add_frame(bytes, type, flags, stream, payload, count);
	flood(bytes, 100);
	free(bytes);
}

static void pings(void **state)
{
	(void)state;
	flood_of(PING, 0, 0, "12345678", 8);
}

static void settings(void **state)
{
	(void)state;
	flood_of(SETTINGS, 0, 0, "\0\3\0\0\0\144", 6);
}

static void priorities(void **state)
{
	(void)state;
	flood_of(PRIORITY, 0, 3, "\0\0\0\0\20", 5);
}

static void window_updates(void **state)
{
	(void)state;
	flood_of(WINDOW_UPDATE, 0, 0, "\0\0\0\1", 4);
}

/*
 * Finding 31: every frame that is not a part of a tensor is charged for, whether its type is known or not: after 200 of
 * them the connection ends with GOAWAY, ENHANCE_YOUR_CALM (11), and not because the time of a stranger is over.
 */
struct idle {
	const char *name;
	int type, flags;
	uint32_t stream;
	size_t count;
	const char *payload;
};
static const struct idle idle[] = {
	{"an empty frame of an unknown type", 0x42, 0, 0, 0, ""},
	{"an empty frame of an unknown type, of a stream", 0x42, 0, 1, 0, ""},
	{"an unknown type with all flags", 0xff, 0xff, 0, 0, ""},
	{"an unknown type with a payload", 0x42, 0, 0, 64,
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
	{"ALTSVC", 10, 0, 0, 4, "\0\1xy"},
	{"ORIGIN", 12, 0, 0, 0, ""},
	{"PRIORITY_UPDATE", 16, 0, 0, 4, "\0\0\0\1"},
	{"PING", PING, 0, 0, 8, "12345678"},
	{"an answer to no PING", PING, 1, 0, 8, "12345678"},
	{"empty SETTINGS", SETTINGS, 0, 0, 0, ""},
	{"a setting of an unknown number", SETTINGS, 0, 0, 6, "\xab\xcd\0\0\0\1"},
	{"PRIORITY", PRIORITY, 0, 3, 5, "\0\0\0\0\20"},
	{"WINDOW_UPDATE", WINDOW_UPDATE, 0, 0, 4, "\0\0\0\1"},
};

static bool says_calm_down(const uint8_t *heard, size_t count)
{
	for (size_t at = 0; at + 9 <= count;) {
		size_t length = (size_t)heard[at] << 16 | (size_t)heard[at + 1] << 8 | heard[at + 2];
		if (heard[at + 3] == GOAWAY && at + 17 <= count)
			return heard[at + 16] == 11;
		at += 9 + length;
	}
	return false;
}

static void every_frame_of_a_stranger_is_charged(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
		const struct idle *frame = &idle[i];
		struct bytes *bytes = calloc(1, sizeof *bytes);
		uint8_t heard[65536];
		int fd = reach();
		add_preface(bytes);
		for (int k = 0; k < 200; k++)
			add_frame(bytes, frame->type, frame->flags, frame->stream, frame->payload, frame->count);
		assert_true(try_send(fd, bytes));
		if (!says_calm_down(heard, hear_all(fd, heard, sizeof heard)))
			fail_msg("%s costs nothing", frame->name);
		close(fd);
		free(bytes);
	}
	a_good_one_is_served();
}

/* Few frames, and long ones: a stranger has an allowance of bytes too. */
static void bytes_of_a_stranger_are_charged(void **state)
{
	(void)state;
	static uint8_t payload[16000];
	struct bytes *bytes = calloc(1, sizeof *bytes);
	uint8_t heard[4096];
	int fd = reach();
	add_preface(bytes);
	for (int i = 0; i < 8; i++)
		add_frame(bytes, 0x42, 0, 0, payload, sizeof payload);
	assert_true(try_send(fd, bytes));
	if (!says_calm_down(heard, hear_all(fd, heard, sizeof heard)))
		fail_msg("%zu bytes cost nothing", bytes->count);
	close(fd);
	free(bytes);
	a_good_one_is_served();
}

/* Requests that the server itself must reset (CVE-2025-8671): an upper-case name. */
static void requests_that_are_wrong(void **state)
{
	(void)state;
	struct bytes *bytes = calloc(1, sizeof *bytes), *block = calloc(1, sizeof *block);
	add_fields(block, NULL);
	add_field(block, "A", "b");
	for (uint32_t stream = 1; stream < 400; stream += 2)
		add_frame(bytes, HEADERS, END_HEADERS, stream, block->at, block->count);
	flood(bytes, 2);
	free(block);
	free(bytes);
}

/* A body before anybody was let in. */
static void a_body_without_the_secret(void **state)
{
	(void)state;
	static uint8_t body[16384];
	struct bytes *bytes = calloc(1, sizeof *bytes);
	add_request(bytes, 1, NULL);
	for (int i = 0; i < 4; i++)
		add_frame(bytes, DATA, 0, 1, body, sizeof body);
	flood(bytes, 1);
	free(bytes);
}

/* If a peer that has the secret breaks the protocol, its link is lost, with the reason; no other link is. */
static void a_peer_that_breaks_the_protocol(const struct bytes *bytes, int times, const char *words)
{
	struct bytes *begin = calloc(1, sizeof *begin);
	char bearer[96];
	struct dfg_link *link;
	int fd = reach();
	snprintf(bearer, sizeof bearer, "Bearer %s", secret);
	succeeds(dfg_http_links_connect(victim.http, 7, dfg_http_links_address(victim.http), NULL, &link));
	add_preface(begin);
	add_request(begin, 1, bearer);
	assert_true(try_send(fd, begin));
	for (int i = 0; i < times && try_send(fd, bytes); i++)
		continue;
	while (!atomic_load(&victim.lost))
		usleep(1000);
	assert_int_equal(victim.why->code, DFG_PROTOCOL);
	if (strncmp(victim.why->text, "worker 7: ", 10) || !strstr(victim.why->text, words))
		fail_msg("'%s', not '%s'", victim.why->text, words);
	dfg_err_free(victim.why);
	victim.why = NULL;
	atomic_store(&victim.lost, false);
	link->kind->close(link);
	close(fd);
	free(begin);
	a_good_one_is_served();
}

static void empty_frames_of_a_peer(void **state)
{
	(void)state;
	struct bytes *bytes = calloc(1, sizeof *bytes);
	for (int i = 0; i < 1000; i++)
		add_frame(bytes, DATA, 0, 1, NULL, 0);
	a_peer_that_breaks_the_protocol(bytes, 1, "without data");
	free(bytes);
}

/* A tensor of 10,000 bytes, a byte a frame; and the same with padding around each. */
static void a_peer_that_dribbles(void **state)
{
	(void)state;
	uint8_t begins[12 + 40] = {
		0x38, 0x27, 0, 0, 1, 1, [12 + 1] = 2, DFG_U8, 1, [12 + 16] = 0x10, 0x27, [12 + 32] = 0x10, 0x27};
	uint8_t padded[1 + 1 + 100] = {100};
	for (int padding = 0; padding < 2; padding++) {
		struct bytes *bytes = calloc(1, sizeof *bytes);
		for (size_t i = 0; i < 1000; i++) {
			padded[1] = i < sizeof begins ? begins[i] : 0;
			add_frame(bytes, DATA, padding ? PADDED : 0, 1, padding ? padded : &padded[1], padding ? sizeof padded : 1);
		}
		a_peer_that_breaks_the_protocol(bytes, 1, "without data");
		free(bytes);
	}
}

static void frames_of_unknown_types_of_a_peer(void **state)
{
	(void)state;
	struct bytes *bytes = calloc(1, sizeof *bytes);
	for (int i = 0; i < 1000; i++)
		add_frame(bytes, 0x42, 0, 1, NULL, 0);
	a_peer_that_breaks_the_protocol(bytes, 1, "without data");
	free(bytes);
}

static void noise_of_a_peer(void **state)
{
	(void)state;
	static uint8_t body[1000];
	struct bytes *bytes = calloc(1, sizeof *bytes);
	add_frame(bytes, DATA, 0, 1, body, sizeof body);
	a_peer_that_breaks_the_protocol(bytes, 1, "a frame has version 0");
	free(bytes);
}

static void a_tensor_larger_than_the_limit(void **state)
{
	(void)state;
	struct bytes *bytes = calloc(1, sizeof *bytes);
	uint8_t frame[12 + 40 + 4] = {40, 0, 0, 0, 1, 1, [12 + 1] = 2, 1, 1, [12 + 16 + 5] = 1, [12 + 32 + 5] = 1};
	add_frame(bytes, DATA, 0, 1, frame, sizeof frame);
	a_peer_that_breaks_the_protocol(bytes, 1, "the limit is");
	free(bytes);
}

/* nghttp2's own client finds nothing wrong with what the server says. */
#define CLIENT(X)                                                \
	X(nghttp2_session_callbacks_new)                             \
	X(nghttp2_session_callbacks_del)                             \
	X(nghttp2_session_callbacks_set_on_data_chunk_recv_callback) \
	X(nghttp2_session_callbacks_set_on_header_callback)          \
	X(nghttp2_session_client_new)                                \
	X(nghttp2_session_del)                                       \
	X(nghttp2_session_mem_recv)                                  \
	X(nghttp2_session_mem_send)                                  \
	X(nghttp2_submit_request)                                    \
	X(nghttp2_submit_settings)
#define POINTER(name) static __typeof__(name) *client_##name;
CLIENT(POINTER)

static size_t body_heard;
static char status_heard[4];

static int take_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
	const uint8_t *value, size_t length, uint8_t flags, void *arg)
{
	(void)session, (void)frame, (void)flags, (void)arg;
	if (name_length == 7 && !memcmp(name, ":status", 7) && length == 3)
		memcpy(status_heard, value, 3);
	return 0;
}

static int take_data(
	nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *arg)
{
	(void)session, (void)flags, (void)stream, (void)bytes, (void)arg;
	body_heard += count;
	return 0;
}

static ssize_t no_body(nghttp2_session *session, int32_t stream, uint8_t *to, size_t capacity, uint32_t *flags,
	nghttp2_data_source *source, void *arg)
{
	(void)session, (void)stream, (void)to, (void)capacity, (void)flags, (void)source, (void)arg;
	return NGHTTP2_ERR_DEFERRED;
}

static nghttp2_nv field(const char *name, const char *value)
{
	return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static void converse(nghttp2_session *session, int fd, size_t wanted)
{
	uint8_t heard[65536];
	while (body_heard < wanted) {
		const uint8_t *bytes;
		ssize_t count = client_nghttp2_session_mem_send(session, &bytes);
		if (count > 0) {
			assert_int_equal(send(fd, bytes, (size_t)count, MSG_NOSIGNAL), count);
			continue;
		}
		assert_int_equal(count, 0);
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		assert_int_equal(poll(&ready, 1, GONE_MS), 1);
		count = recv(fd, heard, sizeof heard, 0);
		assert_true(count > 0);
		assert_int_equal(client_nghttp2_session_mem_recv(session, heard, (size_t)count), count);
	}
}

static void another_client_is_content(void **state)
{
	(void)state;
	enum { LARGE = 300000 };
	void *library = dlopen("libnghttp2.so.14", RTLD_NOW);
	assert_non_null(library);
#define LOAD(name) assert_non_null(client_##name = (__typeof__(name) *)dlsym(library, #name));
	CLIENT(LOAD)
	char bearer[96];
	snprintf(bearer, sizeof bearer, "Bearer %s", secret);
	const nghttp2_nv fields[] = {field(":method", "POST"), field(":scheme", "http"), field(":authority", "x"),
		field(":path", "/link"), field("dfg-link", "1"), field("dfg-peer", "4294967295"),
		field("authorization", bearer)};
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;
	nghttp2_data_provider body = {.read_callback = no_body};
	struct dfg_link *link;
	int fd = reach();
	succeeds(dfg_http_links_expect(victim.http, DFG_LAUNCHER, &link));
	struct dfg_message message = {.tensor = {.dtype = DFG_U8, .shape = DFG_SHAPE_VECTOR(LARGE)}};
	succeeds(dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR(LARGE), &message.tensor));
	succeeds(link->kind->send(link, &message));
	dfg_tensor_release(&message.tensor);
	client_nghttp2_session_callbacks_new(&callbacks);
	client_nghttp2_session_callbacks_set_on_header_callback(callbacks, take_header);
	client_nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, take_data);
	assert_int_equal(client_nghttp2_session_client_new(&session, callbacks, NULL), 0);
	client_nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
	client_nghttp2_submit_request(session, NULL, fields, 7, &body, NULL);
	converse(session, fd, LARGE);
	assert_string_equal(status_heard, "200");
	client_nghttp2_session_del(session);
	client_nghttp2_session_callbacks_del(callbacks);
	link->kind->close(link);
	close(fd);
	dlclose(library);
}

int main(void)
{
	rss_at_start = SIZE_MAX / 2;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_and_a_wrong_secret_hear_the_same),
		cmocka_unit_test(what_is_no_http2_is_hung_up_on),
		cmocka_unit_test(who_says_nothing_keeps_nobody_out),
		cmocka_unit_test(rapid_resets),
		cmocka_unit_test(continuations_without_end),
		cmocka_unit_test(a_header_that_unpacks_to_megabytes),
		cmocka_unit_test(many_fields),
		cmocka_unit_test(pings),
		cmocka_unit_test(settings),
		cmocka_unit_test(priorities),
		cmocka_unit_test(window_updates),
		cmocka_unit_test(every_frame_of_a_stranger_is_charged),
		cmocka_unit_test(bytes_of_a_stranger_are_charged),
		cmocka_unit_test(requests_that_are_wrong),
		cmocka_unit_test(a_body_without_the_secret),
		cmocka_unit_test(empty_frames_of_a_peer),
		cmocka_unit_test(a_peer_that_dribbles),
		cmocka_unit_test(frames_of_unknown_types_of_a_peer),
		cmocka_unit_test(noise_of_a_peer),
		cmocka_unit_test(a_tensor_larger_than_the_limit),
		cmocka_unit_test(another_client_is_content),
	};
	return cmocka_run_group_tests_name("http_attack", tests, begin, over);
}
