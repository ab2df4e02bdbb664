#define _GNU_SOURCE
#include "remote/launch.h"

#include "remote/launch_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct dfg_coordinator *dfg_launch_coordinator(struct dfg_launch *launch)
{
	return launch->coordinator;
}

void dfg_launch_reached(
	const struct dfg_launch *launch, uint32_t worker, enum dfg_launch_stage stage, const struct dfg_err *err)
{
	if (launch->options.reached)
		launch->options.reached(launch->options.say_arg, worker, stage, err ? err->text : NULL);
}

bool dfg_launch_only_memory(const struct dfg_launch *launch)
{
	return strcmp(launch->options.transport, "libcurl") != 0 && launch->all_local;
}

const char *dfg_launch_transport(const struct dfg_launch *launch, uint32_t one, uint32_t two)
{
	if (one == DFG_LAUNCHER || two == DFG_LAUNCHER)
		return dfg_launch_only_memory(launch) ? "shm" : "libcurl";
	bool same_host = dfg_launch_host(launch, one)->machine == dfg_launch_host(launch, two)->machine;
	bool near = *launch->peer[one].shm && *launch->peer[two].shm && same_host;
	return near && strcmp(launch->options.transport, "libcurl") ? "shm" : "libcurl";
}

static const char *transport_of(void *arg, uint32_t one, uint32_t two)
{
	return dfg_launch_transport(arg, one, two);
}

static void end_line(struct worker_process *worker_process)
{
	worker_process->line[worker_process->at] = '\0';
	worker_process->at = 0;
	snprintf(worker_process->last, sizeof worker_process->last, "%.*s", (int)sizeof worker_process->last - 1,
		worker_process->line);
	if (worker_process->launch->options.say)
		worker_process->launch->options.say(
			worker_process->launch->options.say_arg, worker_process->number, worker_process->line);
}

static void read_stderr(struct worker_process *worker_process, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '\n' || worker_process->at + 1 == LINE_MOST)
			end_line(worker_process);
		if (bytes[i] != '\n')
			worker_process->line[worker_process->at++] = bytes[i];
	}
}

/* Its stderr has ended, and so has the process. */
static void process_ended(struct worker_process *worker_process)
{
	char how[60] = "closed its stderr without ending";
	struct dfg_launch *launch = worker_process->launch;
	if (worker_process->at)
		end_line(worker_process);
	(void)dfg_process_wait(&worker_process->process, 1, how, sizeof how);
	for (uint32_t i = 0; i < launch->workers && !atomic_load(&launch->ending); i++)
		if (dfg_launch_process_of(launch, i) == worker_process->number)
			dfg_coordinator_ended(launch->coordinator, i,
				DFG_ERR(DFG_UNAVAILABLE, "%s%s%s%s", how, *worker_process->last ? " (" : "", worker_process->last,
					*worker_process->last ? ")" : ""));
	atomic_store(&worker_process->watched, false);
	dfg_event_signal(&worker_process->launch->ended);
}

/* A worker has been started again, whose stderr is to be watched too. */
static bool woken(const struct dfg_launch *launch)
{
	char byte;
	return read(launch->wake[0], &byte, 1) == 1;
}

static void *watch(void *arg)
{
	struct dfg_launch *launch = arg;
	struct pollfd *waiting = dfg_zeros((size_t)launch->workers + 1, sizeof *waiting);
	while (waiting) {
		waiting[launch->workers] = (struct pollfd){launch->wake[0], POLLIN, 0};
		for (uint32_t i = 0; i < launch->workers; i++)
			waiting[i] = (struct pollfd){
				launch->worker_process[i].watched ? launch->worker_process[i].process.err : -1, POLLIN, 0};
		if (poll(waiting, launch->workers + 1, -1) < 0 && errno != EINTR)
			break;
		if (waiting[launch->workers].revents && (atomic_load(&launch->ending) || !woken(launch)))
			break;
		for (uint32_t i = 0; i < launch->workers; i++) {
			char bytes[4096];
			ssize_t got = waiting[i].revents ? read(waiting[i].fd, bytes, sizeof bytes) : -1;
			if (got > 0)
				read_stderr(&launch->worker_process[i], bytes, (size_t)got);
			else if (got == 0)
				process_ended(&launch->worker_process[i]);
		}
	}
	dfg_free(waiting);
	return NULL;
}

static struct dfg_err *start_watch(struct dfg_launch *launch)
{
	if (pipe2(launch->wake, O_CLOEXEC))
		return DFG_ERR(DFG_MEMORY, "cannot create a pipe: %s", strerror(errno));
	for (uint32_t i = 0; i < launch->workers; i++)
		launch->worker_process[i].watched = dfg_launch_host(launch, i)->local &&
											!dfg_launch_host(launch, i)->attached &&
											dfg_launch_process_of(launch, i) == i;
	launch->watching = !pthread_create(&launch->watcher, NULL, watch, launch);
	return launch->watching ? NULL : DFG_ERR(DFG_MEMORY, "cannot start a thread");
}

static double seconds_until(uint64_t ns)
{
	uint64_t now = dfg_now();
	return now < ns ? (double)(ns - now) / 1e9 : 0;
}

double dfg_launch_seconds(const struct dfg_launch *launch, double most)
{
	double left = launch->deadline == UINT64_MAX ? most : seconds_until(launch->deadline);
	return left < most ? left : most;
}

/* Seconds for which a worker may be silent before all are linked; 0: the lease, because they are. */
static void set_patience(const struct dfg_launch *launch, double seconds)
{
	if (launch->http)
		dfg_http_links_set_patience(launch->http, (uint32_t)(seconds * 1000));
	if (launch->shm)
		dfg_shm_set_patience(launch->shm, (uint32_t)(seconds * 1000));
}

/* Takes err, of a failed link; the end of the worker's process, if it has ended, explains more. */
static struct dfg_err *not_linked(struct dfg_launch *launch, uint32_t worker, struct dfg_err *err)
{
	if (err->code == DFG_UNAVAILABLE) {
		dfg_coordinator_lost(launch->coordinator, worker, err);
		err = dfg_coordinator_why_lost(launch->coordinator);
	} else {
		err = dfg_err_note(dfg_launch_not_attached(launch, worker, err), "%s", launch->peer[worker].name);
	}
	dfg_launch_reached(launch, worker, DFG_LAUNCH_FAILED, err);
	return err;
}

/*
 * Waits until all links are established. A worker whose process ends is lost, and so is one that does not answer for
 * `patience` seconds in which no other one did.
 */
static struct dfg_err *await_links(struct dfg_launch *launch, double patience)
{
	const uint32_t look_ms = 50;
	double seconds = dfg_launch_seconds(launch, patience);
	uint64_t until = dfg_now() + (uint64_t)(seconds * 1e9);
	for (uint32_t i = 0; i < launch->workers;) {
		struct dfg_err *err = dfg_http_links_wait(launch->link[i], look_ms), *lost;
		if (!err) {
			i++;
			until = dfg_now() + (uint64_t)(seconds * 1e9);
			continue;
		}
		if (err->code != DFG_DEADLINE)
			return not_linked(launch, i, err);
		dfg_err_free(err);
		if ((lost = dfg_coordinator_why_lost(launch->coordinator)))
			return lost;
		if (dfg_now() >= until)
			return not_linked(
				launch, i, DFG_ERR(DFG_UNAVAILABLE, "silent for %.3g s while the launcher connected to it", seconds));
	}
	return NULL;
}

static struct dfg_err *link_memory(struct dfg_launch *launch, uint32_t i, double patience)
{
	uint32_t ms = (uint32_t)(dfg_launch_seconds(launch, patience) * 1000) + 1;
	struct dfg_err *err = dfg_shm_connect(launch->shm, i, launch->peer[i].shm, ms, &launch->link[i]);
	if (!err || err->code != DFG_DEADLINE)
		return err;
	dfg_err_free(err);
	return DFG_ERR(DFG_UNAVAILABLE, "silent for %.3g s while the launcher connected to it", ms / 1e3);
}

struct dfg_err *dfg_launch_link(struct dfg_launch *launch, uint32_t worker, double patience)
{
	const struct dfg_peer *peer = &launch->peer[worker];
	const char *key = *peer->fingerprint ? peer->fingerprint : NULL;
	return launch->shm ? link_memory(launch, worker, patience)
					   : dfg_http_links_connect(launch->http, worker, peer->address, key, &launch->link[worker]);
}

static struct dfg_err *link_all(struct dfg_launch *launch, double patience)
{
	struct dfg_link_sink sink = dfg_coordinator_sink(launch->coordinator);
	uint32_t lease_ms = (uint32_t)(dfg_worker_config_link_lease(launch->options.lease, launch->workers) * 1000);
	bool memory = dfg_launch_only_memory(launch);
	struct dfg_shm_options shm = {.self = DFG_LAUNCHER, .secret = launch->secret, .sink = sink, .lease_ms = lease_ms};
	struct dfg_http_links_options http = {
		.self = DFG_LAUNCHER, .secret = launch->secret, .sink = sink, .lease_ms = lease_ms};
	DFG_TRY(memory ? dfg_shm_new(&shm, &launch->shm) : dfg_http_links_new(&http, &launch->http));
	set_patience(launch, LINK_SECONDS + patience);
	for (uint32_t i = 0; i < launch->workers; i++) {
		dfg_launch_reached(launch, i, DFG_LAUNCH_LINKING, NULL);
		struct dfg_err *err = dfg_launch_link(launch, i, patience);
		if (err)
			return not_linked(launch, i, err);
	}
	return memory ? NULL : await_links(launch, patience);
}

static struct dfg_err *link_coordinator(struct dfg_launch *launch)
{
	const double connecting = 1; /* seconds; connecting takes some round trips */
	double patience = connecting + dfg_coordinator_patience(launch->options.lease, launch->workers);
	DFG_TRY(link_all(launch, patience));
	double seconds = dfg_launch_seconds(launch, LINK_SECONDS + patience);
	DFG_TRY(dfg_coordinator_begin(launch->coordinator, launch->link, seconds, transport_of, launch));
	set_patience(launch, 0);
	dfg_launch_warn_of_products(launch);
	return NULL;
}

static int share_of_threads(const struct dfg_launch *launch)
{
	int share = dfg_threads_allowed() / (int)launch->workers;
	return launch->options.session.threads || !launch->all_local ? launch->options.session.threads : share ? share : 1;
}

static struct dfg_err *take_secret(struct dfg_launch *launch)
{
	if (launch->options.ranks)
		memcpy(launch->secret, launch->options.ranks->secret, sizeof launch->secret);
	if (launch->options.ranks)
		return NULL;
	if (!launch->options.secret_file)
		return dfg_secret_make(launch->secret);
	DFG_TRY(dfg_secret_key_read(launch->options.secret_file, &launch->key));
	dfg_secret_key_run(&launch->key, launch->secret);
	return NULL;
}

static struct dfg_err *hire(struct dfg_launch *launch)
{
	struct dfg_coordinator_options coordinator = {.peer = launch->peer,
		.workers = launch->workers,
		.replicas = launch->options.replicas,
		.min_replicas = launch->options.min_replicas,
		.spmd = launch->options.spmd,
		.servers = launch->options.servers,
		.quorum = launch->options.quorum,
		.async = launch->options.async,
		.checks = launch->options.checks,
		.note = launch->options.note,
		.revive = launch->options.restarts && *launch->options.restarts > 0 ? dfg_launch_revive : NULL,
		.may_revive = dfg_launch_may_revive,
		.revived = dfg_launch_revived,
		.relink = dfg_launch_relink,
		.revive_arg = launch,
		.note_arg = launch->options.say_arg,
		.algorithm = launch->options.algorithm,
		.session = launch->options.session,
		.lease = launch->options.lease,
		.watched = true,
		.trace = launch->options.trace,
		.trace_arg = launch->options.trace_arg};
	coordinator.session.threads = share_of_threads(launch);
	DFG_TRY(take_secret(launch));
	DFG_TRY(dfg_coordinator_new(&coordinator, &launch->coordinator));
	DFG_TRY(dfg_launch_start(launch));
	DFG_TRY(start_watch(launch));
	return link_coordinator(launch);
}

/* Names the worker that was waited for at the deadline. */
static struct dfg_err *name_deadline(const struct dfg_launch *launch, struct dfg_err *err)
{
	if (!err || dfg_now() < launch->deadline || err->code == DFG_MEMORY || err->code == DFG_REFUSED)
		return err;
	struct dfg_err *late =
		DFG_ERR(DFG_DEADLINE, "the start of the workers took longer than %g s: %s", launch->options.timeout, err->text);
	dfg_err_free(err);
	return late;
}

static struct dfg_err *allocate(struct dfg_launch *launch)
{
	uint32_t workers = launch->workers = launch->options.hosts->count;
	launch->worker_process = dfg_arena_zeros(&launch->arena, workers, sizeof *launch->worker_process);
	launch->peer = dfg_arena_zeros(&launch->arena, workers, sizeof *launch->peer);
	launch->link = dfg_arena_zeros(&launch->arena, workers, sizeof(struct dfg_link *));
	if (!launch->worker_process || !launch->peer || !launch->link)
		return dfg_no_memory("the worker processes");
	launch->all_local = true;
	for (uint32_t i = 0; i < workers; i++) {
		launch->all_local &= dfg_launch_host(launch, i)->local;
		launch->worker_process[i].launch = launch;
		launch->worker_process[i].number = i;
		launch->peer[i] =
			(struct dfg_peer){dfg_launch_host(launch, i)->name, dfg_launch_host(launch, i)->device, "", "", "", ""};
	}
	return NULL;
}

struct dfg_err *dfg_launch_new(const struct dfg_launch_options *options, struct dfg_launch **out_launch)
{
	struct dfg_launch *launch = dfg_zeros(1, sizeof *launch);
	if (!launch || pthread_mutex_init(&launch->lock, NULL)) {
		dfg_free(launch);
		return dfg_no_memory("the worker processes");
	}
	launch->options = *options;
	double timeout = options->timeout < 1e9 ? options->timeout : 1e9;
	launch->deadline = timeout > 0 ? dfg_now() + (uint64_t)(timeout * 1e9) : UINT64_MAX;
	struct dfg_err *err = allocate(launch);
	if (!err)
		err = name_deadline(launch, hire(launch));
	if (err)
		dfg_launch_free(launch);
	else
		*out_launch = launch;
	return err;
}

static void stop_watch(struct dfg_launch *launch)
{
	if (launch->watching) {
		(void)!write(launch->wake[1], "", 1);
		pthread_join(launch->watcher, NULL);
	}
	if (launch->wake[1]) {
		close(launch->wake[0]);
		close(launch->wake[1]);
	}
}

static bool is_gone(const struct dfg_launch *launch, uint32_t worker)
{
	return launch->coordinator && dfg_coordinator_has_lost(launch->coordinator, worker);
}

/* Lost workers are ended by force, the others were told to end: all have the same few seconds. */
static void end_processes(struct dfg_launch *launch)
{
	uint64_t until = dfg_now() + (uint64_t)END_SECONDS * 1000000000;
	uint32_t workers = launch->worker_process ? launch->workers : 0;
	struct dfg_ssh_end end;
	for (uint32_t i = 0; i < workers; i++)
		if (is_gone(launch, i))
			dfg_ssh_process_force(launch->worker_process[i].far);
	for (uint32_t i = 0; i < workers; i++) {
		struct worker_process *worker_process = &launch->worker_process[i];
		dfg_process_end(&worker_process->process, is_gone(launch, i) ? 0 : seconds_until(until));
		if (worker_process->far && !is_gone(launch, i) &&
			!dfg_ssh_process_wait(worker_process->far, seconds_until(until), &end))
			dfg_ssh_process_force(worker_process->far);
		if (dfg_launch_host(launch, i)->attached && launch->link && launch->link[i])
			dfg_launch_await_end(launch, i, until);
	}
	for (uint32_t i = 0; i < workers; i++)
		dfg_ssh_process_free(launch->worker_process[i].far);
}

void dfg_launch_free(struct dfg_launch *launch)
{
	if (!launch)
		return;
	atomic_store(&launch->ending, true);
	dfg_launch_end_revivals(launch);
	if (launch->coordinator)
		dfg_coordinator_end(launch->coordinator);
	for (uint32_t i = 0; launch->worker_process && i < launch->workers; i++)
		if (launch->worker_process[i].far)
			dfg_ssh_process_close_stdin(launch->worker_process[i].far);
		else if (launch->worker_process[i].process.out)
			dfg_process_close_stdin(&launch->worker_process[i].process);
	stop_watch(launch);
	end_processes(launch);
	for (uint32_t i = 0; launch->link && i < launch->workers; i++)
		if (launch->link[i])
			launch->link[i]->kind->close(launch->link[i]);
	dfg_shm_free(launch->shm);
	dfg_http_links_free(launch->http);
	dfg_coordinator_free(launch->coordinator);
	dfg_arena_release(&launch->arena);
	pthread_mutex_destroy(&launch->lock);
	explicit_bzero(launch->secret, sizeof launch->secret);
	explicit_bzero(&launch->key, sizeof launch->key);
	dfg_free(launch);
}
