#include "lib/exec/session.h"

#include "lib/exec/plan.h"

#include <string.h>

struct dfg_err *dfg_session_new(
	const struct dfg_graph *graph, const struct dfg_session_options *options, struct dfg_session **out_session)
{
	struct dfg_session *session = dfg_zeros(1, sizeof *session);
	if (!session)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	session->graph = graph;
	if (options)
		session->options = *options;
	struct dfg_err *err = dfg_state_init(&session->state);
	if (!err && pthread_mutex_init(&session->lock, NULL)) {
		dfg_state_release(&session->state);
		err = DFG_ERR(DFG_MEMORY, "out of memory");
	}
	if (err)
		dfg_free(session);
	else
		*out_session = session;
	return err;
}

void dfg_session_free(struct dfg_session *session)
{
	if (!session)
		return;
	while (session->plans) {
		struct dfg_plan *plan = session->plans;
		session->plans = plan->next;
		dfg_plan_release(plan);
		dfg_free(plan);
	}
	dfg_state_release(&session->state);
	pthread_mutex_destroy(&session->lock);
	dfg_free(session);
}

struct dfg_state *dfg_session_state(struct dfg_session *session)
{
	return &session->state;
}

static bool same_edges(const struct dfg_edge *a, uint32_t n_a, const struct dfg_edge *b, uint32_t n_b)
{
	if (n_a != n_b)
		return false;
	for (uint32_t i = 0; i < n_a; i++)
		if (a[i].node != b[i].node || a[i].port != b[i].port)
			return false;
	return true;
}

static bool same_step(const struct dfg_step *a, const struct dfg_step *b)
{
	return same_edges(a->feed, a->n_feed, b->feed, b->n_feed) &&
		   same_edges(a->fetch, a->n_fetch, b->fetch, b->n_fetch) && a->n_target == b->n_target &&
		   (!a->n_target || !memcmp(a->target, b->target, a->n_target * sizeof *a->target));
}

static struct dfg_err *find_or_make(
	struct dfg_session *session, const struct dfg_step *step, struct dfg_plan **out_plan)
{
	for (struct dfg_plan *plan = session->plans; plan; plan = plan->next)
		if (same_step(&plan->step, step)) {
			*out_plan = plan;
			return NULL;
		}
	struct dfg_plan *plan = dfg_zeros(1, sizeof *plan);
	if (!plan)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	struct dfg_err *err = dfg_plan_make(session, step, plan);
	if (err) {
		dfg_free(plan);
		return err;
	}
	plan->next = session->plans;
	*out_plan = session->plans = plan;
	return NULL;
}

struct dfg_err *dfg_session_plan(struct dfg_session *session, const struct dfg_step *step, struct dfg_plan **out_plan)
{
	pthread_mutex_lock(&session->lock);
	struct dfg_err *err = find_or_make(session, step, out_plan);
	pthread_mutex_unlock(&session->lock);
	return err;
}

static struct dfg_err *bind_feeds(struct context *context, const struct dfg_tensor *feeds)
{
	const struct dfg_plan *plan = context->plan;
	for (uint32_t i = 0; i < plan->step.n_feed; i++) {
		const struct dfg_fact *fact = &plan->feed[i];
		if (feeds[i].dtype != fact->dtype || !dfg_shape_fits(&feeds[i].shape, &fact->shape))
			return DFG_ERR(DFG_DATA, "feed '%s:%d' is %s, must be %s",
				plan->session->graph->node[plan->step.feed[i].node].name, plan->step.feed[i].port,
				dfg_type_words(feeds[i].dtype, &feeds[i].shape).s, dfg_type_words(fact->dtype, &fact->shape).s);
		context->tensor[plan->first_feed + i] = feeds[i];
	}
	return NULL;
}

static struct dfg_err *dead_fetch(const struct context *context, uint32_t i)
{
	const struct dfg_plan *plan = context->plan;
	struct dfg_edge edge = plan->step.fetch[i];
	struct death death = dfg_death_of(context, plan->fetch[i]);
	return DFG_ERR(DFG_DATA, "fetch '%s:%d' is dead: the predicate of %s was %s",
		plan->session->graph->node[edge.node].name, edge.port, plan->record[death.killer - 1].call->node,
		death.predicate ? "true" : "false");
}

static struct dfg_err *give_fetch(struct context *context, uint32_t i, struct dfg_tensor *out_fetch)
{
	uint32_t slot = context->plan->fetch[i];
	if (context->dead[slot])
		return dead_fetch(context, i);
	if (context->plan->kind[slot] == SLOT_REF)
		return dfg_variable_read(context->ref[slot], out_fetch);
	return dfg_tensor_share(&context->tensor[slot], out_fetch);
}

static struct dfg_err *give_fetches(struct context *context, struct dfg_tensor *out_fetches)
{
	for (uint32_t i = 0; i < context->plan->step.n_fetch; i++) {
		struct dfg_err *err = give_fetch(context, i, &out_fetches[i]);
		if (!err)
			continue;
		while (i--)
			dfg_tensor_release(&out_fetches[i]);
		return err;
	}
	return NULL;
}

struct dfg_err *dfg_plan_run(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct context *context;
	DFG_TRY(dfg_context_take(plan, &context));
	struct dfg_err *err = bind_feeds(context, feeds);
	if (!err)
		err = dfg_line_run(context);
	if (!err)
		err = give_fetches(context, out_fetches);
	dfg_context_give(context);
	return err;
}

void dfg_plan_stats(const struct dfg_plan *plan, struct dfg_stats *out_stats)
{
	*out_stats = plan->stats;
}
