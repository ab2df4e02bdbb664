/*
 * The two ends of an all-reduce: Start contributes a bucket of tensors to the sum over the shards of a batch, and Done
 * reads the sum. A step runs Start once for each shard, then Done once: the ticket, fed then, cuts the graph between
 * them (lib/exec/group/group.h).
 */
#include "lib/exec/group/group.h"
#include "lib/graph/kernel.h"

enum { BUCKET, REDUCE, TENSORS };

static struct dfg_err *start_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *find_group(struct dfg_kernel *ctx, struct dfg_group **out_group)
{
	struct dfg_state *state = ctx->host->state(ctx);
	return state ? dfg_group_of(state, out_group) : DFG_ERR(DFG_DATA, "%s requires a session", ctx->call->op->name);
}

/* A number that no bucket has stays one. */
static uint32_t number_of(int64_t bucket)
{
	return bucket > UINT32_MAX ? UINT32_MAX : (uint32_t)bucket;
}

/* The ticket is the number of the bucket. */
static struct dfg_err *contribute(struct dfg_kernel *ctx, const struct dfg_contribution *contribution)
{
	struct dfg_group *group;
	struct dfg_tensor *ticket;
	DFG_TRY(find_group(ctx, &group));
	DFG_TRY(dfg_group_contribute(group, contribution));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &ticket));
	*(int64_t *)ticket->data = contribution->bucket;
	return NULL;
}

static struct dfg_err *start_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const struct dfg_contribution contribution = {
		.bucket = number_of(attr[BUCKET].i),
		.is_sum = attr[REDUCE].s.length == 3 || attr[REDUCE].s.length == 6, /* "sum", "adasum" */
		.is_adasum = attr[REDUCE].s.length == 6,
		.is_share = attr[REDUCE].s.length == 5, /* "share" */
		.tensor = (const struct dfg_tensor *const *)ctx->in,
		.n = ctx->call->n_in,
		.names = attr[TENSORS].list,
	};
	return contribute(ctx, &contribution);
}

const struct dfg_op dfg_op_Dfg_AllReduceStart = {
	.name = "Dfg>AllReduceStart",
	.doc =
		"contributes tensors to the mean, the sum or the Adasum over the shards of a batch; the ticket is the bucket's "
		"number",
	.sig = "<T: float|complex, N: int>(values: N * T) -> (ticket: i64)",
	.attr = {[BUCKET] = "bucket: int >= 0",
		[REDUCE] = "reduce: string = 'mean' in mean|sum|share|adasum",
		[TENSORS] = "tensors: list(string) = []"},
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_CONTRIBUTES,
	.shape = start_shape,
	.run = start_run,
};

enum { SHAPES };

static struct dfg_err *done_shape(struct dfg_infer *node)
{
	const struct dfg_list *shapes = node->call->attr[SHAPES].list;
	for (uint32_t i = 0; i < shapes->count && i < node->call->n_out; i++)
		node->out[i] = *shapes->item[i].shape;
	return NULL;
}

static struct dfg_err *find_bucket(struct dfg_kernel *ctx, struct dfg_group **out_group, uint32_t *out_bucket)
{
	const struct dfg_tensor *ticket = dfg_kernel_input(ctx, 0);
	if (ticket->shape.rank || *(const int64_t *)ticket->data < 0)
		return DFG_ERR(DFG_DATA, "the ticket is %s, expected the number of a bucket, an i64 scalar of at least 0",
			dfg_type_words(ticket->dtype, &ticket->shape).s);
	*out_bucket = number_of(*(const int64_t *)ticket->data);
	return find_group(ctx, out_group);
}

static struct dfg_err *give_result(struct dfg_kernel *ctx, struct dfg_group *group, uint32_t bucket, int i)
{
	struct dfg_tensor value;
	DFG_TRY(dfg_group_result(group, bucket, (uint32_t)i, &value));
	if (value.dtype == (enum dfg_dtype)ctx->call->out_dtype[i])
		return ctx->host->give(ctx, i, &value);
	struct dfg_err *err = DFG_ERR(DFG_DATA, "the bucket has %s, expected %s", dfg_dtype_name(value.dtype),
		dfg_dtype_name((enum dfg_dtype)ctx->call->out_dtype[i]));
	dfg_tensor_release(&value);
	return err;
}

static struct dfg_err *done_run(struct dfg_kernel *ctx)
{
	struct dfg_group *group;
	uint32_t bucket;
	DFG_TRY(find_bucket(ctx, &group, &bucket));
	for (int i = 0; i < ctx->call->n_out; i++)
		DFG_TRY(give_result(ctx, group, bucket, i));
	return NULL;
}

const struct dfg_op dfg_op_Dfg_AllReduceDone = {
	.name = "Dfg>AllReduceDone",
	.doc = "the mean or the sum of a bucket, when all shards of the batch have contributed",
	.sig = "<T: float|complex, N: int>(ticket: i64) -> (values: N * T)",
	.attr = {[SHAPES] = "shapes: list(shape) = []"},
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_COLLECTS,
	.shape = done_shape,
	.run = done_run,
};

/* The same of the rows of a table that the gradient of a gather has. */

enum { ROWS_BUCKET, ROWS_REDUCE, TABLE, ROWS_TENSORS };

static struct dfg_err *check_table(const struct dfg_shape *table)
{
	return dfg_shape_known(table) && table->rank > 0
			   ? NULL
			   : DFG_ERR(DFG_DATA, "the table has shape %s, expected rows whose number and size are known",
					 dfg_shape_words(table).s);
}

static struct dfg_err *rows_start_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return check_table(node->call->attr[TABLE].shape);
}

static struct dfg_err *rows_start_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const struct dfg_tensor *values = dfg_kernel_input(ctx, 1);
	const struct dfg_contribution contribution = {
		.bucket = number_of(attr[ROWS_BUCKET].i),
		.is_sum = attr[ROWS_REDUCE].s.length == 3,   /* "sum" */
		.is_share = attr[ROWS_REDUCE].s.length == 5, /* "share" */
		.tensor = &values,
		.n = 1,
		.indices = dfg_kernel_input(ctx, 0),
		.table = attr[TABLE].shape,
		.names = attr[ROWS_TENSORS].list,
	};
	return contribute(ctx, &contribution);
}

const struct dfg_op dfg_op_Dfg_AllReduceRowsStart = {
	.name = "Dfg>AllReduceRowsStart",
	.doc =
		"contributes rows of a table, which may repeat, to the mean or the sum over the shards of a batch; the ticket "
		"is the "
		"bucket's number",
	.sig = "<Tindices: i32|i64, T: float|complex>(indices: Tindices, values: T) -> (ticket: i64)",
	.attr = {[ROWS_BUCKET] = "bucket: int >= 0",
		[ROWS_REDUCE] = "reduce: string = 'mean' in mean|sum|share",
		[TABLE] = "table: shape",
		[ROWS_TENSORS] = "tensors: list(string) = []"},
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_CONTRIBUTES,
	.shape = rows_start_shape,
	.run = rows_start_run,
};

enum { DONE_TABLE };

static struct dfg_err *rows_done_shape(struct dfg_infer *node)
{
	const struct dfg_shape *table = node->call->attr[DONE_TABLE].shape;
	DFG_TRY(check_table(table));
	node->out[0] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	node->out[1] = *table;
	node->out[1].dim[0] = DFG_UNKNOWN;
	return NULL;
}

const struct dfg_op dfg_op_Dfg_AllReduceRowsDone = {
	.name = "Dfg>AllReduceRowsDone",
	.doc = "the rows that any shard has contributed, each once and ascending, with their mean or sum over all shards",
	.sig = "<Tindices: i32|i64, T: float|complex>(ticket: i64) -> (indices: Tindices, values: T)",
	.attr = {[DONE_TABLE] = "table: shape"},
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_COLLECTS,
	.shape = rows_done_shape,
	.run = done_run,
};
