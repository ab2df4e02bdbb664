#pragma once

#include "lib/base/text.h"
#include "lib/graph/build.h"

/*
 * The .dfg language (man/dfg-lang.5). A program is text; building it adds nodes to a graph through a builder, so types
 * and shapes are checked where they are written. Errors read FILE:LINE:COL: error: ..., the line, a caret.
 */
#define DFG_LANG_MEMORY (UINT64_C(4) << 30)

struct dfg_lang_options {
	const char *const *include; /* directories of imports; NULL-terminated or NULL */
	const char *const *define;  /* "NAME=VALUE", NULL-terminated or NULL; "training=true" too */
	/* Implements `grad(y, x)` (lib/pass/grad/grad.h); set by cmd, because lang may not include the passes. */
	struct dfg_err *(*grad)(struct dfg_builder *builder, const struct dfg_edge *of, uint32_t n_of,
		const struct dfg_edge *wrt, uint32_t n_wrt, struct dfg_edge *out_wrt);
	/* Called for every file read, the program and its imports (not the embedded library), for -MD; NULL: none. */
	void (*read)(void *arg, const char *path);
	void *read_arg;
	void (*warn)(void *arg, const char *words); /* "FILE:LINE:COL: warning: ..."; NULL: nobody wants to hear */
	void *warn_arg;
	/* Bytes that a build takes at most, its graph included, else DFG_MEMORY; 0: DFG_LANG_MEMORY. */
	uint64_t memory_limit;
	const char *text; /* the program, where its bytes are at hand: path only names it then; NULL: read path */
	size_t length;
};

/* Builds the program at path ("-" for stdin) into an empty graph. */
DFG_MUST_CHECK struct dfg_err *dfg_lang_build(
	const char *path, const struct dfg_lang_options *options, struct dfg_graph *graph);

/* The program in canonical layout, or its errors. path names it in messages. */
DFG_MUST_CHECK struct dfg_err *dfg_lang_format(
	const char *path, const char *text, size_t length, struct dfg_text *out_text);

/* A graph in the language's syntax, a statement a node, for reading. */
DFG_MUST_CHECK struct dfg_err *dfg_lang_print(const struct dfg_graph *graph, struct dfg_text *out_text);

/* A file of the standard library by name ("nn"), or NULL. */
const char *dfg_lang_std(const char *name, size_t *out_length);

/* The names of these files, from 0; NULL after the last. */
const char *dfg_lang_std_name(size_t i);

/*
 * The reference of the standard library, in the order of its texts. All strings end with the call. A fn or layer whose
 * comment begins with "Internal:" is left out; one that has neither a comment nor a sole op is DFG_BUG.
 */
struct dfg_std_entry {
	const char *file;      /* "nn" */
	const char *name;      /* "dense"; NULL: the entry is the file, comment its head */
	const char *signature; /* "layer dense(units: int, ...)(x: T[..., n]) -> T[..., units]", on one line */
	const char *comment;   /* on one line, without #; may be empty */
	const char *op;        /* the op whose call is the whole body, or NULL */
};
DFG_MUST_CHECK struct dfg_err *dfg_lang_std_each(
	struct dfg_err *(*each)(void *arg, const struct dfg_std_entry *entry), void *arg);

/*
 * Statements with names bound from outside: gradients of ops. Parsed once; any number of threads may apply it.
 */
struct dfg_formula;
DFG_MUST_CHECK struct dfg_err *dfg_formula_new(const char *text, struct dfg_formula **out_formula);
void dfg_formula_free(struct dfg_formula *formula);

struct dfg_binding {
	const char *name;
	enum { DFG_BIND_TENSOR, DFG_BIND_TENSORS, DFG_BIND_VALUE, DFG_BIND_NOTHING } kind;
	const struct dfg_edge *edge; /* one tensor, or n in a list */
	uint32_t n;
	enum dfg_attr_kind value_kind; /* of a value: int, float, bool, string, dtype, list of these */
	union dfg_value value;
};

/*
 * Applies it: new nodes are named SCOPE/OP. For each name in `result` that the statements bind, out_edge[i] is its
 * tensor; for others .node is DFG_NONE. Reading a name bound to nothing (a cotangent that does not exist) is an error
 * only if the statement's own result is wanted: statements that bind names not in `result` are skipped.
 */
DFG_MUST_CHECK struct dfg_err *dfg_formula_apply(const struct dfg_formula *formula, struct dfg_builder *builder,
	const char *scope, const struct dfg_binding *binding, uint32_t n_binding, const char *const *result,
	uint32_t n_result, struct dfg_edge *out_edge);

/* Names that the text assigns, for the table check; NULL-terminated, owned by the formula. */
const char *const *dfg_formula_names(const struct dfg_formula *formula);

/*
 * An optimizer: "adam(lr = 0.001)" or "my.dfg:lion(lr = 1e-4)". One instance a variable: apply() gives the variable's new
 * value from its value p, its gradient g and the step, and makes the slots as `state` named SCOPE/NAME.
 */
struct dfg_optimizer;
DFG_MUST_CHECK struct dfg_err *dfg_optimizer_new(
	const char *call, const struct dfg_lang_options *options, struct dfg_optimizer **out_optimizer);
DFG_MUST_CHECK struct dfg_err *dfg_optimizer_apply(struct dfg_optimizer *optimizer, struct dfg_builder *builder,
	const char *scope, struct dfg_edge p, struct dfg_edge g, struct dfg_edge step, struct dfg_edge *out_p,
	const uint32_t **out_effects, uint32_t *out_n_effects);
void dfg_optimizer_free(struct dfg_optimizer *optimizer);

/*
 * A case of an op, a line of tests/ops/NAME.t: "MatMul([[1, 2]], [[3], [4]]) = [[11]]" or "... : words of the error".
 * Literals without a dtype are f32 or i32 until `dtype` retypes them (DFG_NO_DTYPE: as written).
 */
struct dfg_case {
	struct dfg_graph graph; /* one node of the op, fed by Const nodes */
	struct dfg_arena arena;
	uint32_t node;
	bool flexible;           /* some literal takes the dtype asked for */
	struct dfg_tensor *want; /* by output; n_want of them; borrowed from the arena */
	uint32_t n_want;
	const char *error; /* words that the error must hold; NULL: it must succeed */
};
DFG_MUST_CHECK struct dfg_err *dfg_case_parse(const char *line, enum dfg_dtype dtype, struct dfg_case *out_case);
void dfg_case_release(struct dfg_case *case_);
