#include "remote/launch_private.h"

#include "formats/json.h"
#include "lib/base/build_id.h"
#include "lib/base/io.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const char *dfg_launch_copy_text(struct dfg_launch *launch, const char *text)
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

/*
 * The unexpected line is shown: mostly a login shell's .bashrc printed it. The secret is never shown, even if it is
 * echoed.
 */
static struct dfg_err *no_hello(const struct dfg_launch *launch, const char *line)
{
	const size_t most = 80;
	struct dfg_text shown = {0};
	if (strstr(line, launch->secret))
		return DFG_ERR(DFG_PROTOCOL, "printed the secret that it was sent, expected the first line of a dfg worker");
	dfg_text_escape(&shown, line, strlen(line), most);
	struct dfg_err *err =
		DFG_ERR(DFG_PROTOCOL, "printed '%s', expected the first line of a dfg worker", shown.s ? shown.s : "");
	dfg_text_release(&shown);
	return err;
}

static struct dfg_err *read_addresses(struct dfg_launch *launch, uint32_t number, const struct dfg_json *json)
{
	struct dfg_peer *peer = &launch->peer[number];
	peer->address = dfg_launch_copy_text(launch, word(json, "address"));
	peer->fingerprint = dfg_launch_copy_text(launch, word(json, "fingerprint"));
	peer->shm = dfg_launch_copy_text(launch, word(json, "shm"));
	return peer->address && peer->fingerprint && peer->shm ? NULL : dfg_no_memory("the addresses of a worker");
}

/* The process is several workers: "lanes": [{"address": "127.0.0.1:41235", "fingerprint": "sha256:..", "shm": ".."}, ..] */
static struct dfg_err *read_lanes(struct dfg_launch *launch, uint32_t number, const struct dfg_json *json)
{
	const struct dfg_host_lanes *lanes = &dfg_launch_host(launch, number)->lanes;
	const struct dfg_json *list = dfg_json_get(json, "lanes"), *lane = list ? list->first : NULL;
	for (uint32_t i = 1; i < lanes->count; i++, lane = lane->next) {
		if (!lane)
			return DFG_ERR(DFG_PROTOCOL, "reported the addresses of %u workers, expected %u", i, lanes->count);
		DFG_TRY(read_addresses(launch, number + i * lanes->stride, lane));
	}
	return NULL;
}

/* {"dfg": VERSION, "build": "x86_64-..", "address": "127.0.0.1:41234", "fingerprint": "sha256:..", "shm": "..", "products": "fma"} */
struct dfg_err *dfg_launch_read_hello(struct dfg_launch *launch, uint32_t number, const char *line)
{
	struct dfg_arena arena = {0};
	struct dfg_json *json;
	struct dfg_err *err = dfg_json_read(line, strlen(line), &arena, &json);
	const char *version = err ? "" : word(json, "dfg");
	if (err && err->code != DFG_MEMORY) {
		dfg_err_free(err);
		err = NULL;
	}
	if (!err && !*version) {
		err = no_hello(launch, line);
	} else if (!err && strcmp(version, DFG_VERSION)) {
		err = DFG_ERR(DFG_PROTOCOL, "runs dfg %s, but this is dfg %s", version, DFG_VERSION);
	} else if (!err && !(err = dfg_build_check(word(json, "build")))) {
		snprintf(launch->worker_process[number].products, sizeof launch->worker_process[number].products, "%s",
			word(json, "products"));
		err = read_addresses(launch, number, json);
		if (!err)
			err = read_lanes(launch, number, json);
	}
	dfg_arena_release(&arena);
	return err;
}

/* The worker's command line, which contains no secret. */
enum { ARGUMENTS = 24, HELLO_MOST = 1 << 18 /* of as many lanes as there may be workers */ };

/* Seconds until the slowest host has started: workers that are ready wait for it. */
#define WAIT "120"
#define WAIT_PUSHED "900"
struct numbers {
	char number[20], lease[40], limit[40], lanes[20], stride[20];
};
static void put_arguments(const struct worker_process *worker_process, const char *transport, const char *address,
	struct numbers *numbers, const char *argument[ARGUMENTS])
{
	const struct dfg_launch_options *options = &worker_process->launch->options;
	const struct dfg_host_lanes *host = &dfg_launch_host(worker_process->launch, worker_process->number)->lanes;
	int at = 0;
	snprintf(numbers->lanes, sizeof numbers->lanes, "%u", host->count);
	snprintf(numbers->stride, sizeof numbers->stride, "%u", host->stride);
	snprintf(numbers->number, sizeof numbers->number, "%u", worker_process->number);
	snprintf(numbers->lease, sizeof numbers->lease, "%g", options->lease);
	snprintf(numbers->limit, sizeof numbers->limit, "%llu", (unsigned long long)options->memory_limit);
	const char *all[ARGUMENTS] = {"serve", "--worker", "--number", numbers->number, "--transport", transport, "--lease",
		numbers->lease, "--wait", options->push ? WAIT_PUSHED : WAIT, "--listen", address};
	while (all[at])
		at++;
	if (options->memory_limit) {
		all[at++] = "--memory-limit";
		all[at++] = numbers->limit;
	}
	if (host->count) {
		all[at++] = "--lanes";
		all[at++] = numbers->lanes;
		all[at++] = "--stride";
		all[at++] = numbers->stride;
	}
	memcpy(argument, all, sizeof all);
}

/* --listen of the worker: an address of the hosts file or this one, and the ports. */
static void put_listen(const struct dfg_worker_host *host, const char *otherwise, char *out, size_t capacity)
{
	const char *colon = host->ports ? ":" : "", *ports = host->ports ? host->ports : "";
	if (host->tcp)
		snprintf(out, capacity, strchr(host->tcp, ':') ? "[%s]%s%s" : "%s%s%s", host->tcp, colon, ports);
	else
		snprintf(out, capacity, "%s%s%s", otherwise, colon, ports);
}

static struct dfg_err *start_local(struct worker_process *worker_process)
{
	char listen_[300];
	struct dfg_launch *launch = worker_process->launch;
	char line[HELLO_MOST];
	const char *argument[ARGUMENTS];
	struct numbers numbers;
	put_listen(dfg_launch_host(launch, worker_process->number), launch->all_local ? "127.0.0.1" : "0.0.0.0", listen_,
		sizeof listen_);
	put_arguments(worker_process, dfg_launch_only_memory(launch) ? "shm" : launch->options.transport, listen_, &numbers,
		argument);
	DFG_TRY(
		dfg_process_start(dfg_launch_host(launch, worker_process->number)->dfg, argument, &worker_process->process));
	/* A worker that has ended already does not read it: its end is reported in place of its hello. */
	dfg_err_free(
		dfg_fs_write_all(worker_process->process.in, "a worker's stdin", launch->secret, strlen(launch->secret)));
	dfg_err_free(dfg_fs_write_all(worker_process->process.in, "a worker's stdin", "\n", 1));
	DFG_TRY(dfg_process_hello(&worker_process->process, dfg_launch_seconds(launch, START_SECONDS), line, sizeof line));
	return dfg_launch_read_hello(launch, worker_process->number, line);
}

static void say_far(void *arg, const struct dfg_worker_host *of, const char *line)
{
	const struct dfg_launch *launch = arg;
	if (launch->options.say)
		launch->options.say(launch->options.say_arg, (uint32_t)(of - launch->options.hosts->worker), line);
}

static void sent_far(void *arg, const struct dfg_worker_host *of, bool pushing)
{
	const struct dfg_launch *launch = arg;
	dfg_launch_reached(launch, (uint32_t)(of - launch->options.hosts->worker),
		pushing ? DFG_LAUNCH_PUSHING : DFG_LAUNCH_STARTING, NULL);
}

static void ended_far(void *arg, const struct dfg_worker_host *of, const struct dfg_ssh_end *end)
{
	struct dfg_launch *launch = arg;
	if (!atomic_load(&launch->ending))
		dfg_coordinator_ended(
			launch->coordinator, (uint32_t)(of - launch->options.hosts->worker), dfg_ssh_end_error(end));
}

/*
 * It listens on all of its addresses, with a key; the others connect to the address that ssh used, or to the one in the
 * list.
 */
static struct dfg_err *find_address(struct worker_process *worker_process, uint32_t number)
{
	struct dfg_launch *launch = worker_process->launch;
	struct dfg_peer *peer = &launch->peer[number];
	const struct dfg_worker_host *host = dfg_launch_host(launch, worker_process->number);
	bool listens_there = host->tcp && !host->addr && strcmp(host->tcp, "0.0.0.0") && strcmp(host->tcp, "::");
	const char *at = listens_there ? host->tcp : dfg_ssh_process_address(worker_process->far),
			   *port = strrchr(peer->address, ':');
	char address[300];
	if (!port || !*peer->fingerprint)
		return DFG_ERR(DFG_PROTOCOL, "did not report the address on which it listens, or the fingerprint of its key");
	snprintf(address, sizeof address, strchr(at, ':') ? "[%s]%s" : "%s%s", at, port);
	peer->address = dfg_launch_copy_text(launch, address);
	return peer->address ? NULL : dfg_no_memory("the addresses of a worker");
}

static struct dfg_err *start_far(struct worker_process *worker_process)
{
	struct dfg_launch *launch = worker_process->launch;
	const struct dfg_worker_host *at = dfg_launch_host(launch, worker_process->number);
	struct dfg_ssh_options options = {.config = launch->options.ssh_config,
		.seconds = dfg_launch_seconds(launch, START_SECONDS),
		.deadline = launch->deadline,
		.push = launch->options.push,
		.say = say_far,
		.starts = sent_far,
		.ended = ended_far,
		.arg = launch};
	const char *argument[ARGUMENTS];
	struct numbers numbers;
	char address[300];
	put_listen(at, at->ssh && strchr(at->ssh, ':') ? "[::]" : "0.0.0.0", address, sizeof address);
	put_arguments(worker_process, launch->options.transport, address, &numbers, argument);
	DFG_TRY(dfg_ssh_start(at, &options, argument, launch->secret, &worker_process->far));
	struct dfg_err *err =
		dfg_launch_read_hello(launch, worker_process->number, dfg_ssh_process_hello(worker_process->far));
	for (uint32_t i = 0; i < launch->workers && !err; i++)
		if (dfg_launch_process_of(launch, i) == worker_process->number)
			err = find_address(worker_process, i);
	return dfg_err_note(err, "%s", at->name);
}

struct dfg_err *dfg_launch_start_worker(struct worker_process *worker_process)
{
	struct dfg_launch *launch = worker_process->launch;
	bool local = dfg_launch_host(launch, worker_process->number)->local;
	dfg_launch_reached(launch, worker_process->number, local ? DFG_LAUNCH_STARTING : DFG_LAUNCH_CONNECTING, NULL);
	if (dfg_launch_host(launch, worker_process->number)->attached)
		return dfg_launch_attach(launch, worker_process->number);
	return local ? dfg_err_note(start_local(worker_process), "%s", launch->peer[worker_process->number].name)
				 : start_far(worker_process);
}

static void *start(void *arg)
{
	struct worker_process *worker_process = arg;
	sigset_t pipe_;
	sigemptyset(&pipe_);
	/* a worker that ends before it reads the secret is an error like others, without SIGPIPE */
	sigaddset(&pipe_, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_, NULL);
	worker_process->err = dfg_launch_start_worker(worker_process);
	if (worker_process->err)
		dfg_launch_reached(worker_process->launch, worker_process->number, DFG_LAUNCH_FAILED, worker_process->err);
	return NULL;
}

/* The local address from which the kernel would send to `far`. */
static struct dfg_err *address_towards(const char *far, char *out, size_t capacity)
{
	char host_[200];
	struct addrinfo wanted = {.ai_socktype = SOCK_DGRAM}, *found;
	struct sockaddr_storage here;
	socklen_t size = sizeof here;
	snprintf(
		host_, sizeof host_, "%.*s", (int)strcspn(far + (*far == '['), *far == '[' ? "]" : ":"), far + (*far == '['));
	if (getaddrinfo(host_, "9", &wanted, &found))
		return DFG_ERR(DFG_UNAVAILABLE, "this machine has no address that %s can reach", host_);
	int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int failed = fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) ||
				 getsockname(fd, (struct sockaddr *)&here, &size) ||
				 getnameinfo((struct sockaddr *)&here, size, host_, sizeof host_, NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(found);
	if (fd >= 0)
		close(fd);
	snprintf(out, capacity, strchr(host_, ':') ? "[%s]" : "%s", host_);
	return failed ? DFG_ERR(DFG_UNAVAILABLE, "this machine has no address that %s can reach", far) : NULL;
}

/*
 * Workers of this machine in a run with other machines: the others reach them at this machine's address towards them.
 */
struct dfg_err *dfg_launch_publish_local(struct dfg_launch *launch)
{
	char here[210] = "", address[300];
	for (uint32_t i = 0; i < launch->workers && !*here; i++)
		if (!dfg_launch_host(launch, i)->local)
			DFG_TRY(address_towards(launch->peer[i].address, here, sizeof here));
	for (uint32_t i = 0; i < launch->workers && *here; i++) {
		const char *port = strrchr(launch->peer[i].address, ':');
		if (!dfg_launch_host(launch, i)->local || !port)
			continue;
		snprintf(address, sizeof address, "%s%s", here, port);
		if (!(launch->peer[i].address = dfg_launch_copy_text(launch, address)))
			return dfg_no_memory("the addresses of a worker");
	}
	return NULL;
}

/* From its line of output, or, if it was started by someone else, from its first answer. */
static const char *products_of(const struct dfg_launch *launch, uint32_t number)
{
	const char *said = launch->worker_process[number].products;
	return *said ? said : dfg_coordinator_products(launch->coordinator, number);
}

/* Workers whose products are rounded differently give results that depend on the placement. */
void dfg_launch_warn_of_products(const struct dfg_launch *launch)
{
	char line[120];
	const char *first = products_of(launch, 0);
	for (uint32_t i = 1; i < launch->workers && launch->options.say; i++) {
		const char *products = products_of(launch, i);
		if (!*first || !*products || !strcmp(first, products))
			continue;
		snprintf(line, sizeof line,
			"warning: matrix products are rounded by '%s' here, but by '%s' on %s: results depend on the host",
			products, first, launch->options.hosts->worker[0].label);
		launch->options.say(launch->options.say_arg, i, line);
	}
}

struct dfg_err *dfg_launch_start(struct dfg_launch *launch)
{
	struct dfg_err *err = NULL;
	uint32_t short_of = 0; /* failures of memory, threads or descriptors, reported as one */
	for (uint32_t i = 0; i < launch->workers; i++) {
		struct worker_process *worker_process = &launch->worker_process[i];
		if (dfg_launch_process_of(launch, i) != i)
			continue;
		worker_process->starting = !pthread_create(&worker_process->starter, NULL, start, worker_process);
		if (!worker_process->starting)
			worker_process->err = DFG_ERR(DFG_MEMORY, "cannot start a thread");
	}
	for (uint32_t i = 0; i < launch->workers; i++) {
		struct worker_process *worker_process = &launch->worker_process[i];
		if (worker_process->starting)
			pthread_join(worker_process->starter, NULL);
		if (worker_process->err && worker_process->err->code == DFG_MEMORY && short_of++)
			dfg_err_free(worker_process->err);
		else
			err = dfg_err_join(err, worker_process->err);
		worker_process->err = NULL;
	}
	if (short_of > 1)
		err = dfg_err_note(err, "%u of %u workers could not be started", short_of, launch->workers);
	return err ? err : dfg_launch_publish_local(launch);
}
