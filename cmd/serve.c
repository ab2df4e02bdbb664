#include "cmd/serve.h"

#include "app/serving/serving.h"
#include "cmd/shared_options.h"
#include "formats/json.h"
#include "lib/base/io.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LOOPBACK "127.0.0.1"
static bool is_worker, watches, explains;
static struct dfg_serving_options options = {.port = -1,
	.most_batch = 32,
	.queue = 1000,
	.most_streams = 64,
	.most_body = 64 << 20,
	.most_head = 32 << 10,
	.most_answers = 256 << 20,
	.most_connections = 20000};
#define O options

static const struct dfg_opt rows[] = {
	{"load", .takes = "SRC", .list = &O.load,
		.help = "Set variables from a checkpoint, the newest of a directory, or an array file (safetensors, npz)."},
	{"map", .takes = "OLD=NEW", .list = &O.map, .help = "Load the arrays of SRC that match pattern OLD as NEW."},
	{"partial", .flag = &O.partial, .help = "Initialise variables that SRC lacks, even if the model needs them."},
	{"feed", .takes = "NAME", .list = &O.feed, .help = "An input of the model (its placeholders)."},
	{"fetch", 'f', .takes = "NAME", .list = &O.fetch, .help = "An output of the model (those that it declares)."},
	{"host", .takes = "ADDRESS", .text = &O.host, .help = "Listen on this numeric address (127.0.0.1)."},
	{"port", .takes = "P", .number = &O.port, .help = "Listen on this port (8080); 0 takes a free one."},
	{"tls-cert", .takes = "FILE", .text = &O.tls_cert,
		.help = "Serve HTTPS with this certificate and its chain, in PEM."},
	{"tls-key", .takes = "FILE", .text = &O.tls_key, .help = "The key of the certificate, in PEM."},
	{"insecure", .flag = &O.insecure, .help = "Listen without TLS on an address that is not a loopback address."},
	{"token-file", .takes = "FILE", .text = &O.token_file,
		.help = "Require the first line of FILE as bearer token in each request."},
	{"open-health", .flag = &O.open_health, .help = "Answer health requests without the token."},
	{"stateful", .flag = &O.stateful, .help = "Serve models that write state, one step at a time."},
	{"max-batch", .takes = "N", .number = &O.most_batch, .least = 1,
		.help = "Most rows of a step that requests share (32); 1: each request has its own step."},
	{"max-delay", .takes = "MS", .real = &O.most_delay,
		.help = "Let a request wait MS milliseconds for others that share its step (0: only those that wait already "
				"share it)."},
	{"explain", .flag = &explains,
		.help = "Tell which models' requests can share steps, and why those of others cannot, and end."},
	{"queue", .takes = "N", .number = &O.queue,
		.help = "Most requests of a model that may wait (1000); more are answered 429."},
	{"max-streams", .takes = "N", .number = &O.most_streams,
		.help = "Most streams at once (64), each on a thread of its own; more are answered 429."},
	{"max-body", .takes = "SIZE", .size = &O.most_body, .help = "Largest body of a request (64Mi)."},
	{"max-header", .takes = "SIZE", .size = &O.most_head, .help = "Largest head of a request (32Ki)."},
	{"max-answers", .takes = "SIZE", .size = &O.most_answers,
		.help = "Bytes of answers that clients have not taken (256Mi); beyond it requests are answered 503."},
	{"max-connections", .takes = "N", .number = &O.most_connections,
		.help = "Most connections at once (20000); another one ends the connection that was idle for longest."},
	{"watch", .flag = &watches,
		.help = "When the file of a graph or of its weights changes, serve the new one within a second."},
	{"worker", .flag = &is_worker, .help = "Run parts of a graph for a launcher, instead of serving models."},
	{.rows = dfg_serve_worker_options},
	{.rows = dfg_execution_options},
	{0},
};

static int wake = -1;
static volatile sig_atomic_t is_over, must_reload;

static void on_signal(int number)
{
	int error = errno;
	if (number == SIGHUP)
		must_reload = 1;
	else
		is_over = 1;
	(void)!write(wake, &(uint64_t){1}, sizeof(uint64_t));
	errno = error;
}

/* A signal that was ignored at program start, as under nohup, stays ignored. */
static void catch_signal(int number)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct sigaction old;
	if (!sigaction(number, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

/* Before the models are open, which may take long: a HUP meanwhile has them read again then. Others end the program at once. */
static struct dfg_err *catch_reloads(void)
{
	wake = eventfd(0, EFD_CLOEXEC);
	if (wake < 0)
		return DFG_ERR(DFG_MEMORY, "cannot create a descriptor: %s", strerror(errno));
	catch_signal(SIGHUP);
	return NULL;
}

struct dfg_err *dfg_serve_hello(struct dfg_json_out *json)
{
	dfg_json_close(json, '}');
	dfg_text_put(&json->text, "\n", 1);
	struct dfg_err *err = dfg_text_check(&json->text);
	if (!err)
		err = dfg_fs_write_all(STDOUT_FILENO, "stdout", json->text.s, json->text.length);
	dfg_text_release(&json->text);
	return err;
}

static struct dfg_err *say_hello(const struct dfg_serving *serving)
{
	struct dfg_json_out json = {0};
	char url[100];
	snprintf(url, sizeof url, "%s://%s", dfg_serving_scheme(serving), dfg_serving_address(serving));
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "dfg"), dfg_json_string(&json, DFG_VERSION);
	dfg_json_key(&json, "url"), dfg_json_string(&json, url);
	dfg_json_key(&json, "models"), dfg_json_open(&json, '[');
	for (size_t i = 0; dfg_serving_model(serving, i); i++)
		dfg_json_string(&json, dfg_serving_model(serving, i));
	dfg_json_close(&json, ']');
	return dfg_serve_hello(&json);
}

static void wait_for_signals(struct dfg_serving *serving)
{
	uint64_t count;
	while (!is_over) {
		struct pollfd event = {.fd = wake, .events = POLLIN};
		if (poll(&event, 1, watches ? 1000 : -1) > 0)
			(void)!read(wake, &count, sizeof count);
		if (must_reload) {
			must_reload = 0;
			dfg_serving_reload(serving);
		} else if (watches && !is_over) {
			dfg_serving_watch(serving);
		}
	}
}

static struct dfg_err *explain(const struct dfg_serving *serving)
{
	struct dfg_text text = {0};
	dfg_serving_explain(serving, &text);
	struct dfg_err *err = dfg_text_check(&text);
	if (!err)
		dfg_print(&text);
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *run_server(struct dfg_serving *serving)
{
	catch_signal(SIGINT);
	catch_signal(SIGTERM);
	DFG_TRY(dfg_serving_listen(serving));
	DFG_TRY(say_hello(serving));
	wait_for_signals(serving);
	dfg_serving_drain(serving, O.timeout);
	return NULL;
}

static struct dfg_err *serve_models(char **operands)
{
	struct dfg_serving *serving;
	O.model = (const char **)operands;
	O.host = O.host ? O.host : LOOPBACK;
	O.port = O.port < 0 ? 8080 : O.port;
	O.execution = &dfg_shared.execution;
	O.timeout = dfg_shared.execution.timeout > 0 ? dfg_shared.execution.timeout : 30;
	O.report = &dfg_stderr;
	dfg_limit_memory();
	if (!explains)
		DFG_TRY(catch_reloads());
	DFG_TRY(dfg_serving_open(&O, &serving));
	struct dfg_err *err = explains ? explain(serving) : run_server(serving);
	dfg_serving_free(serving);
	return err;
}

static struct dfg_err *serve(char **operands, int *out_status)
{
	(void)out_status;
	if (!is_worker == !*operands) {
		dfg_globals.usage = true;
		return DFG_ERR(DFG_USAGE, is_worker ? "--worker takes no graph" : "give a graph, or --worker");
	}
	return is_worker ? dfg_serve_worker(O.host, O.port) : serve_models(operands);
}

const struct dfg_cmd dfg_cmd_serve = {
	.name = "serve",
	.operands = "[NAME=]G[:SRC]...",
	.summary = "answer requests with a graph over HTTP, or work for a distributed run",
	.options = rows,
	.least = 0,
	.most = -1,
	.run = serve,
};
