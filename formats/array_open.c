#include "formats/array_private.h"
#include "formats/array_spec.h"
#include "formats/csv.h"
#include "lib/base/map.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void dfg_array_rows_release(struct dfg_array_rows *rows)
{
	dfg_tensor_release(&rows->all);
	if (rows->reader)
		rows->reader->release(rows->reader);
	*rows = (struct dfg_array_rows){0};
}

static struct dfg_err *pick(const struct dfg_arrays *arrays, const char *key, const struct dfg_array **out_array)
{
	struct dfg_nearest nearest = {.word = key};
	if (!key && arrays->count != 1)
		return DFG_ERR(DFG_DATA, "holds %zu arrays: choose one, as in FILE[%s]", arrays->count,
			arrays->count ? arrays->array[0].name : "NAME");
	*out_array = key ? dfg_arrays_find(arrays, key) : &arrays->array[0];
	if (*out_array)
		return NULL;
	for (size_t i = 0; i < arrays->count; i++)
		if (*arrays->array[i].name)
			dfg_nearest_offer(&nearest, arrays->array[i].name);
	if (arrays->count == 1 && !*arrays->array[0].name)
		return DFG_ERR(
			DFG_DATA, "no array '%s': the file holds one array, which has no name; leave out [%s]", key, key);
	return DFG_ERR(DFG_DATA, "no array '%s'%s%s%s", key, nearest.best ? "; did you mean '" : "",
		nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

static struct dfg_err *open_of_many(const struct dfg_array_file *file, const char *key, struct dfg_tensor *out_tensor)
{
	struct dfg_arrays arrays;
	const struct dfg_array *array = NULL;
	DFG_TRY(dfg_array_file_read(file, &arrays));
	struct dfg_err *err = pick(&arrays, key, &array);
	if (!err)
		err = dfg_tensor_share(&array->tensor, out_tensor);
	dfg_arrays_release(&arrays);
	return err;
}

/* Reads the list of arrays only where the key does not name one. */
static struct dfg_err *open_listed(const struct dfg_array_file *file, const char *key, struct dfg_array_rows *out_rows)
{
	bool found = false;
	struct dfg_arrays arrays = {0};
	const struct dfg_array *array = NULL;
	if (key)
		DFG_TRY(dfg_err_note(file->codec->open(file, key, out_rows, &found), "%s", key));
	if (found)
		return NULL;
	struct dfg_err *err = file->codec->list(file, &arrays);
	if (!err)
		err = pick(&arrays, key, &array);
	if (!err)
		err = dfg_err_note(file->codec->open(file, array->name, out_rows, &found), "%s", array->name);
	if (!err && !found)
		err = DFG_ERR(DFG_DATA, "no array '%s'", array->name);
	dfg_arrays_release(&arrays);
	return err;
}

/* *out_fits: whether its numbers may be converted to another dtype. */
static struct dfg_err *open_by_content(
	const struct dfg_array_spec *spec, struct dfg_array_rows *out_rows, bool *out_fits)
{
	struct dfg_array_file file;
	DFG_TRY(dfg_array_file_open(spec->path, &file));
	struct dfg_blob blob = {file.bytes->data, file.bytes->capacity, false};
	*out_fits = file.codec == &dfg_csv;
	struct dfg_err *err = *out_fits          ? dfg_csv_read(&blob, spec->key, &out_rows->all)
						  : file.codec->open ? open_listed(&file, spec->key, out_rows)
											 : open_of_many(&file, spec->key, &out_rows->all);
	dfg_array_file_close(&file);
	return dfg_err_note(err, "%s", dfg_array_file_shown(spec->path));
}

/* Records can begin with any bytes, so the name tells whether they are compressed. */
static struct dfg_err *open_records(const struct dfg_array_spec *spec, struct dfg_array_rows *out_rows)
{
	struct dfg_array_file file;
	size_t length = strlen(spec->path);
	bool packed = length > 3 && !strcmp(spec->path + length - 3, ".gz");
	DFG_TRY(dfg_array_file_map(spec->path, packed, &file));
	struct dfg_err *err = dfg_records_open(&file, spec, out_rows);
	dfg_array_file_close(&file);
	return dfg_err_note(err, "%s", dfg_array_file_shown(spec->path));
}

/* A missing file is left to the reader to report. */
static struct dfg_err *check_regular(const char *path)
{
	struct stat stat_;
	if (!strcmp(path, "-"))
		return DFG_ERR(DFG_NO_INPUT, "stdin cannot be used here: give the path of a regular file");
	if (stat(path, &stat_) || S_ISREG(stat_.st_mode) || S_ISDIR(stat_.st_mode))
		return NULL;
	return DFG_ERR(DFG_NO_INPUT, "%s: is not a regular file", path);
}

static struct dfg_err *open_words(const char *words, bool regular, struct dfg_array_rows *out_rows, bool *out_fits)
{
	struct dfg_array_spec spec;
	*out_fits = false;
	*out_rows = (struct dfg_array_rows){0};
	DFG_TRY(dfg_array_spec_read(words, &spec));
	struct dfg_err *err = regular ? check_regular(spec.path) : NULL;
	if (!err)
		err = spec.record ? open_records(&spec, out_rows) : open_by_content(&spec, out_rows, out_fits);
	dfg_array_spec_release(&spec);
	return err;
}

struct dfg_err *dfg_array_open_for(const char *words, const struct dfg_array_input *input, bool regular,
	struct dfg_array_rows *out_rows, struct dfg_err **out_unfit)
{
	bool fits;
	struct dfg_err *unfit = NULL;
	if (out_unfit)
		*out_unfit = NULL;
	DFG_TRY(open_words(words, regular, out_rows, &fits));
	if (fits && input->dtype)
		unfit = dfg_csv_fit(&out_rows->all, input->dtype, &input->shape);
	if (unfit && unfit->code != DFG_DATA) {
		dfg_array_rows_release(out_rows);
		return unfit;
	}
	if (out_unfit)
		*out_unfit = unfit;
	else
		dfg_err_free(unfit);
	return NULL;
}

struct dfg_err *dfg_array_rows_read(struct dfg_array_rows *rows)
{
	struct dfg_row_reader *reader = rows->reader;
	if (!reader)
		return NULL;
	DFG_TRY(dfg_tensor_new(reader->dtype, &reader->shape, &rows->all));
	int64_t n = reader->shape.rank ? reader->shape.dim[0] : 1;
	if (dfg_shape_count(&reader->shape))
		DFG_TRY(reader->read(reader, 0, n, &rows->all, 0));
	reader->release(reader);
	rows->reader = NULL;
	return NULL;
}

/* n may exceed the rows that there are. A scalar is read whole. */
static struct dfg_err *read_first(struct dfg_array_rows *rows, int64_t n)
{
	struct dfg_row_reader *reader = rows->reader;
	const struct dfg_shape *shape = dfg_array_rows_shape(rows);
	struct dfg_shape first = *shape;
	if (!shape->rank || shape->dim[0] <= n)
		return dfg_array_rows_read(rows);
	first.dim[0] = n;
	if (!reader) {
		rows->all.shape = first;
		return NULL;
	}
	DFG_TRY(dfg_tensor_new(reader->dtype, &first, &rows->all));
	return dfg_shape_count(&first) ? reader->read(reader, 0, n, &rows->all, 0) : NULL;
}

static struct dfg_err *replace_by_first(struct dfg_array *array, struct dfg_array_rows *rows, int64_t n)
{
	DFG_TRY(read_first(rows, n));
	dfg_tensor_release(&array->tensor);
	return dfg_tensor_share(&rows->all, &array->tensor);
}

/* The file is opened when the first array is found that was listed without elements. */
static struct dfg_err *read_first_listed(struct dfg_array_file *file, struct dfg_array *array, int64_t n)
{
	bool found = true;
	struct dfg_array_rows rows = {0};
	struct dfg_err *err = NULL;
	const bool is_listed = !array->tensor.data && dfg_shape_count(&array->tensor.shape);
	if (is_listed && !file->bytes)
		DFG_TRY(dfg_array_file_open(file->path, file));
	err = is_listed ? file->codec->open(file, array->name, &rows, &found) : dfg_tensor_share(&array->tensor, &rows.all);
	if (!err)
		err = found ? replace_by_first(array, &rows, n)
					: DFG_ERR(DFG_BUG, "internal error: an array that the file lists is not in it");
	dfg_array_rows_release(&rows);
	return dfg_err_note(dfg_err_note(err, "%s", array->name), "%s", dfg_array_file_shown(file->path));
}

struct dfg_err *dfg_arrays_read_first(const char *path, const char *name, int64_t n, struct dfg_arrays *arrays)
{
	struct dfg_array_file file = {.path = path};
	struct dfg_err *err = NULL;
	for (size_t i = 0; !err && i < arrays->count; i++)
		if (!name || !strcmp(name, arrays->array[i].name))
			err = read_first_listed(&file, &arrays->array[i], n);
	if (file.bytes)
		dfg_array_file_close(&file);
	return err;
}

struct dfg_err *dfg_array_read_for(const char *words, const struct dfg_array_input *input, bool regular,
	struct dfg_tensor *out_tensor, struct dfg_err **out_unfit)
{
	struct dfg_array_rows rows;
	*out_tensor = (struct dfg_tensor){0};
	DFG_TRY(dfg_array_open_for(words, input, regular, &rows, out_unfit));
	struct dfg_err *err = dfg_err_note(dfg_array_rows_read(&rows), "%s", words);
	if (!err)
		err = dfg_tensor_share(&rows.all, out_tensor);
	dfg_array_rows_release(&rows);
	return err;
}

struct dfg_err *dfg_array_read_one(const char *words, struct dfg_tensor *out_tensor)
{
	const struct dfg_array_input none = {0};
	return dfg_array_read_for(words, &none, false, out_tensor, NULL);
}

bool dfg_is_array_of_file(const char *words)
{
	return words[dfg_array_spec_path(words)] && access(words, F_OK);
}

struct dfg_err *dfg_arrays_read_words(const char *words, struct dfg_arrays *out_arrays)
{
	struct dfg_tensor tensor;
	if (!dfg_is_array_of_file(words))
		return dfg_arrays_read(words, out_arrays);
	*out_arrays = (struct dfg_arrays){0};
	DFG_TRY(dfg_array_read_one(words, &tensor));
	return dfg_arrays_add(out_arrays, "", &tensor);
}
