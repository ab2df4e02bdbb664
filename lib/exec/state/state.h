#pragma once

#include "lib/base/map.h"
#include "lib/graph/tensor.h"
#include "lib/graph/tensor_files.h"

#include <pthread.h>

/*
 * The state that lives from step to step in a session, by name: variables and other resources (queues and so on), each
 * of a kind.
 *
 * A variable holds a tensor whose buffer is counted. Reading takes a reference; writing first makes sure that there is
 * no other reference (copy on write), so a value that was read never changes.
 */
struct dfg_variable {
	struct dfg_resource resource;
	pthread_mutex_t lock;
	enum dfg_dtype dtype;
	struct dfg_shape shape; /* declared; may be partly unknown */
	bool set;
	struct dfg_tensor value;
};

struct dfg_state {
	const struct dfg_tensor_files *files; /* for ops that save and restore tensors; NULL: they are refused */
	pthread_mutex_t lock;
	struct dfg_map names;           /* "container/shared name", borrowed from the resource */
	struct dfg_resource **resource; /* owned, by number */
	size_t capacity;
	struct dfg_state *common; /* NULL: the state is of one session */
	bool copied;              /* variables that the state has itself are meant, not those in common */
};

DFG_MUST_CHECK struct dfg_err *dfg_state_init(struct dfg_state *state);
void dfg_state_release(struct dfg_state *state);

/*
 * From now on all variables, and the resources that the state does not have yet, are those of another state, which several
 * states may have in common; it is borrowed.
 */
void dfg_state_join(struct dfg_state *state, struct dfg_state *common);

/*
 * Copies a variable that this state shares with the one that it has joined, if the variable is set. While
 * dfg_state_use_copies(state, true) is in force, reads of copied variables give the copies. Neither may be called during a step.
 */
DFG_MUST_CHECK struct dfg_err *dfg_state_copy(struct dfg_state *state, const char *name, bool *out_copied);
void dfg_state_use_copies(struct dfg_state *state, bool copies);

/* Finds or creates the variable. DFG_DATA if it exists with another dtype or a shape that does not fit. Borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_state_variable(struct dfg_state *state, const char *name, enum dfg_dtype dtype,
	const struct dfg_shape *shape, struct dfg_variable **out_variable);

/*
 * Finds the resource, or creates it with one reference, which the state keeps. DFG_DATA if it is of another kind.
 * Borrowed.
 */
typedef struct dfg_err *dfg_resource_make(void *arg, const char *name, struct dfg_resource **out_resource);
DFG_MUST_CHECK struct dfg_err *dfg_state_resource(struct dfg_state *state, const char *name, const char *kind,
	dfg_resource_make *make, void *arg, struct dfg_resource **out_resource);

/* The variable of that name, borrowed; NULL if there is none. */
struct dfg_variable *dfg_state_find(struct dfg_state *state, const char *name);

/* The next variable, from *number = 0 on, borrowed; false: there are no more. */
bool dfg_state_next(struct dfg_state *state, size_t *number, struct dfg_variable **out_variable);

/* The next resource of the kind, from *number = 0 on, borrowed; NULL: there are no more. */
struct dfg_resource *dfg_state_next_of(struct dfg_state *state, const char *kind, size_t *number);

/* A reference to the value. DFG_DATA, naming the variable, if it is not initialised. */
DFG_MUST_CHECK struct dfg_err *dfg_variable_read(struct dfg_variable *variable, struct dfg_tensor *out_tensor);

/*
 * Adds to a counter: a u64 scalar, 0 if it is not initialised. *out_before: its value before. The sum gets a new tensor,
 * because the old one may have readers.
 */
DFG_MUST_CHECK struct dfg_err *dfg_variable_advance(struct dfg_variable *counter, uint64_t by, uint64_t *out_before);

/* Assigns the value. Takes the tensor (which must have a buffer), also on error: dtype or shape do not fit. */
DFG_MUST_CHECK struct dfg_err *dfg_variable_assign(struct dfg_variable *variable, struct dfg_tensor *tensor);

/*
 * Locks the variable and lends its tensor for writing in place: its elements are not visible elsewhere until unlock.
 * DFG_DATA, without the lock, if the variable is not initialised.
 */
DFG_MUST_CHECK struct dfg_err *dfg_variable_lock(struct dfg_variable *variable, struct dfg_tensor **out_tensor);
void dfg_variable_unlock(struct dfg_variable *variable);

struct dfg_kernel;

/* The variable that input i, a handle or a ref, refers to. DFG_DATA if it refers to another kind of resource. */
DFG_MUST_CHECK struct dfg_err *dfg_kernel_variable(struct dfg_kernel *ctx, int i, struct dfg_variable **out_variable);
