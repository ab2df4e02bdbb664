#pragma once

#include "lib/graph/build.h"

/*
 * What a gradient written in C sees: one node of the forward graph, the cotangents of its outputs, and the builder to
 * make nodes with (new ones are named and placed by the pass). It sets the cotangents of its inputs, those at least that
 * `wanted` asks for; what it leaves is none. A cotangent larger than its broadcast input is summed to its shape by the
 * pass, not here.
 */
struct dfg_gradient {
	struct dfg_builder *builder;
	uint32_t node;
	const struct dfg_call *call;
	const struct dfg_edge *in; /* the node's data inputs */
	const struct dfg_edge *dy; /* by output: dense cotangent; .node DFG_NONE where there is none */
	const bool *wanted;        /* by input */
	struct dfg_cotangent *dx;  /* by input; preset to none. Set through the functions below */
	const char *scope;         /* prefix of the names of new nodes */
	void *pass;                /* the pass's own */
};

/* A partial sum: dense, or rows of it (IndexedSlices): values[i] belongs to row indices[i]; rows may repeat. */
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

/* One op of one output, named SCOPE/OP. attr may be NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_op(struct dfg_gradient *node, const char *op, const struct dfg_edge *in,
	uint32_t n_in, const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge);

/*
 * Runs statements of the language as op->gradient would be, for a gradient that needs C only to choose between formulas.
 * The formula is a literal: it is parsed once and found again by its address.
 */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_formula(struct dfg_gradient *node, const char *formula);

/*
 * A name for this call of the pass, that no node of the graph has as its `source` from another: what gradients keep state
 * under. Lives as long as the pass.
 */
DFG_MUST_CHECK struct dfg_err *dfg_gradient_source(struct dfg_gradient *node, const char **out_source);

/* What of a loop's trips is kept for the gradient: all that it needs, or less, and the rest is computed again. */
struct dfg_remat {
	enum dfg_remat_policy {
		DFG_REMAT_NOTHING,
		DFG_REMAT_CARRIED, /* kept is what each trip begins with */
		DFG_REMAT_EVERY,   /* what every so many trips begin with: those up to the next are computed again together */
		DFG_REMAT_SQRT,    /* the same, of 1, 2, 3, ... trips: of n some sqrt(2 n), as many as are computed together */
	} policy;
	int64_t every;
};

/* The pass: for each of wrt, dy/dwrt of the sum of all elements of all of `of`. */
struct dfg_grad_options {
	const char *prefix; /* of the Identity nodes that name the results: PREFIX/NODE or PREFIX/NODE_k; "grad" */
	bool unnamed;       /* no such nodes: for the language's grad() and for optimizers */
	struct dfg_remat remat;
	struct dfg_text *notes;    /* lines for the user; NULL: none */
	const struct dfg_edge *dy; /* cotangents of `of` to begin with; NULL: ones */
};
DFG_MUST_CHECK struct dfg_err *dfg_grad(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, const struct dfg_grad_options *options, struct dfg_cotangent *out_wrt);

/* The same with dense results, zeros where nothing flows, and no names, whatever the options say. */
DFG_MUST_CHECK struct dfg_err *dfg_grad_dense(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, const struct dfg_grad_options *options, struct dfg_edge *out_wrt);

/* That without options: what the language's grad() calls. */
DFG_MUST_CHECK struct dfg_err *dfg_grad_edges(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
	const struct dfg_edge *wrt, uint32_t n_wrt, struct dfg_edge *out_wrt);
