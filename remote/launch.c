#define _GNU_SOURCE
#include "remote/launch.h"

#include "formats/json.h"
#include "lib/base/io.h"
#include "lib/base/pool.h"
#include "lib/exec/plan.h"
#include "remote/hub.h"
#include "remote/process.h"
#include "remote/shm.h"
#include "remote/ssh.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_MOST = 1000, START_SECONDS = 20, END_SECONDS = 3 };

/* A worker's process, and what it said. */
struct hand {
	struct dfg_launch *launch;
	uint32_t number;
	struct dfg_process process;  /* here, or */
	struct dfg_ssh_process *far; /* elsewhere */
	char line[LINE_MOST];        /* of its stderr, as far as it has come */
	size_t at;
	char last[200]; /* the last whole one */
	bool watched;
	pthread_t starter;
	bool starting;
	struct dfg_err *err; /* why it did not start */
};

struct dfg_launch {
	struct dfg_launch_options options;
	struct dfg_arena arena;
	pthread_mutex_t lock; /* of the arena, while workers start */
	char secret[DFG_SECRET_ROOM];
	struct dfg_crew *crew;
	struct dfg_hub *hub;
	struct dfg_shm *shm;
	struct hand *hand; /* by worker, as the rest */
	struct dfg_peer *peer;
	struct dfg_link **link;
	uint32_t workers;
	pthread_t watcher;
	int wake[2]; /* a pipe that ends the watcher */
	bool watching;
	atomic_bool ending;
};

struct dfg_crew *dfg_launch_crew(struct dfg_launch *launch)
{
	return launch->crew;
}

static const struct dfg_worker_host *host(const struct dfg_launch *launch, uint32_t number)
{
	return &launch->options.hosts->worker[number];
}

static bool all_local(const struct dfg_launch *launch)
{
	for (uint32_t i = 0; i < launch->workers; i++)
		if (!host(launch, i)->local)
			return false;
	return true;
}

/* Where all are processes here, nothing of the network is opened. */
static bool only_memory(const struct dfg_launch *launch)
{
	return strcmp(launch->options.transport, "libcurl") != 0 && all_local(launch);
}

const char *dfg_launch_transport(const struct dfg_launch *launch, uint32_t one, uint32_t two)
{
	if (one == DFG_LAUNCHER || two == DFG_LAUNCHER)
		return only_memory(launch) ? "shm" : "libcurl";
	bool same_host = host(launch, one)->machine == host(launch, two)->machine;
	bool near = *launch->peer[one].shm && *launch->peer[two].shm && same_host;
	return near && strcmp(launch->options.transport, "libcurl") ? "shm" : "libcurl";
}

static const char *transport_of(void *arg, uint32_t one, uint32_t two)
{
	return dfg_launch_transport(arg, one, two);
}

static const char *keep(struct dfg_launch *launch, const char *text)
{
	pthread_mutex_lock(&launch->lock);
	const char *copy = dfg_arena_copy(&launch->arena, text, strlen(text));
	pthread_mutex_unlock(&launch->lock);
	return copy;
}

static const char *word(const struct dfg_json *json, const char *key)
{
	const struct dfg_json *value = dfg_json_get(json, key);
	return value && value->kind == DFG_JSON_STRING ? value->string : "";
}

/* {"dfg": VERSION, "address": "127.0.0.1:41234", "fingerprint": "sha256:..", "shm": ".."} */
static struct dfg_err *read_hello(struct dfg_launch *launch, uint32_t number, const char *line)
{
	struct dfg_arena arena = {0};
	struct dfg_json *json;
	struct dfg_peer *peer = &launch->peer[number];
	struct dfg_err *err = dfg_json_read(line, strlen(line), &arena, &json);
	if (err || strcmp(word(json, "dfg"), DFG_VERSION)) {
		const char *version = err ? "" : keep(launch, word(json, "dfg"));
		dfg_err_free(err);
		err = version && *version ? DFG_ERR(DFG_PROTOCOL, "dfg %s is there, this is %s", version, DFG_VERSION)
								  : DFG_ERR(DFG_PROTOCOL, "says something else than a worker does");
	} else {
		peer->address = keep(launch, word(json, "address"));
		peer->fingerprint = keep(launch, word(json, "fingerprint"));
		peer->shm = keep(launch, word(json, "shm"));
		if (!peer->address || !peer->fingerprint || !peer->shm)
			err = DFG_ERR(DFG_MEMORY, "out of memory");
	}
	dfg_arena_release(&arena);
	return err;
}

/* What a worker is told on its command line: nothing that is secret. */
enum { ARGUMENTS = 20 };
struct numbers {
	char number[20], lease[40], limit[40];
};
static void put_arguments(const struct hand *hand, const char *transport, const char *address, struct numbers *numbers,
	const char *argument[ARGUMENTS])
{
	const struct dfg_launch_options *options = &hand->launch->options;
	snprintf(numbers->number, sizeof numbers->number, "%u", hand->number);
	snprintf(numbers->lease, sizeof numbers->lease, "%g", options->lease);
	snprintf(numbers->limit, sizeof numbers->limit, "%llu", (unsigned long long)options->memory_limit);
	const char *all[ARGUMENTS] = {"serve", "--worker", "--number", numbers->number, "--transport", transport, "--lease",
		numbers->lease, "--memory-limit", numbers->limit, "--listen", address};
	memcpy(argument, all, sizeof all);
}

static struct dfg_err *start_local(struct hand *hand)
{
	struct dfg_launch *launch = hand->launch;
	char line[4096];
	const char *argument[ARGUMENTS];
	struct numbers numbers;
	put_arguments(hand, only_memory(launch) ? "shm" : launch->options.transport,
		all_local(launch) ? "127.0.0.1" : "0.0.0.0", &numbers, argument);
	DFG_TRY(dfg_process_start(host(launch, hand->number)->dfg, argument, &hand->process));
	DFG_TRY(dfg_fs_write_all(hand->process.in, "a worker's stdin", launch->secret, strlen(launch->secret)));
	DFG_TRY(dfg_fs_write_all(hand->process.in, "a worker's stdin", "\n", 1));
	DFG_TRY(dfg_process_hello(&hand->process, START_SECONDS, line, sizeof line));
	return read_hello(launch, hand->number, line);
}

static void say_far(void *arg, const struct dfg_worker_host *of, const char *line)
{
	const struct dfg_launch *launch = arg;
	if (launch->options.say)
		launch->options.say(launch->options.say_arg, (uint32_t)(of - launch->options.hosts->worker), line);
}

static struct dfg_err *end_of(const struct dfg_ssh_end *end)
{
	char how[60];
	if (end->lost)
		snprintf(how, sizeof how, "the SSH connection is lost");
	else if (*end->signal)
		snprintf(how, sizeof how, "ended by signal %s", end->signal);
	else
		snprintf(how, sizeof how, "exited with status %d", end->status);
	const char *last = end->last_line;
	return DFG_ERR(DFG_UNAVAILABLE, "%s%s%s%s", how, *last ? " (" : "", last, *last ? ")" : "");
}

static void ended_far(void *arg, const struct dfg_worker_host *of, const struct dfg_ssh_end *end)
{
	struct dfg_launch *launch = arg;
	if (!atomic_load(&launch->ending))
		dfg_crew_ended(launch->crew, (uint32_t)(of - launch->options.hosts->worker), end_of(end));
}

/* It listens on all of its addresses, with a key; the others reach it where ssh did, or where the list says. */
static struct dfg_err *find_address(struct hand *hand)
{
	struct dfg_launch *launch = hand->launch;
	struct dfg_peer *peer = &launch->peer[hand->number];
	const char *at = dfg_ssh_process_address(hand->far), *port = strrchr(peer->address, ':');
	char address[300];
	if (!port || !*peer->fingerprint)
		return DFG_ERR(DFG_PROTOCOL, "does not say where it listens, and with which key");
	snprintf(address, sizeof address, strchr(at, ':') ? "[%s]%s" : "%s%s", at, port);
	peer->address = keep(launch, address);
	return peer->address ? NULL : DFG_ERR(DFG_MEMORY, "out of memory");
}

static struct dfg_err *start_far(struct hand *hand)
{
	struct dfg_launch *launch = hand->launch;
	const struct dfg_worker_host *at = host(launch, hand->number);
	struct dfg_ssh_options options = {.config = launch->options.ssh_config,
		.seconds = START_SECONDS,
		.push = launch->options.push,
		.say = say_far,
		.ended = ended_far,
		.arg = launch};
	const char *argument[ARGUMENTS];
	struct numbers numbers;
	const char *address = at->ssh && strchr(at->ssh, ':') ? "[::]" : "0.0.0.0";
	put_arguments(hand, launch->options.transport, address, &numbers, argument);
	DFG_TRY(dfg_ssh_start(at, &options, argument, launch->secret, &hand->far));
	struct dfg_err *err = read_hello(launch, hand->number, dfg_ssh_process_hello(hand->far));
	if (!err)
		err = find_address(hand);
	return dfg_err_note(err, "%s", at->name);
}

static void *start(void *arg)
{
	struct hand *hand = arg;
	sigset_t pipe_;
	sigemptyset(&pipe_);
	sigaddset(&pipe_, SIGPIPE); /* a worker that ends before it is told the secret is an error like others */
	pthread_sigmask(SIG_BLOCK, &pipe_, NULL);
	const struct dfg_launch_options *options = &hand->launch->options;
	uint64_t began = dfg_now();
	if (host(hand->launch, hand->number)->local)
		hand->err = dfg_err_note(start_local(hand), "%s", hand->launch->peer[hand->number].name);
	else
		hand->err = start_far(hand);
	if (!hand->err && options->ready)
		options->ready(options->say_arg, hand->number, (double)(dfg_now() - began) / 1e9);
	return NULL;
}

/* The address of ours from which the kernel would send to that one. */
static struct dfg_err *address_towards(const char *far, char *out, size_t room)
{
	char host_[200];
	struct addrinfo wanted = {.ai_socktype = SOCK_DGRAM}, *found;
	struct sockaddr_storage here;
	socklen_t size = sizeof here;
	snprintf(
		host_, sizeof host_, "%.*s", (int)strcspn(far + (*far == '['), *far == '[' ? "]" : ":"), far + (*far == '['));
	if (getaddrinfo(host_, "9", &wanted, &found))
		return DFG_ERR(DFG_UNAVAILABLE, "no address of this machine that %s could reach", host_);
	int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int failed = fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) ||
				 getsockname(fd, (struct sockaddr *)&here, &size) ||
				 getnameinfo((struct sockaddr *)&here, size, host_, sizeof host_, NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(found);
	if (fd >= 0)
		close(fd);
	snprintf(out, room, strchr(host_, ':') ? "[%s]" : "%s", host_);
	return failed ? DFG_ERR(DFG_UNAVAILABLE, "no address of this machine that %s could reach", far) : NULL;
}

/* Workers of this machine among others: reached from there as this machine reaches them. */
static struct dfg_err *publish_local(struct dfg_launch *launch)
{
	char here[210] = "", address[300];
	for (uint32_t i = 0; i < launch->workers && !*here; i++)
		if (!host(launch, i)->local)
			DFG_TRY(address_towards(launch->peer[i].address, here, sizeof here));
	for (uint32_t i = 0; i < launch->workers && *here; i++) {
		const char *port = strrchr(launch->peer[i].address, ':');
		if (!host(launch, i)->local || !port)
			continue;
		snprintf(address, sizeof address, "%s%s", here, port);
		if (!(launch->peer[i].address = keep(launch, address)))
			return DFG_ERR(DFG_MEMORY, "out of memory");
	}
	return NULL;
}

/* All at once; who has not started is the error. */
static struct dfg_err *start_all(struct dfg_launch *launch)
{
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < launch->workers; i++) {
		struct hand *hand = &launch->hand[i];
		hand->starting = !pthread_create(&hand->starter, NULL, start, hand);
		if (!hand->starting)
			hand->err = DFG_ERR(DFG_MEMORY, "no more threads");
	}
	for (uint32_t i = 0; i < launch->workers; i++) {
		struct hand *hand = &launch->hand[i];
		if (hand->starting)
			pthread_join(hand->starter, NULL);
		err = dfg_err_join(err, hand->err);
		hand->err = NULL;
	}
	return err ? err : publish_local(launch);
}

static void say_line(struct hand *hand)
{
	hand->line[hand->at] = '\0';
	hand->at = 0;
	snprintf(hand->last, sizeof hand->last, "%.*s", (int)sizeof hand->last - 1, hand->line);
	if (hand->launch->options.say)
		hand->launch->options.say(hand->launch->options.say_arg, hand->number, hand->line);
}

static void hear(struct hand *hand, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '\n' || hand->at + 1 == LINE_MOST)
			say_line(hand);
		if (bytes[i] != '\n')
			hand->line[hand->at++] = bytes[i];
	}
}

/* Its stderr has ended, and so has it. */
static void mourn(struct hand *hand)
{
	char how[60] = "closed its stderr";
	if (hand->at)
		say_line(hand);
	(void)dfg_process_wait(&hand->process, 1, how, sizeof how);
	hand->watched = false;
	if (!atomic_load(&hand->launch->ending))
		dfg_crew_ended(hand->launch->crew, hand->number,
			DFG_ERR(DFG_UNAVAILABLE, "%s%s%s%s", how, *hand->last ? " (" : "", hand->last, *hand->last ? ")" : ""));
}

static void *watch(void *arg)
{
	struct dfg_launch *launch = arg;
	struct pollfd *waiting = dfg_zeros((size_t)launch->workers + 1, sizeof *waiting);
	while (waiting) {
		waiting[launch->workers] = (struct pollfd){launch->wake[0], POLLIN, 0};
		for (uint32_t i = 0; i < launch->workers; i++)
			waiting[i] = (struct pollfd){launch->hand[i].watched ? launch->hand[i].process.err : -1, POLLIN, 0};
		if (poll(waiting, launch->workers + 1, -1) < 0 && errno != EINTR)
			break;
		if (waiting[launch->workers].revents)
			break;
		for (uint32_t i = 0; i < launch->workers; i++) {
			char bytes[4096];
			ssize_t got = waiting[i].revents ? read(waiting[i].fd, bytes, sizeof bytes) : -1;
			if (got > 0)
				hear(&launch->hand[i], bytes, (size_t)got);
			else if (got == 0)
				mourn(&launch->hand[i]);
		}
	}
	dfg_free(waiting);
	return NULL;
}

static struct dfg_err *start_watch(struct dfg_launch *launch)
{
	if (pipe2(launch->wake, O_CLOEXEC))
		return DFG_ERR(DFG_MEMORY, "no pipe: %s", strerror(errno));
	for (uint32_t i = 0; i < launch->workers; i++)
		launch->hand[i].watched = host(launch, i)->local;
	launch->watching = !pthread_create(&launch->watcher, NULL, watch, launch);
	return launch->watching ? NULL : DFG_ERR(DFG_MEMORY, "no more threads");
}

static struct dfg_err *link_all(struct dfg_launch *launch)
{
	const uint32_t ms = START_SECONDS * 1000;
	struct dfg_link_sink sink = dfg_crew_sink(launch->crew);
	bool memory = only_memory(launch);
	struct dfg_shm_options shm = {.self = DFG_LAUNCHER, .secret = launch->secret, .sink = sink};
	struct dfg_hub_options hub = {.self = DFG_LAUNCHER,
		.secret = launch->secret,
		.sink = sink,
		.lease_ms = (uint32_t)(launch->options.lease * 1000)};
	DFG_TRY(memory ? dfg_shm_new(&shm, &launch->shm) : dfg_hub_new(&hub, &launch->hub));
	for (uint32_t i = 0; i < launch->workers; i++) {
		const struct dfg_peer *peer = &launch->peer[i];
		const char *key = *peer->fingerprint ? peer->fingerprint : NULL;
		struct dfg_err *err = memory ? dfg_shm_connect(launch->shm, i, peer->shm, ms, &launch->link[i])
									 : dfg_hub_connect(launch->hub, i, peer->address, key, &launch->link[i]);
		DFG_TRY(dfg_err_note(err, "%s", peer->name));
	}
	for (uint32_t i = 0; i < launch->workers && !memory; i++)
		DFG_TRY(dfg_err_note(dfg_hub_wait(launch->link[i], ms), "%s", launch->peer[i].name));
	return NULL;
}

static int share_of_threads(const struct dfg_launch *launch)
{
	int share = dfg_threads_allowed() / (int)launch->workers;
	return launch->options.session.threads || !all_local(launch) ? launch->options.session.threads : share ? share : 1;
}

static struct dfg_err *hire(struct dfg_launch *launch)
{
	struct dfg_crew_options crew = {.peer = launch->peer,
		.workers = launch->workers,
		.session = launch->options.session,
		.lease = launch->options.lease,
		.watched = true,
		.trace = launch->options.trace,
		.trace_arg = launch->options.trace_arg};
	crew.session.threads = share_of_threads(launch);
	DFG_TRY(dfg_secret_make(launch->secret));
	DFG_TRY(dfg_crew_new(&crew, &launch->crew));
	DFG_TRY(start_all(launch));
	DFG_TRY(start_watch(launch));
	DFG_TRY(link_all(launch));
	return dfg_crew_begin(launch->crew, launch->link, transport_of, launch);
}

static struct dfg_err *take_room(struct dfg_launch *launch)
{
	uint32_t workers = launch->workers = launch->options.hosts->count;
	launch->hand = dfg_arena_zeros(&launch->arena, workers, sizeof *launch->hand);
	launch->peer = dfg_arena_zeros(&launch->arena, workers, sizeof *launch->peer);
	launch->link = dfg_arena_zeros(&launch->arena, workers, sizeof(struct dfg_link *));
	if (!launch->hand || !launch->peer || !launch->link)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	for (uint32_t i = 0; i < workers; i++) {
		launch->hand[i].launch = launch;
		launch->hand[i].number = i;
		launch->peer[i] = (struct dfg_peer){host(launch, i)->name, host(launch, i)->device, "", "", "", ""};
	}
	return NULL;
}

struct dfg_err *dfg_launch_new(const struct dfg_launch_options *options, struct dfg_launch **out_launch)
{
	struct dfg_launch *launch = dfg_zeros(1, sizeof *launch);
	if (!launch || pthread_mutex_init(&launch->lock, NULL)) {
		dfg_free(launch);
		return DFG_ERR(DFG_MEMORY, "out of memory");
	}
	launch->options = *options;
	struct dfg_err *err = take_room(launch);
	if (!err)
		err = hire(launch);
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

void dfg_launch_free(struct dfg_launch *launch)
{
	if (!launch)
		return;
	atomic_store(&launch->ending, true);
	if (launch->crew)
		dfg_crew_end(launch->crew);
	for (uint32_t i = 0; launch->hand && i < launch->workers; i++)
		if (launch->hand[i].far)
			dfg_ssh_process_close_stdin(launch->hand[i].far);
		else if (launch->hand[i].process.out)
			dfg_process_close_stdin(&launch->hand[i].process);
	stop_watch(launch);
	for (uint32_t i = 0; launch->hand && i < launch->workers; i++) {
		bool gone = launch->crew && dfg_crew_has_lost(launch->crew, i);
		struct dfg_ssh_end end;
		dfg_process_end(&launch->hand[i].process, gone ? 0 : END_SECONDS);
		if (launch->hand[i].far && !gone)
			(void)dfg_ssh_process_wait(launch->hand[i].far, END_SECONDS, &end);
		dfg_ssh_process_free(launch->hand[i].far);
	}
	for (uint32_t i = 0; launch->link && i < launch->workers; i++)
		if (launch->link[i])
			launch->link[i]->kind->close(launch->link[i]);
	dfg_shm_free(launch->shm);
	dfg_hub_free(launch->hub);
	dfg_crew_free(launch->crew);
	dfg_arena_release(&launch->arena);
	pthread_mutex_destroy(&launch->lock);
	dfg_free(launch);
}
