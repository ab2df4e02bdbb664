#include "lib/lang/graph_import_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/region_private.h"

#include "lib/graph/loops.h"

#include <stdlib.h>
#include <string.h>

/* The copying of an imported graph's nodes. Copies keep the names of the file below the name of their application. */

enum { PENDING = DFG_NONE - 1 }; /* the copy of a node that is being copied */
enum { BORROWED = 64 << 10 };    /* the least bytes of a constant that is not copied */

/* A walk from the wanted tensor back to what is there already. */
struct walk {
	struct dfg_eval *eval;
	struct dfg_imported_graph *g;
	struct dfg_application *application; /* NULL: an initialiser, all of whose nodes are shared */
	uint32_t *stack, *found;             /* nodes to visit, and the positions in g->order of those to copy */
	size_t depth, stack_capacity, n, found_capacity;
};

static const struct dfg_node *node_of(const struct walk *walk, uint32_t n)
{
	return &walk->g->file.graph->node[n];
}

/* Whether all applications have one copy: of a constant, and of a node that makes the handle of a state. */
static bool is_shared(const struct dfg_node *node)
{
	const struct dfg_signature *signature;
	if (!node->op || node->n_in || node->n_control)
		return false;
	if (node->op->role == DFG_CONST || node->op->role == DFG_VARIABLE)
		return true;
	struct dfg_err *err = dfg_op_signature(node->op, &signature);
	bool has_name = !err && dfg_op_attr(signature, "shared_name") >= 0;
	dfg_err_free(err);
	return has_name;
}

/* The function of the language that gives the node's value: every program has one seed, one lane and one count of steps. */
static const char *program_function(const struct dfg_node *node)
{
	if (dfg_node_role(node) == DFG_PLACEHOLDER_DEFAULT && !strcmp(node->name, "dfg/seed"))
		return "seed";
	if (dfg_node_role(node) == DFG_PLACEHOLDER_DEFAULT && !strcmp(node->name, "_dfg/lane"))
		return "lane";
	return dfg_node_role(node) == DFG_READ && !strcmp(node->name, "train/step/read") ? "step" : NULL;
}

static uint32_t *copy_of(const struct walk *walk, uint32_t n)
{
	const struct dfg_node *node = node_of(walk, n);
	bool shared = !walk->application || is_shared(node) || program_function(node);
	return shared ? &walk->g->shared[n] : &walk->application->copy[n];
}

/* The argument that takes the place of the node, or NULL. */
static const struct dfg_edge *argument_of(const struct walk *walk, uint32_t n)
{
	uint32_t input = walk->g->input_number[n];
	if (input == DFG_NONE || !walk->application || walk->application->argument[input].node == DFG_NONE)
		return NULL;
	return &walk->application->argument[input];
}

static struct dfg_err *take_from_program(struct walk *walk, uint32_t n)
{
	const char *name = program_function(node_of(walk, n));
	struct dfg_datum value = {0};
	for (const struct dfg_builtin *builtin = dfg_builtins; builtin->name; builtin++)
		if (!strcmp(builtin->name, name))
			DFG_TRY(builtin->call(walk->eval, &(struct dfg_call_site){0}, &value));
	*copy_of(walk, n) = value.edge.node;
	return NULL;
}

static struct dfg_err *push_node(struct walk *walk, uint32_t n)
{
	if (argument_of(walk, n) || *copy_of(walk, n) != DFG_NONE)
		return NULL;
	if (program_function(node_of(walk, n)))
		return take_from_program(walk, n);
	if (!dfg_reserve(&walk->stack, &walk->stack_capacity, walk->depth + 1, sizeof *walk->stack) ||
		!dfg_reserve(&walk->found, &walk->found_capacity, walk->n + 1, sizeof *walk->found))
		return dfg_no_memory("an imported graph");
	*copy_of(walk, n) = PENDING;
	walk->stack[walk->depth++] = n;
	walk->found[walk->n++] = walk->g->rank[n];
	return NULL;
}

static struct dfg_err *refuse(const struct walk *walk, uint32_t n, struct dfg_err *err)
{
	return dfg_err_note(err, "%s: node '%s'", walk->g->path, node_of(walk, n)->name);
}

/* Nodes that cannot be part of a program. */
static struct dfg_err *check(const struct walk *walk, uint32_t n)
{
	const struct dfg_node *node = node_of(walk, n);
	enum dfg_role role = dfg_node_role(node);
	if (!node->op)
		return dfg_op_missing(node->op_name);
	if (role == DFG_PLACEHOLDER)
		return DFG_ERR(DFG_DATA, "this input is needed, but the call does not give it");
	if (role == DFG_SEND || role == DFG_RECV)
		return DFG_ERR(DFG_DATA, "the graph is a part of a plan: import the graph that the plan was made from");
	if (walk->eval->region && dfg_role_is_flow_or_saved(role))
		return DFG_ERR(DFG_DATA,
			"a graph with loops or branches of its own can be applied only outside the program's loops and branches");
	return NULL;
}

static struct dfg_err *visit(struct walk *walk)
{
	while (walk->depth) {
		uint32_t n = walk->stack[--walk->depth];
		const struct dfg_node *node = node_of(walk, n);
		struct dfg_err *err = check(walk, n);
		if (err)
			return refuse(walk, n, err);
		for (uint32_t i = 0; i < node->n_in + node->n_control; i++)
			DFG_TRY(push_node(walk, node->in[i].node));
	}
	return NULL;
}

/* The tensor's copy, or the argument in its place. */
static struct dfg_edge copied(const struct walk *walk, struct dfg_edge edge)
{
	const struct dfg_edge *argument = argument_of(walk, edge.node);
	return argument ? *argument : (struct dfg_edge){*copy_of(walk, edge.node), edge.port};
}

/*
 * The inputs of a copy. A back edge is a forward one until all nodes exist. A control input from an argument is left
 * out: arguments have no effect to wait for.
 */
static struct dfg_err *copy_inputs(const struct walk *walk, uint32_t n, struct dfg_new_node *want)
{
	const struct dfg_node *node = node_of(walk, n);
	struct dfg_edge *in = dfg_arena_zeros(walk->eval->arena, (size_t)node->n_in + node->n_control, sizeof *in);
	struct dfg_edge forward = {DFG_NONE, 0};
	if (!in)
		return dfg_no_memory("an imported graph");
	want->in = in;
	want->n_in = node->n_in;
	for (uint32_t i = 0; i < node->n_in; i++)
		if (!dfg_edge_closes(walk->g->file.graph, node, node->in[i]))
			forward = in[i] = copied(walk, node->in[i]);
	for (uint32_t i = 0; i < node->n_in; i++)
		if (dfg_edge_closes(walk->g->file.graph, node, node->in[i]))
			in[i] = forward;
	for (uint32_t i = node->n_in; i < node->n_in + node->n_control; i++)
		if (!argument_of(walk, node->in[i].node))
			in[node->n_in + want->n_control++] = (struct dfg_edge){*copy_of(walk, node->in[i].node), DFG_CONTROL};
	return NULL;
}

/* Copies the elements of a small constant, so that no file stays open for it; a large one is borrowed from the file. */
static struct dfg_err *take_literal(struct walk *walk, union dfg_value *value)
{
	struct dfg_arena *arena = walk->eval->builder->graph->arena;
	if (dfg_literal_bytes(value->tensor) >= BORROWED) {
		walk->g->is_borrowed = true;
		return NULL;
	}
	struct dfg_literal *literal = (void *)dfg_arena_copy(arena, value->tensor, sizeof *literal);
	if (!literal || !(literal->data = dfg_arena_copy(arena, value->tensor->data, dfg_literal_bytes(literal))))
		return dfg_no_memory("an imported graph");
	struct dfg_string *element = (void *)literal->data;
	for (int64_t i = 0; literal->dtype == DFG_STRING && i < literal->given; i++)
		if (!(element[i].s = dfg_arena_copy(arena, element[i].s, element[i].length)))
			return dfg_no_memory("an imported graph");
	value->tensor = literal;
	return NULL;
}

/* Names of states and frames are those of the file below the copy's scope, so that they are apart from all others. */
static struct dfg_err *copy_name(const struct walk *walk, const char *scope, struct dfg_attr *attr)
{
	struct dfg_string *name = &attr->value.s;
	bool is_name = !strcmp(attr->name, "shared_name") || !strcmp(attr->name, "frame_name");
	if (!is_name || !name->length)
		return NULL;
	char *made = dfg_arena_print(walk->eval->arena, "%s/%.*s", scope, (int)name->length, name->s);
	if (!made)
		return dfg_no_memory("an imported graph");
	*name = (struct dfg_string){made, strlen(made)};
	return NULL;
}

/* Marks that say what a node is; others are about its place in the file: inputs, outputs, colocation, shapes. */
static bool is_kept(const char *attr)
{
	return *attr != '_' || !strcmp(attr, "_dfg_call") || !strcmp(attr, "_dfg_total") || !strcmp(attr, "_dfg_trainable");
}

static struct dfg_err *copy_attrs(
	struct walk *walk, const struct dfg_node *node, const char *scope, struct dfg_new_node *want)
{
	struct dfg_attr *attr = dfg_arena_zeros(walk->eval->arena, (size_t)node->n_attr + 1, sizeof *attr);
	if (!attr)
		return dfg_no_memory("an imported graph");
	want->attr = attr;
	for (uint32_t i = 0; i < node->n_attr; i++) {
		struct dfg_attr *made = &attr[want->n_attr];
		if (!is_kept(node->attr[i].name))
			continue;
		*made = node->attr[i];
		want->n_attr++;
		if (made->kind == DFG_ATTR_FUNC)
			return DFG_ERR(DFG_DATA, "attribute '%s' is a function, which cannot be imported", made->name);
		if (made->kind == DFG_ATTR_TENSOR)
			DFG_TRY(take_literal(walk, &made->value));
		if (made->kind == DFG_ATTR_STRING)
			DFG_TRY(copy_name(walk, scope, made));
	}
	return NULL;
}

/* Inside a frame a node has the inputs of the file and no others; elsewhere it also comes after the program's assertions. */
static struct dfg_err *build(struct walk *walk, uint32_t n, const struct dfg_new_node *want, uint32_t *out_node)
{
	struct dfg_eval *eval = walk->eval;
	bool is_apart =
		copy_of(walk, n) == &walk->g->shared[n] || (walk->g->frames[n] && dfg_node_role(node_of(walk, n)) != DFG_ENTER);
	uint32_t n_control = eval->builder->n_control;
	if (is_apart)
		eval->builder->n_control = 0;
	struct dfg_err *err = is_apart ? dfg_eval_build_as_is(eval, want, DFG_NAME_EXACT, out_node)
								   : dfg_eval_build(eval, want, DFG_NAME_EXACT, out_node);
	eval->builder->n_control = n_control;
	return err;
}

static struct dfg_err *copy_node(struct walk *walk, uint32_t n)
{
	const struct dfg_node *node = node_of(walk, n);
	bool shared = copy_of(walk, n) == &walk->g->shared[n];
	const char *scope = shared ? walk->g->name : walk->application->scope;
	struct dfg_attr initial = DFG_ATTR_B("_dfg_init", true);
	struct dfg_new_node want = {.op = node->op->name};
	uint32_t made;
	const char *name = shared ? node->name : dfg_graph_node_name(walk->eval, walk->g, n);
	DFG_TRY(dfg_eval_path(walk->eval, scope, name, &want.name));
	DFG_TRY(copy_inputs(walk, n, &want));
	DFG_TRY(copy_attrs(walk, node, scope, &want));
	if (!walk->application && node->n_in && walk->g->assign[node->in[0].node] == n)
		((struct dfg_attr *)want.attr)[want.n_attr++] = initial;
	DFG_TRY(build(walk, n, &want, &made));
	*copy_of(walk, n) = made;
	return NULL;
}

/* Sets the back edges of a copied Merge. */
static void close_loop(struct walk *walk, uint32_t n)
{
	const struct dfg_node *node = node_of(walk, n);
	uint32_t made = *copy_of(walk, n);
	for (uint32_t i = 0; i < node->n_in; i++)
		if (dfg_edge_closes(walk->g->file.graph, node, node->in[i]))
			walk->eval->builder->graph->node[made].in[i] = copied(walk, node->in[i]);
}

static bool has_back_edge(const struct walk *walk, uint32_t n)
{
	const struct dfg_node *node = node_of(walk, n);
	for (uint32_t i = 0; i < node->n_in; i++)
		if (dfg_edge_closes(walk->g->file.graph, node, node->in[i]))
			return true;
	return false;
}

static int by_rank(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static struct dfg_err *copy_found(struct walk *walk)
{
	if (walk->n)
		qsort(walk->found, walk->n, sizeof *walk->found, by_rank);
	for (size_t i = 0; i < walk->n; i++) {
		uint32_t n = walk->g->order[walk->found[i]];
		struct dfg_err *err = copy_node(walk, n);
		if (err)
			return refuse(walk, n, err);
		if (!has_back_edge(walk, n))
			continue;
		/* The file's verifier has found the shape in all iterations; the copy's inputs have that of the first alone. */
		const struct dfg_edge merge = {*copy_of(walk, n), 0};
		DFG_TRY(dfg_eval_learn(walk->eval, merge, &dfg_facts_of(walk->g->file.facts, (struct dfg_edge){n, 0})->shape));
	}
	for (size_t i = 0; i < walk->n; i++)
		close_loop(walk, walk->g->order[walk->found[i]]);
	return NULL;
}

static struct dfg_err *copy_from(struct walk *walk, uint32_t n)
{
	DFG_TRY(push_node(walk, n));
	DFG_TRY(visit(walk));
	return copy_found(walk);
}

static void release(struct walk *walk)
{
	dfg_free(walk->stack);
	dfg_free(walk->found);
}

static struct dfg_err *copy_initialisers_of(const struct walk *walk, struct walk *initial)
{
	for (size_t i = 0; i < walk->n; i++) {
		uint32_t n = walk->g->order[walk->found[i]], assign = walk->g->assign[n];
		if (dfg_node_role(node_of(walk, n)) == DFG_VARIABLE && assign != DFG_NONE)
			DFG_TRY(push_node(initial, assign));
		if (walk->g->entries && walk->g->entries[n] != DFG_NONE)
			DFG_TRY(push_node(initial, walk->g->entries[n]));
	}
	DFG_TRY(visit(initial));
	return copy_found(initial);
}

/* Copies the initialisers of the variables and lookup tables that were copied, then those of what these read. */
static struct dfg_err *copy_initialisers(struct walk *walk)
{
	struct dfg_saved_region saved;
	struct dfg_err *err = NULL;
	dfg_region_go(walk->eval, NULL, &saved);
	while (!err && walk->n) {
		struct walk initial = {.eval = walk->eval, .g = walk->g};
		err = copy_initialisers_of(walk, &initial);
		release(walk);
		*walk = initial;
	}
	dfg_region_back(walk->eval, &saved);
	return err;
}

struct dfg_err *dfg_graph_copy(struct dfg_eval *eval, struct dfg_imported_graph *graph,
	struct dfg_application *application, struct dfg_edge of, struct dfg_edge *out_edge)
{
	struct walk walk = {.eval = eval, .g = graph, .application = application};
	struct dfg_saved_region saved;
	dfg_region_go(eval, application->region, &saved);
	struct dfg_err *err = copy_from(&walk, of.node);
	dfg_region_back(eval, &saved);
	if (!err) {
		*out_edge = copied(&walk, of);
		err = copy_initialisers(&walk);
	}
	release(&walk);
	return err;
}
