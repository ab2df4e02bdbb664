#include "lib/exec/kernel/services.h"

#include "lib/exec/device/device.h"

#include <string.h>

/* The services that a kernel may call while it runs: struct dfg_kernel_services. */

enum { SCRATCH_KEPT = 1 << 20, SCRATCH_FIRST = 1 << 14 };

/* A block of scratch memory that did not fit; its bytes follow the header. */
struct extra {
	struct extra *next;
	size_t bytes;
};

/* A reference to a block, in scratch memory. */
struct held_block {
	struct held_block *next;
	struct prepared_block *block;
};

static struct runner *runner_of(struct dfg_kernel *ctx)
{
	return ctx->runner;
}

/*
 * The input whose buffer output i may use: of the same size and element size, and read here for the last time. For an
 * in-place kernel these are output 0 and input 0; an elementwise kernel may use any operand that is not broadcast.
 */
static const struct dfg_tensor *in_place(struct dfg_kernel *ctx, int i, size_t bytes)
{
	const struct runner *runner = runner_of(ctx);
	bool row = runner->node->run == dfg_elementwise_run;
	int most = row ? ctx->call->n_in : 1;
	for (int j = 0; j < most && j < 32 && i == 0; j++) {
		const struct dfg_tensor *in = ctx->in[j];
		if (!(runner->in_place >> j & 1) || !in->buffer || !dfg_buffer_pool_own(in->buffer) ||
			in->data != in->buffer->data)
			continue;
		if (dfg_dtype_size(in->dtype) == dfg_dtype_size((enum dfg_dtype)ctx->call->out_dtype[0]) &&
			dfg_tensor_bytes(in) == bytes && bytes &&
			atomic_load_explicit(&in->buffer->refs, memory_order_acquire) == 1)
			return in;
	}
	return NULL;
}

static struct dfg_err *allocate_output(struct dfg_kernel *ctx, int i, size_t bytes)
{
	struct dfg_tensor *tensor = ctx->out[i];
	enum dfg_dtype dtype = (enum dfg_dtype)ctx->call->out_dtype[i];
	const struct dfg_tensor *in = runner_of(ctx)->in_place ? in_place(ctx, i, bytes) : NULL;
	struct dfg_buffer *buffer;
	if (in)
		buffer = dfg_buffer_ref(in->buffer);
	else
		DFG_TRY(dfg_buffer_pool_take(runner_of(ctx)->session->buffers, dtype, bytes, &buffer));
	runner_of(ctx)->took = true;
	dfg_buffer_unref(tensor->buffer);
	tensor->data = buffer->data;
	tensor->capacity = bytes;
	tensor->buffer = buffer;
	return NULL;
}

static struct dfg_err *more_scratch(struct runner *runner, size_t bytes, void **out_memory)
{
	struct extra *extra = bytes < SIZE_MAX / 2 ? dfg_mem->take(dfg_mem, DFG_ALIGN + bytes, DFG_ALIGN) : NULL;
	if (!extra)
		return DFG_ERR(DFG_MEMORY, "no memory for %zu bytes", bytes);
	*extra = (struct extra){runner->extra, bytes};
	runner->extra = extra;
	*out_memory = (char *)extra + DFG_ALIGN;
	return NULL;
}

static struct dfg_err *scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	struct runner *runner = runner_of(ctx);
	size_t left = runner->scratch_capacity - runner->scratch_used;
	if (bytes > left)
		return more_scratch(runner, bytes, out_memory);
	*out_memory = runner->scratch + runner->scratch_used;
	bytes = (bytes + DFG_ALIGN - 1) / DFG_ALIGN * DFG_ALIGN;
	runner->scratch_used += bytes < left ? bytes : left;
	return NULL;
}

/* Frees all scratch memory; enlarges the kept block, up to a limit, if requests did not fit. */
static void end_scratch(struct runner *runner)
{
	size_t wanted = runner->scratch_used;
	for (; runner->held; runner->held = runner->held->next)
		dfg_prepared_unref(runner->held->block);
	runner->scratch_used = 0;
	if (!runner->extra)
		return;
	while (runner->extra) {
		struct extra *extra = runner->extra;
		runner->extra = extra->next;
		wanted += extra->bytes + DFG_ALIGN;
		dfg_free(extra);
	}
	wanted = wanted < SCRATCH_FIRST ? SCRATCH_FIRST : wanted;
	if (wanted > SCRATCH_KEPT || wanted <= runner->scratch_capacity)
		return;
	dfg_free(runner->scratch);
	runner->scratch = dfg_mem->take(dfg_mem, wanted, DFG_ALIGN);
	runner->scratch_capacity = runner->scratch ? wanted : 0;
}

void dfg_runner_release(struct runner *runner)
{
	end_scratch(runner);
	dfg_free(runner->scratch);
	*runner = (struct runner){0};
}

static void parallel(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	dfg_pool_parallel(runner_of(ctx)->session->pool, n, part, arg);
}

/* A value without a buffer of its own is copied to one of the pool's. */
static struct dfg_err *retain_input(struct dfg_kernel *ctx, int i, struct dfg_tensor *out_tensor)
{
	const struct dfg_tensor *in = ctx->in[i];
	struct dfg_buffer *buffer;
	if (in->buffer || dfg_dtype_is_object(in->dtype))
		return dfg_tensor_share(in, out_tensor);
	size_t bytes = dfg_tensor_bytes(in);
	DFG_TRY(dfg_buffer_pool_take(runner_of(ctx)->session->buffers, in->dtype, bytes, &buffer));
	if (bytes)
		memcpy(buffer->data, in->data, bytes);
	*out_tensor = (struct dfg_tensor){in->dtype, in->shape, buffer->data, bytes, buffer};
	return NULL;
}

static struct dfg_err *give_output(struct dfg_kernel *ctx, int i, struct dfg_tensor *tensor)
{
	runner_of(ctx)->took = true;
	dfg_tensor_release(ctx->out[i]);
	*ctx->out[i] = *tensor;
	return NULL;
}

static struct dfg_state *state(struct dfg_kernel *ctx)
{
	return &runner_of(ctx)->session->state;
}

static struct dfg_variable *ref(struct dfg_kernel *ctx, int i)
{
	return dfg_is_ref(ctx->in[i]) ? ctx->in[i]->data : NULL;
}

static struct dfg_err *give_ref(struct dfg_kernel *ctx, int i, struct dfg_variable *variable)
{
	dfg_tensor_release(ctx->out[i]);
	ctx->out[i]->data = variable;
	return NULL;
}

static bool alone(struct dfg_kernel *ctx, int i)
{
	const struct dfg_buffer *buffer = ctx->in[i]->buffer;
	return i < 32 && runner_of(ctx)->in_place >> i & 1 && buffer &&
		   atomic_load_explicit(&buffer->refs, memory_order_acquire) == 1;
}

static struct dfg_pause *paused(struct dfg_kernel *ctx)
{
	return runner_of(ctx)->paused;
}

static struct dfg_err *pause(struct dfg_kernel *ctx, struct dfg_pause **out_pause)
{
	struct runner *runner = runner_of(ctx);
	if (!runner->pause)
		return DFG_ERR(DFG_DATA, "deadlock: it would wait, but nodes run one at a time here, so none can wake it");
	return runner->pause(runner, out_pause);
}

static struct dfg_err *element(struct dfg_kernel *ctx, int64_t index, const struct dfg_tensor *value)
{
	const struct dfg_step_control *const *control = runner_of(ctx)->control;
	if (!control || !*control || !(*control)->element)
		return NULL;
	return (*control)->element((*control)->arg, ctx->call->node, index, value);
}

static struct prepared_block *make_block(
	struct dfg_kernel *ctx, const struct dfg_preparation *preparation, struct dfg_buffer *source, const void *elements)
{
	const struct runner *runner = runner_of(ctx);
	struct prepared_block *block = dfg_prepared_new(runner->node->graph_node, preparation, source, elements);
	if (block) {
		preparation->make(ctx, preparation, elements, block->memory);
		dfg_prepared_add(runner->session->prepared, block);
	}
	return block;
}

/* Only input 1 can be constant: see DFG_WEIGHTS. A variable's value must have a buffer that the block can hold. */
static struct dfg_err *kept(struct dfg_kernel *ctx, int i, const struct dfg_preparation *preparation,
	const void *elements, const void **out_memory)
{
	struct runner *runner = runner_of(ctx);
	const struct plan_node *node = runner->node;
	struct dfg_buffer *source = node->weights == WEIGHTS_VARIABLE ? ctx->in[i]->buffer : NULL;
	struct held_block *held;
	if (i != 1 || node->weights == WEIGHTS_VARY || (node->weights == WEIGHTS_VARIABLE && !source))
		return NULL;
	DFG_TRY(scratch(ctx, sizeof *held, (void **)&held));
	held->block = dfg_prepared_find(runner->session->prepared, node->graph_node, preparation, source, elements);
	if (!held->block)
		held->block = make_block(ctx, preparation, source, elements);
	if (!held->block)
		return NULL;
	held->next = runner->held;
	runner->held = held;
	*out_memory = held->block->memory;
	return NULL;
}

static enum dfg_winograd winograd(struct dfg_kernel *ctx)
{
	const struct runner *runner = runner_of(ctx);
	return runner->node->constant_weights ? runner->session->options.winograd : DFG_NO_WINOGRAD;
}

static const struct dfg_kernel_services services = {allocate_output, scratch, parallel, retain_input, give_output,
	state, ref, give_ref, alone, paused, pause, element, kept, winograd};

const struct dfg_kernel_services *dfg_runner_services(void)
{
	return &services;
}

/* Small operands of one shape: calls only the row. */
static struct dfg_err *run_row(struct dfg_kernel *ctx, const struct plan_node *node)
{
	enum { SMALL = 1024 };
	const void *in[DFG_ROW_OPERANDS];
	const struct dfg_shape *shape = &ctx->in[0]->shape;
	int64_t n = dfg_shape_count(shape);
	struct dfg_tensor *out;
	for (int i = 0; i < node->n_in; i++) {
		if (n > SMALL || !dfg_shape_equal(&ctx->in[i]->shape, shape))
			return node->run(ctx);
		in[i] = ctx->in[i]->data;
	}
	if (node->call->op->guard)
		DFG_TRY(node->call->op->guard(ctx));
	DFG_TRY(dfg_kernel_output(ctx, 0, shape, &out));
	node->row(n, out->data, in, node->call->attr);
	return NULL;
}

static struct dfg_err *run_kernel(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *const *out)
{
	struct dfg_kernel ctx = {node->call, in, out, &services, runner};
	runner->node = node;
	struct dfg_err *err = node->row ? run_row(&ctx, node) : node->run(&ctx);
	if (runner->scratch_used || runner->extra)
		end_scratch(runner);
	return err;
}

static struct dfg_err *run_kernel_with_refs(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *const *out)
{
	struct dfg_tensor *value = dfg_zeros(node->n_in, sizeof *value + sizeof(void *));
	if (!value)
		return dfg_no_memory("the scratch of a kernel");
	struct dfg_tensor **at = (struct dfg_tensor **)(value + node->n_in);
	struct dfg_err *err = NULL;
	for (int i = 0; i < node->n_in && !err; i++) {
		bool read = dfg_is_ref(in[i]) && !dfg_resolved_in_is_ref(node->call, i);
		at[i] = read ? &value[i] : in[i];
		if (read)
			err = dfg_variable_read(in[i]->data, &value[i]);
	}
	if (!err)
		err = run_kernel(runner, node, at, out);
	for (int i = 0; i < node->n_in; i++)
		dfg_tensor_release(&value[i]);
	dfg_free(value);
	return err;
}

static struct dfg_err *run_here(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *const *out)
{
	return node->reads_ref ? run_kernel_with_refs(runner, node, in, out) : run_kernel(runner, node, in, out);
}

/* Input i where the node's kernel runs: itself, or a copy in `copy`, which the caller releases. */
static struct dfg_err *move_input(const struct runner *runner, const struct plan_node *node,
	struct dfg_tensor *const *in, int i, struct dfg_tensor *copy, struct dfg_tensor **out_at)
{
	struct dfg_tensor read = {0}, *value = in[i];
	struct dfg_err *err = NULL;
	*out_at = value;
	const bool there = dfg_device_reads(node->device_kernel, i);
	if (there == dfg_on_device(value) || (!there && dfg_is_ref(value)))
		return NULL;
	if (dfg_is_ref(value)) {
		DFG_TRY(dfg_variable_read(value->data, &read));
		value = &read;
	}
	err = there ? dfg_device_copy_in(runner->session->options.device, value, copy) : dfg_device_copy_out(value, copy);
	dfg_tensor_release(&read);
	*out_at = copy;
	return err;
}

/* The guard of a row on a device reads types and shapes alone. */
static struct dfg_err *run_on_device(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *out)
{
	struct dfg_kernel ctx = {node->call, in, &out, &services, runner};
	struct dfg_tensor made;
	runner->node = node;
	if (node->call->op->guard)
		DFG_TRY(node->call->op->guard(&ctx));
	DFG_TRY(dfg_device_run(runner->session->options.device, node->device_kernel, node->call, in, &made));
	return give_output(&ctx, 0, &made);
}

/* In a session with a device: moves the inputs to where the node is computed, and computes it there. */
static struct dfg_err *run_with_device(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *const *out)
{
	struct dfg_tensor *copy = dfg_zeros(node->n_in, sizeof *copy + sizeof(void *));
	if (!copy)
		return dfg_no_memory("the scratch of a kernel");
	struct dfg_tensor **at = (struct dfg_tensor **)(copy + node->n_in);
	struct dfg_err *err = NULL;
	for (int i = 0; i < node->n_in && !err; i++)
		err = move_input(runner, node, in, i, &copy[i], &at[i]);
	if (!err)
		err = node->device_kernel ? run_on_device(runner, node, at, out[0]) : run_here(runner, node, at, out);
	for (int i = 0; i < node->n_in; i++)
		dfg_tensor_release(&copy[i]);
	dfg_free(copy);
	return err;
}

struct dfg_err *dfg_runner_run(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *const *out)
{
	bool device = runner->session->options.device;
	return device ? run_with_device(runner, node, in, out) : run_here(runner, node, in, out);
}

struct dfg_err *dfg_runner_check_domain(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *const *out)
{
	struct dfg_kernel ctx = {node->call, in, out, &services, runner};
	return node->call->op->guard(&ctx);
}

struct dfg_err *dfg_forward_value(const struct dfg_tensor *from, bool as_ref, struct dfg_tensor *to)
{
	if (dfg_is_ref(from) && !as_ref)
		return dfg_variable_read(from->data, to);
	*to = *from;
	dfg_buffer_ref(to->buffer);
	return NULL;
}

struct dfg_err *dfg_host_value(const struct dfg_tensor *tensor, struct dfg_tensor *out_value)
{
	if (dfg_is_ref(tensor))
		return dfg_variable_read(tensor->data, out_value);
	return dfg_on_device(tensor) ? dfg_device_copy_out(tensor, out_value) : dfg_tensor_share(tensor, out_value);
}

struct dfg_err *dfg_share_fetch(
	const struct dfg_plan *plan, uint32_t i, const struct dfg_tensor *tensor, struct dfg_tensor *out_fetch)
{
	if (!dfg_is_ref(tensor) && !dfg_on_device(tensor))
		return dfg_tensor_share(tensor, out_fetch);
	return dfg_resolved_note(dfg_host_value(tensor, out_fetch), plan->node[plan->maker[plan->fetch[i]]].call);
}

/* The tensor itself, or in `read`, which the caller releases, the value of a ref, or of a tensor on a device. */
static struct dfg_err *read_value(
	const struct dfg_tensor *from, struct dfg_tensor *read, const struct dfg_tensor **out_value)
{
	*read = (struct dfg_tensor){0};
	*out_value = dfg_is_ref(from) || dfg_on_device(from) ? read : from;
	if (dfg_on_device(from))
		return dfg_device_copy_out(from, read);
	return dfg_is_ref(from) ? dfg_variable_read(from->data, read) : NULL;
}

struct dfg_err *dfg_select_output(const struct dfg_tensor *predicate, int n_out, int *out_chosen)
{
	struct dfg_tensor read;
	struct dfg_err *err = NULL;
	DFG_TRY(read_value(predicate, &read, &predicate));
	bool number = predicate->dtype == DFG_I32;
	if ((predicate->dtype != DFG_BOOL && !number) || dfg_shape_count(&predicate->shape) != 1) {
		err = DFG_ERR(
			DFG_DATA, "the predicate must be a scalar, not %s", dfg_type_words(predicate->dtype, &predicate->shape).s);
	} else {
		int64_t value = dfg_tensor_int(predicate, 0);
		*out_chosen = value < 0 || value >= n_out ? n_out - 1 : (int)value;
	}
	dfg_tensor_release(&read);
	return err;
}

static struct dfg_err *read_key(const struct dfg_tensor *from, int number, int64_t *out_key)
{
	if (from->shape.rank && dfg_shape_count(&from->shape) != 1)
		return DFG_ERR(
			DFG_DATA, "key %d must be a scalar, not %s", number, dfg_type_words(from->dtype, &from->shape).s);
	*out_key = from->dtype == DFG_I32 ? *(const int32_t *)from->data : *(const int64_t *)from->data;
	return NULL;
}

static struct dfg_err *read_key_value(const struct dfg_tensor *from, int number, int64_t *out_key)
{
	struct dfg_tensor read;
	DFG_TRY(read_value(from, &read, &from));
	struct dfg_err *err = read_key(from, number, out_key);
	dfg_tensor_release(&read);
	return err;
}

struct dfg_err *dfg_read_keys(struct dfg_tensor *const *in, int keys, int64_t *out_key)
{
	for (int i = 0; i < keys; i++)
		DFG_TRY(read_key_value(in[i], i, &out_key[i]));
	return NULL;
}

struct dfg_err *dfg_scalar(struct dfg_session *session, enum dfg_dtype dtype, struct dfg_tensor *out_tensor)
{
	struct dfg_buffer *buffer;
	DFG_TRY(dfg_buffer_pool_take(session->buffers, dtype, dfg_dtype_size(dtype), &buffer));
	*out_tensor = (struct dfg_tensor){
		.dtype = dtype,
		.shape = DFG_SHAPE_SCALAR,
		.data = buffer->data,
		.capacity = buffer->capacity,
		.buffer = buffer,
	};
	return NULL;
}

/* Of values that a device may have. A copy that fails makes them different, and what reads them fails too. */
static bool same_host_values(const struct dfg_tensor *one, const struct dfg_tensor *two)
{
	struct dfg_tensor a = {0}, b = {0};
	struct dfg_err *err = dfg_host_value(one, &a);
	if (!err)
		err = dfg_host_value(two, &b);
	bool same = !err && dfg_same_value(&a, &b);
	dfg_tensor_release(&a);
	dfg_tensor_release(&b);
	dfg_err_free(err);
	return same;
}

bool dfg_same_value(const struct dfg_tensor *one, const struct dfg_tensor *two)
{
	if (dfg_on_device(one) || dfg_on_device(two))
		return same_host_values(one, two);
	return one->dtype == two->dtype && one->dtype && one->dtype != DFG_STRING &&
		   dfg_shape_equal(&one->shape, &two->shape) &&
		   (!dfg_tensor_bytes(one) || !memcmp(one->data, two->data, dfg_tensor_bytes(one)));
}
