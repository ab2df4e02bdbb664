#pragma once

#include "formats/json.h"
#include "remote/derived_key.h"
#include "remote/worker.h"

/*
 * A worker of this process, which a launcher connects to; or several, the lanes of a parameter server:
 *
 *     dfg_working_open -> dfg_working_hello, whose text goes to the launcher -> dfg_working_serve -> dfg_working_close
 */
struct dfg_working;
struct dfg_working_options {
	uint32_t number;                  /* of the first worker in the run */
	uint32_t lanes, stride;           /* the workers of this process, and the difference of their numbers */
	double lease, patience;           /* seconds: of the launcher's silence; until a launcher connects */
	const char *transport, *address;  /* "auto", "libcurl" or "shm"; where to listen: ADDR[:PORT] */
	const char *secret;               /* of the run; borrowed */
	const struct dfg_secret_key *key; /* of which the workers' TLS keys are made, on loopback too; NULL: random keys */
	/* The launcher is lost: the process should end at once. Any thread. */
	void (*orphaned)(void *arg, enum dfg_code code, const char *why);
	void *arg;
};

/* Listens. Lane i listens at the port of the address plus i, if that has one. */
DFG_MUST_CHECK struct dfg_err *dfg_working_open(
	const struct dfg_working_options *options, struct dfg_working **out_working);

/* Adds to an open JSON object where the workers listen: "dfg", "address", "fingerprint", "shm", "products", "lanes". */
void dfg_working_hello(const struct dfg_working *working, struct dfg_json_out *json);

/* Returns when the launcher ends the run, is lost, or has not come. */
DFG_MUST_CHECK struct dfg_err *dfg_working_serve(struct dfg_working *working);

/* As dfg_worker_leave, for the first worker. */
bool dfg_working_leave(struct dfg_working *working);

void dfg_working_close(struct dfg_working *working); /* NULL is allowed */
