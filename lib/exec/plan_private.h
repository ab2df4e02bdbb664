#pragma once

#include "lib/base/arena.h"
#include "lib/base/pool.h"
#include "lib/exec/state/buffer_pool.h"
#include "lib/exec/session.h"
#include "lib/graph/build.h"
#include "lib/graph/kernel.h"

/*
 * Inside of lib/exec: what dfg_session_plan makes and dfg_plan_run runs.
 *
 * A slot is the place of one value: one for each output of each node, then one for each feed. A record is a node: the
 * slots of its inputs, then of its outputs, stand in plan->slot from record->first on. Records stand in an order in which
 * inputs come first (but for a loop's back edges).
 *
 * There are two ways to run a plan. A line (run.c) goes record by record, in memory that was laid out before, past
 * branches that were not taken and back where loops go on (schedule.h). A machine (executor.c) moves values as tokens, in any
 * order, through frames and iterations that overlap; it runs what has no such course.
 */
struct record {
	dfg_run_fn *run; /* NULL: the role says what to do */
	dfg_row_fn *row; /* what run comes to where all inputs have one shape, or NULL */
	const struct dfg_call *call;
	uint32_t node; /* in the graph */
	uint32_t first;
	uint32_t first_control, n_control; /* in plan->control: the records to run before */
	uint16_t n_in, n_out;              /* without the edge from a Save to a Load, which carries nothing */
	uint32_t save;                     /* of a Load: the record of its Save */
	enum dfg_role role : 8;
	bool reads_ref;   /* some input is a ref whose value is read */
	bool may_die;     /* a Switch is before it */
	bool tells_index; /* a Merge of which somebody reads the number of the live input */
	bool may_agree;   /* a Merge of a constant: another live input is no error where it says the same */
	bool in_place;    /* its kernel may write an output into an input's room */
	bool preset;      /* runs once, with the plan: its outputs are SLOT_PRESET */
};

enum slot_kind {
	SLOT_VALUE,
	SLOT_REF,    /* a ref: see dfg_ref_make */
	SLOT_PRESET, /* there before the step; belongs to the plan. Constants and handles */
	SLOT_FEED,   /* belongs to the caller of the step */
};

/* The Switch behind a dead value, what it chose instead, and in which iteration of its loop. */
struct death {
	uint32_t killer; /* its record + 1; 0: alive */
	int chosen;      /* the output that lived */
	int64_t iteration;
};

/* A death that may be asked for, and in which run it was. */
struct fate {
	struct death death;
	int64_t iteration; /* of a Send */
	uint32_t slot;     /* of a fetch */
	uint64_t run;      /* 0: none yet */
};

struct dfg_plan {
	struct dfg_session *session;
	struct dfg_plan *next;
	struct dfg_arena arena;
	struct dfg_step step; /* copied */
	uint32_t elsewhere;   /* its number in the session's fleet, which runs it; there are no layouts and machines then */
	struct record *record;
	uint32_t count;
	uint32_t *slot;
	uint32_t uses;
	uint32_t *control;
	uint8_t *kind;   /* by slot: enum slot_kind */
	uint32_t *maker; /* by slot: the record that makes it */
	bool *is_ref;    /* by slot; of a preset too */
	uint32_t slots;
	uint32_t *fetch;           /* by fetch: its slot */
	uint32_t first_feed;       /* slot of the first feed */
	struct dfg_fact *feed;     /* by feed: what the graph says of it */
	struct dfg_tensor *preset; /* by slot */
	bool loops;                /* there is a frame */
	bool sleeps;               /* some record holds no thread while it waits: only a machine can */
	bool transfers;            /* there is a Send or a Recv: the same */
	struct flow *flow;         /* of loops, and of a machine; or NULL */
	struct course *course;     /* of a line; NULL for a machine */
	pthread_mutex_t lock;      /* of what follows */
	struct layout *layouts;    /* the last is for feeds of any shape */
	uint32_t n_layouts;
	bool sized; /* all feeds' shapes are known: there is one layout */
	struct machine *idle_machine;
	struct dfg_stats stats;
	uint64_t runs; /* of machines */
	struct fate dead_fetch;

	/* For tests: which of the n records that are ready runs next; 0 of them when nothing is left. */
	struct dfg_err *(*choose)(void *arg, const struct machine *machine, size_t n, size_t *out_next);
	void *choose_arg;
};

struct dfg_session {
	const struct dfg_graph *graph;
	struct dfg_session_options options;
	struct dfg_state state;
	struct buffers *buffers;
	struct dfg_pool *pool;
	struct dfg_swap *swap; /* NULL: none was asked for */
	pthread_mutex_t lock;  /* of plans */
	struct dfg_plan *plans;
};

/* The slots of a record's input and output i. */
static inline uint32_t dfg_record_in(const struct dfg_plan *plan, const struct record *record, int i)
{
	return plan->slot[record->first + (uint32_t)i];
}
static inline uint32_t dfg_record_out(const struct dfg_plan *plan, const struct record *record, int i)
{
	return plan->slot[record->first + record->n_in + (uint32_t)i];
}

/* prune.c: the nodes that a step needs, inputs first. */
struct selection {
	const struct dfg_graph *graph;
	const struct dfg_step *step;
	struct dfg_arena *scratch;
	uint32_t *node;   /* by place in the order */
	uint32_t *number; /* by node: its place, or DFG_NONE */
	uint32_t count;
};
DFG_MUST_CHECK struct dfg_err *dfg_select(struct selection *selection);

/* assembly.c */
DFG_MUST_CHECK struct dfg_err *dfg_plan_make(
	struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan);
void dfg_plan_release(struct dfg_plan *plan);

/* words.c: "fc1:0", of a slot, cut where it is long. */
struct dfg_words dfg_slot_words(const struct dfg_plan *plan, uint32_t slot);

/*
 * services.c: what runs kernels. A runner is used by one thread at a time. A ref travels as a tensor without a buffer whose
 * data is the variable, and whose dtype is DFG_NO_DTYPE.
 */
struct runner {
	struct dfg_session *session;
	const struct record *record;
	uint32_t in_place; /* bit i: nobody else reads input i, its room may become an output's */
	char *scratch;     /* kept from kernel to kernel; what does not fit has blocks of its own */
	size_t scratch_room, scratch_used;
	struct extra *extra;
	bool took;               /* a kernel took, or gave, a buffer: set only */
	struct machine *machine; /* that it works for; NULL: a line */
	struct dfg_err *(*pause)(struct runner *runner, struct dfg_pause **out_pause); /* of the machine; NULL: none */
	struct dfg_pause *paused,
		*pausing; /* of the kernel that runs: the pause it comes after, and the one it asked for */
};
void dfg_runner_release(struct runner *runner);
static inline bool dfg_is_ref(const struct dfg_tensor *tensor)
{
	return !tensor->dtype && tensor->data;
}

/* Runs the record's kernel. Refs among the inputs that are read give their value at this moment. */
DFG_MUST_CHECK struct dfg_err *dfg_runner_run(
	struct runner *runner, const struct record *record, struct dfg_tensor *const *in, struct dfg_tensor *const *out);

/* The guard alone, of a record whose row is called by itself. */
DFG_MUST_CHECK struct dfg_err *dfg_runner_guard(
	struct runner *runner, const struct record *record, struct dfg_tensor *const *in, struct dfg_tensor *const *out);

/* to becomes what from is, with a reference of its own where the buffer is counted; or the value of a ref. */
DFG_MUST_CHECK struct dfg_err *dfg_pass(const struct dfg_tensor *from, bool as_ref, struct dfg_tensor *to);

/* The output of a Switch that lives: by a bool, or by a number of which those out of range mean the last. */
DFG_MUST_CHECK struct dfg_err *dfg_choose(const struct dfg_tensor *predicate, int n_out, int *out_chosen);

/* The same bits. TensorFlow's own gradients merge a constant with what is sometimes dead: see record.may_agree. */
bool dfg_same_value(const struct dfg_tensor *one, const struct dfg_tensor *two);

/* A scalar with a buffer of its own. */
DFG_MUST_CHECK struct dfg_err *dfg_scalar(
	struct dfg_session *session, enum dfg_dtype dtype, struct dfg_tensor *out_tensor);

/* cause.c: the error for a fetch that is dead. */
DFG_MUST_CHECK struct dfg_err *dfg_dead_fetch(const struct dfg_plan *plan, uint32_t fetch, const struct death *death);

/* limits.c: what may end a step early, and what is seen of a node that ran. */
struct watch {
	const struct dfg_session_options *options;
	uint64_t deadline; /* of the monotonic clock, in ns; 0: none */
	bool on;           /* there is something to check from node to node */
};
void dfg_watch_begin(struct watch *watch, const struct dfg_session_options *options);
DFG_MUST_CHECK struct dfg_err *dfg_watch_check(const struct watch *watch);
DFG_MUST_CHECK struct dfg_err *dfg_check_numerics(const struct dfg_call *call, struct dfg_tensor *const *out);

/* run.c */
DFG_MUST_CHECK struct dfg_err *dfg_line_run(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);

/* Makes the layout for feeds of any shape, so that what cannot fit is found before the first step. */
DFG_MUST_CHECK struct dfg_err *dfg_layouts_begin(struct dfg_plan *plan);
void dfg_layouts_free(struct dfg_plan *plan);

/* frame_info.c: what a machine needs of a plan. */
DFG_MUST_CHECK struct dfg_err *dfg_flow_make(struct dfg_plan *plan, struct dfg_arena *scratch);
void dfg_flow_free(struct flow *flow); /* NULL is fine */

/* executor.c */
DFG_MUST_CHECK struct dfg_err *dfg_machine_run(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);
void dfg_machines_free(struct dfg_plan *plan);
