#include "cmd/serve.h"

#include "cmd/shared_options.h"
#include "cmd/watchdog.h"
#include "formats/json.h"
#include "kernels/gemm/gemm.h"
#include "lib/base/io.h"
#include "lib/base/mem.h"
#include "lib/base/pool.h"
#include "remote/hosts.h"
#include "remote/http_links.h"
#include "remote/shm.h"
#include "remote/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A worker of this process; more than one are the lanes of a parameter server. */
struct serving {
	struct dfg_worker *worker;
	uint32_t number;
	pthread_t thread;
	bool runs;           /* on a thread of its own */
	struct dfg_err *err; /* the result of that thread */
	struct dfg_http_links *http;
	struct dfg_shm *shm;
	const char *secret;
	struct dfg_link *launcher, **link;
	uint32_t links;
};

static int64_t first_number, lanes = 1, stride = 1;
static double lease = 3, patience = 60;
static const char *transport = "auto", *address = "127.0.0.1";

const struct dfg_opt dfg_serve_worker_options[] = {
	{"number", .takes = "N", .number = &first_number, .help = "The number of the worker in the run (0)."},
	{"lanes", .takes = "R", .number = &lanes, .least = 1,
		.help = "Be R workers that share their variables, as a parameter server is for R replicas (1)."},
	{"stride", .takes = "N", .number = &stride, .least = 1,
		.help = "The difference between the numbers of two such workers (1)."},
	{"listen", .takes = "ADDRESS", .text = &address,
		.help = "Listen on this address (127.0.0.1); TLS is required unless it is a loopback address."},
	{"transport", .takes = "NAME", .text = &transport,
		.help = "How peers reach this worker: libcurl, shm (same machine only), or auto for both."},
	{"wait", .takes = "SECONDS", .real = &patience, .help = "End if no launcher connects within SECONDS (60)."},
	{"lease", .takes = "SECONDS", .real = &lease, .help = "End if the launcher is silent for SECONDS (3)."},
	{0},
};

/* Exits immediately: without a launcher nobody reads an error, and a running step is of no use. */
static void leave(int status)
{
	dfg_out_remove_all();
	_exit(status);
}

static void orphaned(void *arg, enum dfg_code code, const char *why)
{
	(void)arg;
	dfg_talk("%s", why);
	leave(code == DFG_MEMORY ? DFG_MEMORY : DFG_UNAVAILABLE);
}

static void *watch_stdin(void *arg)
{
	char bytes[256];
	ssize_t got;
	do
		got = read(STDIN_FILENO, bytes, sizeof bytes);
	while (got > 0 || (got < 0 && errno == EINTR));
	leave(0);
	return arg;
}

/* The first SIGTERM leaves an elastic run after the step. Otherwise, and at the second one, the worker ends at once. */
static void *watch_signal(void *arg)
{
	struct serving *serving = arg;
	sigset_t term;
	int signal_number;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	while (sigwait(&term, &signal_number))
		continue;
	if (dfg_worker_leave(serving->worker))
		while (sigwait(&term, &signal_number))
			continue;
	signal(SIGTERM, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &term, NULL);
	raise(SIGTERM);
	return NULL;
}

/* Starts the thread that takes SIGTERM, which all others block. */
static struct dfg_err *take_signal(struct serving *serving)
{
	pthread_t watcher;
	sigset_t term;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	if (pthread_create(&watcher, NULL, watch_signal, serving))
		return DFG_ERR(DFG_MEMORY, "cannot start a thread");
	pthread_detach(watcher);
	return NULL;
}

static bool listens_in_memory(void)
{
	return strcmp(transport, "libcurl") != 0;
}

static bool listens_on_the_net(void)
{
	return strcmp(transport, "shm") != 0;
}

static struct dfg_err *read_secret(char *out_secret)
{
	size_t at = 0;
	for (;;) {
		ssize_t got = read(STDIN_FILENO, out_secret + at, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || (out_secret[at] != '\n' && at + 1 == DFG_SECRET_SIZE))
			return DFG_ERR(DFG_REFUSED, "the first line of stdin is not the secret of a run");
		if (out_secret[at] == '\n')
			break;
		at++;
	}
	out_secret[at] = '\0';
	return at + 1 == DFG_SECRET_SIZE && strspn(out_secret, "0123456789abcdef") == at
			   ? NULL
			   : DFG_ERR(DFG_REFUSED, "the first line of stdin is not the secret of a run");
}

/* Sets how many seconds a peer may be silent before all workers are linked; 0: the lease, once they are. */
static void set_patience(const struct serving *serving, double seconds)
{
	if (serving->http)
		dfg_http_links_set_patience(serving->http, (uint32_t)(seconds * 1000));
	if (serving->shm)
		dfg_shm_set_patience(serving->shm, (uint32_t)(seconds * 1000));
}

static void linked(void *arg)
{
	set_patience(arg, 0);
}

static struct dfg_err *listen_for_work(struct serving *serving)
{
	struct dfg_link_sink sink = dfg_worker_sink(serving->worker);
	struct dfg_http_links_options http = {.self = serving->number,
		.address = address,
		.secret = serving->secret,
		.sink = sink,
		.lease_ms = (uint32_t)(lease * 1000)};
	struct dfg_shm_options shm = {
		.self = serving->number, .secret = serving->secret, .sink = sink, .lease_ms = (uint32_t)(lease * 1000)};
	if (listens_on_the_net())
		DFG_TRY(dfg_http_links_new(&http, &serving->http));
	if (listens_in_memory())
		DFG_TRY(dfg_shm_new(&shm, &serving->shm));
	set_patience(serving, patience);
	return NULL;
}

static void put_addresses(const struct serving *serving, struct dfg_json_out *json)
{
	const char *at = serving->http ? dfg_http_links_address(serving->http) : dfg_shm_address(serving->shm);
	const char *key = serving->http ? dfg_http_links_fingerprint(serving->http) : NULL;
	dfg_json_key(json, "address"), dfg_json_string(json, at);
	dfg_json_key(json, "fingerprint"), dfg_json_string(json, key ? key : "");
	dfg_json_key(json, "shm"), dfg_json_string(json, serving->shm ? dfg_shm_address(serving->shm) : "");
}

/* The address of the first worker, and those of the others as a list. */
static struct dfg_err *say_hello(const struct serving *serving)
{
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "dfg"), dfg_json_string(&json, DFG_VERSION);
	put_addresses(serving, &json);
	dfg_json_key(&json, "products"), dfg_json_string(&json, dfg_product_fingerprint());
	if (lanes > 1)
		dfg_json_key(&json, "lanes"), dfg_json_open(&json, '[');
	for (int64_t i = 1; i < lanes; i++) {
		dfg_json_open(&json, '{');
		put_addresses(&serving[i], &json);
		dfg_json_close(&json, '}');
	}
	if (lanes > 1)
		dfg_json_close(&json, ']');
	return dfg_serve_hello(&json);
}

/* Milliseconds until that time, at least 1. */
static uint32_t left_ms(uint64_t until)
{
	uint64_t now = dfg_now();
	return now < until ? (uint32_t)((until - now) / 1000000) + 1 : 1;
}

static struct dfg_err *reach_one(
	struct serving *serving, const struct dfg_peer *peer, uint32_t i, uint64_t until, struct dfg_link **out_link)
{
	const char *key = *peer->fingerprint ? peer->fingerprint : NULL;
	if (!strcmp(peer->transport, "libcurl") && serving->http)
		return dfg_http_links_connect(serving->http, i, peer->address, key, out_link);
	if (strcmp(peer->transport, "shm") != 0 || !serving->shm)
		return DFG_ERR(DFG_PROTOCOL, "unknown transport '%s'", peer->transport);
	return serving->number < i ? dfg_shm_connect(serving->shm, i, peer->shm, left_ms(until), out_link)
							   : dfg_shm_accept(serving->shm, i, left_ms(until), out_link);
}

/* Requests all links before waiting for the first. */
static struct dfg_err *reach(void *arg, const struct dfg_worker_config *setup, struct dfg_link **out_link)
{
	struct serving *serving = arg;
	uint64_t until = dfg_now() + (uint64_t)((setup->seconds < 1e6 ? setup->seconds : 1e6) * 1e9);
	if (setup->self != serving->number)
		return DFG_ERR(DFG_PROTOCOL, "this worker was started as number %u, but the launcher gives it number %u",
			serving->number, setup->self);
	serving->link = out_link;
	serving->links = setup->workers;
	if (serving->http)
		dfg_http_links_set_lease(
			serving->http, (uint32_t)(dfg_worker_config_link_lease(setup->lease, setup->workers) * 1000));
	for (uint32_t i = 0; i < setup->workers; i++)
		if (i != setup->self && *setup->peer[i].transport)
			DFG_TRY(
				dfg_err_note(reach_one(serving, &setup->peer[i], i, until, &out_link[i]), "%s", setup->peer[i].name));
	for (uint32_t i = 0; i < setup->workers; i++)
		if (out_link[i] && !strcmp(setup->peer[i].transport, "libcurl"))
			DFG_TRY(dfg_err_note(dfg_http_links_wait(out_link[i], left_ms(until)), "%s", setup->peer[i].name));
	return NULL;
}

static struct dfg_err *relink(
	void *arg, uint32_t i, const struct dfg_peer *peer, double seconds, struct dfg_link **link)
{
	struct serving *serving = arg;
	uint64_t until = dfg_now() + (uint64_t)((seconds < 1e6 ? seconds : 1e6) * 1e9);
	if (*link)
		(*link)->kind->close(*link);
	*link = NULL;
	struct dfg_err *err = reach_one(serving, peer, i, until, link);
	if (!err && !strcmp(peer->transport, "libcurl"))
		err = dfg_http_links_wait(*link, left_ms(until));
	return dfg_err_note(err, "%s", peer->name);
}

static struct dfg_err *expect_launcher(struct serving *serving)
{
	if (serving->http)
		return dfg_http_links_expect(serving->http, DFG_LAUNCHER, &serving->launcher);
	struct dfg_err *err = dfg_shm_accept(serving->shm, DFG_LAUNCHER, (uint32_t)(patience * 1000), &serving->launcher);
	if (!err || err->code != DFG_DEADLINE)
		return err;
	dfg_err_free(err);
	return DFG_ERR(DFG_UNAVAILABLE, "no launcher connected within %g s", patience);
}

static struct dfg_err *serve(struct serving *serving)
{
	DFG_TRY(expect_launcher(serving));
	return dfg_worker_run(serving->worker, serving->launcher);
}

static void *serve_on_thread(void *arg)
{
	struct serving *serving = arg;
	serving->err = serve(serving);
	return NULL;
}

/* The first worker on this thread, the others on threads of their own. */
static struct dfg_err *serve_all(struct serving *serving)
{
	struct dfg_err *err = NULL;
	for (int64_t i = 1; i < lanes && !err; i++) {
		serving[i].runs = !pthread_create(&serving[i].thread, NULL, serve_on_thread, &serving[i]);
		if (!serving[i].runs)
			err = DFG_ERR(DFG_MEMORY, "cannot start a thread");
	}
	if (err)
		return err; /* the process ends, and its threads with it */
	err = serve(serving);
	for (int64_t i = 1; i < lanes; i++) {
		pthread_join(serving[i].thread, NULL);
		serving[i].runs = false;
		err = dfg_err_join(err, serving[i].err);
	}
	return err;
}

static struct dfg_err *make_worker(struct serving *serving, struct dfg_lanes *common)
{
	struct dfg_worker_options worker = {serving, reach, relink, linked, orphaned, patience, common};
	return dfg_worker_new(&worker, &serving->worker);
}

static struct dfg_err *work(struct serving *serving, struct dfg_lanes *common)
{
	pthread_t watcher;
	static char secret[DFG_SECRET_SIZE];
	DFG_TRY(dfg_watchdog_start()); /* before the secret is read */
	DFG_TRY(read_secret(secret));
	for (int64_t i = 0; i < lanes; i++) {
		serving[i].secret = secret;
		serving[i].number = (uint32_t)(first_number + i * stride);
		DFG_TRY(make_worker(&serving[i], common));
	}
	DFG_TRY(take_signal(serving));
	for (int64_t i = 0; i < lanes; i++)
		DFG_TRY(listen_for_work(&serving[i]));
	DFG_TRY(say_hello(serving));
	if (pthread_create(&watcher, NULL, watch_stdin, NULL))
		return DFG_ERR(DFG_MEMORY, "cannot start a thread");
	pthread_detach(watcher);
	return serve_all(serving);
}

static void close_links(struct serving *serving)
{
	for (uint32_t i = 0; i < serving->links; i++)
		if (serving->link[i])
			serving->link[i]->kind->close(serving->link[i]);
	if (serving->launcher)
		serving->launcher->kind->close(serving->launcher);
	dfg_http_links_free(serving->http);
	dfg_shm_free(serving->shm);
	dfg_worker_free(serving->worker);
}

static struct dfg_err *serve_workers(void)
{
	struct dfg_lanes *common = NULL;
	struct serving *serving = dfg_zeros((size_t)lanes, sizeof *serving);
	struct dfg_err *err = !serving ? dfg_no_memory("a worker") : lanes > 1 ? dfg_lanes_new(&common) : NULL;
	if (!err)
		err = work(serving, common);
	if (serving && lanes > 1 && serving[1].runs)
		return err; /* a thread could not be started: those that were still use the workers */
	for (int64_t i = 0; serving && i < lanes; i++)
		close_links(&serving[i]);
	dfg_lanes_free(common);
	dfg_free(serving);
	return err;
}

struct dfg_err *dfg_serve_worker(void)
{
	bool known = !strcmp(transport, "auto") || !strcmp(transport, "libcurl") || !strcmp(transport, "shm");
	dfg_globals.usage = true;
	if (!known)
		return DFG_ERR(DFG_USAGE, "--transport must be auto, libcurl or shm, not '%s'", transport);
	if (!(patience > 0) || patience > 1e6)
		return DFG_ERR(DFG_USAGE, "--wait must be more than 0 and at most 1000000 seconds, not %g", patience);
	if (!(lease > 0) || lease > 1e6)
		return DFG_ERR(DFG_USAGE, "--lease must be more than 0 and at most 1000000 seconds, not %g", lease);
	if (lanes > DFG_HOSTS_MOST || stride > DFG_HOSTS_MOST)
		return DFG_ERR(DFG_USAGE, "--lanes and --stride must be at most %d", DFG_HOSTS_MOST);
	if (first_number >= DFG_LAUNCHER - (lanes - 1) * stride)
		return DFG_ERR(
			DFG_USAGE, "--number must be less than %u, not %lld", (unsigned)DFG_LAUNCHER, (long long)first_number);
	dfg_globals.usage = false;
	setrlimit(RLIMIT_CORE,
		&(struct rlimit){0, 0}); /* no core dump: memory contains the secret, and possibly a secret graph */
	dfg_limit_memory();
	return serve_workers();
}
