#pragma once

#include "lib/graph/facts.h"
#include "lib/graph/names.h"

struct dfg_new_node;

/*
 * Adds nodes to a graph; each is checked and inferred when it is added, so that an error is reported where it is made.
 * Used by the language, gradients, importers and passes. Inputs must exist before their readers; a loop's back edge is
 * added at the end (dfg_build_input).
 */
struct dfg_builder {
	struct dfg_graph *graph;
	struct dfg_facts facts;  /* of every node; nodes added without the builder must be inferred first */
	const char *device;      /* of new nodes; NULL or "" for none */
	const uint32_t *control; /* control inputs that every new node gets */
	uint32_t n_control;
	struct dfg_arena brief; /* scratch memory for one node or a batch of nodes */
	/* For passes that make nodes in loops: called before each node; may change `want` and add other nodes first. */
	struct dfg_err *(*before)(struct dfg_builder *builder, struct dfg_new_node *want);
	void *before_state;
	struct dfg_names names;
};

struct dfg_new_node {
	const char *op;
	const char *name;          /* requested; "x_1", "x_2", ... if it is taken, unless exact */
	bool exact;                /* an error if the name is taken */
	bool provisional;          /* the name will be replaced: messages name the op alone */
	const struct dfg_edge *in; /* data inputs, then control inputs */
	uint32_t n_in, n_control;
	const struct dfg_attr *attr; /* those not implied by the inputs' types; others have their defaults */
	uint32_t n_attr;
};

/* Infers the graph's existing nodes, which must be acyclic or in an order that dfg_verify accepted. */
DFG_MUST_CHECK struct dfg_err *dfg_builder_init(struct dfg_builder *builder, struct dfg_graph *graph);
void dfg_builder_release(struct dfg_builder *builder);

/*
 * Adds a node. Type parameters are taken from the inputs' types and the given attributes; attributes equal to their
 * defaults are omitted. Strings, lists and literals are copied into the graph's arena, but not a literal's data. After
 * an error the graph may contain an incomplete node and can only be released.
 */
DFG_MUST_CHECK struct dfg_err *dfg_build(
	struct dfg_builder *builder, const struct dfg_new_node *node, uint32_t *out_number);

/* Appends a data input to a node that was built with fewer than its declaration requires (a Merge's back edge). */
DFG_MUST_CHECK struct dfg_err *dfg_build_input(struct dfg_builder *builder, uint32_t node, struct dfg_edge edge);

/* Const nodes; the elements are copied. shape NULL: a scalar. */
DFG_MUST_CHECK struct dfg_err *dfg_build_const(
	struct dfg_builder *builder, const char *name, const struct dfg_tensor *value, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_build_ints(struct dfg_builder *builder, const char *name, enum dfg_dtype dtype,
	const struct dfg_shape *shape, const int64_t *values, struct dfg_edge *out_edge);
/* The type for sizes and indices: i32, or i64 where one of the values does not fit. */
enum dfg_dtype dfg_index_dtype(const int64_t *values, int64_t count);

DFG_MUST_CHECK struct dfg_err *dfg_build_float(
	struct dfg_builder *builder, const char *name, enum dfg_dtype dtype, double value, struct dfg_edge *out_edge);

/* Attributes for the call above: DFG_ATTR_I("axis", 1) and so on. */
#define DFG_ATTR_B(attr, value_) ((struct dfg_attr){attr, DFG_ATTR_BOOL, {.b = value_}})
#define DFG_ATTR_I(attr, value_) ((struct dfg_attr){attr, DFG_ATTR_INT, {.i = value_}})
#define DFG_ATTR_F(attr, value_) ((struct dfg_attr){attr, DFG_ATTR_FLOAT, {.f = value_}})
#define DFG_ATTR_T(attr, value_) ((struct dfg_attr){attr, DFG_ATTR_DTYPE, {.dtype = value_}})
#define DFG_ATTR_S(attr, value_) ((struct dfg_attr){attr, DFG_ATTR_STRING, {.s = {value_, strlen(value_)}}})

/* An op of one output, from up to three inputs and no attributes. */
DFG_MUST_CHECK struct dfg_err *dfg_build_op(struct dfg_builder *builder, const char *op, const char *name,
	const struct dfg_edge *in, uint32_t n_in, struct dfg_edge *out_edge);
