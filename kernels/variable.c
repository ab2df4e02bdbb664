/* Variables: creation, reading and assignment, as refs (Variable, Assign) and as resources (VarHandleOp). */
#include "kernels/variable.h"

#include "kernels/shape_rules.h"
#include "lib/base/text.h"

#include <string.h>

extern const struct dfg_op dfg_op_Add, dfg_op_Sub;

/* Attributes of the ops that create a variable; VarHandleOp has more after these. */
enum { SHAPE, CONTAINER, SHARED_NAME };

struct dfg_err *dfg_shared_name(
	struct dfg_kernel *ctx, struct dfg_string container, struct dfg_string name, struct dfg_text *out_name)
{
	*out_name = (struct dfg_text){0};
	if (!ctx->host->state(ctx))
		return DFG_ERR(DFG_DATA, "%s requires a session", ctx->call->op->name);
	if (!name.length && !container.length)
		name = (struct dfg_string){ctx->call->node, strlen(ctx->call->node)};
	dfg_text_put(out_name, container.s, container.length);
	if (container.length)
		dfg_text_put(out_name, "/", 1);
	dfg_text_put(out_name, name.s, name.length);
	return dfg_text_check(out_name);
}

static struct dfg_err *find_variable(
	struct dfg_kernel *ctx, const struct dfg_shape *shape, struct dfg_variable **out_variable)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_text name;
	struct dfg_err *err = dfg_shared_name(ctx, attr[CONTAINER].s, attr[SHARED_NAME].s, &name);
	if (!err)
		err = dfg_state_variable(ctx->host->state(ctx), name.s, ctx->call->param[0].dtype, shape, out_variable);
	dfg_text_release(&name);
	return err;
}

static struct dfg_err *set_holds(struct dfg_infer *node, const struct dfg_shape *shape)
{
	struct dfg_handle_type *holds = dfg_arena_zeros(node->arena, 1, sizeof *holds);
	if (!holds)
		return dfg_no_memory("the type of a variable");
	*holds = (struct dfg_handle_type){node->call->param[0].dtype, *shape, NULL};
	node->out_holds[0] = holds;
	return NULL;
}

static struct dfg_err *handle_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return set_holds(node, node->call->attr[SHAPE].shape);
}

static struct dfg_err *handle_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor *out;
	DFG_TRY(find_variable(ctx, dfg_kernel_attr(ctx)[SHAPE].shape, &variable));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	struct dfg_resource **slot = out->data, *old = *slot;
	*slot = dfg_resource_ref(&variable->resource);
	dfg_resource_unref(old);
	return NULL;
}

const struct dfg_op dfg_op_VarHandleOp = {
	.name = "VarHandleOp",
	.doc = "a handle to the variable named by shared_name",
	.sig = "<dtype: type>() -> (resource: resource)",
	.attr = {[SHAPE] = "shape: shape",
		[CONTAINER] = "container: string = ''",
		[SHARED_NAME] = "shared_name: string = ''",
		"debug_name: string = ''",
		"allowed_devices: list(string) = []"},
	.flags = DFG_STATEFUL | DFG_NO_GRADIENT,
	.role = DFG_VARIABLE,
	.shape = handle_shape,
	.run = handle_run,
};

/* The shape [] of Variable, the oldest op, means any shape. */
static struct dfg_shape declared(const struct dfg_resolved_node *call)
{
	const struct dfg_shape *shape = call->attr[SHAPE].shape;
	return !shape->rank && !strcmp(call->op->name, "Variable") ? DFG_SHAPE_UNKNOWN : *shape;
}

static struct dfg_err *ref_shape(struct dfg_infer *node)
{
	node->out[0] = declared(node->call);
	return set_holds(node, &node->out[0]);
}

static struct dfg_err *ref_run(struct dfg_kernel *ctx)
{
	struct dfg_shape shape = declared(ctx->call);
	struct dfg_variable *variable;
	DFG_TRY(find_variable(ctx, &shape, &variable));
	return ctx->host->give_ref(ctx, 0, variable);
}

#define REF_VARIABLE(Op)                                                                 \
	const struct dfg_op dfg_op_##Op = {                                                  \
		.name = #Op,                                                                     \
		.doc = "a ref to the variable named by shared_name, or else by the node's name", \
		.sig = "<dtype: type>() -> (ref: ref dtype)",                                    \
		.attr = {[SHAPE] = "shape: shape",                                               \
			[CONTAINER] = "container: string = ''",                                      \
			[SHARED_NAME] = "shared_name: string = ''"},                                 \
		.flags = DFG_STATEFUL | DFG_NO_GRADIENT,                                         \
		.role = DFG_VARIABLE,                                                            \
		.shape = ref_shape,                                                              \
		.run = ref_run,                                                                  \
	};
REF_VARIABLE(VariableV2)
REF_VARIABLE(Variable)

static struct dfg_err *read_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_check_variable_dtype(node));
	node->out[0] = dfg_variable_shape(node, 0);
	return NULL;
}

static struct dfg_err *read_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor value;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	if (variable->dtype != (enum dfg_dtype)ctx->call->out_dtype[0])
		return DFG_ERR(DFG_DATA, "variable '%s' is %s, expected %s", variable->resource.name,
			dfg_dtype_name(variable->dtype), dfg_dtype_name(ctx->call->out_dtype[0]));
	DFG_TRY(dfg_variable_read(variable, &value));
	return ctx->host->give(ctx, 0, &value);
}

const struct dfg_op dfg_op_ReadVariableOp = {
	.name = "ReadVariableOp",
	.doc = "the value of a variable",
	.sig = "<dtype: type>(resource: resource) -> (value: dtype)",
	.flags = DFG_STATEFUL | DFG_READS | DFG_ANY_RANK,
	.role = DFG_READ,
	.shape = read_shape,
	.gradient = "dresource = dvalue",
	.run = read_run,
};

static struct dfg_err *fit_value(const struct dfg_infer *node)
{
	DFG_TRY(dfg_check_variable_dtype(node));
	struct dfg_shape shape = dfg_variable_shape(node, 0);
	if (!dfg_shape_fits(&shape, node->in[1]))
		return DFG_ERR(DFG_DATA, "cannot assign %s to a variable of %s", dfg_shape_words(node->in[1]).s,
			dfg_shape_words(&shape).s);
	return NULL;
}

static struct dfg_err *assign_handle_shape(struct dfg_infer *node)
{
	return fit_value(node);
}

static struct dfg_err *assign_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor value;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	DFG_TRY(ctx->host->keep(ctx, 1, &value));
	DFG_TRY(dfg_variable_assign(variable, &value));
	return dfg_give_back(ctx, variable);
}

const struct dfg_op dfg_op_AssignVariableOp = {
	.name = "AssignVariableOp",
	.doc = "sets a variable to value",
	.sig = "<dtype: type>(resource: resource, value: dtype) -> ()",
	.attr = {"validate_shape: bool = false"},
	.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.role = DFG_ASSIGN,
	.shape = assign_handle_shape,
	.run = assign_run,
};

enum { VALIDATE_SHAPE };

static struct dfg_err *assign_ref_shape(struct dfg_infer *node)
{
	bool validate = node->call->attr[VALIDATE_SHAPE].b;
	if (validate)
		DFG_TRY(fit_value(node));
	node->out[0] = validate ? dfg_shape_merge(node->in[0], node->in[1]) : *node->in[1];
	node->out_holds[0] = node->in_holds[0];
	return NULL;
}

/* With validate_shape = false the variable's shape is unknown afterwards. */
static struct dfg_err *assign_ref_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	if (!dfg_kernel_attr(ctx)[VALIDATE_SHAPE].b) {
		pthread_mutex_lock(&variable->lock);
		variable->shape = DFG_SHAPE_UNKNOWN;
		pthread_mutex_unlock(&variable->lock);
	}
	return assign_run(ctx);
}

const struct dfg_op dfg_op_Assign = {
	.name = "Assign",
	.doc = "sets a variable to value",
	.sig = "<T: type>(ref: ref T, value: T) -> (output_ref: ref T)",
	.attr = {[VALIDATE_SHAPE] = "validate_shape: bool = true", "use_locking: bool = true"},
	.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.role = DFG_ASSIGN,
	.shape = assign_ref_shape,
	.run = assign_ref_run,
};

/* An update of all elements by those of a tensor of the same shape. */
struct change {
	dfg_row_fn *row;
	const struct dfg_tensor *value;
	struct dfg_tensor *variable;
};

static void change_range(void *arg, int64_t first, int64_t last)
{
	const struct change *change = arg;
	dfg_combine(change->row, change->variable->dtype, last - first, dfg_tensor_at(change->variable, first),
		dfg_tensor_at(change->value, first));
}

static struct dfg_err *change_run(struct dfg_kernel *ctx, const struct dfg_op *op)
{
	struct dfg_variable *variable;
	struct change change = {.value = dfg_kernel_input(ctx, 1)};
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	DFG_TRY(dfg_row_of(op, variable->dtype, &change.row));
	DFG_TRY(dfg_variable_lock(variable, &change.variable));
	bool fits =
		change.variable->dtype == change.value->dtype && dfg_shape_equal(&change.variable->shape, &change.value->shape);
	struct dfg_words is = dfg_type_words(change.variable->dtype, &change.variable->shape);
	if (fits)
		dfg_kernel_ranges(ctx, dfg_shape_count(&change.value->shape), 32 * 1024, change_range, &change);
	dfg_variable_unlock(variable);
	if (!fits)
		return DFG_ERR(DFG_DATA, "variable '%s' is %s, and cannot be updated by %s", variable->resource.name, is.s,
			dfg_type_words(change.value->dtype, &change.value->shape).s);
	return dfg_give_back(ctx, variable);
}

static struct dfg_err *change_shape(struct dfg_infer *node)
{
	DFG_TRY(fit_value(node));
	return dfg_shape_of_ref(node);
}

static struct dfg_err *add_run(struct dfg_kernel *ctx)
{
	return change_run(ctx, &dfg_op_Add);
}

static struct dfg_err *sub_run(struct dfg_kernel *ctx)
{
	return change_run(ctx, &dfg_op_Sub);
}

#define CHANGE(Op, signature, fn, text, ...)                                 \
	const struct dfg_op dfg_op_##Op = {.name = #Op,                          \
		.doc = text,                                                         \
		.sig = signature,                                                    \
		.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT, \
		.combines = DFG_MEANS_SUM,                                           \
		.shape = change_shape,                                               \
		.run = fn,                                                           \
		__VA_ARGS__};
#define LOCKING .attr = {"use_locking: bool = false"}
CHANGE(AssignAddVariableOp, "<dtype: numeric>(resource: resource, value: dtype) -> ()", add_run,
	"adds value to a variable", )
CHANGE(AssignSubVariableOp, "<dtype: numeric>(resource: resource, value: dtype) -> ()", sub_run,
	"subtracts value from a variable", )
CHANGE(AssignAdd, "<T: numeric>(ref: ref T, value: T) -> (output_ref: ref T)", add_run, "adds value to a variable",
	LOCKING)
CHANGE(AssignSub, "<T: numeric>(ref: ref T, value: T) -> (output_ref: ref T)", sub_run,
	"subtracts value from a variable", LOCKING)

static struct dfg_err *scalar_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *is_set_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor *out;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	pthread_mutex_lock(&variable->lock);
	*(bool *)out->data = variable->set;
	pthread_mutex_unlock(&variable->lock);
	return NULL;
}

#define IS_SET(Op, signature)                                               \
	const struct dfg_op dfg_op_##Op = {                                     \
		.name = #Op,                                                        \
		.doc = "whether a variable has a value",                            \
		.sig = signature,                                                   \
		.flags = DFG_STATEFUL | DFG_READS | DFG_ANY_RANK | DFG_NO_GRADIENT, \
		.shape = scalar_shape,                                              \
		.run = is_set_run,                                                  \
	};
IS_SET(VarIsInitializedOp, "(resource: resource) -> (is_initialized: bool)")
IS_SET(IsVariableInitialized, "<dtype: type>(ref: ref dtype) -> (is_initialized: bool)")

static struct dfg_err *shape_shape(struct dfg_infer *node)
{
	struct dfg_shape shape = dfg_variable_shape(node, 0);
	node->out[0] = DFG_SHAPE_VECTOR(shape.rank < 0 ? DFG_UNKNOWN : shape.rank);
	return NULL;
}

static struct dfg_err *shape_known(struct dfg_infer *node)
{
	struct dfg_shape shape = dfg_variable_shape(node, 0);
	struct dfg_known_value *known;
	if (shape.rank < 0)
		return NULL;
	DFG_TRY(dfg_known_new(node, 0, 1, shape.rank, &known));
	for (int d = 0; known && d < shape.rank; d++)
		known->v[d] = shape.dim[d] < 0 ? DFG_NOT_KNOWN : shape.dim[d];
	return NULL;
}

static struct dfg_err *shape_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	struct dfg_tensor value, *out;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	DFG_TRY(dfg_variable_read(variable, &value));
	struct dfg_shape shape = value.shape;
	dfg_tensor_release(&value);
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(shape.rank), &out));
	dfg_convert(out->dtype, out->data, DFG_I64, shape.dim, shape.rank);
	return NULL;
}

const struct dfg_op dfg_op_VariableShape = {
	.name = "VariableShape",
	.doc = "the shape of a variable's value",
	.sig = "<out_type: index = i32>(input: resource) -> (output: out_type)",
	.flags = DFG_STATEFUL | DFG_READS | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = shape_shape,
	.known = shape_known,
	.run = shape_run,
};

static struct dfg_err *nothing(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

static struct dfg_err *no_copy_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	return dfg_kernel_variable(ctx, 0, &variable);
}

const struct dfg_op dfg_op_DisableCopyOnRead = {
	.name = "DisableCopyOnRead",
	.doc =
		"ends the copies that TensorFlow may make of a variable when it is read; here values that were read never "
		"change",
	.sig = "(resource: resource) -> ()",
	.flags = DFG_STATEFUL | DFG_READS | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = nothing,
	.run = no_copy_run,
};

static struct dfg_err *destroy_run(struct dfg_kernel *ctx)
{
	struct dfg_variable *variable;
	DFG_TRY(dfg_kernel_variable(ctx, 0, &variable));
	pthread_mutex_lock(&variable->lock);
	variable->set = false;
	dfg_tensor_release(&variable->value);
	pthread_mutex_unlock(&variable->lock);
	return NULL;
}

const struct dfg_op dfg_op_DestroyResourceOp = {
	.name = "DestroyResourceOp",
	.doc = "frees a variable's value",
	.sig = "(resource: resource) -> ()",
	.attr = {"ignore_lookup_error: bool = true"},
	.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = nothing,
	.run = destroy_run,
};
