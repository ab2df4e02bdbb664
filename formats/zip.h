#pragma once

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The part of zip used by npz. Sizes and offsets come from the central directory, which alone is right in a file
 * written as a stream; local headers must have the same name and be inside the file.
 */
struct dfg_zip_member {
	const char *name; /* in the file, not terminated by 0 */
	size_t name_length;
	int method; /* 0 stored, 8 deflated */
	uint32_t crc;
	uint64_t packed, size; /* sizes in bytes, packed and unpacked */
	uint64_t header;       /* offset of the local header */
	const uint8_t *data;   /* the packed bytes */
};

struct dfg_zip {
	const uint8_t *bytes;
	size_t size;
	uint64_t at, end; /* unread part of the central directory, as offsets */
	uint64_t count;   /* number of members */
};

/* Finds the central directory; DFG_DATA if there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_zip_open(const uint8_t *bytes, size_t size, struct dfg_zip *out_zip);

/* Reads the next member in the order of the directory; to be called `count` times. */
DFG_MUST_CHECK struct dfg_err *dfg_zip_next(struct dfg_zip *zip, struct dfg_zip_member *out_member);
