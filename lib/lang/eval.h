#pragma once

#include "lib/lang/datum.h"
#include "lib/lang/lang.h"

/* The variables that a target has written, newest first, each with its history from before the write. */
struct dfg_target {
	struct dfg_cell_before {
		struct dfg_cell_before *older;
		struct dfg_cell *cell;
		struct dfg_history now;
	} * written;
};

/* How a node of a program gets its name in the end (naming.c). */
struct dfg_naming {
	enum dfg_naming_kind {
		DFG_NAME_KEPT,  /* keeps what it has */
		DFG_NAME_NONE,  /* SCOPE/OP, SCOPE/OP.1, ... in order */
		DFG_NAME_BOUND, /* made what a name was bound to: the last of them gets it */
		DFG_NAME_EXACT,
	} kind;
	const char *path;
};

/* Counts how often a name has been used, so that the next is NAME.1, NAME.2, ... */
struct dfg_name_counter {
	struct dfg_map map;
	uint32_t *used;
	size_t room;
};

/* What only a whole program has. */
struct dfg_program {
	struct dfg_name_scope *frame; /* of its text */
	bool asks_training;           /* the value of `training` decided something; so outputs are marked with it */
	uint32_t inputs, outputs;
	bool *defined; /* by options->define: whether a const took it */
	struct dfg_import {
		const char *path;
		struct dfg_name_scope *frame; /* NULL while it is read */
		struct dfg_import *older;
	} * imports;
};

struct dfg_region;
struct dfg_lang_loop;

struct dfg_nodes {
	uint32_t *node;
	size_t n, room;
};

/* Of `static for` and of functions, in a program, which writes each out: what doubles and doubles again must end. */
enum { DFG_TRIPS_MAX = 1 << 22, DFG_CALLS_MAX = 1 << 18 };

/*
 * One evaluation. Text is evaluated straight into nodes: what is known at build time is a value here, all else an edge.
 * All memory that this needs lives in the arena until the end.
 */
struct dfg_eval {
	struct dfg_builder *builder;
	const struct dfg_lang_options *options;
	struct dfg_arena *arena;
	uint64_t memory_limit;              /* of the arena and the graph's together; 0: none */
	struct dfg_program *program;        /* NULL: a formula or an optimizer, whose nodes the builder names */
	const struct dfg_source *source;    /* of what is being evaluated */
	const char *scope;                  /* prefix of new names, "" or "h/dense" */
	struct dfg_name_counter *instances; /* of the layer being applied, or of the program */
	bool training;
	int depth, calls;
	int64_t trips, called;           /* of `static for`, and functions, so far */
	uint32_t effects;                /* so far: nodes that change something */
	bool slots;                      /* an optimizer: its state is SCOPE/NAME, marked _dfg_slot */
	struct dfg_nodes *changes;       /* what the effects of a target, or of an optimizer, are gathered in; or NULL */
	struct dfg_target *target;       /* the one that is being evaluated, or NULL */
	struct dfg_nodes asserts, after; /* nodes that every new node comes after */
	struct dfg_name_counter streams; /* of random numbers, by scope */

	/* Where an error was seen: the innermost place, or where the user's text called the library. */
	bool is_placed;
	bool is_full;                          /* the error is that the limit of memory was reached */
	const struct dfg_source *wrong_source; /* NULL: the error is not in a text, and says itself where it is */
	uint32_t wrong_at;
	const char *inside;  /* "in dense (std:nn:14)", or NULL */
	const char *callers; /* a line for each of the innermost calls around the place, or NULL */
	uint32_t n_callers;

	struct dfg_region *region; /* where new nodes stand; NULL: the root */
	struct dfg_region **place; /* by node: that of its outputs but 1, that of output 1; the root behind the last */
	size_t placed, place_room;
	struct dfg_lang_loop *loop; /* whose body `yield` and `next` belong to, or NULL */
	bool under_if;              /* in that body */
	struct dfg_name_counter frames;
	struct dfg_nodes constants;      /* that loops and branches read */
	struct dfg_index unchanged;      /* nodes in conditions of loops that read only what does not change there */
	struct dfg_index constant_index; /* by their bytes */

	struct dfg_naming *naming; /* by node, of a program */
	size_t named, naming_room;
	struct dfg_cell **cell;
	size_t n_cell, cell_room;
	struct dfg_index cell_index; /* by path */
	struct dfg_held {            /* a state that the program holds by a handle, by the node that makes that */
		uint32_t maker;
		struct dfg_cell *end[2]; /* where a queue is put into, and taken from */
	} * held;
	size_t n_held, held_room;
};

/* evaluate.c */
DFG_MUST_CHECK struct dfg_err *dfg_eval_expr(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *tree, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_eval_tuple(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *tuple, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_eval_at(struct dfg_eval *eval, const struct dfg_tree *tree, struct dfg_err *err);
DFG_MUST_CHECK struct dfg_err *dfg_eval_warn(struct dfg_eval *eval, const struct dfg_tree *tree, const char *what);
DFG_MUST_CHECK struct dfg_err *dfg_eval_finish(struct dfg_eval *eval, struct dfg_err *err);
void dfg_eval_release(struct dfg_eval *eval);
const char *dfg_datum_words(struct dfg_eval *eval, const struct dfg_datum *datum);
bool dfg_datum_is_tensor(const struct dfg_datum *datum); /* or becomes one by being read */
bool dfg_datum_is_known(const struct dfg_datum *datum);  /* a number, bool or string, or lists of these */

/* Called before recursion over text or regions: an error where the stack has no room for more. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_room(void);

/* name_scope.c */
DFG_MUST_CHECK struct dfg_err *dfg_frame_new(
	struct dfg_eval *eval, struct dfg_name_scope *outer, struct dfg_name_scope **out_frame);
DFG_MUST_CHECK struct dfg_err *dfg_frame_put(
	struct dfg_arena *arena, struct dfg_name_scope *frame, const char *name, struct dfg_datum datum);
struct dfg_datum *dfg_frame_own(struct dfg_name_scope *frame, const char *name); /* NULL: not in this very frame */
struct dfg_datum *dfg_frame_find(struct dfg_name_scope *frame, const char *name);
/* The type that another language calls by this name (float32: f32), or NULL. */
const char *dfg_type_called(const char *name);
DFG_MUST_CHECK struct dfg_err *dfg_frame_unknown(struct dfg_eval *eval, struct dfg_name_scope *frame, const char *name);
/* The ports of an op's results, which a tuple is; else NULL. */
static inline const struct dfg_port *dfg_list_port(const struct dfg_datum *datum)
{
	return datum->list.origin ? datum->list.origin->port : NULL;
}
/* Records how deep and how large a list is, or refuses it: walks over lists recurse, and loops can double them for ever. */
DFG_MUST_CHECK struct dfg_err *dfg_list_grow(struct dfg_datum_list *list, uint32_t depth, uint64_t leaves);
DFG_MUST_CHECK struct dfg_err *dfg_list_from(
	struct dfg_eval *eval, const struct dfg_list_origin *origin, struct dfg_datum *datum);
/* n items, all of kind NONE. */
DFG_MUST_CHECK struct dfg_err *dfg_list_new(
	struct dfg_eval *eval, enum dfg_datum_kind kind, uint32_t n, struct dfg_datum *out_datum);

/* number.c: values known while building */
DFG_MUST_CHECK struct dfg_err *dfg_number_binary(
	enum dfg_operator operation, struct dfg_number a, struct dfg_number b, struct dfg_datum *out_datum);
enum dfg_dtype dfg_datum_natural(const struct dfg_datum *datum); /* f32, i32, bool, string: what it is when alone */
DFG_MUST_CHECK struct dfg_err *dfg_literal_new(
	struct dfg_eval *eval, const struct dfg_datum *datum, enum dfg_dtype dtype, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_literal_cast(
	struct dfg_eval *eval, const struct dfg_tensor *literal, enum dfg_dtype dtype, struct dfg_datum *out_datum);

/* materialise.c: from values to edges */
enum dfg_dtype dfg_datum_dtype(struct dfg_eval *eval, const struct dfg_datum *datum); /* DFG_NO_DTYPE: takes any */
DFG_MUST_CHECK struct dfg_err *dfg_to_edge(
	struct dfg_eval *eval, const struct dfg_datum *datum, enum dfg_dtype dtype, struct dfg_edge *out_edge);
const struct dfg_inferred *dfg_eval_fact(const struct dfg_eval *eval, struct dfg_edge edge);
/* What inference cannot see: the shape of the tensor is another. Before anything reads it. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_learn(
	struct dfg_eval *eval, struct dfg_edge edge, const struct dfg_shape *shape);
DFG_MUST_CHECK struct dfg_err *dfg_to_int(
	struct dfg_eval *eval, const struct dfg_datum *datum, const char *what, int64_t *out_value);

/* node.c: nodes */
DFG_MUST_CHECK struct dfg_err *dfg_eval_build(
	struct dfg_eval *eval, const struct dfg_new_node *node, enum dfg_naming_kind kind, uint32_t *out_node);
DFG_MUST_CHECK struct dfg_err *dfg_eval_build_as_is(
	struct dfg_eval *eval, const struct dfg_new_node *node, enum dfg_naming_kind kind, uint32_t *out_node);
DFG_MUST_CHECK struct dfg_err *dfg_eval_node(
	struct dfg_eval *eval, const char *op, const struct dfg_edge *in, uint32_t n_in, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_eval_const(
	struct dfg_eval *eval, const struct dfg_tensor *value, struct dfg_edge *out_edge);
DFG_MUST_CHECK struct dfg_err *dfg_eval_path(
	struct dfg_eval *eval, const char *scope, const char *name, const char **out_path);
DFG_MUST_CHECK struct dfg_err *dfg_counter_next(
	struct dfg_eval *eval, struct dfg_name_counter *counter, const char *name, const char **out_name);
void dfg_counter_release(struct dfg_name_counter *counter);
DFG_MUST_CHECK struct dfg_err *dfg_bind_node(struct dfg_eval *eval, uint32_t node, const char *path);

/* op.c: calls of ops */
struct dfg_arranged {
	const struct dfg_op *op;
	const struct dfg_signature *signature;
	const struct dfg_argument *port[DFG_PORT_MAX]; /* by input port */
	enum dfg_dtype param[DFG_PARAM_MAX];           /* types that follow from the arguments */
	struct dfg_attr *attr;
	uint32_t n_attr;
};
DFG_MUST_CHECK struct dfg_err *dfg_op_arrange(
	struct dfg_eval *eval, const struct dfg_op *op, const struct dfg_call_site *site, struct dfg_arranged *out);
DFG_MUST_CHECK struct dfg_err *dfg_op_inputs(
	struct dfg_eval *eval, const struct dfg_arranged *arranged, struct dfg_edge **out_edge, uint32_t *out_n);
DFG_MUST_CHECK struct dfg_err *dfg_op_apply(
	struct dfg_eval *eval, const struct dfg_op *op, const struct dfg_call_site *site, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_op_results(struct dfg_eval *eval, uint32_t node, struct dfg_datum *out_datum);

/* operators.c: operators, members, indices */
DFG_MUST_CHECK struct dfg_err *dfg_eval_binary(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *tree, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_eval_unary(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *tree, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_cast(
	struct dfg_eval *eval, const struct dfg_datum *datum, enum dfg_dtype dtype, struct dfg_datum *out_datum);

/* index.c */
DFG_MUST_CHECK struct dfg_err *dfg_eval_index(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *tree, struct dfg_datum *out_datum);

/* type.c: types of formals, inputs, results */
DFG_MUST_CHECK struct dfg_err *dfg_type_match(struct dfg_eval *eval, struct dfg_name_scope *frame,
	const struct dfg_tree *type, const char *name, struct dfg_datum *datum);
DFG_MUST_CHECK struct dfg_err *dfg_type_shape(struct dfg_eval *eval, struct dfg_name_scope *frame,
	const struct dfg_tree *type, enum dfg_dtype *out_dtype, struct dfg_shape *out_shape);
DFG_MUST_CHECK struct dfg_err *dfg_type_bind_dims(struct dfg_eval *eval, struct dfg_name_scope *frame,
	const struct dfg_tree *type, struct dfg_edge edge, const char *name);
bool dfg_type_is_static(const struct dfg_tree *type);

/* apply.c: functions and layers */
DFG_MUST_CHECK struct dfg_err *dfg_eval_call(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *tree, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_apply(struct dfg_eval *eval, const struct dfg_datum *callee,
	const struct dfg_call_site *site, struct dfg_datum *out_datum);

/* statement.c */
DFG_MUST_CHECK struct dfg_err *dfg_eval_block(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *block, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_declare_all(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *block);

DFG_MUST_CHECK struct dfg_err *dfg_nodes_add(struct dfg_nodes *nodes, uint32_t node);
DFG_MUST_CHECK struct dfg_err *dfg_eval_effect(struct dfg_eval *eval, uint32_t node);
DFG_MUST_CHECK struct dfg_err *dfg_eval_order(struct dfg_eval *eval); /* after a change of asserts or after */

/* A statement; those that only a program has are in declare.c. */
typedef struct dfg_err *dfg_statement_fn(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *tree);
dfg_statement_fn dfg_eval_input, dfg_eval_output, dfg_eval_target, dfg_eval_import, dfg_eval_const_declaration;
dfg_statement_fn dfg_eval_cell, dfg_eval_set; /* variable.c */
DFG_MUST_CHECK struct dfg_err *dfg_cell_new(
	struct dfg_eval *eval, const struct dfg_cell *like, const struct dfg_datum *initial, struct dfg_cell **out_cell);
struct dfg_cell *dfg_cell_find(struct dfg_eval *eval, const char *path);
DFG_MUST_CHECK struct dfg_err *dfg_cell_add(struct dfg_eval *eval, struct dfg_cell *cell);
DFG_MUST_CHECK struct dfg_err *dfg_cell_touch(struct dfg_eval *eval, struct dfg_cell *cell); /* before .now changes */
void dfg_cell_forget(struct dfg_cell *cell);                                                 /* as before any access */

/*
 * state.c: the order of ops on states. Before a node with these inputs is built, a control input for each node that it
 * comes after is added, and handles are those of the present region; *out_accesses is for the call after it.
 */
struct dfg_access {
	struct dfg_access *older;
	struct dfg_cell *cell;
	bool writes;
};
DFG_MUST_CHECK struct dfg_err *dfg_state_before(struct dfg_eval *eval, const struct dfg_arranged *arranged,
	struct dfg_edge **in, struct dfg_new_node *node, struct dfg_access **out_accesses);
DFG_MUST_CHECK struct dfg_err *dfg_state_after(struct dfg_eval *eval, const struct dfg_access *accesses, uint32_t node);

/* branch.c, loop.c: control flow that runs */
DFG_MUST_CHECK struct dfg_err *dfg_eval_if(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *tree, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_eval_case(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *tree, struct dfg_datum *out_datum);
DFG_MUST_CHECK struct dfg_err *dfg_eval_loop(
	struct dfg_eval *eval, struct dfg_name_scope *frame, const struct dfg_tree *tree, struct dfg_datum *out_datum);
dfg_statement_fn dfg_eval_yield, dfg_eval_next;

/* program.c: texts from files */
DFG_MUST_CHECK struct dfg_err *dfg_source_read(
	struct dfg_arena *arena, const char *path, struct dfg_source **out_source);
DFG_MUST_CHECK struct dfg_err *dfg_load_module(
	struct dfg_eval *eval, const char *path, struct dfg_name_scope **out_frame);

/* naming.c: every node of a program gets the name that the rules give it, in another graph. */
DFG_MUST_CHECK struct dfg_err *dfg_name_nodes(struct dfg_eval *eval, struct dfg_graph *out_graph);

/* std.c: the library, parsed once for the life of the program */
struct dfg_lang_library {
	struct dfg_arena arena;
	struct dfg_name_scope frame; /* all its functions and layers; outermost */
};
DFG_MUST_CHECK struct dfg_err *dfg_library_get(struct dfg_lang_library **out_library);
extern const struct dfg_builtin dfg_builtins[];
