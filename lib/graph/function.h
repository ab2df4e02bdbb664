#pragma once

#include "lib/graph/graph.h"

/*
 * The functions of a graph's library. The library is kept as it is in the file; its users (lib/pass/lower/lower.c)
 * parse functions one at a time.
 */

/* An input or output of a function: one tensor, `number` tensors of one type, or one tensor for each of `types`. */
struct dfg_function_port {
	const char *name;
	enum dfg_dtype dtype;              /* DFG_NO_DTYPE: given by an attribute of the call */
	const char *type, *number, *types; /* names of such attributes; NULL if not used */
	bool is_ref;
	const char
		*from; /* source of a result: "input", "input:1", "node:output:0"; NULL if the function does not give one */
};

/* A node of a body. Its inputs are "input", "input:1", "node:output", "node:output:0", "^node"; in and n_in are not set. */
struct dfg_function_node {
	struct dfg_node node;
	const char **input;
	uint32_t n_input;
};

struct dfg_function {
	const char *name;
	struct dfg_function_port *in, *out;
	uint32_t n_in, n_out;
	struct dfg_attr *attr; /* defaults of the attributes that a call may give, by name */
	uint32_t n_attr;
	struct dfg_function_node *node;
	uint32_t n_node;
	const char **last; /* nodes that a call waits for, whether or not a result depends on them */
	uint32_t n_last;
};

/* The names of a library's functions; number i has its wire form at body[i]. */
struct dfg_functions {
	struct dfg_map names;
	struct dfg_string *body;
};
void dfg_functions_release(struct dfg_functions *functions);

/* Functions that read a library, set by the file format that set the graph's library. */
struct dfg_function_codec {
	struct dfg_err *(*list)(
		const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_functions *out_functions);
	struct dfg_err *(*open)(const struct dfg_functions *functions, uint32_t number, struct dfg_arena *arena,
		struct dfg_function *out_function);
};

/* The names of the library's functions; empty if the graph has no library. */
DFG_MUST_CHECK struct dfg_err *dfg_functions_list(
	const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_functions *out_functions);
