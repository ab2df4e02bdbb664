#include "tests/unit/shm_ends.h"

#include "remote/shm_link.h"

/* Shared memory with a peer that lies: a is one that writes what it likes into the ring. */

static void lie_begin(struct ends *ends)
{
	listen_both(ends);
	link_both(ends);
}

static void lie(struct ends *ends, const void *bytes, size_t count)
{
	struct shm_link *link = (struct shm_link *)ends->link_a;
	ring_put(&link->out, bytes, count);
}

static void lie_end(struct ends *ends, const char *words)
{
	struct shm_link *link = (struct shm_link *)ends->link_a;
	ring_publish(&link->out);
	shm_link_wake(link);
	inbox_wait_lost(&ends->at_b);
	assert_int_equal(ends->at_b.code, DFG_PROTOCOL);
	if (!strstr(ends->at_b.words, words))
		fail_msg("'%s', not '%s'", ends->at_b.words, words);
	fails(try_send_int(ends->link_b, 0, 0), DFG_UNAVAILABLE, "worker 0");
	free_both(ends);
}

/* One frame, right but for what is said. */
#define LIE(words, dims, text, ...)                                      \
	{                                                                    \
		words, dims, text, sizeof text - 1,                              \
		{                                                                \
			.type = FRAME_MESSAGE, .count = sizeof text - 1, __VA_ARGS__ \
		}                                                                \
	}

static void a_false_frame_ends_the_link(void **state)
{
	(void)state;
	static const int64_t two[] = {2}, negative[] = {-1}, product[] = {INT64_MAX, 8}, huge[] = {200 << 20},
						 eight[] = {8};
	static const struct {
		const char *words;
		const int64_t *dims;
		const char *text;
		size_t count;
		struct shm_frame frame;
	} lies[] = {
		LIE("the head of a message is invalid", NULL, "", .kind = DFG_MESSAGE_KINDS),
		LIE("the head of a message is invalid", NULL, "", .dead = 2),
		LIE("the head of a message is invalid", NULL, "12345678", .dtype = DFG_U8, .bytes = 1),
		LIE("a message has a tensor although it is dead, or a tensor of an unknown dtype", NULL, "12345678", .dead = 1,
			.dtype = DFG_F64, .bytes = 8),
		LIE("a message has a tensor although it is dead, or a tensor of an unknown dtype", NULL, "12345678",
			.dtype = DFG_RESOURCE, .bytes = 8),
		LIE("a message has a tensor although it is dead, or a tensor of an unknown dtype", NULL, "12345678",
			.dtype = DFG_VARIANT, .bytes = 8),
		LIE("a message has a tensor although it is dead, or a tensor of an unknown dtype", NULL, "12345678",
			.dtype = 99, .bytes = 8),
		LIE("a message without a tensor has elements or a shape", NULL, "", .bytes = 8),
		LIE("a message without a tensor has elements or a shape", two, "", .rank = 1),
		LIE("do not fit its shape", two, "12345678", .dtype = DFG_F64, .rank = 1, .bytes = 8),
		LIE("do not fit its shape", NULL, "12345678", .dtype = DFG_F32, .bytes = 8),
		LIE("a negative dimension", negative, "12345678", .dtype = DFG_U8, .rank = 1, .bytes = 8),
		LIE("the size of a tensor overflows", product, "12345678", .dtype = DFG_U8, .rank = 2, .bytes = 8),
		LIE("but the limit is", huge, "12345678", .dtype = DFG_U8, .rank = 1, .bytes = 200 << 20),
		LIE("a frame exceeds the limits of length, rank and loop depth", NULL, "", .depth = DFG_LINK_DEPTH + 1),
		LIE("a frame exceeds the limits of length, rank and loop depth", NULL, "", .depth = 255),
		LIE("a frame exceeds the limits of length, rank and loop depth", NULL, "", .rank = DFG_RANK_MAX + 1),
		LIE("a frame exceeds the limits of length, rank and loop depth", NULL, "", .dtype = DFG_U8, .rank = 8),
		LIE("a bool is neither 0 nor 1", eight, "\0\1\2\1\0\0\0\0", .dtype = DFG_BOOL, .rank = 1, .bytes = 8),
		LIE("do not fit its shape", two, "12345678", .dtype = DFG_STRING, .rank = 1, .bytes = 8),
		LIE("longer than its bytes", NULL, "\1\0\0\0\0\0\0\0", .dtype = DFG_STRING, .bytes = 8),
		LIE("longer than its bytes", NULL, "\377\377\377\377\377\377\377\377", .dtype = DFG_STRING, .bytes = 8),
		LIE("a tensor has bytes after its last string", NULL, "\0\0\0\0\0\0\0\0abcdefgh", .dtype = DFG_STRING,
			.bytes = 16),
	};
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		struct ends ends;
		lie_begin(&ends);
		lie(&ends, &lies[i].frame, sizeof lies[i].frame);
		if (lies[i].dims)
			lie(&ends, lies[i].dims, lies[i].frame.rank * sizeof *lies[i].dims);
		lie(&ends, lies[i].text, lies[i].count);
		lie_end(&ends, lies[i].words);
	}
}

/* The first frame of a tensor of 100 bytes, with 8 of them. */
static void half_a_tensor(struct ends *ends)
{
	struct shm_frame frame = {.count = 8, .type = FRAME_MESSAGE, .dtype = DFG_U8, .rank = 1, .bytes = 100};
	lie(ends, &frame, sizeof frame);
	lie(ends, &(int64_t){100}, sizeof(int64_t));
	lie(ends, "12345678", 8);
}

static void a_frame_out_of_place_ends_the_link(void **state)
{
	(void)state;
	static const uint8_t bytes[1000];
	struct ends ends;
	lie_begin(&ends);
	half_a_tensor(&ends);
	half_a_tensor(&ends);
	lie_end(&ends, "a large tensor begins within another one");

	lie_begin(&ends);
	half_a_tensor(&ends);
	lie(&ends, &(struct shm_frame){.type = FRAME_MORE, .count = 96}, sizeof(struct shm_frame));
	lie(&ends, bytes, 96);
	lie_end(&ends, "more bytes arrived than the tensor has");

	lie_begin(&ends);
	half_a_tensor(&ends);
	lie(&ends, &(struct shm_frame){.type = FRAME_MORE}, sizeof(struct shm_frame));
	lie_end(&ends, "elements arrived that belong to no tensor");

	lie_begin(&ends);
	lie(&ends, &(struct shm_frame){.type = FRAME_MORE, .count = 8}, sizeof(struct shm_frame));
	lie(&ends, bytes, 8);
	lie_end(&ends, "elements arrived that belong to no tensor");

	lie_begin(&ends);
	lie(&ends, &(struct shm_frame){.type = FRAME_MORE + 1}, sizeof(struct shm_frame));
	lie_end(&ends, "a frame has an unknown type");

	lie_begin(&ends);
	lie(&ends, &(struct shm_frame){.type = FRAME_MESSAGE}, sizeof(struct shm_frame) / 2);
	lie_end(&ends, "a frame is incomplete");
}

static void an_impossible_position_ends_the_link(void **state)
{
	(void)state;
	struct ends ends;
	lie_begin(&ends);
	((struct shm_link *)ends.link_a)->out.at = RING_BYTES + 8;
	lie_end(&ends, "its position is outside of the ring");

	lie_begin(&ends);
	((struct shm_link *)ends.link_a)->out.at -= 8;
	lie_end(&ends, "its position is outside of the ring");

	lie_begin(&ends);
	struct dfg_shape shape = DFG_SHAPE_VECTOR(2 * RING_BYTES);
	struct dfg_message message = {.tensor = tensor_of(DFG_U8, &shape, 1)};
	struct shm_link *link = (struct shm_link *)ends.link_a;
	pthread_mutex_lock(&link->reading); /* it reads nothing, but says so */
	atomic_store(&link->in.way->read, UINT64_C(1) << 60);
	succeeds(put_message(ends.link_b, &message));
	dfg_tensor_release(&message.tensor);
	inbox_wait_lost(&ends.at_b);
	pthread_mutex_unlock(&link->reading);
	lie_end(&ends, "it claims to have read bytes that were not written");
}

/* Writes `frames` right frames, then some that are right but for a random byte. */
static void lie_at_random(struct ends *ends, int frames, unsigned *random)
{
	for (int i = 0; i < 40; i++) {
		struct shm_frame frame = {.count = 8, .type = FRAME_MESSAGE, .dtype = DFG_U8, .rank = 1, .bytes = 8};
		uint8_t bytes[sizeof frame + 16] = {0};
		memcpy(bytes, &frame, sizeof frame);
		memcpy(bytes + sizeof frame, &(int64_t){8}, 8);
		if (i >= frames) {
			*random = *random * 1664525u + 1013904223u;
			bytes[(*random >> 8) % sizeof bytes] = (uint8_t)((*random >> 24) % 40);
		}
		lie(ends, bytes, sizeof bytes);
	}
}

/* All arrived messages are valid: a tensor has the bytes of its shape, and a bool is 0 or 1. */
static void messages_are_whole(const struct inbox *inbox)
{
	for (size_t i = 0; i < inbox->count; i++) {
		const struct dfg_tensor *tensor = &inbox->message[i].tensor;
		assert_true(inbox->message[i].kind < DFG_MESSAGE_KINDS);
		assert_true(!tensor->dtype || (dfg_dtype_size(tensor->dtype) && !dfg_dtype_is_handle(tensor->dtype)));
		assert_true(
			!tensor->dtype || (dfg_shape_known(&tensor->shape) && tensor->capacity >= dfg_tensor_bytes(tensor)));
		for (size_t k = 0; tensor->dtype == DFG_BOOL && k < dfg_tensor_bytes(tensor); k++)
			assert_true(((const uint8_t *)tensor->data)[k] <= 1);
	}
}

/* Any bytes: what can be a message comes, and the first that cannot ends the link; the process continues. */
static void any_bytes_do_no_harm(void **state)
{
	(void)state;
	enum { TURNS = 300, RIGHT = 6 };
	unsigned random = 1, broken = 0;
	size_t more = 0;
	for (int turn = 0; turn < TURNS; turn++) {
		struct ends ends;
		lie_begin(&ends);
		struct shm_link *link = (struct shm_link *)ends.link_a;
		lie_at_random(&ends, RIGHT, &random);
		ring_publish(&link->out);
		shm_link_wake(link);
		inbox_wait(&ends.at_b, RIGHT);
		dfg_shm_free(ends.a); /* so that a link that waits for more ends too */
		ends.a = NULL;
		inbox_wait_lost(&ends.at_b);
		assert_true(ends.at_b.code == DFG_PROTOCOL || ends.at_b.code == DFG_UNAVAILABLE);
		messages_are_whole(&ends.at_b);
		broken += ends.at_b.code == DFG_PROTOCOL;
		more += ends.at_b.count - RIGHT;
		free_both(&ends);
	}
	assert_in_range(broken, TURNS / 2, TURNS);
	assert_in_range(more, TURNS / 2, 10 * TURNS);
}

static void why_a_hello_is_refused_is_told(void **state)
{
	(void)state;
	static const struct {
		enum dfg_code refused, code;
		const char *words;
	} rows[] = {
		{DFG_REFUSED, DFG_REFUSED, "refuses the secret"},
		{DFG_PROTOCOL, DFG_PROTOCOL, "runs another build"},
		{DFG_MEMORY, DFG_MEMORY, "has no memory"},
		{DFG_UNAVAILABLE, DFG_UNAVAILABLE, "cannot share memory"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hello answer = {.refused = rows[i].refused};
		fails(shm_hello_check(&answer, ""), rows[i].code, rows[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_false_frame_ends_the_link),
		cmocka_unit_test(a_frame_out_of_place_ends_the_link),
		cmocka_unit_test(an_impossible_position_ends_the_link),
		cmocka_unit_test(any_bytes_do_no_harm),
		cmocka_unit_test(why_a_hello_is_refused_is_told),
	};
	return cmocka_run_group_tests_name("shm_lies", tests, NULL, NULL);
}
