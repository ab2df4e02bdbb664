#include "tests/unit/test.h"

#include "remote/payload.h"

/* Payloads of dfg bench link and ps: their cuts, their form in protobuf, and that a wrong one is found. */

static struct dfg_payload_call cut(int64_t count, enum dfg_payload_pattern pattern, uint64_t number)
{
	const struct dfg_payload payload = {.count = count, .pattern = pattern};
	return dfg_payload_call(&payload, 3, number);
}

static void assert_sizes(const struct dfg_payload_call *call, const int64_t size[DFG_PAYLOAD_BUFFERS])
{
	for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++)
		assert_int_equal(call->first[i + 1] - call->first[i], size[i]);
}

static void test_patterns(void **state)
{
	(void)state;
	const struct dfg_payload_call uniform = cut(70, DFG_PAYLOAD_UNIFORM, 5);
	assert_sizes(&uniform, (int64_t[]){7, 7, 7, 7, 7, 7, 7, 7, 7, 7});
	/* 6 * 100000 + 3 * 1000 + 1 elements: each buffer has its weight exactly */
	const struct dfg_payload_call skew = cut(603001, DFG_PAYLOAD_SKEW, 5);
	assert_sizes(&skew, (int64_t[]){100000, 100000, 100000, 100000, 100000, 100000, 1000, 1000, 1000, 1});
	const struct dfg_payload_call least = cut(1, DFG_PAYLOAD_SKEW, 5);
	assert_sizes(&least, (int64_t[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
}

/* Each class is drawn in about a third of the cases: 10000 draws have a deviation of 47. */
static void test_random(void **state)
{
	(void)state;
	int drawn[3] = {0};
	for (uint64_t number = 0; number < 1000; number++) {
		const struct dfg_payload_call call = cut(INT64_C(1) << 40, DFG_PAYLOAD_RANDOM, number);
		int64_t largest = 0;
		for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++) {
			int64_t size = call.first[i + 1] - call.first[i];
			largest = size > largest ? size : largest;
		}
		for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++) {
			int64_t size = call.first[i + 1] - call.first[i];
			drawn[size > largest / 2 ? 2 : size > largest / 2000 ? 1 : 0]++;
		}
		assert_int_equal(call.first[DFG_PAYLOAD_BUFFERS], INT64_C(1) << 40);
	}
	for (int i = 0; i < 3; i++)
		assert_in_range(drawn[i], 3333 - 300, 3333 + 300);
}

static void test_messages(void **state)
{
	(void)state;
	const struct dfg_payload raw = {.count = 3}, serialized = {.count = 3, .serialized = true};
	const struct dfg_payload_call call = dfg_payload_call(&raw, 0, 0);
	assert_int_equal(dfg_payload_messages(&raw, &call), 3);
	assert_int_equal(dfg_payload_messages(&serialized, &call), 1);
}

static void make_buffers(
	const struct dfg_payload_call *call, int64_t count, struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS])
{
	const struct dfg_payload payload = {.count = count};
	struct dfg_tensor all;
	succeeds(dfg_payload_make(&payload, call, &all));
	for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++)
		buffer[i] = dfg_payload_buffer(call, &all, i);
	dfg_tensor_release(&all);
}

static void release(struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS])
{
	for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++)
		dfg_tensor_release(&buffer[i]);
}

static void test_verify(void **state)
{
	(void)state;
	struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS];
	const struct dfg_payload_call call = cut(45, DFG_PAYLOAD_UNIFORM, 7), next = cut(45, DFG_PAYLOAD_UNIFORM, 8);
	make_buffers(&call, 45, buffer);
	succeeds(dfg_payload_verify(&call, buffer));
	fails(dfg_payload_verify(&next, buffer), DFG_BUG, "of call 8 of worker 3");
	((float *)buffer[9].data)[4] += 1;
	fails(dfg_payload_verify(&call, buffer), DFG_BUG, "element 4 of buffer 9 of call 7 of worker 3");
	((float *)buffer[9].data)[4] -= 1;
	buffer[2].shape.dim[0]--;
	fails(dfg_payload_verify(&call, buffer), DFG_BUG, "is f32[3], expected f32[4]");
	release(buffer);
}

/* Each entry of the map `inputs` is a digit and a TensorProto: dtype, tensor_shape, tensor_content. */
static void test_bytes(void **state)
{
	(void)state;
	static const uint8_t empty[] = {0x12, 11, 0x0a, 1, '0', 0x12, 6, 8, 1, 0x12, 2, 0x12, 0};
	static const uint8_t one[] = {0x12, 19, 0x0a, 1, '9', 0x12, 14, 8, 1, 0x12, 4, 0x12, 2, 8, 1, 0x22, 4};
	enum { EMPTY = 9 * sizeof empty, ALL = EMPTY + sizeof one + sizeof(float) };
	struct dfg_encoder encoder = {0};
	struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS], message;
	const struct dfg_payload_call call = cut(1, DFG_PAYLOAD_UNIFORM, 0);
	make_buffers(&call, 1, buffer);
	succeeds(dfg_payload_write(&encoder, buffer, &message));
	assert_int_equal(message.shape.dim[0], ALL);
	const uint8_t *at = message.data;
	for (uint32_t i = 0; i < 9; i++, at += sizeof empty) {
		uint8_t entry[sizeof empty];
		memcpy(entry, empty, sizeof empty);
		entry[4] = (uint8_t)('0' + i);
		assert_memory_equal(at, entry, sizeof entry);
	}
	assert_memory_equal(at, one, sizeof one);
	assert_memory_equal(at + sizeof one, buffer[9].data, sizeof(float));
	release(buffer);
	dfg_tensor_release(&message);
	dfg_encoder_release(&encoder);
}

static void test_reading(void **state)
{
	(void)state;
	struct dfg_encoder encoder = {0};
	struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS], back[DFG_PAYLOAD_BUFFERS] = {{0}}, message;
	const struct dfg_payload_call call = cut(45, DFG_PAYLOAD_SKEW, 7);
	make_buffers(&call, 45, buffer);
	succeeds(dfg_payload_write(&encoder, buffer, &message));
	succeeds(dfg_payload_read(&message, back));
	succeeds(dfg_payload_verify(&call, back));
	fails(dfg_payload_read(&message, back), DFG_PROTOCOL, "expected the buffers 0 to 9, each once"); /* all are there */
	release(back);
	((uint8_t *)message.data)[0] = 0xff;
	fails(dfg_payload_read(&message, back), DFG_DATA, "");
	message.dtype = DFG_I8;
	fails(dfg_payload_read(&message, back), DFG_PROTOCOL, "expected a vector of u8");
	message.dtype = DFG_U8;
	release(back);
	release(buffer);
	dfg_tensor_release(&message);
	dfg_encoder_release(&encoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_reading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
