#include "tests/fuzz.d/targets.h"

#include "formats/array.h"
#include "formats/csv.h"

/* Reads a file whole, its names alone, and its first rows. */
static void read_each_way(const char *name, const uint8_t *bytes, size_t size)
{
	const char *path = dfg_fuzz_file(name, bytes, size);
	struct dfg_arrays all = {0}, listed = {0};
	struct dfg_err *err = dfg_arrays_read(path, &all);
	struct dfg_err *listing = dfg_arrays_list(path, &listed);
	if (!err && !listing)
		dfg_fuzz_require(all.count == listed.count, "a list of arrays is as long as the arrays");
	if (!listing)
		listing = dfg_arrays_read_first(path, NULL, 2, &listed);
	dfg_arrays_release(&all);
	dfg_arrays_release(&listed);
	dfg_fuzz_end(err);
	dfg_fuzz_end(listing);
}

void dfg_fuzz_npy(const uint8_t *bytes, size_t size)
{
	read_each_way("fuzz.npy", bytes, size);
}

void dfg_fuzz_npz(const uint8_t *bytes, size_t size)
{
	read_each_way("fuzz.npz", bytes, size);
}

void dfg_fuzz_safetensors(const uint8_t *bytes, size_t size)
{
	read_each_way("fuzz.safetensors", bytes, size);
}

void dfg_fuzz_idx(const uint8_t *bytes, size_t size)
{
	read_each_way("fuzz.idx", bytes, size);
}

void dfg_fuzz_netcdf(const uint8_t *bytes, size_t size)
{
	/* A file that begins like HDF5 is libhdf5's. */
	if (size < 4 || bytes[0] == 'C')
		read_each_way("fuzz.nc", bytes, size);
}

/* Columns by number, as whole numbers, as floats, and for an input of each type. */
static void read_columns(const uint8_t *bytes, size_t size)
{
	static const enum dfg_dtype dtypes[] = {DFG_F32, DFG_I32, DFG_U8, DFG_BOOL, DFG_STRING};
	const struct dfg_blob blob = {.bytes = bytes, .size = size};
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
		char key[] = "0,2:3";
		struct dfg_tensor tensor = {0};
		struct dfg_err *err = dfg_csv_read(&blob, i % 2 ? key : NULL, &tensor);
		const struct dfg_shape shape = tensor.shape;
		if (!err)
			err = dfg_csv_fit(&tensor, dtypes[i], &shape);
		dfg_tensor_release(&tensor);
		dfg_fuzz_end(err);
	}
}

void dfg_fuzz_csv(const uint8_t *bytes, size_t size)
{
	read_each_way("fuzz.csv", bytes, size);
	read_columns(bytes, size);
}
