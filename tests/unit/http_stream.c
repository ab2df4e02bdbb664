#include "tests/unit/http_links.h"

#include "remote/nghttp2.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * The bytes between two workers are HTTP/2 as in RFC 9113. A tap between them keeps the bytes in the order in which
 * they passed; a reader of its own, and libnghttp2's session as a server, then read what was kept.
 */

enum { CLIENT, SERVER };
enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION };
enum { ACK = 1, END_STREAM = 1, END_HEADERS = 4, HEAD = 9, PREFACE = 24, STREAMS = 8 };
enum { INITIAL_WINDOW_SIZE = 4, MAX_FRAME_SIZE = 5, FIRST_WINDOW = 65535, FIRST_FRAME_SIZE = 16384 };

/* The tap. */

struct said {
	uint8_t *bytes;
	size_t count, capacity;
};

/* So many bytes passed from one of the two, next. */
struct passed {
	int from;
	size_t count;
};

struct tap {
	pthread_t thread;
	int listener, fd[2];
	char address[32];
	char to[64];
	struct said said[2];
	struct passed *passed;
	size_t count, capacity;
};

static struct sockaddr_in loopback(const char *port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)atoi(port))};
}

/* Only what was read whole before is passed on: who answers has been kept before its answer is. */
static bool pass(struct tap *tap, int from)
{
	uint8_t bytes[50000];
	ssize_t count = read(tap->fd[from], bytes, sizeof bytes);
	if (count <= 0)
		return false;
	struct said *said = &tap->said[from];
	if (!dfg_reserve(&said->bytes, &said->capacity, said->count + (size_t)count, 1) ||
		!dfg_reserve(&tap->passed, &tap->capacity, tap->count + 1, sizeof *tap->passed))
		abort();
	memcpy(said->bytes + said->count, bytes, (size_t)count);
	said->count += (size_t)count;
	tap->passed[tap->count++] = (struct passed){from, (size_t)count};
	for (ssize_t at = 0; at < count;) {
		ssize_t sent = send(tap->fd[1 - from], bytes + at, (size_t)(count - at), MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		at += sent;
	}
	return true;
}

static void *run_tap(void *arg)
{
	struct tap *tap = arg;
	struct sockaddr_in to = loopback(strchr(tap->to, ':') + 1);
	tap->fd[CLIENT] = accept(tap->listener, NULL, NULL);
	tap->fd[SERVER] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(tap->fd[SERVER], (struct sockaddr *)&to, sizeof to))
		abort();
	bool open = true;
	while (open) {
		struct pollfd ready[2] = {{tap->fd[CLIENT], POLLIN, 0}, {tap->fd[SERVER], POLLIN, 0}};
		poll(ready, 2, -1);
		for (int i = 0; i < 2 && open; i++)
			open = !ready[i].revents || pass(tap, i);
	}
	close(tap->fd[CLIENT]);
	close(tap->fd[SERVER]);
	return NULL;
}

static void tap_begin(struct tap *tap, const char *to)
{
	struct sockaddr_in at = loopback("0");
	socklen_t length = sizeof at;
	*tap = (struct tap){.listener = socket(AF_INET, SOCK_STREAM, 0)};
	snprintf(tap->to, sizeof tap->to, "%s", to);
	assert_int_equal(bind(tap->listener, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(tap->listener, 1), 0);
	assert_int_equal(getsockname(tap->listener, (struct sockaddr *)&at, &length), 0);
	snprintf(tap->address, sizeof tap->address, "127.0.0.1:%d", ntohs(at.sin_port));
	assert_int_equal(pthread_create(&tap->thread, NULL, run_tap, tap), 0);
}

static void tap_free(struct tap *tap)
{
	close(tap->listener);
	for (int i = 0; i < 2; i++)
		dfg_free(tap->said[i].bytes);
	dfg_free(tap->passed);
}

/* The reader. */

struct stream {
	uint32_t id;
	bool opened[2], ended[2];
	int64_t window[2]; /* of what each may still say */
};

struct speaker {
	const struct said *said;
	size_t at, known; /* read; passed so far */
	unsigned frames, settings, acks;
	uint32_t largest_frame; /* that it may send */
	int64_t first_window, window;
	uint64_t data;
	bool in_headers;
};

struct reader {
	struct speaker speaker[2];
	struct stream stream[STREAMS];
	int streams;
};

struct frame {
	uint32_t length, stream;
	uint8_t type, flags;
	const uint8_t *payload;
};

static uint32_t number_at(const uint8_t *bytes, int count)
{
	uint32_t number = 0;
	for (int i = 0; i < count; i++)
		number = number << 8 | bytes[i];
	return number;
}

static struct stream *stream_of(struct reader *reader, uint32_t id)
{
	for (int i = 0; i < reader->streams; i++)
		if (reader->stream[i].id == id)
			return &reader->stream[i];
	fail_msg("stream %u was not opened", id);
	return NULL;
}

/* A block of headers: the client's first opens the stream, with a number that is odd and above all before. */
static void read_headers(struct reader *reader, int from, const struct frame *frame)
{
	uint32_t last = reader->streams ? reader->stream[reader->streams - 1].id : 0;
	if (from == CLIENT && frame->stream > last) {
		assert_true(reader->streams < STREAMS);
		reader->stream[reader->streams++] = (struct stream){.id = frame->stream,
			.window = {reader->speaker[CLIENT].first_window, reader->speaker[SERVER].first_window}};
	}
	struct stream *stream = stream_of(reader, frame->stream);
	assert_int_equal(stream->id % 2, 1);
	assert_false(stream->ended[from]);
	stream->opened[from] = true;
	reader->speaker[from].in_headers = !(frame->flags & END_HEADERS);
}

/* Padding counts as well. */
static void read_data(struct reader *reader, int from, const struct frame *frame)
{
	struct speaker *speaker = &reader->speaker[from];
	struct stream *stream = stream_of(reader, frame->stream);
	assert_true(stream->opened[from] && !stream->ended[from]);
	speaker->data += frame->length;
	speaker->window -= frame->length;
	stream->window[from] -= frame->length;
	if (frame->length && (speaker->window < 0 || stream->window[from] < 0))
		fail_msg("DATA beyond the window: %lld, of the stream %lld", (long long)speaker->window,
			(long long)stream->window[from]);
}

static void read_settings(struct reader *reader, int from, const struct frame *frame)
{
	struct speaker *speaker = &reader->speaker[from], *other = &reader->speaker[1 - from];
	assert_int_equal(frame->stream, 0);
	if (frame->flags & ACK) {
		assert_int_equal(frame->length, 0);
		assert_true(++speaker->acks <= other->settings);
		return;
	}
	speaker->settings++;
	assert_int_equal(frame->length % 6, 0);
	for (uint32_t i = 0; i < frame->length; i += 6) {
		uint32_t id = number_at(frame->payload + i, 2), value = number_at(frame->payload + i + 2, 4);
		if (id == INITIAL_WINDOW_SIZE) {
			assert_in_range(value, FIRST_WINDOW, INT32_MAX); /* smaller: it would hold from the acknowledgement only */
			for (int k = 0; k < reader->streams; k++)
				reader->stream[k].window[1 - from] += value - other->first_window;
			other->first_window = value;
		} else if (id == MAX_FRAME_SIZE) {
			assert_in_range(value, FIRST_FRAME_SIZE, (1 << 24) - 1);
			other->largest_frame = value;
		}
	}
}

static void read_window_update(struct reader *reader, int from, const struct frame *frame)
{
	assert_int_equal(frame->length, 4);
	uint32_t more = number_at(frame->payload, 4) & INT32_MAX;
	assert_true(more > 0);
	int64_t *window =
		frame->stream ? &stream_of(reader, frame->stream)->window[1 - from] : &reader->speaker[1 - from].window;
	*window += more;
	assert_true(*window <= INT32_MAX);
}

static void read_frame(struct reader *reader, int from, const struct frame *frame)
{
	struct speaker *speaker = &reader->speaker[from];
	assert_true(frame->length <= speaker->largest_frame);
	if (!speaker->frames++)
		assert_true(frame->type == SETTINGS && !(frame->flags & ACK));
	assert_int_equal(speaker->in_headers, frame->type == CONTINUATION);
	switch (frame->type) {
	case DATA:
		read_data(reader, from, frame);
		break;
	case HEADERS:
		read_headers(reader, from, frame);
		break;
	case CONTINUATION:
		speaker->in_headers = !(frame->flags & END_HEADERS);
		break;
	case SETTINGS:
		read_settings(reader, from, frame);
		break;
	case WINDOW_UPDATE:
		read_window_update(reader, from, frame);
		break;
	case PRIORITY:
		assert_int_equal(frame->length, 5);
		break;
	case PING:
		assert_true(frame->length == 8 && !frame->stream);
		break;
	case GOAWAY:
		assert_true(frame->length >= 8 && !frame->stream);
		assert_int_equal(number_at(frame->payload + 4, 4), 0);
		break;
	case RST_STREAM:
		assert_int_equal(frame->length, 4);
		stream_of(reader, frame->stream)->ended[from] = true;
		break;
	default:
		fail_msg("a frame of type %d", frame->type);
	}
	if ((frame->type == DATA || frame->type == HEADERS) && frame->flags & END_STREAM)
		stream_of(reader, frame->stream)->ended[from] = true;
}

/* All frames that are whole by now. */
static void read_on(struct reader *reader, int from)
{
	struct speaker *speaker = &reader->speaker[from];
	while (speaker->known - speaker->at >= HEAD) {
		const uint8_t *head = speaker->said->bytes + speaker->at;
		struct frame frame = {.length = number_at(head, 3),
			.type = head[3],
			.flags = head[4],
			.stream = number_at(head + 5, 4),
			.payload = head + HEAD};
		assert_true(frame.stream <= INT32_MAX); /* the first bit is reserved */
		if (speaker->known - speaker->at - HEAD < frame.length)
			return;
		speaker->at += HEAD + frame.length;
		read_frame(reader, from, &frame);
	}
}

static void read_all(const struct tap *tap, size_t least)
{
	struct reader reader = {0};
	for (int i = 0; i < 2; i++)
		reader.speaker[i] = (struct speaker){.said = &tap->said[i],
			.largest_frame = FIRST_FRAME_SIZE,
			.first_window = FIRST_WINDOW,
			.window = FIRST_WINDOW};
	assert_true(tap->said[CLIENT].count > PREFACE);
	assert_memory_equal(tap->said[CLIENT].bytes, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", PREFACE);
	reader.speaker[CLIENT].at = PREFACE;
	for (size_t i = 0; i < tap->count; i++) {
		struct speaker *speaker = &reader.speaker[tap->passed[i].from];
		speaker->known += tap->passed[i].count;
		if (speaker->known > speaker->at)
			read_on(&reader, tap->passed[i].from);
	}
	assert_int_equal(reader.streams, 1);
	for (int i = 0; i < 2; i++) {
		assert_true(reader.stream[0].opened[i]);
		assert_true(reader.speaker[i].acks > 0);
	}
	assert_true(reader.speaker[CLIENT].data >= least);
}

/* A server of libnghttp2's, that is told what the client said. */

struct judge {
	unsigned wrong, posts, requests;
	uint64_t data;
};

static int judge_wrong(nghttp2_session *session, const nghttp2_frame *frame, int code, void *arg)
{
	(void)session;
	(void)frame;
	(void)code;
	((struct judge *)arg)->wrong++;
	return 0;
}

static int judge_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	(void)session;
	((struct judge *)arg)->requests += frame->hd.type == NGHTTP2_HEADERS;
	return 0;
}

static int judge_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
	const uint8_t *value, size_t length, uint8_t flags, void *arg)
{
	(void)session;
	(void)frame;
	(void)flags;
	((struct judge *)arg)->posts +=
		name_length == 7 && !memcmp(name, ":method", 7) && length == 4 && !memcmp(value, "POST", 4);
	return 0;
}

static int judge_data(
	nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *arg)
{
	(void)session;
	(void)flags;
	(void)stream;
	(void)bytes;
	((struct judge *)arg)->data += count;
	return 0;
}

static void judge_answers(nghttp2_session *session)
{
	const uint8_t *bytes;
	ssize_t count;
	while ((count = dfg_nghttp2_session_mem_send(session, &bytes)) > 0)
		for (ssize_t at = 0; at + HEAD <= count; at += HEAD + number_at(bytes + at, 3))
			assert_true(bytes[at + 3] != RST_STREAM && bytes[at + 3] != GOAWAY);
	assert_int_equal(count, 0);
}

static void judge_all(const struct said *said, size_t least)
{
	struct judge judge = {0};
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	nghttp2_session *session;
	succeeds(dfg_library_open(&dfg_nghttp2));
	assert_int_equal(dfg_nghttp2_session_callbacks_new(&callbacks), 0);
	dfg_nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, judge_wrong);
	dfg_nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, judge_frame);
	dfg_nghttp2_session_callbacks_set_on_header_callback(callbacks, judge_field);
	dfg_nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, judge_data);
	assert_int_equal(dfg_nghttp2_option_new(&option), 0);
	assert_int_equal(dfg_nghttp2_session_server_new2(&session, callbacks, &judge, option), 0);
	nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, INT32_MAX};
	assert_int_equal(dfg_nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &settings, 1), 0);
	assert_int_equal(dfg_nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, INT32_MAX), 0);
	judge_answers(session);
	for (size_t at = 0, count; at < said->count; at += count) {
		count = said->count - at < 1021 ? said->count - at : 1021;
		assert_int_equal(dfg_nghttp2_session_mem_recv(session, said->bytes + at, count), count);
		judge_answers(session);
	}
	assert_int_equal(judge.wrong, 0);
	assert_int_equal(judge.requests, 1);
	assert_int_equal(judge.posts, 1);
	assert_true(judge.data >= least);
	dfg_nghttp2_session_del(session);
	dfg_nghttp2_option_del(option);
	dfg_nghttp2_session_callbacks_del(callbacks);
}

/* The messages. */

enum { MESSAGES = 6, LARGE = 5 << 20 };

static void say(struct http_pair_end *end)
{
	static struct dfg_string words[] = {{"one", 3}, {"", 0}, {"three", 5}};
	struct dfg_message message[MESSAGES] = {{.tensor = {.dtype = DFG_I32, .data = &(int32_t){7}, .capacity = 4}},
		{.key.depth = 2, .key.iteration = {3, 4}}, {.dead = true}, {.kind = DFG_MESSAGE_CONTROL},
		{.tensor = {.dtype = DFG_STRING, .shape = DFG_SHAPE_VECTOR(3), .data = words, .capacity = sizeof words}},
		{.kind = DFG_MESSAGE_CONTROL}};
	for (int i = 1; i < 6; i += 4) {
		succeeds(dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR(i == 1 ? LARGE : 100), &message[i].tensor));
		memset(message[i].tensor.data, 'x', dfg_tensor_bytes(&message[i].tensor));
	}
	for (uint32_t i = 0; i < MESSAGES; i++) {
		message[i].key.number = i;
		succeeds(end->link->kind->send(end->link, &message[i]));
	}
	dfg_tensor_release(&message[1].tensor);
	dfg_tensor_release(&message[5].tensor);
}

static void hear(struct http_pair_end *end)
{
	unsigned seen = 0;
	http_pair_await(end, MESSAGES);
	assert_int_equal(end->came, MESSAGES);
	for (int i = 0; i < MESSAGES; i++) {
		seen |= 1u << end->message[i].key.number;
		dfg_tensor_release(&end->message[i].tensor);
	}
	assert_int_equal(seen, (1u << MESSAGES) - 1);
}

/* Both say it at once; then the taps are at rest, and what they kept is read. */
static void talk(struct http_pair_end end[2], struct tap *tap, int taps)
{
	for (int i = 0; i < 2; i++)
		succeeds(dfg_http_links_wait(end[i].link, 10000));
	for (int i = 0; i < 2; i++)
		say(&end[i]);
	for (int i = 0; i < 2; i++)
		hear(&end[i]);
	http_pair_close(end);
	for (int i = 0; i < taps; i++) {
		pthread_join(tap[i].thread, NULL);
		read_all(&tap[i], LARGE);
		judge_all(&tap[i].said[CLIENT], LARGE);
		if (taps == 1) /* its response carries as much as the request */
			assert_true(tap[i].said[SERVER].count > LARGE);
		tap_free(&tap[i]);
	}
}

static void open_ends(struct http_pair_end end[2], bool launcher)
{
	char secret[DFG_SECRET_SIZE];
	succeeds(dfg_secret_make(secret));
	struct dfg_http_links_options options = {.address = "127.0.0.1", .secret = secret};
	http_pair_open_end(&end[1], options, launcher ? 0 : 1);
	if (launcher)
		options.address = NULL;
	http_pair_open_end(&end[0], options, launcher ? DFG_LAUNCHER : 0);
}

static void two_workers_speak_http_2(void **state)
{
	(void)state;
	struct tap tap[2];
	struct http_pair_end *end = calloc(2, sizeof *end);
	open_ends(end, false);
	for (int i = 0; i < 2; i++) {
		tap_begin(&tap[i], dfg_http_links_address(end[1 - i].http));
		succeeds(dfg_http_links_connect(end[i].http, (uint32_t)(1 - i), tap[i].address, NULL, &end[i].link));
	}
	talk(end, tap, 2);
	free(end);
}

static void launcher_and_worker_speak_http_2(void **state)
{
	(void)state;
	struct tap tap;
	struct http_pair_end *end = calloc(2, sizeof *end);
	open_ends(end, true);
	tap_begin(&tap, dfg_http_links_address(end[1].http));
	succeeds(dfg_http_links_connect(end[0].http, 0, tap.address, NULL, &end[0].link));
	succeeds(dfg_http_links_expect(end[1].http, DFG_LAUNCHER, &end[1].link));
	talk(end, &tap, 1);
	free(end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_workers_speak_http_2),
		cmocka_unit_test(launcher_and_worker_speak_http_2),
	};
	return cmocka_run_group_tests_name("http_stream", tests, NULL, NULL);
}
