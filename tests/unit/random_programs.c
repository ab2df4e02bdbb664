#include "lib/pass/verify/verify.h"

#include "tests/unit/test.h"

#include "lib/exec/session.h"
#include "tests/unit/random_graph.h"

#include <stdlib.h>

/* y and its derivatives: fetched from a graph that holds them all. */
struct subject {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_edge x, fetch[ORDERS + 1];
};

static void make_graph(struct subject *s, const struct program *p, const struct dfg_remat *remat)
{
	static const struct place root = {.pivot = DFG_NONE};
	struct emitter *e = calloc(1, sizeof *e);
	*s = (struct subject){0};
	dfg_graph_init(&s->graph, &s->arena);
	succeeds(dfg_builder_init(&s->builder, &s->graph));
	e->builder = &s->builder;
	e->remat = *remat;
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", DFG_F64), {"shape", DFG_ATTR_SHAPE, {.shape = &DFG_SHAPE_SCALAR}}};
	s->x = emit(e, "Placeholder", NULL, 0, attr, 2);
	bind(e, X, &root, s->x);
	bind(e, C, &root, emit_constant(e, &root, DFG_F64, 1.5));
	emit_block(e, p->block, &root);
	s->fetch[0] = emit1(e, "Identity", read_name(e, p->y, &root));
	for (int order = 1; order <= ORDERS; order++)
		s->fetch[order] = derive(e, s->fetch[order - 1], s->x);
	free(e);
	succeeds(dfg_verify(&s->graph, NULL, NULL));
}

static void release(struct subject *s)
{
	dfg_builder_release(&s->builder);
	dfg_graph_release(&s->graph);
	dfg_arena_release(&s->arena);
}

static void run_graph(
	struct subject *s, const struct dfg_session_options *options, double x, double *out, struct dfg_stats *out_stats)
{
	struct dfg_session *session;
	struct dfg_plan *plan;
	struct dfg_tensor feed = {.dtype = DFG_F64, .shape = DFG_SHAPE_SCALAR, .data = &x, .capacity = sizeof x};
	struct dfg_tensor result[ORDERS + 1];
	const struct dfg_step step = {.feed = &s->x, .n_feed = 1, .fetch = s->fetch, .n_fetch = ORDERS + 1};
	succeeds(dfg_session_new(&s->graph, options, &session));
	succeeds(dfg_session_plan(session, &step, &plan));
	succeeds(dfg_plan_run(plan, &feed, result));
	for (int i = 0; i <= ORDERS; i++) {
		out[i] = *(double *)result[i].data;
		dfg_tensor_release(&result[i]);
	}
	dfg_plan_stats(plan, out_stats);
	assert_int_equal(out_stats->left, 0);
	dfg_session_free(session);
}

/* The direct way; false where the numbers are too large to compare. */
static bool expect(const struct program *p, double x, struct jet *out_y)
{
	struct values *v = calloc(1, sizeof *v);
	struct jet of_x = jet_of(x);
	of_x.c[1][0][0] = of_x.bound[1][0][0] = 1;
	v->data[X] = of_x;
	v->data[C] = jet_of(1.5);
	run_block(v, p->block, 0);
	*out_y = v->data[p->y];
	bool usable = !v->out_of_range;
	free(v);
	return usable;
}

/* Loops as register code and as machine code have the bits and the counts of the same loops run node by node. */
static void expect_same_loops(struct subject *s, uint64_t seed, double x)
{
	double want[ORDERS + 1], got[ORDERS + 1];
	struct dfg_stats wanted, counted;
	run_graph(s, &(struct dfg_session_options){.threads = 1, .no_compiled_loops = true}, x, want, &wanted);
	for (uint64_t after = 0; after <= 3; after++) {
		run_graph(s, &(struct dfg_session_options){.threads = 1, .emit_loops_after = after}, x, got, &counted);
		if (memcmp(want, got, sizeof want) || wanted.iterations != counted.iterations ||
			wanted.dead_tokens != counted.dead_tokens || wanted.saves != counted.saves ||
			wanted.peak_frames != counted.peak_frames)
			fail_msg("seed %llu: compiled loops give %.17g in %llu iterations, %llu dead; not %.17g, %llu, %llu",
				(unsigned long long)seed, got[0], (unsigned long long)counted.iterations,
				(unsigned long long)counted.dead_tokens, want[0], (unsigned long long)wanted.iterations,
				(unsigned long long)wanted.dead_tokens);
	}
}

static bool try_program(uint64_t seed, int schedules)
{
	static const struct dfg_remat policy[6] = {
		{DFG_REMAT_CARRIED, 0}, {0}, {DFG_REMAT_SQRT, 0}, {DFG_REMAT_EVERY, 1}, {0}, {DFG_REMAT_EVERY, 2}};
	struct program p;
	struct subject s;
	struct jet want;
	struct dfg_stats stats;
	double x = (double)(1 + seed % 7) / 4, got[ORDERS + 1], factorial = 1;
	draw_program(&p, seed);
	bool usable = expect(&p, x, &want);
	if (usable)
		make_graph(&s, &p, &policy[seed % 6]);
	for (int run = 0; run < schedules && usable; run++) {
		const struct dfg_session_options options = {.threads = 1 + run % 2,
			.random_schedule = run > 0,
			.schedule_seed = seed + (uint64_t)run,
			.no_opt = run == 1};
		run_graph(&s, &options, x, got, &stats);
		for (int k = 0; k <= ORDERS; k++) {
			factorial = k ? factorial * k : 1;
			double wanted = want.c[k][0][0] * factorial, slack = 1e-9 * (want.bound[k][0][0] * factorial + 1e-3);
			if (!(fabs(got[k] - wanted) <= slack))
				fail_msg("seed %llu, run %d: derivative %d is %.17g, not %.17g", (unsigned long long)seed, run, k,
					got[k], wanted);
		}
	}
	if (usable) {
		expect_same_loops(&s, seed, x);
		release(&s);
	}
	dfg_arena_release(&p.arena);
	return usable;
}

static uint64_t first = 1, count = 200;

static void random_programs_have_the_derivatives_that_their_taylor_series_say(void **state)
{
	(void)state;
	uint64_t done = 0;
	for (uint64_t seed = first; done < count; seed++) {
		done += try_program(seed, 3);
	}
}

/* programs [COUNT [FIRST SEED]] */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs_have_the_derivatives_that_their_taylor_series_say),
	};
	count = argc > 1 ? strtoull(argv[1], NULL, 10) : count;
	first = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
