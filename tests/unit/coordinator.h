#pragma once

#include "tests/unit/program.h"

#include "lib/exec/transport/link_memory.h"
#include "lib/pass/verify/verify.h"
#include "remote/control.h"
#include "remote/coordinator.h"
#include "remote/worker.h"

#include <pthread.h>

/* A coordinator whose workers are threads of this process. */
enum { WORKERS_MOST = 4 };

struct coordinator_test {
	struct program program; /* without a session of its own */
	struct dfg_facts facts;
	struct dfg_parts parts;
	struct dfg_peer peer[WORKERS_MOST];
	const char *device[WORKERS_MOST];
	struct dfg_coordinator *coordinator;
	uint32_t workers;
	struct worker_thread {
		struct coordinator_test *test;
		struct dfg_worker *worker;
		pthread_t id;
		struct dfg_link *to[WORKERS_MOST], *launcher;
		bool orphaned;
		_Atomic uint32_t asked[DFG_PACKET_PONG + 1]; /* how often, by what */
		_Atomic uint32_t dies_at;                    /* it is gone as soon as it is asked this; 0: never */
		pthread_t killer;
	} thread[WORKERS_MOST];
	struct dfg_link *link[WORKERS_MOST]; /* of the launcher */
	struct dfg_session *session;
};

static struct dfg_err *coordinator_connect(
	void *arg, const struct dfg_worker_config *config, struct dfg_link **out_link)
{
	struct worker_thread *thread = arg;
	for (uint32_t i = 0; i < config->workers; i++) {
		out_link[i] = thread->to[i];
		assert_string_equal(config->peer[i].transport, i == config->self ? "" : "memory");
	}
	return NULL;
}

static void coordinator_orphaned(void *arg, enum dfg_code code, const char *why)
{
	(void)code, (void)why;
	((struct worker_thread *)arg)->orphaned = true;
}

static const char *coordinator_transport(void *arg, uint32_t one, uint32_t two)
{
	(void)arg, (void)one, (void)two;
	return "memory";
}

static void *coordinator_work(void *arg)
{
	struct worker_thread *thread = arg;
	dfg_err_free(dfg_worker_run(thread->worker, thread->launcher));
	return NULL;
}

/* As when its process is killed: it answers no more, and the launcher hears that its link is closed. */
static void *coordinator_kill(void *arg)
{
	struct worker_thread *thread = arg;
	thread->launcher->kind->close(thread->launcher);
	return NULL;
}

static void coordinator_deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct worker_thread *thread = arg;
	uint32_t what = message->kind == DFG_MESSAGE_CONTROL ? message->key.number : 0;
	struct dfg_link_sink worker = dfg_worker_sink(thread->worker);
	if (what && what <= DFG_PACKET_PONG)
		atomic_fetch_add(&thread->asked[what], 1);
	if (!what || what != atomic_load(&thread->dies_at)) {
		worker.deliver(worker.arg, peer, message);
		return;
	}
	dfg_tensor_release(&message->tensor);
	assert_int_equal(pthread_create(&thread->killer, NULL, coordinator_kill, thread), 0);
}

static struct dfg_err *coordinator_allocate(
	void *arg, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	struct dfg_link_sink worker = dfg_worker_sink(((struct worker_thread *)arg)->worker);
	return worker.allocate(worker.arg, dtype, shape, out_tensor);
}

static void coordinator_lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	struct dfg_link_sink worker = dfg_worker_sink(((struct worker_thread *)arg)->worker);
	worker.lost(worker.arg, peer, err);
}

static void coordinator_add_worker(struct coordinator_test *test, uint32_t i)
{
	static const char *const name[] = {"w0", "w1", "w2", "w3"};
	static const char *const device[] = {"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0",
		"/job:worker/task:2/device:CPU:0", "/job:worker/task:3/device:CPU:0"};
	struct worker_thread *thread = &test->thread[i];
	struct dfg_worker_options options = {.arg = thread, .reach = coordinator_connect, .orphaned = coordinator_orphaned};
	thread->test = test;
	succeeds(dfg_worker_new(&options, &thread->worker));
	test->peer[i] = (struct dfg_peer){name[i], device[i], "", "", "", ""};
	test->device[i] = device[i];
	struct dfg_link_sink ours = dfg_coordinator_sink(test->coordinator), theirs = dfg_worker_sink(thread->worker);
	struct dfg_link_sink watched = {
		.arg = thread, .deliver = coordinator_deliver, .lost = coordinator_lost, .allocate = coordinator_allocate};
	succeeds(dfg_link_memory_pair(&ours, i, &watched, DFG_LAUNCHER, &test->link[i], &thread->launcher));
	for (uint32_t k = 0; k < i; k++) {
		struct dfg_link_sink other = dfg_worker_sink(test->thread[k].worker);
		succeeds(dfg_link_memory_pair(&theirs, k, &other, i, &thread->to[k], &test->thread[k].to[i]));
	}
	assert_int_equal(pthread_create(&thread->id, NULL, coordinator_work, thread), 0);
}

/* "fc*=w1", an option a word: what no option names goes to w0. */
static void coordinator_cut(struct coordinator_test *test, const char *words)
{
	struct dfg_placed *placed;
	struct dfg_place_request request[16] = {{.pattern = "*", .text = "*=w0"}};
	struct dfg_place_options place = {
		.device = test->device, .devices = test->workers, .request = request, .requests = 1};
	char *copy = dfg_arena_copy(&test->program.arena, words, strlen(words));
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
		char *equals = strchr(word, '=');
		*equals = '\0';
		request[place.requests] = (struct dfg_place_request){.pattern = word, .text = word};
		succeeds(dfg_place_device(equals + 1, test->device, test->workers, &request[place.requests++].device));
	}
	test->facts.arena = &test->program.arena;
	succeeds(dfg_verify(&test->program.graph, NULL, &test->facts));
	succeeds(dfg_place(&test->program.graph, &test->facts, &place, &test->program.arena, &placed));
	succeeds(dfg_partition(&test->program.graph, &test->facts, placed, &place, &test->program.arena, &test->parts));
}

static void coordinator_begin(struct coordinator_test *test, uint32_t workers, const char *text, const char *words,
	const struct dfg_coordinator_options *more)
{
	const struct dfg_lang_options lang = {.grad = dfg_grad_edges, .text = text, .length = strlen(text)};
	struct dfg_coordinator_options options = more ? *more : (struct dfg_coordinator_options){.session.threads = 1};
	*test = (struct coordinator_test){.workers = workers};
	dfg_graph_init(&test->program.graph, &test->program.arena);
	succeeds(dfg_lang_build("test.dfg", &lang, &test->program.graph));
	options.peer = test->peer;
	options.workers = workers;
	succeeds(dfg_coordinator_new(&options, &test->coordinator));
	for (uint32_t i = 0; i < workers; i++)
		coordinator_add_worker(test, i);
	coordinator_cut(test, words);
	succeeds(dfg_coordinator_begin(test->coordinator, test->link, 20, coordinator_transport, NULL));
	succeeds(dfg_coordinator_load(test->coordinator, &test->program.graph, &test->parts));
	struct dfg_session_options session = {.backend = dfg_coordinator_backend(test->coordinator)};
	succeeds(dfg_session_new(&test->program.graph, &session, &test->session));
	test->program.session = test->session;
}

static void coordinator_end(struct coordinator_test *test)
{
	dfg_coordinator_end(test->coordinator);
	for (uint32_t i = 0; i < test->workers; i++)
		pthread_join(test->thread[i].id, NULL);
	for (uint32_t i = 0; i < test->workers; i++) {
		struct worker_thread *thread = &test->thread[i];
		if (test->link[i])
			test->link[i]->kind->close(test->link[i]);
		if (thread->launcher)
			thread->launcher->kind->close(thread->launcher);
		for (uint32_t k = 0; k < test->workers; k++)
			if (thread->to[k])
				thread->to[k]->kind->close(thread->to[k]);
	}
	for (uint32_t i = 0; i < test->workers; i++)
		dfg_worker_free(test->thread[i].worker);
	dfg_coordinator_free(test->coordinator);
	dfg_parts_release(&test->parts);
	dfg_facts_release(&test->facts);
	program_end(&test->program);
}
