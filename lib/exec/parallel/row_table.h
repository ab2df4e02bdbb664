#pragma once

#include "lib/exec/parallel/loop_schedule.h"

/* The accesses of one clock to a row so far. A level is -1 while there is none of its kind. */
struct dfg_row_use {
	int64_t tag; /* of the key, + 1; 0: a free slot */
	int32_t clock;
	int32_t read, write;      /* the highest level that reads it, and that writes it */
	int32_t block, iteration; /* of the first access */
};

/*
 * The rows of one array, by the number that their key makes in a mixed radix. Small numbers are the slots themselves; others
 * are hashed, with open addressing. Keys whose numbers would not fit are numbered by their order first.
 */
struct dfg_row_table {
	const struct dfg_loop_iterations *loop;
	struct dfg_row_use *use;
	uint64_t slots; /* a power of two if is_hashed */
	bool is_hashed;
	int64_t *least;   /* by subscript: the least number, */
	uint64_t *stride; /* and the factor */
	uint32_t n_key;
	int64_t **number; /* by access of the loop: the numbers of its rows, instead; NULL: keys are combined */
};

/* A table for the rows of an array. All accesses have the same number of subscripts. */
DFG_MUST_CHECK struct dfg_err *dfg_row_table_init(
	const struct dfg_loop_iterations *iterations, uint32_t array, struct dfg_row_table *out_table);
void dfg_row_table_release(struct dfg_row_table *table);

/* The use of the row that the access touches in the iteration, cleared if it is of an earlier clock. */
struct dfg_row_use *dfg_row_table_find(
	struct dfg_row_table *table, const struct dfg_loop_access *access, int64_t iteration, int32_t clock);
