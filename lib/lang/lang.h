#pragma once

#include "lib/base/text.h"
#include "lib/graph/build.h"

/*
 * The .dfg language (man/dfg-lang.5). A build evaluates the text of a program and adds nodes to a graph, which are
 * checked as they are added, so that an error has its location in the text: FILE:LINE:COL: error: ..., the line, a caret.
 */
struct dfg_lang_options;

/* A graph file that a program imports; valid until it is closed. */
struct dfg_lang_graph {
	struct dfg_graph *graph;       /* without calls of functions; its trainable variables are marked `_dfg_trainable` */
	const struct dfg_facts *facts; /* of all its nodes */
	void *file;                    /* of the opener */
	bool has_variants;             /* it is another one for training; the one that was asked for is open */
	const char *idle_prefix;       /* names of nodes of the other variant may begin with this; not NULL */
};
struct dfg_lang_graphs {
	/*
	 * Opens and verifies the graph, of one with variants that for training or the other one. out_graph->graph NULL: the
	 * file is a program. Its notes go to options->warn.
	 */
	struct dfg_err *(*open)(
		const char *path, const struct dfg_lang_options *options, bool training, struct dfg_lang_graph *out_graph);
	void (*close)(struct dfg_lang_graph *graph); /* accepts a zeroed struct */
	/* Closes it, but leaves the values of its attributes valid until the arena is released. DFG_MEMORY: it is open still. */
	struct dfg_err *(*lend)(struct dfg_lang_graph *graph, struct dfg_arena *arena);
};

#define DFG_LANG_MEMORY (UINT64_C(4) << 30)

struct dfg_lang_options {
	const char *const *include; /* directories of imports; NULL-terminated or NULL */
	const char *const *define;  /* "NAME=VALUE" of consts, or "training=true"; NULL-terminated or NULL */
	/*
	 * Implements `grad(y, x)` (lib/pass/grad/grad.h); set by the caller, because lib/lang may not include the passes.
	 */
	struct dfg_err *(*grad)(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
		const struct dfg_edge *wrt, uint32_t n_wrt, struct dfg_edge *out_wrt);
	/* Opens the graphs of imports (app/graph_input.h), for the same reason; NULL: only programs can be imported. */
	const struct dfg_lang_graphs *graphs;
	/* Called for each file that is read, the program and its imports but not the embedded library; NULL: not called. */
	void (*read)(void *arg, const char *path);
	void *read_arg;
	void (*warn)(void *arg, const char *words); /* words: "FILE:LINE:COL: warning: ..."; NULL: not called */
	void *warn_arg;
	/* The most bytes that a build takes, its graph included; DFG_MEMORY above. 0: DFG_LANG_MEMORY. */
	uint64_t memory_limit;
	const char *text; /* the program's text, so that path is only its name; NULL: path is read */
	size_t length;
};

/* Builds the program at path ("-" for stdin) into an empty graph. */
DFG_MUST_CHECK struct dfg_err *dfg_lang_build(
	const char *path, const struct dfg_lang_options *options, struct dfg_graph *graph);

/* The program in canonical layout. path is its name in messages. DFG_DATA: it has errors. */
DFG_MUST_CHECK struct dfg_err *dfg_lang_format(
	const char *path, const char *text, size_t length, struct dfg_text *out_text);

/* A graph in the syntax of the language, one statement for each node, to be read by people. */
DFG_MUST_CHECK struct dfg_err *dfg_lang_print(const struct dfg_graph *graph, struct dfg_text *out_text);

/* A file of the standard library by name ("nn"), or NULL. */
const char *dfg_lang_std(const char *name, size_t *out_length);

/* The name of file i of the standard library, from 0; NULL after the last. */
const char *dfg_lang_std_name(size_t i);

/* An entry of the reference of the standard library. Strings are valid during the call. */
struct dfg_std_entry {
	const char *file;      /* "nn" */
	const char *name;      /* "dense"; NULL: the entry is the file, with the comment at its head */
	const char *signature; /* "layer dense(units: int, ...)(x: T[..., n]) -> T[..., units]", on one line */
	const char *comment;   /* on one line, without #; may be empty */
	const char *examples;  /* a line for each, as "relu([-1.0, 2.0]) = [0, 2]"; NULL for a file */
	const char *op;        /* the op whose call is the whole body, or NULL */
};

/*
 * Calls each() for all entries in the order of the texts, until it returns an error. A fn or layer whose comment begins
 * with "Internal:" is left out. DFG_BUG: one has neither a comment nor an op whose call is its whole body.
 */
DFG_MUST_CHECK struct dfg_err *dfg_lang_std_each(
	struct dfg_err *(*each)(void *arg, const struct dfg_std_entry *entry), void *arg);

/*
 * A formula: assignments that read names bound by the caller, such as the gradient of an op. It is parsed once; any
 * number of threads may apply it at a time.
 */
struct dfg_formula;
DFG_MUST_CHECK struct dfg_err *dfg_formula_new(const char *text, struct dfg_formula **out_formula);
void dfg_formula_free(struct dfg_formula *formula);

struct dfg_binding {
	const char *name;
	enum { DFG_BIND_TENSOR, DFG_BIND_TENSORS, DFG_BIND_VALUE, DFG_BIND_NOTHING } kind;
	const struct dfg_edge *edge; /* one tensor, or the n tensors of a list */
	uint32_t n;
	enum dfg_attr_kind value_kind; /* the kind of a value: int, float, bool, string, dtype, shape, or a list of these */
	union dfg_value value;
};

/*
 * Applies the formula: new nodes are named SCOPE/OP. For each name in `result` that the formula assigns, out_edge[i] is
 * its tensor; for others .node is DFG_NONE. Assignments that no result depends on are not evaluated. DFG_DATA: a result
 * depends on a name bound to DFG_BIND_NOTHING (a cotangent that does not exist).
 */
DFG_MUST_CHECK struct dfg_err *dfg_formula_apply(const struct dfg_formula *formula, struct dfg_builder *builder,
	const char *scope, const struct dfg_binding *binding, uint32_t n_binding, const char *const *result,
	uint32_t n_result, struct dfg_edge *out_edge);

/* The names that the formula assigns; NULL-terminated, owned by the formula. */
const char *const *dfg_formula_names(const struct dfg_formula *formula);

/*
 * An optimizer, such as "adam(lr = 0.001)" or "my.dfg:lion(lr = 1e-4)". It is applied to each variable:
 * dfg_optimizer_apply() gives the new value *out_p from `in`, the value p, its gradient g and the number of steps, and makes
 * slots named SCOPE/NAME. *out_effects are nodes of that variable's update that change other state; they belong to the
 * optimizer.
 *
 * With rows, p and g are those of the rows `indices` of a variable of the shape `whole`, each once. Slots like p get the
 * whole shape; of these, too, only the rows are read and written. The caller knows that the optimizer leaves other rows
 * as they are.
 */
struct dfg_optimizer_rows {
	struct dfg_edge indices; /* a vector of i32 or i64 */
	struct dfg_shape whole;
};
struct dfg_optimizer;
DFG_MUST_CHECK struct dfg_err *dfg_optimizer_new(
	const char *call, const struct dfg_lang_options *options, struct dfg_optimizer **out_optimizer);
DFG_MUST_CHECK struct dfg_err *dfg_optimizer_apply(struct dfg_optimizer *optimizer, struct dfg_builder *builder,
	const char *scope, const struct dfg_edge in[3], const struct dfg_optimizer_rows *rows, struct dfg_edge *out_p,
	const uint32_t **out_effects, uint32_t *out_n_effects);
void dfg_optimizer_free(struct dfg_optimizer *optimizer);

/*
 * A case of an op, a line of tests/ops/NAME.t: "MatMul([[1, 2]], [[3], [4]]) = [[11]]" or "... : words of the error".
 * Numbers without a dtype get `dtype`, or f32 or i32 for DFG_NO_DTYPE.
 */
struct dfg_case {
	struct dfg_graph graph; /* one node of the op, fed by Const nodes */
	struct dfg_arena arena;
	uint32_t node;
	bool flexible;           /* the case has numbers without a dtype, so that `dtype` matters */
	struct dfg_tensor *want; /* the n_want expected outputs; in the arena */
	uint32_t n_want;
	const char *error; /* words that the error must contain; NULL: the op must succeed */
};
DFG_MUST_CHECK struct dfg_err *dfg_case_parse(const char *line, enum dfg_dtype dtype, struct dfg_case *out_case);
void dfg_case_release(struct dfg_case *case_);
