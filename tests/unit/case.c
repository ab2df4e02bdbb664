#include "tests/unit/test.h"

#include "lib/base/text.h"
#include "lib/lang/lang.h"

/* The case's node and its inputs and wanted values, as "OP(f32[2], ...) attr... = f32[1]". */
static void is(const char *line, enum dfg_dtype dtype, const char *words)
{
	struct dfg_case one;
	struct dfg_text out = {0};
	succeeds(dfg_case_parse(line, dtype, &one));
	const struct dfg_node *node = &one.graph.node[one.node];
	dfg_text_add(&out, "%s%s(", one.flexible ? "flexible " : "", node->op_name);
	for (uint32_t i = 0; i < node->n_in; i++) {
		const struct dfg_attr *value = dfg_node_attr(&one.graph.node[node->in[i].node], "value");
		dfg_text_add(
			&out, "%s%s", i ? ", " : "", dfg_type_words(value->value.tensor->dtype, &value->value.tensor->shape).s);
	}
	dfg_text_add(&out, ")");
	for (uint32_t i = 0; i < node->n_attr; i++)
		dfg_text_add(&out, " %s", node->attr[i].name);
	for (uint32_t i = 0; i < one.n_want; i++)
		dfg_text_add(&out, "%s%s", i ? ", " : " = ", dfg_type_words(one.want[i].dtype, &one.want[i].shape).s);
	if (one.error)
		dfg_text_add(&out, " : %s", one.error);
	assert_string_equal(out.s, words);
	dfg_text_release(&out);
	dfg_case_release(&one);
}

static void literals_without_a_type_are_flexible(void **state)
{
	(void)state;
	is("MatMul([[1, 2]], [[3], [4]]) = [[11]]", DFG_NO_DTYPE, "flexible MatMul(i32[1,2], i32[2,1]) T = i32[1,1]");
	is("MatMul([[1, 2]], [[3.5], [4]]) = [[11]]", DFG_NO_DTYPE, "flexible MatMul(f32[1,2], f32[2,1]) T = f32[1,1]");
	is("MatMul([[1, 2]], [[3], [4]]) = [[11]]", DFG_F64, "flexible MatMul(f64[1,2], f64[2,1]) T = f64[1,1]");
	is("MatMul(f32([[1, 2]]), [[3], [4]]) = [[11]]", DFG_F64, "MatMul(f32[1,2], f32[2,1]) T = f32[1,1]");
	is("Reshape([1, 2], [2, 1]) = [[1], [2]]", DFG_U8, "flexible Reshape(u8[2], i32[2]) T Tshape = u8[2,1]");
	is("Reshape([1, 2], i64([2, 1])) = [[1], [2]]", DFG_U8, "flexible Reshape(u8[2], i64[2]) T Tshape = u8[2,1]");
}

static void empty_lists_and_scalars_have_shapes(void **state)
{
	(void)state;
	is("Identity([]) = []", DFG_NO_DTYPE, "flexible Identity(f32[0]) T = f32[0]");
	is("Identity([[], []]) = [[], []]", DFG_NO_DTYPE, "flexible Identity(f32[2,0]) T = f32[2,0]");
	is("Identity(-inf) = -inf", DFG_NO_DTYPE, "flexible Identity(f32[]) T = f32[]");
	is("Identity(true) = true", DFG_F32, "Identity(bool[]) T = bool[]");
	is("Identity([\"a\", \"b\"]) = [\"a\", \"b\"]", DFG_F32, "Identity(string[2]) T = string[2]");
}

static void lists_of_tensors_are_counted(void **state)
{
	(void)state;
	is("Pack([1, 2, 3], axis = 0) = [1, 2, 3]", DFG_NO_DTYPE, "flexible Pack(i32[], i32[], i32[]) N T axis = i32[3]");
	is("IdentityN([1, true]) = 1, true", DFG_NO_DTYPE, "IdentityN(i32[], bool[]) T = i32[], bool[]");
}

static void values_are_exact(void **state)
{
	(void)state;
	struct dfg_case one;
	succeeds(dfg_case_parse("Identity(i64([-9223372036854775808, 9223372036854775807])) = 0", DFG_NO_DTYPE, &one));
	const struct dfg_literal *value = dfg_node_attr(&one.graph.node[0], "value")->value.tensor;
	assert_true(((const int64_t *)value->data)[0] == INT64_MIN);
	assert_true(((const int64_t *)value->data)[1] == INT64_MAX);
	dfg_case_release(&one);
	succeeds(dfg_case_parse("Identity(u64(18446744073709551615)) = 0", DFG_NO_DTYPE, &one));
	value = dfg_node_attr(&one.graph.node[0], "value")->value.tensor;
	assert_true(*(const uint64_t *)value->data == UINT64_MAX);
	dfg_case_release(&one);
}

static void errors_keep_their_words(void **state)
{
	(void)state;
	is("MatMul([[1]], [[1], [2]]) : cannot multiply [1,1] by [2,1]", DFG_NO_DTYPE,
		"flexible MatMul(i32[1,1], i32[2,1]) T : cannot multiply [1,1] by [2,1]");
}

static void mistakes_are_told(void **state)
{
	(void)state;
	struct dfg_case one;
	fails(dfg_case_parse("MatMul([[1]]) = [[1]]", DFG_NO_DTYPE, &one), DFG_DATA, "MatMul takes 2 inputs (a, b), not 1");
	fails(dfg_case_parse("MatMul([[1]], [[1]], transpose_aa = true) = 1", DFG_NO_DTYPE, &one), DFG_DATA,
		"did you mean 'transpose_a'?");
	fails(dfg_case_parse("Identity([[1], 2]) = 1", DFG_NO_DTYPE, &one), DFG_DATA, "ragged");
	fails(dfg_case_parse("Identity([1, 2]) = 1, 2", DFG_NO_DTYPE, &one), DFG_DATA,
		"has 1 outputs, but the case has 2 expected values");
	fails(dfg_case_parse("Identity(300) = 1", DFG_U8, &one), DFG_DATA, "300 does not fit u8");
	fails(dfg_case_parse("Identity(-1e39) = 1", DFG_F32, &one), DFG_DATA, "-1e+39 does not fit f32");
	fails(dfg_case_parse("Identity(70000) = 1", DFG_F16, &one), DFG_DATA, "70000 does not fit f16");
	fails(dfg_case_parse("sum(300) = 1", DFG_U8, &one), DFG_DATA, "a case must begin with a call of an op");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(literals_without_a_type_are_flexible),
		cmocka_unit_test(empty_lists_and_scalars_have_shapes),
		cmocka_unit_test(lists_of_tensors_are_counted),
		cmocka_unit_test(values_are_exact),
		cmocka_unit_test(errors_keep_their_words),
		cmocka_unit_test(mistakes_are_told),
	};
	return cmocka_run_group_tests_name("case", tests, NULL, NULL);
}
