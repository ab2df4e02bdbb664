#include "lib/pass/lower/lower.h"

#include "formats/graphdef.h"
#include "lib/exec/session.h"
#include "lib/pass/verify/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* Parts of graphs in text form. Functions take x and give r, both of type float unless they say otherwise. */
#define INPUT "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } "
#define TYPE(key_, type_) "attr { key: '" key_ "' value { type: " type_ " } } "
#define TYPES(key_, type_) "attr { key: '" key_ "' value { list { " type_ " } } } "
#define FUNC(key_, name_) "attr { key: '" key_ "' value { func { name: '" name_ "' } } } "
#define NODE(kind, name_, op_, in, attrs) kind " { name: '" name_ "' op: '" op_ "' " in attrs "} "
#define IN(name_) "input: '" name_ "' "
#define ARG(kind, name_, type_) kind " { name: '" name_ "' type: " type_ " } "
#define FUNCTION(name_, in, out, body) \
	"function { signature { name: '" name_ "' " ARG("input_arg", "x", in) ARG("output_arg", "r", out) "} " body "} "
#define RET(from) "ret { key: 'r' value: '" from "' } "
#define NEGATE(name_, in) NODE("node_def", name_, "Neg", IN(in), TYPE("T", "DT_FLOAT"))
#define NUMBER(name_) \
	NODE("node_def", name_, "Const", "",                                         \
		TYPE("dtype", "DT_FLOAT") "attr { key: 'value' value { tensor { dtype: " \
								  "DT_FLOAT tensor_shape { } float_val: 3 } } } ")
#define CALLS(name_, of, in)                   \
	NODE("node", name_, "PartitionedCall", in, \
		TYPES("Tin", "type: DT_FLOAT") TYPES("Tout", "type: DT_FLOAT") FUNC("f", of))

struct lowered {
	struct dfg_graph_file file;
	struct dfg_arena scratch;
	struct dfg_text report;
	struct dfg_err *err;
};

static void lower_text(struct lowered *l, const char *text, struct dfg_keep *keep)
{
	struct dfg_text copy = {0};
	dfg_text_put(&copy, text, strlen(text));
	struct dfg_blob blob = {.bytes = (const uint8_t *)copy.s, .size = copy.length};
	*l = (struct lowered){.err = NULL};
	struct dfg_err *err = dfg_graph_open_blob(&blob, "test.pbtxt", NULL, &l->file);
	if (err)
		fail_msg("%s", err->text);
	for (uint32_t i = 0; keep && i < keep->n_fetch; i++)
		keep->fetch[i].node = dfg_graph_find(&l->file.graph, "call");
	assert_null(dfg_verify(&l->file.graph, NULL, NULL));
	l->err = dfg_lower(&l->file.graph, keep, &l->scratch, &l->report);
}

static void lowered_release(struct lowered *l)
{
	dfg_err_free(l->err);
	dfg_graph_close(&l->file);
	dfg_arena_release(&l->scratch);
	dfg_text_release(&l->report);
}

static const struct dfg_node *node_of(const struct lowered *l, const char *name)
{
	uint32_t n = dfg_graph_find(&l->file.graph, name);
	if (n == DFG_NONE)
		fail_msg("no node '%s'", name);
	return &l->file.graph.node[n];
}

/* "op input input ^control" of a node. */
static void expect_node(const struct lowered *l, const char *name, const char *text)
{
	const struct dfg_node *node = node_of(l, name);
	struct dfg_text words = {0};
	dfg_text_add(&words, "%s", node->op_name);
	for (uint32_t i = 0; i < node->n_in + node->n_control; i++)
		dfg_text_add(&words, " %s", dfg_graph_tensor_name(&l->file.graph, node->in[i]));
	assert_string_equal(words.s, text);
	dfg_text_release(&words);
}

static void expect_sound(struct lowered *l, const char *text, struct dfg_keep *keep)
{
	lower_text(l, text, keep);
	if (l->err)
		fail_msg("%s", l->err->text);
	assert_false(dfg_has_calls(&l->file.graph));
	assert_null(l->file.graph.library);
	assert_null(dfg_verify(&l->file.graph, NULL, NULL));
}

static void expect_refusal(const char *text, const char *const *words)
{
	struct lowered l;
	lower_text(&l, text, NULL);
	assert_non_null(l.err);
	assert_int_equal(l.err->code, DFG_DATA);
	for (; *words; words++)
		if (!strstr(l.err->text, *words))
			fail_msg("no '%s' in: %s", *words, l.err->text);
	lowered_release(&l);
}
#define REFUSED(text, ...) expect_refusal(text, (const char *const[]){__VA_ARGS__, NULL})

static void a_call_stays_a_node_of_its_name(void **state)
{
	(void)state;
	struct lowered l;
	expect_sound(&l,
		INPUT CALLS("call", "F", IN("x")) "library { " FUNCTION(
			"F", "DT_FLOAT", "DT_FLOAT", NEGATE("n", "x") RET("n:y:0")) "}",
		NULL);
	expect_node(&l, "call/n", "Neg x");
	expect_node(&l, "call", "Identity call/n");
	assert_true(dfg_graph_find(&l.file.graph, "call/n") < dfg_graph_find(&l.file.graph, "call"));
	lowered_release(&l);
}

static void what_is_kept_keeps_its_place(void **state)
{
	(void)state;
	struct lowered l;
	struct dfg_edge fetch = {0, 0};
	struct dfg_keep keep = {.fetch = &fetch, .n_fetch = 1};
	expect_sound(&l,
		CALLS("call", "F", IN("x")) INPUT
		"library { " FUNCTION("F", "DT_FLOAT", "DT_FLOAT", NEGATE("n", "x") RET("n:y:0")) "}",
		&keep);
	assert_string_equal(l.file.graph.node[fetch.node].name, "call");
	lowered_release(&l);
}

static void a_call_by_the_functions_name_gives_its_attributes(void **state)
{
	(void)state;
	struct lowered l;
	expect_sound(&l,
		INPUT NODE("node", "call", "F", IN("x"), TYPE("K", "DT_HALF")) "library { " FUNCTION("F", "DT_FLOAT", "DT_HALF",
			"node_def { name: 'n' op: 'Cast' input: 'x' " TYPE(
				"SrcT", "DT_FLOAT") "attr { key: 'DstT' value { placeholder: "
									"'K' } } } " RET("n:y:0")) "}",
		NULL);
	assert_int_equal(dfg_node_attr(node_of(&l, "call/n"), "DstT")->value.dtype, DFG_F16);
	lowered_release(&l);
}

static void what_a_function_does_besides_its_results_is_waited_for(void **state)
{
	(void)state;
	struct lowered l;
	expect_sound(&l,
		INPUT CALLS("call", "F", IN("x")) "library { " FUNCTION("F", "DT_FLOAT", "DT_FLOAT",
			NODE("node_def", "told", "NoOp", IN("^n"), "") NEGATE("n", "x") RET("x") "control_ret { key: 'told' value: "
																					 "'told' } ") "}",
		NULL);
	expect_node(&l, "call", "Identity x ^call/told");
	expect_node(&l, "call/told", "NoOp ^call/n");
	lowered_release(&l);
}

/* If on x, which is not a bool: its functions are T and E. */
#define BRANCHES(t, e)                                                                           \
	INPUT NODE("node", "pick", "StatelessIf", IN("x") IN("x"),                                   \
		TYPE("Tcond", "DT_FLOAT") TYPES("Tin", "type: DT_FLOAT") TYPES("Tout", "type: DT_FLOAT") \
			FUNC("then_branch", "T") FUNC("else_branch", "E")) "library { " t e "}"
#define BRANCH(name_, body) FUNCTION(name_, "DT_FLOAT", "DT_FLOAT", body)

static void what_starts_in_a_branch_waits_for_its_side(void **state)
{
	(void)state;
	struct lowered l;
	expect_sound(&l, BRANCHES(BRANCH("T", NUMBER("three") RET("three:output:0")), BRANCH("E", RET("x"))), NULL);
	expect_node(&l, "pick/then/three", "Const ^pick/then/pivot");
	expect_node(&l, "pick/then/pivot", "Identity pick/side:1");
	expect_node(&l, "pick/truth", "ToBool x");
	expect_node(&l, "pick/input", "Switch x pick/truth");
	expect_node(&l, "pick/output", "Merge pick/input pick/then/three");
	expect_node(&l, "pick", "Identity pick/output");
	lowered_release(&l);
}

/* y goes through unchanged, x becomes -x or y + 3. */
#define PAIR(kind) ARG(kind, "x", "DT_FLOAT") ARG(kind, "y", "DT_FLOAT")
#define LOOP(body) LOOP_OF(INPUT, body)
#define LOOP_OF(input, body)                                                                      \
	input NODE("node", "spin", "StatelessWhile", IN("x") IN("x"),                                 \
		TYPES("T", "type: DT_FLOAT type: DT_FLOAT") FUNC("cond", "C")                             \
			FUNC("body", "B")) "library { function { signature { name: 'C' " PAIR("input_arg")    \
		ARG("output_arg", "r", "DT_BOOL") "} " NUMBER("limit")                                    \
			NODE("node_def", "less", "Less", IN("x") IN("limit:output:0"), TYPE("T", "DT_FLOAT")) \
				RET("less:z:0") "} function { signature { name: 'B' " PAIR("input_arg")           \
					ARG("output_arg", "r", "DT_FLOAT")                                            \
						ARG("output_arg", "s", "DT_FLOAT") "} " body "ret { key: 's' value: 'y' } } }"

static void an_invariant_enters_once_and_does_not_leave(void **state)
{
	(void)state;
	struct lowered l;
	expect_sound(&l, LOOP(NEGATE("n", "x") RET("n:y:0")), NULL);
	expect_node(&l, "spin", "IdentityN spin/exit x");
	expect_node(&l, "spin/merge", "Merge spin/enter spin/next");
	expect_node(&l, "spin/cond/limit", "Const ^spin/merge");
	expect_node(&l, "spin/body/n", "Neg spin/side:1");
	assert_int_equal(dfg_graph_find(&l.file.graph, "spin/body/pivot"), DFG_NONE);
	lowered_release(&l);
}

static void a_predicate_that_is_a_scalar_is_not_tested(void **state)
{
	(void)state;
	struct lowered l;
	expect_sound(&l,
		LOOP_OF("node { name: 'x' op: 'Placeholder' " TYPE(
					"dtype", "DT_FLOAT") "attr { key: 'shape' value { shape { } } } } ",
			NEGATE("n", "x") RET("n:y:0")),
		NULL);
	expect_node(&l, "spin/goes_on", "LoopCond spin/cond/less");
	lowered_release(&l);
	expect_sound(&l, LOOP(NEGATE("n", "x") RET("n:y:0")), NULL);
	expect_node(&l, "spin/goes_on", "LoopCond spin/truth");
	lowered_release(&l);
}

static void what_reads_invariants_only_dies_with_the_body(void **state)
{
	(void)state;
	struct lowered l;
	expect_sound(&l, LOOP(NEGATE("n", "y") RET("n:y:0")), NULL);
	expect_node(&l, "spin/body/n", "Neg spin/enter_1 ^spin/body/pivot");
	expect_node(&l, "spin/body/pivot", "Identity spin/side:1");
	lowered_release(&l);
}

static void an_invariant_as_the_next_value_dies_with_the_body(void **state)
{
	(void)state;
	struct lowered l;
	expect_sound(&l, LOOP(RET("y")), NULL);
	expect_node(&l, "spin/next", "NextIteration spin/body/value");
	expect_node(&l, "spin/body/value", "Identity spin/enter_1 ^spin/body/pivot");
	lowered_release(&l);
}

/* Two outputs, of two inputs; only the first input is fed. */
static void a_step_needs_only_the_output_that_it_asks_for(void **state)
{
	(void)state;
	struct lowered l;
	struct dfg_session *session;
	struct dfg_plan *plan;
	expect_sound(&l,
		INPUT NODE("node", "y", "Placeholder", "", TYPE("dtype", "DT_FLOAT")) NODE(
			"node", "call", "F", IN("x") IN("y"), "") "library { function { signature { name: 'F' " PAIR("input_arg")
			ARG("output_arg", "r", "DT_FLOAT") ARG("output_arg", "s", "DT_FLOAT") "} " NEGATE("n", "x") NEGATE("m", "y")
				RET("n:y:0") "ret { key: 's' value: 'm:y:0' } } }",
		NULL);
	struct dfg_edge feed = {dfg_graph_find(&l.file.graph, "x"), 0},
					fetch[] = {{dfg_graph_find(&l.file.graph, "call"), 0}, {dfg_graph_find(&l.file.graph, "call"), 1}};
	assert_null(dfg_session_new(&l.file.graph, &(struct dfg_session_options){.threads = 1}, &session));
	assert_null(
		dfg_session_plan(session, &(struct dfg_step){.feed = &feed, .n_feed = 1, .fetch = fetch, .n_fetch = 1}, &plan));
	struct dfg_err *err =
		dfg_session_plan(session, &(struct dfg_step){.feed = &feed, .n_feed = 1, .fetch = fetch, .n_fetch = 2}, &plan);
	assert_non_null(err);
	assert_string_equal(err->text, "node 'y' (Placeholder): must be fed");
	dfg_err_free(err);
	dfg_session_free(session);
	lowered_release(&l);
}

static void what_has_no_end_is_refused(void **state)
{
	(void)state;
	REFUSED(INPUT CALLS("call", "F", IN("x")) "library { " FUNCTION(
				"F", "DT_FLOAT", "DT_FLOAT", NODE("node_def", "again", "F", IN("x"), "") RET("again:r:0")) "}",
		"call/again", "'F' calls itself");
}

/* F0 calls F1 twice, which calls F2 twice, and so on: 2^40 nodes. */
static void what_is_too_large_is_refused(void **state)
{
	(void)state;
	struct dfg_text text = {0};
	dfg_text_add(&text, "%s library { ", INPUT CALLS("call", "F0", IN("x")));
	for (int i = 0; i < 40; i++)
		dfg_text_add(&text,
			"function { signature { name: 'F%d' " ARG("input_arg", "x", "DT_FLOAT") ARG("output_arg", "r", "DT_FLOAT")
			"} node_def { name: 'a' op: 'F%d' input: 'x' } node_def { name: 'b' op: 'F%d' input: 'a:r:0' } ret { key: "
			"'r' value: 'b:r:0' } } ",
			i, i + 1, i + 1);
	dfg_text_add(&text, "%s }", FUNCTION("F40", "DT_FLOAT", "DT_FLOAT", NEGATE("n", "x") RET("n:y:0")));
	REFUSED(text.s, "call/", "would make more than");
	dfg_text_release(&text);
}

static void what_does_not_fit_is_refused(void **state)
{
	(void)state;
	REFUSED(INPUT CALLS("call", "G", IN("x")) "library { " FUNCTION("F", "DT_FLOAT", "DT_FLOAT", RET("x")) "}",
		"'call'", "no function 'G'");
	REFUSED(INPUT CALLS("call", "F", IN("x")) "library { " FUNCTION("F", "DT_INT32", "DT_FLOAT", RET("x")) "}",
		"'call'", "'F' takes i32 as input 0, expected f32");
	REFUSED(INPUT CALLS("call", "F", IN("x")) "library { " FUNCTION("F", "DT_FLOAT", "DT_FLOAT", "") "}", "'call'",
		"'F'", "output 'r' has no value");
	REFUSED(INPUT CALLS("call", "F", IN("x")) "library { " FUNCTION(
				"F", "DT_FLOAT", "DT_FLOAT", NEGATE("n", "z") RET("n:y:0")) "}",
		"'call'", "'F'", "'n'", "the function has no input or node 'z'");
	REFUSED(
		BRANCHES(BRANCH("T", NEGATE("n", "x") RET("n:z:0")), BRANCH("E", RET("x"))), "'pick'", "'T'", "no output 'z'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_stays_a_node_of_its_name),
		cmocka_unit_test(what_is_kept_keeps_its_place),
		cmocka_unit_test(a_call_by_the_functions_name_gives_its_attributes),
		cmocka_unit_test(what_a_function_does_besides_its_results_is_waited_for),
		cmocka_unit_test(what_starts_in_a_branch_waits_for_its_side),
		cmocka_unit_test(an_invariant_enters_once_and_does_not_leave),
		cmocka_unit_test(a_predicate_that_is_a_scalar_is_not_tested),
		cmocka_unit_test(what_reads_invariants_only_dies_with_the_body),
		cmocka_unit_test(an_invariant_as_the_next_value_dies_with_the_body),
		cmocka_unit_test(a_step_needs_only_the_output_that_it_asks_for),
		cmocka_unit_test(what_has_no_end_is_refused),
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
