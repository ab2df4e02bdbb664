#include "app/serving/serving_private.h"

#include "app/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * /trace?steps=N answers with a trace of the next N steps. They run as they do otherwise, from the same plans. The thread of
 * a request for a trace waits for them; a step that is still running when its time is over keeps the recorder.
 */
static const char protocol[] = "trace";

enum { STEPS_MOST = 1000, BYTES_MOST = 64 << 20, LOOK_NS = 250000000 };

struct dfg_serving_recorder {
	struct dfg_serving *serving;
	struct dfg_web_request *request;
	const struct dfg_served *only;         /* NULL: steps of all models */
	int64_t wanted, begun, ended, holders; /* guarded by the lock of `serving`; holders: those that refer to this */
	uint64_t until_ns;
	pthread_mutex_t lock; /* guards the rest */
	bool is_closed;
	struct dfg_trace *trace;
	struct dfg_text text;
};

/* With the lock of `serving` held. */
static void let_go(struct dfg_serving_recorder *recorder)
{
	if (--recorder->holders)
		return;
	dfg_trace_free(recorder->trace);
	dfg_text_release(&recorder->text);
	pthread_mutex_destroy(&recorder->lock);
	dfg_free(recorder);
}

struct dfg_serving_traced dfg_serving_trace_begin(const struct dfg_serving_job *jobs)
{
	struct dfg_serving *serving = jobs->served->serving;
	struct dfg_serving_traced traced = {0};
	char name[200];
	size_t count = 0;
	if (!atomic_load_explicit(&serving->is_traced, memory_order_relaxed))
		return traced;
	for (const struct dfg_serving_job *job = jobs; job; job = job->next)
		count++;
	pthread_mutex_lock(&serving->lock);
	struct dfg_serving_recorder *recorder = serving->recorder;
	if (recorder && recorder->begun < recorder->wanted && (!recorder->only || recorder->only == jobs->served)) {
		traced = (struct dfg_serving_traced){recorder, (uint32_t)recorder->begun++};
		recorder->holders++;
	}
	pthread_mutex_unlock(&serving->lock);
	if (traced.recorder) {
		snprintf(name, sizeof name, "step %u of %.150s: %zu request%s", traced.number, jobs->served->name, count,
			count == 1 ? "" : "s");
		pthread_mutex_lock(&traced.recorder->lock);
		if (!traced.recorder->is_closed)
			dfg_trace_name(traced.recorder->trace, (int)traced.number, name);
		pthread_mutex_unlock(&traced.recorder->lock);
	}
	return traced;
}

void dfg_serving_trace_event(void *arg, const struct dfg_trace_event *event)
{
	const struct dfg_serving_traced *traced = arg;
	const struct dfg_coordinator_event all = {.worker = traced->number, .node = *event};
	pthread_mutex_lock(&traced->recorder->lock);
	if (!traced->recorder->is_closed)
		dfg_trace_worker_event(traced->recorder->trace, &all);
	pthread_mutex_unlock(&traced->recorder->lock);
}

void dfg_serving_trace_end(struct dfg_serving_traced *traced)
{
	if (!traced->recorder)
		return;
	struct dfg_serving *serving = traced->recorder->serving;
	pthread_mutex_lock(&serving->lock);
	traced->recorder->ended++;
	let_go(traced->recorder);
	pthread_cond_broadcast(&serving->traced);
	pthread_mutex_unlock(&serving->lock);
}

/* Returns the number of steps that have ended. */
static int64_t wait_for_steps(struct dfg_serving_recorder *recorder)
{
	struct dfg_serving *serving = recorder->serving;
	pthread_mutex_lock(&serving->lock);
	while (recorder->ended < recorder->wanted && dfg_now() < recorder->until_ns &&
		   !atomic_load(&recorder->request->gone_ns) && !atomic_load(&serving->draining)) {
		uint64_t look = dfg_now() + LOOK_NS, until = look < recorder->until_ns ? look : recorder->until_ns;
		const struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
		pthread_cond_timedwait(&serving->traced, &serving->lock, &at);
	}
	int64_t ended = recorder->ended;
	atomic_store(&serving->is_traced, false);
	pthread_mutex_unlock(&serving->lock);
	return ended;
}

static struct dfg_err *close_trace(struct dfg_serving_recorder *recorder, struct dfg_text *out)
{
	pthread_mutex_lock(&recorder->lock);
	struct dfg_err *err = dfg_trace_end(recorder->trace);
	recorder->is_closed = true;
	*out = recorder->text;
	recorder->text = (struct dfg_text){0};
	pthread_mutex_unlock(&recorder->lock);
	return err;
}

static void answer(struct dfg_serving_recorder *recorder, int64_t ended)
{
	struct dfg_served *other = &recorder->serving->other;
	struct dfg_web_answer all = {.status = 200, .type = "application/json"};
	struct dfg_err *err = close_trace(recorder, &all.body);
	if (err || ended < recorder->wanted)
		dfg_text_release(&all.body);
	if (err)
		dfg_serving_error(other, recorder->request, protocol, dfg_job_status(err), "%s", err->text);
	else if (ended < recorder->wanted && atomic_load(&recorder->serving->draining))
		dfg_serving_error(other, recorder->request, protocol, 503, "the server is shutting down");
	else if (ended < recorder->wanted)
		dfg_serving_error(other, recorder->request, protocol, 504,
			"%lld of %lld steps ended before the deadline; ask for fewer, or for more time with X-Timeout",
			(long long)ended, (long long)recorder->wanted);
	else
		dfg_serving_reply(other, recorder->request, protocol, &all);
	dfg_err_free(err);
}

static void *record(void *arg)
{
	struct dfg_serving_recorder *recorder = arg;
	struct dfg_serving *serving = recorder->serving;
	answer(recorder, wait_for_steps(recorder));
	pthread_mutex_lock(&serving->lock);
	serving->recorder = NULL;
	let_go(recorder);
	pthread_cond_broadcast(&serving->traced);
	pthread_mutex_unlock(&serving->lock);
	return NULL;
}

/* NULL: refused. */
static struct dfg_serving_recorder *new_recorder(
	struct dfg_serving *serving, struct dfg_web_request *request, int64_t steps, uint64_t ns)
{
	struct dfg_serving_recorder *recorder = dfg_zeros(1, sizeof *recorder);
	struct dfg_err *err =
		recorder ? dfg_trace_new_memory(&recorder->text, BYTES_MOST, &recorder->trace) : dfg_no_memory("the trace");
	if (err) {
		dfg_serving_error(&serving->other, request, protocol, 503, "%s", err->text);
		dfg_err_free(err);
		dfg_free(recorder);
		return NULL;
	}
	recorder->serving = serving;
	recorder->request = request;
	recorder->wanted = steps;
	recorder->until_ns = dfg_now() + ns;
	recorder->holders = 1;
	pthread_mutex_init(&recorder->lock, NULL);
	return recorder;
}

static void start(struct dfg_serving_recorder *recorder)
{
	struct dfg_serving *serving = recorder->serving;
	pthread_t thread;
	int status = 429;
	pthread_mutex_lock(&serving->lock);
	if (!serving->recorder) {
		serving->recorder = recorder;
		atomic_store(&serving->is_traced, true);
		status = pthread_create(&thread, NULL, record, recorder) ? 503 : 0;
		if (!status)
			pthread_detach(thread);
		else
			serving->recorder = NULL;
	}
	struct dfg_web_request *request = recorder->request;
	if (status)
		let_go(recorder);
	pthread_mutex_unlock(&serving->lock);
	if (status)
		dfg_serving_error(&serving->other, request, protocol, status,
			status == 429 ? "a trace is being recorded already" : "cannot start a thread for the trace");
}

/* The number of steps of the query, or 0. */
static int64_t steps_of(struct dfg_arena *arena, const char *query)
{
	const char *text = dfg_url_parameter(arena, query, "steps");
	char *end;
	long long steps = text && *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0;
	return steps >= 1 && steps <= STEPS_MOST && !*end ? steps : 0;
}

void dfg_serving_trace(struct dfg_serving *serving, struct dfg_web_request *request)
{
	struct dfg_arena arena = {0};
	int64_t steps = steps_of(&arena, request->query);
	const char *model = dfg_url_parameter(&arena, request->query, "model");
	struct dfg_served *only = model ? dfg_serving_find(serving, model) : NULL;
	uint64_t ns = 0;
	struct dfg_serving_recorder *recorder = NULL;
	if (strcmp(request->method, "GET") != 0)
		dfg_serving_error(&serving->other, request, protocol, 405, "the method of /trace must be GET");
	else if (model && !only)
		dfg_serving_refuse_model(serving, request, protocol, model, strlen(model));
	else if (!steps)
		dfg_serving_error(&serving->other, request, protocol, 400,
			"steps=N must be a number from 1 to %d: /trace records the next N steps of all models, or with &model=NAME "
			"of one",
			STEPS_MOST);
	else if (!dfg_serving_timeout(request, &ns))
		dfg_serving_error(&serving->other, request, protocol, 400, DFG_SERVING_TIMEOUT_RULE);
	else
		recorder = new_recorder(serving, request, steps, ns ? ns : (uint64_t)(serving->options.timeout * 1e9));
	dfg_arena_release(&arena);
	if (recorder) {
		recorder->only = only;
		start(recorder);
	}
}

void dfg_serving_trace_stop(struct dfg_serving *serving)
{
	pthread_mutex_lock(&serving->lock);
	while (serving->recorder || serving->draws)
		pthread_cond_wait(&serving->traced, &serving->lock);
	pthread_mutex_unlock(&serving->lock);
}
