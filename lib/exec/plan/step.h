#pragma once

#include "lib/base/float_mode.h"
#include "lib/exec/transport/rendezvous.h"
#include "lib/exec/state/spill.h"
#include "lib/graph/graph.h"
#include "lib/graph/kernel.h"

#include <stdatomic.h>

/* A step: its feeds, fetches, targets and options, and its statistics. */

/* Any edge may be fed; a fed node does not run. */
struct dfg_step {
	const struct dfg_edge *feed;
	uint32_t n_feed;
	const struct dfg_edge *fetch;
	uint32_t n_fetch;
	const uint32_t *target; /* nodes run for effect */
	uint32_t n_target;
};

/* The feed that replaces the edge, or DFG_NONE. */
uint32_t dfg_fed(const struct dfg_step *step, struct dfg_edge edge);

/*
 * The output that makes the edge's value: the edge's own, or one of another node that only forwards it. The step
 * requires no more than that.
 */
struct dfg_edge dfg_source(const struct dfg_graph *graph, const struct dfg_step *step, struct dfg_edge edge);

/* A node that ran; or a bucket of gradients whose sum over the shards of a step an update run has read. */
struct dfg_trace_event {
	const char *node, *op, *frame; /* frame: "outer/inner", "" at the root; of a bucket: its first tensor, "", "" */
	const int64_t *iteration;      /* one for each frame, outermost first */
	int depth;
	int thread;
	bool dead;
	bool sends;        /* of a transfer: this event is its sending end */
	uint32_t transfer; /* number of the transfer + 1; 0: the node is not a Send or a Recv between devices */
	uint32_t bucket;   /* number of the bucket + 1; 0: a node */
	/* monotonic clock; of a bucket: the first contribution of this replica, and the end of the update run */
	uint64_t begin_ns, end_ns;
	/* of a bucket: the last contribution of this replica, 0 if its shards have no rows; and the sum */
	uint64_t sent_ns, reduced_ns;
};

/* Callbacks of a running step, on any of its threads, several at once. An error ends the step, and is the step's. */
struct dfg_step_control {
	/* Decides whether the step continues: asked between nodes and in loops, so it must be quick. */
	struct dfg_err *(*check)(void *arg);
	/*
	 * That node has stored an element of a TensorArray, whose buffer is counted: the callee may share it. Elements of
	 * iterations that overlap come in any order. The node waits for the callee, which may block. NULL: nobody is told.
	 */
	struct dfg_err *(*element)(void *arg, const char *node, int64_t index, const struct dfg_tensor *value);
	void *arg;
	/*
	 * The trace of this step; NULL: that of the session. The step keeps its plan, so ops that are computed as one group are one
	 * event, whose node is the last of them and whose op has all their names; a loop that runs as register code is one, too.
	 */
	void (*trace)(void *trace_arg, const struct dfg_trace_event *event);
	void *trace_arg;
};

/*
 * Training steps that take the gradients of some shards only (--sync quorum): of the first that arrive, which several
 * replicas are needed for, or of those that an earlier run has recorded.
 */
struct dfg_quorum {
	uint32_t need; /* shards that a step waits for; less where fewer have rows */
	/* Gives the shards that the next training step takes, by shard; NULL: it takes the first `need`. */
	struct dfg_err *(*replay)(void *arg, uint32_t shards, bool *out_taken);
	/* Called after each training step with the shards that it has taken; `rows`: those that have rows. */
	struct dfg_err *(*taken)(void *arg, uint32_t shards, const bool *taken, uint32_t rows);
	void *arg;
};

struct dfg_session_backend;
struct dfg_session_options {
	int threads;   /* 0: as many as CPU affinity and cgroup allow */
	uint64_t seed; /* seed of random ops */
	bool no_opt;   /* runs the graph as it is: no folding, CSE, fusion or memory reuse */
	/* iterations after which a loop becomes machine code; 0: the number that pays off, UINT64_MAX: it never does */
	uint64_t emit_loops_after;
	bool no_compiled_loops;  /* loops run instruction by instruction */
	uint32_t group_elements; /* fewest elements for which ops are computed as one group; 0: as many as pay */
	bool alone;              /* one step at a time: an op that would wait for another step, at a queue, fails instead */
	enum dfg_denormals denormals; /* the mode of every thread while it computes; calls restore their caller's */
	enum dfg_winograd winograd;   /* of convolutions by weights that are constant in the whole graph */
	bool check_numerics;          /* a NaN or an infinity is an error of the node that made it */
	bool random_schedule;         /* picks among ready nodes at random, by schedule_seed */
	uint64_t schedule_seed;
	int64_t max_iterations;    /* limit for each loop; 0: none */
	double timeout;            /* limit for a step, in seconds; 0: none */
	const atomic_bool *cancel; /* once it is true, steps end with DFG_STOPPED */
	/* called after each node, on any thread; NULL: no trace */
	void (*trace)(void *arg, const struct dfg_trace_event *event);
	void *trace_arg;
	/* number of shards of the batch that is fed to inputs marked _dfg_shard (lib/pass/replicate); 0 and 1: one */
	uint32_t shards;
	bool async;         /* sharded steps are asynchronous: each is of one shard, by itself */
	uint64_t staleness; /* of asynchronous steps: how many steps a replica may be ahead of the slowest; 0: no limit */
	bool copies;        /* some steps use copies of variables: dfg_state_use_copies(). Handles are made in each step */
	const struct dfg_quorum *quorum; /* NULL: steps take all shards. Borrowed */
	/* folder for the spill file of values that loops save, used when memory is near the limit; NULL: no spill */
	const char *swap;
	const struct dfg_mem_limit *limit;    /* required with swap */
	bool profile;                         /* counts what each node costs: lib/exec/plan/profile.h */
	const struct dfg_tensor_files *files; /* for ops that save and restore tensors; NULL: they are refused. Borrowed */
	struct dfg_session_backend
		*backend; /* runs the steps elsewhere, and then applies `cancel` itself; NULL: they run here. Borrowed */
	struct dfg_device *device; /* computes the nodes that it has a kernel for; NULL: the host computes all. Borrowed */
	/* of a worker; whenever a step is run, dfg_rendezvous_begin has been called for it. NULL: no transfers */
	struct dfg_rendezvous *rendezvous;
};

/* Statistics of the last steps of a plan. */
struct dfg_stats {
	size_t peak_bytes;   /* most bytes that the step held at once: its memory block and what was allocated besides */
	size_t live_bytes;   /* most bytes of live values at once: a lower bound for any memory plan */
	size_t packed_bytes; /* weights that kernels keep packed, of all plans of the session */
	uint64_t iterations, dead_tokens, saves, peak_frames;
	uint64_t groups, grouped;   /* groups of ops that were planned to be computed tile by tile, and ops in them */
	struct dfg_spilled swapped; /* of all steps of the session */
	uint64_t left; /* frames, iterations and saved values that are alive after the step; more than 0 is a bug */
};
