#pragma once

#include "lib/base/map.h"
#include "lib/graph/tensor.h"

#include <pthread.h>

/*
 * What lives from step to step in a session, by name: variables here; queues and others join by kind.
 *
 * A variable holds a tensor whose buffer is counted. Reading takes a reference; writing makes sure first that nobody
 * else holds one (copy on write), so a value that was read never changes.
 */
struct dfg_variable {
	struct dfg_resource resource;
	pthread_mutex_t lock;
	enum dfg_dtype dtype;
	struct dfg_shape shape; /* declared; may be unknown in part */
	bool set;
	struct dfg_tensor value;
};

struct dfg_state {
	pthread_mutex_t lock;
	struct dfg_map names;           /* "container/shared name", borrowed from the resource */
	struct dfg_resource **resource; /* by number */
	size_t room;
};

DFG_MUST_CHECK struct dfg_err *dfg_state_init(struct dfg_state *state);
void dfg_state_release(struct dfg_state *state);

/* Finds or makes the variable; DFG_DATA where it is there with another dtype or a shape that does not fit. Borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_state_variable(struct dfg_state *state, const char *name, enum dfg_dtype dtype,
	const struct dfg_shape *shape, struct dfg_variable **out_variable);

/* Finds the resource, or makes it with one reference, which the state keeps; DFG_DATA where it is of another kind. Borrowed. */
typedef struct dfg_err *dfg_resource_make(void *arg, const char *name, struct dfg_resource **out_resource);
DFG_MUST_CHECK struct dfg_err *dfg_state_resource(struct dfg_state *state, const char *name, const char *kind,
	dfg_resource_make *make, void *arg, struct dfg_resource **out_resource);

/* The variable of that name, borrowed; NULL where there is none. */
struct dfg_variable *dfg_state_find(struct dfg_state *state, const char *name);

/* A reference to the value; DFG_DATA, naming the variable, where it is not set. */
DFG_MUST_CHECK struct dfg_err *dfg_variable_read(struct dfg_variable *variable, struct dfg_tensor *out_tensor);

/* The new value; takes the tensor (which must have a buffer), also where it fails: dtype or shape do not fit. */
DFG_MUST_CHECK struct dfg_err *dfg_variable_assign(struct dfg_variable *variable, struct dfg_tensor *tensor);

/*
 * Locks the variable and lends its tensor for writing in place: nobody else sees its elements until unlock. DFG_DATA,
 * and not locked, where it is not set.
 */
DFG_MUST_CHECK struct dfg_err *dfg_variable_lock(struct dfg_variable *variable, struct dfg_tensor **out_tensor);
void dfg_variable_unlock(struct dfg_variable *variable);

struct dfg_kernel;

/* The variable that input i, a handle or a ref, refers to; DFG_DATA where it refers to something else. */
DFG_MUST_CHECK struct dfg_err *dfg_kernel_variable(struct dfg_kernel *ctx, int i, struct dfg_variable **out_variable);
