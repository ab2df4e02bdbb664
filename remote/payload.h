#pragma once

#include "formats/encode.h"
#include "lib/graph/tensor.h"

/*
 * The data of one call of dfg bench link and dfg bench ps: up to ten buffers of f32, which together are one range of
 * elements. The values follow from the sender and the number of the call, so that a receiver can compare them.
 */
enum { DFG_PAYLOAD_BUFFERS = 10 };

enum dfg_payload_pattern {
	DFG_PAYLOAD_UNIFORM, /* buffers of one size */
	DFG_PAYLOAD_RANDOM,  /* of the sizes 1, 1000 and 100000 in proportion, drawn anew for each call */
	DFG_PAYLOAD_SKEW,    /* six of 100000, three of 1000, one of 1 */
	DFG_PAYLOAD_PATTERNS,
};

struct dfg_payload {
	int64_t count; /* elements of all buffers, at least 1 */
	enum dfg_payload_pattern pattern;
	bool serialized; /* the buffers travel as one message of TensorProtos; else each as it lies in memory */
};

/* A call of a payload: who sends it, its number, and its buffers' bounds; buffer i is [first[i], first[i + 1]). */
struct dfg_payload_call {
	uint32_t from;
	uint64_t number;
	int64_t first[DFG_PAYLOAD_BUFFERS + 1];
};
struct dfg_payload_call dfg_payload_call(const struct dfg_payload *payload, uint32_t from, uint64_t number);

/* Whether buffer i has elements; one without is not sent by itself. */
static inline bool dfg_payload_has(const struct dfg_payload_call *call, uint32_t i)
{
	return call->first[i + 1] > call->first[i];
}

/* The number of messages by which the call travels. */
uint32_t dfg_payload_messages(const struct dfg_payload *payload, const struct dfg_payload_call *call);

/* All elements of the call, as one vector. */
DFG_MUST_CHECK struct dfg_err *dfg_payload_make(
	const struct dfg_payload *payload, const struct dfg_payload_call *call, struct dfg_tensor *out_all);

/* Buffer i of those elements; shares their memory. */
struct dfg_tensor dfg_payload_buffer(const struct dfg_payload_call *call, const struct dfg_tensor *all, uint32_t i);

/* DFG_BUG if a buffer does not have the size and the values of the call, with the first wrong element. */
DFG_MUST_CHECK struct dfg_err *dfg_payload_verify(
	const struct dfg_payload_call *call, const struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS]);

/*
 * Writes the buffers as a message of TensorFlow Serving, a vector of u8, and reads it. The encoder is for its memory,
 * which one call leaves to the next. The buffers that are read have memory of their own; the caller releases them, also
 * after an error. DFG_PROTOCOL if the message has others.
 */
DFG_MUST_CHECK struct dfg_err *dfg_payload_write(
	struct dfg_encoder *encoder, const struct dfg_tensor buffer[DFG_PAYLOAD_BUFFERS], struct dfg_tensor *out_message);
DFG_MUST_CHECK struct dfg_err *dfg_payload_read(
	const struct dfg_tensor *message, struct dfg_tensor out_buffer[DFG_PAYLOAD_BUFFERS]);
