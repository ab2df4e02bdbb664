#pragma once

#include "app/graph_input.h"
#include "app/names.h"
#include "formats/plan.h"
#include "lib/exec/session.h"
#include "lib/graph/build.h"

struct dfg_distributed;

/* The sources of loaded variables, kept for the message about missing ones (app/loaded.h). */
struct dfg_loaded {
	const char *from;  /* comma-separated list of the sources; NULL: nothing was loaded */
	const char **name; /* names of their arrays */
	size_t count;
	bool partial; /* --partial: variables that they lack are initialised */
	bool *told;   /* whether the report has named it, by node of a variable */
};

/* An opened and verified graph, the inferred types of its edges, and a session on it. Zero-initialised: closed. */
struct dfg_model {
	struct dfg_graph_file file;
	struct dfg_plan_folder plan; /* set if the path is a plan; the graph is then its parts, joined */
	struct dfg_facts facts;
	struct dfg_session *session;
	uint32_t shards;                 /* of the batch, for a graph that app/replication.h has rewritten; 0: it is not */
	const struct dfg_report *report; /* receives notes about its variables; borrowed */
	struct dfg_loaded loaded;
	bool only_declared;     /* variables are initialised by what the graph marks, never by a guess */
	const char *unset;      /* a variable that the last prepared step reads and that has no initialiser; NULL: none */
	struct dfg_arena arena; /* names and edges; lives until the model is closed */
};

/* Opens, lowers and verifies a graph or program; borrows the report of `input`. Errors name the file. */
DFG_MUST_CHECK struct dfg_err *dfg_model_open(const char *path, const struct dfg_graph_input *input,
	const struct dfg_session_options *options, struct dfg_model *out_model);

/* The same on the workers of a distributed run; path may be a plan, then options->shards is 0 or what it must have. */
DFG_MUST_CHECK struct dfg_err *dfg_model_distribute(const char *path, const struct dfg_graph_input *input,
	const struct dfg_session_options *options, struct dfg_distributed *distributed, struct dfg_model *out_model);
void dfg_model_close(struct dfg_model *model);

/* Finds a tensor by name; DFG_DATA, with the nearest name, if the node or output does not exist. */
DFG_MUST_CHECK struct dfg_err *dfg_model_tensor(
	const struct dfg_model *model, const char *name, struct dfg_edge *out_edge);

/* The inferred dtype and shape of an edge. */
const struct dfg_inferred *dfg_model_fact(const struct dfg_model *model, struct dfg_edge edge);

/* Finds a node by name, to run for its effect. */
DFG_MUST_CHECK struct dfg_err *dfg_model_node(const struct dfg_model *model, const char *name, uint32_t *out_node);

/* Names and edges in the order given by the user, allocated from the model's arena. */
struct dfg_edges {
	struct dfg_edge *edge;
	const char **name;
	uint32_t count;
};

/* Finds tensors by name; each word may be a comma-separated list. */
DFG_MUST_CHECK struct dfg_err *dfg_model_tensors(
	struct dfg_model *model, const struct dfg_words_list *words, struct dfg_edges *out_edges);
DFG_MUST_CHECK struct dfg_err *dfg_model_nodes(
	struct dfg_model *model, const struct dfg_words_list *words, uint32_t **out_node, uint32_t *out_count);

/*
 * Lets the edges be those of the variant for inference, under the names that were given. Returns the name of the first that
 * is only in the variant for training, NULL if there is none.
 */
const char *dfg_model_inference(const struct dfg_model *model, struct dfg_edges *edges);

/* The declared outputs of the graph (_dfg_output marks); DFG_USAGE, listing unread nodes, if there are none. */
DFG_MUST_CHECK struct dfg_err *dfg_model_outputs(struct dfg_model *model, struct dfg_edges *out_edges);
