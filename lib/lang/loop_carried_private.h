#pragma once

#include "lib/lang/datum_private.h"

/* Values that loops carry from iteration to iteration. */

struct dfg_lang_loop;

struct dfg_carried {
	const char *name;
	const struct dfg_tree *tree;  /* the text of the first value */
	bool grows;                   /* its dimensions may change from iteration to iteration */
	struct dfg_edge enter, merge; /* of the frame */
	struct dfg_edge inside;       /* in the body: output 1 of the Switch */
	struct dfg_edge outside;      /* after the loop: the Exit; before the frame exists, the first value */
	uint32_t branch;              /* the Switch */
};

/* Builds Enter and Merge for a value that begins as `first`, and the Switch if the loop has its condition already. */
DFG_MUST_CHECK struct dfg_err *dfg_carry(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried, struct dfg_edge first);

/* Builds the Switch into the body. */
DFG_MUST_CHECK struct dfg_err *dfg_carry_in(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried);

/* Builds the NextIteration of `next`, a value of the body or of a region around it, and connects it to the Merge. */
DFG_MUST_CHECK struct dfg_err *dfg_carry_on(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried, struct dfg_edge next);

/* Builds the Exit. */
DFG_MUST_CHECK struct dfg_err *dfg_carry_out(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried);

/* The number of the iteration, from 0, in the present region; makes the loop's counter if it has none. */
DFG_MUST_CHECK struct dfg_err *dfg_loop_index(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_edge *out_edge);
