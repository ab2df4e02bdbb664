#include "lib/base/pool.h"
#include "remote/http_links_private.h"
#include "remote/nghttp2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two ends in this process, linked over loopback: each message is sent back. */
enum { TRIPS = 500, BULKS = 3, BULK = 64 << 20, STALL_MS = 500 };

/* ThreadSanitizer checks each byte: 0.1 s can become 10 s on a busy machine. */
#ifdef __SANITIZE_THREAD__
enum { WAIT_MS = 120000 };
#else
enum { WAIT_MS = 10000 };
#endif

struct side {
	struct dfg_http_links *http;
	struct dfg_link *link;
	bool echoes;
	_Atomic uint32_t came;
	struct dfg_event event;
	struct dfg_message last;
	_Atomic(struct dfg_err *) why; /* the link was lost, or could not send */
};

static void fail(struct side *side, struct dfg_err *err)
{
	struct dfg_err *none = NULL;
	if (!err)
		return;
	if (!atomic_compare_exchange_strong(&side->why, &none, err))
		dfg_err_free(err);
	dfg_event_signal(&side->event);
}

static void deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct side *side = arg;
	(void)peer;
	if (side->echoes) {
		fail(side, side->link->kind->send(side->link, message));
		dfg_tensor_release(&message->tensor);
		return;
	}
	dfg_tensor_release(&side->last.tensor);
	side->last = *message;
	atomic_fetch_add(&side->came, 1);
	dfg_event_signal(&side->event);
}

static void lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	(void)peer;
	fail(arg, err);
}

static struct dfg_err *await(struct side *side, uint32_t came)
{
	uint64_t until = dfg_now() + (uint64_t)WAIT_MS * 1000000;
	const struct dfg_err *why;
	while (!(why = atomic_load(&side->why))) {
		uint32_t seen = atomic_load(&side->event.word);
		if (atomic_load(&side->came) >= came)
			return NULL;
		if (dfg_now() > until)
			return DFG_ERR(DFG_DEADLINE, "a tensor sent over the link did not come back within %d s", WAIT_MS / 1000);
		dfg_event_wait_until(&side->event, seen, until);
	}
	return DFG_ERR(why->code, "%s", why->text);
}

/* Nanoseconds of a round trip of the tensor, which must come back unchanged. */
static struct dfg_err *round_trip(struct side *side, const struct dfg_tensor *tensor, uint64_t *out_ns)
{
	struct dfg_message message = {.tensor = *tensor};
	uint32_t before = atomic_load(&side->came);
	uint64_t begin = dfg_now();
	DFG_TRY(side->link->kind->send(side->link, &message));
	DFG_TRY(await(side, before + 1));
	*out_ns = dfg_now() - begin;
	if (dfg_tensor_bytes(&side->last.tensor) != dfg_tensor_bytes(tensor) ||
		memcmp(side->last.tensor.data, tensor->data, dfg_tensor_bytes(tensor)))
		return DFG_ERR(DFG_PROTOCOL, "a tensor sent over the link came back with different bytes");
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The median; *stalls is increased by the number of slow round round_trips. */
static struct dfg_err *median_round_trip(
	struct side *side, int64_t elements, int round_trips, uint64_t *out_ns, uint32_t *out_stalls)
{
	uint64_t ns[TRIPS];
	struct dfg_tensor tensor;
	struct dfg_err *err = dfg_tensor_new(DFG_I32, &DFG_SHAPE_VECTOR(elements), &tensor);
	for (int64_t i = 0; !err && i < elements; i++)
		((uint32_t *)tensor.data)[i] = (uint32_t)i * 2654435761u;
	for (int i = 0; !err && i < round_trips; i++) {
		err = round_trip(side, &tensor, &ns[i]);
		*out_stalls += !err && ns[i] > (uint64_t)STALL_MS * 1000000 && elements == 1;
	}
	dfg_tensor_release(&tensor);
	if (err)
		return err;
	qsort(ns, (size_t)round_trips, sizeof *ns, by_value);
	*out_ns = ns[round_trips / 2];
	return NULL;
}

static struct dfg_err *open_side(struct side *side, uint32_t self, const char *secret)
{
	struct dfg_http_links_options options = {.self = self,
		.address = "127.0.0.1",
		.secret = secret,
		.lease_ms = WAIT_MS,
		.sink = {.arg = side, .deliver = deliver, .lost = lost}};
	return dfg_http_links_new(&options, &side->http);
}

static struct dfg_err *open_pair(struct side side[2])
{
	char secret[DFG_SECRET_SIZE];
	DFG_TRY(dfg_secret_make(secret));
	for (uint32_t i = 0; i < 2; i++)
		DFG_TRY(open_side(&side[i], i, secret));
	for (uint32_t i = 0; i < 2; i++)
		DFG_TRY(
			dfg_http_links_connect(side[i].http, 1 - i, dfg_http_links_address(side[1 - i].http), NULL, &side[i].link));
	for (uint32_t i = 0; i < 2; i++)
		DFG_TRY(dfg_http_links_wait(side[i].link, WAIT_MS));
	return NULL;
}

static struct dfg_err *measure(struct side *side, struct dfg_http_links_report *report)
{
	uint64_t ns;
	DFG_TRY(median_round_trip(side, 1, TRIPS, &ns, &report->stalls));
	report->round_trip_us = (double)ns / 1e3;
	DFG_TRY(median_round_trip(side, BULK / 4, BULKS, &ns, &report->stalls));
	report->bulk_bytes_per_s = 2.0 * BULK / ((double)ns / 1e9);
	return NULL;
}

static struct dfg_err *measure_pair(struct dfg_http_links_report *report)
{
	struct side *side = dfg_zeros(2, sizeof *side);
	if (!side)
		return dfg_no_memory("the self-test");
	side[1].echoes = true;
	struct dfg_err *err = open_pair(side);
	if (!err)
		err = measure(&side[0], report);
	for (int i = 0; i < 2; i++)
		dfg_http_links_free(side[i].http);
	for (int i = 0; i < 2; i++) {
		dfg_tensor_release(&side[i].last.tensor);
		dfg_err_free(side[i].why);
	}
	dfg_free(side);
	return err;
}

struct dfg_err *dfg_http_links_self_test(bool quick, struct dfg_http_links_report *out_report)
{
	struct dfg_http_links_report report = {0};
	DFG_TRY(dfg_library_open(&dfg_nghttp2));
	snprintf(report.nghttp2, sizeof report.nghttp2, "%s", dfg_nghttp2_version(0)->version_str);
	DFG_TRY(dfg_client_versions(report.curl, report.openssl));
	if (!quick)
		DFG_TRY(measure_pair(&report));
	*out_report = report;
	return NULL;
}
