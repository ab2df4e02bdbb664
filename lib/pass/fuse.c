/* fuse. Needs: a graph that verify accepts. Gives: fused updates of variables, with the same bits. O(nodes + edges). */
#include "lib/pass/fuse.h"

#include "lib/pass/verify.h"

#include <string.h>

struct fuse {
	struct dfg_graph *graph;
	struct dfg_facts facts;
	uint32_t *readers; /* by node: data edges that leave it */
	uint32_t *setter;  /* by node: the plain assignment of its output, by number + 1 */
	bool *kept;
	bool *early; /* by node: something that goes on waits for it */
	uint32_t fused;
};

enum { SLOTS_MOST = 2, SCALARS_MOST = 6 };

/* An update that an op does: op(variable, slots, scalars and the gradient in the op's order). */
struct update {
	const char *op;
	uint32_t node, variable;
	uint32_t setter[SLOTS_MOST], slot[SLOTS_MOST], n_slot; /* the slots and what assigns them */
	struct dfg_edge scalar[SCALARS_MOST];
	uint32_t n_scalar, gradient_at; /* scalars before the gradient */
	struct dfg_edge gradient;
};

static const struct dfg_node *node_of(const struct fuse *f, struct dfg_edge edge)
{
	return &f->graph->node[edge.node];
}

static bool is_op(const struct dfg_node *node, const char *name)
{
	return node->op && !strcmp(node->op->name, name);
}

static bool is_scalar(const struct fuse *f, struct dfg_edge edge)
{
	return dfg_facts_of(&f->facts, edge)->shape.rank == 0;
}

/* The value of the variable, as it is before anything waits. */
static bool is_read_of(const struct fuse *f, struct dfg_edge edge, uint32_t variable)
{
	const struct dfg_node *node = node_of(f, edge);
	return node->op && node->op->role == DFG_READ && node->in[0].node == variable && !node->n_control;
}

/* Nodes that nobody else needs the value of may go: `uses` readers are the pattern's own. */
static bool is_private(const struct fuse *f, struct dfg_edge edge, uint32_t uses)
{
	return f->readers[edge.node] == uses && !f->kept[edge.node] && !node_of(f, edge)->n_control;
}

/* a * b with a scalar among them, which comes first. */
static bool match_scaled(const struct fuse *f, struct dfg_edge product, struct dfg_edge *scale, struct dfg_edge *value)
{
	const struct dfg_node *node = node_of(f, product);
	if (!is_op(node, "Mul"))
		return false;
	int which = is_scalar(f, node->in[1]) ? 1 : 0;
	*scale = node->in[which];
	*value = node->in[!which];
	return is_scalar(f, *scale);
}

/* Only reads are waited for, so that nothing here waits for the update itself. */
static bool waits_for_reads(const struct fuse *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	for (uint32_t e = node->n_in; e < node->n_in + node->n_control; e++) {
		const struct dfg_node *from = node_of(f, node->in[e]);
		if (!from->op || from->op->role != DFG_READ || from->n_control)
			return false;
	}
	return true;
}

/* The slot becomes `value`, once and unseen by what still has to run; else no slot is added. */
static bool add_slot(const struct fuse *f, struct dfg_edge value, struct update *u)
{
	if (!f->setter[value.node] || !is_private(f, value, 2))
		return false;
	uint32_t setter = f->setter[value.node] - 1, slot = f->graph->node[setter].in[0].node;
	if (f->early[setter] || f->kept[setter] || !waits_for_reads(f, setter) || slot == u->variable ||
		(u->n_slot && slot == u->slot[0]))
		return false;
	u->setter[u->n_slot] = setter;
	u->slot[u->n_slot++] = slot;
	return true;
}

/* w - (m * momentum + gradient) * rate, where m becomes the sum. */
static bool match_momentum(const struct fuse *f, struct dfg_edge rate, struct dfg_edge value, struct update *u)
{
	const struct dfg_node *sum = node_of(f, value);
	struct dfg_edge old, momentum;
	if (!is_op(sum, "AddV2") || !match_scaled(f, sum->in[0], &momentum, &old) || !is_private(f, sum->in[0], 1) ||
		!add_slot(f, value, u) || !is_read_of(f, old, u->slot[0]))
		return false;
	u->op = "ResourceApplyMomentum";
	u->scalar[0] = rate;
	u->scalar[1] = momentum;
	u->n_scalar = 2;
	u->gradient_at = 1;
	u->gradient = sum->in[1];
	return true;
}

/* w - gradient * rate, or with momentum. */
static bool match_descent(const struct fuse *f, struct dfg_edge change, struct update *u)
{
	struct dfg_edge rate, step;
	if (!match_scaled(f, change, &rate, &step))
		return false;
	if (match_momentum(f, rate, step, u))
		return true;
	u->op = "ResourceApplyGradientDescent";
	u->n_slot = 0;
	u->scalar[0] = rate;
	u->n_scalar = u->gradient_at = 1;
	u->gradient = step;
	return true;
}

static bool constant(const struct fuse *f, struct dfg_edge edge, double *out)
{
	const struct dfg_node *node = node_of(f, edge);
	const struct dfg_attr *value = dfg_node_attr(node, "value");
	struct dfg_tensor tensor;
	if (!node->op || node->op->role != DFG_CONST || node->n_control || f->kept[edge.node] || !value ||
		value->kind != DFG_ATTR_TENSOR || !is_scalar(f, edge))
		return false;
	struct dfg_err *err = dfg_literal_tensor(value->value.tensor, &tensor);
	if (err) {
		dfg_err_free(err);
		return false;
	}
	*out = dfg_tensor_float(&tensor, 0);
	dfg_tensor_release(&tensor);
	return true;
}

/* The scalar is 1 - x: spelled out or, once folded, in the bits that the op computes. */
static bool is_rest_of(const struct fuse *f, struct dfg_edge rest, struct dfg_edge x)
{
	const struct dfg_node *node = node_of(f, rest);
	double one, number, value;
	if (is_op(node, "Sub") && constant(f, node->in[0], &one) && one == 1) {
		if (node->in[1].node == x.node && node->in[1].port == x.port)
			return !f->kept[rest.node];
		return constant(f, node->in[1], &number) && constant(f, x, &value) && number == value && !f->kept[rest.node];
	}
	if (!constant(f, rest, &number) || !constant(f, x, &value))
		return false;
	return number == (dfg_facts_of(&f->facts, x)->dtype == DFG_F64 ? 1 - value : (double)(float)(1 - (float)value));
}

/* slot + (value - slot) * (1 - beta), which is what the slot becomes. */
static bool match_moment(
	const struct fuse *f, struct dfg_edge sum, struct dfg_edge beta, struct update *u, struct dfg_edge *out_value)
{
	const struct dfg_node *add = node_of(f, sum);
	struct dfg_edge rest, change;
	if (!is_op(add, "AddV2") || !match_scaled(f, add->in[1], &rest, &change) || !is_private(f, add->in[1], 1) ||
		!is_op(node_of(f, change), "Sub") || !is_private(f, change, 1) || !is_rest_of(f, rest, beta) ||
		!add_slot(f, sum, u))
		return false;
	uint32_t slot = u->slot[u->n_slot - 1];
	*out_value = node_of(f, change)->in[0];
	return is_read_of(f, add->in[0], slot) && is_read_of(f, node_of(f, change)->in[1], slot);
}

/* 1 - x, with x = beta ^ step. */
static bool match_power(const struct fuse *f, struct dfg_edge rest, struct dfg_edge *power, struct dfg_edge *beta)
{
	const struct dfg_node *sub = node_of(f, rest);
	double one;
	if (!is_op(sub, "Sub") || !constant(f, sub->in[0], &one) || one != 1 || !is_op(node_of(f, sub->in[1]), "Pow"))
		return false;
	*power = sub->in[1];
	*beta = node_of(f, *power)->in[0];
	return is_scalar(f, *power) && is_scalar(f, *beta) && !f->kept[rest.node];
}

/* lr * sqrt(1 - beta2 ^ step) / (1 - beta1 ^ step): the scalars of Adam but the last. */
static bool match_adam_rate(const struct fuse *f, struct dfg_edge rate, struct update *u)
{
	const struct dfg_node *quotient = node_of(f, rate);
	const struct dfg_node *product = is_op(quotient, "RealDiv") ? node_of(f, quotient->in[0]) : NULL;
	const struct dfg_node *root = product && is_op(product, "Mul") ? node_of(f, product->in[1]) : NULL;
	if (!root || !is_op(root, "Sqrt") || f->kept[rate.node] || f->kept[quotient->in[0].node] ||
		f->kept[product->in[1].node] || !is_scalar(f, product->in[0]))
		return false;
	u->scalar[2] = product->in[0];
	return match_power(f, quotient->in[1], &u->scalar[0], &u->scalar[3]) &&
		   match_power(f, root->in[0], &u->scalar[1], &u->scalar[4]);
}

/* w - m * rate / (sqrt(v) + epsilon), where m and v become moments of the gradient. */
static bool match_adam(const struct fuse *f, struct dfg_edge change, struct update *u)
{
	const struct dfg_node *quotient = node_of(f, change);
	struct dfg_edge rate, m, squares;
	if (!is_op(quotient, "RealDiv") || !match_scaled(f, quotient->in[0], &rate, &m) ||
		!is_private(f, quotient->in[0], 1) || !match_adam_rate(f, rate, u))
		return false;
	const struct dfg_node *below = node_of(f, quotient->in[1]);
	if (!is_op(below, "AddV2") || !is_private(f, quotient->in[1], 1) || !is_scalar(f, below->in[1]) ||
		!is_op(node_of(f, below->in[0]), "Sqrt") || !is_private(f, below->in[0], 1))
		return false;
	u->op = "ResourceApplyAdam";
	u->scalar[5] = below->in[1];
	u->n_scalar = u->gradient_at = 6;
	if (!match_moment(f, m, u->scalar[3], u, &u->gradient) ||
		!match_moment(f, node_of(f, below->in[0])->in[0], u->scalar[4], u, &squares))
		return false;
	const struct dfg_node *square = node_of(f, squares);
	return is_op(square, "Square") && is_private(f, squares, 1) && square->in[0].node == u->gradient.node &&
		   square->in[0].port == u->gradient.port;
}

static bool match(const struct fuse *f, uint32_t n, struct update *u)
{
	const struct dfg_node *node = &f->graph->node[n];
	*u = (struct update){.node = n};
	if (!is_op(node, "AssignVariableOp") || dfg_node_mark(node, "_dfg_init", NULL) || !waits_for_reads(f, n))
		return false;
	const struct dfg_node *minus = node_of(f, node->in[1]);
	u->variable = node->in[0].node;
	if (!is_op(minus, "Sub") || !is_private(f, node->in[1], 1) || !is_read_of(f, minus->in[0], u->variable) ||
		!is_private(f, minus->in[1], 1))
		return false;
	return (match_descent(f, minus->in[1], u) || match_adam(f, minus->in[1], u)) && !(u->n_slot && f->kept[n]);
}

static const struct dfg_holds *held(const struct fuse *f, uint32_t variable)
{
	return dfg_facts_of(&f->facts, (struct dfg_edge){variable, 0})->holds;
}

/*
 * Shapes must be the variable's own: the fused op does not broadcast. It rounds halves once, at its end, where the
 * pattern rounds each step.
 */
static bool fits(const struct fuse *f, const struct update *u)
{
	const struct dfg_holds *holds = held(f, u->variable);
	if (!holds || !dfg_shape_known(&holds->shape) || (holds->dtype != DFG_F32 && holds->dtype != DFG_F64) ||
		!dfg_shape_equal(&holds->shape, &dfg_facts_of(&f->facts, u->gradient)->shape))
		return false;
	for (uint32_t i = 0; i < u->n_slot; i++)
		if (!held(f, u->slot[i]) || !dfg_shape_equal(&holds->shape, &held(f, u->slot[i])->shape))
			return false;
	for (uint32_t i = 0; i < u->n_scalar; i++)
		if (dfg_facts_of(&f->facts, u->scalar[i])->dtype != holds->dtype)
			return false;
	return true;
}

/* What the node waited for, and what assigns the slots did. */
static uint32_t waits(const struct fuse *f, const struct update *u, struct dfg_edge *out)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i <= u->n_slot; i++) {
		const struct dfg_node *node = &f->graph->node[i ? u->setter[i - 1] : u->node];
		for (uint32_t e = node->n_in; e < node->n_in + node->n_control; e++, count++)
			if (out)
				out[count] = node->in[e];
	}
	return count;
}

static uint32_t inputs(const struct update *u, struct dfg_edge *out)
{
	uint32_t count = 0;
	out[count++] = (struct dfg_edge){u->variable, 0};
	for (uint32_t i = 0; i < u->n_slot; i++)
		out[count++] = (struct dfg_edge){u->slot[i], 0};
	for (uint32_t i = 0; i < u->n_scalar; i++) {
		if (i == u->gradient_at)
			out[count++] = u->gradient;
		out[count++] = u->scalar[i];
	}
	if (u->gradient_at == u->n_scalar)
		out[count++] = u->gradient;
	return count;
}

static struct dfg_err *replace(struct fuse *f, const struct update *u)
{
	struct dfg_node *node = &f->graph->node[u->node];
	uint32_t room = 2 + u->n_slot + u->n_scalar + waits(f, u, NULL), n_attr = 0;
	struct dfg_edge *in = dfg_arena_zeros(f->graph->arena, room, sizeof *in);
	struct dfg_attr *attr = dfg_arena_zeros(f->graph->arena, node->n_attr + 1, sizeof *attr);
	if (!in || !attr)
		return DFG_ERR(DFG_MEMORY, "no memory to fuse '%s'", node->name);
	uint32_t n_in = inputs(u, in), n_control = waits(f, u, in + n_in);
	attr[n_attr++] = (struct dfg_attr){"T", DFG_ATTR_DTYPE, {.dtype = dfg_facts_of(&f->facts, u->gradient)->dtype}};
	for (uint32_t i = 0; i < node->n_attr; i++)
		if (node->attr[i].name[0] == '_')
			attr[n_attr++] = node->attr[i];
	node->op = dfg_op_find(u->op);
	node->op_name = node->op->name;
	node->in = in;
	node->n_in = n_in;
	node->n_control = n_control;
	node->attr = attr;
	node->n_attr = n_attr;
	f->fused++;
	return NULL;
}

/* The assignment of the slot keeps its name, and is done once the fused op is. */
static struct dfg_err *retire(struct fuse *f, uint32_t n, uint32_t after)
{
	struct dfg_node *node = &f->graph->node[n];
	struct dfg_edge *in = dfg_arena_zeros(f->graph->arena, 1, sizeof *in);
	if (!in)
		return DFG_ERR(DFG_MEMORY, "no memory to fuse '%s'", node->name);
	*in = (struct dfg_edge){after, DFG_CONTROL};
	node->op = dfg_op_find("NoOp");
	node->op_name = node->op->name;
	node->in = in;
	node->n_in = 0;
	node->n_control = 1;
	node->n_attr = 0;
	return NULL;
}

static struct dfg_err *fuse_update(struct fuse *f, const struct update *u)
{
	DFG_TRY(replace(f, u));
	for (uint32_t i = 0; i < u->n_slot; i++)
		DFG_TRY(retire(f, u->setter[i], u->node));
	return NULL;
}

/* Nodes that only gather may wait for a slot's assignment; what else does may be on the way to the update. */
static void find_early(struct fuse *f)
{
	for (uint32_t n = 0; n < f->graph->count; n++) {
		const struct dfg_node *node = &f->graph->node[n];
		bool gathers = is_op(node, "NoOp") && !f->readers[n];
		for (uint32_t e = node->n_in; e < node->n_in + node->n_control && !gathers; e++)
			f->early[node->in[e].node] = true;
	}
}

static struct dfg_err *take_room(struct fuse *f, const struct dfg_keep *keep, struct dfg_arena *scratch)
{
	f->readers = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->readers);
	f->setter = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->setter);
	f->kept = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->kept);
	f->early = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->early);
	if (!f->readers || !f->setter || !f->kept || !f->early)
		return DFG_ERR(DFG_MEMORY, "no memory to fuse %u nodes", f->graph->count);
	for (uint32_t i = 0; i < keep->n_feed; i++)
		f->kept[keep->feed[i].node] = true;
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		f->kept[keep->fetch[i].node] = true;
	for (uint32_t i = 0; i < keep->n_target; i++)
		f->kept[keep->target[i]] = true;
	for (uint32_t n = 0; n < f->graph->count; n++) {
		const struct dfg_node *node = &f->graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			f->readers[node->in[e].node]++;
		if (is_op(node, "AssignVariableOp") && !dfg_node_mark(node, "_dfg_init", NULL))
			f->setter[node->in[1].node] = n + 1;
	}
	find_early(f);
	return NULL;
}

static struct dfg_err *fuse_all(struct fuse *f)
{
	for (uint32_t n = 0; n < f->graph->count; n++) {
		struct update update;
		if (match(f, n, &update) && fits(f, &update))
			DFG_TRY(fuse_update(f, &update));
	}
	return NULL;
}

struct dfg_err *dfg_fuse(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	struct fuse f = {.graph = graph, .facts = {.arena = scratch}};
	DFG_TRY(take_room(&f, keep, scratch));
	struct dfg_err *err = dfg_verify(graph, NULL, &f.facts);
	if (!err)
		err = fuse_all(&f);
	dfg_facts_release(&f.facts);
	dfg_text_add(report, "fuse: fused %u updates\n", f.fused);
	return err;
}
