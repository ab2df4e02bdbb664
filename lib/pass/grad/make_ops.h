#pragma once

#include "lib/graph/build.h"

/*
 * Nodes that passes make, named SCOPE/OP. Scopes are cut at DFG_SCOPE_MOST bytes, which no name but a hostile one reaches;
 * the builder keeps names apart all the same.
 */
enum { DFG_SCOPE_MOST = 1000 };

struct dfg_make {
	struct dfg_builder *builder;
	const char *scope;
};

/* An op of one output. */
DFG_MUST_CHECK struct dfg_err *dfg_make_op(const struct dfg_make *make, const char *op, const struct dfg_edge *in,
	uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge);
/*
 * An op of any number of tensors, from the first to the last; where they are more than a node has inputs for, the op of the
 * first of them stands first among the rest. `last` comes behind them all, such as the axis of a join; NULL: nothing does.
 * edge has room for one more, and is overwritten.
 */
DFG_MUST_CHECK struct dfg_err *dfg_make_joined(const struct dfg_make *make, const char *op, struct dfg_edge *edge,
	uint32_t count, const struct dfg_edge *last, struct dfg_edge *out_edge);

DFG_MUST_CHECK struct dfg_err *dfg_make_unary(
	const struct dfg_make *make, const char *op, struct dfg_edge in, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_make_binary(
	const struct dfg_make *make, const char *op, struct dfg_edge a, struct dfg_edge b, struct dfg_edge *out_edge);

/* A vector of integers, and a scalar; of i64 where i32 is asked for and cannot hold them. */
DFG_MUST_CHECK struct dfg_err *dfg_make_vector(const struct dfg_make *make, const char *name, enum dfg_dtype dtype,
	const int64_t *values, int count, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_make_int(
	const struct dfg_make *make, const char *name, enum dfg_dtype dtype, int64_t value, struct dfg_edge *out_edge);

/* The shape of a tensor, or of the variable that it refers to, as i32: a constant where it is known. */
DFG_MUST_CHECK struct dfg_err *dfg_make_shape(
	const struct dfg_make *make, struct dfg_edge like, struct dfg_edge *out_edge);

/* A tensor of that shape and type, every element value (0 or 1). The tensor's own value is not read where its shape is known. */
DFG_MUST_CHECK struct dfg_err *dfg_make_filled(
	const struct dfg_make *make, struct dfg_edge like, int value, struct dfg_edge *out_edge);

/*
 * What gradients flow through: the dtype of a tensor's elements, a variable's for a handle, DFG_VARIANT for lists that may
 * hold such; DFG_NO_DTYPE for others.
 */
enum dfg_dtype dfg_flow_dtype(const struct dfg_inferred *fact);

/* The shape of a tensor or of the variable that a handle refers to. */
struct dfg_shape dfg_flow_shape(const struct dfg_inferred *fact);
