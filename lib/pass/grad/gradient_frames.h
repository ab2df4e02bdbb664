#pragma once

#include "lib/graph/build.h"
#include "lib/graph/liveness.h"
#include "lib/graph/edge_map.h"

/*
 * Where gradient code stands, in graphs with loops and branches. Its frames mirror the forward ones: each loop that
 * cotangents go through has a gradient loop, which counts the same iterations the other way round, and what a gradient
 * needs of a forward value is live exactly when that value was. So the place of gradient code is named by the forward
 * place that it mirrors. The region is the loop that the gradient is asked for in (the root, mostly): there both are one.
 *
 * While a mirror is set up, the builder asks it before each node: inputs that are forward values become what the gradient
 * code has in their stead, and the node gets a control input where nothing else says in which frame and branch it runs.
 */
struct dfg_location {
	uint32_t loop, set; /* numbers of the forward loop and of the conditions in it */
	bool mirrored;      /* in its gradient loop; never of the region itself */
};

/* How a loop counts its iterations: every loop that is differentiated has such a variable. */
struct dfg_induction_variable {
	bool known;
	bool down;             /* from N - 1 to 0, not from 0 to N - 1 */
	uint32_t merge;        /* its loop variable */
	struct dfg_edge trips; /* N, outside; .node DFG_NONE until it is asked for */
};

struct dfg_gradient_frames_loop {
	const char *frame; /* name of the gradient loop; NULL until there is one */
	struct dfg_edge condition;
	struct dfg_edge index; /* the forward index of the iteration that it mirrors, in its body */
};

/* A frame that the pass made, of a loop: that of its gradient loop, or of a copy: lib/pass/grad/recompute.h. */
struct dfg_made_frame {
	const char *name;
	uint32_t loop, base; /* of a gradient loop DFG_NONE */
	struct dfg_made_frame *next;
};

struct dfg_gradient_frames {
	struct dfg_builder *builder;
	const char *prefix;
	bool in_segments; /* trips of loops in segments are run again */
	bool *segments;   /* by loop: so it is with this one */
	struct dfg_made_frame *frames;
	bool remat;     /* values that ops make are made again, not saved */
	uint32_t again; /* how many such stand in each other */
	struct dfg_loops loops;
	struct dfg_liveness liveness;
	struct dfg_arena arena;
	uint32_t count, region; /* nodes there were; the loop of the region */
	uint32_t *body;         /* by loop: the condition that it goes on */
	struct dfg_induction_variable *counter;
	struct dfg_gradient_frames_loop *loop;
	struct dfg_location here;         /* of the nodes being made */
	const struct dfg_location *plain; /* of a node whose inputs stay as they are; NULL for others */
	struct dfg_location *spot;        /* of nodes from `count` on */
	size_t spot_room;
	struct dfg_edge_map map;
	uint32_t n_control; /* of the builder, for nodes of the region */
	const char *scope;  /* prefix of names */
};

/* order may be NULL. To be released also after an error; the builder is itself again then. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_init(
	struct dfg_gradient_frames *m, struct dfg_builder *builder, const uint32_t *order, struct dfg_arena *scratch);
void dfg_gradient_frames_release(struct dfg_gradient_frames *m);

/* From now on gradients are of what stands in the loop, and nodes are made as above. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_begin(struct dfg_gradient_frames *m, uint32_t region);

/* Where a tensor stands: a forward one, or one that was made since. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_location(
	struct dfg_gradient_frames *m, struct dfg_edge edge, struct dfg_location *out_spot);

/* The place of the gradient of a forward tensor. What only the last, false turn of a loop computes counts as its body. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_place(
	struct dfg_gradient_frames *m, struct dfg_edge edge, struct dfg_location *out_spot);

/* The place in a loop's body, and the place outside that the loop is entered from; forward ones or their mirrors. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_body(
	struct dfg_gradient_frames *m, uint32_t loop, bool mirrored, struct dfg_location *out_spot);
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_entry(
	struct dfg_gradient_frames *m, uint32_t loop, bool mirrored, struct dfg_location *out_spot);

/* By what gradient code reads a forward tensor; may stand further out and be live more often than where it is read. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_need(
	struct dfg_gradient_frames *m, struct dfg_edge edge, struct dfg_edge *out_edge);

/* The tensor, live exactly at the place: brought into the loops by constant Enters, onto the sides by Switches. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_bring(
	struct dfg_gradient_frames *m, struct dfg_edge edge, const struct dfg_location *place, struct dfg_edge *out_edge);

/* A node of the pass's own at the place, named SCOPE/OP, from inputs that stay as they are. */
struct dfg_own_node {
	const char *op;
	const struct dfg_edge *in;
	uint32_t n_in, n_control;
	const struct dfg_attr *attr;
	uint32_t n_attr;
};
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_node(struct dfg_gradient_frames *m, const struct dfg_location *place,
	const struct dfg_own_node *node, struct dfg_edge *out_edge);

/* An Enter into a loop or its mirror. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_enter(struct dfg_gradient_frames *m, struct dfg_edge edge,
	const struct dfg_location *inside, bool constant, struct dfg_edge *out_edge);

/* The name of a frame of the pass's own, which no other has; made when it is first asked for. */
DFG_MUST_CHECK struct dfg_err *dfg_frame_name(
	struct dfg_gradient_frames *m, uint32_t loop, uint32_t base, const char **out_name);

/* A control input that is live exactly at the place. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_pivot(
	struct dfg_gradient_frames *m, const struct dfg_location *place, struct dfg_edge *out_edge);

/* A scalar integer at the place. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_int(struct dfg_gradient_frames *m, const struct dfg_location *place,
	enum dfg_dtype dtype, int64_t value, struct dfg_edge *out_edge);
