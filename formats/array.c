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
static const struct dfg_array_codec *const codecs[] = {
	&dfg_npy, &dfg_npz, &dfg_safetensors, &dfg_idx, &dfg_netcdf, &dfg_hdf5, &dfg_csv};
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
	if (!copy || !dfg_reserve(&arrays->array, &arrays->capacity, arrays->count + 1, sizeof *arrays->array)) {
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
	mapped->buffer.capacity = blob->size;
	mapped->buffer.release = unmap;
	mapped->blob = *blob;
	*out_file = &mapped->buffer;
	return NULL;
}

const char *dfg_array_file_shown(const char *path)
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

/* Replaces the bytes by what they unpack to if they are a gzip file. */
static struct dfg_err *unpack(struct dfg_array_file *file)
{
	struct dfg_buffer *unpacked;
	if (!dfg_is_gzip(file->bytes->data, file->bytes->capacity))
		return NULL;
	DFG_TRY(dfg_gunzip(file->bytes->data, file->bytes->capacity, &unpacked));
	dfg_buffer_unref(file->bytes);
	file->bytes = unpacked;
	file->packed = true;
	return NULL;
}

static bool is_text(const struct dfg_buffer *file)
{
	return dfg_csv.is(file->data, file->capacity);
}

/* Finds the codec by content; text is csv, unless the suffix is that of another format. */
static struct dfg_err *find_codec(struct dfg_array_file *file)
{
	const struct dfg_buffer *bytes = file->bytes;
	struct dfg_words names = {""};
	size_t length = 0;
	if (!bytes->capacity)
		return DFG_ERR(DFG_DATA, "is empty");
	for (int i = 0; i < CODECS; i++) {
		file->codec = codecs[i];
		if (codecs[i] != &dfg_csv && ends_in(file->path, codecs[i]->suffix) && is_text(bytes))
			return DFG_ERR(DFG_DATA, "is text, not a %s file", codecs[i]->name);
		if (codecs[i]->is(bytes->data, bytes->capacity))
			return NULL;
		length += (size_t)snprintf(names.s + length, sizeof names.s - length, "%s%s", i ? ", " : "", codecs[i]->name);
	}
	return DFG_ERR(DFG_DATA, "is not a file of arrays (%s)", names.s);
}

void dfg_array_file_close(struct dfg_array_file *file)
{
	dfg_buffer_unref(file->bytes);
	file->bytes = NULL;
}

/* Closes the file if there is an error, and notes its name. */
static struct dfg_err *opened(struct dfg_array_file *file, struct dfg_err *err)
{
	if (err)
		dfg_array_file_close(file);
	return dfg_err_note(err, "%s", dfg_array_file_shown(file->path));
}

struct dfg_err *dfg_array_file_map(const char *path, bool unpacks, struct dfg_array_file *out_file)
{
	struct dfg_blob blob;
	*out_file = (struct dfg_array_file){.path = path};
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	DFG_TRY(share(&blob, &out_file->bytes));
	return opened(out_file, unpacks ? unpack(out_file) : NULL);
}

struct dfg_err *dfg_array_file_open(const char *path, struct dfg_array_file *out_file)
{
	DFG_TRY(dfg_array_file_map(path, true, out_file));
	return opened(out_file, find_codec(out_file));
}

/* Reads one array of a listed file into its tensor. */
static struct dfg_err *read_listed(const struct dfg_array_file *file, struct dfg_array *array)
{
	bool found;
	struct dfg_array_rows rows;
	DFG_TRY(dfg_err_note(file->codec->open(file, array->name, &rows, &found), "%s", array->name));
	struct dfg_err *err = found ? dfg_array_rows_read(&rows)
								: DFG_ERR(DFG_BUG, "internal error: an array that the file lists is not in it");
	if (err)
		dfg_array_rows_release(&rows);
	else
		array->tensor = rows.all;
	return dfg_err_note(err, "%s", array->name);
}

static struct dfg_err *read_or_list(const struct dfg_array_file *file, bool lists, struct dfg_arrays *out_arrays)
{
	const struct dfg_blob blob = {file->bytes->data, file->bytes->capacity, false};
	const struct dfg_array_codec *codec = file->codec;
	*out_arrays = (struct dfg_arrays){0};
	struct dfg_err *err = codec->list ? codec->list(file, out_arrays) : codec->read(&blob, file->bytes, out_arrays);
	if (!err)
		err = check_names(out_arrays);
	for (size_t i = 0; !err && codec->list && !lists && i < out_arrays->count; i++)
		err = read_listed(file, &out_arrays->array[i]);
	if (err)
		dfg_arrays_release(out_arrays);
	return err;
}

struct dfg_err *dfg_array_file_read(const struct dfg_array_file *file, struct dfg_arrays *out_arrays)
{
	return read_or_list(file, false, out_arrays);
}

static struct dfg_err *read_path(const char *path, bool lists, struct dfg_arrays *out_arrays)
{
	struct dfg_array_file file;
	*out_arrays = (struct dfg_arrays){0};
	DFG_TRY(dfg_array_file_open(path, &file));
	struct dfg_err *err = read_or_list(&file, lists, out_arrays);
	dfg_array_file_close(&file);
	return dfg_err_note(err, "%s", dfg_array_file_shown(path));
}

struct dfg_err *dfg_arrays_read(const char *path, struct dfg_arrays *out_arrays)
{
	return read_path(path, false, out_arrays);
}

struct dfg_err *dfg_arrays_list(const char *path, struct dfg_arrays *out_arrays)
{
	return read_path(path, true, out_arrays);
}

struct dfg_err *dfg_arrays_read_listed(const char *path, struct dfg_array *array)
{
	struct dfg_array_file file;
	DFG_TRY(dfg_array_file_open(path, &file));
	struct dfg_err *err = file.codec->list ? read_listed(&file, array) : NULL;
	dfg_array_file_close(&file);
	return dfg_err_note(err, "%s", dfg_array_file_shown(path));
}

struct dfg_err *dfg_arrays_read_blob(
	struct dfg_blob *blob, const char *path, const struct dfg_array_codec *codec, struct dfg_arrays *out_arrays)
{
	struct dfg_array_file file = {.path = path, .codec = codec};
	*out_arrays = (struct dfg_arrays){0};
	DFG_TRY(share(blob, &file.bytes));
	struct dfg_err *err = read_or_list(&file, false, out_arrays);
	dfg_array_file_close(&file);
	return dfg_err_note(err, "%s", dfg_array_file_shown(path));
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
		if (codecs[i]->write)
			length +=
				(size_t)snprintf(words.s + length, sizeof words.s - length, "%s%s", i ? " " : "", codecs[i]->suffix);
	return words;
}

static struct dfg_err *output_codec(const char *path, const char *format, const struct dfg_array_codec **out_codec)
{
	struct dfg_nearest nearest = {.word = format};
	*out_codec = dfg_array_codec_of(path, format);
	if (*out_codec && (*out_codec)->write)
		return NULL;
	if (*out_codec)
		return DFG_ERR(DFG_USAGE, "%s: %s is a format that dfg only reads; it writes %s", path, (*out_codec)->name,
			dfg_array_suffixes().s);
	if (!format)
		return DFG_ERR(DFG_USAGE, "%s: the suffix is not one of an array format (%s)", path, dfg_array_suffixes().s);
	for (int i = 0; i < CODECS; i++)
		if (codecs[i]->write)
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
