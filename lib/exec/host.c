#include "lib/exec/plan.h"

/* What kernels are offered while a step runs: struct dfg_host over the slots of a context. */

static struct context *context_of(struct dfg_kernel *ctx)
{
	return ctx->runner;
}

static struct dfg_err *grow(struct dfg_kernel *ctx, int i, size_t bytes)
{
	struct dfg_tensor *tensor = ctx->out[i];
	struct dfg_buffer *buffer;
	DFG_TRY(dfg_buffer_new((enum dfg_dtype)ctx->call->out_dtype[i], bytes, &buffer));
	dfg_tensor_release(tensor);
	tensor->data = buffer->data;
	tensor->room = bytes;
	tensor->buffer = buffer;
	return NULL;
}

static struct dfg_err *scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	if (bytes > SIZE_MAX - DFG_ALIGN)
		return DFG_ERR(DFG_MEMORY, "no memory for %zu bytes", bytes);
	char *room = dfg_arena_zeros(&context_of(ctx)->scratch, bytes + DFG_ALIGN, 1);
	if (!room)
		return DFG_ERR(DFG_MEMORY, "no memory for %zu bytes", bytes);
	*out_memory = room + (-(uintptr_t)room & (DFG_ALIGN - 1));
	return NULL;
}

static void parallel(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	(void)ctx;
	for (int64_t i = 0; i < n; i++)
		part(arg, i);
}

static struct dfg_err *keep(struct dfg_kernel *ctx, int i, struct dfg_tensor *out_tensor)
{
	return dfg_tensor_share(ctx->in[i], out_tensor);
}

static struct dfg_err *give(struct dfg_kernel *ctx, int i, struct dfg_tensor *tensor)
{
	dfg_tensor_release(ctx->out[i]);
	*ctx->out[i] = *tensor;
	return NULL;
}

static struct dfg_state *state(struct dfg_kernel *ctx)
{
	return &context_of(ctx)->plan->session->state;
}

static uint32_t slot_of(const struct context *context, int use)
{
	return context->plan->slot[context->record->first + (uint32_t)use];
}

static struct dfg_variable *ref(struct dfg_kernel *ctx, int i)
{
	struct context *context = context_of(ctx);
	uint32_t slot = slot_of(context, i);
	return context->plan->kind[slot] == SLOT_REF ? context->ref[slot] : NULL;
}

static struct dfg_err *give_ref(struct dfg_kernel *ctx, int i, struct dfg_variable *variable)
{
	struct context *context = context_of(ctx);
	context->ref[slot_of(context, context->record->n_in + i)] = variable;
	return NULL;
}

const struct dfg_host dfg_exec_host = {grow, scratch, parallel, keep, give, state, ref, give_ref};
