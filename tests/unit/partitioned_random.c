#define CLUSTER_ASKED 16384
#include "tests/unit/partitioned.h"
#include "tests/unit/random_graph.h"
#include "tests/unit/scatter.h"

#include "lib/pass/partition/partition.h"
#include "lib/pass/verify/verify.h"

/* Random programs and their derivative, cut by chance over two devices and three: the same bits as in one session. */
struct subject {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_facts facts;
	struct dfg_edge x, fetch[2];
};

static void make_graph(struct subject *s, const struct program *p)
{
	static const struct place root = {.pivot = DFG_NONE};
	struct emitter *e = calloc(1, sizeof *e);
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", DFG_F64), {"shape", DFG_ATTR_SHAPE, {.shape = &DFG_SHAPE_SCALAR}}};
	*s = (struct subject){0};
	dfg_graph_init(&s->graph, &s->arena);
	succeeds(dfg_builder_init(&s->builder, &s->graph));
	e->builder = &s->builder;
	s->x = emit(e, "Placeholder", NULL, 0, attr, 2);
	bind(e, X, &root, s->x);
	bind(e, C, &root, emit_constant(e, &root, DFG_F64, 1.5));
	emit_block(e, p->block, &root);
	s->fetch[0] = emit1(e, "Identity", read_name(e, p->y, &root));
	s->fetch[1] = derive(e, s->fetch[0], s->x);
	free(e);
	succeeds(dfg_verify(&s->graph, NULL, &s->facts));
}

static void release(struct subject *s)
{
	dfg_facts_release(&s->facts);
	dfg_builder_release(&s->builder);
	dfg_graph_release(&s->graph);
	dfg_arena_release(&s->arena);
}

static void run_whole(const struct subject *s, const struct dfg_tensor *x, double *out)
{
	struct dfg_session *session;
	struct dfg_plan *plan;
	struct dfg_tensor result[2];
	const struct dfg_step step = {.feed = &s->x, .n_feed = 1, .fetch = s->fetch, .n_fetch = 2};
	succeeds(dfg_session_new(&s->graph, NULL, &session));
	succeeds(dfg_session_plan(session, &step, &plan));
	succeeds(dfg_plan_run(plan, x, result));
	for (int i = 0; i < 2; i++) {
		out[i] = dfg_tensor_float(&result[i], 0);
		dfg_tensor_release(&result[i]);
	}
	dfg_session_free(session);
}

static void run_cluster(
	struct cluster *cluster, struct subject *s, const struct dfg_tensor *x, const double *wanted, uint64_t seed)
{
	struct dfg_tensor result[CLUSTER_MOST] = {0};
	cluster_step_begin(cluster);
	cluster_feed(cluster, dfg_graph_tensor_name(&s->graph, s->x), x);
	for (uint32_t i = 0; i < 2; i++)
		cluster_fetch(cluster, dfg_graph_tensor_name(&s->graph, s->fetch[i]), i);
	struct dfg_err *err = cluster_step(cluster, result);
	if (err)
		fail_msg("program %llu: %s", (unsigned long long)seed, err->text);
	if (cluster->left)
		fail_msg("program %llu: %d things are left", (unsigned long long)seed, (int)cluster->left);
	for (int i = 0; i < 2; i++) {
		double got = dfg_tensor_float(&result[i], 0);
		if (memcmp(&got, &wanted[i], sizeof got) != 0)
			fail_msg("program %llu: derivative %d is %.17g in parts, %.17g in one session", (unsigned long long)seed, i,
				got, wanted[i]);
		dfg_tensor_release(&result[i]);
	}
}

static void run_parts(struct subject *s, const struct dfg_placed *placed, uint32_t devices, uint64_t seed,
	const struct dfg_tensor *x, const double *wanted)
{
	static struct cluster cluster;
	static const char *const device[] = {
		"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0", "/job:worker/task:2/device:CPU:0"};
	const struct dfg_place_options place = {.device = device, .devices = devices};
	struct dfg_arena arena = {0};
	struct dfg_parts parts;
	const struct dfg_graph *part[3];
	succeeds(dfg_partition(&s->graph, &s->facts, placed, &place, &arena, &parts));
	for (uint32_t d = 0; d < devices; d++)
		part[d] = &parts.part[d];
	for (uint64_t way = 0; way < 3; way++) {
		const struct dfg_session_options options = {.threads = way == 2 ? 2 : 1,
			.timeout = 600,
			.random_schedule = way > 0,
			.schedule_seed = seed + way,
			.no_opt = way == 1};
		cluster_begin(&cluster, part, devices, &options, way % 2);
		for (int time = 0; time < 2; time++)
			run_cluster(&cluster, s, x, wanted, seed);
		cluster_end(&cluster);
	}
	dfg_parts_release(&parts);
	dfg_arena_release(&arena);
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
	struct scatter scatter;
	double x = (double)(1 + seed % 7) / 4, wanted[2];
	const struct dfg_tensor feed = {.dtype = DFG_F64, .shape = DFG_SHAPE_SCALAR, .data = &x, .capacity = sizeof x};
	draw_program(&p, seed);
	bool usable = is_usable(&p, x);
	if (usable) {
		make_graph(&s, &p);
		run_whole(&s, &feed, wanted);
		struct dfg_placed *placed = calloc(s.graph.count, sizeof *placed);
		scatter_begin(&scatter, &s.graph, &s.facts);
		scatter.seed = seed;
		for (uint32_t devices = 2; devices <= 3; devices++) {
			scatter_place(&scatter, devices, placed);
			run_parts(&s, placed, devices, seed, &feed, wanted);
		}
		scatter_end(&scatter);
		free(placed);
		release(&s);
	}
	dfg_arena_release(&p.arena);
	return usable;
}

static uint64_t first = 1, count = 25;

static void random_programs_are_the_same_in_parts(void **state)
{
	(void)state;
	uint64_t done = 0;
	for (uint64_t seed = first; done < count; seed++)
		done += try_program(seed);
}

/* partitioned_random [COUNT [FIRST SEED]] */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs_are_the_same_in_parts),
	};
	count = argc > 1 ? strtoull(argv[1], NULL, 10) : count;
	first = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
