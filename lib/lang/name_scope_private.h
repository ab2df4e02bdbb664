#pragma once

#include "lib/base/index.h"
#include "lib/lang/datum_private.h"

/* Names and their values. A name that is not in a scope is looked up in the outer ones. */
struct dfg_name_scope {
	struct dfg_name_scope *outer;
	struct dfg_name_entry {
		const char *name;
		struct dfg_datum datum;
	} * entry;
	uint32_t n, capacity;
	struct dfg_index index; /* entries by name; empty while there are few */
	/* The scope of an arm of an `if` or of a loop's body cannot bind a name of an outer scope anew. */
	enum { DFG_SCOPE_OWN, DFG_SCOPE_BRANCH, DFG_SCOPE_LOOP } kind;
};

/* An empty scope of kind DFG_FRAME_OWN within `outer`, which may be NULL; in the evaluator's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_name_scope_new(
	struct dfg_eval *eval, struct dfg_name_scope *outer, struct dfg_name_scope **out_bindings);

/* Binds the name in this scope, or binds it anew. The name is borrowed and must live as long as the scope. */
DFG_MUST_CHECK struct dfg_err *dfg_name_scope_put(
	struct dfg_arena *arena, struct dfg_name_scope *bindings, const char *name, struct dfg_datum datum);

/* The value of the name in this scope itself, or NULL; valid until the next name is bound in it. */
struct dfg_datum *dfg_name_scope_own(struct dfg_name_scope *bindings, const char *name);

/* The value of the name in this scope or the nearest outer one that has it, or NULL; valid as above. */
struct dfg_datum *dfg_name_scope_find(struct dfg_name_scope *bindings, const char *name);

/* The DFG_DATA error for a name that no scope has: with the nearest spelling, or the name of the type that is meant. */
DFG_MUST_CHECK struct dfg_err *dfg_name_scope_unknown(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const char *name);
