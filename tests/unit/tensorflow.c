#include "lib/pass/rewrite/tensorflow.h"

#include "tests/unit/recorded.h"

#include "tests/unit/random_graph.h"

/* Gradients of loops, written for TensorFlow, are what they were to the bit, without an op of ours. */
struct subject {
	struct dfg_arena arena, scratch;
	struct dfg_graph graph;
	struct dfg_edge x, fetch[ORDERS + 1];
};

static void make_graph(struct subject *s, const struct program *p, bool remat)
{
	static const struct place root = {.pivot = DFG_NONE};
	struct emitter *e = calloc(1, sizeof *e);
	struct dfg_builder builder;
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", DFG_F64), {"shape", DFG_ATTR_SHAPE, {.shape = &DFG_SHAPE_SCALAR}}};
	*s = (struct subject){0};
	dfg_graph_init(&s->graph, &s->arena);
	succeeds(dfg_builder_init(&builder, &s->graph));
	e->builder = &builder;
	e->remat.policy = remat ? DFG_REMAT_CARRIED : DFG_REMAT_NOTHING;
	s->x = emit(e, "Placeholder", NULL, 0, attr, 2);
	bind(e, X, &root, s->x);
	bind(e, C, &root, emit_constant(e, &root, DFG_F64, 1.5));
	emit_block(e, p->block, &root);
	s->fetch[0] = emit1(e, "Identity", read_name(e, p->y, &root));
	for (int order = 1; order <= ORDERS; order++)
		s->fetch[order] = derive(e, s->fetch[order - 1], s->x);
	free(e);
	dfg_builder_release(&builder);
}

static void rewrite(struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch)
{
	struct dfg_text report = {0};
	succeeds(dfg_tensorflow(graph, keep, scratch, &report));
	dfg_text_release(&report);
	for (uint32_t n = 0; n < graph->count; n++)
		assert_null(strstr(graph->node[n].op_name, "Dfg>"));
}

static void release(struct subject *s)
{
	dfg_graph_release(&s->graph);
	dfg_arena_release(&s->scratch);
	dfg_arena_release(&s->arena);
}

static void run_graph(const struct subject *s, const struct dfg_session_options *options, double x, double *out)
{
	struct dfg_session *session;
	struct dfg_plan *plan;
	struct dfg_stats stats;
	struct dfg_tensor feed = {.dtype = DFG_F64, .shape = DFG_SHAPE_SCALAR, .data = &x, .capacity = sizeof x};
	struct dfg_tensor result[ORDERS + 1];
	const struct dfg_step step = {.feed = &s->x, .n_feed = 1, .fetch = s->fetch, .n_fetch = ORDERS + 1};
	succeeds(dfg_verify(&s->graph, NULL, NULL));
	succeeds(dfg_session_new(&s->graph, options, &session));
	succeeds(dfg_session_plan(session, &step, &plan));
	succeeds(dfg_plan_run(plan, &feed, result));
	for (int i = 0; i <= ORDERS; i++) {
		out[i] = *(double *)result[i].data;
		dfg_tensor_release(&result[i]);
	}
	dfg_plan_stats(plan, &stats);
	assert_int_equal(stats.left, 0);
	dfg_session_free(session);
}

/* False where the numbers grow out of all bounds: a loop may then run as long as it likes. */
static bool is_usable(const struct program *p, double x)
{
	struct values *v = calloc(1, sizeof *v);
	v->data[X] = jet_of(x);
	v->data[C] = jet_of(1.5);
	run_block(v, p->block, 0);
	bool usable = !v->out_of_range;
	free(v);
	return usable;
}

static bool try_program(uint64_t seed)
{
	struct program p;
	struct subject s;
	double x = (double)(1 + seed % 7) / 4, want[ORDERS + 1], got[ORDERS + 1];
	draw_program(&p, seed);
	bool usable = is_usable(&p, x);
	if (usable) {
		make_graph(&s, &p, seed % 3 == 0);
		run_graph(&s, NULL, x, want);
		struct dfg_keep keep = {.feed = &s.x, .n_feed = 1, .fetch = s.fetch, .n_fetch = ORDERS + 1};
		rewrite(&s.graph, &keep, &s.scratch);
		for (int run = 0; run < 3; run++) {
			const struct dfg_session_options options = {.threads = 1 + run % 2,
				.random_schedule = run > 0,
				.schedule_seed = seed + (uint64_t)run,
				.no_opt = run == 1};
			run_graph(&s, &options, x, got);
			if (memcmp(got, want, sizeof got) != 0)
				fail_msg("seed %llu, run %d: %.17g %.17g %.17g %.17g, not %.17g %.17g %.17g %.17g",
					(unsigned long long)seed, run, got[0], got[1], got[2], got[3], want[0], want[1], want[2], want[3]);
		}
		release(&s);
	}
	dfg_arena_release(&p.arena);
	return usable;
}

static uint64_t first = 1, count = 100;

static void derivatives_of_random_programs_are_the_same(void **state)
{
	(void)state;
	uint64_t done = 0;
	for (uint64_t seed = first; done < count; seed++)
		done += try_program(seed);
}

static void run_both(struct recorded *plain, struct recorded *rewritten)
{
	const struct dfg_json *steps = dfg_json_get(plain->json, "steps");
	struct dfg_session *session[2];
	bool good = true;
	succeeds(dfg_session_new(&plain->file.graph, NULL, &session[0]));
	succeeds(dfg_session_new(&rewritten->file.graph, NULL, &session[1]));
	for (const struct dfg_json *step = steps ? steps->first : NULL; step && good; step = step->next)
		for (int gradients = 0; gradients < 2 - (step->next != NULL) && good; gradients++) {
			struct dfg_tensor want[64] = {0}, got[64] = {0};
			struct asked asked = ask(plain, step, gradients), again = ask(rewritten, step, gradients);
			struct dfg_err *one = run_whole(plain, session[0], &asked, want);
			struct dfg_err *other = run_whole(rewritten, session[1], &again, got);
			good = agree(plain, &asked, one, other, want, got);
			dfg_arrays_release(&asked.feeds);
			dfg_arrays_release(&again.feeds);
		}
	dfg_session_free(session[0]);
	dfg_session_free(session[1]);
}

static uint32_t rewritten_cases;

static void run_case(const char *directory)
{
	struct recorded plain, rewritten;
	struct dfg_arena scratch = {0};
	struct dfg_err *err = recorded_open(&plain, directory);
	if (!err && plain.gradients) {
		succeeds(recorded_open(&rewritten, directory));
		struct dfg_keep keep = {.fetch = rewritten.gradient, .n_fetch = rewritten.gradients};
		rewrite(&rewritten.file.graph, &keep, &scratch);
		succeeds(dfg_verify(&rewritten.file.graph, NULL, NULL));
		run_both(&plain, &rewritten);
		rewritten_cases++;
		recorded_close(&rewritten);
	}
	dfg_err_free(err);
	dfg_arena_release(&scratch);
	recorded_close(&plain);
}

static void derivatives_of_recorded_cases_are_the_same(void **state)
{
	(void)state;
	run_folder("flow", run_case);
	run_folder("train", run_case);
	assert_true(rewritten_cases > 100 || getenv("CASE"));
}

struct small {
	struct dfg_arena arena, scratch;
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_edge x;
};

static struct dfg_edge small_node(
	struct small *s, const char *op, const struct dfg_edge *in, uint32_t n_in, const struct dfg_attr *attr, uint32_t n)
{
	struct dfg_edge out = {0, 0};
	succeeds(dfg_build(&s->builder,
		&(struct dfg_new_node){.op = op, .name = op, .in = in, .n_in = n_in, .attr = attr, .n_attr = n}, &out.node));
	return out;
}

static struct dfg_edge small_input(struct small *s, enum dfg_dtype dtype)
{
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", dtype), {"shape", DFG_ATTR_SHAPE, {.shape = &DFG_SHAPE_SCALAR}}};
	return small_node(s, "Placeholder", NULL, 0, attr, 2);
}

static void small_begin(struct small *s)
{
	*s = (struct small){0};
	dfg_graph_init(&s->graph, &s->arena);
	succeeds(dfg_builder_init(&s->builder, &s->graph));
	s->x = small_input(s, DFG_F32);
}

static void small_end(struct small *s)
{
	dfg_builder_release(&s->builder);
	dfg_graph_release(&s->graph);
	dfg_arena_release(&s->scratch);
	dfg_arena_release(&s->arena);
}

static void what_tensorflow_has_no_op_for_is_refused_by_name(void **state)
{
	(void)state;
	struct small s;
	struct dfg_text report = {0};
	struct dfg_keep keep = {0};
	const struct dfg_attr ms = DFG_ATTR_I("ms", 1);
	small_begin(&s);
	small_node(&s, "Dfg>Sleep", &s.x, 1, &ms, 1);
	fails(dfg_tensorflow(&s.graph, &keep, &s.scratch, &report), DFG_DATA,
		"node 'Dfg>Sleep' (Dfg>Sleep): TensorFlow has no equivalent of this op");
	small_end(&s);
}

static void a_side_that_is_added_to_itself_comes_through_an_identity(void **state)
{
	(void)state;
	struct small s;
	small_begin(&s);
	struct dfg_edge in[2] = {s.x, small_input(&s, DFG_BOOL)}, side, sum;
	side = small_node(&s, "Switch", in, 2, NULL, 0);
	in[0] = in[1] = (struct dfg_edge){side.node, 1};
	sum = small_node(&s, "AddV2", in, 2, NULL, 0);
	struct dfg_keep keep = {.fetch = &sum, .n_fetch = 1};
	rewrite(&s.graph, &keep, &s.scratch);
	succeeds(dfg_verify(&s.graph, NULL, NULL));
	const struct dfg_node *add = &s.graph.node[sum.node], *between = &s.graph.node[add->in[0].node];
	assert_string_equal(add->op_name, "AddV2");
	assert_int_equal(add->in[0].node, add->in[1].node);
	assert_true(add->in[0].node < sum.node);
	assert_string_equal(between->op_name, "Identity");
	assert_string_equal(s.graph.node[between->in[0].node].op_name, "Switch");
	assert_int_equal(between->in[0].port, 1);
	small_end(&s);
}

static void what_was_saved_without_keys_is_read_as_it_is(void **state)
{
	(void)state;
	struct small s;
	small_begin(&s);
	const struct dfg_attr attr[] = {DFG_ATTR_I("N", 0), DFG_ATTR_T("K", DFG_I32), DFG_ATTR_T("T", DFG_F32)};
	struct dfg_edge stored = small_node(&s, "Dfg>Save", &s.x, 1, attr, 2);
	struct dfg_edge loaded = small_node(&s, "Dfg>Load", &stored, 1, attr, 3);
	struct dfg_keep keep = {.fetch = &loaded, .n_fetch = 1};
	rewrite(&s.graph, &keep, &s.scratch);
	assert_int_equal(s.graph.count, 1);
	assert_string_equal(s.graph.node[loaded.node].op_name, "Placeholder");
	small_end(&s);
}

/* tensorflow [COUNT [FIRST SEED]] */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(derivatives_of_random_programs_are_the_same),
		cmocka_unit_test(derivatives_of_recorded_cases_are_the_same),
		cmocka_unit_test(what_tensorflow_has_no_op_for_is_refused_by_name),
		cmocka_unit_test(a_side_that_is_added_to_itself_comes_through_an_identity),
		cmocka_unit_test(what_was_saved_without_keys_is_read_as_it_is),
	};
	count = argc > 1 ? strtoull(argv[1], NULL, 10) : count;
	first = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
