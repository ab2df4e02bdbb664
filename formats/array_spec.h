#pragma once

#include "lib/graph/tensor.h"

/*
 * The words that name one array of a file:
 *
 *     FILE               the only array of the file
 *     FILE[KEY]          an array by its name, or columns of a table
 *     FILE[TYPE:DIMS]    a file without a header: records of one type and shape, one after the other, such as u8:3073
 *     FILE[TYPE:DIMS][C] one column of the records, by its number from 0, or the columns A:B, A: or :B of their first axis
 */
struct dfg_array_spec {
	char *path;            /* owned; the other strings are in its memory */
	char *key;             /* KEY or C, which may be modified; NULL: none */
	enum dfg_dtype record; /* the type of a record's elements; DFG_NO_DTYPE: the file is not of records */
	struct dfg_shape dims; /* of a record */
};

/* DFG_DATA if a record has too many dimensions. */
DFG_MUST_CHECK struct dfg_err *dfg_array_spec_read(const char *words, struct dfg_array_spec *out_spec);
void dfg_array_spec_release(struct dfg_array_spec *spec);

/*
 * The length of the first of several words "F1,@F2,beta:@F3": the position of the comma before the next @FILE or
 * HOST:@FILE, or the length of the text.
 */
size_t dfg_array_spec_length(const char *words);

/* The length of FILE in FILE, FILE[KEY] and FILE[TYPE:DIMS][C]. */
size_t dfg_array_spec_path(const char *words);
