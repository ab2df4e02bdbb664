#include "tests/fuzz.d/targets.h"

#include "formats/bytes.h"
#include "formats/wire.h"
#include "formats/zip.h"
#include "lib/base/crc32c.h"
#include "remote/frame.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* Sets the sum of each member to that of its bytes; those of stored members are the bytes themselves. */
size_t dfg_fuzz_repair_npz(uint8_t *bytes, size_t size)
{
	struct dfg_zip zip;
	struct dfg_zip_member member;
	struct dfg_err *err = dfg_zip_open(bytes, size, &zip);
	for (uint64_t i = 0; !err && i < zip.count; i++) {
		const uint64_t entry = zip.at;
		err = dfg_zip_next(&zip, &member);
		if (!err && !member.method && member.packed == member.size)
			dfg_put_le(bytes + entry + 16, crc32(0, member.data, (uInt)member.size), 4);
	}
	dfg_err_free(err);
	return size;
}

/* Replaces the last member of the manifest, its sum. The manifest keeps its length: digits that are missing are cut off. */
size_t dfg_fuzz_repair_checkpoint(uint8_t *bytes, size_t size)
{
	static const char seal[] = ",\"crc32\":";
	const struct dfg_fuzz_parts parts = dfg_fuzz_split(bytes, size);
	uint8_t *text = bytes + (parts.first - bytes);
	size_t at = parts.first_size;
	char sum[16];
	while (at && (at + sizeof seal - 1 > parts.first_size || memcmp(text + at, seal, sizeof seal - 1)))
		at--;
	if (!at)
		return size;
	const size_t length = (size_t)snprintf(sum, sizeof sum, "%lu}\n", crc32(0, text, (uInt)at));
	const size_t begin = at + sizeof seal - 1, room = parts.first_size - begin;
	if (length > room)
		return size;
	memcpy(text + begin, sum, length);
	memmove(text + begin + length, parts.second, parts.second_size);
	dfg_put_le(bytes, begin + length, 2);
	return size - (room - length);
}

static bool read_handle(const uint8_t **at, const uint8_t *end, uint64_t *offset, uint64_t *count)
{
	return dfg_wire_varint(at, end, offset) && dfg_wire_varint(at, end, count);
}

/* Sets the sum of a block of the table, if it lies in the bytes. */
static bool repair_block(uint8_t *bytes, size_t size, uint64_t offset, uint64_t count)
{
	if (offset > size || count > size - offset || size - offset - count < 5)
		return false;
	bytes[offset + count] = 0; /* not compressed */
	dfg_put_le(bytes + offset + count + 1, dfg_crc32c_mask(dfg_crc32c(0, bytes + offset, count + 1)), 4);
	return true;
}

/* The blocks that the index names, whose entries are (shared, own, length of the value, key, value). */
static void repair_listed(uint8_t *bytes, size_t size, const uint8_t *at, const uint8_t *end)
{
	uint64_t shared, own, length, offset, count;
	while (at < end && dfg_wire_varint(&at, end, &shared) && dfg_wire_varint(&at, end, &own) &&
		   dfg_wire_varint(&at, end, &length) && own <= (size_t)(end - at) && length <= (size_t)(end - at) - own) {
		const uint8_t *value = at + own;
		at = value + length;
		if (read_handle(&value, at, &offset, &count))
			repair_block(bytes, size, offset, count);
	}
}

/* The footer of the index ends with a magic number and begins with the handles of two blocks. */
size_t dfg_fuzz_repair_bundle(uint8_t *bytes, size_t size)
{
	static const uint8_t magic[] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
	enum { FOOTER = 48 };
	const struct dfg_fuzz_parts parts = dfg_fuzz_split(bytes, size);
	uint8_t *index = bytes + (parts.first - bytes);
	uint64_t offset, count;
	if (parts.first_size < FOOTER)
		return size;
	const size_t blocks = parts.first_size - FOOTER;
	const uint8_t *at = index + blocks, *end = index + parts.first_size - sizeof magic;
	memcpy(index + parts.first_size - sizeof magic, magic, sizeof magic);
	if (!read_handle(&at, end, &offset, &count) || !read_handle(&at, end, &offset, &count) || count < 4 ||
		!repair_block(index, blocks, offset, count))
		return size;
	const uint64_t restarts = dfg_le32(index + offset + count - 4);
	if (restarts <= (count - 4) / 4)
		repair_listed(index, blocks, index + offset, index + offset + count - 4 - restarts * 4);
	repair_block(index, blocks, offset, count);
	return size;
}

/* Numbers the frames, and sets their sums; the last one ends with the bytes. */
size_t dfg_fuzz_repair_frames(uint8_t *bytes, size_t size)
{
	enum { AROUND = DFG_LINK_FRAME_HEADER + DFG_LINK_FRAME_TAIL };
	size_t at = 0;
	for (uint32_t number = 0; size - at >= AROUND; number++) {
		uint64_t length = dfg_le32(bytes + at);
		if (length > size - at - AROUND)
			dfg_put_le(bytes + at, length = size - at - AROUND, 4);
		dfg_put_le(bytes + at + 8, number, 4);
		const size_t whole = DFG_LINK_FRAME_HEADER + length;
		dfg_put_le(bytes + at + whole, dfg_crc32c(0, bytes + at, whole), 4);
		at += whole + DFG_LINK_FRAME_TAIL;
	}
	return size;
}
