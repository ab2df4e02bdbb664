#pragma once

#include "lib/graph/build.h"
#include "lib/graph/liveness.h"
#include "lib/graph/edge_map.h"

/*
 * The frames of gradient code in graphs with loops and branches (Yu et al., EuroSys'18, section 5). Each forward loop
 * that cotangents pass through has a gradient loop, which runs the same number of iterations in reverse order; a
 * forward value that a gradient uses is live there exactly when it was live in the forward loop. A location of gradient
 * code is therefore named by the forward location that it corresponds to (`in_gradient`). The region is the loop in which
 * the gradient is requested (usually the root): there forward and gradient code share a frame.
 *
 * While this is active, the builder calls it before it makes a node: inputs that are forward values are replaced by the
 * values that gradient code has for them, and the node gets a control input if its inputs do not determine its frame
 * and branch.
 */
struct dfg_location {
	uint32_t loop, set; /* the forward loop, and the set of conditions within it */
	bool in_gradient;   /* in the gradient loop; never set for the region itself */
};

/* The induction variable of a loop; every loop that is differentiated has one. */
struct dfg_induction_variable {
	bool known;
	bool down;                  /* from N - 1 to 0, not from 0 to N - 1 */
	uint32_t merge;             /* the Merge of the loop variable */
	struct dfg_edge iterations; /* N, outside the loop; .node is DFG_NONE until it is requested */
};

struct dfg_gradient_frames_loop {
	const char *frame; /* name of the gradient loop's frame; NULL until it exists */
	struct dfg_edge condition;
	struct dfg_edge index; /* in the body of the gradient loop: the index of the corresponding forward iteration */
};

/* A frame made by the pass for a loop: its gradient loop, or a copy of the loop (lib/pass/grad/recompute.h). */
struct dfg_made_frame {
	const char *name;
	uint32_t loop, base; /* base: DFG_NONE for a gradient loop */
	struct dfg_made_frame *next;
};

struct dfg_gradient_frames {
	struct dfg_builder *builder;
	const char *prefix;
	bool in_segments; /* iterations of segmented loops are recomputed */
	bool *segments;   /* by loop: whether it is segmented */
	struct dfg_made_frame *frames;
	bool remat;           /* values are recomputed instead of saved */
	uint32_t recomputing; /* current depth of nested recomputations */
	struct dfg_loops loops;
	struct dfg_liveness liveness;
	struct dfg_arena arena;
	uint32_t count, region; /* number of forward nodes; the loop of the region */
	uint32_t *body;         /* by loop: the condition that it continues */
	struct dfg_induction_variable *counter;
	struct dfg_gradient_frames_loop *loop;
	struct dfg_location here;         /* location of the nodes being made */
	const struct dfg_location *plain; /* location of a node whose inputs are used unchanged; NULL for other nodes */
	struct dfg_location *location;    /* by node - count, for nodes made by the pass */
	size_t location_capacity;
	struct dfg_edge_map map;
	uint32_t n_control; /* the builder's own control inputs, for nodes of the region */
	const char *scope;  /* prefix of the names of new nodes */
};

/* order may be NULL. Must be released even after an error; releasing restores the builder. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_init(
	struct dfg_gradient_frames *m, struct dfg_builder *builder, const uint32_t *order, struct dfg_arena *scratch);
void dfg_gradient_frames_release(struct dfg_gradient_frames *m);

/* Activates the frames for gradients in loop `region`. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_begin(struct dfg_gradient_frames *m, uint32_t region);

/* The location of a tensor: a forward tensor, or one made by the pass. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_location(
	struct dfg_gradient_frames *m, struct dfg_edge edge, struct dfg_location *out_location);

/* The location of the gradient of a forward tensor. The final evaluation of a loop's condition counts as its body. */
DFG_MUST_CHECK struct dfg_err *dfg_cotangent_location(
	struct dfg_gradient_frames *m, struct dfg_edge edge, struct dfg_location *out_location);

/* The location of a loop's body, and the location outside from which the loop is entered; forward or gradient. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_body(
	struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient, struct dfg_location *out_location);
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_entry(
	struct dfg_gradient_frames *m, uint32_t loop, bool in_gradient, struct dfg_location *out_location);

/*
 * The tensor that gradient code reads instead of a forward tensor; it may be further out, and live more often, than
 * where it is read.
 */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_need(
	struct dfg_gradient_frames *m, struct dfg_edge edge, struct dfg_edge *out_edge);

/* The tensor, live exactly at the location: brought into loops by constant Enters and into branches by Switches. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_bring(struct dfg_gradient_frames *m, struct dfg_edge edge,
	const struct dfg_location *location, struct dfg_edge *out_edge);

/* A node of the pass itself, named SCOPE/OP, whose inputs are used unchanged. */
struct dfg_own_node {
	const char *op;
	const struct dfg_edge *in;
	uint32_t n_in, n_control;
	const struct dfg_attr *attr;
	uint32_t n_attr;
};
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_node(struct dfg_gradient_frames *m,
	const struct dfg_location *location, const struct dfg_own_node *node, struct dfg_edge *out_edge);

/* An Enter into a forward loop or its gradient loop. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_enter(struct dfg_gradient_frames *m, struct dfg_edge edge,
	const struct dfg_location *inside, bool constant, struct dfg_edge *out_edge);

/* A unique name for a frame of the pass; made on the first call. */
DFG_MUST_CHECK struct dfg_err *dfg_frame_name(
	struct dfg_gradient_frames *m, uint32_t loop, uint32_t base, const char **out_name);

/* A control input that is live exactly at the location. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_pivot(
	struct dfg_gradient_frames *m, const struct dfg_location *location, struct dfg_edge *out_edge);

/* A scalar integer constant at the location. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_frames_int(struct dfg_gradient_frames *m,
	const struct dfg_location *location, enum dfg_dtype dtype, int64_t value, struct dfg_edge *out_edge);
