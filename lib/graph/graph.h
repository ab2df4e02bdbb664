#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/graph/op.h"

enum { DFG_CONTROL = -1 };

/*
 * The source of an input: output `port` of node number `node`. Port DFG_CONTROL is a control edge, which only orders
 * the nodes.
 */
struct dfg_edge {
	uint32_t node;
	int32_t port;
};

static inline bool dfg_edge_same(struct dfg_edge a, struct dfg_edge b)
{
	return a.node == b.node && a.port == b.port;
}

/* Strings and arrays are in the graph's arena or in the file that the graph keeps mapped. */
struct dfg_node {
	const char *name;
	const char *op_name;
	const struct dfg_op *op; /* NULL: unknown op; the node can be kept, pruned and shown, but not run */
	const char *device;      /* "" if no device is requested */
	struct dfg_edge *in;     /* data inputs, then control inputs */
	uint32_t n_in, n_control;
	struct dfg_attr *attr; /* by name, in byte order; several nodes may share one array: dfg_node_set_attr copies */
	uint32_t n_attr;
	uint32_t n_debug;  /* bytes at debug */
	const void *debug; /* fields of the file that are only kept: experimental_debug_info and _type, canonical */
};

/* Nodes are in file order, which need not be topological. */
struct dfg_graph {
	struct dfg_arena *arena;
	struct dfg_node *node;
	uint32_t count;
	size_t capacity;
	struct dfg_map names;           /* number of a name = number of its node */
	int32_t producer, min_consumer; /* of the file; ours 27 and 0 */
	const int32_t *bad_consumer;
	uint32_t n_bad_consumer;
	const void *library; /* FunctionDefLibrary, in canonical wire form; n_library bytes */
	size_t n_library;
	const struct dfg_function_codec
		*codec;        /* parser of the library: lib/graph/function.h; NULL if there is no library */
	const void *debug; /* debug_info, likewise */
	size_t n_debug;
	int32_t old_version; /* what files had before `versions`; only kept */
	bool unversioned;    /* a file without `versions` */
	const char *source;  /* the file, for messages; "" for none */
};

/* An empty graph whose contents are in the arena; producer 27. The caller releases the graph, then the arena. */
void dfg_graph_init(struct dfg_graph *graph, struct dfg_arena *arena);
void dfg_graph_release(struct dfg_graph *graph);

/* Adds a node whose fields are all in the arena. DFG_DATA if the name exists. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_add(
	struct dfg_graph *graph, const struct dfg_node *node, uint32_t *out_number);

/* The node's number, or DFG_NONE. */
uint32_t dfg_graph_find(const struct dfg_graph *graph, const char *name);

/* The name most similar to `name`, or NULL. */
const char *dfg_graph_nearest(const struct dfg_graph *graph, const char *name);

/*
 * "fc1", "fc1:0" or "^fc1" as an edge. DFG_DATA, with the nearest right spelling, where there is no such node. The port's
 * upper bound is not checked (verify does), because the op may be unknown.
 */
DFG_MUST_CHECK struct dfg_err *dfg_graph_edge(
	const struct dfg_graph *graph, const char *tensor, struct dfg_edge *out_edge);

/* "fc1", "fc1:1" or "^fc1", in the arena; NULL when memory is short. */
const char *dfg_graph_tensor_name(const struct dfg_graph *graph, struct dfg_edge edge);

/* The node's attribute, or NULL. */
const struct dfg_attr *dfg_node_attr(const struct dfg_node *node, const char *name);

/* Sets or replaces it; name and value must live in the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_node_set_attr(
	struct dfg_graph *graph, uint32_t node, const char *name, enum dfg_attr_kind kind, union dfg_value value);

/* Adds `control` as a control input of node, unless it is one already. */
DFG_MUST_CHECK struct dfg_err *dfg_node_add_control(struct dfg_graph *graph, uint32_t node, uint32_t control);

/* Whether the node bears the mark (an attribute such as "_dfg_trainable"); an int mark's value in *out_i if not NULL. */
bool dfg_node_mark(const struct dfg_node *node, const char *name, int64_t *out_i);

/* Whether an int mark, which is a mask of the node's first 31 outputs, has the bit of this output. */
bool dfg_edge_mark(const struct dfg_graph *graph, const char *name, struct dfg_edge edge);

/*
 * Checks a node against its op's declaration: attributes are present, of the right kind and among the allowed values;
 * types are in their classes; the number of inputs is right; no attribute is unknown (names that begin with '_' are
 * free). The inputs themselves are not checked. The call is in the arena.
 */
DFG_MUST_CHECK struct dfg_err *dfg_node_resolve(
	const struct dfg_graph *graph, uint32_t node, struct dfg_arena *arena, struct dfg_resolved_node *out_call);

/* The error of an attribute `name` that is missing (attr NULL) or of another kind than the expected one; never NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_attr_error(
	const char *name, const struct dfg_attr *attr, enum dfg_attr_kind expected) __attribute__((returns_nonnull));

/* The number of tensors that the node's port stands for, by its attributes; 0 if these are invalid. */
uint32_t dfg_node_port_width(
	const struct dfg_node *node, const struct dfg_signature *signature, const struct dfg_port *port);

/* Whether data input e takes the variable itself instead of its value; also true if that is unknown. */
bool dfg_node_takes_ref(const struct dfg_node *node, uint32_t e);

/*
 * Whether the edge carries a variable itself, which is read only when its reader runs: by the declaration of its node,
 * or through Identities.
 */
bool dfg_edge_is_ref(const struct dfg_graph *graph, struct dfg_edge edge);

/*
 * A node of a lowered call only names the outputs of the call: an IdentityN of which a reader of one output does not
 * wait for the inputs of the others.
 */
bool dfg_node_names_outputs(const struct dfg_node *node);

/*
 * A topological order of the nodes, ignoring edges from a NextIteration to a Merge. order has space for graph->count
 * numbers; *out_count is smaller if there is a cycle. O(nodes + edges), no recursion. The order depends on the graph
 * alone.
 */
DFG_MUST_CHECK struct dfg_err *dfg_graph_order(
	const struct dfg_graph *graph, struct dfg_arena *scratch, uint32_t *order, uint32_t *out_count);
