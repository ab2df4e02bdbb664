#include "formats/deflate.h"
#include "formats/npy.h"
#include "formats/zip.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { STORED = 0, DEFLATED = 8 };

static const char suffix[] = ".npy";
enum { SUFFIX = sizeof suffix - 1 };

/* The name without its suffix. DFG_DATA if it contains a zero byte. */
static struct dfg_err *member_name(const struct dfg_zip_member *member, char **out_name)
{
	const char *s = member->name;
	size_t length = member->name_length;
	if (!dfg_utf8_is(s, length) || memchr(s, '\0', length))
		return DFG_ERR(DFG_DATA, "a member's name contains a zero byte or is not UTF-8");
	if (length < SUFFIX || memcmp(s + length - SUFFIX, suffix, SUFFIX))
		return DFG_ERR(DFG_DATA, "is not an .npy file, as all members of an npz file must be");
	*out_name = dfg_zeros(length - SUFFIX + 1, 1);
	if (!*out_name)
		return dfg_no_memory("the members of the npz file");
	memcpy(*out_name, s, length - SUFFIX);
	return NULL;
}

/* *budget is the number of bytes that may still be unpacked. */
static struct dfg_err *read_deflated(const struct dfg_zip_member *member, size_t *budget, struct dfg_tensor *out_tensor)
{
	struct dfg_buffer *unpacked;
	if (member->size > *budget)
		return DFG_ERR(DFG_DATA,
			"unpacks to %llu bytes, but only %zu are left of the memory limit for a file of this size",
			(unsigned long long)member->size, *budget);
	*budget -= member->size;
	DFG_TRY(dfg_inflate(member->data, member->packed, member->size, &unpacked));
	struct dfg_err *err = NULL;
	if (crc32_z(0, unpacked->data, member->size) != member->crc)
		err = DFG_ERR(DFG_DATA, "its checksum is wrong");
	if (!err)
		err = dfg_npy_tensor(unpacked->data, member->size, unpacked, out_tensor);
	dfg_buffer_unref(unpacked);
	return err;
}

static struct dfg_err *read_stored(
	const struct dfg_zip_member *member, struct dfg_buffer *file, struct dfg_tensor *out_tensor)
{
	if (member->size != member->packed)
		return DFG_ERR(DFG_DATA,
			"is stored without compression, but its sizes differ: %llu bytes stored, %llu bytes unpacked",
			(unsigned long long)member->packed, (unsigned long long)member->size);
	if (crc32_z(0, member->data, member->size) != member->crc)
		return DFG_ERR(DFG_DATA, "its checksum is wrong");
	return dfg_npy_tensor(member->data, member->size, file, out_tensor);
}

static struct dfg_err *read_member(
	const struct dfg_zip_member *member, struct dfg_buffer *file, size_t *budget, struct dfg_arrays *arrays)
{
	struct dfg_tensor tensor = {0};
	char *name = NULL;
	struct dfg_err *err = member_name(member, &name);
	if (!err && member->method == DEFLATED)
		err = read_deflated(member, budget, &tensor);
	else if (!err && member->method == STORED)
		err = read_stored(member, file, &tensor);
	else if (!err)
		err = DFG_ERR(
			DFG_DATA, "compression method %d is not supported; 0 (stored) and 8 (deflated) are", member->method);
	if (!err)
		err = dfg_arrays_add(arrays, name, &tensor);
	dfg_free(name);
	return err;
}

static int by_data(const void *a, const void *b)
{
	const struct dfg_zip_member *one = a, *two = b;
	return (one->data > two->data) - (one->data < two->data);
}

static struct dfg_err *overlap(void)
{
	return DFG_ERR(DFG_DATA, "zip: members overlap");
}

/* Members must not overlap: they would make a small file large, and bytes ambiguous. */
static struct dfg_err *check_overlap(struct dfg_zip_member *member, size_t count)
{
	if (count)
		qsort(member, count, sizeof *member, by_data);
	for (size_t i = 1; i < count; i++)
		if (member[i].data - member[i - 1].data < (ptrdiff_t)member[i - 1].packed)
			return overlap();
	return NULL;
}

/* The total size of the members is checked against the file first, before any is read. */
static struct dfg_err *read_members(
	struct dfg_zip *zip, struct dfg_buffer *file, struct dfg_zip_member *member, struct dfg_arrays *arrays)
{
	size_t budget = dfg_inflate_limit(zip->size);
	uint64_t left = zip->size;
	for (uint64_t i = 0; i < zip->count; i++) {
		DFG_TRY(dfg_zip_next(zip, &member[i]));
		if (member[i].packed > left)
			return overlap();
		left -= member[i].packed;
		struct dfg_err *err = read_member(&member[i], file, &budget, arrays);
		struct dfg_text name = {0};
		if (err)
			dfg_text_escape(&name, member[i].name, member[i].name_length, 128);
		err = dfg_err_note(err, "%s", name.s ? name.s : "?");
		dfg_text_release(&name);
		DFG_TRY(err);
	}
	return check_overlap(member, zip->count);
}

static bool is_npz(const uint8_t *bytes, size_t size)
{
	return size >= 4 && bytes[0] == 'P' && bytes[1] == 'K' && (bytes[2] == 3 || bytes[2] == 5);
}

static struct dfg_err *read_npz(const struct dfg_blob *blob, struct dfg_buffer *file, struct dfg_arrays *out_arrays)
{
	struct dfg_zip zip;
	DFG_TRY(dfg_zip_open(blob->bytes, blob->size, &zip));
	struct dfg_zip_member *member = dfg_zeros(zip.count, sizeof *member);
	if (!member)
		return dfg_no_memory("the members of the npz file");
	struct dfg_err *err = read_members(&zip, file, member, out_arrays);
	dfg_free(member);
	return err;
}

const struct dfg_array_codec dfg_npz = {
	.name = "npz", .suffix = ".npz", .many = true, .is = is_npz, .read = read_npz, .write = dfg_npz_write};
