#pragma once

#include "lib/lang/region.h"

/* What a loop runs over, and how often: sequences, `limit`. */
struct dfg_sequence {
	const char *name;
	const struct dfg_tree *tree;
	bool is_range;
	struct dfg_datum first, end; /* of a range */
	struct dfg_datum count;      /* NONE: it does not end */
	struct dfg_edge rows;        /* of a tensor */
	struct dfg_edge array[2];    /* handle and flow of its rows; .node DFG_NONE where the body does not read them */
};

struct dfg_counting {
	struct dfg_sequence *sequence;
	uint32_t n;
	bool is_closed;
	bool from_first; /* the counter is the value of the one range there is */
	struct dfg_datum limit, end;
	struct dfg_edge bound; /* what the counter stays below */
	int64_t window;
	const uint32_t *control; /* what the frame comes after */
	uint32_t n_control;
};

/* loop_bounds.c */
DFG_MUST_CHECK struct dfg_err *dfg_count_limit(
	struct dfg_eval *eval, struct dfg_counting *counting, const struct dfg_datum *datum);
DFG_MUST_CHECK struct dfg_err *dfg_count_begin(
	struct dfg_eval *eval, struct dfg_name_scope *frame, struct dfg_lang_loop *loop);
DFG_MUST_CHECK struct dfg_err *dfg_count_enter(struct dfg_eval *eval, struct dfg_lang_loop *loop);
DFG_MUST_CHECK struct dfg_err *dfg_count_condition(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_count_bind(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_name_scope *names, const struct dfg_tree *reader);
DFG_MUST_CHECK struct dfg_err *dfg_count_on(struct dfg_eval *eval, struct dfg_lang_loop *loop);

/* sequences.c: sequences and yields as TensorArrays */
struct dfg_yield {
	struct dfg_yield *next;
	const struct dfg_tree *tree;
	struct dfg_edge value, handle;
	struct dfg_carried flow;
};
DFG_MUST_CHECK struct dfg_err *dfg_rows_open(struct dfg_eval *eval, struct dfg_sequence *sequence);
DFG_MUST_CHECK struct dfg_err *dfg_rows_read(
	struct dfg_eval *eval, const struct dfg_sequence *sequence, struct dfg_edge index, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_yield_add(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, const struct dfg_tree *tree, struct dfg_edge value);
DFG_MUST_CHECK struct dfg_err *dfg_yield_on(struct dfg_eval *eval, struct dfg_lang_loop *loop);
DFG_MUST_CHECK struct dfg_err *dfg_yield_out(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_datum *out_item);
