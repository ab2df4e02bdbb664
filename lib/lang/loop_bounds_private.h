#pragma once

#include "lib/lang/loop_private.h"
#include "lib/lang/sequences_private.h"

/* The sequences that a loop runs over, and the number of its iterations. */

struct dfg_counting {
	struct dfg_sequence *sequence; /* n of them */
	uint32_t n;
	bool is_closed;              /* a sequence or `limit` ends the loop */
	bool is_product;             /* the loop runs over the product of its sequences, the last one fastest */
	bool from_first;             /* the counter is the value of the loop's only range */
	struct dfg_datum limit, end; /* the `limit`, and the number of iterations if is_closed; i32 */
	struct dfg_edge bound;       /* the counter's bound, exclusive; valid if is_closed */
	int64_t window;              /* parallel_iterations */
	const uint32_t *control;     /* nodes that the loop comes after */
	uint32_t n_control;
};

/* Takes the value of `limit`. DFG_DATA: it is not an i32 scalar. */
DFG_MUST_CHECK struct dfg_err *dfg_count_limit(
	struct dfg_eval *eval, struct dfg_counting *counting, const struct dfg_datum *datum);

/* Evaluates the sequences, in the region around the loop, and works out the number of iterations. */
DFG_MUST_CHECK struct dfg_err *dfg_count_begin(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, struct dfg_lang_loop *loop);

/* Makes the counter, if sequences or a limit need one. */
DFG_MUST_CHECK struct dfg_err *dfg_count_enter(struct dfg_eval *eval, struct dfg_lang_loop *loop);

/* The condition that the counter is below its bound; the loop is closed. */
DFG_MUST_CHECK struct dfg_err *dfg_count_condition(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_edge *out_edge);

/* Binds the elements of the sequences in `names`, those that `reader`, the condition or the body, mentions. */
DFG_MUST_CHECK struct dfg_err *dfg_count_bind(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_name_scope *names, const struct dfg_tree *reader);

/* Counts on: the counter's next value is one more. */
DFG_MUST_CHECK struct dfg_err *dfg_count_on(struct dfg_eval *eval, struct dfg_lang_loop *loop);
