#include "remote/device_workers.h"

#include "lib/base/pool.h"
#include "lib/exec/transport/link_memory.h"
#include "remote/worker.h"

#include <pthread.h>

enum { LINK_SECONDS = 40 };

struct device_worker {
	struct dfg_device_workers *workers;
	struct dfg_device *device; /* NULL: the host's */
	struct dfg_worker *worker;
	struct dfg_link **to; /* by worker */
	struct dfg_link *launcher;
	pthread_t thread;
	bool started;
};

struct dfg_device_workers {
	struct dfg_device_workers_options options;
	struct dfg_arena arena;
	struct dfg_coordinator *coordinator;
	struct dfg_peer *peer;
	struct dfg_link **link; /* the coordinator's */
	struct device_worker *worker;
	uint32_t count;
	bool begun; /* all are linked, and told to end by the coordinator */
};

static struct dfg_err *reach_peers(void *arg, const struct dfg_worker_config *config, struct dfg_link **out_link)
{
	const struct device_worker *self = arg;
	for (uint32_t i = 0; i < config->workers; i++)
		out_link[i] = self->to[i];
	return NULL;
}

/* The launcher is this process. */
static void launcher_lost(void *arg, enum dfg_code code, const char *why)
{
	(void)arg, (void)code, (void)why;
}

static const char *transport_of(void *arg, uint32_t one, uint32_t two)
{
	(void)arg, (void)one, (void)two;
	return "memory";
}

static void *run_worker(void *arg)
{
	struct device_worker *self = arg;
	struct dfg_err *err = dfg_worker_run(self->worker, self->launcher);
	if (err) /* it ends without having been told to: the coordinator must not wait for it */
		dfg_coordinator_ended(self->workers->coordinator, (uint32_t)(self - self->workers->worker), err);
	return NULL;
}

/* Links worker i to the coordinator and to the workers before it. */
static struct dfg_err *link_worker(struct dfg_device_workers *workers, uint32_t i)
{
	struct device_worker *self = &workers->worker[i];
	struct dfg_link_sink ours = dfg_coordinator_sink(workers->coordinator), theirs = dfg_worker_sink(self->worker);
	DFG_TRY(dfg_link_memory_pair(&ours, i, &theirs, DFG_LAUNCHER, &workers->link[i], &self->launcher));
	for (uint32_t k = 0; k < i; k++) {
		struct dfg_link_sink other = dfg_worker_sink(workers->worker[k].worker);
		DFG_TRY(dfg_link_memory_pair(&theirs, k, &other, i, &self->to[k], &workers->worker[k].to[i]));
	}
	return NULL;
}

static struct dfg_err *start_worker(struct dfg_device_workers *workers, uint32_t i)
{
	struct device_worker *self = &workers->worker[i];
	const struct dfg_device_workers_options *options = &workers->options;
	self->workers = workers;
	self->to = dfg_arena_zeros(&workers->arena, workers->count, sizeof(struct dfg_link *));
	if (!self->to)
		return dfg_no_memory("the workers of devices");
	workers->peer[i] = (struct dfg_peer){options->name[i], options->device[i], "", "", "", ""};
	const struct dfg_worker_options own = {
		.arg = self, .reach = reach_peers, .orphaned = launcher_lost, .device = self->device};
	DFG_TRY(dfg_worker_new(&own, &self->worker));
	DFG_TRY(link_worker(workers, i));
	self->started = !pthread_create(&self->thread, NULL, run_worker, self);
	return self->started ? NULL : dfg_no_memory("the thread of a worker");
}

static struct dfg_err *start_all(struct dfg_device_workers *workers)
{
	const struct dfg_device_workers_options *options = &workers->options;
	workers->peer = dfg_arena_zeros(&workers->arena, workers->count, sizeof *workers->peer);
	workers->link = dfg_arena_zeros(&workers->arena, workers->count, sizeof(struct dfg_link *));
	workers->worker = dfg_arena_zeros(&workers->arena, workers->count, sizeof *workers->worker);
	if (!workers->peer || !workers->link || !workers->worker)
		return dfg_no_memory("the workers of devices");
	for (uint32_t i = 0; i < options->devices; i++)
		DFG_TRY(dfg_device_open(
			options->provider, options->index[i], options->session.denormals, &workers->worker[i + 1].device));
	const struct dfg_coordinator_options coordinator = {.peer = workers->peer,
		.workers = workers->count,
		.session = options->session,
		.trace = options->trace,
		.trace_arg = options->trace_arg};
	DFG_TRY(dfg_coordinator_new(&coordinator, &workers->coordinator));
	for (uint32_t i = 0; i < workers->count; i++)
		DFG_TRY(start_worker(workers, i));
	workers->begun = true;
	return dfg_coordinator_begin(workers->coordinator, workers->link, LINK_SECONDS, transport_of, NULL);
}

struct dfg_err *dfg_device_workers_new(
	const struct dfg_device_workers_options *options, struct dfg_device_workers **out_workers)
{
	struct dfg_device_workers *workers = dfg_zeros(1, sizeof *workers);
	if (!workers)
		return dfg_no_memory("the workers of devices");
	workers->options = *options;
	workers->count = options->devices + 1;
	struct dfg_err *err = start_all(workers);
	if (err)
		dfg_device_workers_free(workers);
	else
		*out_workers = workers;
	return err;
}

static void close_link(struct dfg_link *link)
{
	if (link)
		link->kind->close(link);
}

/* A worker that was not linked ends when its launcher is lost. */
static void end_threads(struct dfg_device_workers *workers)
{
	if (workers->begun)
		dfg_coordinator_end(workers->coordinator);
	for (uint32_t i = 0; i < workers->count; i++) {
		if (!workers->begun)
			close_link(workers->link[i]);
		if (workers->worker[i].started)
			pthread_join(workers->worker[i].thread, NULL);
	}
	for (uint32_t i = 0; i < workers->count; i++) {
		if (workers->begun)
			close_link(workers->link[i]);
		close_link(workers->worker[i].launcher);
		for (uint32_t k = 0; workers->worker[i].to && k < workers->count; k++)
			close_link(workers->worker[i].to[k]);
	}
}

void dfg_device_workers_free(struct dfg_device_workers *workers)
{
	if (!workers)
		return;
	if (workers->worker)
		end_threads(workers);
	for (uint32_t i = 0; workers->worker && i < workers->count; i++)
		dfg_worker_free(workers->worker[i].worker);
	for (uint32_t i = 0; workers->worker && i < workers->count; i++)
		dfg_device_close(workers->worker[i].device);
	dfg_coordinator_free(workers->coordinator);
	dfg_arena_release(&workers->arena);
	dfg_free(workers);
}

struct dfg_coordinator *dfg_device_workers_coordinator(struct dfg_device_workers *workers)
{
	return workers->coordinator;
}

struct dfg_device_counts dfg_device_workers_counts(const struct dfg_device_workers *workers, uint32_t i)
{
	return dfg_device_counts(workers->worker[i + 1].device);
}
