#pragma once

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The part of zip that npz is made of. Sizes and places come from the central directory, which is the only one that is
 * right in a file written by a stream; local headers must agree in name and lie inside the file.
 */
struct dfg_zip_member {
	const char *name; /* in the file, not ended by 0 */
	size_t name_length;
	int method; /* 0 stored, 8 deflated */
	uint32_t crc;
	uint64_t packed, size; /* bytes in the file and unpacked */
	uint64_t header;       /* where the local header begins */
	const uint8_t *data;   /* the packed bytes */
};

struct dfg_zip {
	const uint8_t *bytes;
	size_t size;
	uint64_t at, end; /* of the part of the central directory that is still to read */
	uint64_t count;   /* members */
};

/* Finds the central directory; DFG_DATA where there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_zip_open(const uint8_t *bytes, size_t size, struct dfg_zip *out_zip);

/* The next member, in the order of the directory; call it count times. */
DFG_MUST_CHECK struct dfg_err *dfg_zip_next(struct dfg_zip *zip, struct dfg_zip_member *out_member);
