#pragma once

#include "lib/base/pool.h"
#include "lib/exec/plan/profile.h"
#include "lib/exec/session.h"
#include "lib/exec/state/buffer_pool.h"
#include "lib/exec/state/prepared.h"

/* A session, private to lib/exec. */
struct dfg_session {
	const struct dfg_graph *graph;
	struct dfg_session_options options;
	struct dfg_state state;
	struct buffer_pool *buffers;
	struct dfg_pool *pool;
	struct prepared_blocks *prepared;
	struct dfg_spill *spill;    /* NULL: no spill file was requested */
	struct profile_clock clock; /* at the beginning */
	pthread_mutex_t lock;       /* protects `plans` */
	struct dfg_plan *plans;
};

/* assembly.c */
DFG_MUST_CHECK struct dfg_err *dfg_plan_make(
	struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan);
void dfg_plan_release(struct dfg_plan *plan);

/* DFG_DATA if the feeds do not have the types that the graph declares. */
DFG_MUST_CHECK struct dfg_err *dfg_plan_check_feeds(const struct dfg_plan *plan, const struct dfg_tensor *feeds);

/* Copies a step's lists into the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_step_copy(struct dfg_arena *arena, const struct dfg_step *from, struct dfg_step *to);
