/*
 * The cost of a transfer: within a rendezvous, on one thread; and there and back in each iteration of a loop, v = half(v) + 1,
 * where half is on another worker, a thread of this process: that needs two processors. Medians; the value is checked.
 */
#include "bench/bench.h"
#include "lib/exec/session.h"
#include "lib/graph/loops.h"
#include "lib/lang/lang.h"
#include "lib/pass/partition/partition.h"
#include "lib/pass/verify/verify.h"

#include <pthread.h>
#include <string.h>

static const char program[] =
	"input n: i32[]\noutput last = loop (v = 0.0) for i in 0..n {\n\tw = v * 0.5\n\tnext w + 1.0\n}\n";

enum { ITERATIONS = 20000, RUNS = 9 };

struct worker {
	struct dfg_rendezvous *rendezvous;
	struct dfg_session *session;
	struct dfg_plan *plan;
	struct dfg_link *link[2], out; /* out: to the other */
	struct worker *other;
	struct dfg_edge feed, fetch;
	uint32_t target[16];
	struct dfg_step step;
	struct dfg_tensor value, result;
	int32_t iterations;
};

/* Hands over at once, so that no link is measured. */
static struct dfg_err *send(struct dfg_link *link, const struct dfg_message *message)
{
	struct worker *worker = (struct worker *)((char *)link - offsetof(struct worker, out));
	struct dfg_message copy = *message;
	if (!message->dead)
		DFG_TRY(dfg_tensor_share(&message->tensor, &copy.tensor));
	dfg_rendezvous_deliver(worker->other->rendezvous, !link->peer, &copy);
	return NULL;
}

static const struct dfg_link_kind at_once = {.name = "at once", .send = send};

/* All of the part: its Sends, and what it was fed and asked for in the whole. */
static void prepare(struct worker *worker, const struct dfg_graph *part)
{
	worker->step = (struct dfg_step){.feed = &worker->feed, .fetch = &worker->fetch, .target = worker->target};
	for (uint32_t n = 0; n < part->count; n++) {
		const struct dfg_node *node = &part->node[n];
		if (dfg_node_role(node) == DFG_SEND)
			worker->target[worker->step.n_target++] = n;
		if (!strcmp(node->name, "n"))
			worker->feed.node = n, worker->step.n_feed = 1;
		if (!strcmp(node->name, "last"))
			worker->fetch.node = n, worker->step.n_fetch = 1;
	}
	worker->iterations = ITERATIONS;
	worker->value = (struct dfg_tensor){.dtype = DFG_I32,
		.shape = DFG_SHAPE_SCALAR,
		.data = &worker->iterations,
		.capacity = sizeof worker->iterations};
	expect(dfg_session_plan(worker->session, &worker->step, &worker->plan));
}

static void *run_part(void *arg)
{
	struct worker *worker = arg;
	expect(dfg_plan_run(worker->plan, &worker->value, &worker->result));
	return NULL;
}

/* ns an iteration. */
static double measure(struct worker *worker)
{
	double time[RUNS];
	for (int i = -2; i < RUNS; i++) {
		pthread_t thread;
		for (uint32_t w = 0; w < 2; w++)
			dfg_rendezvous_begin(worker[w].rendezvous, (uint64_t)(i + 3));
		double start = now();
		if (pthread_create(&thread, NULL, run_part, &worker[1]))
			exit(1);
		run_part(&worker[0]);
		pthread_join(thread, NULL);
		if (i >= 0)
			time[i] = now() - start;
		for (uint32_t w = 0; w < 2; w++)
			if (dfg_rendezvous_end(worker[w].rendezvous) || *(float *)worker[0].result.data != 2) {
				printf("transfers: WRONG VALUE\n");
				exit(1);
			}
		dfg_tensor_release(&worker[0].result);
	}
	qsort(time, RUNS, sizeof *time, by_value);
	return time[RUNS / 2] / ITERATIONS;
}

static const char *const device[] = {"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0"};

static void begin(struct worker *worker, struct dfg_graph *part)
{
	for (uint32_t w = 0; w < 2; w++) {
		worker[w].other = &worker[!w];
		worker[w].out = (struct dfg_link){.kind = &at_once, .peer = !w};
		worker[w].link[!w] = &worker[w].out;
		expect(dfg_rendezvous_new(
			&(struct dfg_rendezvous_options){.self = w, .device = device, .workers = 2, .link = worker[w].link},
			&worker[w].rendezvous));
		const struct dfg_session_options options = {.threads = 1, .rendezvous = worker[w].rendezvous};
		expect(dfg_session_new(&part[w], &options, &worker[w].session));
		prepare(&worker[w], &part[w]);
	}
}

static void end(struct worker *worker)
{
	for (uint32_t w = 0; w < 2; w++) {
		dfg_session_free(worker[w].session);
		dfg_rendezvous_free(worker[w].rendezvous);
	}
}

static void loop(void)
{
	const struct dfg_lang_options lang = {.text = program, .length = sizeof program - 1};
	const struct dfg_place_request request[] = {{"*", 0, "*=w0"}, {"*w", 1, "*w=w1"}};
	const struct dfg_place_options place = {.device = device, .devices = 2, .request = request, .requests = 2};
	struct dfg_arena arena = {0}, scratch = {0};
	struct dfg_graph graph;
	struct dfg_facts facts = {0};
	struct dfg_placed *placed;
	struct dfg_parts parts;
	struct worker worker[2] = {0};
	dfg_graph_init(&graph, &arena);
	expect(dfg_lang_build("loop.dfg", &lang, &graph));
	expect(dfg_verify(&graph, NULL, &facts));
	expect(dfg_place(&graph, &facts, &place, &scratch, &placed));
	expect(dfg_partition(&graph, &facts, placed, &place, &scratch, &parts));
	begin(worker, parts.part);
	printf("loop, an op elsewhere, an iteration\t%.4g\n", measure(worker) / 1000);
	end(worker);
	dfg_parts_release(&parts);
	dfg_facts_release(&facts);
	dfg_graph_release(&graph);
	dfg_arena_release(&scratch);
	dfg_arena_release(&arena);
}

/* A scalar to oneself, and back out. */
static void meet(void)
{
	enum { TIMES = 1000000 };
	struct dfg_rendezvous *rendezvous;
	struct dfg_tensor value, out;
	double time[RUNS];
	expect(dfg_rendezvous_new(
		&(struct dfg_rendezvous_options){.device = device, .workers = 1, .link = (struct dfg_link *[]){NULL}},
		&rendezvous));
	expect(dfg_tensor_new(DFG_F32, &DFG_SHAPE_SCALAR, &value));
	dfg_rendezvous_begin(rendezvous, 1);
	for (int run = 0; run < RUNS; run++) {
		double start = now();
		for (int i = 0; i < TIMES; i++) {
			struct dfg_wait wait = {.key = {.number = 1, .depth = 1, .iteration = {i}}};
			bool dead, there;
			expect(dfg_rendezvous_send(rendezvous, 0, &wait.key, &value));
			expect(dfg_rendezvous_receive(rendezvous, &wait, &out, &dead, &there));
			dfg_tensor_release(&out);
		}
		time[run] = (now() - start) / TIMES;
	}
	qsort(time, RUNS, sizeof *time, by_value);
	printf("value through a rendezvous\t%.4g\n", time[RUNS / 2]);
	dfg_tensor_release(&value);
	dfg_rendezvous_free(rendezvous);
}

int main(void)
{
	meet();
	loop();
	return 0;
}
