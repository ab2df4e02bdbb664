#include "app/serving/serving.h"

#include "app/serving/serving_private.h"
#include "lib/base/private_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The name of the file, without folder and suffix. */
static const char *name_of_path(struct dfg_arena *arena, const char *path)
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	size_t first = length;
	while (first && path[first - 1] != '/')
		first--;
	const char *dot = memchr(path + first, '.', length - first);
	return dfg_arena_copy(arena, path + first, dot > path + first ? (size_t)(dot - path) - first : length - first);
}

/* Splits "[NAME=]GRAPH[:SRC]". A path that exists as a whole has no source. */
static struct dfg_err *split_model(struct dfg_serving *serving, const char *word, struct dfg_served *served)
{
	struct dfg_arena *arena = &serving->arena;
	const char *equals = access(word, F_OK) ? strchr(word, '=') : NULL;
	const char *path = equals ? equals + 1 : word, *colon = access(path, F_OK) ? strrchr(path, ':') : NULL;
	served->path = colon ? dfg_arena_copy(arena, path, (size_t)(colon - path)) : path;
	served->source = colon ? colon + 1 : NULL;
	if (!served->path)
		return dfg_no_memory("the models");
	served->name = equals ? dfg_arena_copy(arena, word, (size_t)(equals - word)) : name_of_path(arena, served->path);
	if (!served->name)
		return dfg_no_memory("the models");
	return *served->name ? NULL : DFG_ERR(DFG_USAGE, "'%s' has no name for the model: give NAME=GRAPH", word);
}

static void init_served(struct dfg_serving *serving, struct dfg_served *served)
{
	served->serving = serving;
	served->last = &served->first;
	pthread_mutex_init(&served->lock, NULL);
}

static struct dfg_err *open_models(struct dfg_serving *serving)
{
	size_t count = 0;
	while (serving->options.model[count])
		count++;
	serving->served = dfg_arena_zeros(&serving->arena, count, sizeof *serving->served);
	if (!serving->served)
		return dfg_no_memory("the models");
	for (; serving->n_served < count; serving->n_served++) {
		struct dfg_served *served = &serving->served[serving->n_served];
		init_served(serving, served);
		struct dfg_err *err = split_model(serving, serving->options.model[serving->n_served], served);
		for (size_t i = 0; !err && i < serving->n_served; i++)
			if (!strcmp(serving->served[i].name, served->name))
				err = DFG_ERR(DFG_USAGE, "two models have the name '%s': give NAME=%s", served->name, served->path);
		if (!err)
			served->mark = dfg_served_mark(served);
		if (!err)
			err = dfg_live_model_open(served, &served->live);
		if (err) {
			pthread_mutex_destroy(&served->lock);
			return err;
		}
	}
	return NULL;
}

static struct dfg_err *read_token(struct dfg_serving *serving)
{
	char line[4096];
	if (!serving->options.token_file)
		return NULL;
	DFG_TRY(dfg_private_file_line(serving->options.token_file, line, sizeof line));
	serving->token = dfg_arena_copy(&serving->arena, line, strlen(line));
	return serving->token ? NULL : dfg_no_memory("the token");
}

static struct dfg_err *check_options(struct dfg_serving *serving)
{
	const struct dfg_serving_options *options = &serving->options;
	serving->is_loopback = !strncmp(options->host, "127.", 4) || !strcmp(options->host, "::1");
	if (!options->tls_cert != !options->tls_key)
		return DFG_ERR(DFG_USAGE, "--tls-cert and --tls-key must be given together");
	if (options->tls_cert && options->insecure)
		return DFG_ERR(DFG_USAGE, "--insecure contradicts --tls-cert");
	if (!serving->is_loopback && !options->insecure && !options->tls_cert)
		return DFG_ERR(DFG_USAGE,
			"--host %s is not a loopback address: give --tls-cert and --tls-key, or --insecure to serve without TLS",
			options->host);
	if (options->port < 0 || options->port > 65535)
		return DFG_ERR(DFG_USAGE, "--port must be from 0 to 65535, not %lld", (long long)options->port);
	if (options->most_batch < 1 || options->most_batch > 1000000)
		return DFG_ERR(
			DFG_USAGE, "--max-batch must be from 1 to 1000000 rows, not %lld", (long long)options->most_batch);
	if (!(options->most_delay >= 0) || options->most_delay > 60000)
		return DFG_ERR(DFG_USAGE, "--max-delay must be from 0 to 60000 milliseconds, not %g", options->most_delay);
	if (options->queue < 1)
		return DFG_ERR(DFG_USAGE, "--queue must be at least 1, not %lld", (long long)options->queue);
	if (options->most_streams < 0 || options->most_streams > 10000)
		return DFG_ERR(DFG_USAGE, "--max-streams must be from 0 to 10000, not %lld", (long long)options->most_streams);
	if (options->most_connections < 1 || options->most_connections > 1000000)
		return DFG_ERR(
			DFG_USAGE, "--max-connections must be from 1 to 1000000, not %lld", (long long)options->most_connections);
	if (!(options->timeout > 0) || options->timeout > 1e6)
		return DFG_ERR(DFG_USAGE, "--timeout must be above 0 and at most 1000000 seconds, not %g", options->timeout);
	return read_token(serving);
}

/* Waits are timed by the clock of dfg_now(). */
static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

struct dfg_err *dfg_serving_open(const struct dfg_serving_options *options, struct dfg_serving **out_serving)
{
	struct dfg_serving *serving = dfg_zeros(1, sizeof *serving);
	if (!serving)
		return dfg_no_memory("the server");
	serving->options = *options;
	serving->begin_ns = dfg_now();
	pthread_mutex_init(&serving->lock, NULL);
	init_condition(&serving->work);
	init_condition(&serving->traced);
	init_served(serving, &serving->other);
	serving->other.name = "";
	struct dfg_err *err = check_options(serving);
	if (!err)
		err = dfg_serving_make_policy(serving);
	if (!err && options->tls_cert)
		err = dfg_tls_open(options->tls_cert, options->tls_key, &serving->tls);
	if (!err)
		err = open_models(serving);
	if (err)
		dfg_serving_free(serving);
	else
		*out_serving = serving;
	return err;
}

void dfg_serving_explain(const struct dfg_serving *serving, struct dfg_text *text)
{
	for (size_t i = 0; i < serving->n_served; i++) {
		const struct dfg_served *served = &serving->served[i];
		uint32_t mixed = 0;
		for (uint32_t k = 0; k < served->live->n_out; k++) {
			const struct dfg_serving_port *out = &served->live->out[k];
			if (out->verdict->kind == DFG_ROWS_MIXED && ++mixed)
				dfg_text_add(text, "model '%s': requests for output '%s' cannot share a step: %s\n", served->name,
					out->name, out->verdict->why);
		}
		if (mixed < served->live->n_out)
			dfg_text_add(text, "model '%s': requests%s can share a step of up to %lld rows\n", served->name,
				mixed ? " for the other outputs" : "", (long long)serving->options.most_batch);
	}
}

struct dfg_err *dfg_serving_listen(struct dfg_serving *serving)
{
	const struct dfg_serving_options *options = &serving->options;
	char address[100];
	snprintf(address, sizeof address, strchr(options->host, ':') ? "[%.80s]:%d" : "%.80s:%d", options->host,
		(int)options->port);
	struct dfg_web_options web = {.address = address,
		.most_body = options->most_body,
		.most_head = options->most_head,
		.most_bodies = options->most_body < SIZE_MAX / 4 ? 4 * (size_t)options->most_body : SIZE_MAX,
		.most_answers = options->most_answers,
		.most_connections = (uint32_t)options->most_connections,
		.timeout_ms = (uint32_t)(options->timeout * 1000),
		.handle = dfg_serving_handle,
		.settle = dfg_serving_settle,
		.refuse = dfg_serving_refuse,
		.tls = serving->tls,
		.arg = serving};
	DFG_TRY(dfg_serving_start(serving));
	return dfg_web_new(&web, &serving->web);
}

const char *dfg_serving_address(const struct dfg_serving *serving)
{
	return dfg_web_address(serving->web);
}

const char *dfg_serving_scheme(const struct dfg_serving *serving)
{
	return serving->tls ? "https" : "http";
}

const char *dfg_serving_model(const struct dfg_serving *serving, size_t i)
{
	return i < serving->n_served ? serving->served[i].name : NULL;
}

static void reload(struct dfg_served *served)
{
	const struct dfg_report *report = served->serving->options.report;
	struct dfg_live_model *live;
	uint64_t mark = dfg_served_mark(served); /* before the reading, so that what comes meanwhile is seen next time */
	pthread_mutex_lock(&served->lock);
	served->mark = mark;
	pthread_mutex_unlock(&served->lock);
	struct dfg_err *err = dfg_live_model_open(served, &live);
	if (err) {
		dfg_report_note(report, "model '%s' stays as it is: %s", served->name, err->text);
		dfg_err_free(err);
		return;
	}
	pthread_mutex_lock(&served->lock);
	struct dfg_live_model *old = served->live;
	served->live = live;
	pthread_mutex_unlock(&served->lock);
	dfg_report_note(report, "model '%s' has version %llu", served->name, (unsigned long long)live->version);
	dfg_live_model_unref(old);
}

/* New connections have the newest certificate; one that cannot be used leaves the old one. */
static void reload_certificate(struct dfg_serving *serving)
{
	const struct dfg_serving_options *options = &serving->options;
	struct dfg_tls *tls;
	if (!serving->tls)
		return;
	struct dfg_err *err = dfg_tls_open(options->tls_cert, options->tls_key, &tls);
	if (err) {
		dfg_report_note(options->report, "the certificate stays as it is: %s", err->text);
		dfg_err_free(err);
		return;
	}
	serving->tls = tls;
	dfg_tls_free(dfg_web_set_tls(serving->web, tls));
}

void dfg_serving_reload(struct dfg_serving *serving)
{
	reload_certificate(serving);
	for (size_t i = 0; i < serving->n_served; i++)
		reload(&serving->served[i]);
}

void dfg_serving_watch(struct dfg_serving *serving)
{
	for (size_t i = 0; i < serving->n_served; i++)
		if (serving->served[i].mark != dfg_served_mark(&serving->served[i]))
			reload(&serving->served[i]);
}

void dfg_serving_drain(struct dfg_serving *serving, double seconds)
{
	uint64_t end = dfg_now() + (uint64_t)(seconds * 1e9);
	const struct timespec pause = {0, 5000000};
	serving->draining = true;
	dfg_web_drain(serving->web);
	while (!dfg_web_is_drained(serving->web) && dfg_now() < end)
		nanosleep(&pause, NULL);
}

void dfg_serving_free(struct dfg_serving *serving)
{
	if (!serving)
		return;
	dfg_serving_stop(serving);
	dfg_web_free(serving->web);
	dfg_tls_free(serving->tls);
	for (size_t i = 0; i < serving->n_served; i++) {
		dfg_live_model_unref(serving->served[i].live);
		pthread_mutex_destroy(&serving->served[i].lock);
	}
	pthread_mutex_destroy(&serving->other.lock);
	pthread_mutex_destroy(&serving->lock);
	pthread_cond_destroy(&serving->work);
	pthread_cond_destroy(&serving->traced);
	dfg_arena_release(&serving->arena);
	dfg_free(serving);
}
