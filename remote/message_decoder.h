#pragma once

#include "remote/frame.h"

/* Decodes the bytes of a stream into messages; each element is copied once, from the given bytes into its tensor. */
struct dfg_message_decoder {
	struct dfg_link_sink sink;                               /* .capacity may be NULL */
	size_t limit;                                            /* bytes of the largest tensor accepted */
	void *arg;                                               /* argument of the functions below */
	void (*message)(void *arg, struct dfg_message *message); /* takes the tensor */
	void (*credit)(void *arg, uint64_t credit);

	uint64_t taken; /* bytes of messages' payloads so far */
	uint64_t credit_given;
	uint32_t frames;
	enum dfg_message_decoder_part { DFG_INLET_HEADER, DFG_INLET_FRONT, DFG_INLET_BODY, DFG_INLET_TAIL } part;
	uint8_t front[DFG_LINK_FRAME_HEADER + DFG_HEAD_MOST]; /* header, head */
	size_t have, want;
	struct dfg_link_frame frame;
	uint32_t left, crc; /* of the payload */
	struct dfg_incoming {
		struct dfg_message message;
		uint8_t *bytes; /* the elements, or strings as they came */
		size_t count, done;
		bool is_there;
	} small, large, *now; /* now: the message of the current frame */
};

/* Releases incomplete messages. */
void dfg_message_decoder_release(struct dfg_message_decoder *decoder);

/* DFG_PROTOCOL where the bytes are malformed: the stream cannot be read any further. */
DFG_MUST_CHECK struct dfg_err *dfg_message_decoder_push(
	struct dfg_message_decoder *decoder, const uint8_t *bytes, size_t count);
