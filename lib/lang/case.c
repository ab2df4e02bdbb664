#include "lib/lang/lang.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/number_private.h"
#include "lib/lang/op_private.h"
#include "lib/lang/std_private.h"

#include <string.h>

/* A case while it is parsed. The builder makes its constants; the node of the op itself is added unchecked. */
struct test {
	struct dfg_eval eval;
	struct dfg_builder builder;
	struct dfg_source source;
	struct dfg_tree *call, *want;
	struct dfg_name_scope *bindings;
	enum dfg_dtype dtype;
	struct dfg_case *out;
};

static struct dfg_err *callee(struct test *test, const struct dfg_op **out_op)
{
	const struct dfg_tree *call = test->call;
	struct dfg_datum datum;
	if (call->kind != DFG_TREE_CALL)
		return dfg_eval_at(&test->eval, call, DFG_ERR(DFG_DATA, "a case must begin with a call of an op"));
	DFG_TRY(dfg_eval_expr(&test->eval, test->bindings, call->kid[0], &datum));
	if (datum.kind != DFG_DATUM_OP)
		return dfg_eval_at(&test->eval, call,
			DFG_ERR(
				DFG_DATA, "a case must begin with a call of an op, not of %s", dfg_datum_words(&test->eval, &datum)));
	*out_op = datum.op;
	return NULL;
}

static struct dfg_err *arguments(struct test *test, struct dfg_call_site *site)
{
	const struct dfg_tree *call = test->call;
	*site = (struct dfg_call_site){.tree = call, .n = call->n - 1};
	site->argument = dfg_arena_zeros(&test->out->arena, site->n, sizeof *site->argument);
	if (!site->argument)
		return dfg_no_memory("the case");
	for (uint32_t i = 0; i < site->n; i++) {
		struct dfg_argument *argument = &site->argument[i];
		argument->name = call->kid[i + 1]->text;
		argument->tree = call->kid[i + 1]->kid[0];
		DFG_TRY(dfg_eval_expr(&test->eval, test->bindings, argument->tree, &argument->value));
	}
	return NULL;
}

static bool is_untyped(struct test *test, const struct dfg_datum *datum)
{
	return dfg_datum_is_known(datum) && !dfg_datum_dtype(&test->eval, datum);
}

static int first_type(const struct dfg_signature *signature)
{
	for (int i = 0; i < signature->n_param; i++)
		if (signature->param[i].types)
			return i;
	return -2; /* no port has this number; -1 is that of ports of a fixed type */
}

/* Gives the first type parameter the dtype of the case, if all values at its ports are untyped numbers. */
static void retype(struct test *test, struct dfg_arranged *arranged)
{
	const struct dfg_signature *signature = arranged->signature;
	bool numbers = false, fixed = false;
	int type = first_type(signature);
	for (int i = 0; i < signature->n_in; i++) {
		const struct dfg_port *port = &signature->in[i];
		if (port->type != type || port->is_list)
			continue;
		enum dfg_dtype natural = dfg_datum_natural(&arranged->port[i]->value);
		bool number = is_untyped(test, &arranged->port[i]->value) && (natural == DFG_F32 || natural == DFG_I32);
		numbers |= number;
		fixed |= !number;
	}
	for (uint32_t i = 0; i < arranged->n_attr; i++)
		fixed |= type >= 0 && !strcmp(arranged->attr[i].name, signature->param[type].name);
	test->out->flexible = numbers && !fixed;
	if (test->out->flexible && test->dtype)
		arranged->param[type] = test->dtype;
}

static void add_attr(struct dfg_node *node, const struct dfg_attr *attr)
{
	uint32_t i = node->n_attr++;
	for (; i > 0 && strcmp(node->attr[i - 1].name, attr->name) > 0; i--)
		node->attr[i] = node->attr[i - 1];
	node->attr[i] = *attr;
}

static bool is_given(const struct dfg_arranged *arranged, const char *name)
{
	for (uint32_t i = 0; i < arranged->n_attr; i++)
		if (!strcmp(arranged->attr[i].name, name))
			return true;
	return false;
}

/* Adds the attribute of a list port: the types of its items, or their number. */
static struct dfg_err *add_list_param(
	struct test *test, const struct dfg_arranged *arranged, const struct dfg_port *port, struct dfg_node *node)
{
	const struct dfg_datum *datum = &arranged->port[port - arranged->signature->in]->value;
	uint32_t n = datum->kind == DFG_DATUM_LIST ? datum->list.n : 0;
	struct dfg_attr attr = {.name = arranged->signature->param[port->is_list ? port->type : port->count].name};
	if (!port->is_list) {
		attr.kind = DFG_ATTR_INT;
		attr.value.i = n;
		add_attr(node, &attr);
		return NULL;
	}
	struct dfg_list *list = dfg_arena_zeros(&test->out->arena, 1, sizeof *list);
	union dfg_value *item = dfg_arena_zeros(&test->out->arena, n, sizeof *item);
	if (!list || !item)
		return dfg_no_memory("the case");
	for (uint32_t i = 0; i < n; i++) {
		enum dfg_dtype typed = dfg_datum_dtype(&test->eval, &datum->list.item[i]);
		item[i].dtype = typed ? typed : dfg_datum_natural(&datum->list.item[i]);
	}
	*list = (struct dfg_list){n ? DFG_ATTR_DTYPE : DFG_ATTR_NONE, n, item};
	attr.kind = DFG_ATTR_LIST;
	attr.value.list = list;
	add_attr(node, &attr);
	return NULL;
}

static struct dfg_err *add_params(struct test *test, const struct dfg_arranged *arranged, struct dfg_node *node)
{
	const struct dfg_signature *signature = arranged->signature;
	for (int i = 0; i < signature->n_in; i++) {
		const struct dfg_port *port = &signature->in[i];
		int list = port->is_list ? port->type : port->count;
		if (list >= 0 && !is_given(arranged, signature->param[list].name) &&
			!dfg_node_attr(node, signature->param[list].name))
			DFG_TRY(add_list_param(test, arranged, port, node));
	}
	for (int p = 0; p < signature->n_param; p++) {
		const struct dfg_param *param = &signature->param[p];
		enum dfg_dtype dtype = arranged->param[p] ? arranged->param[p] : param->default_dtype;
		if (dtype && !param->is_list && !is_given(arranged, param->name) && !dfg_node_attr(node, param->name))
			add_attr(node, &DFG_ATTR_T(param->name, dtype));
	}
	return NULL;
}

/* Adds the node without the builder, whose errors would come before the ones that a case is about. */
static struct dfg_err *add_node(struct test *test, const struct dfg_arranged *arranged, struct dfg_edge *in, uint32_t n)
{
	struct dfg_node node = {
		.name = "case", .op_name = arranged->op->name, .op = arranged->op, .device = "", .in = in, .n_in = n};
	uint32_t most = arranged->n_attr + DFG_PARAM_MAX + DFG_PORT_MAX;
	node.attr = dfg_arena_zeros(&test->out->arena, most, sizeof *node.attr);
	if (!node.attr)
		return dfg_no_memory("the case");
	for (uint32_t i = 0; i < arranged->n_attr; i++)
		add_attr(&node, &arranged->attr[i]);
	DFG_TRY(add_params(test, arranged, &node));
	return dfg_graph_add(&test->out->graph, &node, &test->out->node);
}

/* Evaluates the expected values. Each takes the dtype of the output that it is compared with. */
static struct dfg_err *wanted(struct test *test, const struct dfg_resolved_node *call)
{
	struct dfg_case *out = test->out;
	out->n_want = test->want->n;
	out->want = dfg_arena_zeros(&out->arena, out->n_want, sizeof *out->want);
	if (!out->want)
		return dfg_no_memory("the case");
	if (out->n_want != call->n_out)
		return dfg_eval_at(&test->eval, test->want,
			DFG_ERR(DFG_DATA, "%s has %d outputs, but the case has %u expected values", call->op->name, call->n_out,
				out->n_want));
	for (uint32_t i = 0; i < out->n_want; i++) {
		const struct dfg_tree *tree = test->want->kid[i];
		struct dfg_datum datum;
		DFG_TRY(dfg_eval_expr(&test->eval, test->bindings, tree, &datum));
		if (dfg_datum_is_known(&datum))
			DFG_TRY(dfg_eval_at(
				&test->eval, tree, dfg_literal_new(&test->eval, &datum, (enum dfg_dtype)call->out_dtype[i], &datum)));
		if (datum.kind != DFG_DATUM_LITERAL)
			return dfg_eval_at(&test->eval, tree,
				DFG_ERR(DFG_DATA, "an expected value must be a number, string or list, not %s",
					dfg_datum_words(&test->eval, &datum)));
		out->want[i] = *datum.literal;
	}
	return NULL;
}

static struct dfg_err *parse_case(struct test *test)
{
	const struct dfg_op *op = NULL;
	struct dfg_call_site site;
	struct dfg_arranged arranged;
	struct dfg_resolved_node call;
	struct dfg_edge *in;
	uint32_t n_in;
	struct dfg_lang_library *library;
	DFG_TRY(dfg_parse_case(&test->source, &test->out->arena, &test->call, &test->want, &test->out->error));
	DFG_TRY(dfg_library_get(&library));
	DFG_TRY(dfg_name_scope_new(&test->eval, &library->bindings, &test->bindings));
	DFG_TRY(callee(test, &op));
	DFG_TRY(arguments(test, &site));
	DFG_TRY(dfg_eval_at(&test->eval, test->call, dfg_op_arrange(&test->eval, op, &site, &arranged)));
	retype(test, &arranged);
	DFG_TRY(dfg_op_inputs(&test->eval, &arranged, &in, &n_in));
	DFG_TRY(add_node(test, &arranged, in, n_in));
	if (!test->want)
		return NULL;
	DFG_TRY(dfg_eval_at(
		&test->eval, test->call, dfg_node_resolve(&test->out->graph, test->out->node, &test->out->arena, &call)));
	return wanted(test, &call);
}

struct dfg_err *dfg_case_parse(const char *line, enum dfg_dtype dtype, struct dfg_case *out_case)
{
	*out_case = (struct dfg_case){0};
	struct test test = {.source = {"case", line, (uint32_t)strlen(line), false}, .dtype = dtype, .out = out_case};
	dfg_graph_init(&out_case->graph, &out_case->arena);
	struct dfg_err *err = dfg_builder_init(&test.builder, &out_case->graph);
	test.eval =
		(struct dfg_eval){.builder = &test.builder, .arena = &out_case->arena, .source = &test.source, .scope = ""};
	if (!err)
		err = parse_case(&test);
	err = dfg_eval_finish(&test.eval, err);
	dfg_eval_release(&test.eval);
	dfg_builder_release(&test.builder);
	if (err)
		dfg_case_release(out_case);
	return err;
}

void dfg_case_release(struct dfg_case *case_)
{
	dfg_graph_release(&case_->graph);
	dfg_arena_release(&case_->arena);
	*case_ = (struct dfg_case){0};
}
