#include "tests/unit/test.h"

#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/replicate/local.h"
#include "lib/pass/replicate/loss.h"
#include "lib/pass/verify/verify.h"

#include <stdio.h>
#include <string.h>

/* Which tensors depend on the rows of a shard, and whether a loss is a mean or a sum over the batch. */

struct program {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_facts facts;
	struct dfg_local local;
};

static void program_begin(struct program *program, const char *text)
{
	const struct dfg_lang_options lang = {.grad = dfg_grad_edges, .text = text, .length = strlen(text)};
	struct dfg_edge x;
	*program = (struct program){0};
	dfg_graph_init(&program->graph, &program->arena);
	succeeds(dfg_lang_build("test.dfg", &lang, &program->graph));
	succeeds(dfg_verify(&program->graph, NULL, &program->facts));
	succeeds(dfg_graph_edge(&program->graph, "x", &x));
	succeeds(dfg_local_find(&program->graph, &program->facts, &x, 1, &program->arena, &program->local));
}

static void program_end(struct program *program)
{
	dfg_facts_release(&program->facts);
	dfg_graph_release(&program->graph);
	dfg_arena_release(&program->arena);
}

static const char *const kinds[] = {
	[DFG_LOSS_CONSTANT] = "constant",
	[DFG_LOSS_MEAN] = "mean",
	[DFG_LOSS_SUM] = "sum",
	[DFG_LOSS_MIXED] = "mixed",
	[DFG_LOSS_OTHER] = "other",
};

/* x: f32[n, 3], w: f32[3] is a param, c a constant. */
static const struct {
	const char *loss, *kind;
} losses[] = {
	{"sum(w * w)", "constant"},
	{"mean(x * w)", "mean"},
	{"mean(sum(x * w, axis = 1))", "mean"},
	{"mean(mean(x * w, axis = 1))", "mean"},
	{"sum(mean(x * w, axis = 0))", "mean"},
	{"mean(mean(x * w, axis = 0))", "mean"},
	{"mean(sum(x * w, axis = 0))", "sum"},
	{"0.5 * mean(x * w) + sum(w * w)", "mean"},
	{"mean(x * w) - mean(x) / 3", "mean"},
	{"-mean(x * w)", "mean"},
	{"f32(f64(mean(x * w)))", "mean"},
	{"sum(x * w)", "sum"},
	{"L2Loss(x * w)", "sum"},
	{"sum(x * w) * 0.25", "sum"},
	{"sum(x * w) + sum(x)", "sum"},
	{"sum(x * w) / f32(n)", "mean"},
	{"sum(x * w) / f32(Size(x))", "mean"},
	{"sum(x * w) + sum(w)", "mixed"},
	{"sum(x * w) + mean(x)", "mixed"},
	{"sum(x * w) / sum(x)", "other"},
	{"mean(x * w) / f32(n)", "other"},
	{"sum(x * w) * sum(x)", "other"},
	{"sqrt(mean(x * w))", "other"},
	{"max(x * w)", "other"},
	{"sum(sqrt(mean(x * w, axis = 0)))", "other"},
	{"if n > 3 { mean(x * w) } else { sum(w) }", "other"},
};

static void a_loss_is_a_mean_or_a_sum_by_its_arithmetic(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
		struct program program;
		struct dfg_edge loss;
		char text[500];
		uint32_t reason;
		snprintf(text, sizeof text, "input x: f32[n, 3]\nparam w: f32[3] = zeros\noutput loss = %s\n", losses[i].loss);
		program_begin(&program, text);
		succeeds(dfg_graph_edge(&program.graph, "loss", &loss));
		const char *kind = kinds[dfg_loss_kind(&program.local, loss, &reason)];
		if (strcmp(kind, losses[i].kind))
			fail_msg("%s is '%s' by '%s', should be '%s'", losses[i].loss, kind, program.graph.node[reason].name,
				losses[i].kind);
		program_end(&program);
	}
}

/* Whether y is local. */
static const struct {
	const char *program;
	bool local;
} locals[] = {
	{"output y = x + 1", true},
	{"output y = w + 1", false},
	{"output y = sum(x) * w", true},
	{"output y = zeros([n])", true},
	{"output y = zeros([shape(x)[1]])", false},
	{"output y = if sum(w) > 0 { w } else { -w }", false},
	{"output y = if sum(x) > 0 { w } else { -w }", true},
	{"_, last = loop (i = 0, v = w) while i < 3 { next i + 1, v * 2 }\noutput y = last", false},
	{"_, last = loop (i = 0, v = w) while i < n { next i + 1, v * 2 }\noutput y = last", true},
};

static void what_depends_on_rows_is_local(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof locals / sizeof *locals; i++) {
		struct program program;
		struct dfg_edge y;
		char text[500];
		snprintf(text, sizeof text, "input x: f32[n, 3]\nparam w: f32[3] = zeros\n%s\n", locals[i].program);
		program_begin(&program, text);
		succeeds(dfg_graph_edge(&program.graph, "y", &y));
		if (dfg_local_is(&program.local, y) != locals[i].local)
			fail_msg("%s should %sbe local", locals[i].program, locals[i].local ? "" : "not ");
		program_end(&program);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loss_is_a_mean_or_a_sum_by_its_arithmetic),
		cmocka_unit_test(what_depends_on_rows_is_local),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
