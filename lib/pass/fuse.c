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
	uint32_t fused;
};

/* w = w - lr * g, or w = w - lr * (m * momentum + g) beside m = m * momentum + g. */
struct update {
	uint32_t node, variable;
	struct dfg_edge rate, gradient;
	uint32_t setter, slot; /* of m; DFG_NONE without */
	struct dfg_edge momentum;
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

/* value = m * momentum + gradient, which is what m becomes. */
static bool match_momentum(const struct fuse *f, struct dfg_edge value, struct update *u)
{
	const struct dfg_node *sum = node_of(f, value);
	struct dfg_edge old;
	if (!is_op(sum, "AddV2") || !f->setter[value.node] || !is_private(f, value, 2) ||
		!match_scaled(f, sum->in[0], &u->momentum, &old) || !is_private(f, sum->in[0], 1))
		return false;
	u->setter = f->setter[value.node] - 1;
	u->slot = f->graph->node[u->setter].in[0].node;
	u->gradient = sum->in[1];
	return is_read_of(f, old, u->slot) && u->slot != u->variable;
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

static bool match(const struct fuse *f, uint32_t n, struct update *u)
{
	const struct dfg_node *node = &f->graph->node[n];
	*u = (struct update){.node = n, .setter = DFG_NONE};
	if (!is_op(node, "AssignVariableOp") || dfg_node_mark(node, "_dfg_init", NULL) || !waits_for_reads(f, n))
		return false;
	const struct dfg_node *minus = node_of(f, node->in[1]);
	struct dfg_edge step;
	u->variable = node->in[0].node;
	if (!is_op(minus, "Sub") || !is_private(f, node->in[1], 1) || !is_read_of(f, minus->in[0], u->variable) ||
		!match_scaled(f, minus->in[1], &u->rate, &step) || !is_private(f, minus->in[1], 1))
		return false;
	if (match_momentum(f, step, u) && waits_for_reads(f, u->setter))
		return true;
	u->setter = DFG_NONE;
	u->gradient = step;
	return true;
}

/* Shapes must be the variable's own: the fused op does not broadcast. */
static bool fits(const struct fuse *f, const struct update *u)
{
	const struct dfg_holds *holds = dfg_facts_of(&f->facts, (struct dfg_edge){u->variable, 0})->holds;
	const struct dfg_fact *gradient = dfg_facts_of(&f->facts, u->gradient);
	return holds && dfg_shape_known(&holds->shape) && dfg_shape_equal(&holds->shape, &gradient->shape) &&
		   dfg_facts_of(&f->facts, u->rate)->dtype == holds->dtype;
}

/* The node becomes op(in...), after what it waited for and what `also` waits for. */
static struct dfg_err *replace(
	struct fuse *f, uint32_t n, const char *op, const struct dfg_edge *in, uint32_t n_in, const struct dfg_node *also)
{
	struct dfg_node *node = &f->graph->node[n];
	uint32_t others = also ? also->n_control : 0, count = n_in;
	struct dfg_edge *edges = dfg_arena_zeros(f->graph->arena, n_in + node->n_control + others + 1, sizeof *edges);
	struct dfg_attr *attr = dfg_arena_zeros(f->graph->arena, node->n_attr + 1, sizeof *attr);
	uint32_t n_attr = 0;
	if (!edges || !attr)
		return DFG_ERR(DFG_MEMORY, "no memory to fuse '%s'", node->name);
	memcpy(edges, in, n_in * sizeof *edges);
	for (uint32_t e = 0; e < node->n_control; e++)
		edges[count++] = node->in[node->n_in + e];
	for (uint32_t e = 0; e < others; e++)
		edges[count++] = also->in[also->n_in + e];
	attr[n_attr++] = (struct dfg_attr){"T", DFG_ATTR_DTYPE, {.dtype = dfg_facts_of(&f->facts, in[n_in - 1])->dtype}};
	for (uint32_t i = 0; i < node->n_attr; i++)
		if (node->attr[i].name[0] == '_')
			attr[n_attr++] = node->attr[i];
	node->op = dfg_op_find(op);
	node->op_name = node->op->name;
	node->in = edges;
	node->n_in = n_in;
	node->n_control = count - n_in;
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
	struct dfg_edge variable = {u->variable, 0};
	if (u->setter == DFG_NONE)
		return replace(
			f, u->node, "ResourceApplyGradientDescent", (struct dfg_edge[]){variable, u->rate, u->gradient}, 3, NULL);
	const struct dfg_edge in[] = {variable, {u->slot, 0}, u->rate, u->gradient, u->momentum};
	DFG_TRY(replace(f, u->node, "ResourceApplyMomentum", in, 5, &f->graph->node[u->setter]));
	return retire(f, u->setter, u->node);
}

static struct dfg_err *take_room(struct fuse *f, const struct dfg_keep *keep, struct dfg_arena *scratch)
{
	f->readers = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->readers);
	f->setter = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->setter);
	f->kept = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->kept);
	if (!f->readers || !f->setter || !f->kept)
		return DFG_ERR(DFG_MEMORY, "no memory to fuse %u nodes", f->graph->count);
	for (uint32_t i = 0; i < keep->n_feed; i++)
		f->kept[keep->feed[i].node] = true;
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		f->kept[keep->fetch[i].node] = true;
	for (uint32_t n = 0; n < f->graph->count; n++) {
		const struct dfg_node *node = &f->graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			f->readers[node->in[e].node]++;
		if (is_op(node, "AssignVariableOp") && !dfg_node_mark(node, "_dfg_init", NULL))
			f->setter[node->in[1].node] = n + 1;
	}
	return NULL;
}

static struct dfg_err *fuse_all(struct fuse *f)
{
	if (!dfg_op_find("ResourceApplyGradientDescent") || !dfg_op_find("ResourceApplyMomentum") || !dfg_op_find("NoOp"))
		return NULL;
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
