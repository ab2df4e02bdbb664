/* Adds one step of an optimizer, as the node `train`. Requires the facts of every node. */
#include "lib/pass/grad/train.h"

#include "lib/graph/initialisers.h"
#include "lib/pass/grad/clip.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/grad/control_out.h"
#include "lib/pass/grad/cotangent.h"
#include "lib/pass/grad/backpropagation.h"
#include "lib/pass/grad/rows.h"
#include "lib/pass/grad/variables.h"

#include <stdio.h>
#include <string.h>

struct trainer {
	struct dfg_builder *builder;
	const struct dfg_train_options *options;
	struct dfg_arena scratch;
	struct dfg_numbers variables; /* those that the loss depends on */
	struct dfg_edge *gradient;    /* by variable: dense, or the rows that `indices` name */
	struct dfg_edge *indices;     /* by variable; .node DFG_NONE: the gradient is dense */
	struct dfg_numbers by_rows;   /* variables whose gradients stay rows */
	struct dfg_readers readers;   /* of the graph before the pass */
	uint32_t before;              /* the number of nodes then */
	bool *needed;                 /* by node: the loss depends on it */
	struct dfg_optimizer *optimizer;
	struct dfg_numbers effects; /* the control inputs of `train` */
	struct dfg_control_out outside;
	struct dfg_numbers asserts; /* assertions of the loss, which come before its variables change */
};

static const char *name_of(const struct trainer *t, uint32_t node)
{
	return t->builder->graph->node[node].name;
}

static struct dfg_err *check_loss(const struct trainer *t, struct dfg_edge loss)
{
	const struct dfg_graph *graph = t->builder->graph;
	if ((uint32_t)loss.port >= dfg_facts_outputs(&t->builder->facts, loss.node))
		return DFG_ERR(DFG_DATA, "node '%.200s' has no output %d to use as the loss", name_of(t, loss.node), loss.port);
	const struct dfg_inferred *fact = dfg_facts_of(&t->builder->facts, loss);
	if (fact->shape.rank > 0)
		return DFG_ERR(DFG_DATA, "node '%.200s' (%.100s): the loss has type %s, expected a scalar",
			name_of(t, loss.node), graph->node[loss.node].op_name, dfg_type_words(fact->dtype, &fact->shape).s);
	if (dfg_graph_find(graph, "train") != DFG_NONE)
		return DFG_ERR(DFG_DATA, "node 'train' already exists: the graph has a training step");
	return NULL;
}

static struct dfg_err *choose(struct trainer *t, bool *out_guessed)
{
	*out_guessed = false;
	if (!t->options->variable)
		DFG_TRY(dfg_trainable(t->builder, &t->variables, out_guessed));
	for (uint32_t i = 0; i < t->options->n_variable; i++) {
		uint32_t n = t->options->variable[i];
		if (!dfg_is_variable(t->builder, n))
			return DFG_ERR(DFG_DATA, "node '%.200s' (%.100s) is not a variable, so an optimizer cannot update it",
				name_of(t, n), t->builder->graph->node[n].op_name);
		DFG_TRY(dfg_numbers_add(&t->variables, n));
	}
	if (!t->variables.count)
		return DFG_ERR(DFG_DATA, "the graph has no trainable variables");
	return NULL;
}

static void list_variables(struct trainer *t, const char *what, const struct dfg_numbers *variables)
{
	dfg_text_add(t->options->notes, "%s", what);
	for (size_t i = 0; i < variables->count; i++)
		dfg_text_add(t->options->notes, "%s %s", i ? "," : ":", name_of(t, variables->number[i]));
	dfg_text_add(t->options->notes, "\n");
}

/* Names the gradient and marks it: the all-reduce of replicas reads what is marked. */
static struct dfg_err *name_gradient(struct trainer *t, uint32_t variable, struct dfg_cotangent *cotangent)
{
	const char *prefix = t->options->prefix ? t->options->prefix : "grad";
	char name[DFG_SCOPE_MOST + 100];
	snprintf(name, sizeof name, "%.90s/%.*s", prefix, DFG_SCOPE_MOST - 100, name_of(t, variable));
	struct dfg_make make = {t->builder, name};
	struct dfg_edge like = {variable, 0}, value;
	DFG_TRY(dfg_cotangent_dense(&make, like, cotangent, &value));
	struct dfg_attr mark = DFG_ATTR_S("_dfg_gradient_of", name_of(t, variable));
	struct dfg_new_node node = {.op = "Identity", .name = name, .in = &value, .n_in = 1, .attr = &mark, .n_attr = 1};
	cotangent->value.port = 0;
	return dfg_build(t->builder, &node, &cotangent->value.node);
}

/* Whether the gradient stays rows: where the optimizer has the same result on rows. A ref has no op for that. */
static struct dfg_err *stays_rows(
	const struct trainer *t, uint32_t variable, const struct dfg_cotangent *cotangent, bool *out_stays)
{
	const struct dfg_inferred *fact = dfg_facts_of(&t->builder->facts, (struct dfg_edge){variable, 0});
	*out_stays = false;
	if (cotangent->kind != DFG_ROWS || t->options->dense || fact->is_ref || !fact->holds ||
		!dfg_shape_known(&fact->holds->shape) || fact->holds->shape.rank < 1)
		return NULL;
	return dfg_rows_suffice(
		t->options->optimizer, t->options->lang, fact->holds->dtype, &fact->holds->shape, out_stays);
}

/* Names the rows VAR/values and VAR/indices under the prefix, with marks that name the dense gradient. */
static struct dfg_err *name_rows(
	struct trainer *t, uint32_t variable, const struct dfg_cotangent *cotangent, uint32_t dense_node, size_t number)
{
	const char *prefix = t->options->prefix ? t->options->prefix : "grad";
	char scope[DFG_SCOPE_MOST + 100], name[DFG_SCOPE_MOST + 120];
	struct dfg_make make = {t->builder, scope};
	struct dfg_cotangent merged;
	snprintf(scope, sizeof scope, "%.90s/%.*s/merge", prefix, DFG_SCOPE_MOST - 100, name_of(t, variable));
	DFG_TRY(dfg_rows_merge(&make, cotangent, &merged));
	for (int i = 0; i < 2; i++) {
		struct dfg_edge *edge = i ? &t->indices[number] : &t->gradient[number];
		const char *dense = name_of(t, dense_node);
		const struct dfg_attr mark = DFG_ATTR_S(i ? "_dfg_gradient_indices" : "_dfg_gradient_rows", dense);
		snprintf(name, sizeof name, "%.*s%s", (int)(strlen(scope) - strlen("merge")), scope, i ? "indices" : "values");
		const struct dfg_new_node node = {.op = "Identity",
			.name = name,
			.in = i ? &merged.indices : &merged.value,
			.n_in = 1,
			.attr = &mark,
			.n_attr = 1};
		edge->port = 0;
		DFG_TRY(dfg_build(t->builder, &node, &edge->node));
	}
	return dfg_numbers_add(&t->by_rows, variable);
}

/* Names the dense gradient of the variable, which can be fetched, and the rows that are used instead. */
static struct dfg_err *name_both(struct trainer *t, uint32_t variable, struct dfg_cotangent *cotangent, size_t number)
{
	const struct dfg_cotangent rows = *cotangent;
	bool stays_rows_too;
	DFG_TRY(stays_rows(t, variable, cotangent, &stays_rows_too));
	DFG_TRY(name_gradient(t, variable, cotangent));
	t->gradient[number] = cotangent->value;
	t->indices[number].node = DFG_NONE;
	return stays_rows_too ? name_rows(t, variable, &rows, cotangent->value.node, number) : NULL;
}

/* Keeps the variables that the loss depends on; warns of the others, unless all were guessed. */
static struct dfg_err *keep_reached(struct trainer *t, struct dfg_cotangent *cotangent, bool guessed)
{
	struct dfg_numbers unreached = {0};
	struct dfg_err *err = NULL;
	size_t kept = 0, count = t->variables.count;
	for (size_t i = 0; i < count && !err; i++) {
		uint32_t variable = t->variables.number[i];
		if (cotangent[i].kind == DFG_NO_COTANGENT) {
			err = dfg_numbers_add(&unreached, variable);
			continue;
		}
		err = name_both(t, variable, &cotangent[i], kept);
		t->variables.number[kept++] = variable;
	}
	t->variables.count = kept;
	if (!err && !kept)
		err = DFG_ERR(DFG_DATA, "the loss does not depend on any variable to train");
	if (!err && unreached.count && !guessed)
		list_variables(t, "warning: the loss does not depend on these variables, which stay unchanged", &unreached);
	if (!err && t->by_rows.count)
		list_variables(t, "gradients kept as rows", &t->by_rows);
	if (!err && guessed)
		list_variables(t, "the graph does not mark trainable variables; these are trained", &t->variables);
	dfg_numbers_release(&unreached);
	return err;
}

static struct dfg_err *differentiate(struct trainer *t, struct dfg_edge loss, bool guessed)
{
	size_t count = t->variables.count;
	struct dfg_edge *wrt = dfg_arena_zeros(&t->scratch, count, sizeof *wrt);
	struct dfg_cotangent *cotangent = dfg_arena_zeros(&t->scratch, count, sizeof *cotangent);
	t->gradient = dfg_arena_zeros(&t->scratch, count, sizeof *t->gradient);
	t->indices = dfg_arena_zeros(&t->scratch, count, sizeof *t->indices);
	if (!wrt || !cotangent || !t->gradient || !t->indices)
		return DFG_ERR(DFG_MEMORY, "no memory to train %zu variables", count);
	for (size_t i = 0; i < count; i++)
		wrt[i] = (struct dfg_edge){t->variables.number[i], 0};
	const struct dfg_grad_options options = {
		.unnamed = true, .prefix = t->options->prefix, .remat = t->options->remat, .notes = t->options->notes};
	DFG_TRY(dfg_grad(t->builder, &loss, 1, wrt, (uint32_t)count, &options, cotangent));
	DFG_TRY(keep_reached(t, cotangent, guessed));
	if (t->options->clip_norm > 0)
		DFG_TRY(dfg_clip_by_norm(t->builder, t->options->clip_norm, t->gradient, (uint32_t)t->variables.count));
	return NULL;
}

/*
 * Marks the nodes that the loss depends on. Updates wait only for reads among them, because others may depend on inputs
 * that a step is not fed.
 */
static struct dfg_err *find_needed(struct trainer *t, uint32_t loss)
{
	const struct dfg_graph *graph = t->builder->graph;
	t->before = graph->count;
	t->needed = dfg_arena_zeros(&t->scratch, graph->count, sizeof *t->needed);
	uint32_t *work = dfg_arena_zeros(&t->scratch, graph->count, sizeof *work), count = 1;
	if (!t->needed || !work)
		return DFG_ERR(DFG_MEMORY, "no memory for a list of %u nodes", graph->count);
	work[0] = loss;
	t->needed[loss] = true;
	while (count) {
		uint32_t n = work[--count];
		const struct dfg_node *node = &graph->node[n];
		if (dfg_node_means(node, DFG_MEANS_ASSERTION))
			DFG_TRY(dfg_numbers_add(&t->asserts, n));
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (!t->needed[node->in[e].node]) {
				t->needed[node->in[e].node] = true;
				work[count++] = node->in[e].node;
			}
	}
	return NULL;
}

/* The reads that an update of the variable waits for. */
static struct dfg_err *list_reads(struct trainer *t, uint32_t variable, struct dfg_numbers *reads)
{
	for (uint32_t r = t->readers.first[variable]; r; r = t->readers.reader[r - 1].next) {
		uint32_t n = t->readers.reader[r - 1].node;
		bool is_plain = t->builder->graph->node[n].n_in == 1 && t->builder->graph->node[n].in[0].node == variable;
		if (t->needed[n] || is_plain)
			DFG_TRY(dfg_numbers_add(reads, n));
	}
	return NULL;
}

/*
 * Assigns the variable's new value, or that of its rows `indices` where their .node is not DFG_NONE, after all its reads
 * and the assertions of the loss.
 */
static struct dfg_err *assign_after(struct trainer *t, uint32_t variable, struct dfg_edge indices,
	struct dfg_edge value, const struct dfg_numbers *reads, const char *name)
{
	bool is_ref = dfg_facts_of(&t->builder->facts, (struct dfg_edge){variable, 0})->is_ref;
	size_t count = reads->count + t->asserts.count;
	uint32_t n_in = 0;
	struct dfg_edge *in = dfg_zeros(count + 3, sizeof *in);
	if (!in)
		return dfg_no_memory("an update");
	struct dfg_err *err = NULL;
	in[n_in++] = (struct dfg_edge){variable, 0};
	if (indices.node != DFG_NONE)
		in[n_in++] = indices;
	in[n_in++] = value;
	for (size_t i = 0; i < count; i++) {
		uint32_t n = i < reads->count ? reads->number[i] : t->asserts.number[i - reads->count];
		in[n_in + i].port = DFG_CONTROL;
		err = err ? err : dfg_control_out_of(&t->outside, n, &in[n_in + i].node);
	}
	struct dfg_new_node node = {
		.op = n_in > 2 ? "ResourceScatterUpdate"
			  : is_ref ? "Assign"
					   : "AssignVariableOp",
		.name = name,
		.in = in,
		.n_in = n_in,
		.n_control = (uint32_t)count,
	};
	uint32_t number;
	if (!err)
		err = dfg_build(t->builder, &node, &number);
	dfg_free(in);
	return err ? err : dfg_numbers_add(&t->effects, number);
}

static struct dfg_err *update(
	struct trainer *t, uint32_t variable, struct dfg_edge indices, struct dfg_edge value, const char *name)
{
	struct dfg_numbers reads = {0};
	struct dfg_err *err = list_reads(t, variable, &reads);
	if (!err)
		err = assign_after(t, variable, indices, value, &reads, name);
	dfg_numbers_release(&reads);
	return err;
}

/* Marks variables that the optimizer made as slots. */
static struct dfg_err *mark_slots(struct trainer *t, uint32_t from)
{
	for (uint32_t n = from; n < t->builder->graph->count; n++)
		if (dfg_is_variable(t->builder, n))
			DFG_TRY(dfg_node_set_attr(t->builder->graph, n, "_dfg_slot", DFG_ATTR_BOOL, (union dfg_value){.b = true}));
	return NULL;
}

/* The rows of the variable that its gradient has. */
static struct dfg_err *gather(
	struct trainer *t, uint32_t variable, struct dfg_optimizer_rows *rows, const char *scope, struct dfg_edge *out_edge)
{
	const struct dfg_handle_type *holds = dfg_facts_of(&t->builder->facts, (struct dfg_edge){variable, 0})->holds;
	const struct dfg_attr dtype = DFG_ATTR_T("dtype", holds->dtype);
	const struct dfg_make make = {t->builder, scope};
	rows->whole = holds->shape;
	return dfg_make_op(
		&make, "ResourceGather", (struct dfg_edge[]){{variable, 0}, rows->indices}, 2, &dtype, 1, out_edge);
}

static struct dfg_err *step_variable(struct trainer *t, size_t i, struct dfg_edge step)
{
	uint32_t variable = t->variables.number[i], from = t->builder->graph->count, n_effects;
	const uint32_t *effects;
	struct dfg_edge value, next;
	char scope[DFG_SCOPE_MOST + 100], name[DFG_SCOPE_MOST + 120];
	snprintf(scope, sizeof scope, "train/%.*s", DFG_SCOPE_MOST, name_of(t, variable));
	snprintf(name, sizeof name, "%s/update", scope);
	const struct dfg_edge indices = t->indices[i];
	struct dfg_optimizer_rows rows = {.indices = indices};
	bool by_rows = indices.node != DFG_NONE;
	if (by_rows)
		DFG_TRY(gather(t, variable, &rows, scope, &value));
	else
		DFG_TRY(dfg_variable_value(t->builder, &t->readers, variable, &value));
	DFG_TRY(dfg_optimizer_apply(t->optimizer, t->builder, scope, (struct dfg_edge[]){value, t->gradient[i], step},
		by_rows ? &rows : NULL, &next, &effects, &n_effects));
	for (uint32_t e = 0; e < n_effects; e++)
		DFG_TRY(dfg_numbers_add(&t->effects, effects[e]));
	DFG_TRY(mark_slots(t, from));
	return update(t, variable, indices, next, name);
}

/* Finds or makes the i64 variable train/step, which the program may have made already. */
static struct dfg_err *make_step(struct trainer *t, uint32_t *out_variable)
{
	struct dfg_attr attr[] = {DFG_ATTR_T("dtype", DFG_I64), DFG_ATTR_S("shared_name", "train/step"),
		{"shape", DFG_ATTR_SHAPE, {.shape = &DFG_SHAPE_SCALAR}}};
	struct dfg_attr mark = DFG_ATTR_B("_dfg_init", true);
	struct dfg_new_node handle = {.op = "VarHandleOp", .name = "train/step", .exact = true, .attr = attr, .n_attr = 3};
	struct dfg_edge in[2] = {{0, 0}, {0, 0}};
	uint32_t number;
	DFG_TRY(dfg_build(t->builder, &handle, out_variable));
	in[0].node = *out_variable;
	DFG_TRY(dfg_build_ints(t->builder, "train/step/zero", DFG_I64, NULL, (int64_t[]){0}, &in[1]));
	struct dfg_new_node set = {
		.op = "AssignVariableOp", .name = "train/step/assign", .in = in, .n_in = 2, .attr = &mark, .n_attr = 1};
	return dfg_build(t->builder, &set, &number);
}

static struct dfg_err *find_step(struct trainer *t, uint32_t *out_variable)
{
	*out_variable = dfg_graph_find(t->builder->graph, "train/step");
	if (*out_variable == DFG_NONE)
		return make_step(t, out_variable);
	const struct dfg_inferred *fact = dfg_facts_of(&t->builder->facts, (struct dfg_edge){*out_variable, 0});
	if (dfg_is_variable(t->builder, *out_variable) && fact->holds && fact->holds->dtype == DFG_I64)
		return NULL;
	return DFG_ERR(DFG_DATA, "node 'train/step' (%.100s) is not the i64 variable that counts steps",
		t->builder->graph->node[*out_variable].op_name);
}

static struct dfg_err *read_step(struct trainer *t, uint32_t variable, struct dfg_edge *out_edge)
{
	uint32_t r = variable < t->before ? t->readers.first[variable] : 0;
	*out_edge = (struct dfg_edge){DFG_NONE, 0};
	for (; r; r = t->readers.reader[r - 1].next)
		out_edge->node = t->readers.reader[r - 1].node;
	if (out_edge->node != DFG_NONE)
		return NULL;
	struct dfg_edge handle = {variable, 0};
	struct dfg_attr dtype = DFG_ATTR_T("dtype", DFG_I64);
	struct dfg_new_node node = {
		.op = "ReadVariableOp", .name = "train/step/read", .in = &handle, .n_in = 1, .attr = &dtype, .n_attr = 1};
	return dfg_build(t->builder, &node, &out_edge->node);
}

static struct dfg_err *count_step(struct trainer *t, uint32_t variable, struct dfg_edge step)
{
	struct dfg_edge one, next;
	const struct dfg_edge none = {DFG_NONE, 0};
	struct dfg_numbers reads = {0};
	DFG_TRY(dfg_build_ints(t->builder, "train/step/one", DFG_I64, NULL, (int64_t[]){1}, &one));
	DFG_TRY(dfg_build_op(t->builder, "AddV2", "train/step/next", (struct dfg_edge[]){step, one}, 2, &next));
	struct dfg_err *err = dfg_numbers_add(&reads, step.node);
	for (uint32_t r = variable < t->before ? t->readers.first[variable] : 0; r && !err;
		 r = t->readers.reader[r - 1].next)
		if (t->readers.reader[r - 1].node != step.node)
			err = dfg_numbers_add(&reads, t->readers.reader[r - 1].node);
	if (!err)
		err = assign_after(t, variable, none, next, &reads, "train/step/update");
	dfg_numbers_release(&reads);
	return err;
}

/* Makes a NoOp that runs after all of the nodes. */
static struct dfg_err *make_group(struct trainer *t, const char *name, const struct dfg_numbers *nodes)
{
	struct dfg_edge *in = dfg_zeros(nodes->count + 1, sizeof *in);
	if (!in)
		return DFG_ERR(DFG_MEMORY, "no memory for node '%s'", name);
	for (size_t i = 0; i < nodes->count; i++)
		in[i] = (struct dfg_edge){nodes->number[i], DFG_CONTROL};
	struct dfg_new_node node = {
		.op = "NoOp", .name = name, .exact = true, .in = in, .n_control = (uint32_t)nodes->count};
	uint32_t number;
	struct dfg_err *err = dfg_build(t->builder, &node, &number);
	dfg_free(in);
	return err;
}

/*
 * Whether initialisers are recognised only by their form: another program's graph, without a node `init` that runs
 * them.
 */
static struct dfg_err *add_guessed(struct trainer *t, struct dfg_numbers *setters)
{
	const struct dfg_graph *graph = t->builder->graph;
	uint32_t *assign;
	DFG_TRY(dfg_initialisers_find(graph, &t->scratch, &assign));
	for (uint32_t n = 0; n < graph->count; n++)
		if (assign[n] != DFG_NONE && dfg_initialiser_guessed(graph, assign[n]))
			DFG_TRY(dfg_numbers_add(setters, assign[n]));
	return NULL;
}

/* Adds the new initialisers to the node `init`, for other programs that run the graph. */
static struct dfg_err *extend_init(struct trainer *t)
{
	struct dfg_graph *graph = t->builder->graph;
	uint32_t init = dfg_graph_find(graph, "init");
	struct dfg_numbers setters = {0};
	struct dfg_err *err = NULL;
	if (init != DFG_NONE && (!graph->node[init].op || graph->node[init].op->role != DFG_NO_OP))
		return NULL;
	for (uint32_t n = init == DFG_NONE ? 0 : t->before; n < graph->count && !err; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_init", NULL))
			err = dfg_numbers_add(&setters, n);
	if (!err && init == DFG_NONE)
		err = add_guessed(t, &setters);
	if (!err && init == DFG_NONE)
		err = make_group(t, "init", &setters);
	for (size_t i = 0; init != DFG_NONE && i < setters.count && !err; i++)
		err = dfg_node_add_control(graph, init, setters.number[i]);
	dfg_numbers_release(&setters);
	return err;
}

static struct dfg_err *add_effects(struct trainer *t)
{
	for (uint32_t n = 0; n < t->before; n++)
		if (dfg_node_mark(&t->builder->graph->node[n], "_dfg_update", NULL))
			DFG_TRY(dfg_numbers_add(&t->effects, n));
	return make_group(t, "train", &t->effects);
}

/* Replicas reduce the gradients by the loss: whether it is a mean or a sum over the batch. */
static struct dfg_err *mark_loss(struct trainer *t, struct dfg_edge loss)
{
	return dfg_node_set_attr(
		t->builder->graph, loss.node, "_dfg_loss", DFG_ATTR_INT, (union dfg_value){.i = loss.port});
}

static struct dfg_err *train(struct trainer *t, struct dfg_edge loss)
{
	bool guessed;
	uint32_t counter;
	struct dfg_edge step;
	DFG_TRY(check_loss(t, loss));
	DFG_TRY(mark_loss(t, loss));
	DFG_TRY(dfg_optimizer_new(t->options->optimizer, t->options->lang, &t->optimizer));
	DFG_TRY(choose(t, &guessed));
	DFG_TRY(find_needed(t, loss.node));
	DFG_TRY(dfg_readers_find(t->builder, &t->scratch, &t->readers));
	DFG_TRY(differentiate(t, loss, guessed));
	if (dfg_has_control_flow(t->builder->graph)) /* only now: the gradient may divide loops into segments */
		DFG_TRY(dfg_control_out_init(&t->outside, t->builder));
	DFG_TRY(find_step(t, &counter));
	DFG_TRY(read_step(t, counter, &step));
	for (size_t i = 0; i < t->variables.count; i++)
		DFG_TRY(step_variable(t, i, step));
	DFG_TRY(count_step(t, counter, step));
	DFG_TRY(extend_init(t));
	return add_effects(t);
}

struct dfg_err *dfg_train(struct dfg_builder *builder, struct dfg_edge loss, const struct dfg_train_options *options)
{
	struct trainer t = {.builder = builder, .options = options};
	struct dfg_err *err = train(&t, loss);
	dfg_optimizer_free(t.optimizer);
	dfg_numbers_release(&t.variables);
	dfg_numbers_release(&t.by_rows);
	dfg_numbers_release(&t.effects);
	dfg_numbers_release(&t.asserts);
	dfg_control_out_release(&t.outside);
	dfg_arena_release(&t.scratch);
	return err;
}
