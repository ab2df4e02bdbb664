#include "formats/array.h"

#include "formats/array_private.h"
#include "formats/csv.h"
#include "formats/deflate.h"
#include "lib/base/map.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* csv is last, as any text may be csv */
static const struct dfg_array_codec *const codecs[] = {&dfg_npy, &dfg_npz, &dfg_safetensors, &dfg_idx, &dfg_csv};
enum { CODECS = sizeof codecs / sizeof *codecs };

void dfg_arrays_release(struct dfg_arrays *arrays)
{
	for (size_t i = 0; i < arrays->count; i++) {
		dfg_free(arrays->array[i].name);
		dfg_tensor_release(&arrays->array[i].tensor);
	}
	dfg_free(arrays->array);
	*arrays = (struct dfg_arrays){0};
}

struct dfg_err *dfg_arrays_add(struct dfg_arrays *arrays, const char *name, struct dfg_tensor *tensor)
{
	char *copy = dfg_zeros(strlen(name) + 1, 1);
	if (!copy || !dfg_reserve(&arrays->array, &arrays->room, arrays->count + 1, sizeof *arrays->array)) {
		dfg_free(copy);
		dfg_tensor_release(tensor);
		return dfg_no_memory("the arrays");
	}
	memcpy(copy, name, strlen(name));
	arrays->array[arrays->count++] = (struct dfg_array){copy, *tensor};
	*tensor = (struct dfg_tensor){0};
	return NULL;
}

const struct dfg_array *dfg_arrays_find(const struct dfg_arrays *arrays, const char *name)
{
	for (size_t i = 0; i < arrays->count; i++)
		if (!strcmp(arrays->array[i].name, name))
			return &arrays->array[i];
	return NULL;
}

/* A file in memory or mapped, kept while a tensor is a view of it. */
struct mapped {
	struct dfg_buffer buffer;
	struct dfg_blob blob;
};

static void unmap(struct dfg_buffer *buffer)
{
	struct mapped *mapped = (struct mapped *)buffer;
	dfg_blob_close(&mapped->blob);
	dfg_free(mapped);
}

/* Takes the blob, also on failure. */
static struct dfg_err *share(struct dfg_blob *blob, struct dfg_buffer **out_file)
{
	struct mapped *mapped = dfg_zeros(1, sizeof *mapped);
	if (!mapped) {
		dfg_blob_close(blob);
		return dfg_no_memory("the arrays");
	}
	atomic_init(&mapped->buffer.refs, 1);
	mapped->buffer.holds = DFG_U8;
	mapped->buffer.data = (void *)blob->bytes;
	mapped->buffer.room = blob->size;
	mapped->buffer.release = unmap;
	mapped->blob = *blob;
	*out_file = &mapped->buffer;
	return NULL;
}

static const char *shown(const char *path)
{
	return strcmp(path, "-") ? path : "stdin";
}

static bool ends_in(const char *path, const char *suffix)
{
	size_t length = strlen(path), n = strlen(suffix);
	return length > n && !strcmp(path + length - n, suffix);
}

static bool has_control(const char *s)
{
	while (*s && (unsigned char)*s >= 0x20 && *s != 0x7f)
		s++;
	return *s;
}

/* Names must be unique and without control characters. */
static struct dfg_err *check_names(const struct dfg_arrays *arrays)
{
	struct dfg_map names = {0};
	struct dfg_err *err = NULL;
	for (size_t i = 0; !err && i < arrays->count; i++) {
		bool new;
		uint32_t number;
		const char *name = arrays->array[i].name;
		if (has_control(name))
			err = DFG_ERR(DFG_DATA, "array %zu has a control character in its name", i);
		else if (!dfg_map_put(&names, name, strlen(name), &number, &new))
			err = dfg_no_memory("the arrays");
		else if (!new)
			err = DFG_ERR(DFG_DATA, "two arrays have the name '%s'", name);
	}
	dfg_map_release(&names);
	return err;
}

/* Replaces *file by its unpacked content if it is a gzip file. Takes *file. */
static struct dfg_err *unpack(struct dfg_buffer **file)
{
	struct dfg_buffer *unpacked;
	if (!dfg_is_gzip((*file)->data, (*file)->room))
		return NULL;
	DFG_TRY(dfg_gunzip((*file)->data, (*file)->room, &unpacked));
	dfg_buffer_unref(*file);
	*file = unpacked;
	return NULL;
}

static bool is_text(const struct dfg_buffer *file)
{
	return dfg_csv.is(file->data, file->room);
}

/* Finds the codec by content; text is csv, unless the suffix is that of another format. */
static struct dfg_err *find_codec(
	const struct dfg_buffer *file, const char *path, const struct dfg_array_codec **out_codec)
{
	if (!file->room)
		return DFG_ERR(DFG_DATA, "is empty");
	for (int i = 0; i < CODECS; i++) {
		*out_codec = codecs[i];
		if (codecs[i] != &dfg_csv && ends_in(path, codecs[i]->suffix) && is_text(file))
			return DFG_ERR(DFG_DATA, "is text, not a %s file", codecs[i]->name);
		if (codecs[i]->is(file->data, file->room))
			return NULL;
	}
	return DFG_ERR(DFG_DATA, "is not a file of arrays (npy, npz, safetensors, idx, csv)");
}

struct dfg_err *dfg_array_file_map(const char *path, bool unpacks, struct dfg_buffer **out_file)
{
	struct dfg_blob blob;
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	DFG_TRY(share(&blob, out_file));
	struct dfg_err *err = unpacks ? unpack(out_file) : NULL;
	if (err) {
		dfg_buffer_unref(*out_file);
		err = dfg_err_note(err, "%s", shown(path));
	}
	return err;
}

struct dfg_err *dfg_array_file_open(
	const char *path, struct dfg_buffer **out_file, const struct dfg_array_codec **out_codec)
{
	DFG_TRY(dfg_array_file_map(path, true, out_file));
	struct dfg_err *err = find_codec(*out_file, path, out_codec);
	if (err) {
		dfg_buffer_unref(*out_file);
		err = dfg_err_note(err, "%s", shown(path));
	}
	return err;
}

struct dfg_err *dfg_array_file_read(
	struct dfg_buffer *file, const struct dfg_array_codec *codec, struct dfg_arrays *out_arrays)
{
	struct dfg_blob blob = {file->data, file->room, false};
	struct dfg_err *err = codec->read(&blob, file, out_arrays);
	if (!err)
		err = check_names(out_arrays);
	if (err)
		dfg_arrays_release(out_arrays);
	return err;
}

struct dfg_err *dfg_arrays_read(const char *path, struct dfg_arrays *out_arrays)
{
	struct dfg_buffer *file;
	const struct dfg_array_codec *codec;
	*out_arrays = (struct dfg_arrays){0};
	DFG_TRY(dfg_array_file_open(path, &file, &codec));
	struct dfg_err *err = dfg_array_file_read(file, codec, out_arrays);
	dfg_buffer_unref(file);
	return dfg_err_note(err, "%s", shown(path));
}

struct dfg_err *dfg_arrays_read_blob(
	struct dfg_blob *blob, const char *path, const struct dfg_array_codec *codec, struct dfg_arrays *out_arrays)
{
	struct dfg_buffer *file;
	*out_arrays = (struct dfg_arrays){0};
	DFG_TRY(share(blob, &file));
	struct dfg_err *err = dfg_array_file_read(file, codec, out_arrays);
	dfg_buffer_unref(file);
	return dfg_err_note(err, "%s", shown(path));
}

const struct dfg_array_codec *dfg_array_codec_of(const char *path, const char *format)
{
	for (int i = 0; i < CODECS; i++)
		if (format ? !strcmp(format, codecs[i]->name) : ends_in(path, codecs[i]->suffix))
			return codecs[i];
	return NULL;
}

bool dfg_is_arrays(const uint8_t *bytes, size_t size)
{
	for (int i = 0; i < CODECS; i++)
		if (codecs[i] != &dfg_csv && codecs[i]->is(bytes, size))
			return true;
	return dfg_is_gzip(bytes, size);
}

struct dfg_words dfg_array_suffixes(void)
{
	struct dfg_words words = {""};
	size_t length = 0;
	for (int i = 0; i < CODECS && length < sizeof words.s; i++)
		length += (size_t)snprintf(words.s + length, sizeof words.s - length, "%s%s", i ? " " : "", codecs[i]->suffix);
	return words;
}

static struct dfg_err *output_codec(const char *path, const char *format, const struct dfg_array_codec **out_codec)
{
	struct dfg_nearest nearest = {.word = format};
	*out_codec = dfg_array_codec_of(path, format);
	if (*out_codec)
		return NULL;
	if (!format)
		return DFG_ERR(DFG_USAGE, "%s: the suffix is not one of an array format (%s)", path, dfg_array_suffixes().s);
	for (int i = 0; i < CODECS; i++)
		dfg_nearest_offer(&nearest, codecs[i]->name);
	return DFG_ERR(DFG_USAGE, "unknown array format '%s'%s%s%s", format, nearest.best ? "; did you mean '" : "",
		nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

struct dfg_err *dfg_arrays_check_path(const char *path, const char *format)
{
	const struct dfg_array_codec *codec;
	return output_codec(path, format, &codec);
}

struct dfg_err *dfg_arrays_write(const char *path, const char *format, bool if_changed, const struct dfg_arrays *arrays)
{
	struct dfg_out out;
	const struct dfg_array_codec *codec;
	DFG_TRY(output_codec(path, format, &codec));
	if (!codec->many && arrays->count != 1)
		return DFG_ERR(DFG_DATA, "%s: %s holds one array, not %zu", path, codec->name, arrays->count);
	DFG_TRY(dfg_err_note(check_names(arrays), "%s", path));
	DFG_TRY(dfg_out_open(path, if_changed, &out));
	struct dfg_err *err = codec->write(arrays, &out);
	if (err && err->code == DFG_DATA) /* errors of the file already name it */
		err = dfg_err_note(err, "%s", path);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	return err;
}
