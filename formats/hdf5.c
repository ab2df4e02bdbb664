#include "formats/array.h"
#include "formats/deflate.h"
#include "formats/hdf5_private.h"
#include "lib/base/text.h"
#include "lib/base/trial.h"

#include <string.h>
#include <sys/stat.h>

/* HDF5, and NetCDF-4, which is a use of it: datasets by their paths, read by libhdf5 a few rows at a time. */
static const char damaged[] = "the data is probably damaged";
enum { TRIAL_SECONDS = 10, DEPTH_MOST = 32, OBJECTS_MOST = 1 << 16, CACHE_BYTES = 64 << 20, CACHE_SLOTS = 10007 };

static const char magic[] = "\x89HDF\r\n\x1a\n";
enum { MAGIC = sizeof magic - 1 };

/* The signature is at the start, or after a block of 512 bytes or a larger power of two that the user may write. */
static bool is_hdf5(const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at <= 1 << 16 && size >= MAGIC && at <= size - MAGIC; at = at ? 2 * at : 512)
		if (!memcmp(bytes + at, magic, MAGIC))
			return true;
	return false;
}

struct dataset {
	struct dfg_row_reader base; /* first member */
	struct dfg_hdf5_type type;
	int64_t file, id, file_type, space; /* numbers of libhdf5; 0 or less: none */
	int rank;                           /* of the dataset, which may be a scalar */
	size_t limit;                       /* bytes that may be read at once */
};

static void close_dataset(struct dataset *dataset)
{
	if (dataset->space > 0)
		dfg_H5Sclose(dataset->space);
	if (dataset->file_type > 0)
		dfg_H5Tclose(dataset->file_type);
	if (dataset->id > 0)
		dfg_H5Dclose(dataset->id);
	if (dataset->file > 0)
		dfg_H5Fclose(dataset->file);
}

static void release(struct dfg_row_reader *reader)
{
	struct dataset *dataset = (struct dataset *)reader;
	struct dfg_err *err = dfg_hdf5_enter();
	if (!err) {
		close_dataset(dataset);
		dfg_hdf5_leave();
	}
	dfg_err_free(err);
	dfg_free(dataset);
}

/* Selects n rows in the file, and makes a space of as many elements in memory, which the caller closes. */
static struct dfg_err *select_rows(const struct dataset *dataset, int64_t first, int64_t n, int64_t *out_memory)
{
	uint64_t start[DFG_RANK_MAX] = {(uint64_t)first}, count[DFG_RANK_MAX] = {(uint64_t)n};
	for (int i = 1; i < dataset->rank; i++)
		count[i] = (uint64_t)dataset->base.shape.dim[i];
	if (dataset->rank && dfg_H5Sselect_hyperslab(dataset->space, 0, start, NULL, count, NULL) < 0)
		return dfg_hdf5_err("cannot select rows");
	*out_memory = dfg_H5Screate_simple(dataset->rank, count, NULL);
	return *out_memory < 0 ? dfg_hdf5_err("cannot select rows") : NULL;
}

/* `to` is large enough for the elements as they are read. */
static struct dfg_err *read_selected(
	struct dataset *dataset, int64_t memory, void *from, int64_t count, struct dfg_tensor *to, int64_t element)
{
	if (dfg_H5Dread(dataset->id, dataset->file_type, memory, dataset->space, H5_DEFAULT, from) < 0)
		return dfg_hdf5_err("cannot read");
	struct dfg_err *err = dfg_hdf5_convert(&dataset->type, from, count, to, element);
	if (dataset->type.variable)
		dfg_H5Dvlen_reclaim(dataset->file_type, memory, H5_DEFAULT, from);
	return err;
}

static struct dfg_err *read_locked(
	struct dataset *dataset, int64_t first, int64_t n, struct dfg_tensor *to, int64_t row, size_t elements)
{
	int64_t memory = -1, element = row * (int64_t)elements, count = dataset->rank ? n * (int64_t)elements : 1;
	void *buffer = NULL, *from = dfg_tensor_at(to, element);
	if (to->dtype == DFG_STRING) {
		from = buffer = dfg_zeros((size_t)count, dataset->type.size);
		if (!buffer)
			return dfg_no_memory("text of an HDF5 file");
	}
	struct dfg_err *err = select_rows(dataset, first, n, &memory);
	if (!err) {
		err = read_selected(dataset, memory, from, count, to, element);
		dfg_H5Sclose(memory);
	}
	dfg_free(buffer);
	return err;
}

static struct dfg_err *read_rows(
	struct dfg_row_reader *reader, int64_t first, int64_t n, struct dfg_tensor *to, int64_t row)
{
	struct dataset *dataset = (struct dataset *)reader;
	struct dfg_shape shape = reader->shape;
	shape.dim[0] = shape.rank ? 1 : 0;
	size_t elements = (size_t)dfg_shape_count(&shape), bytes;
	if (__builtin_mul_overflow(elements * dataset->type.size, (size_t)n, &bytes) || bytes > dataset->limit)
		return DFG_ERR(DFG_DATA, "%lld rows require more than %zu bytes, the limit for one read of this file",
			(long long)n, dataset->limit);
	DFG_TRY(dfg_hdf5_enter());
	struct dfg_err *err = read_locked(dataset, first, n, to, row, elements);
	dfg_hdf5_leave();
	return err;
}

static struct dfg_err *read_shape(struct dataset *dataset)
{
	uint64_t dims[32];
	struct dfg_shape *shape = &dataset->base.shape;
	int class = dfg_H5Sget_simple_extent_type(dataset->space);
	if (class != H5S_SCALAR && class != H5S_SIMPLE)
		return DFG_ERR(DFG_DATA, "is an empty dataset, which has no shape");
	dataset->rank = dfg_H5Sget_simple_extent_ndims(dataset->space);
	if (dataset->rank < 0 || dataset->rank > 32 ||
		dfg_H5Sget_simple_extent_dims(dataset->space, dims, NULL) != dataset->rank)
		return dfg_hdf5_err("has no valid shape");
	if (dataset->rank > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "has %d dimensions, the limit is %d", dataset->rank, DFG_RANK_MAX);
	shape->rank = dataset->rank;
	for (int i = 0; i < shape->rank; i++) {
		if (dims[i] > INT64_MAX)
			return DFG_ERR(DFG_DATA, "dimension %d is larger than 2^63 - 1", i);
		shape->dim[i] = (int64_t)dims[i];
	}
	return NULL;
}

/* The bytes of a part of the file that libhdf5 holds in memory at once must be within the limit. */
static struct dfg_err *check_bytes(const struct dataset *dataset, const char *what, struct dfg_shape shape)
{
	size_t bytes = dataset->type.size;
	for (int i = 0; i < shape.rank; i++)
		if (__builtin_mul_overflow(bytes, (size_t)shape.dim[i], &bytes))
			bytes = SIZE_MAX;
	if (bytes > dataset->limit)
		return DFG_ERR(DFG_DATA, "%s of %s takes %zu bytes of memory, but for a file of this size the limit is %zu",
			what, dfg_type_words(dataset->type.dtype, &shape).s, bytes, dataset->limit);
	return NULL;
}

/* Refuses elements of other files, and rows and chunks that a small file may only declare. */
static struct dfg_err *check_storage(const struct dataset *dataset, int64_t created, bool *out_chunked)
{
	int layout = dfg_H5Pget_layout(created);
	uint64_t chunk[DFG_RANK_MAX] = {0};
	struct dfg_shape shape = dataset->base.shape;
	*out_chunked = layout == H5D_CHUNKED;
	if (layout < 0)
		return dfg_hdf5_err("has no valid layout");
	if (layout == H5D_VIRTUAL || dfg_H5Pget_external_count(created) > 0)
		return DFG_ERR(DFG_DATA, "its elements are in other files, which dfg does not follow");
	if (shape.rank && shape.dim[0])
		shape.dim[0] = 1;
	DFG_TRY(check_bytes(dataset, "a row", shape));
	if (!*out_chunked)
		return NULL;
	if (dfg_H5Pget_chunk(created, dataset->rank, chunk) != dataset->rank)
		return dfg_hdf5_err("has no valid chunks");
	for (int i = 0; i < dataset->rank; i++)
		shape.dim[i] = chunk[i] <= INT64_MAX ? (int64_t)chunk[i] : INT64_MAX;
	return check_bytes(dataset, "a chunk", shape);
}

/* Opens the dataset again with a cache of several chunks, as the samples of a shuffled batch are in many. */
static struct dfg_err *enlarge_cache(struct dataset *dataset, const char *name)
{
	int64_t access = dfg_H5Dget_access_plist(dataset->id), larger = -1;
	if (access >= 0 && dfg_H5Pset_chunk_cache(access, CACHE_SLOTS, CACHE_BYTES, 0.75) >= 0)
		larger = dfg_H5Dopen2(dataset->file, name, access);
	if (access >= 0)
		dfg_H5Pclose(access);
	if (larger < 0)
		return dfg_hdf5_err("cannot open");
	dfg_H5Dclose(dataset->id);
	dataset->id = larger;
	return NULL;
}

static struct dfg_err *examine(struct dataset *dataset, const char *name)
{
	const char *words;
	bool chunked;
	dataset->file_type = dfg_H5Dget_type(dataset->id);
	dataset->space = dfg_H5Dget_space(dataset->id);
	if (dataset->file_type < 0 || dataset->space < 0)
		return dfg_hdf5_err("cannot open");
	DFG_TRY(dfg_hdf5_type(dataset->file_type, &dataset->type, &words));
	DFG_TRY(read_shape(dataset));
	if (!dataset->type.dtype)
		return DFG_ERR(DFG_DATA, "its elements are %s of %zu bytes, which dfg cannot read", words, dataset->type.size);
	dataset->base.dtype = dataset->type.dtype;
	int64_t created = dfg_H5Dget_create_plist(dataset->id);
	if (created < 0)
		return dfg_hdf5_err("cannot open");
	struct dfg_err *err = check_storage(dataset, created, &chunked);
	dfg_H5Pclose(created);
	return err || !chunked ? err : enlarge_cache(dataset, name);
}

/* A file that libhdf5 can open: not one of stdin, or one that was unpacked. */
static struct dfg_err *open_file(const struct dfg_array_file *file, int64_t *out_id)
{
	if (file->packed || !strcmp(file->path, "-"))
		return DFG_ERR(DFG_DATA, "an HDF5 file must be a regular file that is not compressed with gzip");
	*out_id = dfg_H5Fopen(file->path, 0, H5_DEFAULT);
	return *out_id < 0 ? dfg_hdf5_err("cannot open") : NULL;
}

static struct dfg_err *open_dataset(
	const struct dfg_array_file *file, const char *name, struct dataset *dataset, bool *out_found)
{
	struct dfg_hdf5_object object;
	*out_found = false;
	DFG_TRY(open_file(file, &dataset->file));
	*out_found = *name && dfg_H5Gget_objinfo(dataset->file, name, false, &object) >= 0;
	if (!*out_found)
		return NULL;
	if (dfg_H5Gget_objinfo(dataset->file, name, true, &object) < 0)
		return DFG_ERR(DFG_DATA, "is a link to an object that is not in this file");
	if (object.kind != H5G_DATASET)
		return DFG_ERR(DFG_DATA, "is a group, not a dataset");
	dataset->id = dfg_H5Dopen2(dataset->file, name, H5_DEFAULT);
	return dataset->id < 0 ? dfg_hdf5_err("cannot open") : examine(dataset, name);
}

/* A file or dataset to be opened once in a child process, because libhdf5 crashes or hangs on some that are damaged. */
struct trial {
	const struct dfg_array_file *file;
	const char *name;
	struct dataset *dataset;
};

/* The file that was listed last, whose datasets a trial has opened. */
static struct stat listed;

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
		   a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void try_dataset(void *trial_)
{
	const struct trial *trial = trial_;
	bool found;
	dfg_err_free(open_dataset(trial->file, trial->name, trial->dataset, &found));
	close_dataset(trial->dataset);
}

static struct dfg_err *open_named(
	const struct dfg_array_file *file, const char *name, struct dfg_array_rows *out_rows, bool *out_found)
{
	struct stat now;
	struct dataset *dataset = dfg_zeros(1, sizeof *dataset);
	*out_found = false;
	*out_rows = (struct dfg_array_rows){0};
	if (!dataset)
		return dfg_no_memory("a dataset");
	dataset->base.read = read_rows;
	dataset->base.release = release;
	dataset->limit = dfg_inflate_limit(file->bytes->capacity);
	struct dfg_err *err = dfg_hdf5_enter();
	if (err) {
		dfg_free(dataset);
		return err;
	}
	if (stat(file->path, &now) || !same_file(&now, &listed))
		err = dfg_trial("libhdf5", damaged, try_dataset, &(struct trial){file, name, dataset}, TRIAL_SECONDS);
	if (!err)
		err = open_dataset(file, name, dataset, out_found);
	bool kept = !err && *out_found;
	if (!kept)
		close_dataset(dataset);
	dfg_hdf5_leave();
	if (kept)
		out_rows->reader = &dataset->base;
	else
		dfg_free(dataset);
	return err;
}

/* A walk over the groups of a file. */
struct walk {
	struct dfg_arrays *arrays;
	size_t visited;
	unsigned long group[DEPTH_MOST][2]; /* the groups from the root to the present one */
};

/* NetCDF-4 has datasets without elements for dimensions that are not variables; an attribute says so. */
static bool is_dimension(int64_t dataset)
{
	static const char words[] = "This is a netCDF dimension but not a netCDF variable";
	char name[128] = {0};
	int64_t attribute = dfg_H5Aexists(dataset, "NAME") > 0 ? dfg_H5Aopen(dataset, "NAME", H5_DEFAULT) : -1;
	int64_t type = attribute >= 0 ? dfg_H5Aget_type(attribute) : -1;
	bool fits = type >= 0 && dfg_H5Tget_class(type) == H5T_STRING && !dfg_H5Tis_variable_str(type) &&
				dfg_H5Aget_storage_size(attribute) < sizeof name;
	if (fits && dfg_H5Aread(attribute, type, name) < 0)
		name[0] = '\0';
	if (type >= 0)
		dfg_H5Tclose(type);
	if (attribute >= 0)
		dfg_H5Aclose(attribute);
	return !strncmp(name, words, sizeof words - 1);
}

static struct dfg_err *list_dataset(int64_t file, const char *path, struct walk *walk)
{
	struct dfg_err *err;
	const char *words;
	struct dataset dataset = {.id = dfg_H5Dopen2(file, path, H5_DEFAULT)};
	if (dataset.id < 0)
		return dfg_hdf5_err("cannot open");
	dataset.file_type = dfg_H5Dget_type(dataset.id);
	dataset.space = dfg_H5Dget_space(dataset.id);
	bool skipped = is_dimension(dataset.id);
	err = skipped ? NULL : dfg_hdf5_type(dataset.file_type, &dataset.type, &words);
	struct dfg_err *unshaped = skipped || err ? NULL : read_shape(&dataset);
	if (unshaped) { /* opening it says so */
		dataset.type.dtype = DFG_NO_DTYPE;
		dataset.base.shape = DFG_SHAPE_UNKNOWN;
		dfg_err_free(unshaped);
	}
	close_dataset(&dataset);
	if (err || skipped)
		return err;
	struct dfg_tensor type = {.dtype = dataset.type.dtype, .shape = dataset.base.shape};
	return dfg_arrays_add(walk->arrays, path, &type);
}

static struct dfg_err *list_group(int64_t file, struct dfg_text *path, int depth, struct walk *walk);

/* Soft and external links are other names, and are not listed; nor are groups in themselves. */
static struct dfg_err *list_object(int64_t file, struct dfg_text *path, int depth, struct walk *walk)
{
	struct dfg_hdf5_object object;
	if (++walk->visited > OBJECTS_MOST)
		return DFG_ERR(DFG_DATA, "has more than %d objects: name the dataset, as in FILE[/group/name]", OBJECTS_MOST);
	if (dfg_H5Gget_objinfo(file, path->s, false, &object) < 0)
		return dfg_hdf5_err("cannot open");
	if (object.kind == H5G_DATASET)
		return list_dataset(file, path->s, walk);
	if (object.kind != H5G_GROUP)
		return NULL;
	if (depth == DEPTH_MOST)
		return DFG_ERR(DFG_DATA, "groups are nested deeper than %d", DEPTH_MOST);
	for (int i = 0; i < depth; i++)
		if (!memcmp(walk->group[i], object.number, sizeof object.number))
			return NULL;
	memcpy(walk->group[depth], object.number, sizeof object.number);
	return list_group(file, path, depth + 1, walk);
}

/* Appends the name of link n of the group to its path. */
static struct dfg_err *append_name(int64_t file, uint64_t n, struct dfg_text *path)
{
	const char *group = path->length ? path->s : ".";
	char name[1024];
	ssize_t length = dfg_H5Lget_name_by_idx(file, group, 0, 0, n, name, sizeof name, H5_DEFAULT);
	if (length < 0)
		return dfg_hdf5_err("cannot read the name of an object");
	if (length >= (ssize_t)sizeof name)
		return DFG_ERR(DFG_DATA, "an object has a name of %zd bytes, the limit is %zu", length, sizeof name - 1);
	dfg_text_add(path, "%s%s", path->length ? "/" : "", name);
	return path->short_of_memory ? dfg_no_memory("the name of an object") : NULL;
}

static struct dfg_err *list_group(int64_t file, struct dfg_text *path, int depth, struct walk *walk)
{
	struct dfg_hdf5_group info = {0};
	int64_t group = path->length ? dfg_H5Gopen2(file, path->s, H5_DEFAULT) : dfg_H5Gopen2(file, "/", H5_DEFAULT);
	bool read = group >= 0 && dfg_H5Gget_info(group, &info) >= 0;
	struct dfg_err *err = read ? NULL : dfg_hdf5_err("cannot open");
	if (group >= 0)
		dfg_H5Gclose(group);
	for (uint64_t i = 0; !err && i < info.links; i++) {
		size_t length = path->length;
		err = append_name(file, i, path);
		if (!err)
			err = dfg_err_note(
				list_object(file, path, depth, walk), "%s", depth < 2 ? path->s + length + (length > 0) : "...");
		path->length = length;
		if (path->s)
			path->s[length] = '\0';
	}
	return err;
}

static struct dfg_err *list_locked(const struct dfg_array_file *file, struct dfg_arrays *out_arrays)
{
	int64_t id;
	struct dfg_text path = {0};
	struct walk walk = {.arrays = out_arrays};
	DFG_TRY(open_file(file, &id));
	struct dfg_err *err = list_group(id, &path, 0, &walk);
	dfg_H5Fclose(id);
	dfg_text_release(&path);
	return err;
}

static void try_list(void *trial_)
{
	const struct trial *trial = trial_;
	struct dfg_arrays arrays = {0};
	dfg_err_free(list_locked(trial->file, &arrays));
}

static struct dfg_err *list_datasets(const struct dfg_array_file *file, struct dfg_arrays *out_arrays)
{
	DFG_TRY(dfg_hdf5_enter());
	struct dfg_err *err = dfg_trial("libhdf5", damaged, try_list, &(struct trial){.file = file}, TRIAL_SECONDS);
	if (!err)
		err = list_locked(file, out_arrays);
	if (err || stat(file->path, &listed))
		listed = (struct stat){0};
	dfg_hdf5_leave();
	return err;
}

const struct dfg_array_codec dfg_hdf5 = {
	.name = "hdf5", .suffix = ".h5", .many = true, .is = is_hdf5, .list = list_datasets, .open = open_named};
