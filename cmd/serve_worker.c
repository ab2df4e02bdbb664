#include "cmd/serve.h"

#include "app/working.h"
#include "cmd/shared_options.h"
#include "cmd/watchdog.h"
#include "remote/slurm.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *secret_file;
static bool of_slurm;
static int64_t first_number, lanes = 1, stride = 1;
static double lease = 3, patience = 60;
static const char *transport = "auto", *address;

const struct dfg_opt dfg_serve_worker_options[] = {
	{"secret-file", .takes = "FILE", .text = &secret_file,
		.help = "Take the secret from the first line of FILE, which only its owner may read, instead of stdin; the "
				"launcher must have it too."},
	{"number", .takes = "N", .number = &first_number, .help = "The number of the worker in the run (0)."},
	{"slurm", .flag = &of_slurm, .help = "Take the number of the task that srun has started as the worker's number."},
	{"lanes", .takes = "R", .number = &lanes, .least = 1,
		.help = "Act as R workers that share their variables, as a parameter server does for R replicas (1)."},
	{"stride", .takes = "N", .number = &stride, .least = 1,
		.help = "The difference between the numbers of one worker of --lanes and the next (1)."},
	{"listen", .takes = "ADDRESS", .text = &address,
		.help = "Listen on this address (127.0.0.1); TLS is required unless it is a loopback address."},
	{"transport", .takes = "NAME", .text = &transport,
		.help = "How peers reach this worker: libcurl, shm (same machine only), or auto for both."},
	{"wait", .takes = "SECONDS", .real = &patience, .help = "End if no launcher connects within SECONDS (60)."},
	{"lease", .takes = "SECONDS", .real = &lease, .help = "End if the launcher is silent for SECONDS (3)."},
	{0},
};

static struct dfg_secret_key secret_key; /* of the secret file */

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
	struct dfg_working *working = arg;
	sigset_t term;
	int signal_number;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	while (sigwait(&term, &signal_number))
		continue;
	if (dfg_working_leave(working))
		while (sigwait(&term, &signal_number))
			continue;
	signal(SIGTERM, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &term, NULL);
	raise(SIGTERM);
	return NULL;
}

/* Before there are threads: only the one that watches takes SIGTERM. */
static void block_signal(void)
{
	sigset_t term;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
}

static struct dfg_err *start_thread(void *(*run)(void *arg), void *arg)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, arg))
		return DFG_ERR(DFG_MEMORY, "cannot start a thread");
	pthread_detach(thread);
	return NULL;
}

static struct dfg_err *read_secret_file(char *out_secret)
{
	DFG_TRY(dfg_secret_key_read(secret_file, &secret_key));
	dfg_secret_key_run(&secret_key, out_secret);
	return NULL;
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

static void put_task(struct dfg_json_out *json)
{
	char name[256] = "?";
	const char *node = getenv("SLURMD_NODENAME");
	if (!node && !gethostname(name, sizeof name - 1))
		node = name;
	dfg_ranks_put_self((uint32_t)first_number, node ? node : name, json);
}

static struct dfg_err *take_task(void)
{
	uint32_t number;
	if (!of_slurm)
		return NULL;
	DFG_TRY(dfg_slurm_number(&number));
	first_number = number;
	return NULL;
}

static struct dfg_err *work(struct dfg_working *working)
{
	struct dfg_json_out json = {0};
	DFG_TRY(start_thread(watch_signal, working));
	dfg_json_open(&json, '{');
	if (of_slurm)
		put_task(&json);
	dfg_working_hello(working, &json);
	DFG_TRY(dfg_serve_hello(&json));
	if (!secret_file)
		DFG_TRY(start_thread(watch_stdin, NULL));
	return dfg_working_serve(working);
}

static struct dfg_err *serve_workers(void)
{
	static char secret[DFG_SECRET_SIZE];
	struct dfg_working *working;
	const struct dfg_working_options options = {.number = (uint32_t)first_number,
		.lanes = (uint32_t)lanes,
		.stride = (uint32_t)stride,
		.lease = lease,
		.patience = patience,
		.transport = transport,
		.address = address,
		.secret = secret,
		.key = secret_file ? &secret_key : NULL,
		.orphaned = orphaned};
	if (!secret_file)
		DFG_TRY(dfg_watchdog_start()); /* before the secret is read */
	DFG_TRY(secret_file ? read_secret_file(secret) : read_secret(secret));
	block_signal();
	DFG_TRY(dfg_working_open(&options, &working));
	struct dfg_err *err = work(working);
	dfg_working_close(working);
	return err;
}

/* --listen ADDRESS[:PORT], or --host and --port, as of a server. */
static struct dfg_err *find_address(const char *host, int64_t port)
{
	static char both[300];
	if (address && (host || port >= 0))
		return DFG_ERR(DFG_USAGE, "--listen and --%s exclude each other", host ? "host" : "port");
	if (port > 65535)
		return DFG_ERR(DFG_USAGE, "--port must be from 0 to 65535, not %lld", (long long)port);
	if (address)
		return NULL;
	host = host ? host : "127.0.0.1";
	snprintf(both, sizeof both, strchr(host, ':') ? "[%s]:%lld" : "%s:%lld", host, (long long)(port < 0 ? 0 : port));
	address = both;
	return NULL;
}

struct dfg_err *dfg_serve_worker(const char *host, int64_t port)
{
	bool known = !strcmp(transport, "auto") || !strcmp(transport, "libcurl") || !strcmp(transport, "shm");
	dfg_globals.usage = true;
	if (!known)
		return DFG_ERR(DFG_USAGE, "--transport must be auto, libcurl or shm, not '%s'", transport);
	DFG_TRY(find_address(host, port));
	DFG_TRY(take_task());
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
