#include "lib/exec/plan.h"

#include <string.h>

static void point(struct context *context)
{
	const struct dfg_plan *plan = context->plan;
	for (uint32_t i = 0; i < plan->uses; i++)
		context->at[i] = &context->tensor[plan->slot[i]];
	for (uint32_t i = 0; i < plan->slots; i++)
		if (plan->kind[i] == SLOT_CONST)
			context->tensor[i] = plan->constant[i];
}

static struct dfg_err *new_context(struct dfg_plan *plan, struct context **out_context)
{
	struct context *context = dfg_zeros(1, sizeof *context);
	if (!context)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	context->plan = plan;
	context->tensor = dfg_zeros(plan->slots, sizeof *context->tensor);
	context->at = dfg_zeros(plan->uses, sizeof *context->at);
	context->ref = dfg_zeros(plan->slots, sizeof *context->ref);
	context->death = dfg_zeros(plan->count, sizeof *context->death);
	context->dead = dfg_zeros(plan->slots, sizeof *context->dead);
	if (!context->tensor || !context->at || !context->ref || !context->death || !context->dead) {
		dfg_context_free(context);
		return DFG_ERR(DFG_MEMORY, "out of memory");
	}
	point(context);
	*out_context = context;
	return NULL;
}

void dfg_context_free(struct context *context)
{
	dfg_free(context->tensor);
	dfg_free(context->at);
	dfg_free(context->ref);
	dfg_free(context->death);
	dfg_free(context->dead);
	dfg_arena_release(&context->scratch);
	dfg_free(context);
}

struct dfg_err *dfg_context_take(struct dfg_plan *plan, struct context **out_context)
{
	pthread_mutex_lock(&plan->lock);
	*out_context = plan->idle;
	if (plan->idle)
		plan->idle = plan->idle->next;
	pthread_mutex_unlock(&plan->lock);
	return *out_context ? NULL : new_context(plan, out_context);
}

void dfg_context_give(struct context *context)
{
	struct dfg_plan *plan = context->plan;
	for (uint32_t i = 0; i < plan->slots; i++) {
		if (plan->kind[i] == SLOT_VALUE)
			dfg_tensor_release(&context->tensor[i]);
		context->dead[i] = false;
	}
	memset(context->death, 0, plan->count * sizeof *context->death);
	pthread_mutex_lock(&plan->lock);
	context->next = plan->idle;
	plan->idle = context;
	pthread_mutex_unlock(&plan->lock);
}
