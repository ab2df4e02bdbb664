#pragma once

#include "kernels/resource.h"

#include <pthread.h>

/*
 * A lookup table: a map from keys to values, which the session owns, by name. Keys are i32, i64 or strings; a key of a
 * dense table may be a tensor. Entries are kept in the order in which their keys were first put, so that an export has the
 * same order in every run. The semantics are those of TensorFlow's tables (core/kernels/lookup_table_op.cc).
 */
enum dfg_table_form {
	DFG_TABLE_CONSTANT, /* initialised once; later attempts must bring the same entries */
	DFG_TABLE_MUTABLE,
	DFG_TABLE_DENSE, /* mutable; two keys are reserved, and refused */
};

struct dfg_table_kind {
	enum dfg_table_form form;
	struct dfg_tensor_type key, value;    /* of one entry; shapes fully known */
	const struct dfg_tensor *reserved[2]; /* of a dense table: its empty and its deleted key; else NULL */
};

/* Values of one type in a growing array: those of an entry lie next to each other. Strings are the column's own. */
struct dfg_table_column {
	enum dfg_dtype dtype;
	struct dfg_shape shape; /* of one entry */
	size_t elements, bytes; /* of one entry */
	char *data;
	size_t capacity; /* in entries */
};

struct dfg_table {
	struct dfg_resource resource;
	pthread_rwlock_t lock;
	enum dfg_table_form form;
	bool initialised; /* only a constant table may be uninitialised */
	struct dfg_table_column key, value;
	struct dfg_tensor reserved[2];
	size_t count, used; /* entries; positions in use, with those whose entry was removed */
	bool *removed;      /* by position */
	size_t removed_capacity;
	uint64_t *slot; /* position + 1, and the upper half of the hash above it; 0: empty */
	size_t slots;   /* a power of two, or 0 */
};

extern const char dfg_table_kind[];

/* The shape function of an op that makes a table: records the types of keys and values. */
DFG_MUST_CHECK struct dfg_err *dfg_table_make_holds(
	struct dfg_infer *node, const struct dfg_tensor_type *key, const struct dfg_tensor_type *value);

/* The table of that name, created if there is none; DFG_DATA if there is one of another kind. Borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_table_find(
	struct dfg_state *state, const char *name, const struct dfg_table_kind *kind, struct dfg_table **out_table);

/*
 * The functions below require the lock: for reading, dfg_table_position(); for writing, the others. Keys and values are n
 * entries one after another in tensors of the table's types.
 */

enum { DFG_TABLE_ABSENT = -1 };

/* The position of key k of the tensor in the columns, or DFG_TABLE_ABSENT. */
int64_t dfg_table_position(const struct dfg_table *table, const struct dfg_tensor *keys, int64_t k);

/* Puts n entries; the value of a key that is there is replaced. DFG_DATA, with nothing put, for a reserved key. */
DFG_MUST_CHECK struct dfg_err *dfg_table_put(
	struct dfg_table *table, const struct dfg_tensor *keys, const struct dfg_tensor *values, int64_t n);

/*
 * Initialises a constant table with n entries. DFG_DATA if a key has two values, or the table is initialised with other
 * entries; it is as before then.
 */
DFG_MUST_CHECK struct dfg_err *dfg_table_initialise(
	struct dfg_table *table, const struct dfg_tensor *keys, const struct dfg_tensor *values, int64_t n);

/* Removes those of the n keys that are there. */
DFG_MUST_CHECK struct dfg_err *dfg_table_remove(struct dfg_table *table, const struct dfg_tensor *keys, int64_t n);

void dfg_table_clear(struct dfg_table *table);

/* Sets elements of output i, from element `first` on, to the column's entry at a position. */
DFG_MUST_CHECK struct dfg_err *dfg_table_give(
	struct dfg_kernel *ctx, int i, int64_t first, const struct dfg_table_column *column, int64_t position);
