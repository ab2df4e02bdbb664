#include "lib/graph/facts.h"

#include "lib/graph/kernel.h"

#include <string.h>

enum {
	FEW = 16,
	KNOWN_MOST = 64,       /* the most elements of a known value */
	EVAL_MOST = 64 * 1024, /* the most bytes that a kernel may allocate; no larger result would be kept */
};

/* The declared port of tensor i, for messages. */
static const struct dfg_port *port_of(const struct dfg_resolved_node *call, int i)
{
	int p = 0;
	while (call->in_first[p + 1] <= i)
		p++;
	return &call->signature->in[p];
}

static struct dfg_err *check_input(const struct dfg_resolved_node *call, int i, const struct dfg_inferred *in)
{
	const struct dfg_port *port = port_of(call, i);
	enum dfg_dtype wanted = (enum dfg_dtype)call->in_dtype[i];
	if (in->dtype && in->dtype != wanted)
		return DFG_ERR(DFG_DATA, "input %d '%s' is %s, must be %s", i, port->name,
			dfg_type_words(in->dtype, &in->shape).s, dfg_dtype_name(wanted));
	if (port->is_ref && in->dtype && !in->is_ref)
		return DFG_ERR(DFG_DATA, "input %d '%s' must be a variable, not a value", i, port->name);
	return NULL;
}

bool dfg_known_whole(const struct dfg_known_value *known)
{
	for (int64_t i = 0; known && i < known->count; i++)
		if (known->v[i] == DFG_NOT_KNOWN)
			return false;
	return known;
}

struct dfg_err *dfg_known_of(
	const struct dfg_tensor *tensor, struct dfg_arena *arena, const struct dfg_known_value **out_known)
{
	int64_t count = dfg_shape_count(&tensor->shape);
	*out_known = NULL;
	if (tensor->shape.rank > 2 || count > KNOWN_MOST || !dfg_dtype_is(tensor->dtype, "index"))
		return NULL;
	struct dfg_known_value *known = dfg_arena_zeros(arena, 1, sizeof *known + (size_t)count * sizeof *known->v);
	if (!known)
		return dfg_no_memory("the shapes of a node");
	known->rank = tensor->shape.rank;
	known->count = count;
	for (int64_t i = 0; i < count; i++)
		known->v[i] = dfg_tensor_int(tensor, i);
	*out_known = known;
	return NULL;
}

/* Whether every input is a small integer scalar or vector of which every element is known. */
static bool all_known(const struct dfg_infer *node)
{
	for (int i = 0; i < node->call->n_in; i++)
		if (!dfg_known_whole(node->known[i]) || node->known[i]->rank > 1)
			return false;
	return node->call->n_in > 0;
}

struct dfg_err *dfg_known_tensor(
	const struct dfg_known_value *known, enum dfg_dtype dtype, struct dfg_tensor *out_tensor)
{
	DFG_TRY(dfg_tensor_new(dtype, known->rank ? &DFG_SHAPE_VECTOR(known->count) : &DFG_SHAPE_SCALAR, out_tensor));
	dfg_convert(dtype, out_tensor->data, DFG_I64, known->v, known->count);
	return NULL;
}

/*
 * Computes known values, such as arithmetic on shapes, by the op's kernel. Its errors are left to the run, except for
 * DFG_MEMORY.
 */
static struct dfg_err *compute_known(struct dfg_infer *node)
{
	const struct dfg_resolved_node *call = node->call;
	struct dfg_tensor in[FEW] = {0}, out[FEW] = {0};
	const struct dfg_tensor *ins[FEW];
	struct dfg_err *err = NULL;
	for (int i = 0; i < call->n_in && !err; i++) {
		err = dfg_known_tensor(node->known[i], (enum dfg_dtype)call->in_dtype[i], &in[i]);
		ins[i] = &in[i];
	}
	if (!err)
		err = dfg_eval(call, ins, EVAL_MOST, out);
	for (int i = 0; i < call->n_out && !err; i++)
		err = dfg_known_of(&out[i], node->arena, &node->out_known[i]);
	for (int i = 0; i < FEW; i++) {
		dfg_tensor_release(&in[i]);
		dfg_tensor_release(&out[i]);
	}
	if (!err || err->code == DFG_MEMORY)
		return err;
	dfg_err_free(err);
	return NULL;
}

static bool makes_indices(const struct dfg_resolved_node *call)
{
	for (int i = 0; i < call->n_out; i++)
		if (call->out_dtype[i] == DFG_I32 || call->out_dtype[i] == DFG_I64)
			return true;
	return false;
}

/* Forgets known values that the output's type cannot hold: the run refuses or wraps them. */
static void forget_too_large(struct dfg_infer *node)
{
	for (int i = 0; i < node->call->n_out; i++) {
		const struct dfg_known_value *known = node->out_known[i];
		for (int64_t k = 0; known && node->call->out_dtype[i] == DFG_I32 && k < known->count; k++)
			if (known->v[k] != DFG_NOT_KNOWN && known->v[k] != (int32_t)known->v[k])
				node->out_known[i] = NULL;
	}
}

static struct dfg_err *infer_known(struct dfg_infer *node)
{
	const struct dfg_resolved_node *call = node->call;
	if (!makes_indices(call))
		return NULL;
	if (call->op->known)
		DFG_TRY(call->op->known(node));
	forget_too_large(node);
	bool stateless = !(call->op->flags & DFG_STATEFUL);
	bool computes = stateless && call->op->role == DFG_PLAIN && call->n_in <= FEW && call->n_out <= FEW;
	return computes && !node->out_known[0] && all_known(node) ? compute_known(node) : NULL;
}

struct dfg_err *dfg_op_shape(struct dfg_infer *node)
{
	const struct dfg_op *op = node->call->op;
	bool ranks = true;
	for (int i = 0; i < node->call->n_out; i++)
		node->out[i] = DFG_SHAPE_UNKNOWN;
	for (int i = 0; i < node->call->n_in; i++)
		ranks &= node->in[i]->rank >= 0;
	if (ranks || op->flags & DFG_ANY_RANK) {
		if (op->shape)
			DFG_TRY(op->shape(node));
		else if (node->call->n_out && node->call->n_in)
			DFG_TRY(dfg_shape_broadcast(node->in, node->call->n_in, node->out));
	}
	return infer_known(node);
}

/* The arrays that the inference of a node with few inputs and outputs requires; those of others are allocated. */
struct few_arrays {
	const struct dfg_shape *shape[FEW];
	const struct dfg_known_value *known[FEW];
	const struct dfg_handle_type *holds[FEW];
	struct dfg_shape out[FEW];
	const struct dfg_known_value *out_known[FEW];
	const struct dfg_handle_type *out_holds[FEW];
};

static struct dfg_err *allocate(struct dfg_infer *node, struct few_arrays *few, void **out_more)
{
	size_t n_in = node->call->n_in, n_out = node->call->n_out;
	*out_more = NULL;
	if (n_in <= FEW && n_out <= FEW) {
		node->in = few->shape, node->known = few->known, node->in_holds = few->holds;
		node->out = few->out, node->out_known = few->out_known, node->out_holds = few->out_holds;
		memset(few->out_known, 0, sizeof few->out_known);
		memset(few->out_holds, 0, sizeof few->out_holds);
		return NULL;
	}
	char *more = dfg_zeros(1, (3 * n_in + 2 * n_out) * sizeof(void *) + n_out * sizeof(struct dfg_shape));
	if (!more)
		return dfg_no_memory("the shapes of a node");
	const void **pointer = (const void **)more;
	node->in = (const struct dfg_shape *const *)pointer;
	node->known = (const struct dfg_known_value *const *)(pointer + n_in);
	node->in_holds = (const struct dfg_handle_type *const *)(pointer + 2 * n_in);
	node->out_known = (const struct dfg_known_value **)(pointer + 3 * n_in);
	node->out_holds = (const struct dfg_handle_type **)(pointer + 3 * n_in + n_out);
	node->out = (struct dfg_shape *)(pointer + 3 * n_in + 2 * n_out);
	*out_more = more;
	return NULL;
}

static struct dfg_err *infer(
	struct dfg_infer *node, const struct dfg_inferred *const *in, struct dfg_arena *arena, struct dfg_inferred *out)
{
	static const struct dfg_shape unknown = {.rank = DFG_UNKNOWN};
	const struct dfg_resolved_node *call = node->call;
	for (int i = 0; i < call->n_in; i++) {
		if (in[i])
			DFG_TRY(check_input(call, i, in[i]));
		((const struct dfg_shape **)node->in)[i] = in[i] ? &in[i]->shape : &unknown;
		((const struct dfg_known_value **)node->known)[i] = in[i] ? in[i]->known : NULL;
		if (in[i] && in[i]->matrix && call->op->flags & DFG_KNOWS_MATRICES)
			((const struct dfg_known_value **)node->known)[i] = in[i]->matrix;
		((const struct dfg_handle_type **)node->in_holds)[i] = in[i] ? in[i]->holds : NULL;
	}
	node->arena = arena;
	DFG_TRY(dfg_op_shape(node));
	for (int i = 0, port = 0; i < call->n_out; i++) {
		while (call->out_first[port + 1] <= i)
			port++;
		out[i] = (struct dfg_inferred){
			.dtype = (enum dfg_dtype)call->out_dtype[i],
			.is_ref = call->signature->out[port].is_ref,
			.shape = node->out[i],
			.holds = node->out_holds[i],
		};
		dfg_fact_set_known(&out[i], node->out_known[i]);
	}
	return NULL;
}

struct dfg_err *dfg_infer_node(const struct dfg_resolved_node *call, const struct dfg_inferred *const *in,
	struct dfg_arena *arena, struct dfg_inferred *out)
{
	struct few_arrays few;
	struct dfg_infer node = {.call = call};
	void *more;
	DFG_TRY(allocate(&node, &few, &more));
	struct dfg_err *err = infer(&node, in, arena, out);
	dfg_free(more);
	return dfg_resolved_note(err, call);
}
