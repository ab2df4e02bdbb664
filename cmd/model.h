#pragma once

#include "cmd/cmd.h"
#include "formats/plan.h"
#include "lib/exec/session.h"
#include "lib/graph/build.h"

struct dfg_distributed;

/* What variables were loaded from; remembered for what is found to be missing later (cmd/loaded.h). */
struct dfg_loaded {
	const char *from;  /* the sources, a list with commas; NULL: nothing was loaded */
	const char **name; /* of their arrays */
	size_t count;
	bool partial; /* --partial: what they lack is initialised */
	bool *told;   /* by node of a variable: a line on stderr has named it */
};

/* A graph that a command runs: opened, verified, what is known of its edges, a session on it. A zeroed one is closed. */
struct dfg_model {
	struct dfg_graph_file file;
	struct dfg_plan_folder plan; /* where it was opened as one; the graph is then its parts, joined */
	struct dfg_facts facts;
	struct dfg_session *session;
	struct dfg_loaded loaded;
	const char *unset;      /* a variable that the last step prepared reads and nothing initialises; NULL */
	struct dfg_arena arena; /* of what is asked of the graph, for as long as it is open */
};
DFG_MUST_CHECK struct dfg_err *dfg_model_open(
	const char *path, const struct dfg_session_options *options, struct dfg_model *out_model);

/* The same across workers; path may be a plan. */
DFG_MUST_CHECK struct dfg_err *dfg_model_distribute(const char *path, const struct dfg_session_options *options,
	struct dfg_distributed *distributed, struct dfg_model *out_model);
void dfg_model_close(struct dfg_model *model);

/* A tensor by name; DFG_DATA, with the nearest spelling, where the graph lacks the node or the node the output. */
DFG_MUST_CHECK struct dfg_err *dfg_model_tensor(
	const struct dfg_model *model, const char *name, struct dfg_edge *out_edge);

/* What is known of it. */
const struct dfg_inferred *dfg_model_fact(const struct dfg_model *model, struct dfg_edge edge);

/* A node by name, for its effect. */
DFG_MUST_CHECK struct dfg_err *dfg_model_node(const struct dfg_model *model, const char *name, uint32_t *out_node);

/* Names and edges, in an order that is the user's. Room from the model's arena. */
struct dfg_edges {
	struct dfg_edge *edge;
	const char **name;
	uint32_t count;
};

/* Each word may be a list with commas. */
DFG_MUST_CHECK struct dfg_err *dfg_model_tensors(
	struct dfg_model *model, const struct dfg_words_list *words, struct dfg_edges *out_edges);
DFG_MUST_CHECK struct dfg_err *dfg_model_nodes(
	struct dfg_model *model, const struct dfg_words_list *words, uint32_t **out_node, uint32_t *out_count);

/* What the graph declares as its outputs (_dfg_output marks); DFG_USAGE, naming what nothing reads, where it does not. */
DFG_MUST_CHECK struct dfg_err *dfg_model_outputs(struct dfg_model *model, struct dfg_edges *out_edges);
