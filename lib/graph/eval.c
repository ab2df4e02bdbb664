#include "lib/graph/kernel.h"

#include <string.h>

/* The context of one kernel: each output has a buffer of its own, scratch memory lives until the end. */
struct eval {
	size_t most;
	void **scratch;
	size_t count, capacity;
};

static struct dfg_err *check(const struct eval *eval, size_t bytes)
{
	return bytes > eval->most ? DFG_ERR(DFG_DATA, "the kernel requires %zu bytes, the limit is %zu", bytes, eval->most)
							  : NULL;
}

static struct dfg_err *grow(struct dfg_kernel *ctx, int i, size_t bytes)
{
	struct dfg_tensor *tensor = ctx->out[i];
	struct dfg_buffer *buffer;
	DFG_TRY(check(ctx->runner, bytes));
	DFG_TRY(dfg_buffer_new((enum dfg_dtype)ctx->call->out_dtype[i], bytes, &buffer));
	dfg_tensor_release(tensor);
	*tensor = (struct dfg_tensor){.data = buffer->data, .capacity = bytes, .buffer = buffer};
	return NULL;
}

static struct dfg_err *scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	struct eval *eval = ctx->runner;
	DFG_TRY(check(eval, bytes));
	if (!dfg_reserve(&eval->scratch, &eval->capacity, eval->count + 1, sizeof *eval->scratch) ||
		!(*out_memory = dfg_mem->take(dfg_mem, bytes, DFG_ALIGN)))
		return DFG_ERR(DFG_MEMORY, "no memory for %zu bytes", bytes);
	eval->scratch[eval->count++] = *out_memory;
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
	(void)ctx;
	return NULL;
}

static struct dfg_variable *ref(struct dfg_kernel *ctx, int i)
{
	(void)ctx, (void)i;
	return NULL;
}

static struct dfg_err *give_ref(struct dfg_kernel *ctx, int i, struct dfg_variable *variable)
{
	(void)i, (void)variable;
	return DFG_ERR(DFG_DATA, "%s requires a session", ctx->call->op->name);
}

static bool alone(struct dfg_kernel *ctx, int i)
{
	(void)ctx, (void)i;
	return false;
}

static struct dfg_pause *paused(struct dfg_kernel *ctx)
{
	(void)ctx;
	return NULL;
}

static struct dfg_err *pause(struct dfg_kernel *ctx, struct dfg_pause **out_pause)
{
	(void)ctx, (void)out_pause;
	return DFG_ERR(DFG_DATA, "deadlock: it would wait, but no other node runs that could wake it");
}

static const struct dfg_kernel_services host = {
	grow, scratch, parallel, keep, give, state, ref, give_ref, alone, paused, pause, NULL, NULL, NULL};

struct dfg_err *dfg_eval(const struct dfg_resolved_node *call, const struct dfg_tensor *const *in, size_t most,
	struct dfg_tensor *out_tensors)
{
	dfg_run_fn *run;
	struct eval eval = {.most = most};
	for (int i = 0; i < call->n_out; i++)
		out_tensors[i] = (struct dfg_tensor){0};
	DFG_TRY(dfg_kernel_find(call, &run));
	struct dfg_tensor **out = dfg_zeros(call->n_out, sizeof *out);
	if (!out)
		return dfg_no_memory("the outputs of a kernel");
	for (int i = 0; i < call->n_out; i++)
		out[i] = &out_tensors[i];
	struct dfg_kernel ctx = {call, (struct dfg_tensor *const *)in, out, &host, &eval};
	struct dfg_err *err = run(&ctx);
	for (size_t i = 0; i < eval.count; i++)
		dfg_free(eval.scratch[i]);
	dfg_free(eval.scratch);
	dfg_free(out);
	return dfg_resolved_note(err, call);
}
