#pragma once

#include "lib/graph/graph.h"

/*
 * The functions of a graph's library. A graph carries its library as the file has it; who calls functions (lib/pass/lower/lower.c)
 * opens them one by one.
 */

/* What goes into a function, or comes out: one tensor, `number` of them, or one of each of `types`. */
struct dfg_function_port {
	const char *name;
	enum dfg_dtype dtype;              /* DFG_NO_DTYPE: an attribute of the call says it */
	const char *type, *number, *types; /* names of such attributes; NULL where there is none */
	bool is_ref;
	const char *from; /* of a result: "input", "input:1", "node:output:0"; NULL where the function does not say */
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
	const char **last; /* nodes that a call waits for, whether or not a result comes from them */
	uint32_t n_last;
};

/* The names of a library's functions; number i has its wire form at body[i]. */
struct dfg_functions {
	struct dfg_map names;
	struct dfg_string *body;
};
void dfg_functions_release(struct dfg_functions *functions);

/* How a library is read. The file formats set it where they set a graph's library. */
struct dfg_function_codec {
	struct dfg_err *(*list)(
		const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_functions *out_functions);
	struct dfg_err *(*open)(const struct dfg_functions *functions, uint32_t number, struct dfg_arena *arena,
		struct dfg_function *out_function);
};

/* The library's names; none where the graph has no library. */
DFG_MUST_CHECK struct dfg_err *dfg_functions_list(
	const struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_functions *out_functions);
