#include "tests/unit/test.h"

#include "lib/base/text.h"
#include "lib/lang/tree.h"

/* A tree as text: operators as (op a b), calls as (call f a ...), so that a test shows what bound to what. */
static void show(struct dfg_text *to, const struct dfg_tree *tree)
{
	static const char *const names[] = {[DFG_TREE_CALL] = "call",
		[DFG_TREE_INDEX] = "index",
		[DFG_TREE_LIST] = "list",
		[DFG_TREE_TUPLE] = "tuple",
		[DFG_TREE_SLICE] = "slice",
		[DFG_TREE_MEMBER] = "member",
		[DFG_TREE_BLOCK] = "block",
		[DFG_TREE_ASSIGN] = "=",
		[DFG_TREE_IF] = "if",
		[DFG_TREE_CASE] = "case",
		[DFG_TREE_LOOP] = "loop",
		[DFG_TREE_DO] = "do",
		[DFG_TREE_SEQUENCE] = "sequence",
		[DFG_TREE_STATIC_IF] = "static-if"};
	if (!tree)
		dfg_text_add(to, "-");
	else if (tree->kind == DFG_TREE_NUMBER)
		dfg_text_add(to, "%g", tree->number.f);
	else if (tree->kind == DFG_TREE_BINARY || tree->kind == DFG_TREE_UNARY)
		dfg_text_add(to, "(%s", dfg_operators[tree->operation].spelling);
	else if (tree->n == 0)
		dfg_text_add(to, "%s", tree->text ? tree->text : tree->kind == DFG_TREE_REST ? "..." : "?");
	else if (tree->kind < sizeof names / sizeof *names && names[tree->kind])
		dfg_text_add(to, "(%s", names[tree->kind]);
	else
		dfg_text_add(to, "(%s", tree->text ? tree->text : ".");
	for (uint32_t i = 0; tree && i < tree->n; i++) {
		dfg_text_add(to, " ");
		show(to, tree->kid[i]);
	}
	if (tree && tree->n)
		dfg_text_add(to, ")");
}

/* Without `out` nothing is shown: show() goes as deep as the tree. */
static struct dfg_err *parse(const char *text, struct dfg_text *out)
{
	struct dfg_arena arena = {0};
	struct dfg_source source = {"t.dfg", text, (uint32_t)strlen(text), false};
	struct dfg_tree *block;
	struct dfg_err *err = dfg_parse(&source, &arena, &block);
	for (uint32_t i = 0; out && !err && i < block->n; i++) {
		if (i)
			dfg_text_add(out, "; ");
		show(out, block->kid[i]);
	}
	dfg_arena_release(&arena);
	return err;
}

static void is(const char *text, const char *tree)
{
	struct dfg_text out = {0};
	succeeds(parse(text, &out));
	assert_string_equal(out.s, tree);
	dfg_text_release(&out);
}

static void is_not(const char *text, const char *words)
{
	struct dfg_text out = {0};
	fails(parse(text, &out), DFG_DATA, words);
	dfg_text_release(&out);
}

static void operators_bind_as_the_grammar_says(void **state)
{
	(void)state;
	is("y = a + b * c", "(= (tuple y) (tuple (+ a (* b c))))");
	is("y = a - b - c", "(= (tuple y) (tuple (- (- a b) c)))");
	is("y = -a ** 2", "(= (tuple y) (tuple (- (** a 2))))");
	is("y = a ** -b ** c", "(= (tuple y) (tuple (** a (- (** b c)))))");
	is("y = not a == b and c or d", "(= (tuple y) (tuple (or (and (not (== a b)) c) d)))");
	is("y = a @ b[0](x).w", "(= (tuple y) (tuple (@ a (member (call (index b 0) (. x))))))");
	is_not("y = a < b < c", "comparisons do not chain");
}

static void a_newline_ends_a_statement(void **state)
{
	(void)state;
	is("y = a\n- b", "(= (tuple y) (tuple a)); (do (tuple (- b)))");
	is("y = a -\n b", "(= (tuple y) (tuple (- a b)))");
	is("y = (a\n- b)", "(= (tuple y) (tuple (- a b)))");
	is("y = [a,\n\n b\n]", "(= (tuple y) (tuple (list a b)))");
	is("x, y = a,\n  b", "(= (tuple x y) (tuple a b))");
	is("static if a { y = f(\n1) }\n\n# words\nelse { y = 2 }",
		"(static-if a (block (= (tuple y) (tuple (call f (. 1))))) (block (= (tuple y) (tuple 2))))");
	is_not("y = a b", "expected the end of the line, not `b`");
}

static void statement_words_are_names_elsewhere(void **state)
{
	(void)state;
	is("dinput = Reshape(doutput, Shape(input))",
		"(= (tuple dinput) (tuple (call Reshape (. doutput) (. (call Shape (. input))))))");
	is("input = 3", "(= (tuple input) (tuple 3))");
	is("input input: f32[2]", "(input (f32 (. 2)) -)");
	is("y = f(if = 1)", "(= (tuple y) (tuple (call f (if 1))))");
	is_not("y = while", "expected an expression, not `while`");
}

static void ranges_and_numbers_keep_apart(void **state)
{
	(void)state;
	is("static for i in 0..4 { y = 1.5e-3 }", "(i (sequence 0 4) (block (= (tuple y) (tuple 0.0015))))");
	is("y = x[0, 1:, ..., new, ::2]", "(= (tuple y) (tuple (index x 0 (slice 1 - -) ... ? (slice - - 2))))");
	is_not("y = 1x", "a number must not be followed by a letter");
	is_not("y = 99999999999999999999", "does not fit 64 bits");
	is_not("y = 1e400", "does not fit 64 bits");
}

static void control_flow_parses(void **state)
{
	(void)state;
	is("h, ys = loop (h = a) for x in xs, t in 0.. while t < n with (parallel = 32) { next h }",
		"(= (tuple h ys) (tuple (loop (tuple (h a)) (tuple (x (sequence xs -)) (t (sequence 0 -))) (< t n) (tuple "
		"(parallel 32))"
		" (block (. (tuple h))))))");
	is("y = if a { 1 } else if b { 2 } else { 3 }",
		"(= (tuple y) (tuple (if a (block (do (tuple 1))) (if b (block (do (tuple 2))) (block (do (tuple 3)))))))");
	is("y = case i {\n 0: { a }\n 1: { b }\n else: { c }\n}",
		"(= (tuple y) (tuple (case i (block (do (tuple a))) (block (do (tuple b))) (block (do (tuple c))))))");
	is_not("y = case i { 1: { a } else: { b } }", "numbered 0, 1, 2");
}

static void mistakes_show_the_line(void **state)
{
	(void)state;
	is_not("x = 1\n\ty = (2 + \n", "t.dfg:2:");
	is_not("x = 1\n\ty = * 2", "t.dfg:2:6: error: expected an expression, not `*`\n    \ty = * 2\n    \t    ^");
	is_not("x = \"abc", "the string does not end on its line");
	is_not("f(x) = 1", "the left side of an assignment must be a name");
	is_not("x = 1 $", "unexpected character '$'");
	is_not("param w: f32", "expected `=` and an initial value");
	is_not("y = x[]", "expected an index");
}

/* n copies of `open`, a middle, n copies of `close`. */
static void nested(const char *open, const char *close, int n, bool good)
{
	struct dfg_text text = {0};
	dfg_text_add(&text, "y = ");
	for (int i = 0; i < n; i++)
		dfg_text_add(&text, "%s", open);
	dfg_text_add(&text, "1");
	for (int i = 0; i < n; i++)
		dfg_text_add(&text, "%s", close);
	if (good)
		succeeds(parse(text.s, NULL));
	else
		fails(parse(text.s, NULL), DFG_DATA, "deeper than 256");
	dfg_text_release(&text);
}

static void nesting_has_a_limit(void **state)
{
	(void)state;
	nested("(", ")", 200, true);
	nested("(", ")", 100000, false);
	nested("[", "]", 300, false);
	nested("-", "", 100000, false);
	nested("not ", "", 100000, false);
	nested("if a { b } else ", "", 300, false);
	nested("", " + 1", 100000, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_bind_as_the_grammar_says),
		cmocka_unit_test(a_newline_ends_a_statement),
		cmocka_unit_test(statement_words_are_names_elsewhere),
		cmocka_unit_test(ranges_and_numbers_keep_apart),
		cmocka_unit_test(control_flow_parses),
		cmocka_unit_test(mistakes_show_the_line),
		cmocka_unit_test(nesting_has_a_limit),
	};
	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
