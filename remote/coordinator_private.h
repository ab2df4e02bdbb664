#pragma once

#include "lib/base/pool.h"
#include "remote/coordinator.h"

/* Inside of a crew: coordinator.c has workers, questions and answers, coordinator_plan.c what each does for a step, coordinator_step.c the rest. */
struct packet_place {
	uint32_t worker, node;
};

struct member {
	struct dfg_link *link;
	uint64_t asked; /* the number of what it has not answered yet; 0: nothing */
	struct dfg_packet answer;
	struct dfg_err *err; /* its answer, where that is one */
	bool told;           /* the error is what it was told of another's */
	bool lost;           /* and `why` says how: both are kept under the crew's lock */
	bool ended;          /* and `why` is from who saw its process end */
	struct dfg_err *why;
	_Atomic uint64_t heard; /* ns */
	uint64_t pinged;        /* ns; the number of the ping in flight is in `ping`. Under the lock, as what follows */
	uint64_t ping;
	uint64_t round_ns; /* the shortest there and back; 0: none yet */
	int64_t ahead_ns;  /* how far its clock is before ours */
};

/* A worker's part of a step. */
struct share {
	struct dfg_step step;   /* by the part's numbers */
	uint32_t *feed, *fetch; /* which of the whole step's these are */
	size_t feed_room, fetch_room, target_room;
	uint32_t *target;
	uint32_t plan; /* its number there */
	bool runs;
};
struct crew_plan {
	struct share *share; /* by worker */
	uint32_t n_fetch;
	struct dfg_stats stats;
};

struct dfg_coordinator {
	struct dfg_session_backend fleet; /* first */
	struct dfg_coordinator_options options;
	struct dfg_event event;
	struct dfg_inbox inbox;
	struct member *member;        /* by worker */
	struct dfg_link **asked_link; /* of those who have still to answer: room for all */
	unsigned in_vain;             /* looks at these */
	pthread_mutex_t lock;
	pthread_mutex_t turn; /* one at a time may ask */
	uint64_t asked;       /* numbers given so far */
	uint32_t blamed;      /* the worker whose answer the last error was; DFG_NONE: it was no answer */
	_Atomic uint64_t pings;
	uint64_t step;

	pthread_t guard;
	bool guarded;
	_Atomic uint64_t silence; /* ns after which a worker is lost */
	_Atomic bool broken;      /* a step failed because somebody was lost */
	atomic_bool ended;
	struct dfg_event guard_event;

	const struct dfg_graph *graph;
	const struct dfg_parts *parts;
	struct dfg_arena arena;    /* of the graph */
	struct packet_place *home; /* by node of the graph */
	struct packet_place *send; /* by number of a transfer: its _Send */
	struct crew_plan *plan;
	size_t plans, plan_room;
	struct dfg_traffic *traffic; /* of the last step: from * workers + to */
};

/* A question to a worker; releases the packet. */
void dfg_coordinator_ask(struct dfg_coordinator *crew, uint32_t worker, struct dfg_packet *packet);

/*
 * Waits for all that were asked. An error, or a worker that is lost, of a step fails it on the others, which are given
 * a while to say so. The error is that which came first and was nobody else's; answers are there where it is NULL, and
 * belong to the crew until the next question.
 */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_answers(struct dfg_coordinator *crew, uint64_t step);

/* What can be found out of an error of a step, which the worker answered with. Takes err and gives that, or a better one. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_explain(
	struct dfg_coordinator *crew, const struct crew_plan *plan, uint32_t worker, struct dfg_err *err);

/* The answers are no longer needed. */
void dfg_coordinator_drop_answers(struct dfg_coordinator *crew);

/* dfg_session_backend.plan, and the release of all plans. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_plan(
	struct dfg_session_backend *fleet, const struct dfg_step *step, uint32_t *out_plan);
void dfg_coordinator_drop_plans(struct dfg_coordinator *crew);

/* The rest of the fleet's functions. */
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_run(
	struct dfg_session_backend *fleet, uint32_t plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);
void dfg_coordinator_stats(struct dfg_session_backend *fleet, uint32_t plan, struct dfg_stats *out_stats);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_variables(struct dfg_session_backend *fleet,
	const struct dfg_variable_place *places, uint32_t count, struct dfg_variable_fact *out_facts);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_read(
	struct dfg_session_backend *fleet, const struct dfg_variable_place *place, struct dfg_tensor *out_tensor);
DFG_MUST_CHECK struct dfg_err *dfg_coordinator_assign(
	struct dfg_session_backend *fleet, const struct dfg_variable_place *place, struct dfg_tensor *tensor);
