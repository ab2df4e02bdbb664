#pragma once

#include "lib/graph/build.h"
#include "lib/pass/rewrite/keep.h"

/*
 * A variable in rows over several variables, its parts, so that each can be on a device of its own: row i is in part i mod K
 * (DFG_ROWS_MOD), or the parts are ranges of equally many rows, the last one of fewer (DFG_ROWS_DIV). Slots of the variable
 * with as many rows are divided with it.
 *
 * A gather becomes a gather beside each part, of the rows that are there, whose results are stitched in the order of the
 * indices; a scatter, and an assignment, distribute their rows likewise. A read of the whole variable stitches all rows. The
 * values of a step are those without the division, to the bit.
 */
struct dfg_shard_request {
	const char *pattern; /* of names of variables */
	uint32_t parts;
	bool by_div; /* else mod */
	bool used;   /* set where a variable matches */
};

/*
 * Divides the variables that match, of which the last request counts. Names stay: fetches and targets need no change. The
 * facts of nodes that were there no longer hold.
 *
 * DFG_DATA, naming the node: a variable's shape is not known, it has fewer rows than parts, or an op uses it in another way.
 */
DFG_MUST_CHECK struct dfg_err *dfg_shard_variables(
	struct dfg_builder *builder, struct dfg_shard_request *request, size_t requests);

/* The variable that a node's variable is a part of. */
struct dfg_row_part {
	struct dfg_string whole;
	int64_t rows; /* of the whole variable */
	uint32_t part, parts;
	bool by_div;
};
bool dfg_row_part_of(const struct dfg_node *node, struct dfg_row_part *out_part);

/* The number of rows of a part; the row of the whole variable that is row i of the part. */
int64_t dfg_row_part_rows(const struct dfg_row_part *part);
int64_t dfg_row_part_at(const struct dfg_row_part *part, int64_t i);

/* Whether a name has the variable's before a slash: 'w/momentum' and 'train/w/m' are slots of 'w'. */
bool dfg_is_slot_of(const char *name, const char *variable);
