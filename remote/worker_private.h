#pragma once

#include "formats/graphdef.h"
#include "lib/base/pool.h"
#include "lib/exec/transport/rendezvous.h"
#include "lib/graph/facts.h"
#include "remote/batch_rows.h"
#include "remote/worker.h"

/* Inside of a worker: worker.c has the links and the requests, worker_part.c the part and its steps. */
struct dfg_worker {
	struct dfg_worker_options options;
	struct dfg_event event; /* a request is there, or the end */
	struct dfg_inbox inbox;
	struct dfg_link *_Atomic launcher; /* NULL: not known yet */
	atomic_bool ended;

	struct dfg_packet words; /* the setup's text */
	struct dfg_arena arena;  /* of the setup */
	struct dfg_worker_config setup;
	const char **device; /* by worker */
	const char **name;   /* by worker, of its host */
	struct dfg_link **link;
	struct dfg_rendezvous *_Atomic rendezvous; /* NULL: not set up yet */
	struct dfg_sent *before;                   /* by worker: when the step began */

	struct dfg_tensor bytes; /* of the part, which borrows from them */
	struct dfg_arena part_arena;
	struct dfg_graph part;
	struct dfg_facts facts;
	struct dfg_session *session;
	struct planned {
		struct dfg_plan *plan;
		uint32_t n_feed, n_fetch;
	} * plan;
	size_t plans, plan_room;

	struct dfg_batch_source *source; /* for as long as the worker is there */
	size_t sources, source_room;

	pthread_mutex_t lock; /* of what follows: a step may be failed by any thread */
	uint64_t running;     /* the step; 0: none */
	uint64_t failed;      /* steps up to here have failed elsewhere */
	atomic_bool told;     /* the running one has */
	atomic_bool stop;

	pthread_mutex_t trace_lock;
	struct dfg_packet events;
	uint64_t n_events;

	bool linked; /* all workers are, to each other */

	pthread_t guard; /* watches the lease */
	bool guarded;
	struct dfg_event guard_event;
	_Atomic uint64_t heard; /* from the launcher, ns */
};

/* Each reads its request, does it, and puts into the answer what was asked for. */
typedef struct dfg_err *dfg_request_fn(
	struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer);
dfg_request_fn dfg_worker_part, dfg_worker_plan, dfg_worker_step, dfg_worker_variables, dfg_worker_read,
	dfg_worker_assign, dfg_worker_source, dfg_worker_cause;

void dfg_worker_drop_part(struct dfg_worker *worker);
void dfg_worker_drop_sources(struct dfg_worker *worker);

/* Ends the running step, if that is it, or one to come. Takes err. */
void dfg_worker_fail(struct dfg_worker *worker, uint64_t step, struct dfg_err *err);
