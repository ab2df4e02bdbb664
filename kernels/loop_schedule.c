/*
 * The order of the iterations of a parallel loop in slices (lib/exec/parallel/loop_schedule.h), and the rows of a slice.
 * A session keeps the schedule of each node with its operands, and finds a new one only if they change.
 */
#include "kernels/loop_schedule.h"

#include "kernels/shape_rules.h"
#include "lib/exec/state/state.h"

#include <inttypes.h>
#include <string.h>

enum { ITERATIONS, SPACE, TIME, KEYS };
enum { LOOP, BLOCKS, CLOCK, BALANCE, SORTED, VERIFY, SINGLY, ARRAYS, WRITES, DEPTHS }; /* DFG_SCHEDULE_ATTRIBUTES */

struct kept {
	struct dfg_loop_report report;
	pthread_mutex_t lock;
	struct dfg_tensor *operand; /* of the schedule; n of them */
	uint32_t n;
	struct dfg_tensor *output; /* n_out of them */
	uint32_t n_out;
};

static void forget(struct kept *kept)
{
	for (uint32_t i = 0; i < kept->n; i++)
		dfg_tensor_release(&kept->operand[i]);
	for (uint32_t i = 0; i < kept->n_out; i++)
		dfg_tensor_release(&kept->output[i]);
	dfg_free(kept->operand);
	dfg_free(kept->output);
	kept->operand = kept->output = NULL;
	kept->n = kept->n_out = 0;
}

static void free_kept(struct dfg_resource *resource)
{
	struct kept *kept = (struct kept *)resource;
	forget(kept);
	pthread_mutex_destroy(&kept->lock);
	dfg_free(kept);
}

static struct dfg_err *make_kept(void *arg, const char *name, struct dfg_resource **out_resource)
{
	const struct dfg_string *loop = arg;
	size_t length = strlen(name);
	struct kept *kept = dfg_zeros(1, sizeof *kept + length + loop->length + 2);
	if (!kept || pthread_mutex_init(&kept->lock, NULL)) {
		dfg_free(kept);
		return dfg_no_memory("a loop schedule");
	}
	kept->report.resource = (struct dfg_resource){
		.kind = dfg_loop_schedule_kind, .name = memcpy(kept + 1, name, length + 1), .free = free_kept};
	kept->report.loop = memcpy((char *)(kept + 1) + length + 1, loop->s, loop->length); /* a 0 follows */
	atomic_init(&kept->report.resource.refs, 1);
	*out_resource = &kept->report.resource;
	return NULL;
}

static bool is_same(const struct dfg_kernel *ctx, const struct kept *kept)
{
	bool same = kept->n == ctx->call->n_in;
	for (uint32_t i = 0; same && i < kept->n; i++)
		same = dfg_tensor_bytes(&kept->operand[i]) == dfg_tensor_bytes(ctx->in[i]) &&
			   (!dfg_tensor_bytes(ctx->in[i]) ||
				   !memcmp(kept->operand[i].data, ctx->in[i]->data, dfg_tensor_bytes(ctx->in[i])));
	return same;
}

/* The vector of input i, of one number for each iteration; NULL if it is empty and may be. */
static struct dfg_err *vector_of(const struct dfg_kernel *ctx, int i, int64_t n, const int64_t **out_vector)
{
	const struct dfg_shape *shape = &ctx->in[i]->shape;
	bool is_absent = i < KEYS && shape->rank == 1 && !shape->dim[0];
	*out_vector = is_absent && n ? NULL : ctx->in[i]->data;
	if (!is_absent && (shape->rank != 1 || shape->dim[0] != n))
		return DFG_ERR(DFG_DATA, "input %d has shape %s, expected one number for each of %" PRId64 " iterations", i,
			dfg_shape_words(shape).s, n);
	return NULL;
}

/* The accesses take the keys in order, each as many as its depth. */
static struct dfg_err *read_accesses(
	struct dfg_kernel *ctx, int64_t n, struct dfg_loop_iterations *loop, const int64_t **key)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const struct dfg_list *arrays = attr[ARRAYS].list, *writes = attr[WRITES].list, *depths = attr[DEPTHS].list;
	void *memory;
	int64_t taken = 0, most = ctx->call->n_in - KEYS;
	if (writes->count != arrays->count || depths->count != arrays->count)
		return DFG_ERR(DFG_DATA, "arrays, writes and depths must have the same length");
	DFG_TRY(dfg_kernel_scratch(ctx, (arrays->count + 1) * sizeof(struct dfg_loop_access), &memory));
	struct dfg_loop_access *access = memory;
	for (int64_t i = 0; i < most; i++)
		DFG_TRY(vector_of(ctx, KEYS + (int)i, n, &key[i]));
	for (uint32_t a = 0; a < arrays->count; a++) {
		int64_t depth = depths->item[a].i, array = arrays->item[a].i;
		if (depth < 0 || depth > most - taken || array < 0 || array >= arrays->count || depth != depths->item[array].i)
			return DFG_ERR(DFG_DATA,
				"access %u has %" PRId64 " keys of array %" PRId64 ", which do not fit depths and inputs", a, depth,
				array);
		access[a] = (struct dfg_loop_access){(uint32_t)array, writes->item[a].i, key + taken, (uint32_t)depth};
		taken += depth;
	}
	loop->access = access;
	loop->n_access = arrays->count;
	return NULL;
}

static enum dfg_unit_clock clock_named(struct dfg_string name)
{
	return name.s[0] == 'r' ? DFG_CLOCK_ROTATION : name.s[0] == 's' ? DFG_CLOCK_STAIRCASE : DFG_CLOCK_ONE;
}

struct dfg_err *dfg_schedule_operands(
	struct dfg_kernel *ctx, struct dfg_loop_iterations *out_loop, struct dfg_loop_cut *out_cut)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	*out_cut = (struct dfg_loop_cut){
		.blocks = (uint32_t)attr[BLOCKS].i,
		.clock = clock_named(attr[CLOCK].s),
		.by_range = attr[BALANCE].s.s[0] == 'r',
		.needs_sorted = attr[SORTED].b,
		.verify = attr[VERIFY].b,
		.singly = attr[SINGLY].b,
	};
	int64_t n = dfg_tensor_int(ctx->in[ITERATIONS], 0);
	*out_loop = (struct dfg_loop_iterations){.n = n < 0 ? 0 : n};
	void *key;
	DFG_TRY(dfg_kernel_scratch(ctx, (ctx->call->n_in + 1u) * sizeof(int64_t *), &key));
	DFG_TRY(vector_of(ctx, SPACE, out_loop->n, &out_loop->space));
	DFG_TRY(vector_of(ctx, TIME, out_loop->n, &out_loop->time));
	DFG_TRY(read_accesses(ctx, out_loop->n, out_loop, key));
	if (out_cut->blocks > INT32_MAX / 2)
		return DFG_ERR(DFG_DATA, "'blocks' is %u, expected at most %d", out_cut->blocks, INT32_MAX / 2);
	if (out_cut->clock != DFG_CLOCK_ONE && out_loop->n && !out_loop->time)
		return DFG_ERR(
			DFG_DATA, "this order of blocks requires the time coordinates of the iterations, which are empty");
	return NULL;
}

struct dfg_err *dfg_schedule_keep(const int64_t *from, int64_t n, struct dfg_tensor *out)
{
	DFG_TRY(dfg_tensor_new(DFG_I64, &DFG_SHAPE_VECTOR(n), out));
	memcpy(out->data, from, (size_t)n * sizeof *from);
	return NULL;
}

struct dfg_err *dfg_schedule_give(
	const struct dfg_loop_schedule *s, struct dfg_loop_report *report, struct dfg_tensor *output)
{
	int64_t n = s->start[s->slices];
	DFG_TRY(dfg_schedule_keep(s->order, n, &output[DFG_SCHEDULE_ORDER]));
	DFG_TRY(dfg_schedule_keep(s->start, s->slices + 1, &output[DFG_SCHEDULE_START]));
	DFG_TRY(dfg_schedule_keep(s->block, n, &output[DFG_SCHEDULE_BLOCK]));
	report->iterations = n;
	report->slices = s->slices;
	report->space_load = s->space_load;
	report->time_load = s->time_load;
	return NULL;
}

static struct dfg_err *make_schedule(struct dfg_kernel *ctx, struct dfg_loop_report *report, struct dfg_tensor *output)
{
	struct dfg_loop_iterations loop;
	struct dfg_loop_cut cut;
	struct dfg_loop_schedule schedule;
	DFG_TRY(dfg_schedule_operands(ctx, &loop, &cut));
	DFG_TRY(dfg_loop_schedule_find(&loop, &cut, &schedule));
	struct dfg_err *err = dfg_schedule_give(&schedule, report, output);
	dfg_loop_schedule_release(&schedule);
	return err;
}

/* Keeps the operands too, so that the schedule is found again only if they change. */
static struct dfg_err *make_outputs(struct dfg_kernel *ctx, struct kept *kept, dfg_schedule_make *make)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	kept->output = dfg_zeros(ctx->call->n_out, sizeof *kept->output);
	kept->operand = dfg_zeros(ctx->call->n_in, sizeof *kept->operand);
	if (!kept->output || !kept->operand)
		return dfg_no_memory("a loop schedule");
	kept->n_out = ctx->call->n_out;
	DFG_TRY(dfg_err_note(
		make(ctx, &kept->report, kept->output), "parallel loop '%.*s'", (int)attr[LOOP].s.length, attr[LOOP].s.s));
	kept->report.blocks = (uint32_t)attr[BLOCKS].i;
	kept->report.found++;
	for (; kept->n < ctx->call->n_in; kept->n++)
		DFG_TRY(ctx->host->keep(ctx, (int)kept->n, &kept->operand[kept->n]));
	return NULL;
}

static struct dfg_err *find_anew(struct dfg_kernel *ctx, struct kept *kept, dfg_schedule_make *make)
{
	forget(kept);
	struct dfg_err *err = make_outputs(ctx, kept, make);
	if (err)
		forget(kept);
	return err;
}

static struct dfg_err *give(struct dfg_kernel *ctx, const struct kept *kept)
{
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; !err && i < kept->n_out; i++) {
		struct dfg_tensor reference;
		err = dfg_tensor_share(&kept->output[i], &reference);
		if (!err)
			err = ctx->host->give(ctx, (int)i, &reference);
	}
	return err;
}

struct dfg_err *dfg_schedule_run(struct dfg_kernel *ctx, dfg_schedule_make *make)
{
	struct dfg_state *state = ctx->host->state(ctx);
	struct dfg_resource *resource;
	struct dfg_string loop = dfg_kernel_attr(ctx)[LOOP].s;
	if (!state)
		return DFG_ERR(DFG_DATA, "%s requires a session", ctx->call->op->name);
	DFG_TRY(dfg_state_resource(state, ctx->call->node, dfg_loop_schedule_kind, make_kept, &loop, &resource));
	struct kept *kept = (struct kept *)resource;
	pthread_mutex_lock(&kept->lock);
	struct dfg_err *err = is_same(ctx, kept) ? NULL : find_anew(ctx, kept, make);
	if (!err)
		err = give(ctx, kept);
	pthread_mutex_unlock(&kept->lock);
	return err;
}

static struct dfg_err *schedule_run(struct dfg_kernel *ctx)
{
	return dfg_schedule_run(ctx, make_schedule);
}

struct dfg_err *dfg_schedule_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, ITERATIONS, 0));
	for (int i = SPACE; i < node->call->n_in; i++)
		DFG_TRY(dfg_need_rank(node, i, 1));
	for (int i = 0; i < node->call->n_out; i++)
		node->out[i] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return NULL;
}

const struct dfg_op dfg_op_Dfg_LoopSchedule = {
	.name = "Dfg>LoopSchedule",
	.doc = "the order of a parallel loop's iterations in slices that may run together, and the block of each",
	.sig = "<K: int>(iterations: i64, space: i64, time: i64, keys: K * i64) -> (order: i64, start: i64, block: i64)",
	.attr = {DFG_SCHEDULE_ATTRIBUTES},
	.flags = DFG_STATEFUL | DFG_NO_GRADIENT,
	.shape = dfg_schedule_shape,
	.run = schedule_run,
};

enum { VALUES, STARTS, SLICE };

static struct dfg_err *slice_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, STARTS, 1));
	DFG_TRY(dfg_need_rank(node, SLICE, 0));
	DFG_TRY(dfg_need_rank(node, VALUES, 1));
	node->out[0] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return NULL;
}

/* Every number is checked: the operands may come from anywhere. */
static struct dfg_err *slice_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *values = ctx->in[VALUES], *starts = ctx->in[STARTS];
	int64_t k = dfg_tensor_int(ctx->in[SLICE], 0), slices = starts->shape.dim[0] - 1;
	struct dfg_tensor *out;
	if (k < 0 || k >= slices)
		return DFG_ERR(DFG_DATA, "slice %" PRId64 " is outside [0,%" PRId64 ")", k, slices < 0 ? 0 : slices);
	int64_t first = dfg_tensor_int(starts, k), last = dfg_tensor_int(starts, k + 1);
	if (first < 0 || last < first || last > values->shape.dim[0])
		return DFG_ERR(DFG_DATA,
			"slice %" PRId64 " is [%" PRId64 ", %" PRId64 "), which is not in the %" PRId64 " values", k, first, last,
			values->shape.dim[0]);
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(last - first), &out));
	if (out->dtype == DFG_I64)
		memcpy(out->data, (const int64_t *)values->data + first, (size_t)(last - first) * sizeof(int64_t));
	else
		for (int64_t i = first; i < last; i++)
			((int32_t *)out->data)[i - first] = (int32_t)((const int64_t *)values->data)[i];
	return NULL;
}

const struct dfg_op dfg_op_Dfg_LoopSlice = {
	.name = "Dfg>LoopSlice",
	.doc = "values [start[slice], start[slice + 1]) of a vector",
	.sig = "<T: index, S: index = i32>(values: i64, start: i64, slice: S) -> (output: T)",
	.flags = DFG_NO_GRADIENT,
	.shape = slice_shape,
	.run = slice_run,
};
