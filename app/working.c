#include "app/working.h"

#include "kernels/gemm/gemm.h"
#include "lib/base/build_id.h"
#include "lib/base/mem.h"
#include "lib/base/pool.h"
#include "remote/http_links.h"
#include "remote/shm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dfg_working {
	struct dfg_working_options options;
	struct dfg_lanes *common; /* what the lanes share; NULL: there is one worker */
	bool abandoned;           /* threads run that could not be joined */
	struct serving {
		struct dfg_working *working;
		struct dfg_worker *worker;
		uint32_t number, lane;
		pthread_t thread;
		bool runs;           /* on a thread of its own */
		struct dfg_err *err; /* the result of that thread */
		struct dfg_http_links *http;
		struct dfg_shm *shm;
		struct dfg_link *launcher, **link;
		uint32_t links;
	} serving[];
};

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

/* The address of a lane: the port, if the address has one, is that of the first. */
static struct dfg_err *find_address(const char *address, uint32_t lane, char *out, size_t capacity)
{
	const char *end = *address == '[' ? strchr(address, ']') : address, *colon = end ? strchr(end, ':') : NULL;
	unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;
	if (!lane || !port || strchr(colon, '-')) /* of a range, each takes the first that is free */
		snprintf(out, capacity, "%s", address);
	else
		snprintf(out, capacity, "%.*s:%lu", (int)(colon - address), address, port + lane);
	return port + lane > 65535
			   ? DFG_ERR(DFG_CONFIG,
					 "%s: worker %u of this process (--lanes) would listen on port %lu, but 65535 is the highest port",
					 address, lane, port + lane)
			   : NULL;
}

static struct dfg_err *listen_for_work(struct serving *serving)
{
	const struct dfg_working_options *options = &serving->working->options;
	struct dfg_link_sink sink = dfg_worker_sink(serving->worker);
	uint32_t lease_ms = (uint32_t)(options->lease * 1000);
	uint8_t seed[DFG_KEY_SIZE];
	char address[300];
	struct dfg_http_links_options http = {.self = serving->number,
		.address = address,
		.secret = options->secret,
		.tls = options->key != NULL,
		.key_seed = options->key ? seed : NULL,
		.sink = sink,
		.lease_ms = lease_ms};
	struct dfg_shm_options shm = {
		.self = serving->number, .secret = options->secret, .sink = sink, .lease_ms = lease_ms};
	DFG_TRY(find_address(options->address, serving->lane, address, sizeof address));
	if (options->key)
		dfg_secret_key_worker(options->key, serving->number, seed);
	if (strcmp(options->transport, "shm") != 0)
		DFG_TRY(dfg_http_links_new(&http, &serving->http));
	explicit_bzero(seed, sizeof seed);
	if (strcmp(options->transport, "libcurl") != 0)
		DFG_TRY(dfg_shm_new(&shm, &serving->shm));
	set_patience(serving, options->patience);
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

void dfg_working_hello(const struct dfg_working *working, struct dfg_json_out *json)
{
	uint32_t lanes = working->options.lanes;
	dfg_json_key(json, "dfg"), dfg_json_string(json, DFG_VERSION);
	dfg_json_key(json, "build"), dfg_json_string(json, dfg_build_id());
	put_addresses(working->serving, json);
	dfg_json_key(json, "products"), dfg_json_string(json, dfg_product_fingerprint());
	if (lanes > 1)
		dfg_json_key(json, "lanes"), dfg_json_open(json, '[');
	for (uint32_t i = 1; i < lanes; i++) {
		dfg_json_open(json, '{');
		put_addresses(&working->serving[i], json);
		dfg_json_close(json, '}');
	}
	if (lanes > 1)
		dfg_json_close(json, ']');
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
	double patience = serving->working->options.patience;
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
struct dfg_err *dfg_working_serve(struct dfg_working *working)
{
	struct serving *serving = working->serving;
	struct dfg_err *err = NULL;
	for (uint32_t i = 1; i < working->options.lanes && !err; i++) {
		serving[i].runs = !pthread_create(&serving[i].thread, NULL, serve_on_thread, &serving[i]);
		if (!serving[i].runs)
			err = DFG_ERR(DFG_MEMORY, "cannot start a thread");
	}
	working->abandoned = err != NULL; /* the process ends, and its threads with it */
	if (err)
		return err;
	err = serve(serving);
	for (uint32_t i = 1; i < working->options.lanes; i++) {
		pthread_join(serving[i].thread, NULL);
		serving[i].runs = false;
		err = dfg_err_join(err, serving[i].err);
	}
	return err;
}

static void orphaned(void *arg, enum dfg_code code, const char *why)
{
	const struct dfg_working_options *options = &((struct serving *)arg)->working->options;
	options->orphaned(options->arg, code, why);
}

bool dfg_working_leave(struct dfg_working *working)
{
	return dfg_worker_leave(working->serving->worker);
}

static struct dfg_err *make_worker(struct serving *serving)
{
	struct dfg_working *working = serving->working;
	struct dfg_worker_options worker = {serving, reach, relink, linked, orphaned, dfg_product_fingerprint(),
		working->options.patience, NULL, working->common};
	return dfg_worker_new(&worker, &serving->worker);
}

static struct dfg_err *open_all(struct dfg_working *working)
{
	const struct dfg_working_options *options = &working->options;
	if (options->lanes > 1)
		DFG_TRY(dfg_lanes_new(&working->common));
	for (uint32_t i = 0; i < options->lanes; i++) {
		struct serving *serving = &working->serving[i];
		*serving = (struct serving){.working = working, .number = options->number + i * options->stride, .lane = i};
		DFG_TRY(make_worker(serving));
	}
	for (uint32_t i = 0; i < options->lanes; i++)
		DFG_TRY(listen_for_work(&working->serving[i]));
	return NULL;
}

struct dfg_err *dfg_working_open(const struct dfg_working_options *options, struct dfg_working **out_working)
{
	struct dfg_working *working = dfg_zeros(1, sizeof *working + options->lanes * sizeof *working->serving);
	if (!working)
		return dfg_no_memory("a worker");
	working->options = *options;
	struct dfg_err *err = open_all(working);
	if (err)
		dfg_working_close(working);
	else
		*out_working = working;
	return err;
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

void dfg_working_close(struct dfg_working *working)
{
	if (!working || working->abandoned)
		return;
	for (uint32_t i = 0; i < working->options.lanes; i++)
		close_links(&working->serving[i]);
	dfg_lanes_free(working->common);
	dfg_free(working);
}
