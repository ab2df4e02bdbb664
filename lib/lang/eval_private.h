#pragma once

#include "lib/base/index.h"
#include "lib/lang/datum_private.h"
#include "lib/lang/lang.h"
#include "lib/lang/naming_private.h"
#include "lib/lang/node_private.h"

/*
 * Evaluation of a text. Its statements are evaluated straight into nodes: a value that is known while building is a
 * datum, all others are edges of the graph. In this folder a function that returns an error gives DFG_DATA for a mistake
 * in the text, without its location, which dfg_eval_at() adds, and DFG_MEMORY where memory is short; after an error the
 * evaluation can only be finished and released.
 */

/* A name that a formula assigns, one of the names on the left of one assignment. */
struct dfg_later {
	const struct dfg_tree *tree; /* the whole right side */
	struct dfg_name_scope *bindings;
	uint32_t part, parts; /* the number of the name among those on the left, and how many there are */
	enum { DFG_LATER_WAITS, DFG_LATER_RUNS, DFG_LATER_DONE } state;
	struct dfg_datum datum; /* valid once the state is DONE */
};

struct dfg_region;
struct dfg_lang_loop;
struct dfg_parallel;
struct dfg_target;
struct dfg_program;

/* The state of one evaluation. Its memory is in the arena, except for the arrays that dfg_eval_release() frees. */
struct dfg_eval {
	struct dfg_builder *builder;
	const struct dfg_lang_options *options; /* or NULL */
	struct dfg_arena *arena;
	uint64_t memory_limit;              /* bytes of the arena and the graph's together; 0: none */
	struct dfg_program *program;        /* NULL: a formula or an optimizer, whose nodes keep the builder's names */
	const struct dfg_source *source;    /* the text that is being evaluated */
	const char *scope;                  /* the prefix of new names, "" or "h/dense" */
	struct dfg_name_counter *instances; /* layers by name, of the layer that is being applied, or of the program */
	bool training;                      /* the value of `training` */
	int depth, calls;                   /* nested expressions, nested calls of functions */
	int64_t iterations, called;         /* iterations of `static for`, and calls of functions, so far */
	uint32_t effects;                   /* nodes that change something, so far */
	bool slots;                         /* an optimizer: its state is named SCOPE/NAME and marked _dfg_slot */
	struct dfg_nodes *changes;          /* collects the effects of the target or optimizer, or NULL */
	struct dfg_target *target;          /* the target that is being evaluated, or NULL */
	struct dfg_nodes asserts, after;    /* assertions, and nodes of `after`, that every new node comes after */
	struct dfg_name_counter streams;    /* streams of random numbers, by scope */

	const struct dfg_optimizer_rows *rows; /* an optimizer of rows, or NULL */
	struct dfg_shape row_part;             /* the shape of those of p */
	struct dfg_row_rule *rule;             /* that is applied to rows of a variable, or NULL: lib/lang/rule_private.h */

	/* The location of an error: that of the innermost expression or, for one in the library, of the user's call. */
	bool is_located;
	bool is_full;                          /* the error is that the memory limit was reached */
	const struct dfg_source *wrong_source; /* NULL: the error is not in a text, and names its location itself */
	uint32_t wrong_at;                     /* offset in wrong_source */
	const char *inside;                    /* "in dense (std:nn:14)", or NULL */
	const char *callers;                   /* a line for each of the innermost calls around the location, or NULL */
	uint32_t n_callers;

	struct dfg_region *region; /* the present region, which new nodes belong to; NULL: the root */
	struct dfg_region *
		*region_by_port; /* the region of output 1 of node n at 2 n + 1, that of its other outputs at 2 n */
	size_t n_region, region_capacity; /* nodes from `placed` on belong to the root */
	struct dfg_lang_loop *loop;       /* the loop whose body is being evaluated, or NULL */
	bool under_if;                    /* within an `if` of that body */
	struct dfg_parallel *parallel;    /* the `parallel for` whose body is being evaluated, or NULL */
	struct dfg_name_counter frames;
	struct dfg_nodes constants;      /* those of the root that loops and branches read */
	struct dfg_index constant_index; /* the same by the hash of their elements */
	struct dfg_index unchanged;      /* nodes in conditions of loops that have the same value in every iteration */

	struct dfg_naming *naming; /* by node, of a program */
	size_t named, naming_capacity;
	struct dfg_cell **cell; /* variables, and the ends of states that are held by a handle */
	size_t n_cell, cell_capacity;
	struct dfg_index cell_index; /* the same by path */
	struct dfg_handle_state {    /* a state that the program holds by a handle */
		uint32_t maker;          /* the node that makes the handle */
		struct dfg_cell *end[2]; /* of a queue: its input and its output */
	} * handle_state;
	size_t n_handle_states, handle_state_capacity;
};

/* Evaluates an expression. Sets the location of an error. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_expr(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree, struct dfg_datum *out_datum);

/* Evaluates a TUPLE tree: the value of its one expression, or a TUPLE of their values. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_tuple(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tuple, struct dfg_datum *out_datum);

/* Gives the error, if there is one and it has no location yet, the location of the tree; returns it. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_at(struct dfg_eval *eval, const struct dfg_tree *tree, struct dfg_err *err);

/* Reports a warning at the tree, unless it is in the embedded library. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_warn(struct dfg_eval *eval, const struct dfg_tree *tree, const char *what);

/* The error in its final form: FILE:LINE:COL, the line, a caret, the calls around it. Takes err, which may be NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_finish(struct dfg_eval *eval, struct dfg_err *err);

/* Frees the memory that is not the arena's. */
void dfg_eval_release(struct dfg_eval *eval);

/* To be called before recursion over text or regions. DFG_DATA: the thread's stack is nearly used up. */
DFG_MUST_CHECK struct dfg_err *dfg_eval_check_stack(void);
