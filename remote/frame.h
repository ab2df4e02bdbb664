#pragma once

#include "lib/exec/transport/link.h"

/*
 * The wire format of a stream between two processes: a sequence of frames.
 *
 *     header: length of the payload u32, kind u8, version u8, 0 u16, number of the frame in its stream u32
 *     payload
 *     crc32c of header and payload u32
 *
 * A message begins in a frame of kind MESSAGE: a head, then the first bytes of its tensor. A tensor that is too long
 * for one frame continues in frames of kind MORE; complete short messages may come between these, but not another long
 * one.
 *
 *     head: kind u8, flags u8, dtype u8, rank u8, number u32, step u64, bytes of the elements u64, depth u32, 0 u32,
 *           iterations i64[depth], dims i64[rank]
 *
 * Strings are the length of each as u64, then their bytes. Everything is little-endian. A reader checks what it
 * receives against its limits before it allocates memory for it; nothing is delivered before its checksum was found
 * right.
 */
enum {
	DFG_LINK_FRAME_HEADER = 12,
	DFG_LINK_FRAME_TAIL = 4,
	DFG_LINK_FRAME_MOST = 65536, /* bytes of payload */
	DFG_HEAD = 32,               /* bytes of the part of a head that is always present */
	DFG_HEAD_MOST = DFG_HEAD + 8 * (DFG_LINK_DEPTH + DFG_RANK_MAX),
};

enum dfg_link_frame_kind {
	DFG_LINK_FRAME_MESSAGE = 1,
	DFG_LINK_FRAME_MORE,
	/* u64: the total of bytes of MESSAGE and MORE payloads, from the first on, that the reader accepts */
	DFG_LINK_FRAME_CREDIT,
};

struct dfg_link_frame {
	uint32_t length;
	enum dfg_link_frame_kind kind;
	uint32_t number;
};
void dfg_link_frame_put(uint8_t out[DFG_LINK_FRAME_HEADER], const struct dfg_link_frame *frame);
DFG_MUST_CHECK struct dfg_err *dfg_link_frame_get(
	const uint8_t in[DFG_LINK_FRAME_HEADER], struct dfg_link_frame *out_frame);

/* Writes the head of a message whose elements take `bytes` bytes; returns the head's length. */
size_t dfg_head_put(uint8_t out[DFG_HEAD_MOST], const struct dfg_message *message, uint64_t bytes);

/* The length of a head, from its first DFG_HEAD bytes. DFG_PROTOCOL where they are not a head. */
DFG_MUST_CHECK struct dfg_err *dfg_head_length(const uint8_t in[DFG_HEAD], size_t *out_length);

/*
 * Reads a complete head; the tensor has dtype and shape, and no data. DFG_PROTOCOL where the elements have more than
 * `limit` bytes.
 */
DFG_MUST_CHECK struct dfg_err *dfg_head_get(
	const uint8_t *in, size_t limit, struct dfg_message *out_message, size_t *out_bytes);

/* Strings as bytes, and from bytes into the elements of a new tensor. DFG_PROTOCOL where a length exceeds the bytes. */
size_t dfg_strings_size(const struct dfg_tensor *tensor);
void dfg_strings_pack(const struct dfg_tensor *tensor, uint8_t *out);
DFG_MUST_CHECK struct dfg_err *dfg_strings_unpack(const uint8_t *in, size_t bytes, struct dfg_tensor *tensor);
