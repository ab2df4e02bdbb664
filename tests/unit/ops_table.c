#define _GNU_SOURCE
/* The whole table of ops: what kernels/ may not forget. */
#include "lib/lang/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls fault(op) for each op; what it returns is what the op lacks. */
static void expect_of_all(const char *(*fault)(const struct dfg_op *op))
{
	int faults = 0;
	for (size_t i = 0; i < dfg_ops_count; i++) {
		const char *lacks = fault(dfg_ops[i]);
		if (!lacks)
			continue;
		faults++;
		print_error("%s: %s\n", dfg_ops[i]->name, lacks);
	}
	assert_true(dfg_ops_count > 100);
	assert_int_equal(faults, 0);
}

static const char *no_doc(const struct dfg_op *op)
{
	return op->doc && *op->doc ? NULL : "no doc";
}

static void every_op_says_what_it_does(void **state)
{
	(void)state;
	expect_of_all(no_doc);
}

static const char *no_signature(const struct dfg_op *op)
{
	const struct dfg_signature *signature;
	struct dfg_err *err = dfg_op_signature(op, &signature);
	dfg_err_free(err);
	return err ? "its declaration does not parse" : NULL;
}

static void every_declaration_parses(void **state)
{
	(void)state;
	expect_of_all(no_signature);
}

/* Ops that the executor knows by what they do need none. */
static const char *no_kernel(const struct dfg_op *op)
{
	if (op->role != DFG_PLAIN)
		return NULL;
	for (int dtype = 0; dtype < DFG_DTYPES; dtype++)
		if (dfg_op_computes(op, (enum dfg_dtype)dtype))
			return NULL;
	return "no kernel, no row, no role";
}

static void every_op_can_run(void **state)
{
	(void)state;
	expect_of_all(no_kernel);
}

/* An op that is given a state reads it, writes it, or only hands the handle on. */
static const char *no_access(const struct dfg_op *op)
{
	const struct dfg_signature *signature;
	struct dfg_err *err = dfg_op_signature(op, &signature);
	bool is_given = false;
	for (int i = 0; !err && i < signature->n_in; i++)
		is_given |= signature->in[i].is_ref || (signature->in[i].type < 0 && signature->in[i].dtype == DFG_RESOURCE);
	dfg_err_free(err);
	bool accesses = op->flags & (DFG_READS | DFG_WRITES), hands_on = op->role != DFG_PLAIN;
	if (is_given && !accesses && !hands_on)
		return "takes a handle or ref, and has neither DFG_READS nor DFG_WRITES";
	return !is_given && accesses ? "takes no handle or ref to read or write" : NULL;
}

static void every_op_on_a_state_says_what_it_does_to_it(void **state)
{
	(void)state;
	expect_of_all(no_access);
}

/* A call has the meaning by which lib/pass/lower/lower.c writes it out, and no other op has. */
static const char *no_call(const struct dfg_op *op)
{
	bool calls = op->means >= DFG_MEANS_CALL_FUNCTION && op->means <= DFG_MEANS_CALL_GRADIENT;
	if (calls == (op->role == DFG_CALL))
		return NULL;
	return calls ? "has a meaning of a call, but not the role DFG_CALL"
				 : "has the role DFG_CALL, but no meaning that says of what kind";
}

static void every_call_says_of_what_kind(void **state)
{
	(void)state;
	expect_of_all(no_call);
}

static const char *no_gradient(const struct dfg_op *op)
{
	int ways = (op->gradient != NULL) + (op->gradient_fn != NULL) + ((op->flags & DFG_NO_GRADIENT) != 0);
	bool is_flow = dfg_role_is_flow_or_saved(op->role); /* differentiated as loops and branches, not alone */
	if (is_flow && ways <= 1)
		return NULL;
	return ways == 1 ? NULL
		   : ways    ? "more than one of gradient, gradient_fn, DFG_NO_GRADIENT"
					 : "no gradient, and no DFG_NO_GRADIENT";
}

static void every_op_has_a_gradient_or_says_it_has_none(void **state)
{
	(void)state;
	expect_of_all(no_gradient);
}

/* Whether an input's name with a d in front is among the names. */
static bool binds_input(const struct dfg_signature *signature, const char *const *name)
{
	for (; *name; name++)
		for (int i = 0; i < signature->n_in; i++)
			if (**name == 'd' && !strcmp(*name + 1, signature->in[i].name))
				return true;
	return false;
}

static const char *bad_formula(const struct dfg_op *op)
{
	const struct dfg_signature *signature;
	struct dfg_formula *formula;
	if (!op->gradient || !*op->gradient)
		return NULL;
	struct dfg_err *err = dfg_op_signature(op, &signature);
	if (!err)
		err = dfg_formula_new(op->gradient, &formula);
	dfg_err_free(err);
	if (err)
		return "its gradient does not parse";
	bool binds = binds_input(signature, dfg_formula_names(formula));
	dfg_formula_free(formula);
	return binds ? NULL : "its gradient is of no input";
}

static void every_formula_parses_and_binds_an_input(void **state)
{
	(void)state;
	expect_of_all(bad_formula);
}

/* Names that a formula sees: of ports, cotangents, attributes and parameters. */
static const char *clash(const struct dfg_op *op)
{
	static char names[4 * DFG_PORT_MAX + DFG_ATTR_MAX + DFG_PARAM_MAX][40];
	const struct dfg_signature *s;
	int n = 0;
	struct dfg_err *err = dfg_op_signature(op, &s);
	dfg_err_free(err);
	if (err || !op->gradient)
		return NULL;
	for (int i = 0; i < s->n_in; i++) {
		snprintf(names[n++], sizeof *names, "%s", s->in[i].name);
		snprintf(names[n++], sizeof *names, "d%s", s->in[i].name);
	}
	for (int i = 0; i < s->n_out; i++) {
		snprintf(names[n++], sizeof *names, "%s", s->out[i].name);
		snprintf(names[n++], sizeof *names, "d%s", s->out[i].name);
	}
	for (int i = 0; i < s->n_attr; i++)
		snprintf(names[n++], sizeof *names, "%s", s->attr[i].name);
	for (int i = 0; i < s->n_param; i++)
		snprintf(names[n++], sizeof *names, "%s", s->param[i].name);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			if (!strcmp(names[i], names[j]))
				return "two of its names, with their d, are the same";
	return NULL;
}

static void names_that_formulas_see_do_not_clash(void **state)
{
	(void)state;
	expect_of_all(clash);
}

/* The lines of all files of tests/ops: "NAME(...) = ...". tests/lint/run checks that each is in the file of NAME's kernel. */
static char *held;
static size_t held_length;

static void hold(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return;
	char part[4096];
	for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0; held_length += n) {
		held = realloc(held, held_length + n + 1);
		assert_non_null(held);
		memcpy(held + held_length, part, n);
	}
	held[held_length] = '\n';
	held_length++;
	fclose(file);
}

static void hold_folder(const char *folder)
{
	struct dirent **entry;
	int count = scandir(folder, &entry, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char path[600];
		snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.')
			hold(path);
		free(entry[i]);
	}
	if (count >= 0)
		free(entry);
}

static bool holds(const void *bytes, size_t length)
{
	return memmem(held, held_length, bytes, length) != NULL;
}

/* A line holds values only, so ops of variables, arrays and lists are in tests of their own. */
static bool needs_state(const struct dfg_op *op)
{
	const struct dfg_signature *signature;
	bool state = op->flags & DFG_STATEFUL;
	struct dfg_err *err = dfg_op_signature(op, &signature);
	for (int i = 0; !err && i < signature->n_in; i++)
		state |=
			signature->in[i].is_ref || signature->in[i].dtype == DFG_RESOURCE || signature->in[i].dtype == DFG_VARIANT;
	for (int i = 0; !err && i < signature->n_out; i++)
		state |= signature->out[i].dtype == DFG_VARIANT;
	dfg_err_free(err);
	return state;
}

static const char *no_case(const struct dfg_op *op)
{
	char line[100];
	int length = snprintf(line, sizeof line, "\n%s(", op->name);
	return op->role != DFG_PLAIN || needs_state(op) || holds(line, (size_t)length) ? NULL : "no line in tests/ops";
}

static void every_op_of_values_has_a_case(void **state)
{
	(void)state;
	hold_folder("tests/ops");
	assert_true(held_length > 0);
	expect_of_all(no_case);
	free(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_op_says_what_it_does),
		cmocka_unit_test(every_declaration_parses),
		cmocka_unit_test(every_op_can_run),
		cmocka_unit_test(every_op_on_a_state_says_what_it_does_to_it),
		cmocka_unit_test(every_call_says_of_what_kind),
		cmocka_unit_test(every_op_has_a_gradient_or_says_it_has_none),
		cmocka_unit_test(every_formula_parses_and_binds_an_input),
		cmocka_unit_test(names_that_formulas_see_do_not_clash),
		cmocka_unit_test(every_op_of_values_has_a_case),
	};
	return cmocka_run_group_tests_name("the table of ops", tests, NULL, NULL);
}
