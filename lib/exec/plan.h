#pragma once

#include "lib/base/arena.h"
#include "lib/exec/session.h"
#include "lib/graph/build.h"
#include "lib/graph/kernel.h"

/*
 * Inside of lib/exec: what dfg_session_plan makes and dfg_plan_run runs.
 *
 * A slot is the place of one value within a step: one for each output of each node, then one for each feed. A record is
 * a node: its inputs' slots, then its outputs', stand in plan->slot from record->first on. Records stand in an order in
 * which inputs come first.
 */
struct record {
	dfg_run_fn *run; /* NULL: the role says what to do */
	const struct dfg_call *call;
	uint32_t node; /* in the graph */
	uint32_t first;
	uint32_t first_control, n_control; /* in plan->control: the records to run before */
	uint32_t first_release, n_release; /* in plan->release: slots that nobody reads any more */
	uint16_t n_in, n_out;
	enum dfg_role role : 8;
	bool reads_ref; /* some input is a ref whose value is read */
	bool may_die;   /* a Switch is before it */
};

enum slot_kind {
	SLOT_VALUE, /* a node makes it */
	SLOT_REF,   /* a node makes it, a ref */
	SLOT_CONST, /* there before the step; belongs to the plan */
	SLOT_FEED,  /* belongs to the caller of the step */
};

/* What a step works on. A plan keeps those that no step uses, so that a step begins with everything in place. */
struct context {
	struct context *next;
	struct dfg_plan *plan;
	struct dfg_tensor *tensor;   /* by slot */
	struct dfg_tensor **at;      /* by use: plan->slot as pointers */
	struct dfg_variable **ref;   /* by slot; those of SLOT_REF */
	struct death *death;         /* by record: why it did not run */
	bool *dead;                  /* by slot */
	const struct record *record; /* that runs */
	struct dfg_arena scratch;
};

/* The Switch behind a dead value, and the predicate it saw. */
struct death {
	uint32_t killer; /* its record + 1; 0: the record ran */
	bool predicate;
};

struct dfg_plan {
	struct dfg_session *session;
	struct dfg_plan *next;
	struct dfg_arena arena;
	struct dfg_step step; /* copied */
	struct record *record;
	uint32_t count;
	uint32_t *slot;
	uint32_t uses;
	uint32_t *control;
	uint32_t *release;
	uint8_t *kind;   /* by slot: enum slot_kind */
	uint32_t *maker; /* by slot: the record that makes it */
	uint32_t slots;
	uint32_t *fetch;             /* by fetch: its slot */
	uint32_t first_feed;         /* slot of the first feed */
	struct dfg_fact *feed;       /* by feed: what the graph says of it */
	struct dfg_tensor *constant; /* by slot; those of SLOT_CONST */
	pthread_mutex_t lock;
	struct context *idle;
	struct dfg_stats stats;
};

struct dfg_session {
	const struct dfg_graph *graph;
	struct dfg_session_options options;
	struct dfg_state state;
	pthread_mutex_t lock; /* of plans */
	struct dfg_plan *plans;
};

/* select.c: the nodes that a step needs, inputs first. */
struct selection {
	const struct dfg_graph *graph;
	const struct dfg_step *step;
	struct dfg_arena *scratch;
	uint32_t *node;   /* by place in the order */
	uint32_t *number; /* by node: its place, or DFG_NONE */
	uint32_t count;
};
DFG_MUST_CHECK struct dfg_err *dfg_select(struct selection *selection);

/* The feed that replaces the edge, or DFG_NONE. */
uint32_t dfg_fed(const struct dfg_step *step, struct dfg_edge edge);

/* host.c */
extern const struct dfg_host dfg_exec_host;

/* line.c: an acyclic step, record by record. */
DFG_MUST_CHECK struct dfg_err *dfg_line_run(struct context *context);

/* The Switch that killed a slot that is dead. */
struct death dfg_death_of(const struct context *context, uint32_t slot);

/* context.c */
DFG_MUST_CHECK struct dfg_err *dfg_context_take(struct dfg_plan *plan, struct context **out_context);
void dfg_context_give(struct context *context);
void dfg_context_free(struct context *context);

/* plan.c */
DFG_MUST_CHECK struct dfg_err *dfg_plan_make(
	struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan);
void dfg_plan_release(struct dfg_plan *plan);
