#pragma once

#include "lib/lang/eval.h"

/* Values from outside, and the node that each is inside. */
struct dfg_captures {
	struct dfg_capture {
		struct dfg_edge from;
		uint32_t node;
	} * item;
	uint32_t n, room;
	struct dfg_index index; /* by .from */
};

/*
 * Where nodes stand: NULL is the root, others are the arm of an `if`, the frame of a loop (its condition), the loop's body
 * (an arm of the frame, where the condition holds). A name may mean a tensor of a region further out: it is brought in
 * where a node reads it, through one Switch a conditional, and one constant Enter a frame.
 */
struct dfg_region {
	struct dfg_region *outer;
	struct dfg_branch *branch;  /* of an arm or body: the Switches on its predicate; NULL: a frame */
	int32_t side;               /* the port of these Switches */
	struct dfg_lang_loop *loop; /* of a frame, and of its body */
	struct dfg_captures entered;
	const char *frame_name;
	int64_t window;
	const uint32_t *control; /* of nodes that stand outside, at this region's door */
	const uint32_t *inside;  /* of its own nodes, when it was left */
	uint32_t n_control, n_inside;
	bool is_left;           /* before */
	uint32_t pivot;         /* live where the region is: what nodes without inputs come after */
	struct dfg_view *views; /* the newest; the others are .older */
	struct dfg_view **view; /* all of them, in the order they were made */
	uint32_t n_view, view_room;
	struct dfg_index view_index; /* by cell */
	struct dfg_nodes effects;    /* nodes that nothing else waits for */
};

struct dfg_branch {
	struct dfg_edge predicate;
	struct dfg_region *arm[2]; /* by port: 0 false, 1 true; a body has no other */
	struct dfg_captures switched;
};

/* A value that goes around a loop. */
struct dfg_carried {
	const char *name;
	const struct dfg_tree *tree; /* of its first value */
	bool grows;
	struct dfg_edge enter, merge, inside, outside; /* inside: in the body */
	uint32_t branch;                               /* the Switch */
};
/* A state as a region sees it: what has been done to it there, and the handle that its next write takes. */
struct dfg_view {
	struct dfg_view *older;
	struct dfg_cell *cell;
	struct dfg_history now;
	struct dfg_edge handle; /* in a frame: its constant Enter; .node DFG_NONE where the region has none of its own */
	bool is_set;
	bool carries;               /* a loop's body: the value goes around */
	uint32_t merge;             /* of the handle, in a loop's body; DFG_NONE where the handle does not go around */
	struct dfg_carried carried; /* the value, in a loop's body */
};

/* A region being left for a moment: what eval goes back to. */
struct dfg_stand {
	struct dfg_region *region;
	const uint32_t *control;
	uint32_t n_control;
	struct dfg_nodes asserts, after;
	bool goes_on; /* what stands before the region comes before its nodes too */
};

struct dfg_region *dfg_region_of(const struct dfg_eval *eval, struct dfg_edge edge);
DFG_MUST_CHECK struct dfg_err *dfg_region_new(
	struct dfg_eval *eval, struct dfg_branch *branch, int32_t side, struct dfg_region **out_region);
static inline bool dfg_region_is_body(const struct dfg_region *region)
{
	return region->branch && region->loop;
}
/* Whether a is b or somewhere in it. */
bool dfg_region_within(const struct dfg_region *a, const struct dfg_region *b);

/* The innermost frame around, or NULL. */
struct dfg_region *dfg_region_frame(struct dfg_region *region);

/* New nodes stand in `region`, which is the present one, one in it that begins, or one around it; back undoes it. */
void dfg_region_go(struct dfg_eval *eval, struct dfg_region *region, struct dfg_stand *out_stand);
void dfg_region_back(struct dfg_eval *eval, struct dfg_stand *stand);

/* The edge as the region has it; it may stand anywhere around. */
DFG_MUST_CHECK struct dfg_err *dfg_region_bring(
	struct dfg_eval *eval, struct dfg_edge edge, struct dfg_region *region, struct dfg_edge *out_edge);

/* The same in the present region, and dead where the region is: also what never changes in a loop. */
DFG_MUST_CHECK struct dfg_err *dfg_region_anchor(
	struct dfg_eval *eval, struct dfg_edge edge, struct dfg_edge *out_edge);

/* Before a node is built in the present region: its inputs as the region has them, and a pivot where it needs one. */
DFG_MUST_CHECK struct dfg_err *dfg_region_prepare(
	struct dfg_eval *eval, const struct dfg_new_node *want, struct dfg_new_node *out_want);
DFG_MUST_CHECK struct dfg_err *dfg_region_note(struct dfg_eval *eval, uint32_t node, struct dfg_region *region);

/* After a node was built in the present region, for is_anchored(): notes one that is the same in every iteration. */
DFG_MUST_CHECK struct dfg_err *dfg_region_note_unchanged(
	struct dfg_eval *eval, const struct dfg_new_node *want, uint32_t node);

/* A node at a door: inputs and place are as given, and it comes after nothing else. */
DFG_MUST_CHECK struct dfg_err *dfg_region_build(
	struct dfg_eval *eval, const struct dfg_new_node *want, struct dfg_region *region, uint32_t *out_node);
DFG_MUST_CHECK struct dfg_err *dfg_region_enter(
	struct dfg_eval *eval, struct dfg_edge edge, struct dfg_region *frame, bool is_constant, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_region_pivot(struct dfg_eval *eval, struct dfg_region *region, uint32_t *out_node);

/* A node of the present region that changes something: it runs when the region does, though nothing waits for it. */
DFG_MUST_CHECK struct dfg_err *dfg_region_effect(struct dfg_eval *eval, uint32_t node);

/* A tensor of the region that says nothing but that the region is live and that these nodes have run. */
DFG_MUST_CHECK struct dfg_err *dfg_region_token(struct dfg_eval *eval, struct dfg_region *region, struct dfg_edge of,
	const struct dfg_nodes *after, struct dfg_edge *out_edge);

/* history.c: what a region, or for NULL the root, has done to a state; NULL where it has done nothing */
struct dfg_view *dfg_view_find(const struct dfg_region *region, const struct dfg_cell *cell);
const struct dfg_history *dfg_history_at(const struct dfg_cell *cell, const struct dfg_region *region);
DFG_MUST_CHECK struct dfg_err *dfg_view_of(
	struct dfg_eval *eval, struct dfg_region *region, struct dfg_cell *cell, struct dfg_view **out_view);
DFG_MUST_CHECK struct dfg_err *dfg_history_of(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_history **out_history);
DFG_MUST_CHECK struct dfg_err *dfg_history_read(struct dfg_eval *eval, struct dfg_history *now, uint32_t node);

/* ssa.c: states in regions. The region of a value is the present one or one around it. */
DFG_MUST_CHECK struct dfg_err *dfg_view_value(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_view_write(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_edge value, uint32_t *out_node);

/*
 * Before a node of the present region is built that reads or writes a state: the handle as the region has it, and in
 * *nodes, which grows, the nodes of its frame that it comes after. Once it is built: dfg_view_after.
 */
DFG_MUST_CHECK struct dfg_err *dfg_view_before(
	struct dfg_eval *eval, struct dfg_cell *cell, bool writes, struct dfg_edge *out_handle, struct dfg_nodes *nodes);
DFG_MUST_CHECK struct dfg_err *dfg_view_after(struct dfg_eval *eval, struct dfg_cell *cell, bool writes, uint32_t node);

/* The last write, in the same frame, that a node of the region comes after; or DFG_NONE. */
uint32_t dfg_view_pending(const struct dfg_cell *cell, const struct dfg_region *region);
DFG_MUST_CHECK struct dfg_err *dfg_view_join(struct dfg_eval *eval, struct dfg_branch *branch);   /* after an `if` */
DFG_MUST_CHECK struct dfg_err *dfg_view_close(struct dfg_eval *eval, struct dfg_lang_loop *loop); /* after a body */

struct dfg_lang_loop {
	const struct dfg_tree *tree;
	struct dfg_region *frame, *body;
	struct dfg_edge condition; /* the LoopCond; .node DFG_NONE while it is worked out */
	struct dfg_carried *carried;
	uint32_t n;
	struct dfg_carried counter; /* from 0; .merge.node DFG_NONE where there is none */
	struct dfg_counting *counting;
	struct dfg_yield *yields, **last_yield; /* in their order; where the next goes, NULL: to .yields */
	struct dfg_index yield_index;           /* offsets in the text */
	uint32_t n_yields;
	const struct dfg_tree *next;
	struct dfg_datum next_value;
};
/* Enter and Merge; in: the Switch, once there is a condition; on: the way back; out: the Exit. */
DFG_MUST_CHECK struct dfg_err *dfg_carry(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried, struct dfg_edge first);
DFG_MUST_CHECK struct dfg_err *dfg_carry_in(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried);
DFG_MUST_CHECK struct dfg_err *dfg_carry_on(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried, struct dfg_edge next);
DFG_MUST_CHECK struct dfg_err *dfg_carry_out(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_carried *carried);

/* How many trips there were before this one, where the present region is; a counter is made where there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_loop_index(
	struct dfg_eval *eval, struct dfg_lang_loop *loop, struct dfg_edge *out_edge);
