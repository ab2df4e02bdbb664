#include "tests/unit/test.h"

#include "formats/bytes.h"
#include "lib/base/crc32c.h"
#include "remote/message_decoder.h"
#include "remote/send_queue.h"

#include <stdlib.h>

/* Messages as bytes and back, without a network. */
enum { KEEP = 64, LIMIT = 1 << 20 };

static struct dfg_message came[KEEP];
static uint32_t n_came;
static uint64_t credit_told;

static void keep(void *arg, struct dfg_message *message)
{
	(void)arg;
	assert_true(n_came < KEEP);
	came[n_came++] = *message;
}

static void told(void *arg, uint64_t credit)
{
	(void)arg;
	credit_told = credit;
}

static struct dfg_message_decoder new_inlet(void)
{
	return (struct dfg_message_decoder){.limit = LIMIT, .message = keep, .credit = told, .credit_given = DFG_CREDIT};
}

static void drop_came(void)
{
	for (uint32_t i = 0; i < n_came; i++)
		dfg_tensor_release(&came[i].tensor);
	n_came = 0;
}

static struct dfg_message numbers(uint32_t number, int64_t count)
{
	struct dfg_message message = {.key = {.step = UINT64_MAX, .number = number, .depth = 2, .iteration = {5, -1}}};
	succeeds(dfg_tensor_new(DFG_U16, &(struct dfg_shape){.rank = 2, .dim = {count, 1}}, &message.tensor));
	for (int64_t i = 0; i < count; i++)
		((uint16_t *)message.tensor.data)[i] = (uint16_t)(i * 40503 + number);
	return message;
}

static void put_message(struct dfg_send_queue *queue, struct dfg_message message)
{
	succeeds(dfg_send_queue_put(queue, &message));
	dfg_tensor_release(&message.tensor);
}

/* All bytes that come out, `piece` at a time. */
static size_t drain(struct dfg_send_queue *queue, uint8_t *to, size_t capacity, size_t piece)
{
	size_t at = 0, n;
	while ((n = dfg_send_queue_pull(queue, to + at, piece < capacity - at ? piece : capacity - at)))
		at += n;
	return at;
}

static struct dfg_err *push_pieces(
	struct dfg_message_decoder *decoder, const uint8_t *bytes, size_t count, size_t piece)
{
	for (size_t at = 0; at < count; at += piece)
		DFG_TRY(dfg_message_decoder_push(decoder, bytes + at, piece < count - at ? piece : count - at));
	return NULL;
}

static void same(const struct dfg_message *got, struct dfg_message want)
{
	assert_int_equal(got->kind, want.kind);
	assert_int_equal(got->dead, want.dead);
	assert_memory_equal(&got->key, &want.key, sizeof want.key);
	assert_int_equal(got->tensor.dtype, want.tensor.dtype);
	assert_true(dfg_shape_equal(&got->tensor.shape, &want.tensor.shape));
	if (want.tensor.dtype)
		assert_memory_equal(got->tensor.data, want.tensor.data, dfg_tensor_bytes(&want.tensor));
	dfg_tensor_release(&want.tensor);
}

static void crc32c_is_castagnolis(void **state)
{
	(void)state;
	uint8_t bytes[10000];
	assert_int_equal(dfg_crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(dfg_crc32c(0, NULL, 0), 0);
	memset(bytes, 0, 32);
	assert_int_equal(dfg_crc32c(0, bytes, 32), 0x8a9136aa); /* RFC 3720, B.4 */
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * i >> 3);
	for (size_t n = 0; n < sizeof bytes; n += 97)
		for (size_t from = 0; from < 8; from += 3) {
			uint32_t whole = dfg_crc32c(0, bytes + from, n);
			assert_int_equal(whole, dfg_crc32c_plain(0, bytes + from, n));
			assert_int_equal(whole, dfg_crc32c(dfg_crc32c(0, bytes + from, n / 3), bytes + from + n / 3, n - n / 3));
		}
}

static void messages_come_out_as_they_went_in(void **state)
{
	(void)state;
	static const int64_t count[] = {0, 1, 3, 32000, 32768, 100000};
	static const size_t piece[] = {1, 7, 4096, 1 << 20};
	uint8_t *bytes = malloc(1 << 20);
	for (size_t p = 0; p < 4; p++) {
		struct dfg_send_queue queue;
		struct dfg_message_decoder decoder = new_inlet();
		succeeds(dfg_send_queue_init(&queue));
		put_message(&queue, (struct dfg_message){.dead = true, .key.number = 99});
		put_message(&queue, (struct dfg_message){.kind = DFG_MESSAGE_CONTROL, .key.number = 98});
		for (uint32_t i = 0; i < 6; i++)
			put_message(&queue, numbers(i, count[i]));
		size_t total = drain(&queue, bytes, 1 << 20, piece[p]);
		succeeds(push_pieces(&decoder, bytes, total, piece[3 - p]));
		assert_int_equal(n_came, 8);
		same(&came[0], (struct dfg_message){.dead = true, .key.number = 99});
		same(&came[1], (struct dfg_message){.kind = DFG_MESSAGE_CONTROL, .key.number = 98});
		for (uint32_t i = 0; i < 6; i++)
			same(&came[2 + i], numbers(i, count[i]));
		drop_came();
		dfg_message_decoder_release(&decoder);
		dfg_send_queue_release(&queue);
	}
	free(bytes);
}

static struct dfg_message strings(void)
{
	struct dfg_message message = {.key.number = 4};
	succeeds(dfg_tensor_new(DFG_STRING, &DFG_SHAPE_VECTOR(3), &message.tensor));
	static const char *const word[] = {"a\0b", "", "quite a long one"};
	static const size_t length[] = {3, 0, 16};
	for (int i = 0; i < 3; i++)
		succeeds(
			dfg_buffer_string(message.tensor.buffer, word[i], length[i], (struct dfg_string *)message.tensor.data + i));
	return message;
}

static void strings_travel_too(void **state)
{
	(void)state;
	struct dfg_send_queue queue;
	struct dfg_message_decoder decoder = new_inlet();
	uint8_t bytes[512];
	succeeds(dfg_send_queue_init(&queue));
	put_message(&queue, strings());
	size_t total = drain(&queue, bytes, sizeof bytes, 11);
	succeeds(push_pieces(&decoder, bytes, total, 5));
	assert_int_equal(n_came, 1);
	const struct dfg_string *element = came[0].tensor.data;
	assert_int_equal(element[0].length, 3);
	assert_memory_equal(element[0].s, "a\0b", 3);
	assert_int_equal(element[1].length, 0);
	assert_memory_equal(element[2].s, "quite a long one", 16);
	drop_came();
	dfg_message_decoder_release(&decoder);
	dfg_send_queue_release(&queue);
}

static void small_messages_overtake_a_large_one_of_another_key(void **state)
{
	(void)state;
	struct dfg_send_queue queue;
	struct dfg_message_decoder decoder = new_inlet();
	uint8_t *bytes = malloc(1 << 20);
	succeeds(dfg_send_queue_init(&queue));
	put_message(&queue, numbers(1, 200000));
	size_t total = dfg_send_queue_pull(&queue, bytes, 70000); /* it is under way */
	put_message(&queue, numbers(2, 1));
	put_message(&queue, numbers(1, 1)); /* of the same key */
	put_message(&queue, (struct dfg_message){.kind = DFG_MESSAGE_CONTROL, .key.number = 3});
	total += drain(&queue, bytes + total, (1 << 20) - total, 1000);
	succeeds(push_pieces(&decoder, bytes, total, 999));
	assert_int_equal(n_came, 4);
	same(&came[0], numbers(2, 1));
	assert_int_equal(came[1].key.number, 3);
	same(&came[2], numbers(1, 200000));
	same(&came[3], numbers(1, 1));
	drop_came();
	free(bytes);
	dfg_message_decoder_release(&decoder);
	dfg_send_queue_release(&queue);
}

static void control_messages_keep_their_order(void **state)
{
	(void)state;
	struct dfg_send_queue queue;
	struct dfg_message_decoder decoder = new_inlet();
	uint8_t *bytes = malloc(1 << 20);
	succeeds(dfg_send_queue_init(&queue));
	for (uint32_t i = 0; i < 6; i++) {
		struct dfg_message message = numbers(i, i % 2 ? 1 : 60000);
		message.kind = DFG_MESSAGE_CONTROL;
		put_message(&queue, message);
	}
	succeeds(push_pieces(&decoder, bytes, drain(&queue, bytes, 1 << 20, 4096), 4096));
	assert_int_equal(n_came, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(came[i].key.number, i);
	drop_came();
	free(bytes);
	dfg_message_decoder_release(&decoder);
	dfg_send_queue_release(&queue);
}

static void no_more_comes_out_than_there_is_credit_for(void **state)
{
	(void)state;
	struct dfg_send_queue queue;
	static uint8_t piece[1 << 16];
	size_t total = 0, n;
	succeeds(dfg_send_queue_init(&queue));
	put_message(&queue, numbers(1, DFG_CREDIT));
	while ((n = dfg_send_queue_pull(&queue, piece, sizeof piece)))
		total += n;
	assert_in_range(total, DFG_CREDIT - DFG_LINK_FRAME_MOST, DFG_CREDIT + DFG_CREDIT / 1000);
	dfg_send_queue_grant(&queue, 5); /* what the other side may know does not need any */
	assert_int_equal(dfg_send_queue_pull(&queue, piece, sizeof piece), DFG_LINK_FRAME_HEADER + 8 + DFG_LINK_FRAME_TAIL);
	dfg_send_queue_credit(&queue, DFG_CREDIT + (1 << 16));
	assert_int_not_equal(dfg_send_queue_pull(&queue, piece, sizeof piece), 0);
	dfg_send_queue_release(&queue);
}

static void credit_is_told(void **state)
{
	(void)state;
	struct dfg_send_queue queue;
	struct dfg_message_decoder decoder = new_inlet();
	uint8_t bytes[64];
	succeeds(dfg_send_queue_init(&queue));
	dfg_send_queue_grant(&queue, 0x123456789a);
	size_t total = drain(&queue, bytes, sizeof bytes, sizeof bytes);
	succeeds(dfg_message_decoder_push(&decoder, bytes, total));
	assert_true(credit_told == 0x123456789a);
	dfg_send_queue_release(&queue);
}

/* The frames of a message that is right, in bytes; then one thing is changed, with a checksum that fits. */
static size_t right_frame(uint8_t *bytes, size_t capacity)
{
	struct dfg_send_queue queue;
	succeeds(dfg_send_queue_init(&queue));
	put_message(&queue, numbers(1, 3));
	size_t total = drain(&queue, bytes, capacity, capacity);
	dfg_send_queue_release(&queue);
	return total;
}

static void is_refused(uint8_t *bytes, size_t count, const char *words)
{
	struct dfg_message_decoder decoder = new_inlet();
	dfg_put_le(bytes + count - 4, dfg_crc32c(0, bytes, count - 4), 4);
	fails(push_pieces(&decoder, bytes, count, 3), DFG_PROTOCOL, words);
	assert_int_equal(n_came, 0);
	dfg_message_decoder_release(&decoder);
}

static void a_wrong_field_is_refused(void **state)
{
	(void)state;
	static const struct {
		size_t at;
		int bytes;
		uint64_t value;
		const char *words;
	} wrong[] = {
		{0, 4, DFG_LINK_FRAME_MOST + 1, "the limit is"},
		{0, 4, 0xffffffff, "the limit is"},
		{0, 4, 10, "its head alone requires 32"},
		{0, 4, 40, "the head of a message has 64 bytes, but the frame around it has 40"},
		{4, 1, 0, "unknown kind 0"},
		{4, 1, 9, "unknown kind 9"},
		{4, 1, DFG_LINK_FRAME_MORE, "more bytes arrived than the message has"},
		{4, 1, DFG_LINK_FRAME_CREDIT, "a credit frame has"},
		{5, 1, 2, "has version 2"},
		{8, 4, 1, "received frame 1, but frame 0 is next"},
		{12, 1, DFG_MESSAGE_KINDS, "a message has the unknown kind"},
		{13, 1, 4, "unknown kind 0 (flags 4)"},
		{13, 1, 0, "without a tensor"},
		{14, 1, 0, "cannot be sent to another process"},
		{14, 1, DFG_RESOURCE, "cannot be sent to another process"},
		{14, 1, DFG_VARIANT, "cannot be sent to another process"},
		{14, 1, 200, "cannot be sent to another process"},
		{14, 1, DFG_F64, "cannot have 6 bytes"},
		{14, 1, DFG_STRING, "cannot have 6 bytes"},
		{15, 1, DFG_RANK_MAX + 1, "has a tensor of rank 9"},
		{28, 8, LIMIT + 1, "the limit is"},
		{28, 8, UINT64_MAX, "the limit is"},
		{28, 8, 2, "cannot have 2 bytes"},
		{36, 4, DFG_LINK_DEPTH + 1, "loop depth 17;"},
		{40, 4, 1, "loop depth"},
		{60, 8, (uint64_t)-1, "invalid shape [?,1]"},
		{60, 8, (uint64_t)-2, "invalid shape"},
		{60, 8, UINT64_C(1) << 62, "larger than any memory"},
		{60, 8, 4, "cannot have 6 bytes"},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		uint8_t bytes[512];
		size_t count = right_frame(bytes, sizeof bytes);
		dfg_put_le(bytes + wrong[i].at, wrong[i].value, wrong[i].bytes);
		is_refused(bytes, count, wrong[i].words);
	}
}

static void every_bit_that_turns_is_found(void **state)
{
	(void)state;
	uint8_t bytes[512];
	size_t count = right_frame(bytes, sizeof bytes);
	for (size_t bit = 0; bit < count * 8; bit++) {
		struct dfg_message_decoder decoder = new_inlet();
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		struct dfg_err *err = push_pieces(&decoder, bytes, count, 16);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		/* Or more is wanted: a length that grew. */
		assert_true(!err || err->code == DFG_PROTOCOL);
		assert_int_equal(n_came, 0);
		dfg_err_free(err);
		dfg_message_decoder_release(&decoder);
	}
}

static void wrong_strings_are_refused(void **state)
{
	(void)state;
	struct dfg_send_queue queue;
	uint8_t bytes[512];
	for (int i = 0; i < 3; i++) {
		succeeds(dfg_send_queue_init(&queue));
		put_message(&queue, strings());
		size_t count = drain(&queue, bytes, sizeof bytes, sizeof bytes);
		dfg_send_queue_release(&queue);
		uint8_t *length = bytes + DFG_LINK_FRAME_HEADER + DFG_HEAD + 8;
		dfg_put_le(length + 8, i == 0 ? 100 : i == 1 ? UINT64_MAX : 0, 8);
		dfg_put_le(length + 16, i == 2 ? 15 : 16, 8);
		is_refused(bytes, count, i == 2 ? "1 bytes after the last string" : "a string has");
	}
}

static void nobody_can_make_us_allocate_more_than_the_limit(void **state)
{
	(void)state;
	struct dfg_mem_limit limit;
	struct dfg_allocator *heap = dfg_mem;
	struct dfg_message message = {.tensor = {.dtype = DFG_U8, .shape = DFG_SHAPE_VECTOR(INT64_C(1) << 40)}};
	uint8_t bytes[256] = {0};
	size_t head = dfg_head_put(bytes + DFG_LINK_FRAME_HEADER, &message, UINT64_C(1) << 40);
	dfg_link_frame_put(bytes, &(struct dfg_link_frame){.length = (uint32_t)head, .kind = DFG_LINK_FRAME_MESSAGE});
	dfg_mem_limit_init(&limit, heap, 1 << 16);
	dfg_mem = &limit.base;
	is_refused(bytes, DFG_LINK_FRAME_HEADER + head + DFG_LINK_FRAME_TAIL, "the limit is");
	dfg_mem = heap;
}

/* Any bytes give an error, a message, or a request for more bytes, and do no harm (run it under a sanitizer). */
static void noise_is_refused(void **state)
{
	(void)state;
	uint64_t seed = 1;
	uint8_t bytes[512];
	for (int run = 0; run < 20000; run++) {
		struct dfg_message_decoder decoder = new_inlet();
		size_t count = run % 2 ? right_frame(bytes, sizeof bytes) : sizeof bytes;
		for (size_t i = run % 2 ? 12 + (size_t)run / 2 % 80 : 0; i < count; i += run % 2 ? 17 : 1) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			bytes[i] = (uint8_t)(seed >> 56);
		}
		dfg_put_le(bytes + count - 4, dfg_crc32c(0, bytes, count - 4), 4);
		struct dfg_err *err = push_pieces(&decoder, bytes, count, 1 + (size_t)run % 50);
		assert_true(!err || err->code == DFG_PROTOCOL);
		dfg_err_free(err);
		drop_came();
		dfg_message_decoder_release(&decoder);
	}
}

static void handles_stay(void **state)
{
	(void)state;
	struct dfg_send_queue queue;
	struct dfg_message message = {0};
	succeeds(dfg_send_queue_init(&queue));
	succeeds(dfg_tensor_new(DFG_RESOURCE, &DFG_SHAPE_SCALAR, &message.tensor));
	fails(dfg_send_queue_put(&queue, &message), DFG_DATA, "cannot be sent to another worker");
	dfg_tensor_release(&message.tensor);
	dfg_send_queue_release(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32c_is_castagnolis),
		cmocka_unit_test(messages_come_out_as_they_went_in),
		cmocka_unit_test(strings_travel_too),
		cmocka_unit_test(small_messages_overtake_a_large_one_of_another_key),
		cmocka_unit_test(control_messages_keep_their_order),
		cmocka_unit_test(no_more_comes_out_than_there_is_credit_for),
		cmocka_unit_test(credit_is_told),
		cmocka_unit_test(a_wrong_field_is_refused),
		cmocka_unit_test(every_bit_that_turns_is_found),
		cmocka_unit_test(wrong_strings_are_refused),
		cmocka_unit_test(nobody_can_make_us_allocate_more_than_the_limit),
		cmocka_unit_test(noise_is_refused),
		cmocka_unit_test(handles_stay),
	};
	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
