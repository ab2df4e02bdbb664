#include "remote/coordinator_private.h"

/* Why a run has ended: what is known of the workers that are lost. */

static struct dfg_err *copy(const struct dfg_err *err)
{
	struct dfg_err *all = NULL;
	for (; err; err = err->next)
		all = dfg_err_join(all, DFG_ERR(err->code, "%s", err->text));
	return all;
}

/* A link is lost when its process ends, shortly before the watcher can report how it ended. */
static void wait_for_explanation(struct dfg_coordinator *coordinator, uint32_t worker)
{
	uint64_t until = dfg_now() + 500000000;
	while (coordinator->options.watched && dfg_now() < until) {
		uint32_t seen = atomic_load(&coordinator->event.word);
		pthread_mutex_lock(&coordinator->lock);
		bool ended = coordinator->state[worker].ended;
		pthread_mutex_unlock(&coordinator->lock);
		if (ended)
			return;
		dfg_event_wait_until(&coordinator->event, seen, until);
	}
}

static bool is_lost_part(struct dfg_coordinator *coordinator, uint32_t worker)
{
	return dfg_coordinator_has_lost(coordinator, worker) && dfg_coordinator_takes_part(coordinator, worker);
}

/* Joins an error with the names of the other workers that are lost by now. */
static struct dfg_err *name_others(struct dfg_coordinator *coordinator, uint32_t first, struct dfg_err *err)
{
	enum { NAMED = 8 };
	struct dfg_text names = {0};
	uint32_t others = 0;
	for (uint32_t i = first + 1; i < coordinator->options.workers; i++)
		if (is_lost_part(coordinator, i) && ++others <= NAMED)
			dfg_text_add(&names, "%s%s", others > 1 ? ", " : "", coordinator->options.peer[i].name);
	if (others > NAMED)
		dfg_text_add(&names, " and %u more", others - NAMED);
	if (err && names.length && !names.short_of_memory)
		err = dfg_err_join(err, DFG_ERR(err->code, "also lost: %s", names.s));
	dfg_text_release(&names);
	return err;
}

struct dfg_err *dfg_coordinator_why_lost(struct dfg_coordinator *coordinator)
{
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < coordinator->options.workers && !err; i++) {
		if (!is_lost_part(coordinator, i))
			continue;
		wait_for_explanation(coordinator, i);
		pthread_mutex_lock(&coordinator->lock);
		err = copy(coordinator->state[i].why);
		pthread_mutex_unlock(&coordinator->lock);
		err = name_others(coordinator, i, err);
	}
	return err;
}
