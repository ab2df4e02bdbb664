#pragma once

#include "lib/lang/apply_private.h"
#include "lib/lang/lang.h"
#include "lib/lang/naming_private.h"

/*
 * A graph file as a function of its inputs: `import "net.pb" as net`. An application copies the nodes that its results
 * need. Nodes without inputs that hold state or a constant, and initialisers, are copied once, for all applications.
 */

/* The copies of one application. */
struct dfg_application {
	struct dfg_application *older;
	const char *scope;         /* the prefix of its nodes: "net", "net.1" */
	bool training;             /* the variant of the graph */
	bool is_updating;          /* the writes of the graph's training, which it has some of, are part of the program's */
	struct dfg_region *region; /* the region in which the graph is applied */
	struct dfg_edge *argument; /* by input; .node DFG_NONE: not given */
	uint32_t *copy;            /* by node of the file: its copy, or DFG_NONE */
};

/* The results of a variant of a graph. A graph without variants has the same ones twice. */
struct dfg_graph_results {
	uint32_t *output, n_output; /* the declared outputs */
	struct dfg_port *port;      /* by output: its name in the program of the graph */
	uint32_t *update, n_update; /* the writes that are part of a training step */
};

struct dfg_imported_graph {
	struct dfg_imported_graph *older;
	const char *name; /* the prefix of its variables */
	const char *path;
	struct dfg_lang_graph file;
	bool is_borrowed;       /* copies have literals of the file */
	uint32_t *order, *rank; /* a topological order of the nodes, and the position of each node in it */
	uint32_t *frames;       /* by node: the number of frames that it is in */
	uint32_t *assign;       /* by node: the initialiser of the variable that it makes, or DFG_NONE */
	uint32_t *entries; /* by node: the initialiser of the lookup table that it makes, or DFG_NONE; NULL: no tables */
	uint32_t *input_number; /* by node: its number among the inputs, or DFG_NONE */
	uint32_t *input;        /* the inputs, declared ones in their order, else in the order of the file */
	const char **formal;    /* by input: the name of the argument */
	uint32_t n_input;
	struct dfg_graph_results results[2];  /* for inference, and for training */
	uint32_t *shared;                     /* by node: the copy that all applications share, or DFG_NONE */
	struct dfg_application *applications; /* the newest */
	struct dfg_application *latest;       /* that of the last call with inputs */
};

/* Opens the graph at path. *out_graph NULL: the file is a program. DFG_DATA: the graph has faults. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_import(
	struct dfg_eval *eval, const char *path, const char *name, struct dfg_imported_graph **out_graph);

/* Closes the files of all imports of the program. Literals that the graph, which was built, borrows stay valid in its arena. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_imports_lend(struct dfg_eval *eval, struct dfg_arena *arena);
void dfg_graph_imports_close(struct dfg_eval *eval);

/* A mark by which a program declares what a node is, as a node of the variant in use has it, and one of the other. */
struct dfg_graph_mark {
	const char *used, *idle;
	bool of_both; /* a node of one variant counts for both */
};

/* The nodes with the mark in a variant, in the order of their declarations. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_list_marked(struct dfg_eval *eval, const struct dfg_imported_graph *graph,
	const struct dfg_graph_mark *mark, bool training, uint32_t *out_n, uint32_t **out_node);

DFG_MUST_CHECK struct dfg_err *dfg_graph_list_results(struct dfg_eval *eval, struct dfg_imported_graph *graph);

/* The node's name in the program of the graph. */
const char *dfg_graph_node_name(const struct dfg_eval *eval, const struct dfg_imported_graph *graph, uint32_t node);

/* Whether the argument chooses the variant: training = true, unless the graph has an input of that name. */
bool dfg_graph_is_switch(const struct dfg_imported_graph *graph, const struct dfg_argument *argument);

/* The variant that a call chooses, by default that of the program. DFG_DATA: the graph does not have it. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_choose_variant(struct dfg_eval *eval, const struct dfg_imported_graph *graph,
	const struct dfg_call_site *site, bool *out_training);

/* "h" or "h:1" as a tensor of the variant. DFG_DATA: there is none. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_find_tensor(struct dfg_eval *eval, const struct dfg_imported_graph *graph,
	bool training, const char *tensor, struct dfg_edge *out_edge);

/* net(x, ...): its declared outputs, a tuple if there are several. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_apply(struct dfg_eval *eval, struct dfg_imported_graph *graph,
	const struct dfg_call_site *site, struct dfg_datum *out_datum);

/* net.node(NAME, x, ...): a tensor of the application to these inputs or, without any, of the newest one. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_node(struct dfg_eval *eval, struct dfg_imported_graph *graph,
	const struct dfg_call_site *site, struct dfg_datum *out_datum);

/* The tensor of the file as the application has it; copies the nodes that it needs. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_copy(struct dfg_eval *eval, struct dfg_imported_graph *graph,
	struct dfg_application *application, struct dfg_edge of, struct dfg_edge *out_edge);
