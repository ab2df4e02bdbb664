/* reduce. Requires: edges that name nodes. O(tests * (nodes + edges)). */
#include "lib/pass/rewrite/reduce.h"

#include "lib/graph/loops.h"
#include "lib/pass/verify/verify.h"

#include <limits.h>
#include <string.h>

/* The changes of a node. */
enum change {
	TAKEN = 1,  /* it is there only if a reader cannot have a constant instead */
	PASSED = 2, /* its readers read its input `through` */
	ZEROED = 4, /* a constant of zeros */
	BARE = 8,   /* without marks and device */
	FREE = 16,  /* without control inputs */
};

struct reduce {
	const struct dfg_graph *graph;
	const struct dfg_reduction *how;
	struct dfg_facts facts;
	struct dfg_loops loops;
	bool valid;        /* the graph is, and so must be all that are tried */
	uint8_t *changes;  /* by node: bits of enum change, accepted or being tried */
	uint32_t *unit;    /* by node: the node whose TAKEN counts, the first Enter of an outermost loop */
	uint32_t *through; /* by node: the input that can replace it; DFG_NONE: none */
	bool *there;       /* by node: whether the smallest graph so far has it */
	uint32_t nodes;    /* of that graph */
	uint32_t *order;   /* of all nodes */
	struct dfg_arena arena;

	/* The trial. */
	struct dfg_arena trial_arena;
	struct dfg_graph trial;
	uint32_t *number;   /* by node: its number in the trial, DFG_NONE: it is not there */
	uint32_t *constant; /* by tensor: number of the constant in its place */
	bool *needed;       /* by node: is there as itself */
	uint32_t *stack;
	bool no_library; /* the trial has no functions */
	bool stopped;
};

static struct dfg_err *no_memory(void)
{
	return dfg_no_memory("the reduced graph");
}

static const struct dfg_inferred *fact_of(const struct reduce *r, struct dfg_edge edge)
{
	if (!r->facts.first || edge.port < 0 || (uint32_t)edge.port >= dfg_facts_outputs(&r->facts, edge.node))
		return &dfg_fact_nothing;
	return dfg_facts_of(&r->facts, edge);
}

static bool is_taken(const struct reduce *r, uint32_t node)
{
	return r->changes[r->unit[node]] & TAKEN;
}

/* A constant can replace what has a type and a rank, is outside loops and is not a constant already. */
static bool can_be_constant(const struct reduce *r, struct dfg_edge edge)
{
	const struct dfg_inferred *fact = fact_of(r, edge);
	return fact->dtype != DFG_NO_DTYPE && !fact->is_ref && !dfg_dtype_is_handle(fact->dtype) && fact->shape.rank >= 0 &&
		   !r->loops.of[edge.node] && dfg_node_role(&r->graph->node[edge.node]) != DFG_CONST;
}

/* The edge that a reader has in the trial, past nodes that are passed. */
static struct dfg_edge source_of(const struct reduce *r, struct dfg_edge edge)
{
	while (edge.port >= 0 && r->changes[edge.node] & PASSED)
		edge = r->graph->node[edge.node].in[r->through[edge.node]];
	return edge;
}

static bool keeps_edge(const struct reduce *r, uint32_t node, uint32_t e)
{
	const struct dfg_node *it = &r->graph->node[node];
	if (e < it->n_in)
		return true;
	return !(r->changes[node] & FREE) && !is_taken(r, it->in[e].node) && !(r->changes[it->in[e].node] & PASSED);
}

static void need(struct reduce *r, uint32_t node, uint32_t *depth)
{
	if (!r->needed[node])
		r->stack[(*depth)++] = node;
	r->needed[node] = true;
}

/* Finds the nodes that stay as they are: those that are not taken, and those that a reader must have. */
static void find_needed(struct reduce *r)
{
	uint32_t depth = 0;
	memset(r->needed, 0, r->graph->count * sizeof *r->needed);
	for (uint32_t n = 0; n < r->graph->count; n++)
		if (!is_taken(r, n) && !(r->changes[n] & PASSED))
			need(r, n, &depth);
	while (depth) {
		const uint32_t n = r->stack[--depth];
		const struct dfg_node *node = &r->graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			const struct dfg_edge from = source_of(r, node->in[e]);
			if (keeps_edge(r, n, e) && (!is_taken(r, from.node) || !can_be_constant(r, from)))
				need(r, from.node, &depth);
		}
	}
}

/* A name that neither the graph nor the trial has, unless it is the node's own. */
static const char *constant_name(struct reduce *r, struct dfg_edge edge)
{
	const char *name = r->graph->node[edge.node].name;
	if (!edge.port)
		return name;
	name = dfg_arena_print(&r->trial_arena, "%s/%d", name, edge.port);
	while (name && dfg_graph_find(r->graph, name) != DFG_NONE)
		name = dfg_arena_print(&r->trial_arena, "%s_", name);
	return name;
}

static struct dfg_err *zeros_of(struct reduce *r, enum dfg_dtype dtype, struct dfg_shape shape, struct dfg_node *out)
{
	struct dfg_literal *literal = dfg_arena_zeros(&r->trial_arena, 1, sizeof *literal);
	struct dfg_attr *attr = dfg_arena_zeros(&r->trial_arena, 2, sizeof *attr);
	if (!literal || !attr)
		return no_memory();
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = shape.dim[i] < 0 ? 1 : shape.dim[i]; /* 1 goes with any batch in most ops */
	*literal = (struct dfg_literal){.dtype = dtype, .shape = shape, .data = ""};
	attr[0] = (struct dfg_attr){"dtype", DFG_ATTR_DTYPE, {.dtype = dtype}};
	attr[1] = (struct dfg_attr){"value", DFG_ATTR_TENSOR, {.tensor = literal}};
	out->attr = attr;
	out->n_attr = 2;
	return NULL;
}

static struct dfg_err *add_constant(struct reduce *r, struct dfg_edge edge)
{
	const struct dfg_inferred *fact = fact_of(r, edge);
	uint32_t *number = &r->constant[r->facts.first[edge.node] + (uint32_t)edge.port];
	struct dfg_node node = {.op_name = "Const", .op = dfg_op_find("Const"), .device = ""};
	if (*number != DFG_NONE)
		return NULL;
	if (!(node.name = constant_name(r, edge)))
		return no_memory();
	DFG_TRY(zeros_of(r, fact->dtype, fact->shape, &node));
	return dfg_graph_add(&r->trial, &node, number);
}

/* The attributes without marks, such as "_dfg_output"; others may be what the op requires. */
static struct dfg_err *strip(struct reduce *r, struct dfg_node *node)
{
	struct dfg_attr *attr = dfg_arena_zeros(&r->trial_arena, (size_t)node->n_attr + 1, sizeof *attr);
	uint32_t count = 0;
	if (!attr)
		return no_memory();
	for (uint32_t i = 0; i < node->n_attr; i++)
		if (node->attr[i].name[0] != '_')
			attr[count++] = node->attr[i];
	node->attr = attr;
	node->n_attr = count;
	node->device = "";
	return NULL;
}

static struct dfg_err *zero(struct reduce *r, struct dfg_node *node)
{
	const struct dfg_attr *value = dfg_node_attr(node, "value");
	return zeros_of(r, value->value.tensor->dtype, value->value.tensor->shape, node);
}

/* Adds a node that stays; its inputs are set when all nodes have numbers. */
static struct dfg_err *add_node(struct reduce *r, uint32_t n)
{
	struct dfg_node node = r->graph->node[n];
	node.in = NULL;
	node.n_in = node.n_control = 0;
	node.debug = NULL;
	node.n_debug = 0;
	if (r->changes[n] & ZEROED)
		DFG_TRY(zero(r, &node));
	if (r->changes[n] & BARE)
		DFG_TRY(strip(r, &node));
	return dfg_graph_add(&r->trial, &node, &r->number[n]);
}

static struct dfg_err *add_constants_of(struct reduce *r, uint32_t n)
{
	const struct dfg_node *node = &r->graph->node[n];
	for (uint32_t e = 0; e < node->n_in; e++) {
		const struct dfg_edge from = source_of(r, node->in[e]);
		if (!r->needed[from.node])
			DFG_TRY(add_constant(r, from));
	}
	return NULL;
}

static struct dfg_err *connect(struct reduce *r, uint32_t n)
{
	const struct dfg_node *from = &r->graph->node[n];
	struct dfg_node *to = &r->trial.node[r->number[n]];
	uint32_t count = 0;
	if (!(to->in = dfg_arena_zeros(&r->trial_arena, (size_t)from->n_in + from->n_control + 1, sizeof *to->in)))
		return no_memory();
	for (uint32_t e = 0; e < from->n_in + from->n_control; e++) {
		struct dfg_edge edge = source_of(r, from->in[e]);
		if (!keeps_edge(r, n, e))
			continue;
		if (r->needed[edge.node])
			to->in[count++] = (struct dfg_edge){r->number[edge.node], edge.port};
		else
			to->in[count++] = (struct dfg_edge){r->constant[r->facts.first[edge.node] + (uint32_t)edge.port], 0};
	}
	to->n_in = from->n_in;
	to->n_control = count - from->n_in;
	return NULL;
}

static void begin_trial(struct reduce *r)
{
	dfg_graph_release(&r->trial);
	dfg_arena_reset(&r->trial_arena);
	dfg_graph_init(&r->trial, &r->trial_arena);
	r->trial.producer = r->graph->producer;
	r->trial.min_consumer = r->graph->min_consumer;
	r->trial.library = r->no_library ? NULL : r->graph->library;
	r->trial.n_library = r->no_library ? 0 : r->graph->n_library;
	r->trial.codec = r->graph->codec;
	r->trial.source = r->graph->source;
	for (uint32_t n = 0; n < r->graph->count; n++)
		r->number[n] = DFG_NONE;
	for (size_t i = 0; i < r->facts.count; i++)
		r->constant[i] = DFG_NONE;
}

static struct dfg_err *make_trial(struct reduce *r)
{
	begin_trial(r);
	find_needed(r);
	for (uint32_t n = 0; n < r->graph->count; n++)
		if (r->needed[n])
			DFG_TRY(add_constants_of(r, n));
	for (uint32_t n = 0; n < r->graph->count; n++)
		if (r->needed[n])
			DFG_TRY(add_node(r, n));
	for (uint32_t n = 0; n < r->graph->count; n++)
		if (r->needed[n])
			DFG_TRY(connect(r, n));
	return NULL;
}

/* Whether the trial is valid, if it must be. */
static struct dfg_err *is_valid(const struct reduce *r, bool *out_valid)
{
	struct dfg_verify_options options = {.most = 1};
	struct dfg_err *fault = r->valid && r->trial.count ? dfg_verify(&r->trial, &options, NULL) : NULL;
	*out_valid = !fault;
	if (fault && fault->code == DFG_MEMORY)
		return fault;
	dfg_err_free(fault);
	return NULL;
}

/* Tests the trial; one that fails is the smallest graph so far. */
static struct dfg_err *test(struct reduce *r, bool *out_fails)
{
	*out_fails = false;
	DFG_TRY(make_trial(r));
	DFG_TRY(is_valid(r, out_fails));
	*out_fails = *out_fails && r->trial.count;
	if (*out_fails)
		DFG_TRY(r->how->fails(r->how->arg, &r->trial, out_fails));
	if (*out_fails) {
		r->nodes = r->trial.count;
		memcpy(r->there, r->needed, r->graph->count * sizeof *r->there);
	}
	r->stopped |= !r->how->goes_on(r->how->arg, r->nodes);
	return NULL;
}

/* Makes the change in these units; if the test does not fail any more, takes it back. */
static struct dfg_err *try_chunk(
	struct reduce *r, enum change change, const uint32_t *unit, uint32_t count, uint32_t *out_accepted)
{
	bool fails, any = false;
	for (uint32_t i = 0; i < count; i++) {
		any |= r->there[unit[i]];
		r->changes[unit[i]] |= (uint8_t)change;
	}
	if (!any) /* they went with others */
		return NULL;
	DFG_TRY(test(r, &fails));
	for (uint32_t i = 0; i < count && !fails; i++)
		r->changes[unit[i]] &= (uint8_t)~change;
	*out_accepted += fails ? count : 0;
	return NULL;
}

/* A change and the units that may have it. */
struct job {
	enum change change;
	uint32_t *unit, count;
};

/* Tries the change in chunks of one size. The list loses the units that have it. */
static struct dfg_err *sweep(struct reduce *r, struct job *job, uint32_t size, uint32_t *out_accepted)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < job->count && !r->stopped; i += size) {
		const uint32_t count = job->count - i < size ? job->count - i : size;
		DFG_TRY(try_chunk(r, job->change, &job->unit[i], count, out_accepted));
	}
	for (uint32_t i = 0; i < job->count; i++)
		if (!(r->changes[job->unit[i]] & job->change) && r->there[job->unit[i]])
			job->unit[left++] = job->unit[i];
	job->count = left;
	return NULL;
}

/* Whether a node of the smallest graph can be changed so. */
static bool can_change(const struct reduce *r, enum change change, uint32_t n)
{
	const struct dfg_node *node = &r->graph->node[n];
	const struct dfg_attr *value = dfg_node_attr(node, "value");
	switch (change) {
	case TAKEN:
		return r->unit[n] == n;
	case PASSED:
		return r->through[n] != DFG_NONE;
	case ZEROED:
		return dfg_node_role(node) == DFG_CONST && value && value->kind == DFG_ATTR_TENSOR &&
			   value->value.tensor->given && !dfg_dtype_is_handle(value->value.tensor->dtype);
	case BARE:
		return *node->device || (node->n_attr && node->attr[0].name[0] == '_');
	default:
		return node->n_control > 0;
	}
}

/* The units that can be changed, results first: what they depend on goes with them. */
static struct dfg_err *find_job(struct reduce *r, struct job *job)
{
	if (!(job->unit = dfg_arena_zeros(&r->arena, r->nodes, sizeof *job->unit)))
		return no_memory();
	for (uint32_t i = r->graph->count; i--;) {
		const uint32_t n = r->order[i];
		if (r->there[n] && !(r->changes[n] & job->change) && can_change(r, job->change, n))
			job->unit[job->count++] = n;
	}
	return NULL;
}

/*
 * Sweeps with chunks that halve. Both ways to remove nodes come before smaller chunks, because a failure that needs a long
 * chain of nodes survives one and not the other.
 */
static struct dfg_err *shrink(struct reduce *r, const enum change *change, int n, uint32_t *out_accepted)
{
	struct job job[2] = {{0}};
	uint32_t size = 0;
	for (int i = 0; i < n; i++) {
		job[i].change = change[i];
		DFG_TRY(find_job(r, &job[i]));
		size = job[i].count > size ? job[i].count : size;
	}
	while (size && !r->stopped) {
		uint32_t most = 0;
		for (int i = 0; i < n; i++) {
			DFG_TRY(sweep(r, &job[i], size, out_accepted));
			most = job[i].count > most ? job[i].count : most;
		}
		size = size / 2 < most ? size / 2 : most;
	}
	return NULL;
}

/* Until nothing more can be done. */
static struct dfg_err *shrink_until_stable(struct reduce *r)
{
	static const enum change removals[] = {TAKEN, PASSED}, simplifications[] = {FREE, BARE, ZEROED};
	for (uint32_t accepted = 1; accepted && !r->stopped;) {
		accepted = 0;
		DFG_TRY(shrink(r, removals, 2, &accepted));
		for (int i = 0; i < 3 && !r->stopped; i++)
			DFG_TRY(shrink(r, &simplifications[i], 1, &accepted));
	}
	return NULL;
}

/* A plain node can be replaced by an input of its type and shape, if it has one output. */
static uint32_t find_through(const struct reduce *r, uint32_t n)
{
	const struct dfg_node *node = &r->graph->node[n];
	const struct dfg_inferred *own = fact_of(r, (struct dfg_edge){n, 0});
	const enum dfg_role role = dfg_node_role(node);
	if ((role != DFG_PLAIN && role != DFG_IDENTITY) || own->dtype == DFG_NO_DTYPE || !r->facts.first ||
		dfg_facts_outputs(&r->facts, n) != 1)
		return DFG_NONE;
	for (uint32_t e = 0; e < node->n_in; e++) {
		const struct dfg_inferred *fact = fact_of(r, node->in[e]);
		if (fact->dtype == own->dtype && fact->is_ref == own->is_ref && dfg_shape_equal(&fact->shape, &own->shape) &&
			r->loops.of[n] == r->loops.of[node->in[e].node])
			return e;
	}
	return DFG_NONE;
}

/* An Enter stands for its loop, because it cannot be passed. */
static void find_units(struct reduce *r)
{
	for (uint32_t n = 0; n < r->graph->count; n++) {
		uint32_t loop = dfg_loop_home(r->graph, &r->loops, n);
		while (loop && r->loops.loop[loop].parent)
			loop = r->loops.loop[loop].parent;
		r->unit[n] = loop ? r->loops.loop[loop].enter : n;
		r->through[n] = find_through(r, n);
		r->there[n] = true;
	}
}

/* Nodes on a cycle, and after one, come last. */
static struct dfg_err *find_order(struct reduce *r)
{
	uint32_t count;
	DFG_TRY(dfg_graph_order(r->graph, &r->arena, r->order, &count));
	memset(r->needed, 0, r->graph->count * sizeof *r->needed);
	for (uint32_t i = 0; i < count; i++)
		r->needed[r->order[i]] = true;
	for (uint32_t n = 0; n < r->graph->count; n++)
		if (!r->needed[n])
			r->order[count++] = n;
	return NULL;
}

/* A graph with faults has facts of some nodes. */
static struct dfg_err *find_facts(struct reduce *r)
{
	const struct dfg_verify_options options = {.most = LONG_MAX, .keep_facts = true};
	r->facts.arena = &r->arena;
	struct dfg_err *fault = dfg_verify(r->graph, &options, &r->facts);
	r->valid = !fault;
	if (fault && fault->code == DFG_MEMORY)
		return fault;
	dfg_err_free(fault);
	return NULL;
}

/* The facts of a node from those of its inputs, of which a value that comes back in a loop is taken to be as it entered. */
static struct dfg_err *guess_node(struct reduce *r, uint32_t n, struct dfg_arena *brief)
{
	const struct dfg_node *node = &r->graph->node[n];
	const struct dfg_inferred **in = dfg_arena_zeros(brief, (size_t)node->n_in + 1, sizeof *in);
	struct dfg_resolved_node call;
	if (!in)
		return no_memory();
	for (uint32_t e = 0; e < node->n_in; e++)
		in[e] = fact_of(r, node->in[dfg_edge_closes(r->graph, node, node->in[e]) ? 0 : e]);
	DFG_TRY(dfg_facts_resolve(&r->facts, r->graph, n, brief, &call));
	return dfg_facts_infer(&r->facts, &call, in, &r->facts.fact[r->facts.first[n]]);
}

/* Shapes after loops are not known, but a guess is enough: a graph with a wrong one is not valid. */
static struct dfg_err *guess_shapes(struct reduce *r)
{
	struct dfg_arena brief = {0};
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < r->graph->count && !err && r->valid; i++) {
		const uint32_t n = r->order[i];
		if (dfg_facts_outputs(&r->facts, n) && fact_of(r, (struct dfg_edge){n, 0})->shape.rank < 0)
			err = guess_node(r, n, &brief);
		if (err && err->code != DFG_MEMORY) {
			dfg_err_free(err);
			err = NULL;
		}
	}
	dfg_arena_release(&brief);
	return err;
}

static struct dfg_err *prepare(struct reduce *r)
{
	const size_t count = r->graph->count;
	DFG_TRY(find_facts(r));
	r->changes = dfg_arena_zeros(&r->arena, count, sizeof *r->changes);
	r->unit = dfg_arena_zeros(&r->arena, count, sizeof *r->unit);
	r->through = dfg_arena_zeros(&r->arena, count, sizeof *r->through);
	r->there = dfg_arena_zeros(&r->arena, count, sizeof *r->there);
	r->order = dfg_arena_zeros(&r->arena, count, sizeof *r->order);
	r->number = dfg_arena_zeros(&r->arena, count, sizeof *r->number);
	r->constant = dfg_arena_zeros(&r->arena, r->facts.count + 1, sizeof *r->constant);
	r->needed = dfg_arena_zeros(&r->arena, count, sizeof *r->needed);
	r->stack = dfg_arena_zeros(&r->arena, count, sizeof *r->stack);
	if (!r->changes || !r->unit || !r->through || !r->there || !r->order || !r->number || !r->constant || !r->needed ||
		!r->stack)
		return no_memory();
	r->nodes = r->graph->count;
	DFG_TRY(find_order(r));
	DFG_TRY(guess_shapes(r));
	DFG_TRY(dfg_loops_find(r->graph, r->order, &r->arena, &r->loops));
	find_units(r);
	return NULL;
}

/* A test that fails for a graph with only a NoOp says nothing about the graph. An empty one is not valid. */
static struct dfg_err *try_nothing(struct reduce *r, bool *out_always)
{
	const struct dfg_node node = {.name = "nothing", .op_name = "NoOp", .op = dfg_op_find("NoOp"), .device = ""};
	uint32_t number;
	r->no_library = true;
	begin_trial(r);
	DFG_TRY(dfg_graph_add(&r->trial, &node, &number));
	DFG_TRY(r->how->fails(r->how->arg, &r->trial, out_always));
	r->no_library = *out_always;
	return NULL;
}

static struct dfg_err *try_without_library(struct reduce *r)
{
	bool fails;
	if (!r->graph->n_library || r->stopped)
		return NULL;
	r->no_library = true;
	DFG_TRY(test(r, &fails));
	r->no_library = fails;
	return NULL;
}

static struct dfg_err *reduce_graph(struct reduce *r, bool *out_always)
{
	DFG_TRY(prepare(r));
	DFG_TRY(try_nothing(r, out_always));
	if (*out_always)
		return NULL;
	DFG_TRY(try_without_library(r));
	DFG_TRY(shrink_until_stable(r));
	DFG_TRY(try_without_library(r));
	return make_trial(r);
}

struct dfg_err *dfg_reduce(const struct dfg_graph *graph, const struct dfg_reduction *reduction,
	struct dfg_arena *arena, struct dfg_graph *out_graph, bool *out_always)
{
	struct reduce r = {.graph = graph, .how = reduction};
	*out_always = false;
	struct dfg_err *err = reduce_graph(&r, out_always);
	dfg_facts_release(&r.facts);
	dfg_arena_release(&r.arena);
	if (err) {
		dfg_graph_release(&r.trial);
		dfg_arena_release(&r.trial_arena);
		return err;
	}
	*arena = r.trial_arena;
	*out_graph = r.trial;
	out_graph->arena = arena;
	return NULL;
}
