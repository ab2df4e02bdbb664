#pragma once

#include "lib/base/index.h"
#include "lib/lang/history_private.h"
#include "lib/lang/node_private.h"

/* Values that enter a region from outside, each with the node that brings it in. */
struct dfg_captures {
	struct dfg_capture {
		struct dfg_edge from;
		uint32_t node;
	} * item;
	uint32_t n, capacity;
	struct dfg_index index; /* by .from */
};

/*
 * A part of the graph whose nodes run together: an arm of an `if`, the frame of a loop (where its condition is), or the
 * loop's body (an arm within the frame, live where the condition holds). NULL is the root. A name may mean a tensor of an
 * outer region: a node that reads it gets it through one Switch for each conditional and one constant Enter for each
 * frame between the two regions.
 */
struct dfg_region {
	struct dfg_region *outer;
	struct dfg_branch *branch;   /* of an arm or body: the Switches on its predicate; NULL: a frame */
	int32_t side;                /* of an arm or body: the output port of these Switches */
	struct dfg_lang_loop *loop;  /* of a frame and its body */
	struct dfg_captures entered; /* of a frame */
	const char *frame_name;      /* of a frame, and its parallel_iterations in the next field */
	int64_t window;
	const uint32_t *control; /* the control inputs of new nodes where the region begins */
	const uint32_t *inside;  /* those of new nodes in the region when it was last left; valid if is_left */
	uint32_t n_control, n_inside;
	bool is_left;
	uint32_t pivot; /* a node that is live where the region is, for nodes without inputs; DFG_NONE: not made yet */
	struct dfg_view *views; /* the newest; the others are its .older */
	struct dfg_view **view; /* the same in the order in which they were made */
	uint32_t n_view, view_capacity;
	struct dfg_index view_index; /* by cell */
	struct dfg_nodes effects;    /* nodes that no other node waits for; in the arena */
};

struct dfg_branch {
	struct dfg_edge predicate;
	struct dfg_region *arm[2]; /* by output port: 0 false, 1 true; a loop's body has only arm 1 */
	struct dfg_captures switched;
};

/* The state of the evaluator in a region, so that it can return there. */
struct dfg_saved_region {
	struct dfg_region *region;
	const uint32_t *control;
	uint32_t n_control;
	struct dfg_nodes asserts, after;
	bool continues; /* nodes of the region that was entered come after the same assertions */
};

/* The region of an output. */
struct dfg_region *dfg_region_of(const struct dfg_eval *eval, struct dfg_edge edge);

/* A region within the present one. branch NULL: a frame. */
DFG_MUST_CHECK struct dfg_err *dfg_region_new(
	struct dfg_eval *eval, struct dfg_branch *branch, int32_t side, struct dfg_region **out_region);

static inline bool dfg_region_is_body(const struct dfg_region *region)
{
	return region->branch && region->loop;
}

/* Whether a is b or a region within b. */
bool dfg_region_within(const struct dfg_region *a, const struct dfg_region *b);

/* The region itself if it is a frame, else the innermost frame around it, or NULL. */
struct dfg_region *dfg_region_frame(struct dfg_region *region);

/*
 * Makes `region` the present region: the same one, an outer one, or one within it. dfg_region_back() returns to the
 * region before; the two calls nest.
 */
void dfg_region_go(struct dfg_eval *eval, struct dfg_region *region, struct dfg_saved_region *out_saved);
void dfg_region_back(struct dfg_eval *eval, struct dfg_saved_region *saved);

/* The edge as the region has it, through Enters and Switches. DFG_DATA: it is of a region that is not around it. */
DFG_MUST_CHECK struct dfg_err *dfg_region_bring(
	struct dfg_eval *eval, struct dfg_edge edge, struct dfg_region *region, struct dfg_edge *out_edge);

/* The same in the present region, and dead where the region is dead, even if it is an invariant of the loop. */
DFG_MUST_CHECK struct dfg_err *dfg_region_anchor(
	struct dfg_eval *eval, struct dfg_edge edge, struct dfg_edge *out_edge);

/* To be called before a node of the present region is built: brings its inputs, and adds a pivot if it needs one. */
DFG_MUST_CHECK struct dfg_err *dfg_region_prepare(
	struct dfg_eval *eval, const struct dfg_new_node *want, struct dfg_new_node *out_want);

/* Records the region of a node's outputs. */
DFG_MUST_CHECK struct dfg_err *dfg_region_note(struct dfg_eval *eval, uint32_t node, struct dfg_region *region);

/* To be called after a node of the present region is built: records whether every iteration gives the same value. */
DFG_MUST_CHECK struct dfg_err *dfg_region_note_unchanged(
	struct dfg_eval *eval, const struct dfg_new_node *want, uint32_t node);

/* Builds a node at the border of the region, with the inputs as given and no control inputs, and records its region. */
DFG_MUST_CHECK struct dfg_err *dfg_region_build(
	struct dfg_eval *eval, const struct dfg_new_node *want, struct dfg_region *region, uint32_t *out_node);

/* Builds an Enter of the frame, after the nodes that the loop comes after. The edge is of the frame's outer region. */
DFG_MUST_CHECK struct dfg_err *dfg_region_enter(
	struct dfg_eval *eval, struct dfg_edge edge, struct dfg_region *frame, bool is_constant, struct dfg_edge *out_edge);

/* A node that is live where the region is. */
DFG_MUST_CHECK struct dfg_err *dfg_region_pivot(struct dfg_eval *eval, struct dfg_region *region, uint32_t *out_node);

/* Records a node of the present region that changes something: it runs when the region does. */
DFG_MUST_CHECK struct dfg_err *dfg_region_effect(struct dfg_eval *eval, uint32_t node);

/* An Identity of `of`, a tensor of the region, that comes after these nodes. */
DFG_MUST_CHECK struct dfg_err *dfg_region_token(struct dfg_eval *eval, struct dfg_region *region, struct dfg_edge of,
	const struct dfg_nodes *after, struct dfg_edge *out_edge);
