#pragma once

#include "lib/base/arena.h"
#include "lib/exec/session_private.h"
#include "lib/graph/build.h"
#include "lib/graph/kernel.h"

/* Whether input 1 of an op that may have weights there is the same in each step, so that what it becomes is kept. */
enum weights_kind {
	WEIGHTS_VARY,
	WEIGHTS_PRESET,   /* a SLOT_PRESET, perhaps forwarded by other nodes */
	WEIGHTS_VARIABLE, /* the value of a variable that no step writes */
};

/*
 * A plan: dfg_session_plan makes it and dfg_plan_run runs it.
 *
 * A slot holds one value: there is one for each output of each node, then one for each feed. plan->slot lists, from
 * node->first on, the slots of a node's inputs and then those of its outputs. Nodes are in topological order (except
 * for a loop's back edges).
 *
 * There are two ways to run a plan. The linear executor (linear/run.c) runs node after node in memory that was planned
 * before, jumps over branches that were not taken, and jumps back at the end of a loop's iteration (schedule.h). The
 * dataflow executor (dataflow/executor.c) moves values as tokens, in any order, through frames and iterations that
 * overlap; it runs the plans for which there is no schedule.
 */
struct plan_node {
	dfg_run_fn *run; /* NULL: the node's role says what to do */
	dfg_row_fn *row; /* elementwise kernel, equivalent to `run` if all inputs have the same shape; or NULL */
	const struct dfg_device_kernel *device_kernel; /* of the session's device; NULL: the host computes it */
	const struct dfg_resolved_node *call;
	uint32_t graph_node; /* number of the node in the graph */
	uint32_t first;
	uint32_t first_control, n_control; /* range of plan->control: nodes that must run before this one */
	uint16_t n_in, n_out;              /* without the edge from a Save to its Load, which carries no value */
	uint32_t save;                     /* of a Load: plan node of its Save */
	enum dfg_role role : 8;
	bool reads_ref;   /* an input is a ref whose value is read */
	bool may_die;     /* a Switch precedes it: its outputs may be dead */
	bool tells_index; /* a Merge whose value_index output is used */
	bool
		may_agree; /* a Merge with an input that is constant or such a Merge: a second live input is not an error if both values are equal */
	uint8_t fallback; /* a Merge's input, + 1, that is taken only if all others are dead; 0: it has none */
	enum weights_kind weights : 8;
	bool constant_weights; /* they are constant in the whole graph, of which this one may be a part */
	bool in_place;         /* its kernel may write an output into the buffer of an input */
	bool preset;           /* runs once, when the plan is made: its outputs are SLOT_PRESET */
};

enum slot_kind {
	SLOT_VALUE,
	SLOT_REF,    /* a ref: see dfg_ref_make */
	SLOT_PRESET, /* has its value before the step; owned by the plan. Constants and handles */
	SLOT_FEED,   /* owned by the caller of the step */
};

/* The cause of a dead value: the Switch, the output that it chose instead, and the iteration of its loop. */
struct dead_cause {
	uint32_t origin; /* the Switch's plan node + 1; 0: the value is live */
	int chosen;      /* number of the output that was live */
	int64_t iteration;
};

/* The last dead value of a fetch or a Send, kept for dfg_plan_cause. */
struct last_dead {
	struct dead_cause cause;
	int64_t iteration; /* of a Send: the iteration that it was in */
	uint32_t slot;     /* of a fetch: its slot */
	uint64_t run;      /* number of the run (plan->runs) in which it was dead; 0: none yet */
};

struct dfg_plan {
	struct dfg_session *session;
	struct dfg_plan *next;
	struct dfg_arena arena;
	struct dfg_step step; /* copied */
	/* number of the plan in the session's backend, which runs it: there are no programs and executors then */
	uint32_t backend_plan;
	struct replica *replica; /* of a step that is sharded, which has plans of its own; NULL: it is not */
	struct plan_node *node;
	uint32_t count;
	uint32_t *slot;
	uint32_t uses;
	uint32_t *control;
	uint8_t *kind;   /* enum slot_kind, by slot */
	uint32_t *maker; /* plan node that makes the value, by slot */
	bool *is_ref;    /* whether the value is a ref, by slot; also for a preset */
	uint32_t slots;
	uint32_t *fetch;               /* slot of each fetch */
	uint32_t first_feed;           /* slot of the first feed; those of the others follow */
	struct dfg_inferred *feed;     /* dtype and shape that the graph declares, by feed */
	bool *device_reads;            /* by slot: a kernel of the session's device reads it. NULL: there is no device */
	struct dfg_tensor *preset;     /* value of a SLOT_PRESET, by slot; owned */
	bool loops;                    /* there is a loop */
	bool sleeps;                   /* a node suspends without holding a thread, which requires the dataflow executor */
	bool transfers;                /* there is a Send or a Recv, which requires the dataflow executor */
	struct frame_info *frame_info; /* for loops and the dataflow executor; or NULL */
	struct schedule *schedule;     /* for the linear executor; NULL if the dataflow executor runs the plan */
	pthread_mutex_t lock;          /* protects the fields after it */
	struct program *programs;      /* list; the last is for feeds of any shape */
	uint32_t n_programs;
	bool sized; /* the shapes of all feeds are known: there is one program */
	struct executor *idle_executor;
	struct dfg_stats stats;
	uint64_t runs; /* steps that the dataflow executor has begun */
	struct last_dead dead_fetch;

	/* For tests: chooses which of the n ready nodes runs next; called with n == 0 when no node is ready. */
	struct dfg_err *(*choose)(void *arg, const struct executor *executor, size_t n, size_t *out_next);
	void *choose_arg;
};

static inline bool dfg_is_fallback(const struct plan_node *node, uint32_t input)
{
	return node->fallback == input + 1;
}

/* The slot of a node's input or output i. */
static inline uint32_t dfg_plan_node_in(const struct dfg_plan *plan, const struct plan_node *node, int i)
{
	return plan->slot[node->first + (uint32_t)i];
}
static inline uint32_t dfg_plan_node_out(const struct dfg_plan *plan, const struct plan_node *node, int i)
{
	return plan->slot[node->first + node->n_in + (uint32_t)i];
}

/* prune.c: the nodes that a step requires, in topological order. */
struct selection {
	const struct dfg_graph *graph;
	const struct dfg_step *step;
	struct dfg_arena *scratch;
	uint32_t *node;   /* graph node, by position in the order */
	uint32_t *number; /* position in the order, by graph node; or DFG_NONE */
	uint32_t count;
};
DFG_MUST_CHECK struct dfg_err *dfg_select(struct selection *selection);

/* words.c: the name of a slot, such as "fc1:0", truncated if long. */
struct dfg_words dfg_slot_words(const struct dfg_plan *plan, uint32_t slot);

/*
 * infer.c: the inferred type of each slot for feeds of these shapes (NULL: any that the graph allows). Allocated in
 * arena.
 */
DFG_MUST_CHECK struct dfg_err *dfg_plan_infer(const struct dfg_plan *plan, const struct dfg_tensor *feeds,
	struct dfg_arena *arena, struct dfg_inferred *out_facts);

/* cause.c: the error for a dead fetch. */
DFG_MUST_CHECK struct dfg_err *dfg_dead_fetch(
	const struct dfg_plan *plan, uint32_t fetch, const struct dead_cause *cause);
