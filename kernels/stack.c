/* Stacks, in which TensorFlow's gradients of loops save values. Edges order pushes and pops. */
#include "kernels/resource.h"

#include <inttypes.h>
#include <pthread.h>

struct stack {
	struct dfg_object object;
	pthread_mutex_t lock;
	enum dfg_dtype dtype;
	int64_t most; /* elements; < 0: unlimited */
	bool closed;
	size_t count, allocated;
	struct dfg_tensor *element;
};

static void drop_elements(struct stack *stack)
{
	while (stack->count)
		dfg_tensor_release(&stack->element[--stack->count]);
	dfg_free(stack->element);
	stack->element = NULL;
	stack->allocated = 0;
}

static void free_stack(struct dfg_resource *resource)
{
	struct stack *stack = (struct stack *)resource;
	drop_elements(stack);
	pthread_mutex_destroy(&stack->lock);
	dfg_free(stack);
}

static struct dfg_err *new_run(struct dfg_kernel *ctx)
{
	struct stack *stack;
	int64_t most;
	DFG_TRY(dfg_element_index(ctx, 0, &most));
	DFG_TRY(dfg_object_new(sizeof *stack, dfg_stack_kind, ctx->call->node, &stack));
	if (pthread_mutex_init(&stack->lock, NULL)) {
		dfg_free(stack);
		return dfg_no_memory("a stack");
	}
	stack->object.resource.free = free_stack;
	stack->object.level = 2;
	stack->dtype = ctx->call->param[0].dtype;
	stack->most = most;
	return dfg_object_out(ctx, 0, &stack->object.resource);
}

static struct dfg_err *check(const struct stack *stack, enum dfg_dtype dtype)
{
	if (stack->closed)
		return DFG_ERR(DFG_DATA, "stack '%s' is closed", stack->object.resource.name);
	if (stack->dtype != dtype)
		return DFG_ERR(DFG_DATA, "stack '%s' contains %s, expected %s", stack->object.resource.name,
			dfg_dtype_name(stack->dtype), dfg_dtype_name(dtype));
	return NULL;
}

/* Takes the tensor if it succeeds. The caller holds the lock. */
static struct dfg_err *push_element(struct stack *stack, struct dfg_tensor *element)
{
	DFG_TRY(check(stack, element->dtype));
	DFG_TRY(dfg_object_hold(&stack->object, element));
	if (stack->most >= 0 && stack->count >= (uint64_t)stack->most)
		return DFG_ERR(
			DFG_DATA, "stack '%s' is full: its max_size is %" PRId64, stack->object.resource.name, stack->most);
	if (!dfg_reserve(&stack->element, &stack->allocated, stack->count + 1, sizeof *element))
		return DFG_ERR(
			DFG_MEMORY, "no memory for %zu elements of stack '%s'", stack->count + 1, stack->object.resource.name);
	stack->element[stack->count++] = *element;
	return NULL;
}

static struct dfg_err *push_run(struct dfg_kernel *ctx)
{
	struct stack *stack;
	struct dfg_tensor element;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_stack_kind, &stack));
	DFG_TRY(ctx->host->keep(ctx, 1, &element));
	pthread_mutex_lock(&stack->lock);
	struct dfg_err *err = push_element(stack, &element);
	pthread_mutex_unlock(&stack->lock);
	if (err) {
		dfg_tensor_release(&element);
		return err;
	}
	return dfg_kernel_view(ctx, 0, 1, &dfg_kernel_input(ctx, 1)->shape);
}

static struct dfg_err *pop(struct stack *stack, enum dfg_dtype dtype, struct dfg_tensor *out_element)
{
	DFG_TRY(check(stack, dtype));
	if (!stack->count)
		return DFG_ERR(DFG_DATA, "stack '%s' is empty", stack->object.resource.name);
	*out_element = stack->element[--stack->count];
	return NULL;
}

static struct dfg_err *pop_run(struct dfg_kernel *ctx)
{
	struct stack *stack;
	struct dfg_tensor element;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_stack_kind, &stack));
	pthread_mutex_lock(&stack->lock);
	struct dfg_err *err = pop(stack, (enum dfg_dtype)ctx->call->out_dtype[0], &element);
	pthread_mutex_unlock(&stack->lock);
	return err ? err : ctx->host->give(ctx, 0, &element);
}

static struct dfg_err *close_run(struct dfg_kernel *ctx)
{
	struct stack *stack;
	DFG_TRY(dfg_object_in(ctx, 0, dfg_stack_kind, &stack));
	pthread_mutex_lock(&stack->lock);
	drop_elements(stack);
	stack->closed = true;
	pthread_mutex_unlock(&stack->lock);
	return NULL;
}

static struct dfg_err *handle_shape(struct dfg_infer *node)
{
	struct dfg_handle_type *holds = dfg_arena_zeros(node->arena, 1, sizeof *holds);
	if (!holds)
		return dfg_no_memory("the type of a stack");
	*holds = (struct dfg_handle_type){node->call->param[0].dtype, DFG_SHAPE_UNKNOWN, NULL};
	node->out[0] = DFG_SHAPE_SCALAR;
	node->out_holds[0] = holds;
	return NULL;
}

/* Checks the type of an element if it is known which stack the handle refers to. */
static struct dfg_err *check_element(const struct dfg_infer *node, enum dfg_dtype dtype)
{
	const struct dfg_handle_type *holds = node->in_holds ? node->in_holds[0] : NULL;
	if (!holds || holds->dtype == dtype)
		return NULL;
	return DFG_ERR(DFG_DATA, "the stack contains %s, expected %s", dfg_dtype_name(holds->dtype), dfg_dtype_name(dtype));
}

static struct dfg_err *push_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[1];
	return check_element(node, (enum dfg_dtype)node->call->in_dtype[1]);
}

static struct dfg_err *pop_shape(struct dfg_infer *node)
{
	return check_element(node, (enum dfg_dtype)node->call->out_dtype[0]);
}

static struct dfg_err *any_shape(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

const struct dfg_op dfg_op_StackV2 = {
	.name = "StackV2",
	.doc = "a stack of at most max_size tensors; -1: unlimited",
	.sig = "<elem_type: type>(max_size: i32) -> (handle: resource)",
	.attr = {"stack_name: string = ''"},
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = handle_shape,
	.run = new_run,
};

const struct dfg_op dfg_op_StackPushV2 = {
	.name = "StackPushV2",
	.doc = "pushes elem on a stack, and gives it as output",
	.sig = "<T: type>(handle: resource, elem: T) -> (output: T)",
	.attr = {"swap_memory: bool = false"},
	.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.means = DFG_MEANS_PUSH,
	.shape = push_shape,
	.run = push_run,
};

const struct dfg_op dfg_op_StackPopV2 = {
	.name = "StackPopV2",
	.doc = "pops the last element of a stack",
	.sig = "<elem_type: type>(handle: resource) -> (elem: elem_type)",
	.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.means = DFG_MEANS_POP,
	.shape = pop_shape,
	.run = pop_run,
};

const struct dfg_op dfg_op_StackCloseV2 = {
	.name = "StackCloseV2",
	.doc = "frees a stack's elements; later pushes fail",
	.sig = "(handle: resource) -> ()",
	.flags = DFG_STATEFUL | DFG_WRITES | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = any_shape,
	.run = close_run,
};
