#include "formats/zip.h"

#include "formats/bytes.h"

#include <stdbool.h>
#include <string.h>

enum {
	END_SIZE = 22,
	END64_SIZE = 56,
	LOCATOR_SIZE = 20,
	ENTRY_SIZE = 46,
	LOCAL_SIZE = 30,
	COMMENT_MOST = 65535,
};
static const uint32_t END = 0x06054b50, END64 = 0x06064b50, LOCATOR = 0x07064b50, ENTRY = 0x02014b50,
					  LOCAL = 0x04034b50;

static bool inside(const struct dfg_zip *zip, uint64_t at, uint64_t count)
{
	return at <= zip->size && count <= zip->size - at;
}

/* Finds the end record, which is followed only by a comment of any bytes. */
static const uint8_t *find_end(const uint8_t *bytes, size_t size)
{
	for (size_t back = END_SIZE; back <= size && back <= END_SIZE + COMMENT_MOST; back++) {
		const uint8_t *end = bytes + size - back;
		if (dfg_le32(end) == END && dfg_le16(end + 20) == back - END_SIZE)
			return end;
	}
	return NULL;
}

static struct dfg_err *open_64(struct dfg_zip *zip, const uint8_t *locator)
{
	uint64_t at = dfg_le64(locator + 8);
	const uint8_t *end = inside(zip, at, END64_SIZE) ? zip->bytes + at : NULL;
	if (!end || dfg_le32(end) != END64 || dfg_le32(locator + 4))
		return DFG_ERR(DFG_DATA, "zip: the zip64 directory is damaged");
	zip->count = dfg_le64(end + 32);
	zip->end = dfg_le64(end + 40);
	zip->at = dfg_le64(end + 48);
	return NULL;
}

struct dfg_err *dfg_zip_open(const uint8_t *bytes, size_t size, struct dfg_zip *out_zip)
{
	*out_zip = (struct dfg_zip){.bytes = bytes, .size = size};
	const uint8_t *end = find_end(bytes, size);
	if (!end)
		return DFG_ERR(DFG_DATA, "zip: no directory at the end: the file is truncated or damaged");
	const uint8_t *locator = end - bytes >= LOCATOR_SIZE ? end - LOCATOR_SIZE : NULL;
	if (locator && dfg_le32(locator) == LOCATOR) {
		DFG_TRY(open_64(out_zip, locator));
	} else {
		if (dfg_le16(end + 4) || dfg_le16(end + 6))
			return DFG_ERR(DFG_DATA, "zip: the archive is split over several files, which is not supported");
		out_zip->count = dfg_le16(end + 10);
		out_zip->end = dfg_le32(end + 12);
		out_zip->at = dfg_le32(end + 16);
	}
	if (!inside(out_zip, out_zip->at, out_zip->end))
		return DFG_ERR(DFG_DATA, "zip: the directory is outside the file");
	out_zip->end += out_zip->at;
	if (out_zip->count > (out_zip->end - out_zip->at) / ENTRY_SIZE)
		return DFG_ERR(DFG_DATA, "zip: the directory is too short for the members that it declares");
	return NULL;
}

/* A size of 32 one bits is stored in the zip64 field instead; takes the next value of that field. */
static bool widen(uint64_t *value, const uint8_t **at, const uint8_t *end)
{
	if (*value != UINT32_MAX)
		return true;
	if (end - *at < 8)
		return false;
	*value = dfg_le64(*at);
	*at += 8;
	return true;
}

static bool read_extra(const uint8_t *at, const uint8_t *end, struct dfg_zip_member *member)
{
	while (end - at >= 4) {
		size_t length = dfg_le16(at + 2);
		const uint8_t *field = at + 4;
		if ((size_t)(end - field) < length)
			return false;
		if (dfg_le16(at) == 1)
			return widen(&member->size, &field, at + 4 + length) && widen(&member->packed, &field, at + 4 + length) &&
				   widen(&member->header, &field, at + 4 + length);
		at += 4 + length;
	}
	return true;
}

static struct dfg_err *find_data(const struct dfg_zip *zip, struct dfg_zip_member *member)
{
	const uint8_t *local = inside(zip, member->header, LOCAL_SIZE) ? zip->bytes + member->header : NULL;
	if (!local || dfg_le32(local) != LOCAL)
		return DFG_ERR(DFG_DATA, "zip: the directory gives an offset at which there is no member");
	uint64_t name = dfg_le16(local + 26), data = member->header + LOCAL_SIZE + name + dfg_le16(local + 28);
	if (!inside(zip, data, member->packed))
		return DFG_ERR(DFG_DATA, "zip: the data is outside the file");
	if (name != member->name_length || memcmp(local + LOCAL_SIZE, member->name, name))
		return DFG_ERR(DFG_DATA, "zip: the local header has a different name");
	member->data = zip->bytes + data;
	return NULL;
}

struct dfg_err *dfg_zip_next(struct dfg_zip *zip, struct dfg_zip_member *out_member)
{
	const uint8_t *entry = zip->bytes + zip->at;
	if (zip->end - zip->at < ENTRY_SIZE || dfg_le32(entry) != ENTRY)
		return DFG_ERR(DFG_DATA, "zip: the directory is damaged");
	size_t name = dfg_le16(entry + 28), extra = dfg_le16(entry + 30);
	uint64_t whole = ENTRY_SIZE + name + extra + dfg_le16(entry + 32);
	if (zip->end - zip->at < whole)
		return DFG_ERR(DFG_DATA, "zip: the directory is truncated");
	*out_member = (struct dfg_zip_member){
		.name = (const char *)entry + ENTRY_SIZE,
		.name_length = name,
		.method = dfg_le16(entry + 10),
		.crc = dfg_le32(entry + 16),
		.packed = dfg_le32(entry + 20),
		.size = dfg_le32(entry + 24),
		.header = dfg_le32(entry + 42),
	};
	if (dfg_le16(entry + 8) & 1)
		return DFG_ERR(DFG_DATA, "zip: a member is encrypted, which is not supported");
	if (!read_extra(entry + ENTRY_SIZE + name, entry + ENTRY_SIZE + name + extra, out_member))
		return DFG_ERR(DFG_DATA, "zip: the directory is damaged");
	zip->at += whole;
	return find_data(zip, out_member);
}
