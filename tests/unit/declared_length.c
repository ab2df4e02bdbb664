/*
 * The declared length of a constant is not work: of a file with one value in a tensor of 2^40 elements, no shape function,
 * no gradient and no pass may take time or memory for the elements that it does not hold. Every case of tests/ops, with
 * each of its inputs in turn, and all of them together, made such a constant.
 */
#include "tests/unit/test.h"

#include "lib/lang/lang.h"
#include "lib/pass/rewrite/fold.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/verify/verify.h"
#include "tests/unit/op_lines.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SECONDS = 20, MEMORY = 64 << 20, INPUTS = 64, ALL = -1 };
static const int64_t LONG = INT64_C(1) << 40;

static char doing[1000]; /* for the handler */
static int accepted, failures;

static void too_late(int signal)
{
	static const char words[] = "\ndoes not end: ";
	(void)signal;
	if (write(2, words, sizeof words - 1) < 0 || write(2, doing, strlen(doing)) < 0 || write(2, "\n", 1) < 0)
		_exit(2);
	_exit(1);
}

/* Dimension d of the input becomes LONG, with no more than one value in the file; d = -1: the input is a vector. */
static bool lengthen(struct dfg_case *trial, uint32_t input, int d)
{
	struct dfg_node *source = &trial->graph.node[trial->graph.node[trial->node].in[input].node];
	const struct dfg_attr *value = dfg_node_attr(source, "value");
	struct dfg_literal *literal = dfg_arena_zeros(&trial->arena, 1, sizeof *literal);
	assert_non_null(literal);
	if (!value || value->kind != DFG_ATTR_TENSOR || dfg_dtype_is_handle(value->value.tensor->dtype))
		return false;
	*literal = *value->value.tensor;
	if (d >= literal->shape.rank)
		return false;
	if (d < 0)
		literal->shape = DFG_SHAPE_VECTOR(LONG);
	else
		literal->shape.dim[d] = LONG;
	literal->content = false;
	literal->given = literal->given > 0;
	succeeds(dfg_node_set_attr(&trial->graph, (uint32_t)(source - trial->graph.node), "value", DFG_ATTR_TENSOR,
		(union dfg_value){.tensor = literal}));
	return true;
}

static bool lengthen_some(struct dfg_case *trial, int input, int d)
{
	bool any = false;
	for (uint32_t i = 0; i < trial->graph.node[trial->node].n_in; i++)
		if (input == ALL || i == (uint32_t)input)
			any |= lengthen(trial, i, d);
	return any;
}

static struct dfg_err *verify(struct dfg_case *trial)
{
	struct dfg_err *err = dfg_verify(&trial->graph, NULL, NULL);
	accepted += !err;
	return err;
}

static struct dfg_err *print(struct dfg_case *trial)
{
	struct dfg_text text = {0};
	struct dfg_err *err = dfg_lang_print(&trial->graph, &text);
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *fold(struct dfg_case *trial)
{
	struct dfg_edge fetch = {trial->node, 0};
	struct dfg_keep keep = {.fetch = &fetch, .n_fetch = 1};
	struct dfg_arena scratch = {0};
	struct dfg_text report = {0};
	struct dfg_err *err = dfg_fold(&trial->graph, &keep, &scratch, &report);
	dfg_text_release(&report);
	dfg_arena_release(&scratch);
	return err;
}

static bool is_float(const struct dfg_builder *builder, struct dfg_edge edge)
{
	return dfg_dtype_is(dfg_facts_of(&builder->facts, edge)->dtype, "float");
}

static struct dfg_err *differentiate(struct dfg_case *trial)
{
	const struct dfg_node *node = &trial->graph.node[trial->node];
	struct dfg_edge of[INPUTS], wrt[INPUTS], gradient[INPUTS];
	uint32_t n_of = 0, n_wrt = 0;
	struct dfg_builder builder;
	struct dfg_err *err = dfg_builder_init(&builder, &trial->graph);
	for (uint32_t i = 0; !err && i < node->n_in && n_wrt < INPUTS; i++)
		if (is_float(&builder, node->in[i]))
			wrt[n_wrt++] = node->in[i];
	for (uint32_t i = 0; !err && i < dfg_facts_outputs(&builder.facts, trial->node) && n_of < INPUTS; i++)
		if (is_float(&builder, (struct dfg_edge){trial->node, (int32_t)i}))
			of[n_of++] = (struct dfg_edge){trial->node, (int32_t)i};
	if (!err && n_of && n_wrt)
		err = dfg_grad_edges(&builder, of, n_of, wrt, n_wrt, gradient);
	dfg_builder_release(&builder);
	return err;
}

static const struct action {
	const char *name;
	struct dfg_err *(*run)(struct dfg_case *trial);
} actions[] = {{"verify", verify}, {"print", print}, {"fold", fold}, {"differentiate", differentiate}};

/* Whether there was such an input. Any answer is right but one that needs the elements, or is a bug. */
static bool try_one(const char *line, int input, int d, const struct action *action)
{
	struct dfg_case trial;
	struct dfg_err *err = dfg_case_parse(line, DFG_NO_DTYPE, &trial);
	if (err) {
		dfg_err_free(err);
		return false;
	}
	bool is_there = lengthen_some(&trial, input, d);
	snprintf(doing, sizeof doing, "%s, input %d, dimension %d: %s", action->name, input, d, line);
	if (is_there) {
		alarm(SECONDS);
		err = action->run(&trial);
		alarm(0);
	}
	if (err && (err->code == DFG_MEMORY || err->code == DFG_BUG)) {
		failures++;
		print_error("%s\n    %s\n", doing, err->text);
	}
	dfg_err_free(err);
	dfg_case_release(&trial);
	return is_there;
}

static uint32_t inputs_of(const char *line)
{
	struct dfg_case trial;
	struct dfg_err *err = dfg_case_parse(line, DFG_NO_DTYPE, &trial);
	uint32_t n_in = err ? 0 : trial.graph.node[trial.node].n_in;
	dfg_err_free(err);
	if (!err)
		dfg_case_release(&trial);
	return n_in < INPUTS ? n_in : INPUTS;
}

static void try_line(const char *line)
{
	int n_in = (int)inputs_of(line);
	for (int input = ALL; input < n_in; input++)
		for (int d = -1; d < DFG_RANK_MAX; d++)
			for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
				if (!try_one(line, input, d, &actions[i]))
					break;
}

static void no_op_counts_what_a_file_only_declares(void **state)
{
	(void)state;
	each_op_line(try_line);
	print_message("%d graphs accepted\n", accepted);
	assert_true(accepted > 1000);
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_op_counts_what_a_file_only_declares),
	};
	static struct dfg_mem_limit limit;
	dfg_mem_limit_init(&limit, dfg_mem, MEMORY);
	dfg_mem = &limit.base;
	signal(SIGALRM, too_late);
	return cmocka_run_group_tests_name("declared_length", tests, NULL, NULL);
}
