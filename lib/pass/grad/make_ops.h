#pragma once

#include "lib/graph/build.h"

/*
 * Helpers that make nodes named SCOPE/OP. Scopes are truncated at DFG_SCOPE_MOST bytes, which only malicious names
 * reach; the builder keeps names unique anyway.
 */
enum { DFG_SCOPE_MOST = 1000 };

struct dfg_make {
	struct dfg_builder *builder;
	const char *scope;
};

/* Makes an op with one output. */
DFG_MUST_CHECK struct dfg_err *dfg_make_op(const struct dfg_make *make, const char *op, const struct dfg_edge *in,
	uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge);
/*
 * Makes an op over `count` tensors in order. If they exceed a node's number of inputs, the result for the first ones
 * becomes the first input of the next node. `last` is an additional last input, such as the axis of a concatenation;
 * NULL: none. edge must have space for one more element and is overwritten.
 */
DFG_MUST_CHECK struct dfg_err *dfg_make_joined(const struct dfg_make *make, const char *op, struct dfg_edge *edge,
	uint32_t count, const struct dfg_edge *last, struct dfg_edge *out_edge);

DFG_MUST_CHECK struct dfg_err *dfg_make_unary(
	const struct dfg_make *make, const char *op, struct dfg_edge in, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_make_binary(
	const struct dfg_make *make, const char *op, struct dfg_edge a, struct dfg_edge b, struct dfg_edge *out_edge);

/* An integer vector and an integer scalar; i64 if i32 is requested and cannot hold the values. */
DFG_MUST_CHECK struct dfg_err *dfg_make_vector(const struct dfg_make *make, const char *name, enum dfg_dtype dtype,
	const int64_t *values, int count, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_make_int(
	const struct dfg_make *make, const char *name, enum dfg_dtype dtype, int64_t value, struct dfg_edge *out_edge);

/* The shape of a tensor, or of the variable that a handle refers to, as i32; a constant if it is known. */
DFG_MUST_CHECK struct dfg_err *dfg_make_shape(
	const struct dfg_make *make, struct dfg_edge like, struct dfg_edge *out_edge);

/* A tensor with the shape and type of `like`, filled with value (0 or 1). `like` is not read if its shape is known. */
DFG_MUST_CHECK struct dfg_err *dfg_make_filled(
	const struct dfg_make *make, struct dfg_edge like, int value, struct dfg_edge *out_edge);

/*
 * The dtype that gradients of a tensor have: that of its elements, of the variable for a handle, DFG_VARIANT for lists
 * that may hold such; DFG_NO_DTYPE if there is no gradient.
 */
enum dfg_dtype dfg_flow_dtype(const struct dfg_inferred *fact);

/* The shape of a tensor or of the variable that a handle refers to. */
struct dfg_shape dfg_flow_shape(const struct dfg_inferred *fact);
