#pragma once

#include "lib/graph/function.h"
#include "lib/graph/names.h"

/*
 * Shared by the files of this folder: lower.c (which calls are expanded, in which order, and the order of nodes at the
 * end), function.c (functions of the library), inline.c (bodies), branch.c (If, Case), while.c, node.c (new nodes and
 * their names), limit.c (limits of the expansion).
 */

/* A parsed function of the library. */
struct body {
	struct dfg_function function;
	bool is_open;
	struct dfg_map names; /* inputs, then nodes, by name */
	bool *used;           /* by input: some node of the body reads it, or it is a result */
	uint32_t *last;       /* nodes that a call must wait for besides its results */
	uint32_t n_last;
	enum { EFFECTS_UNKNOWN, EFFECTS_ASKED, EFFECTS_NONE, EFFECTS_SOME } effects;
};

/*
 * A function with the attributes that a call gives, so that the types and numbers of its inputs and outputs are known.
 */
struct instance {
	uint32_t number; /* of the function in the library */
	struct body *body;
	const struct dfg_attr *attr;
	uint32_t n_attr;
	uint32_t n_in, n_out;           /* tensors */
	uint32_t *in_first, *out_first; /* by port: the index of its first tensor; one more entry than ports */
	enum dfg_dtype *in_dtype, *out_dtype;
};

/* One expansion of a body. */
struct scope {
	uint32_t call;     /* the call's node */
	uint32_t parent;   /* the scope of that node */
	uint32_t function; /* number of the function; DFG_NONE for the graph itself, which is scope 0 */
	uint32_t depth;
	uint32_t
		anchor; /* a node in the body's frame that is live exactly when the body is; DFG_NONE where the body always runs */
	bool is_even;      /* the whole body is live when the anchor is: it has no control-flow primitives */
	bool is_loop_body; /* in a loop's body: constant Enters are live in one more iteration than the anchor */
};

/* Properties of a node, by its number. */
struct call_site {
	uint32_t scope;
	uint32_t first, end; /* the nodes made for this call, if it was one */
	bool is_new;
	bool is_call_done; /* was a call and is expanded */
	bool is_fixed;     /* is a constant Enter */
	bool is_uneven;    /* a node of the graph itself that may be dead or in a frame */
	bool is_pass;      /* an Identity that can be bypassed by its readers */
};

struct lower {
	struct dfg_graph *graph;
	struct dfg_arena *scratch;
	struct dfg_functions functions;
	struct body *body; /* by number of the function */
	struct scope *scope;
	uint32_t scopes;
	size_t scope_capacity;
	struct call_site *site;
	size_t site_capacity;
	struct dfg_map frames; /* frame names in use */
	struct dfg_names names;
	struct dfg_edge *edge; /* inputs of the current node */
	uint32_t edges;
	size_t edge_capacity;
	uint64_t spent, most; /* see limit.c */
};

/* node.c */
struct draft {
	const char *op, *name;     /* name: appended to that of the call */
	const struct dfg_edge *in; /* data inputs */
	uint32_t n_in;
	const uint32_t *control;
	uint32_t n_control;
	const struct dfg_attr *attr; /* sorted by name */
	uint32_t n_attr;
};
DFG_MUST_CHECK struct dfg_err *dfg_lower_add(
	struct lower *l, uint32_t call, const struct draft *draft, uint32_t *out_number);

/* Adds a node whose fields are complete except for its number; the name is made unique. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_put(
	struct lower *l, struct dfg_node *node, uint32_t scope, uint32_t *out_number);

/* Adds an op of one type parameter T. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_op(struct lower *l, uint32_t call, const char *op, const char *name,
	enum dfg_dtype dtype, const struct dfg_edge *in, uint32_t n_in, uint32_t *out_number);

/* "SCOPE/NAME" and "NAME_7", in the graph's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_path(
	struct lower *l, const char *scope, const char *name, const char **out_path);
DFG_MUST_CHECK struct dfg_err *dfg_lower_numbered(
	struct lower *l, const char *name, uint32_t number, const char **out_name);

/* A scalar of type i32 that has `control` as its control input (DFG_NONE: none). */
DFG_MUST_CHECK struct dfg_err *dfg_lower_int(
	struct lower *l, uint32_t call, const char *name, int32_t value, uint32_t control, struct dfg_edge *out_edge);

/* Replaces the call's node by an Identity, IdentityN or NoOp that forwards `out` and has the control inputs. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_finish(struct lower *l, uint32_t call, const struct instance *instance,
	const struct dfg_edge *out, const uint32_t *control, uint32_t n_control);

/* function.c */
DFG_MUST_CHECK struct dfg_err *dfg_lower_open(
	struct lower *l, const char *name, uint32_t *out_number, struct body **out_body);

/* The function that `func` names, with its attributes. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_instance(
	struct lower *l, const struct dfg_func *func, struct instance *out_instance);

/* DFG_DATA if the function's inputs and outputs do not have these types. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_fits(
	const struct instance *instance, const struct dfg_list *in, const struct dfg_list *out);

/* The node's attributes, with the placeholders in them replaced by the attributes of the function's call. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_attrs(
	struct lower *l, const struct instance *instance, const struct dfg_node *node, struct dfg_attr **out_attr);

/* The range of the node's tensors that output `name` stands for. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_output(struct lower *l, const struct dfg_node *node,
	const struct dfg_string *name, uint32_t *out_first, uint32_t *out_width);

/* The input that result i of the function forwards, possibly through Identities; DFG_NONE if the result is computed. */
uint32_t dfg_lower_same_input(const struct instance *instance, uint32_t i);

/* Whether the node's functions have effects that must happen even if no result is used. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_effects(
	struct lower *l, const struct dfg_node *node, int depth, bool *out_some);

/* inline.c: expands a body. */
struct binding {
	uint32_t call;
	const char *within; /* inserted between the name of the call and those of the nodes, or NULL */
	const struct instance *instance;
	const struct dfg_edge *arg; /* by input */
	uint32_t anchor;            /* as in struct scope, for the expanded nodes */
	bool is_loop_body;
	bool waits;            /* nodes that read only inputs wait for the anchor too */
	bool is_unconditional; /* constants require no anchor */
	struct dfg_edge *ret;  /* by output; set by dfg_lower_body */
	uint32_t *last;        /* nodes to wait for; set by dfg_lower_body */
	uint32_t n_last;
};
DFG_MUST_CHECK struct dfg_err *dfg_lower_body(struct lower *l, struct binding *binding);

/*
 * A node in the call's frame that is live when the call is; DFG_NONE if the call always runs. It waits for the call's
 * control inputs.
 */
DFG_MUST_CHECK struct dfg_err *dfg_lower_anchor(struct lower *l, uint32_t call, uint32_t *out_anchor);

/* Expands the call with the given arguments. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_call(
	struct lower *l, uint32_t call, const struct instance *instance, const struct dfg_edge *arg);

/* branch.c, while.c */
DFG_MUST_CHECK struct dfg_err *dfg_lower_if(struct lower *l, uint32_t call);
DFG_MUST_CHECK struct dfg_err *dfg_lower_case(struct lower *l, uint32_t call);
DFG_MUST_CHECK struct dfg_err *dfg_lower_while(struct lower *l, uint32_t call);

/*
 * Whether the value counts as true by TensorFlow's rule, as a bool scalar. The new node has the control inputs given.
 */
DFG_MUST_CHECK struct dfg_err *dfg_lower_truth(struct lower *l, uint32_t call, struct dfg_edge of, enum dfg_dtype dtype,
	const uint32_t *control, uint32_t n_control, struct dfg_edge *out_edge);

/* An attribute of the call, which dfg_verify has checked. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_attr(
	const struct lower *l, uint32_t call, const char *name, enum dfg_attr_kind kind, union dfg_value *out_value);

/* limit.c */
void dfg_lower_limit(struct lower *l);
DFG_MUST_CHECK struct dfg_err *dfg_lower_spend(struct lower *l, uint64_t units);

/* Refuses a function that calls itself, and calls nested too deep. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_descend(const struct lower *l, uint32_t call, uint32_t function);
