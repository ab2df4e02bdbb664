#pragma once

#include "lib/lang/datum_private.h"

/* Calls of functions, layers, ops and types. */

/* A fn or layer. Everything it points to lives as long as the source and the evaluation or library that declared it. */
struct dfg_callable {
	const char *name;
	const struct dfg_tree *tree;
	const struct dfg_source *source;
	struct dfg_name_scope *bindings; /* the scope that it was declared in */
};

/* A layer with its first arguments. */
struct dfg_instance {
	const struct dfg_callable *callable;
	struct dfg_name_scope *bindings; /* the first arguments, within the callable's scope */
	const char *path;                /* the prefix of the names of its params */
	uint32_t made;                   /* the number of nodes when the instance was made */
	bool is_bound;                   /* it is named after the name that it was bound to */
};

struct dfg_argument {
	const char *name; /* NULL: by position */
	const struct dfg_tree *tree;
	const struct dfg_tree *named; /* the value with its name, for messages; NULL: not written so */
	struct dfg_datum value;
};

struct dfg_call_site {
	const struct dfg_tree *tree; /* for the locations of errors */
	struct dfg_argument *argument;
	uint32_t n;
};

/* A function of the language that is written in C. */
typedef struct dfg_err *dfg_builtin_fn(
	struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum);

struct dfg_builtin {
	const char *name;
	int least, most; /* the number of arguments; none is named */
	dfg_builtin_fn *call;
};

/* All built-in functions (builtin.c), in alphabetical order; the last has no name. */
extern const struct dfg_builtin dfg_builtins[];

/* Calls an op, function, layer, instance, type or built-in function. The arguments are evaluated already. */
DFG_MUST_CHECK struct dfg_err *dfg_apply(struct dfg_eval *eval, const struct dfg_datum *callee,
	const struct dfg_call_site *site, struct dfg_datum *out_datum);

/* Evaluates a CALL expression: the callee, the arguments from left to right, then the call. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_call(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum);
