#include "lib/exec/state/state.h"

#include "lib/base/mem.h"
#include "lib/exec/state/buffer_pool.h"
#include "lib/graph/kernel.h"

#include <string.h>

static const char variable_kind[] = "variable";

struct dfg_err *dfg_state_init(struct dfg_state *state)
{
	*state = (struct dfg_state){0};
	if (pthread_mutex_init(&state->lock, NULL))
		return dfg_no_memory("the resources of the session");
	return NULL;
}

void dfg_state_release(struct dfg_state *state)
{
	for (size_t i = 0; i < state->names.count; i++)
		dfg_resource_unref(state->resource[i]);
	dfg_free(state->resource);
	dfg_map_release(&state->names);
	pthread_mutex_destroy(&state->lock);
	*state = (struct dfg_state){0};
}

void dfg_state_join(struct dfg_state *state, struct dfg_state *common)
{
	state->common = common;
}

void dfg_state_use_copies(struct dfg_state *state, bool copies)
{
	state->copied = copies;
}

/* The state that has the variable of that name. */
static struct dfg_state *of_variable(struct dfg_state *state, const char *name)
{
	if (!state->common)
		return state;
	bool copied = state->copied && dfg_map_find(&state->names, name, strlen(name)) != DFG_NONE;
	return copied ? state : state->common;
}

static void free_variable(struct dfg_resource *resource)
{
	struct dfg_variable *variable = (struct dfg_variable *)resource;
	dfg_tensor_release(&variable->value);
	pthread_mutex_destroy(&variable->lock);
	dfg_free(variable);
}

/* The name is stored after the struct. */
static struct dfg_variable *new_variable(const char *name, enum dfg_dtype dtype, const struct dfg_shape *shape)
{
	size_t length = strlen(name);
	struct dfg_variable *variable = dfg_zeros(1, sizeof *variable + length + 1);
	if (!variable)
		return NULL;
	if (pthread_mutex_init(&variable->lock, NULL)) {
		dfg_free(variable);
		return NULL;
	}
	char *copy = memcpy(variable + 1, name, length + 1);
	variable->resource = (struct dfg_resource){.kind = variable_kind, .name = copy, .free = free_variable};
	atomic_init(&variable->resource.refs, 1);
	variable->dtype = dtype;
	variable->shape = *shape;
	return variable;
}

/* Takes the resource, whose name must be new. */
static struct dfg_err *add_resource(struct dfg_state *state, struct dfg_resource *resource)
{
	uint32_t number = (uint32_t)state->names.count;
	if (!dfg_reserve(&state->resource, &state->capacity, (size_t)number + 1, sizeof *state->resource) ||
		!dfg_map_put(&state->names, resource->name, strlen(resource->name), &number, NULL)) {
		dfg_resource_unref(resource);
		return dfg_no_memory("the resources of the session");
	}
	state->resource[number] = resource;
	return NULL;
}

static struct dfg_err *as_variable(struct dfg_resource *resource, struct dfg_variable **out_variable)
{
	if (!resource)
		return DFG_ERR(DFG_DATA, "the handle does not refer to a resource");
	if (resource->kind != variable_kind)
		return DFG_ERR(DFG_DATA, "'%s' is a %s, not a variable", resource->name, resource->kind);
	*out_variable = (struct dfg_variable *)resource;
	return NULL;
}

static struct dfg_err *check_same_type(
	const struct dfg_variable *variable, enum dfg_dtype dtype, const struct dfg_shape *shape)
{
	if (variable->dtype == dtype && dfg_shape_fits(&variable->shape, shape))
		return NULL;
	return DFG_ERR(DFG_DATA, "variable '%s' already exists as %s, not %s", variable->resource.name,
		dfg_type_words(variable->dtype, &variable->shape).s, dfg_type_words(dtype, shape).s);
}

static struct dfg_err *find_or_make(struct dfg_state *state, const char *name, enum dfg_dtype dtype,
	const struct dfg_shape *shape, struct dfg_variable **out_variable)
{
	uint32_t number = dfg_map_find(&state->names, name, strlen(name));
	if (number != DFG_NONE) {
		DFG_TRY(as_variable(state->resource[number], out_variable));
		return check_same_type(*out_variable, dtype, shape);
	}
	*out_variable = new_variable(name, dtype, shape);
	if (!*out_variable)
		return dfg_no_memory("the resources of the session");
	return add_resource(state, &(*out_variable)->resource);
}

struct dfg_err *dfg_state_variable(struct dfg_state *state, const char *name, enum dfg_dtype dtype,
	const struct dfg_shape *shape, struct dfg_variable **out_variable)
{
	state = of_variable(state, name);
	pthread_mutex_lock(&state->lock);
	struct dfg_err *err = find_or_make(state, name, dtype, shape, out_variable);
	pthread_mutex_unlock(&state->lock);
	return err;
}

struct dfg_variable *dfg_state_find(struct dfg_state *state, const char *name)
{
	state = of_variable(state, name);
	pthread_mutex_lock(&state->lock);
	uint32_t number = dfg_map_find(&state->names, name, strlen(name));
	struct dfg_resource *resource = number == DFG_NONE ? NULL : state->resource[number];
	pthread_mutex_unlock(&state->lock);
	return resource && resource->kind == variable_kind ? (struct dfg_variable *)resource : NULL;
}

struct dfg_resource *dfg_state_next_of(struct dfg_state *state, const char *kind, size_t *number)
{
	struct dfg_resource *found = NULL;
	pthread_mutex_lock(&state->lock);
	for (; *number < state->names.count && !found; ++*number)
		if (state->resource[*number]->kind == kind)
			found = state->resource[*number];
	pthread_mutex_unlock(&state->lock);
	return found;
}

bool dfg_state_next(struct dfg_state *state, size_t *number, struct dfg_variable **out_variable)
{
	*out_variable = NULL;
	state = state->common ? state->common : state;
	pthread_mutex_lock(&state->lock);
	for (; *number < state->names.count && !*out_variable; ++*number)
		if (state->resource[*number]->kind == variable_kind)
			*out_variable = (struct dfg_variable *)state->resource[*number];
	pthread_mutex_unlock(&state->lock);
	return *out_variable != NULL;
}

static struct dfg_err *not_set(const struct dfg_variable *variable)
{
	return DFG_ERR(DFG_DATA, "variable '%s' is not initialised", variable->resource.name);
}

struct dfg_err *dfg_variable_read(struct dfg_variable *variable, struct dfg_tensor *out_tensor)
{
	pthread_mutex_lock(&variable->lock);
	struct dfg_err *err = variable->set ? dfg_tensor_share(&variable->value, out_tensor) : not_set(variable);
	pthread_mutex_unlock(&variable->lock);
	return err;
}

struct dfg_err *dfg_variable_advance(struct dfg_variable *counter, uint64_t by, uint64_t *out_before)
{
	struct dfg_tensor next, old;
	DFG_TRY(dfg_tensor_new(DFG_U64, &DFG_SHAPE_SCALAR, &next));
	pthread_mutex_lock(&counter->lock);
	*out_before = counter->set ? *(const uint64_t *)counter->value.data : 0;
	*(uint64_t *)next.data = *out_before + by;
	old = counter->value;
	counter->value = next;
	counter->set = true;
	pthread_mutex_unlock(&counter->lock);
	dfg_tensor_release(&old);
	return NULL;
}

struct dfg_err *dfg_variable_assign(struct dfg_variable *variable, struct dfg_tensor *tensor)
{
	if (tensor->dtype != variable->dtype || !dfg_shape_fits(&tensor->shape, &variable->shape)) {
		struct dfg_err *err = DFG_ERR(DFG_DATA, "cannot assign %s to variable '%s', which is %s",
			dfg_type_words(tensor->dtype, &tensor->shape).s, variable->resource.name,
			dfg_type_words(variable->dtype, &variable->shape).s);
		dfg_tensor_release(tensor);
		return err;
	}
	pthread_mutex_lock(&variable->lock);
	struct dfg_tensor old = variable->value;
	variable->value = *tensor;
	variable->set = true;
	pthread_mutex_unlock(&variable->lock);
	dfg_tensor_release(&old);
	*tensor = (struct dfg_tensor){0};
	return NULL;
}

static struct dfg_err *own_variable(
	struct dfg_state *state, const struct dfg_variable *common, struct dfg_variable **out_variable)
{
	pthread_mutex_lock(&state->lock);
	struct dfg_err *err = find_or_make(state, common->resource.name, common->dtype, &common->shape, out_variable);
	pthread_mutex_unlock(&state->lock);
	return err;
}

struct dfg_err *dfg_state_copy(struct dfg_state *state, const char *name, bool *out_copied)
{
	struct dfg_variable *common = dfg_state_find(state->common, name), *copy;
	struct dfg_tensor value;
	*out_copied = common && common->set;
	if (!*out_copied)
		return NULL;
	DFG_TRY(own_variable(state, common, &copy));
	DFG_TRY(dfg_variable_read(common, &value));
	return dfg_variable_assign(copy, &value);
}

/*
 * Whether the buffer may be written: this is its only reference, and only the holder of the lock could share it. A
 * buffer with a release function of its own may be a read-only file mapping.
 */
static bool writable(const struct dfg_tensor *tensor)
{
	const struct dfg_buffer *buffer = tensor->buffer;
	return buffer && (!buffer->release || dfg_buffer_pool_own(buffer)) &&
		   atomic_load_explicit(&buffer->refs, memory_order_acquire) == 1;
}

static struct dfg_err *make_writable(struct dfg_variable *variable)
{
	if (!variable->set)
		return not_set(variable);
	if (writable(&variable->value))
		return NULL;
	struct dfg_tensor copy;
	DFG_TRY(dfg_tensor_copy(&variable->value, &copy));
	dfg_tensor_release(&variable->value);
	variable->value = copy;
	return NULL;
}

struct dfg_err *dfg_variable_lock(struct dfg_variable *variable, struct dfg_tensor **out_tensor)
{
	pthread_mutex_lock(&variable->lock);
	struct dfg_err *err = make_writable(variable);
	if (err)
		pthread_mutex_unlock(&variable->lock);
	else
		*out_tensor = &variable->value;
	return err;
}

void dfg_variable_unlock(struct dfg_variable *variable)
{
	pthread_mutex_unlock(&variable->lock);
}

struct dfg_err *dfg_kernel_variable(struct dfg_kernel *ctx, int i, struct dfg_variable **out_variable)
{
	if ((*out_variable = ctx->host->ref(ctx, i)))
		return NULL;
	const struct dfg_tensor *handle = dfg_kernel_input(ctx, i);
	if (handle->dtype != DFG_RESOURCE || dfg_shape_count(&handle->shape) != 1)
		return DFG_ERR(DFG_DATA, "input %d is not the handle of a variable", i);
	return as_variable(*(struct dfg_resource **)handle->data, out_variable);
}

static struct dfg_err *find_resource(struct dfg_state *state, const char *name, const char *kind,
	dfg_resource_make *make, void *arg, struct dfg_resource **out_resource)
{
	uint32_t number = dfg_map_find(&state->names, name, strlen(name));
	*out_resource = number == DFG_NONE ? NULL : state->resource[number];
	if (*out_resource && (*out_resource)->kind != kind)
		return DFG_ERR(DFG_DATA, "'%s' is a %s, not a %s", name, (*out_resource)->kind, kind);
	if (*out_resource)
		return NULL;
	if (state->common)
		return dfg_state_resource(state->common, name, kind, make, arg, out_resource);
	DFG_TRY(make(arg, name, out_resource));
	return add_resource(state, *out_resource);
}

struct dfg_err *dfg_state_resource(struct dfg_state *state, const char *name, const char *kind, dfg_resource_make *make,
	void *arg, struct dfg_resource **out_resource)
{
	pthread_mutex_lock(&state->lock);
	struct dfg_err *err = find_resource(state, name, kind, make, arg, out_resource);
	pthread_mutex_unlock(&state->lock);
	return err;
}
