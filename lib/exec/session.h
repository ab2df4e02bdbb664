#pragma once

#include "lib/exec/state/state.h"
#include "lib/exec/plan/step.h"

/*
 * A session runs steps of one graph. Variables live in it from step to step. Steps may run at once, on any threads.
 *
 *     dfg_session_new -> dfg_session_plan, once for each set of feeds, fetches and targets -> dfg_plan_run, each step
 */
/* The graph is borrowed and must outlive the session; it is not changed. It must have passed dfg_verify. */
struct dfg_session;
DFG_MUST_CHECK struct dfg_err *dfg_session_new(
	const struct dfg_graph *graph, const struct dfg_session_options *options, struct dfg_session **out_session);
void dfg_session_free(struct dfg_session *session); /* NULL is fine; no step may be running */

struct dfg_state *dfg_session_state(struct dfg_session *session);

/*
 * Variables, wherever they are. The state knows them by "container/shared name", or by their node's name where that has
 * neither; `node` is one that makes it, and has run.
 */
struct dfg_variable_place {
	uint32_t node;
	const char *name;
};
struct dfg_variable_fact {
	enum dfg_dtype dtype;   /* DFG_NO_DTYPE: there is none of that name */
	struct dfg_shape shape; /* declared; may be unknown in part */
	bool set;
};
DFG_MUST_CHECK struct dfg_err *dfg_session_variables(struct dfg_session *session,
	const struct dfg_variable_place *places, uint32_t count, struct dfg_variable_fact *out_facts);

/* The value, a reference where it is here; the new value, which it takes, also where it fails. */
DFG_MUST_CHECK struct dfg_err *dfg_session_read(
	struct dfg_session *session, const struct dfg_variable_place *place, struct dfg_tensor *out_tensor);
DFG_MUST_CHECK struct dfg_err *dfg_session_assign(
	struct dfg_session *session, const struct dfg_variable_place *place, struct dfg_tensor *tensor);

/* A tensor in a buffer that the session uses again: for what comes by a link (its sink's room). Any thread. */
DFG_MUST_CHECK struct dfg_err *dfg_session_room(
	struct dfg_session *session, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor);

/*
 * Prunes, infers, optimises, lays out memory. Kept by the session: the same step again gives the same plan. DFG_DATA
 * where it cannot run: an op unknown or without a kernel, a placeholder not fed, shapes that do not fit.
 */
struct dfg_plan;
DFG_MUST_CHECK struct dfg_err *dfg_session_plan(
	struct dfg_session *session, const struct dfg_step *step, struct dfg_plan **out_plan);

/*
 * One step. feeds are borrowed, and checked against what the graph says of them; out_fetches are the caller's to
 * release. An error leaves nothing to release, and variables as the nodes that ran left them.
 */
DFG_MUST_CHECK struct dfg_err *dfg_plan_run(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches);

/* Of the last steps of the plan. */
void dfg_plan_stats(const struct dfg_plan *plan, struct dfg_stats *out_stats);

/*
 * Why the last step of a plan gave nothing, asked after it: a fetch (transfer 0) was dead, or a Send, of the transfer with
 * that number + 1, in that iteration of its loop, sent a dead value. Either a Switch here is why, which words tell; or
 * what came dead from another worker, and in turn has a reason there. Neither is set where nothing is known.
 */
struct dfg_cause {
	uint32_t transfer; /* + 1 */
	int64_t iteration;
	char words[1200]; /* "fetch 'y:0' is dead" of a fetch; "node 'x' (Switch) saw the predicate false" of a Send */
};
void dfg_plan_cause(const struct dfg_plan *plan, uint32_t transfer, int64_t iteration, struct dfg_cause *out_cause);

/*
 * Workers that hold the parts of a session's graph and run its steps: remote/coordinator.h has one. Its functions do what those
 * of the session say, by the graph's own numbers; a plan is a number.
 */
struct dfg_session_backend {
	struct dfg_err *(*plan)(struct dfg_session_backend *fleet, const struct dfg_step *step, uint32_t *out_plan);
	struct dfg_err *(*run)(struct dfg_session_backend *fleet, uint32_t plan, const struct dfg_tensor *feeds,
		struct dfg_tensor *out_fetches);
	void (*stats)(struct dfg_session_backend *fleet, uint32_t plan, struct dfg_stats *out_stats);
	struct dfg_err *(*variables)(struct dfg_session_backend *fleet, const struct dfg_variable_place *places,
		uint32_t count, struct dfg_variable_fact *out_facts);
	struct dfg_err *(*read)(
		struct dfg_session_backend *fleet, const struct dfg_variable_place *place, struct dfg_tensor *out_tensor);
	struct dfg_err *(*assign)(
		struct dfg_session_backend *fleet, const struct dfg_variable_place *place, struct dfg_tensor *tensor);
};
