#include "formats/bytes.h"
#include "formats/npy.h"

#include <string.h>
#include <zlib.h>

/* Fields of a member that the directory repeats. */
struct member {
	uint64_t offset, size;
	uint32_t crc;
	size_t padding;
};

enum {
	DATE = 1 << 5 | 1, /* 1 January 1980, zip's first day: the file contains no date */
	VERSION_64 = 45,
	VERSION = 20,
	ZIP64 = 1,
	PADDING = 0xd935, /* the extra field that zipalign uses */
	LOCAL = 30,
	ENTRY = 46,
};

static struct dfg_err *measure(void *arg, const void *bytes, size_t count)
{
	struct member *member = arg;
	member->size += count;
	if (count) /* for zero bytes zlib would return the initial checksum */
		member->crc = (uint32_t)crc32_z(member->crc, bytes, count);
	return NULL;
}

static uint8_t *put_name(uint8_t *to, const char *name)
{
	size_t length = strlen(name);
	memcpy(to, name, length);
	memcpy(to + length, ".npy", 4);
	return to + length + 4;
}

static uint32_t narrow(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* Writes version, flags (names are UTF-8), method stored, time, date, checksum, both sizes. */
static uint8_t *put_common(uint8_t *to, const struct member *member, bool large)
{
	to = dfg_put_le(to, large ? VERSION_64 : VERSION, 2);
	to = dfg_put_le(to, 1 << 11, 2);
	to = dfg_put_le(to, 0, 4);
	to = dfg_put_le(to, DATE, 2);
	to = dfg_put_le(to, member->crc, 4);
	to = dfg_put_le(to, narrow(member->size), 4);
	return dfg_put_le(to, narrow(member->size), 4);
}

/* Padding aligns the npy, and so its elements, to 64 bytes: such a file is mapped, not copied. */
static struct dfg_err *put_local(const char *name, struct member *member, uint64_t *at, struct dfg_out *out)
{
	uint8_t header[LOCAL + 65536 + 20 + 4 + 64] = {0}, *to;
	size_t length = strlen(name) + 4;
	bool large = member->size >= UINT32_MAX;
	uint64_t before = *at + LOCAL + length + (large ? 20 : 0) + 4;
	member->padding = (size_t)(-before & 63);
	member->offset = *at;
	to = dfg_put_le(header, 0x04034b50, 4);
	to = put_common(to, member, large);
	to = dfg_put_le(to, length, 2);
	to = dfg_put_le(to, (large ? 20 : 0) + 4 + member->padding, 2);
	to = put_name(to, name);
	if (large) {
		to = dfg_put_le(to, ZIP64, 2);
		to = dfg_put_le(to, 16, 2);
		to = dfg_put_le(to, member->size, 8);
		to = dfg_put_le(to, member->size, 8);
	}
	to = dfg_put_le(to, PADDING, 2);
	to = dfg_put_le(to, member->padding, 2);
	to += member->padding;
	*at += (uint64_t)(to - header) + member->size;
	return dfg_out_write(out, header, (size_t)(to - header));
}

static struct dfg_err *put_member(
	const struct dfg_array *array, struct member *member, uint64_t *at, struct dfg_out *out)
{
	struct dfg_sink count = {measure, member}, sink = dfg_out_sink(out);
	if (strlen(array->name) > 65535 - 4)
		return DFG_ERR(DFG_DATA, "the name has %zu bytes, the limit of npz is %d", strlen(array->name), 65535 - 4);
	DFG_TRY(dfg_npy_put(&array->tensor, &count));
	DFG_TRY(put_local(array->name, member, at, out));
	return dfg_npy_put(&array->tensor, &sink);
}

static struct dfg_err *put_entry(const char *name, const struct member *member, uint64_t *at, struct dfg_out *out)
{
	uint8_t entry[ENTRY + 65536 + 28] = {0}, *to;
	bool large = member->size >= UINT32_MAX, far = member->offset >= UINT32_MAX;
	size_t extra = (large ? 16 : 0) + (far ? 8 : 0);
	to = dfg_put_le(entry, 0x02014b50, 4);
	to = dfg_put_le(to, large || far ? VERSION_64 : VERSION, 2);
	to = put_common(to, member, large || far);
	to = dfg_put_le(to, strlen(name) + 4, 2);
	to = dfg_put_le(to, extra ? extra + 4 : 0, 2);
	to += 2 + 2 + 2; /* comment, disk, internal attributes */
	to = dfg_put_le(to, 0, 4);
	to = dfg_put_le(to, narrow(member->offset), 4);
	to = put_name(to, name);
	if (extra) {
		to = dfg_put_le(to, ZIP64, 2);
		to = dfg_put_le(to, extra, 2);
	}
	if (large) {
		to = dfg_put_le(to, member->size, 8);
		to = dfg_put_le(to, member->size, 8);
	}
	if (far)
		to = dfg_put_le(to, member->offset, 8);
	*at += (uint64_t)(to - entry);
	return dfg_out_write(out, entry, (size_t)(to - entry));
}

static uint8_t *put_end_64(uint8_t *to, uint64_t count, uint64_t begin, uint64_t end)
{
	to = dfg_put_le(to, 0x06064b50, 4);
	to = dfg_put_le(to, 44, 8);
	to = dfg_put_le(to, VERSION_64, 2);
	to = dfg_put_le(to, VERSION_64, 2);
	to = dfg_put_le(to, 0, 8);
	to = dfg_put_le(to, count, 8);
	to = dfg_put_le(to, count, 8);
	to = dfg_put_le(to, end - begin, 8);
	to = dfg_put_le(to, begin, 8);
	to = dfg_put_le(to, 0x07064b50, 4);
	to = dfg_put_le(to, 0, 4);
	to = dfg_put_le(to, end, 8);
	return dfg_put_le(to, 1, 4);
}

static struct dfg_err *put_end(uint64_t count, uint64_t begin, uint64_t end, struct dfg_out *out)
{
	uint8_t record[56 + 20 + 22] = {0}, *to = record;
	uint64_t few = count < 65535 ? count : 65535;
	if (count >= 65535 || begin >= UINT32_MAX || end - begin >= UINT32_MAX)
		to = put_end_64(to, count, begin, end);
	to = dfg_put_le(to, 0x06054b50, 4);
	to = dfg_put_le(to, 0, 4);
	to = dfg_put_le(to, few, 2);
	to = dfg_put_le(to, few, 2);
	to = dfg_put_le(to, narrow(end - begin), 4);
	to = dfg_put_le(to, narrow(begin), 4);
	to = dfg_put_le(to, 0, 2);
	return dfg_out_write(out, record, (size_t)(to - record));
}

static struct dfg_err *put_all(const struct dfg_arrays *arrays, struct member *member, struct dfg_out *out)
{
	uint64_t at = 0, directory;
	for (size_t i = 0; i < arrays->count; i++)
		DFG_TRY(dfg_err_note(put_member(&arrays->array[i], &member[i], &at, out), "%s", arrays->array[i].name));
	directory = at;
	for (size_t i = 0; i < arrays->count; i++)
		DFG_TRY(put_entry(arrays->array[i].name, &member[i], &at, out));
	return put_end(arrays->count, directory, at, out);
}

struct dfg_err *dfg_npz_write(const struct dfg_arrays *arrays, struct dfg_out *out)
{
	struct member *member = dfg_zeros(arrays->count, sizeof *member);
	if (!member)
		return dfg_no_memory("the members of the npz file");
	struct dfg_err *err = put_all(arrays, member, out);
	dfg_free(member);
	return err;
}
