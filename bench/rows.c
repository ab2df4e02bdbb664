/*
 * Elementwise chains, softmax, layer norm and its gradient, on one thread, and memcpy() of as many bytes in the same run.
 * Times are minima of the thread's processor time, so that a busy machine disturbs little; every value is compared with
 * that of the graph as it is (no_opt), bit for bit.
 */
#include "bench/bench.h"
#include "lib/exec/session.h"
#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"

#include <string.h>

#define CHEAP_2 "y = 2.0 * x + 1.0\n"
#define CHEAP_9 "y = abs(minimum(maximum((x * 1.5 - 0.25) * x + 0.5, -3.0), 3.0) - x) * 0.5\n"
#define CHEAP_20 CHEAP_9 "y = sqrt(y + x * x) * 0.25 - y\ny = maximum(y * x + 0.125, x - y) * (1.0 - y) + 2.0\n"
#define DEAR_9 "y = (sigmoid(x * 1.5) + tanh(x - 0.5)) * exp(minimum(x, 1.0)) - x\n"

static const struct {
	const char *row, *unit, *text;
	int64_t rows, columns;
} cases[] = {
	{"2 cheap ops, 4 M f32", "ms", CHEAP_2, 4096, 1024},
	{"9 cheap ops, 4 M f32", "ms", CHEAP_9, 4096, 1024},
	{"20 cheap ops, 4 M f32", "ms", CHEAP_20, 4096, 1024},
	{"9 ops, 3 transcendental, 4 M", "ms", DEAR_9, 4096, 1024},
	{"9 cheap ops, 4 K f32", "us", CHEAP_9, 4, 1024},
	{"20 cheap ops, 4 K f32", "us", CHEAP_20, 4, 1024},
	{"softmax 4096 x 1024", "ms", "y = softmax(x)\n", 4096, 1024},
	{"softmax 64 x 1024", "us", "y = softmax(x)\n", 64, 1024},
	{"layer norm 4096 x 1024", "ms", "y = layer_norm()(x)\n", 4096, 1024},
	{"layer norm, gradient", "ms", "z = layer_norm()(x)\ny = grad(sum(z * z * z), x)\n", 4096, 1024},
	{"cross entropy, gradient", "ms", "y = grad(mean(cross_entropy(x, Cast(x - x, DstT = i32)[:, 0])), x)\n", 4096,
		1024},
	{"batch norm 65536 x 64", "ms", "y = batch_norm(training = true)(x)\n", 65536, 64},
};
enum { CASES = sizeof cases / sizeof *cases, RUNS = 31 };

struct subject {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_edge x, y;
};

static void begin(struct subject *subject, int i)
{
	char text[1024];
	int length = snprintf(text, sizeof text, "input x: f32[%lld, %lld]\n%soutput result = y\n",
		(long long)cases[i].rows, (long long)cases[i].columns, cases[i].text);
	const struct dfg_lang_options lang = {.grad = dfg_grad_edges, .text = text, .length = (size_t)length};
	*subject = (struct subject){0};
	dfg_graph_init(&subject->graph, &subject->arena);
	expect(dfg_lang_build("rows.dfg", &lang, &subject->graph));
	expect(dfg_graph_edge(&subject->graph, "x", &subject->x));
	expect(dfg_graph_edge(&subject->graph, "result", &subject->y));
}

static void end(struct subject *subject)
{
	dfg_graph_release(&subject->graph);
	dfg_arena_release(&subject->arena);
}

/* ns a step, the least of `runs`; the last result stays in *out. */
static double measure(
	const struct subject *subject, const struct dfg_tensor *x, bool no_opt, int runs, struct dfg_tensor *out)
{
	const struct dfg_session_options options = {.threads = 1, .no_opt = no_opt};
	const struct dfg_step step = {.feed = &subject->x, .n_feed = 1, .fetch = &subject->y, .n_fetch = 1};
	struct dfg_session *session;
	struct dfg_plan *plan;
	double least = 1e18;
	uint32_t init = dfg_graph_find(&subject->graph, "init");
	expect(dfg_session_new(&subject->graph, &options, &session));
	if (init != DFG_NONE) {
		const struct dfg_step first = {.target = &init, .n_target = 1};
		expect(dfg_session_plan(session, &first, &plan));
		expect(dfg_plan_run(plan, NULL, NULL));
	}
	expect(dfg_session_plan(session, &step, &plan));
	double start = thread_time();
	expect(dfg_plan_run(plan, x, out));
	int batch = runs > 1 ? (int)(1e6 / (thread_time() - start)) + 1 : 1; /* steps between two looks at the clock */
	for (int run = 0; run < runs; run++) {
		start = thread_time();
		for (int i = 0; i < batch; i++) {
			dfg_tensor_release(out);
			expect(dfg_plan_run(plan, x, out));
		}
		double each = (thread_time() - start) / batch;
		least = each < least ? each : least;
	}
	dfg_session_free(session);
	return least;
}

static double copy(const struct dfg_tensor *x, struct dfg_tensor *to)
{
	double least = 1e18;
	int batch = (int)(4e6 / (double)x->capacity) + 1;
	for (int run = 0; run < RUNS; run++) {
		double start = thread_time();
		for (int i = 0; i < batch; i++) {
			memcpy(to->data, x->data, x->capacity);
			__asm__ volatile("" ::: "memory");
		}
		double each = (thread_time() - start) / batch;
		least = each < least ? each : least;
	}
	return least;
}

static void fill(struct dfg_tensor *x)
{
	unsigned random = 1;
	for (int64_t i = 0, n = dfg_shape_count(&x->shape); i < n; i++) {
		random = random * 1664525u + 1013904223u;
		((float *)x->data)[i] = (float)(random >> 8) / (1 << 22) - 2;
	}
}

static void compare(int i)
{
	struct subject subject;
	struct dfg_tensor x, y, plain;
	const struct dfg_shape shape = {.rank = 2, .dim = {cases[i].rows, cases[i].columns}};
	double unit = cases[i].unit[0] == 'm' ? 1e6 : 1e3;
	expect(dfg_tensor_new(DFG_F32, &shape, &x));
	fill(&x);
	begin(&subject, i);
	double ns = measure(&subject, &x, false, RUNS, &y), as_it_is = measure(&subject, &x, true, 3, &plain);
	bool same = y.capacity == plain.capacity && !memcmp(y.data, plain.data, dfg_tensor_bytes(&y));
	printf("%s\t%.4g\n", cases[i].row, ns / unit);
	printf("  the graph as it is: %.4g %s, memcpy: %.4g\n", as_it_is / unit, cases[i].unit, copy(&x, &plain) / unit);
	dfg_tensor_release(&x), dfg_tensor_release(&y), dfg_tensor_release(&plain);
	end(&subject);
	if (same)
		return;
	fprintf(stderr, "%s: the values are not those of the graph as it is\n", cases[i].row);
	exit(1);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < CASES; i++)
		if (argc < 2 || strstr(cases[i].row, argv[1]))
			compare(i);
	return 0;
}
