#include "lib/pass/grad/rows.h"

#include "lib/graph/kernel.h"

#include <string.h>

/* Facts about a node's first output where the gradient is zero. */
struct known {
	bool of_rows;    /* it depends on elements of the variable, the gradient or a slot */
	bool zero;       /* it is zero */
	uint32_t equals; /* 1 + the node that reads the variable or slot whose value it has; 0: other, or unknown */
};

struct proof {
	const struct dfg_builder *builder;
	struct known *known;
	uint32_t *read_of; /* by slot: 1 + the node that reads its rows */
	uint32_t indices;  /* the node that numbers the rows */
};

static bool is(const struct dfg_node *node, const char *op)
{
	return !strcmp(node->op_name, op);
}

/* The facts that an op keeps; after any other op nothing is known. */
static void infer(const struct dfg_node *node, const struct known *a, const struct known *b, struct known *out)
{
	if (is(node, "Mul"))
		out->zero = a->zero || b->zero;
	else if (is(node, "RealDiv") || is(node, "Square"))
		out->zero = a->zero;
	else if (is(node, "Identity"))
		*out = *a;
	else if ((is(node, "AddV2") || is(node, "Add") || is(node, "Sub")) && b->zero)
		*out = *a;
	else if ((is(node, "AddV2") || is(node, "Add")) && a->zero)
		*out = *b;
	out->of_rows = true;
}

/* Element by element, and other operands are scalars: no row sees another. */
static bool is_by_rows(const struct proof *proof, const struct dfg_node *node, const struct dfg_inferred *result)
{
	if (!node->op || (!is(node, "Identity") && !dfg_op_row(node->op, result->dtype)) || node->n_in > 2)
		return false;
	for (uint32_t i = 0; i < node->n_in; i++) {
		const struct dfg_edge in = node->in[i];
		if (in.port || (!proof->known[in.node].of_rows && dfg_facts_of(&proof->builder->facts, in)->shape.rank))
			return false;
	}
	return true;
}

static const struct dfg_handle_type *handle_type_of(const struct proof *proof, uint32_t variable)
{
	return dfg_facts_of(&proof->builder->facts, (struct dfg_edge){variable, 0})->holds;
}

static bool is_scalar_slot(const struct proof *proof, const struct dfg_node *node)
{
	const struct dfg_handle_type *holds = handle_type_of(proof, node->in[0].node);
	return holds && !holds->shape.rank;
}

/* The rows of a slot that is as large as the variable. */
static bool prove_gather(struct proof *proof, uint32_t n)
{
	const struct dfg_node *node = &proof->builder->graph->node[n];
	if (node->in[1].node != proof->indices)
		return false;
	proof->known[n] = (struct known){.of_rows = true, .equals = 1 + n};
	proof->read_of[node->in[0].node] = 1 + n;
	return true;
}

/* The rows of a slot keep their values. */
static bool prove_scatter(const struct proof *proof, const struct dfg_node *node)
{
	const struct known *value = &proof->known[node->in[2].node];
	return node->in[1].node == proof->indices && !node->in[2].port && value->equals &&
		   value->equals == proof->read_of[node->in[0].node];
}

/* A scalar slot takes no value that rows decide. */
static bool prove_assign(const struct proof *proof, const struct dfg_node *node)
{
	if (dfg_node_mark(node, "_dfg_init", NULL))
		return true;
	return is_scalar_slot(proof, node) && !node->in[1].port && !proof->known[node->in[1].node].of_rows;
}

static bool prove_node(struct proof *proof, uint32_t n)
{
	const struct dfg_node *node = &proof->builder->graph->node[n];
	const struct known none = {0}, *a = &none, *b = &none;
	bool of_rows = false;
	for (uint32_t i = 0; i < node->n_in; i++) {
		if (node->in[i].node >= n)
			return false;
		of_rows |= proof->known[node->in[i].node].of_rows;
	}
	if (is(node, "ReadVariableOp"))
		return is_scalar_slot(proof, node);
	if (is(node, "AssignVariableOp"))
		return prove_assign(proof, node);
	if (is(node, "ResourceGather"))
		return prove_gather(proof, n);
	if (is(node, "ResourceScatterUpdate"))
		return prove_scatter(proof, node);
	if (!of_rows)
		return node->op && !(node->op->flags & (DFG_READS | DFG_WRITES | DFG_PUTS | DFG_TAKES));
	if (!is_by_rows(proof, node, dfg_facts_of(&proof->builder->facts, (struct dfg_edge){n, 0})))
		return false;
	a = &proof->known[node->in[0].node];
	b = node->n_in > 1 ? &proof->known[node->in[1].node] : a;
	infer(node, a, b, &proof->known[n]);
	return true;
}

static struct dfg_err *prove(const struct dfg_builder *builder, struct dfg_edge p, struct dfg_edge g,
	struct dfg_edge next, struct dfg_edge indices, bool *out_proven)
{
	size_t count = builder->graph->count;
	struct proof proof = {.builder = builder,
		.known = dfg_zeros(count + 1, sizeof *proof.known),
		.read_of = dfg_zeros(count + 1, sizeof *proof.read_of),
		.indices = indices.node};
	bool proven = proof.known && proof.read_of;
	struct dfg_err *err = proven ? NULL : DFG_ERR(DFG_MEMORY, "no memory to analyse %zu nodes", count);
	if (proven) {
		proof.known[p.node] = (struct known){.of_rows = true, .equals = 1 + p.node};
		proof.known[g.node] = (struct known){.of_rows = true, .zero = true};
		proof.known[indices.node].of_rows = true;
	}
	for (uint32_t n = 0; n < count && proven; n++)
		proven = n == p.node || n == g.node || n == indices.node || prove_node(&proof, n);
	*out_proven = proven && !next.port && proof.known[next.node].equals == 1 + p.node;
	dfg_free(proof.known);
	dfg_free(proof.read_of);
	return err;
}

static struct dfg_err *placeholder(struct dfg_builder *builder, const char *name, enum dfg_dtype dtype,
	const struct dfg_shape *shape, struct dfg_edge *out_edge)
{
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", dtype), {"shape", DFG_ATTR_SHAPE, {.shape = shape}}};
	const struct dfg_new_node node = {.op = "Placeholder", .name = name, .attr = attr, .n_attr = 2};
	out_edge->port = 0;
	return dfg_build(builder, &node, &out_edge->node);
}

static struct dfg_err *try(struct dfg_optimizer *optimizer, struct dfg_builder *builder, enum dfg_dtype dtype,
	const struct dfg_shape *shape, bool *out_suffice)
{
	struct dfg_optimizer_rows rows = {.whole = *shape};
	struct dfg_shape part = *shape;
	struct dfg_edge in[3], next;
	const uint32_t *effects;
	uint32_t n_effects;
	part.dim[0] = DFG_UNKNOWN;
	DFG_TRY(placeholder(builder, "p", dtype, &part, &in[0]));
	DFG_TRY(placeholder(builder, "g", dtype, &part, &in[1]));
	DFG_TRY(placeholder(builder, "step", DFG_I64, &DFG_SHAPE_SCALAR, &in[2]));
	DFG_TRY(placeholder(builder, "indices", DFG_I32, &DFG_SHAPE_VECTOR(DFG_UNKNOWN), &rows.indices));
	DFG_TRY(dfg_optimizer_apply(optimizer, builder, "w", in, &rows, &next, &effects, &n_effects));
	return prove(builder, in[0], in[1], next, rows.indices, out_suffice);
}

struct dfg_err *dfg_rows_suffice(const char *optimizer, const struct dfg_lang_options *lang, enum dfg_dtype dtype,
	const struct dfg_shape *shape, bool *out_suffice)
{
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_optimizer *trial = NULL;
	*out_suffice = false;
	dfg_graph_init(&graph, &arena);
	struct dfg_err *err = dfg_builder_init(&builder, &graph);
	if (!err)
		err = dfg_optimizer_new(optimizer, lang, &trial);
	if (!err)
		err = try(trial, &builder, dtype, shape, out_suffice);
	dfg_optimizer_free(trial);
	dfg_builder_release(&builder);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	if (!err || err->code == DFG_MEMORY)
		return err;
	dfg_err_free(err); /* the optimizer's mistake shows where it is applied */
	return NULL;
}

struct dfg_err *dfg_rows_merge(
	const struct dfg_make *make, const struct dfg_cotangent *rows, struct dfg_cotangent *out_rows)
{
	struct dfg_edge indices = rows->indices, in[3] = {rows->value};
	enum dfg_dtype dtype = dfg_facts_of(&make->builder->facts, indices)->dtype;
	if (dtype != DFG_I32 && dtype != DFG_I64)
		DFG_TRY(dfg_make_op(make, "Cast", &indices, 1, &DFG_ATTR_T("DstT", DFG_I32), 1, &indices));
	const struct dfg_new_node unique = {.op = "Unique", .name = make->scope, .in = &indices, .n_in = 1};
	out_rows->kind = DFG_ROWS;
	out_rows->indices.port = 0;
	DFG_TRY(dfg_build(make->builder, &unique, &out_rows->indices.node));
	in[1] = (struct dfg_edge){out_rows->indices.node, 1};
	DFG_TRY(dfg_make_unary(make, "Size", out_rows->indices, &in[2]));
	return dfg_make_op(make, "UnsortedSegmentSum", in, 3, NULL, 0, &out_rows->value);
}

/* 0 to count - 1, of that type. */
static struct dfg_err *count_up(
	struct dfg_builder *builder, const char *name, enum dfg_dtype dtype, int64_t count, struct dfg_edge *out_edge)
{
	struct dfg_edge in[3];
	const int64_t value[] = {0, count, 1};
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_build_ints(builder, name, dtype, NULL, &value[i], &in[i]));
	return dfg_build_op(builder, "Range", name, in, 3, out_edge);
}

/* The node that a mark of dfg_train() names; DFG_NONE: there is no mark. */
static uint32_t marked(const struct dfg_graph *graph, uint32_t n, const char *mark)
{
	const struct dfg_attr *attr = dfg_node_attr(&graph->node[n], mark);
	if (!attr || attr->kind != DFG_ATTR_STRING || graph->node[n].n_in != 1)
		return DFG_NONE;
	return dfg_map_find(&graph->names, attr->value.s.s, attr->value.s.length);
}

static struct dfg_err *make_dense(struct dfg_builder *builder)
{
	struct dfg_graph *graph = builder->graph;
	for (uint32_t n = 0, count = graph->count; n < count; n++) {
		uint32_t values_of = marked(graph, n, "_dfg_gradient_rows");
		uint32_t indices_of = marked(graph, n, "_dfg_gradient_indices");
		struct dfg_edge in = {values_of, 0};
		if (indices_of != DFG_NONE) {
			const struct dfg_shape *shape = &dfg_facts_of(&builder->facts, (struct dfg_edge){indices_of, 0})->shape;
			enum dfg_dtype dtype = dfg_facts_of(&builder->facts, (struct dfg_edge){n, 0})->dtype;
			if (shape->rank < 1 || shape->dim[0] < 0)
				return DFG_ERR(DFG_DATA,
					"node '%.200s': its number of rows is unknown, so its gradient cannot be made dense here; "
					"differentiate with --dense",
					graph->node[indices_of].name);
			DFG_TRY(count_up(builder, graph->node[n].name, dtype, shape->dim[0], &in));
		}
		if (in.node != DFG_NONE)
			graph->node[n].in[0] = in;
	}
	return NULL;
}

struct dfg_err *dfg_rows_make_dense(struct dfg_graph *graph)
{
	bool any = false;
	for (uint32_t n = 0; n < graph->count && !any; n++)
		any = dfg_node_attr(&graph->node[n], "_dfg_gradient_rows");
	if (!any)
		return NULL;
	struct dfg_builder builder = {0};
	struct dfg_err *err = dfg_builder_init(&builder, graph);
	if (!err)
		err = make_dense(&builder);
	dfg_builder_release(&builder);
	return err;
}
