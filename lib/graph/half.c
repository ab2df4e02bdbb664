#include "lib/graph/half.h"

#include "lib/base/float.h"
#include "lib/base/vector.h"
#include "lib/graph/grain.h"
#include "lib/graph/half_bits.h"
#include "lib/graph/kernel.h"

float dfg_f16_widen(uint16_t bits)
{
	return widen_f16(bits);
}

uint16_t dfg_f16_round(float value)
{
	return round_f16(value);
}

uint16_t dfg_bf16_round(float value)
{
	return round_bf16(value);
}

void dfg_put_real(enum dfg_dtype dtype, void *to, double value)
{
	if (dtype == DFG_F64)
		*(double *)to = value;
	else if (dtype == DFG_F32)
		*(float *)to = (float)value;
	else if (dtype == DFG_F16)
		*(uint16_t *)to = round_f16(dfg_round_to_odd(value));
	else
		*(uint16_t *)to = round_bf16(dfg_round_to_odd(value));
}

#define LOOP(name, to, from, expr)                                                               \
	DFG_CLONED(void, name, (to *restrict out, const from *restrict in, int64_t n), (out, in, n)) \
	{                                                                                            \
		for (int64_t i = 0; i < n; i++)                                                          \
			out[i] = expr(in[i]);                                                                \
	}
LOOP(widen_f16s, float, uint16_t, widen_f16)
LOOP(widen_bf16s, float, uint16_t, dfg_bf16_widen)
LOOP(round_f16s, uint16_t, float, round_f16)
LOOP(round_bf16s, uint16_t, float, round_bf16)

void dfg_half_widen(enum dfg_dtype half, float *restrict out, const uint16_t *restrict in, int64_t n)
{
	if (half == DFG_F16)
		widen_f16s(out, in, n);
	else
		widen_bf16s(out, in, n);
}

void dfg_half_round(enum dfg_dtype half, uint16_t *restrict out, const float *restrict in, int64_t n)
{
	if (half == DFG_F16)
		round_f16s(out, in, n);
	else
		round_bf16s(out, in, n);
}

/* A run of the f32 kernel in place of the one for halves: `inner` has f32 tensors where `outer` has halves. */
struct half_run {
	struct dfg_kernel inner, *outer;
	struct dfg_resolved_node call;
	struct dfg_tensor *in, *out;
};

static enum dfg_dtype widened(enum dfg_dtype dtype)
{
	return dfg_is_half(dtype) ? DFG_F32 : dtype;
}

static struct dfg_err *inner_grow(struct dfg_kernel *ctx, int i, size_t bytes)
{
	struct half_run *run = ctx->runner;
	if (!dfg_is_half(run->outer->call->out_dtype[i]))
		return run->outer->host->grow(run->outer, i, bytes);
	run->out[i].capacity = bytes;
	return dfg_kernel_scratch(run->outer, bytes, &run->out[i].data);
}

static struct dfg_err *inner_scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	struct half_run *run = ctx->runner;
	return dfg_kernel_scratch(run->outer, bytes, out_memory);
}

static void inner_parallel(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	struct half_run *run = ctx->runner;
	run->outer->host->parallel(run->outer, n, part, arg);
}

static struct dfg_err *inner_keep(struct dfg_kernel *ctx, int i, struct dfg_tensor *out_tensor)
{
	return dfg_tensor_copy(ctx->in[i], out_tensor);
}

static struct dfg_err *inner_give(struct dfg_kernel *ctx, int i, struct dfg_tensor *tensor)
{
	struct half_run *run = ctx->runner;
	if (!dfg_is_half(run->outer->call->out_dtype[i]))
		return run->outer->host->give(run->outer, i, tensor);
	run->out[i] = *tensor;
	return NULL;
}

static struct dfg_state *inner_state(struct dfg_kernel *ctx)
{
	struct half_run *run = ctx->runner;
	return run->outer->host->state(run->outer);
}

static struct dfg_variable *inner_ref(struct dfg_kernel *ctx, int i)
{
	struct half_run *run = ctx->runner;
	return run->outer->host->ref(run->outer, i);
}

static struct dfg_err *inner_give_ref(struct dfg_kernel *ctx, int i, struct dfg_variable *variable)
{
	struct half_run *run = ctx->runner;
	return run->outer->host->give_ref(run->outer, i, variable);
}

static const struct dfg_kernel_services inner_host = {
	.grow = inner_grow,
	.scratch = inner_scratch,
	.parallel = inner_parallel,
	.keep = inner_keep,
	.give = inner_give,
	.state = inner_state,
	.ref = inner_ref,
	.give_ref = inner_give_ref,
};

/* Makes a copy of the call that has f32 in place of halves, in dtypes and type parameters. */
static struct dfg_err *widen_call(struct half_run *run)
{
	const struct dfg_resolved_node *call = run->outer->call;
	union dfg_value *param;
	uint8_t *dtypes;
	DFG_TRY(dfg_kernel_scratch(run->outer, DFG_PARAM_MAX * sizeof *param, (void **)&param));
	DFG_TRY(dfg_kernel_scratch(run->outer, (size_t)call->n_in + call->n_out + 1, (void **)&dtypes));
	for (int i = 0; i < call->signature->n_param; i++) {
		param[i] = call->param[i];
		if (call->signature->param[i].types && !call->signature->param[i].is_list)
			param[i].dtype = widened(param[i].dtype);
	}
	for (int i = 0; i < call->n_in; i++)
		dtypes[i] = (uint8_t)widened(call->in_dtype[i]);
	for (int i = 0; i < call->n_out; i++)
		dtypes[call->n_in + i] = (uint8_t)widened(call->out_dtype[i]);
	run->call = *call;
	run->call.param = param;
	run->call.in_dtype = dtypes;
	run->call.out_dtype = dtypes + call->n_in;
	return NULL;
}

/* Elements of one tensor as those of another dtype. */
struct conversion {
	struct dfg_tensor *to;
	const struct dfg_tensor *from;
};

static void convert_range(void *arg, int64_t first, int64_t last)
{
	const struct conversion *c = arg;
	dfg_convert(c->to->dtype, dfg_tensor_at(c->to, first), c->from->dtype, dfg_tensor_at(c->from, first), last - first);
}

static void convert_all(struct dfg_kernel *ctx, struct dfg_tensor *to, const struct dfg_tensor *from)
{
	enum { BLOCK = 16 * 1024 }; /* elements */
	struct conversion conversion = {to, from};
	const int64_t count = dfg_shape_count(&from->shape);
	dfg_kernel_ranges(ctx, count, dfg_grain(count, BLOCK), convert_range, &conversion);
}

static struct dfg_err *widen_input(struct half_run *run, int i)
{
	const struct dfg_tensor *half = dfg_kernel_input(run->outer, i);
	size_t bytes;
	run->in[i] = *half;
	run->in[i].dtype = DFG_F32;
	run->in[i].buffer = NULL;
	DFG_TRY(dfg_shape_bytes(&half->shape, DFG_F32, &bytes));
	DFG_TRY(dfg_kernel_scratch(run->outer, bytes, &run->in[i].data));
	run->in[i].capacity = bytes;
	convert_all(run->outer, &run->in[i], half);
	return NULL;
}

/* Sets the inner ports. Tensors that are not halves are shared. */
static struct dfg_err *widen_ports(struct half_run *run)
{
	const struct dfg_resolved_node *call = run->outer->call;
	size_t ports = (size_t)call->n_in + call->n_out + 1;
	struct dfg_tensor *tensor, **port;
	DFG_TRY(dfg_kernel_scratch(run->outer, ports * sizeof *tensor, (void **)&tensor));
	DFG_TRY(dfg_kernel_scratch(run->outer, ports * sizeof *port, (void **)&port));
	run->in = tensor;
	run->out = tensor + call->n_in;
	for (int i = 0; i < call->n_in; i++) {
		port[i] = run->outer->in[i];
		if (!dfg_is_half(call->in_dtype[i]))
			continue;
		port[i] = &run->in[i];
		DFG_TRY(widen_input(run, i));
	}
	for (int i = 0; i < call->n_out; i++) {
		run->out[i] = (struct dfg_tensor){.dtype = DFG_F32};
		port[call->n_in + i] = dfg_is_half(call->out_dtype[i]) ? &run->out[i] : run->outer->out[i];
	}
	run->inner.in = port;
	run->inner.out = port + call->n_in;
	return NULL;
}

static struct dfg_err *round_output(struct half_run *run, int i)
{
	struct dfg_tensor *half;
	DFG_TRY(dfg_kernel_output(run->outer, i, &run->out[i].shape, &half));
	convert_all(run->outer, half, &run->out[i]);
	return NULL;
}

struct dfg_err *dfg_half_run(struct dfg_kernel *ctx)
{
	const struct dfg_op *op = ctx->call->op;
	struct half_run run = {.outer = ctx};
	if (dfg_op_row(op, DFG_F32))
		return dfg_elementwise_run(ctx);
	if (!dfg_op_kernel(op, DFG_F32))
		return DFG_ERR(DFG_DATA, "%s does not support %s", op->name, dfg_dtype_name(ctx->call->in_dtype[0]));
	DFG_TRY(widen_call(&run));
	DFG_TRY(widen_ports(&run));
	run.inner.call = &run.call;
	run.inner.host = &inner_host;
	run.inner.runner = &run;
	struct dfg_err *err = dfg_op_kernel(op, DFG_F32)(&run.inner);
	for (int i = 0; i < ctx->call->n_out; i++) {
		if (!err && dfg_is_half(ctx->call->out_dtype[i]))
			err = round_output(&run, i);
		dfg_buffer_unref(run.out[i].buffer);
	}
	return err;
}
