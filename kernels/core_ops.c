#include "lib/graph/kernel.h"
#include "lib/pass/grad/grad.h"

/*
 * Ops that do not compute: sources, identities, and the primitives of control flow, which have no kernel, because the
 * executor implements them by their role.
 */

static struct dfg_err *const_shape(struct dfg_infer *node)
{
	const struct dfg_literal *literal = node->call->attr[0].tensor;
	enum dfg_dtype dtype = (enum dfg_dtype)node->call->out_dtype[0];
	if (literal->dtype != dtype)
		return DFG_ERR(DFG_DATA, "attribute 'dtype' is %s, but the value is %s", dfg_dtype_name(dtype),
			dfg_type_words(literal->dtype, &literal->shape).s);
	node->out[0] = literal->shape;
	return NULL;
}

static struct dfg_err *const_known(struct dfg_infer *node)
{
	enum { MOST = 64 };
	const struct dfg_literal *literal = node->call->attr[0].tensor;
	int64_t count = dfg_shape_count(&literal->shape);
	if (literal->shape.rank > 2 || count > MOST)
		return NULL;
	struct dfg_known_value *known = dfg_arena_zeros(node->arena, 1, sizeof *known + (size_t)count * sizeof *known->v);
	struct dfg_tensor tensor;
	if (!known)
		return dfg_no_memory("a known constant");
	DFG_TRY(dfg_literal_tensor(literal, &tensor));
	known->rank = literal->shape.rank;
	known->count = count;
	for (int64_t i = 0; i < count; i++)
		known->v[i] = dfg_tensor_int(&tensor, i);
	dfg_tensor_release(&tensor);
	node->out_known[0] = known;
	return NULL;
}

static struct dfg_err *const_run(struct dfg_kernel *ctx)
{
	struct dfg_tensor tensor;
	DFG_TRY(dfg_literal_tensor(dfg_kernel_attr(ctx)[0].tensor, &tensor));
	return ctx->host->give(ctx, 0, &tensor);
}

const struct dfg_op dfg_op_Const = {
	.name = "Const",
	.doc = "the tensor in attribute value",
	.sig = "<dtype: type>() -> (output: dtype)",
	.attr = {"value: tensor"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.role = DFG_CONST,
	.shape = const_shape,
	.known = const_known,
	.run = const_run,
};

static struct dfg_err *placeholder_shape(struct dfg_infer *node)
{
	node->out[0] = *node->call->attr[0].shape;
	return NULL;
}

const struct dfg_op dfg_op_Placeholder = {
	.name = "Placeholder",
	.doc = "a tensor that must be fed",
	.sig = "<dtype: type>() -> (output: dtype)",
	.attr = {"shape: shape = ?"},
	.flags = DFG_NO_GRADIENT | DFG_STATEFUL,
	.role = DFG_PLACEHOLDER,
	.shape = placeholder_shape,
};

const struct dfg_op dfg_op_PlaceholderV2 = {
	.name = "PlaceholderV2",
	.doc = "a tensor that must be fed",
	.sig = "<dtype: type>() -> (output: dtype)",
	.attr = {"shape: shape"},
	.flags = DFG_NO_GRADIENT | DFG_STATEFUL,
	.role = DFG_PLACEHOLDER,
	.shape = placeholder_shape,
};

static struct dfg_err *default_shape(struct dfg_infer *node)
{
	const struct dfg_shape *declared = node->call->attr[0].shape;
	if (!dfg_shape_fits(declared, node->in[0]))
		return DFG_ERR(DFG_DATA, "the default has shape %s, expected the declared shape %s",
			dfg_shape_words(node->in[0]).s, dfg_shape_words(declared).s);
	node->out[0] = *declared;
	return NULL;
}

static struct dfg_err *identity_run(struct dfg_kernel *ctx)
{
	for (int i = 0; i < ctx->call->n_out; i++)
		DFG_TRY(dfg_kernel_view(ctx, i, i, &dfg_kernel_input(ctx, i)->shape));
	return NULL;
}

const struct dfg_op dfg_op_PlaceholderWithDefault = {
	.name = "PlaceholderWithDefault",
	.doc = "input, unless another tensor is fed",
	.sig = "<dtype: type>(input: dtype) -> (output: dtype)",
	.attr = {"shape: shape"},
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_VIEW,
	.role = DFG_PLACEHOLDER_DEFAULT,
	.shape = default_shape,
	.gradient = "dinput = doutput",
	.run = identity_run,
};

/* All that is known of input i holds for output i. */
static struct dfg_err *same(struct dfg_infer *node)
{
	for (int i = 0; i < node->call->n_out && i < node->call->n_in; i++) {
		node->out[i] = *node->in[i];
		node->out_holds[i] = node->in_holds[i];
	}
	return NULL;
}

static struct dfg_err *same_known(struct dfg_infer *node)
{
	for (int i = 0; i < node->call->n_out && i < node->call->n_in; i++)
		node->out_known[i] = node->known[i];
	return NULL;
}

const struct dfg_op dfg_op_Identity = {
	.name = "Identity",
	.doc = "input",
	.sig = "<T: type>(input: T) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_VIEW | DFG_EXACT | DFG_KNOWS_MATRICES,
	.role = DFG_IDENTITY,
	.shape = same,
	.known = same_known,
	.gradient = "dinput = doutput",
	.run = identity_run,
};

/* No copy is needed: a value is never overwritten while it has another holder. TensorFlow's kernel has to copy. */
const struct dfg_op dfg_op_DeepCopy = {
	.name = "DeepCopy",
	.doc = "x as it is now; later writes to the variable that it was read from do not change it",
	.sig = "<T: type>(x: T) -> (y: T)",
	.flags = DFG_ANY_RANK | DFG_VIEW | DFG_STATEFUL,
	.shape = same,
	.known = same_known,
	.gradient = "dx = dy",
	.run = identity_run,
};

/* The executor forwards the reference; its value is read where it is used. */
const struct dfg_op dfg_op_RefIdentity = {
	.name = "RefIdentity",
	.doc = "the variable that input refers to",
	.sig = "<T: type>(input: ref T) -> (output: ref T)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK,
	.role = DFG_IDENTITY,
	.shape = same,
	.known = same_known,
	.run = identity_run,
};

static struct dfg_err *identities_gradient(struct dfg_gradient *node)
{
	for (int i = 0; i < node->call->n_in; i++)
		if (dfg_gradient_has(node, i))
			dfg_gradient_set(node, i, node->dy[i]);
	return NULL;
}

const struct dfg_op dfg_op_IdentityN = {
	.name = "IdentityN",
	.doc = "every input, unchanged",
	.sig = "<T: [type]>(input: T) -> (output: T)",
	.flags = DFG_ANY_RANK | DFG_EXACT | DFG_KNOWS_MATRICES,
	.role = DFG_IDENTITY,
	.shape = same,
	.known = same_known,
	.gradient_fn = identities_gradient,
	.run = identity_run,
};

static struct dfg_err *nothing(struct dfg_kernel *ctx)
{
	(void)ctx;
	return NULL;
}

static struct dfg_err *no_shape(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

const struct dfg_op dfg_op_NoOp = {
	.name = "NoOp",
	.doc = "nothing: a node at which control edges join",
	.sig = "() -> ()",
	.flags = DFG_NO_GRADIENT | DFG_STATEFUL,
	.role = DFG_NO_OP,
	.shape = no_shape,
	.run = nothing,
};

const struct dfg_op dfg_op_ControlTrigger = {
	.name = "ControlTrigger",
	.doc = "nothing, but live even if its control inputs are dead",
	.sig = "() -> ()",
	.flags = DFG_NO_GRADIENT | DFG_STATEFUL,
	.role = DFG_CONTROL_TRIGGER,
	.shape = no_shape,
};

static struct dfg_err *check_scalar(const struct dfg_shape *shape, const char *name)
{
	if (shape->rank > 0)
		return DFG_ERR(DFG_DATA, "%s has shape %s, expected a scalar", name, dfg_shape_words(shape).s);
	return NULL;
}

static struct dfg_err *switch_shape(struct dfg_infer *node)
{
	DFG_TRY(check_scalar(node->in[1], "the predicate"));
	for (int i = 0; i < node->call->n_out; i++) {
		node->out[i] = *node->in[0];
		node->out_holds[i] = node->in_holds[0];
	}
	return NULL;
}

static struct dfg_err *switch_known(struct dfg_infer *node)
{
	for (int i = 0; i < node->call->n_out; i++)
		node->out_known[i] = node->known[0];
	return NULL;
}

/* Each primitive has two forms: of values, and of references to variables. */
#define SWITCH(Op, ref)                                                                                    \
	const struct dfg_op dfg_op_##Op = {                                                                    \
		.name = #Op,                                                                                       \
		.doc = "data on output_true if pred is true, else on output_false; the other is dead",             \
		.sig = "<T: type>(data: " ref "T, pred: bool) -> (output_false: " ref "T, output_true: " ref "T)", \
		.flags = DFG_ANY_RANK | DFG_KNOWS_MATRICES,                                                        \
		.role = DFG_SWITCH,                                                                                \
		.shape = switch_shape,                                                                             \
		.known = switch_known,                                                                             \
	}
SWITCH(Switch, "");
SWITCH(RefSwitch, "ref ");

static const struct dfg_handle_type *differ(struct dfg_infer *node, const struct dfg_handle_type *holds)
{
	struct dfg_handle_type *any = dfg_arena_zeros(node->arena, 1, sizeof *any);
	if (any)
		*any = (struct dfg_handle_type){holds->dtype, DFG_SHAPE_UNKNOWN, holds->component};
	return any;
}

static bool same_components(const struct dfg_component_types *a, const struct dfg_component_types *b)
{
	if (a == b || !a || !b)
		return a == b;
	for (uint32_t i = 0; a->count == b->count && i < a->count; i++)
		if (a->item[i].dtype != b->item[i].dtype || !dfg_shape_equal(&a->item[i].shape, &b->item[i].shape))
			return false;
	return a->count == b->count;
}

/*
 * The dtype and shape of the elements of a handle's or list's object, if all inputs agree. A loop carries one handle,
 * but may carry different lists.
 */
static const struct dfg_handle_type *merge_holds(struct dfg_infer *node)
{
	const struct dfg_handle_type *holds = node->call->n_in ? node->in_holds[0] : NULL;
	bool same = true;
	for (int i = 1; i < node->call->n_in && holds; i++) {
		const struct dfg_handle_type *other = node->in_holds[i];
		if (other && (other->dtype != holds->dtype || !same_components(other->component, holds->component)))
			return NULL;
		same &= other ? dfg_shape_equal(&other->shape, &holds->shape) : node->call->in_dtype[i] != DFG_VARIANT;
	}
	return !holds || same ? holds : differ(node, holds);
}

const struct dfg_op dfg_op__SwitchN = {
	.name = "_SwitchN",
	.doc = "data on output output_index, or the last if that is out of range; the others are dead",
	.sig = "<T: type, num_outs: int>(data: T, output_index: i32) -> (outputs: num_outs * T)",
	.flags = DFG_ANY_RANK | DFG_KNOWS_MATRICES,
	.role = DFG_SWITCH,
	.shape = switch_shape,
	.known = switch_known,
};

/* The facts on which all inputs agree. Nothing is known of a loop's back edge, and so of its Merge. */
static struct dfg_err *merge_shape(struct dfg_infer *node)
{
	struct dfg_shape shape = node->call->n_in ? *node->in[0] : DFG_SHAPE_UNKNOWN;
	for (int i = 1; i < node->call->n_in; i++) {
		const struct dfg_shape *other = node->in[i];
		if (shape.rank != other->rank)
			shape = DFG_SHAPE_UNKNOWN;
		for (int d = 0; d < shape.rank; d++)
			if (shape.dim[d] != other->dim[d])
				shape.dim[d] = DFG_UNKNOWN;
	}
	node->out[0] = shape;
	node->out[1] = DFG_SHAPE_SCALAR;
	node->out_holds[0] = merge_holds(node);
	return NULL;
}

#define MERGE(Op, ref)                                                                            \
	const struct dfg_op dfg_op_##Op = {                                                           \
		.name = #Op,                                                                              \
		.doc = "the input that is live, and its number",                                          \
		.sig = "<T: type, N: int>(inputs: " ref "N * T) -> (output: " ref "T, value_index: i32)", \
		.flags = DFG_ANY_RANK,                                                                    \
		.role = DFG_MERGE,                                                                        \
		.shape = merge_shape,                                                                     \
	}
MERGE(Merge, "");
MERGE(RefMerge, "ref ");

static struct dfg_err *enter_shape(struct dfg_infer *node)
{
	if (!node->call->attr[0].s.length)
		return DFG_ERR(DFG_DATA, "attribute 'frame_name' is empty");
	return same(node);
}

#define ENTER(Op, ref)                                                                                     \
	const struct dfg_op dfg_op_##Op = {                                                                    \
		.name = #Op,                                                                                       \
		.doc = "data, in iteration 0 of a new frame (in every iteration if is_constant)",                  \
		.sig = "<T: type>(data: " ref "T) -> (output: " ref "T)",                                          \
		.attr = {"frame_name: string", "is_constant: bool = false", "parallel_iterations: int = 10 >= 1"}, \
		.flags = DFG_ANY_RANK | DFG_KNOWS_MATRICES,                                                        \
		.role = DFG_ENTER,                                                                                 \
		.shape = enter_shape,                                                                              \
		.known = same_known,                                                                               \
	}
ENTER(Enter, "");
ENTER(RefEnter, "ref ");

#define PASS_ON(Op, ref, what, kind)                              \
	const struct dfg_op dfg_op_##Op = {                           \
		.name = #Op,                                              \
		.doc = what,                                              \
		.sig = "<T: type>(data: " ref "T) -> (output: " ref "T)", \
		.flags = DFG_ANY_RANK,                                    \
		.role = kind,                                             \
		.shape = same,                                            \
	}
PASS_ON(Exit, "", "data, in the iteration of the parent frame that entered this one", DFG_EXIT);
PASS_ON(RefExit, "ref ", "data, in the iteration of the parent frame that entered this one", DFG_EXIT);
PASS_ON(NextIteration, "", "data, in the next iteration", DFG_NEXT_ITERATION);
PASS_ON(RefNextIteration, "ref ", "data, in the next iteration", DFG_NEXT_ITERATION);

static struct dfg_err *loop_cond_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return check_scalar(node->in[0], "the predicate");
}

const struct dfg_op dfg_op_LoopCond = {
	.name = "LoopCond",
	.doc = "input, marked as the predicate of its loop",
	.sig = "(input: bool) -> (output: bool)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK,
	.role = DFG_LOOP_COND,
	.shape = loop_cond_shape,
};
