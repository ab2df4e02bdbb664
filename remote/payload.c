#include "remote/payload.h"

#include "formats/predict.h"

#include <string.h>

/* Mixes the bits of a number, so that neighbours have nothing in common. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
	x = (x ^ x >> 27) * UINT64_C(0x81dadef4bc2dd44d);
	return x ^ x >> 33;
}

/* The size of buffer i in proportion to those of the others. */
static uint64_t weight(const struct dfg_payload *payload, uint64_t call, uint32_t i)
{
	static const uint64_t class[] = {1, 1000, 100000};
	switch (payload->pattern) {
	case DFG_PAYLOAD_RANDOM:
		return class[mix(call * DFG_PAYLOAD_BUFFERS + i + 1) % 3];
	case DFG_PAYLOAD_SKEW:
		return class[i < 6 ? 2 : i < 9];
	case DFG_PAYLOAD_UNIFORM:
	case DFG_PAYLOAD_PATTERNS:
		break;
	}
	return 1;
}

struct dfg_payload_call dfg_payload_call(const struct dfg_payload *payload, uint32_t from, uint64_t number)
{
	struct dfg_payload_call call = {.from = from, .number = number};
	uint64_t all = 0, before = 0;
	for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++)
		all += weight(payload, number, i);
	for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++) {
		before += weight(payload, number, i);
		call.first[i + 1] = (int64_t)((unsigned __int128)payload->count * before / all);
	}
	return call;
}

uint32_t dfg_payload_messages(const struct dfg_payload *payload, const struct dfg_payload_call *call)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++)
		count += dfg_payload_has(call, i);
	return payload->serialized ? 1 : count;
}

/* Element e of a call: an integer of 23 bits, which f32 has exactly. */
static float value_of(const struct dfg_payload_call *call, int64_t e)
{
	uint32_t word = (uint32_t)e * 2654435761U + call->from * 40503U + (uint32_t)call->number * 2246822519U;
	return (float)(word >> 9);
}

struct dfg_err *dfg_payload_make(
	const struct dfg_payload *payload, const struct dfg_payload_call *call, struct dfg_tensor *out_all)
{
	DFG_TRY(dfg_tensor_new(DFG_F32, &DFG_SHAPE_VECTOR(payload->count), out_all));
	for (int64_t e = 0; e < payload->count; e++)
		((float *)out_all->data)[e] = value_of(call, e);
	return NULL;
}

struct dfg_tensor dfg_payload_buffer(const struct dfg_payload_call *call, const struct dfg_tensor *all, uint32_t i)
{
	int64_t count = call->first[i + 1] - call->first[i];
	return (struct dfg_tensor){.dtype = DFG_F32,
		.shape = DFG_SHAPE_VECTOR(count),
		.data = (float *)all->data + call->first[i],
		.capacity = (size_t)count * sizeof(float),
		.buffer = dfg_buffer_ref(all->buffer)};
}

static struct dfg_err *verify_one(const struct dfg_payload_call *call, const struct dfg_tensor *buffer, uint32_t i)
{
	int64_t count = call->first[i + 1] - call->first[i];
	if (buffer->dtype != DFG_F32 || buffer->shape.rank != 1 || buffer->shape.dim[0] != count)
		return DFG_ERR(DFG_BUG, "internal error: buffer %u of call %llu of worker %u is %s, expected f32[%lld]", i,
			(unsigned long long)call->number, call->from, dfg_type_words(buffer->dtype, &buffer->shape).s,
			(long long)count);
	for (int64_t e = 0; e < count; e++) {
		float value = ((const float *)buffer->data)[e], expected = value_of(call, call->first[i] + e);
		if (value != expected)
			return DFG_ERR(DFG_BUG,
				"internal error: element %lld of buffer %u of call %llu of worker %u is %.9g, expected %.9g",
				(long long)e, i, (unsigned long long)call->number, call->from, (double)value, (double)expected);
	}
	return NULL;
}

struct dfg_err *dfg_payload_verify(
	const struct dfg_payload_call *call, const struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS])
{
	for (uint32_t i = 0; i < DFG_PAYLOAD_BUFFERS; i++)
		if (dfg_payload_has(call, i))
			DFG_TRY(verify_one(call, &buffer[i], i));
	return NULL;
}

enum { INPUTS = 2, ENTRY_NAME = 1, ENTRY_TENSOR = 2 }; /* fields of PredictRequest, and of its map's entries */

/* An entry of the map of inputs, whose name is the buffer's number: a digit. */
static void put_entry(struct dfg_encoder *to, const struct dfg_tensor *buffer, uint32_t i)
{
	const char digit = (char)('0' + i);
	size_t mark = dfg_encode_mark(to);
	dfg_predict_put_tensor(to, ENTRY_TENSOR, buffer);
	dfg_encode_string(to, ENTRY_NAME, &digit, 1);
	dfg_encode_head(to, INPUTS, mark);
}

struct dfg_err *dfg_payload_write(
	struct dfg_encoder *encoder, const struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS], struct dfg_tensor *out_message)
{
	for (uint32_t i = DFG_PAYLOAD_BUFFERS; i-- > 0;)
		put_entry(encoder, &buffer[i], i);
	struct dfg_err *err = dfg_encoder_check(encoder);
	if (!err)
		err = dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR((int64_t)encoder->length), out_message);
	if (!err)
		dfg_encoder_copy(encoder, out_message->data);
	dfg_encoder_empty(encoder);
	return err;
}

static struct dfg_err *take_inputs(
	struct dfg_predict_request *request, struct dfg_tensor out_buffer[DFG_PAYLOAD_BUFFERS])
{
	for (uint32_t i = 0; i < request->n_input; i++) {
		const char *name = request->input[i].name;
		uint32_t number = (uint32_t)(name[0] - '0');
		if (name[0] < '0' || name[1] || number >= DFG_PAYLOAD_BUFFERS || out_buffer[number].dtype)
			return DFG_ERR(
				DFG_PROTOCOL, "a payload has a buffer '%.40s', expected the buffers 0 to 9, each once", name);
		out_buffer[number] = request->input[i].tensor;
		request->input[i].tensor = (struct dfg_tensor){0};
	}
	return NULL;
}

struct dfg_err *dfg_payload_read(const struct dfg_tensor *message, struct dfg_tensor out_buffer[DFG_PAYLOAD_BUFFERS])
{
	struct dfg_arena arena = {0};
	struct dfg_predict_request request;
	if (message->dtype != DFG_U8 || message->shape.rank != 1)
		return DFG_ERR(DFG_PROTOCOL, "a serialized payload is %s, expected a vector of u8",
			dfg_type_words(message->dtype, &message->shape).s);
	struct dfg_err *err = dfg_predict_read(message->data, dfg_tensor_bytes(message), true, &arena, &request);
	if (!err)
		err = take_inputs(&request, out_buffer);
	dfg_predict_release(&request);
	dfg_arena_release(&arena);
	return err;
}
