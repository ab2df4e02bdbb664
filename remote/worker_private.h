#pragma once

#include "formats/graphdef.h"
#include "lib/base/pool.h"
#include "lib/exec/transport/rendezvous.h"
#include "lib/graph/facts.h"
#include "remote/batch_rows.h"
#include "remote/worker.h"

/* Internals of a worker: worker.c has the links and the requests, worker_part.c the part and its steps. */
struct dfg_worker {
	struct dfg_worker_options options;
	struct dfg_event event; /* signalled by a request, or the end */
	struct dfg_inbox inbox;
	struct dfg_link *_Atomic launcher; /* NULL: not known yet */
	atomic_bool ended;

	struct dfg_packet words; /* the configuration request, which owns its text */
	struct dfg_arena arena;  /* memory of the configuration */
	struct dfg_worker_config setup;
	const char **device; /* by worker */
	const char **name;   /* by worker, the name of its host */
	struct dfg_link **link;
	struct dfg_rendezvous *_Atomic rendezvous; /* NULL: not set up yet */
	struct dfg_sent *before;                   /* by worker: bytes and messages sent when the step began */

	struct dfg_tensor bytes; /* the serialized part, which `part` borrows from */
	struct dfg_arena part_arena;
	struct dfg_graph part;
	struct dfg_facts facts;
	struct dfg_session *session;
	struct planned {
		struct dfg_plan *plan;
		uint32_t n_feed, n_fetch;
	} * plan;
	size_t plans, plan_room;

	struct dfg_batch_source *source; /* live as long as the worker */
	size_t sources, source_room;

	pthread_mutex_t lock; /* guards the fields below: any thread may fail a step */
	uint64_t running;     /* the number of the running step; 0: none */
	uint64_t failed;      /* steps up to this number have failed on another worker */
	atomic_bool told;     /* the running step has failed on another worker */
	atomic_bool stop;

	pthread_mutex_t trace_lock;
	struct dfg_packet events;
	uint64_t n_events;

	bool linked; /* all workers are linked to each other */

	pthread_t guard; /* the thread that watches the lease */
	bool guarded;
	struct dfg_event guard_event;
	_Atomic uint64_t heard; /* time of the last message from the launcher, ns */
};

/* Each function reads its request, executes it, and writes the result into the answer. */
typedef struct dfg_err *dfg_request_fn(
	struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer);
dfg_request_fn dfg_worker_part, dfg_worker_plan, dfg_worker_step, dfg_worker_variables, dfg_worker_read,
	dfg_worker_assign, dfg_worker_source, dfg_worker_cause;

void dfg_worker_drop_part(struct dfg_worker *worker);
void dfg_worker_drop_sources(struct dfg_worker *worker);

/* Fails the running step, if it has that number, or a future one. Takes err. */
void dfg_worker_fail(struct dfg_worker *worker, uint64_t step, struct dfg_err *err);
