#pragma once

#include "lib/base/arena.h"
#include "lib/exec/session_private.h"
#include "lib/graph/build.h"
#include "lib/graph/kernel.h"

/*
 * A plan: what dfg_session_plan makes and dfg_plan_run runs.
 *
 * A slot is the place of one value: one for each output of each node, then one for each feed. A node is a node: the
 * slots of its inputs, then of its outputs, stand in plan->slot from node->first on. Records stand in an order in which
 * inputs come first (but for a loop's back edges).
 *
 * There are two ways to run a plan. A activation (run.c) goes node by node, in memory that was laid out before, past
 * branches that were not taken and back where loops go on (schedule.h). A executor (executor.c) moves values as tokens, in any
 * order, through frames and iterations that overlap; it runs what has no such schedule.
 */
struct plan_node {
	dfg_run_fn *run; /* NULL: the role says what to do */
	dfg_row_fn *row; /* what run comes to where all inputs have one shape, or NULL */
	const struct dfg_call *call;
	uint32_t graph_node; /* in the graph */
	uint32_t first;
	uint32_t first_control, n_control; /* in plan->control: the nodes to run before */
	uint16_t n_in, n_out;              /* without the edge from a Save to a Load, which carries nothing */
	uint32_t save;                     /* of a Load: the node of its Save */
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
struct dead_cause {
	uint32_t origin; /* its node + 1; 0: alive */
	int chosen;      /* the output that lived */
	int64_t iteration;
};

/* A cause that may be asked for, and in which run it was. */
struct last_dead {
	struct dead_cause cause;
	int64_t iteration; /* of a Send */
	uint32_t slot;     /* of a fetch */
	uint64_t run;      /* 0: none yet */
};

struct dfg_plan {
	struct dfg_session *session;
	struct dfg_plan *next;
	struct dfg_arena arena;
	struct dfg_step step; /* copied */
	uint32_t elsewhere; /* its number in the session's fleet, which runs it; there are no programs and machines then */
	struct plan_node *node;
	uint32_t count;
	uint32_t *slot;
	uint32_t uses;
	uint32_t *control;
	uint8_t *kind;   /* by slot: enum slot_kind */
	uint32_t *maker; /* by slot: the node that makes it */
	bool *is_ref;    /* by slot; of a preset too */
	uint32_t slots;
	uint32_t *fetch;               /* by fetch: its slot */
	uint32_t first_feed;           /* slot of the first feed */
	struct dfg_inferred *feed;     /* by feed: what the graph says of it */
	struct dfg_tensor *preset;     /* by slot */
	bool loops;                    /* there is a frame */
	bool sleeps;                   /* some node holds no thread while it waits: only an executor can */
	bool transfers;                /* there is a Send or a Recv: the same */
	struct frame_info *frame_info; /* of loops, and of an executor; or NULL */
	struct schedule *schedule;     /* of an activation; NULL for an executor */
	pthread_mutex_t lock;          /* of what follows */
	struct program *programs;      /* the last is for feeds of any shape */
	uint32_t n_programs;
	bool sized; /* all feeds' shapes are known: there is one program */
	struct executor *idle_executor;
	struct dfg_stats stats;
	uint64_t runs; /* of machines */
	struct last_dead dead_fetch;

	/* For tests: which of the n nodes that are ready runs next; 0 of them when nothing is left. */
	struct dfg_err *(*choose)(void *arg, const struct executor *executor, size_t n, size_t *out_next);
	void *choose_arg;
};

/* The slots of a node's input and output i. */
static inline uint32_t dfg_plan_node_in(const struct dfg_plan *plan, const struct plan_node *node, int i)
{
	return plan->slot[node->first + (uint32_t)i];
}
static inline uint32_t dfg_plan_node_out(const struct dfg_plan *plan, const struct plan_node *node, int i)
{
	return plan->slot[node->first + node->n_in + (uint32_t)i];
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

/* words.c: "fc1:0", of a slot, cut where it is long. */
struct dfg_words dfg_slot_words(const struct dfg_plan *plan, uint32_t slot);

/* infer.c: of each slot, with feeds of these shapes (NULL: of any that the graph allows). They live in the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_infer(const struct dfg_plan *plan, const struct dfg_tensor *feeds,
	struct dfg_arena *arena, struct dfg_inferred *out_facts);

/* cause.c: the error for a fetch that is dead. */
DFG_MUST_CHECK struct dfg_err *dfg_dead_fetch(
	const struct dfg_plan *plan, uint32_t fetch, const struct dead_cause *cause);
