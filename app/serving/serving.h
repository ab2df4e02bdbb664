#pragma once

#include "app/execution.h"
#include "app/names.h"
#include "app/report.h"
#include "lib/base/text.h"

/* A model server: graphs with their variables answer requests over HTTP (remote/web/web.h moves the bytes). */
struct dfg_serving;

struct dfg_serving_options {
	const char **model; /* "[NAME=]GRAPH[:SRC]", NULL-terminated; SRC: the source of its variables */
	struct dfg_words_list load, map;
	bool partial;
	struct dfg_words_list feed, fetch; /* the inputs and outputs of each model; empty: those that it declares */
	const char *host;                  /* a numeric address */
	int64_t port;                      /* 0: a free one */
	const char *tls_cert, *tls_key;    /* files in PEM; NULL: no TLS */
	bool insecure;                     /* listen on an address that is not loopback, without TLS */
	const char *token_file;            /* its first line must be in each request; NULL: none */
	bool stateful;                     /* models may write state; their steps run one at a time */
	bool open_health;                  /* health paths are answered without the token */
	int64_t most_batch;                /* rows of a step that requests share; 1: they share none */
	double most_delay;                 /* milliseconds for which a request waits for others to share its step */
	int64_t queue;                     /* most requests that wait for a model */
	int64_t most_streams;              /* at once */
	uint64_t most_body, most_head;     /* bytes of a request */
	uint64_t most_answers; /* bytes of all answers that clients have not taken; beyond it, requests are refused */
	int64_t most_connections;
	double timeout; /* seconds, of a step, and of the time to a whole request */
	const struct dfg_execution *execution;
	const struct dfg_report *report;
};

/*
 * Opens the models. DFG_USAGE for options that contradict each other, DFG_DATA for a model that cannot be served,
 * DFG_REFUSED for a token file that others may read. The options and what they refer to are borrowed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_serving_open(
	const struct dfg_serving_options *options, struct dfg_serving **out_serving);

/* Listens. DFG_UNAVAILABLE if the address cannot be bound. */
DFG_MUST_CHECK struct dfg_err *dfg_serving_listen(struct dfg_serving *serving);

/* Adds a line for each model that says whether requests share steps, and otherwise the node that forbids it. */
void dfg_serving_explain(const struct dfg_serving *serving, struct dfg_text *text);

/* "127.0.0.1:8080" */
const char *dfg_serving_address(const struct dfg_serving *serving);

/* "http" or "https" */
const char *dfg_serving_scheme(const struct dfg_serving *serving);

/* The name of the i-th model; NULL after the last. */
const char *dfg_serving_model(const struct dfg_serving *serving, size_t i);

/*
 * Loads the newest weights of each model, while the old ones answer, and the certificate. A model that cannot be loaded is
 * reported, and its old weights stay; so is a certificate.
 */
void dfg_serving_reload(struct dfg_serving *serving);

/* The same for each model whose sources have changed since they were last looked at. */
void dfg_serving_watch(struct dfg_serving *serving);

/* Accepts no more requests, and waits until those that came are answered, for `seconds` at most. */
void dfg_serving_drain(struct dfg_serving *serving, double seconds);

void dfg_serving_free(struct dfg_serving *serving); /* NULL is fine */
