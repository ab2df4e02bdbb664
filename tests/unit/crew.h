#pragma once

#include "tests/unit/program.h"

#include "lib/exec/transport/link_memory.h"
#include "lib/pass/verify/verify.h"
#include "remote/control.h"
#include "remote/coordinator.h"
#include "remote/worker.h"

#include <pthread.h>

/* A crew of workers that are threads of this process. */
enum { CREW_MOST = 4 };

struct crew_test {
	struct program program; /* without a session of its own */
	struct dfg_facts facts;
	struct dfg_parts parts;
	struct dfg_peer peer[CREW_MOST];
	const char *device[CREW_MOST];
	struct dfg_coordinator *crew;
	uint32_t workers;
	struct crew_hand {
		struct crew_test *test;
		struct dfg_worker *worker;
		pthread_t thread;
		struct dfg_link *to[CREW_MOST], *launcher;
		bool orphaned;
		_Atomic uint32_t asked[DFG_PACKET_PONG + 1]; /* how often, by what */
		_Atomic uint32_t dies_at;                    /* it is gone as soon as it is asked this; 0: never */
		pthread_t killer;
	} hand[CREW_MOST];
	struct dfg_link *link[CREW_MOST]; /* of the launcher */
	struct dfg_session *session;
};

static struct dfg_err *crew_connect(void *arg, const struct dfg_worker_config *setup, struct dfg_link **out_link)
{
	struct crew_hand *hand = arg;
	for (uint32_t i = 0; i < setup->workers; i++) {
		out_link[i] = hand->to[i];
		assert_string_equal(setup->peer[i].transport, i == setup->self ? "" : "memory");
	}
	return NULL;
}

static void crew_orphaned(void *arg, enum dfg_code code, const char *why)
{
	(void)code, (void)why;
	((struct crew_hand *)arg)->orphaned = true;
}

static const char *crew_transport(void *arg, uint32_t one, uint32_t two)
{
	(void)arg, (void)one, (void)two;
	return "memory";
}

static void *crew_work(void *arg)
{
	struct crew_hand *hand = arg;
	dfg_err_free(dfg_worker_run(hand->worker, hand->launcher));
	return NULL;
}

/* As when its process is killed: it answers no more, and the launcher hears that its link is closed. */
static void *crew_kill(void *arg)
{
	struct crew_hand *hand = arg;
	hand->launcher->kind->close(hand->launcher);
	return NULL;
}

static void crew_deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct crew_hand *hand = arg;
	uint32_t what = message->kind == DFG_MESSAGE_CONTROL ? message->key.number : 0;
	struct dfg_link_sink worker = dfg_worker_sink(hand->worker);
	if (what && what <= DFG_PACKET_PONG)
		atomic_fetch_add(&hand->asked[what], 1);
	if (!what || what != atomic_load(&hand->dies_at)) {
		worker.deliver(worker.arg, peer, message);
		return;
	}
	dfg_tensor_release(&message->tensor);
	assert_int_equal(pthread_create(&hand->killer, NULL, crew_kill, hand), 0);
}

static struct dfg_err *crew_room(
	void *arg, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor)
{
	struct dfg_link_sink worker = dfg_worker_sink(((struct crew_hand *)arg)->worker);
	return worker.room(worker.arg, dtype, shape, out_tensor);
}

static void crew_lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	struct dfg_link_sink worker = dfg_worker_sink(((struct crew_hand *)arg)->worker);
	worker.lost(worker.arg, peer, err);
}

static void crew_hire(struct crew_test *test, uint32_t i)
{
	static const char *const name[] = {"w0", "w1", "w2", "w3"};
	static const char *const device[] = {"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0",
		"/job:worker/task:2/device:CPU:0", "/job:worker/task:3/device:CPU:0"};
	struct crew_hand *hand = &test->hand[i];
	struct dfg_worker_options options = {.arg = hand, .reach = crew_connect, .orphaned = crew_orphaned};
	hand->test = test;
	succeeds(dfg_worker_new(&options, &hand->worker));
	test->peer[i] = (struct dfg_peer){name[i], device[i], "", "", "", ""};
	test->device[i] = device[i];
	struct dfg_link_sink ours = dfg_coordinator_sink(test->crew), theirs = dfg_worker_sink(hand->worker);
	struct dfg_link_sink watched = {.arg = hand, .deliver = crew_deliver, .lost = crew_lost, .room = crew_room};
	succeeds(dfg_link_memory_pair(&ours, i, &watched, DFG_LAUNCHER, &test->link[i], &hand->launcher));
	for (uint32_t k = 0; k < i; k++) {
		struct dfg_link_sink other = dfg_worker_sink(test->hand[k].worker);
		succeeds(dfg_link_memory_pair(&theirs, k, &other, i, &hand->to[k], &test->hand[k].to[i]));
	}
	assert_int_equal(pthread_create(&hand->thread, NULL, crew_work, hand), 0);
}

/* "fc*=w1", an option a word: what no option names goes to w0. */
static void crew_cut(struct crew_test *test, const char *words)
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

static void crew_begin(struct crew_test *test, uint32_t workers, const char *text, const char *words,
	const struct dfg_coordinator_options *more)
{
	const struct dfg_lang_options lang = {.grad = dfg_grad_edges, .text = text, .length = strlen(text)};
	struct dfg_coordinator_options options = more ? *more : (struct dfg_coordinator_options){.session.threads = 1};
	*test = (struct crew_test){.workers = workers};
	dfg_graph_init(&test->program.graph, &test->program.arena);
	succeeds(dfg_lang_build("test.dfg", &lang, &test->program.graph));
	options.peer = test->peer;
	options.workers = workers;
	succeeds(dfg_coordinator_new(&options, &test->crew));
	for (uint32_t i = 0; i < workers; i++)
		crew_hire(test, i);
	crew_cut(test, words);
	succeeds(dfg_coordinator_begin(test->crew, test->link, 20, crew_transport, NULL));
	succeeds(dfg_coordinator_load(test->crew, &test->program.graph, &test->parts));
	struct dfg_session_options session = {.backend = dfg_coordinator_backend(test->crew)};
	succeeds(dfg_session_new(&test->program.graph, &session, &test->session));
	test->program.session = test->session;
}

static void crew_end(struct crew_test *test)
{
	dfg_coordinator_end(test->crew);
	for (uint32_t i = 0; i < test->workers; i++)
		pthread_join(test->hand[i].thread, NULL);
	for (uint32_t i = 0; i < test->workers; i++) {
		struct crew_hand *hand = &test->hand[i];
		if (test->link[i])
			test->link[i]->kind->close(test->link[i]);
		if (hand->launcher)
			hand->launcher->kind->close(hand->launcher);
		for (uint32_t k = 0; k < test->workers; k++)
			if (hand->to[k])
				hand->to[k]->kind->close(hand->to[k]);
	}
	for (uint32_t i = 0; i < test->workers; i++)
		dfg_worker_free(test->hand[i].worker);
	dfg_coordinator_free(test->crew);
	dfg_parts_release(&test->parts);
	dfg_facts_release(&test->facts);
	program_end(&test->program);
}
