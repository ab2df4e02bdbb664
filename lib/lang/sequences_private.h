#pragma once

#include "lib/lang/loop_private.h"

/* Sequences and yields as TensorArrays. */

/* A sequence that a loop runs over: a range, or the rows of a tensor along its first axis. */
struct dfg_sequence {
	const char *name;            /* the name of its element in the body */
	const struct dfg_tree *tree; /* SEQUENCE */
	bool is_range;
	struct dfg_datum first, end; /* of a range; end NONE: it does not end */
	struct dfg_datum count;      /* the number of elements; NONE: it does not end */
	struct dfg_datum stride;     /* in a product: the iterations from one element to the next */
	struct dfg_edge rows;        /* of a tensor */
	struct dfg_edge array[2];    /* of a tensor: handle and flow; .node DFG_NONE if the body does not read the rows */
};

struct dfg_yield {
	struct dfg_yield *next;
	const struct dfg_tree *tree;
	struct dfg_edge value;   /* of the body */
	struct dfg_edge handle;  /* of the array, outside of the loop */
	struct dfg_carried flow; /* of the array */
};

/* Writes the rows of the sequence's tensor to an array. */
DFG_MUST_CHECK struct dfg_err *dfg_rows_open(struct dfg_eval *eval, struct dfg_sequence *sequence);

/* Reads the row with this index, an i32 scalar. */
DFG_MUST_CHECK struct dfg_err *dfg_rows_read(
	struct dfg_eval *eval, const struct dfg_sequence *sequence, struct dfg_edge index, struct dfg_datum *out_datum);

/* Adds a yield of the value to the loop. */
DFG_MUST_CHECK struct dfg_err *dfg_yield_add(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, const struct dfg_tree *tree, struct dfg_edge value);

/* To be called after the body: makes an array for each yield, and its write in the body. */
DFG_MUST_CHECK struct dfg_err *dfg_yield_on(struct dfg_eval *eval, struct dfg_lang_loop *loop);

/* To be called after the loop is closed: the rows of each yield as one tensor, in out_item[0 .. n_yields - 1]. */
DFG_MUST_CHECK struct dfg_err *dfg_yield_out(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_datum *out_item);
