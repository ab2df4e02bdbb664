/*
 * Variables for the length of a step: one execution of TemporaryVariable makes the value, and DestroyTemporaryVariable takes
 * it after the last change.
 */
#include "kernels/variable.h"

#include <string.h>

enum { SHAPE, VAR_NAME };

/* The name in the session of the variable that a node calls `name`; the caller frees it, also on error. */
static struct dfg_err *name_of(struct dfg_kernel *ctx, struct dfg_string name, struct dfg_text *out_name)
{
	*out_name = (struct dfg_text){0};
	if (!ctx->host->state(ctx))
		return DFG_ERR(DFG_DATA, "%s requires a session", ctx->call->op->name);
	if (!name.length)
		name = (struct dfg_string){ctx->call->node, strlen(ctx->call->node)};
	dfg_text_add(out_name, "dfg/temporary/%.*s", (int)name.length, name.s);
	return dfg_text_check(out_name);
}

static struct dfg_err *make_shape(struct dfg_infer *node)
{
	struct dfg_handle_type *holds = dfg_arena_zeros(node->arena, 1, sizeof *holds);
	const struct dfg_shape *shape = node->call->attr[SHAPE].shape;
	if (!holds)
		return dfg_no_memory("the type of a variable");
	if (!dfg_shape_known(shape))
		return DFG_ERR(DFG_DATA, "shape is %s, which must be known", dfg_shape_words(shape).s);
	*holds = (struct dfg_handle_type){node->call->param[0].dtype, *shape, NULL};
	node->out_holds[0] = holds;
	node->out[0] = *shape;
	return NULL;
}

/* A value that was not taken is one of another iteration or step that runs now, which must not be lost. */
static struct dfg_err *set_value(struct dfg_variable *variable, struct dfg_tensor *value)
{
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&variable->lock);
	if (variable->set)
		err = DFG_ERR(DFG_DATA,
			"temporary variable '%s' is in use: it serves one iteration and one step at a time, and is free after "
			"DestroyTemporaryVariable",
			variable->resource.name + strlen("dfg/temporary/"));
	else
		variable->value = *value;
	variable->set = true;
	pthread_mutex_unlock(&variable->lock);
	if (err)
		dfg_tensor_release(value);
	return err;
}

static struct dfg_err *make_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const enum dfg_dtype dtype = ctx->call->param[0].dtype;
	struct dfg_variable *variable = NULL;
	struct dfg_tensor value;
	struct dfg_text name;
	struct dfg_err *err = name_of(ctx, attr[VAR_NAME].s, &name);
	if (!err)
		err = dfg_state_variable(ctx->host->state(ctx), name.s, dtype, attr[SHAPE].shape, &variable);
	dfg_text_release(&name);
	DFG_TRY(err);
	DFG_TRY(dfg_tensor_new(dtype, attr[SHAPE].shape, &value));
	memset(value.data, 0, dfg_tensor_bytes(&value));
	DFG_TRY(set_value(variable, &value));
	return ctx->host->give_ref(ctx, 0, variable);
}

const struct dfg_op dfg_op_TemporaryVariable = {
	.name = "TemporaryVariable",
	.doc = "a ref to a variable of zeros, which lasts until DestroyTemporaryVariable of that var_name",
	.sig = "<dtype: plain|half>() -> (ref: ref dtype)",
	.attr = {[SHAPE] = "shape: shape", [VAR_NAME] = "var_name: string = ''"},
	.flags = DFG_STATEFUL | DFG_NO_GRADIENT,
	.shape = make_shape,
	.run = make_run,
};

static struct dfg_err *take_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

static struct dfg_err *check_name(struct dfg_kernel *ctx, const struct dfg_variable *variable)
{
	struct dfg_text name;
	struct dfg_err *err = name_of(ctx, dfg_kernel_attr(ctx)[0].s, &name);
	if (!err && strcmp(name.s, variable->resource.name))
		err = DFG_ERR(DFG_DATA, "the ref is of variable '%s', expected the temporary one of var_name '%s'",
			variable->resource.name, name.s + strlen("dfg/temporary/"));
	dfg_text_release(&name);
	return err;
}

static struct dfg_err *take_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor value;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	DFG_TRY(check_name(ctx, variable));
	DFG_TRY(dfg_variable_read(variable, &value));
	pthread_mutex_lock(&variable->lock);
	variable->set = false;
	dfg_tensor_release(&variable->value);
	pthread_mutex_unlock(&variable->lock);
	return ctx->host->give(ctx, 0, &value);
}

const struct dfg_op dfg_op_DestroyTemporaryVariable = {
	.name = "DestroyTemporaryVariable",
	.doc = "the last value of a temporary variable, which it frees",
	.sig = "<T: plain|half>(ref: ref T) -> (value: T)",
	.attr = {"var_name: string"},
	.flags = DFG_STATEFUL | DFG_READS | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = take_shape,
	.run = take_run,
};
