#pragma once

#include "lib/graph/build.h"

/*
 * The arguments of a gradient written in C: a node of the forward graph, the cotangents of its outputs, and the builder
 * for new nodes, which the pass names and places. It sets at least the cotangents of the inputs that `wanted` marks;
 * others remain DFG_NO_COTANGENT. The pass sums a cotangent over the axes along which its input was broadcast.
 */
struct dfg_gradient {
	struct dfg_builder *builder;
	uint32_t node;
	const struct dfg_resolved_node *call;
	const struct dfg_edge *in; /* the node's data inputs */
	const struct dfg_edge *dy; /* by output: the dense cotangent; .node is DFG_NONE if there is none */
	const bool *wanted;        /* by input */
	struct dfg_cotangent *dx;  /* by input; initially DFG_NO_COTANGENT; set through the functions below */
	const char *scope;         /* prefix of the names of new nodes */
	void *pass;                /* private to the pass */
};

/*
 * A cotangent: a dense tensor, or rows of one (IndexedSlices), where values[i] is added to row indices[i]; rows may
 * repeat.
 */
struct dfg_cotangent {
	enum { DFG_NO_COTANGENT, DFG_DENSE, DFG_ROWS } kind;
	struct dfg_edge value, indices;
};

static inline struct dfg_edge dfg_gradient_output(const struct dfg_gradient *node, int port)
{
	return (struct dfg_edge){node->node, port};
}
static inline bool dfg_gradient_has(const struct dfg_gradient *node, int port)
{
	return node->dy[port].node != DFG_NONE;
}
static inline void dfg_gradient_set(struct dfg_gradient *node, int i, struct dfg_edge value)
{
	node->dx[i] = (struct dfg_cotangent){DFG_DENSE, value, {DFG_NONE, 0}};
}
static inline void dfg_gradient_set_rows(
	struct dfg_gradient *node, int i, struct dfg_edge values, struct dfg_edge indices)
{
	node->dx[i] = (struct dfg_cotangent){DFG_ROWS, values, indices};
}

/* Makes an op with one output, named SCOPE/OP. attr may be NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_op(struct dfg_gradient *node, const char *op, const struct dfg_edge *in,
	uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge);

/*
 * Evaluates a formula of the language like op->gradient, for gradients that need C only to choose a formula. The
 * formula must be a string literal: it is parsed once and identified by its address.
 */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_formula(struct dfg_gradient *node, const char *formula);

/*
 * A name for this call of the pass, different from every `source` attribute in the graph, under which gradients keep
 * state. Valid as long as the pass.
 */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_source(struct dfg_gradient *node, const char **out_source);

/* Rematerialisation: which values of a loop's iterations are saved for the gradient; the others are recomputed. */
struct dfg_remat {
	enum dfg_remat_policy {
		/* save every value that the gradient uses */
		DFG_REMAT_NOTHING,
		DFG_REMAT_CARRIED, /* save the loop variables of each iteration */
		/* save the loop variables of every K-th iteration; the iterations up to the next are recomputed together */
		DFG_REMAT_EVERY,
		/*
		 * the same with segments of 1, 2, 3, ... iterations: n iterations make about sqrt(2 n) segments of at
		 * most as many iterations
		 */
		DFG_REMAT_SQRT,
	} policy;
	int64_t every;
};

/*
 * Options of the gradient pass, which computes for each tensor of wrt the derivative of the sum of all elements of all
 * of `of`.
 */
struct dfg_grad_options {
	const char
		*prefix;  /* prefix of the Identity nodes that name the results, PREFIX/NODE or PREFIX/NODE_k; default "grad" */
	bool unnamed; /* make no such nodes: for the language's grad() and for optimizers */
	struct dfg_remat remat;
	struct dfg_text *notes;    /* receives lines for the user; NULL: none */
	const struct dfg_edge *dy; /* initial cotangents of `of`; NULL: ones */
};
DFG_MUST_CHECK struct dfg_err *dfg_grad(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, const struct dfg_grad_options *options, struct dfg_cotangent *out_wrt);

/* The same with dense results, zeros where there is no dependency, and unnamed results. */
DFG_MUST_CHECK struct dfg_err *dfg_grad_dense(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, const struct dfg_grad_options *options, struct dfg_edge *out_wrt);

/* dfg_grad_dense with default options: the language's grad(). */
DFG_MUST_CHECK struct dfg_err *dfg_grad_edges(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, struct dfg_edge *out_wrt);
