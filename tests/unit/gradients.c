/*
 * Every gradient against central differences, at the inputs of every case in tests/ops: in f64 to 1e-6 where the op has
 * it, else in f32 to 1e-2; first order, and second where there is one.
 */
#include "lib/pass/grad/grad.h"

#include "lib/graph/kernel.h"
#include "lib/lang/lang.h"
#include "tests/unit/op_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGES = 64, ELEMENTS = 12 }; /* tensors looked at, and elements of each that are moved */

/* A case's graph, its derivatives after it, and one value of every tensor. */
struct trial {
	struct dfg_case op_case;
	struct dfg_builder builder;
	struct dfg_tensor *value; /* by number of the fact */
	size_t values;
	struct dfg_edge input[EDGES], of[EDGES];
	uint32_t n_input, n_of;
	struct dfg_tensor *moved; /* of a Const: its value now */
	uint32_t moved_node;
};

static int compared, failures;

/* Inputs that TensorFlow gives no derivative, or one by its own convention where elements are written twice. */
static const struct {
	const char *op;
	uint32_t input;
	bool nan; /* only where the derivative is NaN: 0 to the power of 0 */
} conventions[] = {
	{"Cholesky", 0, false}, /* reads one triangle, but the derivative is symmetric */
	{"DynamicStitch", 1, false},
	{"FakeQuantWithMinMaxArgs", 0, false}, /* steps, whose gradient passes straight through */
	{"FakeQuantWithMinMaxVars", 0, false},
	{"FakeQuantWithMinMaxVars", 1, false},
	{"FakeQuantWithMinMaxVars", 2, false},
	{"FakeQuantWithMinMaxVarsPerChannel", 0, false},
	{"FakeQuantWithMinMaxVarsPerChannel", 1, false},
	{"FakeQuantWithMinMaxVarsPerChannel", 2, false},
	{"QuantizeAndDequantizeV2", 0, false},
	{"QuantizeAndDequantizeV2", 1, false},
	{"QuantizeAndDequantizeV2", 2, false},
	{"QuantizeAndDequantizeV3", 0, false},
	{"QuantizeAndDequantizeV4", 0, false},
	{"FusedBatchNorm", 0, false}, /* only the first output passes a derivative on */
	{"FusedBatchNorm", 3, false},
	{"FusedBatchNorm", 4, false},
	{"FusedBatchNormGrad", 1, false}, /* the moments it was given are those of x, and follow it */
	{"FusedBatchNormGrad", 3, false},
	{"FusedBatchNormGrad", 4, false},
	{"FusedBatchNormGradV2", 1, false},
	{"FusedBatchNormGradV2", 3, false},
	{"FusedBatchNormGradV2", 4, false},
	{"FusedBatchNormGradV3", 1, false},
	{"FusedBatchNormGradV3", 3, false},
	{"FusedBatchNormGradV3", 4, false},
	{"FusedBatchNormV2", 0, false},
	{"FusedBatchNormV3", 0, false},
	{"ParallelDynamicStitch", 1, false},
	{"Polygamma", 0, false}, /* refused, as Zeta's: tests/cli/grad-values.sh */
	{"ScaleAndTranslate", 2, false},
	{"ScaleAndTranslate", 3, false},
	{"ScaleAndTranslateGrad", 2, false},
	{"ScaleAndTranslateGrad", 3, false},
	{"SoftmaxCrossEntropyWithLogits", 1, false}, /* labels are taken to be a distribution */
	{"SqrtGrad", 0, true},                       /* the root of 0 */
	{"StopGradient", 0, false},
	{"TensorScatterUpdate", 2, false},
	{"Zeta", 0, false},
};

static bool is_convention(const char *op, uint32_t input, bool nan)
{
	for (size_t i = 0; i < sizeof conventions / sizeof *conventions; i++)
		if (!strcmp(conventions[i].op, op) && conventions[i].input == input && conventions[i].nan == nan)
			return true;
	return false;
}

static void clear(struct trial *t)
{
	for (size_t i = 0; i < t->values; i++)
		dfg_tensor_release(&t->value[i]);
	dfg_free(t->value);
	t->value = NULL;
	t->values = 0;
}

static struct dfg_err *evaluate_node(struct trial *t, uint32_t n, struct dfg_arena *arena)
{
	const struct dfg_node *node = &t->builder.graph->node[n];
	struct dfg_tensor *out = &t->value[t->builder.facts.first[n]];
	if (t->moved && n == t->moved_node)
		return dfg_tensor_copy(t->moved, out);
	if (node->op->role == DFG_CONST)
		return dfg_literal_tensor(dfg_node_attr(node, "value")->value.tensor, out);
	const struct dfg_tensor *in[EDGES];
	struct dfg_resolved_node call;
	assert_true(node->n_in <= EDGES);
	for (uint32_t i = 0; i < node->n_in; i++)
		in[i] = &t->value[t->builder.facts.first[node->in[i].node] + (uint32_t)node->in[i].port];
	DFG_TRY(dfg_node_resolve(t->builder.graph, n, arena, &call));
	return dfg_err_note(dfg_eval(&call, in, SIZE_MAX, out), "%s", node->name);
}

static struct dfg_err *evaluate(struct trial *t)
{
	struct dfg_arena arena = {0};
	struct dfg_err *err = NULL;
	clear(t);
	t->values = t->builder.facts.count;
	t->value = dfg_zeros(t->values + 1, sizeof *t->value);
	for (uint32_t n = 0; n < t->builder.graph->count && !err; n++)
		err = evaluate_node(t, n, &arena);
	dfg_arena_release(&arena);
	return err;
}

static const struct dfg_tensor *value_of(const struct trial *t, struct dfg_edge edge)
{
	return &t->value[t->builder.facts.first[edge.node] + (uint32_t)edge.port];
}

/* The sum of all elements of all of t->of; NaN where it cannot be computed. */
static double total(struct trial *t)
{
	struct dfg_err *err = evaluate(t);
	double sum = 0;
	for (uint32_t i = 0; i < t->n_of && !err; i++) {
		const struct dfg_tensor *tensor = value_of(t, t->of[i]);
		for (int64_t e = 0; e < dfg_shape_count(&tensor->shape); e++)
			sum += dfg_tensor_float(tensor, e);
	}
	if (err)
		sum = NAN;
	dfg_err_free(err);
	return sum;
}

static void set_element(struct dfg_tensor *tensor, int64_t e, double value)
{
	if (tensor->dtype == DFG_F64)
		((double *)tensor->data)[e] = value;
	else
		((float *)tensor->data)[e] = (float)value;
}

/* Slopes from below, from above and over both, in steps of h. */
struct slopes {
	double left, right, middle;
};

static struct slopes slopes(struct trial *t, struct dfg_tensor *moved, int64_t e, double at, double h)
{
	double x = dfg_tensor_float(moved, e);
	set_element(moved, e, x + h);
	double above = total(t), up = dfg_tensor_float(moved, e) - x;
	set_element(moved, e, x - h);
	double below = total(t), down = x - dfg_tensor_float(moved, e);
	set_element(moved, e, x);
	return (struct slopes){(at - below) / down, (above - at) / up, (above - below) / (up + down)};
}

/*
 * The slope along element e of a Const, and how far it may be off; NaN where the function has a kink, a step or an end.
 */
static double slope(struct trial *t, struct dfg_tensor *moved, int64_t e, double at, double *out_error)
{
	bool fine = moved->dtype == DFG_F64;
	double x = dfg_tensor_float(moved, e), h = (fine ? 1e-5 : 1e-2) * fmax(1, fabs(x)), slack = fine ? 1e-3 : 5e-2;
	struct slopes far = slopes(t, moved, e, at, h), near = slopes(t, moved, e, at, h / 2);
	bool smooth = fabs(x) < 1e5 && fabs(far.right - far.left) <= slack * fmax(1, fabs(far.middle)) &&
				  fabs(far.middle - near.middle) <= slack * fmax(1, fabs(far.middle));
	*out_error = fabs(far.middle - near.middle);
	return smooth ? near.middle : NAN;
}

static void compare(struct trial *t, const char *line, int order, uint32_t number, const struct dfg_tensor *got)
{
	struct dfg_tensor moved = {0};
	struct dfg_edge input = t->input[number];
	double at = total(t);
	assert_null(dfg_tensor_copy(value_of(t, input), &moved));
	int64_t count = dfg_shape_count(&moved.shape), step = count / ELEMENTS + 1;
	t->moved = &moved;
	t->moved_node = input.node;
	for (int64_t e = 0; e < count && isfinite(at); e += step) {
		double error, wanted = slope(t, &moved, e, at, &error), is = dfg_tensor_float(got, e);
		if (!isfinite(wanted) ||
			(isnan(is) && is_convention(t->builder.graph->node[t->op_case.node].op_name, number, true)))
			continue;
		double scale = fmax(1, fmax(fabs(wanted), 1e-3 * fabs(at)));
		compared++;
		if (fabs(is - wanted) <= (moved.dtype == DFG_F64 ? 1e-6 : 1e-2) * scale + error)
			continue;
		failures++;
		print_error("order %d: %s\n    input %s, element %lld: %.9g, but the slope is %.9g\n", order, line,
			t->builder.graph->node[input.node].name, (long long)e, is, wanted);
	}
	t->moved = NULL;
	dfg_tensor_release(&moved);
}

/* Each of t->of times numbers of its own, so that no two elements can stand for each other. */
static struct dfg_err *weigh(struct trial *t)
{
	for (uint32_t i = 0; i < t->n_of; i++) {
		struct dfg_tensor weight;
		struct dfg_edge in[2] = {t->of[i]};
		DFG_TRY(dfg_tensor_copy(value_of(t, t->of[i]), &weight));
		for (int64_t e = 0; e < dfg_shape_count(&weight.shape); e++)
			set_element(&weight, e, cos(1 + 0.7 * (double)e + i));
		struct dfg_err *err = dfg_build_const(&t->builder, "weight", &weight, &in[1]);
		dfg_tensor_release(&weight);
		if (!err)
			err = dfg_build_op(&t->builder, "Mul", "weighted", in, 2, &t->of[i]);
		DFG_TRY(err);
	}
	return NULL;
}

/* Differentiates t->of and compares; then the derivatives are what is differentiated next. */
static struct dfg_err *differentiate(struct trial *t, const char *line, int order)
{
	struct dfg_edge gradient[EDGES];
	struct dfg_tensor got[EDGES] = {0};
	DFG_TRY(evaluate(t));
	DFG_TRY(weigh(t));
	DFG_TRY(dfg_grad_edges(&t->builder, t->of, t->n_of, t->input, t->n_input, gradient));
	DFG_TRY(evaluate(t));
	for (uint32_t i = 0; i < t->n_input; i++) {
		const struct dfg_tensor *tensor = value_of(t, gradient[i]);
		if (!dfg_shape_equal(&tensor->shape, &value_of(t, t->input[i])->shape))
			return DFG_ERR(DFG_DATA, "a gradient %s of an input %s", dfg_shape_words(&tensor->shape).s,
				dfg_shape_words(&value_of(t, t->input[i])->shape).s);
		DFG_TRY(dfg_tensor_copy(tensor, &got[i]));
	}
	for (uint32_t i = 0; i < t->n_input; i++) {
		compare(t, line, order, i, &got[i]);
		dfg_tensor_release(&got[i]);
	}
	memcpy(t->of, gradient, sizeof gradient);
	t->n_of = t->n_input;
	return NULL;
}

static bool is_real(const struct trial *t, struct dfg_edge edge)
{
	enum dfg_dtype dtype = dfg_facts_of(&t->builder.facts, edge)->dtype;
	return dtype == DFG_F64 || dtype == DFG_F32;
}

static void find_ends(struct trial *t)
{
	const struct dfg_node *node = &t->builder.graph->node[t->op_case.node];
	for (uint32_t i = 0; i < node->n_in && t->n_input < EDGES; i++)
		if (is_real(t, node->in[i]) && !is_convention(node->op_name, i, false))
			t->input[t->n_input++] = node->in[i];
	for (uint32_t p = 0; p < dfg_facts_outputs(&t->builder.facts, t->op_case.node) && t->n_of < EDGES; p++)
		if (is_real(t, (struct dfg_edge){t->op_case.node, (int32_t)p}))
			t->of[t->n_of++] = (struct dfg_edge){t->op_case.node, (int32_t)p};
}

/* Also where the gradient is declared to be nothing: a slope other than 0 contradicts that. */
static bool is_differentiable(const struct dfg_op *op)
{
	return (op->gradient || op->gradient_fn) && !(op->flags & DFG_STATEFUL);
}

/*
 * A derivative may be missing, where an op in the one before has none, or where it would read diagonals that lie beside
 * a matrix, which MatrixDiagV3 takes and MatrixDiagPartV3 refuses, as in TensorFlow; it may not be wrong.
 */
static bool is_missing(const struct dfg_err *err)
{
	static const char *const words[] = {"no gradient", "graph forbids this gradient", "has no diagonals"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(err->text, words[i]))
			return true;
	return false;
}

static struct dfg_err *try_case(struct trial *t, const char *line)
{
	DFG_TRY(dfg_builder_init(&t->builder, &t->op_case.graph));
	find_ends(t);
	if (!t->n_input || !t->n_of)
		return NULL;
	struct dfg_err *err = differentiate(t, line, 1);
	if (!err)
		err = differentiate(t, line, 2);
	if (!err || !is_missing(err))
		return err;
	dfg_err_free(err);
	return NULL;
}

static enum dfg_dtype dtype_for(const char *line)
{
	char name[100] = "";
	memcpy(name, line, strcspn(line, "(") % sizeof name);
	const struct dfg_op *op = dfg_op_find(name);
	if (!op || !is_differentiable(op))
		return DFG_NO_DTYPE;
	return dfg_op_computes(op, DFG_F64) ? DFG_F64 : DFG_F32;
}

static void try_line(const char *line)
{
	struct trial t = {0};
	enum dfg_dtype dtype = dtype_for(line);
	if (!dtype)
		return;
	struct dfg_err *err = dfg_case_parse(line, dtype, &t.op_case);
	if (err) { /* numbers that this type cannot hold, and the like: the op cases themselves say so */
		dfg_err_free(err);
		return;
	}
	/* Elements skipped by the forward pass are out of range in the backward pass. */
	if (!t.op_case.error && !strstr(line, "bad_indices_policy"))
		err = try_case(&t, line);
	if (err) {
		failures++;
		print_error("%s\n    %s\n", line, err->text);
	}
	dfg_err_free(err);
	clear(&t);
	dfg_builder_release(&t.builder);
	dfg_case_release(&t.op_case);
}

static void gradients_are_slopes(void **state)
{
	(void)state;
	each_op_line(try_line);
	print_message("%d slopes compared\n", compared);
	assert_true(compared > 100);
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gradients_are_slopes),
	};
	return cmocka_run_group_tests_name("gradients", tests, NULL, NULL);
}
