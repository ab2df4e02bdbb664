#pragma once

#include "lib/graph/function.h"
#include "lib/graph/names.h"

/*
 * What the parts of lower share: lower.c (which calls, in what order, what is left at the end), function.c
 * (functions of the library), inline.c (bodies), branch.c (If, Case), while.c, node.c (new nodes
 * and their names), limit.c (how far an expansion may go).
 */

/* A function, opened. */
struct body {
	struct dfg_function function;
	bool is_open;
	struct dfg_map names; /* inputs, then nodes */
	bool *used;           /* by input: something in the body reads it, or it is a result */
	uint32_t *last;       /* nodes that a call waits for, besides its results */
	uint32_t n_last;
	enum { EFFECTS_UNKNOWN, EFFECTS_ASKED, EFFECTS_NONE, EFFECTS_SOME } effects;
};

/* A function as a call has it: its attributes are given, so the types and numbers of its inputs and outputs are known. */
struct instance {
	uint32_t number; /* of the function */
	struct body *body;
	const struct dfg_attr *attr;
	uint32_t n_attr;
	uint32_t n_in, n_out;           /* tensors */
	uint32_t *in_first, *out_first; /* by port: its first tensor; one more entry than ports */
	enum dfg_dtype *in_dtype, *out_dtype;
};

/* A body that was written out. */
struct scope {
	uint32_t call;     /* the node that it was written out for */
	uint32_t parent;   /* the scope of that node */
	uint32_t function; /* by number; DFG_NONE for the graph itself, which is scope 0 */
	uint32_t depth;
	uint32_t
		anchor;   /* a node that is live exactly when the body is, in its frame; DFG_NONE where the body always runs */
	bool is_even; /* all of the body is live when the anchor is: it has no primitives of control flow */
	bool is_loop_body; /* within a loop's body: constant Enters are live once more than the anchor is */
};

/* What is known of a node, by its number. */
struct place {
	uint32_t scope;
	uint32_t first, end; /* nodes that were made for this call, if it was one */
	bool is_new;
	bool is_call_done; /* was a call, and is written out */
	bool is_fixed;     /* a loop's constant Enter */
	bool is_uneven;    /* of the graph itself: may be dead, or be in a frame */
	bool is_pass;      /* an Identity that its readers may look through */
};

struct lower {
	struct dfg_graph *graph;
	struct dfg_arena *scratch;
	struct dfg_functions functions;
	struct body *body; /* by number of the function */
	struct scope *scope;
	uint32_t scopes;
	size_t scope_room;
	struct place *place;
	size_t place_room;
	struct dfg_map frames; /* names in use */
	struct dfg_names names;
	struct dfg_edge *edge; /* inputs of the node in hand */
	uint32_t edges;
	size_t edge_room;
	uint64_t spent, most; /* limit.c */
};

/* node.c */
struct draft {
	const char *op, *name;     /* the name is put behind that of the call */
	const struct dfg_edge *in; /* data inputs */
	uint32_t n_in;
	const uint32_t *control;
	uint32_t n_control;
	const struct dfg_attr *attr; /* by name */
	uint32_t n_attr;
};
DFG_MUST_CHECK struct dfg_err *dfg_lower_add(
	struct lower *l, uint32_t call, const struct draft *draft, uint32_t *out_number);

/* The same, of a node that is complete but for its place in the graph; the name is made one that is free. */
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

/* A scalar of type i32, that waits for control (DFG_NONE: nothing). */
DFG_MUST_CHECK struct dfg_err *dfg_lower_int(
	struct lower *l, uint32_t call, const char *name, int32_t value, uint32_t control, struct dfg_edge *out_edge);

/* Makes the call a node that hands on its outputs, and waits for control. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_finish(struct lower *l, uint32_t call, const struct instance *instance,
	const struct dfg_edge *out, const uint32_t *control, uint32_t n_control);

/* function.c */
DFG_MUST_CHECK struct dfg_err *dfg_lower_open(
	struct lower *l, const char *name, uint32_t *out_number, struct body **out_body);

/* The function that func names, with its attributes. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_instance(
	struct lower *l, const struct dfg_func *func, struct instance *out_instance);

/* DFG_DATA where the function does not take and give tensors of these types. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_fits(
	const struct instance *instance, const struct dfg_list *in, const struct dfg_list *out);

/* An attribute's value, with the placeholders in it replaced by what the call of the function gives. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_attrs(
	struct lower *l, const struct instance *instance, const struct dfg_node *node, struct dfg_attr **out_attr);

/* Which tensors output `name` of a node stands for. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_output(struct lower *l, const struct dfg_node *node,
	const struct dfg_string *name, uint32_t *out_first, uint32_t *out_width);

/* The input that result i of the function is, looked at through Identity; DFG_NONE where it is computed. */
uint32_t dfg_lower_same_input(const struct instance *instance, uint32_t i);

/* Whether something happens in the node's functions that must happen even where no result needs it. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_effects(
	struct lower *l, const struct dfg_node *node, int depth, bool *out_some);

/* inline.c: writes out a body. */
struct binding {
	uint32_t call;
	const char *within; /* put between the names of the call and of the nodes, or NULL */
	const struct instance *instance;
	const struct dfg_edge *arg; /* by input */
	uint32_t anchor;            /* as in struct scope, of what is written out */
	bool is_loop_body;
	bool waits;            /* what reads only inputs waits for the anchor too */
	bool is_unconditional; /* constants need no anchor */
	struct dfg_edge *ret;  /* by output; given */
	uint32_t *last;        /* nodes to wait for; given */
	uint32_t n_last;
};
DFG_MUST_CHECK struct dfg_err *dfg_lower_body(struct lower *l, struct binding *binding);

/* A node that is live when the call is, in its frame; DFG_NONE where it always runs. Waits for its control inputs. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_anchor(struct lower *l, uint32_t call, uint32_t *out_anchor);

/* Writes the call out, its arguments being as given. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_call(
	struct lower *l, uint32_t call, const struct instance *instance, const struct dfg_edge *arg);

/* branch.c, while.c */
DFG_MUST_CHECK struct dfg_err *dfg_lower_if(struct lower *l, uint32_t call);
DFG_MUST_CHECK struct dfg_err *dfg_lower_case(struct lower *l, uint32_t call);
DFG_MUST_CHECK struct dfg_err *dfg_lower_while(struct lower *l, uint32_t call);

/* Whether the edge holds, by TensorFlow's rule: a bool scalar. Waits for control. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_truth(struct lower *l, uint32_t call, struct dfg_edge of, enum dfg_dtype dtype,
	const uint32_t *control, uint32_t n_control, struct dfg_edge *out_edge);

/* The call's attribute, which verify has seen. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_attr(
	const struct lower *l, uint32_t call, const char *name, enum dfg_attr_kind kind, union dfg_value *out_value);

/* limit.c */
void dfg_lower_limit(struct lower *l);
DFG_MUST_CHECK struct dfg_err *dfg_lower_spend(struct lower *l, uint64_t units);

/* Refuses a function that calls itself, and calls that are nested too deep. */
DFG_MUST_CHECK struct dfg_err *dfg_lower_descend(const struct lower *l, uint32_t call, uint32_t function);
