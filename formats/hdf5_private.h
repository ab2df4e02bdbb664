#pragma once

#include "lib/base/err.h"
#include "lib/graph/tensor.h"

#include <sys/types.h>

/*
 * libhdf5, which is opened when an HDF5 or NetCDF-4 file is read. It is not safe for threads: all calls are made between
 * dfg_hdf5_enter and dfg_hdf5_leave. Numbers that its functions return identify objects; negative ones are errors.
 */
struct dfg_hdf5_group { /* H5G_info_t */
	int storage;
	uint64_t links;
	int64_t greatest_order;
	bool mounted;
};

struct dfg_hdf5_object { /* H5G_stat_t; its end, which is not used, is longer than in any version */
	unsigned long file[2], number[2];
	unsigned links;
	int kind;
	char others[128];
};

struct dfg_hdf5_error { /* H5E_error2_t */
	int64_t error_class, major, minor;
	unsigned line;
	const char *function, *file, *words;
};
typedef int dfg_hdf5_walk(unsigned n, const struct dfg_hdf5_error *error, void *data);

/* Constants of libhdf5, of the same value in all versions. */
enum {
	H5_DEFAULT = 0, /* default property list, error stack, or the whole extent */
	H5G_GROUP = 0,
	H5G_DATASET = 1,
	H5L_TYPE_EXTERNAL = 64,
	H5D_CHUNKED = 2,
	H5D_VIRTUAL = 3,
	H5S_SCALAR = 0,
	H5S_SIMPLE = 1,
	H5T_INTEGER = 0,
	H5T_FLOAT = 1,
	H5T_STRING = 3,
	H5T_COMPOUND = 6,
	H5T_ENUM = 8,
	H5T_ORDER_LE = 0,
	H5T_ORDER_BE = 1,
	H5T_STR_NULLTERM = 0,
	H5T_STR_SPACEPAD = 2,
};

#define FUNCTION(result, name, arguments) extern result(*dfg_##name) arguments;
#include "formats/hdf5.def"
#undef FUNCTION

/* Opens the library, and takes its lock unless there is an error. DFG_CONFIG, naming the package, if it is not there. */
DFG_MUST_CHECK struct dfg_err *dfg_hdf5_enter(void);
void dfg_hdf5_leave(void);

/* An error of the data, with libhdf5's words for the last call that failed. */
DFG_MUST_CHECK struct dfg_err *dfg_hdf5_err(const char *what);

/* The elements of a dataset as dfg has them. */
struct dfg_hdf5_type {
	enum dfg_dtype dtype; /* DFG_NO_DTYPE: dfg has no such type */
	size_t size;          /* bytes of an element as it is read; of a string of variable length, of a pointer */
	size_t swapped;       /* width of the big-endian numbers of an element; 0: none */
	bool variable;        /* strings of variable length */
	int padding;          /* of other strings: H5T_STR_... */
};

/* hdf5_type.c: the type; *out_words says what it is if dfg does not have it. */
DFG_MUST_CHECK struct dfg_err *dfg_hdf5_type(int64_t type, struct dfg_hdf5_type *out_type, const char **out_words);

/* hdf5_type.c: writes `count` elements as they were read to the elements of `to` from `element` on. */
DFG_MUST_CHECK struct dfg_err *dfg_hdf5_convert(
	const struct dfg_hdf5_type *type, const void *from, int64_t count, struct dfg_tensor *to, int64_t element);
