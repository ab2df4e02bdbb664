/*
 * A parallel loop over several workers: the part of its schedule that this worker runs, and the rows that move between workers
 * before slices and after the loop (lib/exec/parallel/worker_schedule.h). The moves of an array are one vector: its header, then
 * the arrays of struct dfg_array_moves.
 */
#include "lib/exec/parallel/worker_schedule.h"

#include "kernels/loop_schedule.h"
#include "kernels/shape_rules.h"
#include "kernels/variable.h"

#include <inttypes.h>
#include <string.h>

enum { DEPTH, PLACES, MOVES, ROWS, WORKERS, OWNED, HEADER };
enum { PEER, SENDS, TAG, FIRST, END, MOVE };

static int64_t *put_all(int64_t *at, const int64_t *from, int64_t count)
{
	memcpy(at, from, (size_t)count * sizeof *at);
	return at + count;
}

static struct dfg_err *pack_moves(
	const struct dfg_array_moves *moves, int64_t slices, uint32_t workers, struct dfg_tensor *out)
{
	int64_t owned = moves->owner[workers], depth = moves->depth;
	int64_t length = HEADER + slices + 2 + moves->moves * MOVE + moves->rows * depth + workers + 1 + owned * depth;
	DFG_TRY(dfg_tensor_new(DFG_I64, &DFG_SHAPE_VECTOR(length), out));
	int64_t *at =
		put_all(out->data, (int64_t[HEADER]){depth, slices + 2, moves->moves, moves->rows, workers, owned}, HEADER);
	at = put_all(at, moves->at, slices + 2);
	for (int64_t m = 0; m < moves->moves; m++) {
		const struct dfg_row_move *move = &moves->move[m];
		at = put_all(at, (int64_t[MOVE]){move->peer, move->sends, move->tag, move->first, move->end}, MOVE);
	}
	at = put_all(at, moves->key, moves->rows * depth);
	at = put_all(at, moves->owner, workers + 1);
	put_all(at, moves->owned, owned * depth);
	return NULL;
}

struct dfg_err *dfg_schedule_exchange(struct dfg_kernel *ctx, struct dfg_row_exchange **out_exchange)
{
	struct dfg_state *state = ctx->host->state(ctx);
	if (!state)
		return DFG_ERR(DFG_DATA, "%s requires a session", ctx->call->op->name);
	return dfg_row_exchange_of(state, out_exchange);
}

static struct dfg_err *make_worker_schedule(
	struct dfg_kernel *ctx, struct dfg_loop_report *report, struct dfg_tensor *output)
{
	struct dfg_loop_iterations loop;
	struct dfg_loop_cut cut;
	struct dfg_row_exchange *exchange;
	struct dfg_worker_schedule found;
	DFG_TRY(dfg_schedule_exchange(ctx, &exchange));
	uint32_t workers = dfg_row_exchange_workers(exchange), arrays = ctx->call->n_out - DFG_SCHEDULE_MOVES;
	DFG_TRY(dfg_schedule_operands(ctx, &loop, &cut));
	if (workers > cut.blocks)
		return DFG_ERR(DFG_DATA, "%u workers cannot share %u blocks", workers, cut.blocks);
	DFG_TRY(dfg_worker_schedule_find(&loop, &cut, dfg_row_exchange_self(exchange), workers, &found));
	struct dfg_err *err =
		found.arrays == arrays
			? dfg_schedule_give(&found.schedule, report, output)
			: DFG_ERR(DFG_DATA, "attribute 'A' is %u, but the accesses are to %u arrays", arrays, found.arrays);
	for (uint32_t a = 0; a < arrays && !err; a++)
		err = pack_moves(&found.array[a], found.schedule.slices, workers, &output[DFG_SCHEDULE_MOVES + a]);
	dfg_worker_schedule_release(&found);
	return err;
}

static struct dfg_err *worker_schedule_run(struct dfg_kernel *ctx)
{
	return dfg_schedule_run(ctx, make_worker_schedule);
}

const struct dfg_op dfg_op_Dfg_WorkerSchedule = {
	.name = "Dfg>WorkerSchedule",
	.doc = "this worker's part of the order of a parallel loop, and the rows of each array that move between workers",
	.sig =
		"<K: int, A: int >= 0>(iterations: i64, space: i64, time: i64, keys: K * i64) -> (order: i64, start: i64, "
		"block: "
		"i64, moves: A * i64)",
	.attr = {DFG_SCHEDULE_ATTRIBUTES},
	.flags = DFG_STATEFUL | DFG_NO_GRADIENT,
	.shape = dfg_schedule_shape,
	.run = worker_schedule_run,
};

/* The moves of an array, as an operand; and the array. */
struct moves {
	const int64_t *head, *at, *move, *key, *owner, *owned;
	struct dfg_variable *variable;
	uint32_t array; /* its number among the operands */
};

/* Operands may come from anywhere: every length and number is checked before it is used. */
static struct dfg_err *read_moves(const struct dfg_tensor *from, struct moves *out)
{
	int64_t length = from->shape.rank == 1 ? from->shape.dim[0] : 0, left = length - HEADER;
	const int64_t *head = out->head = from->data;
	bool fits = length >= HEADER && head[DEPTH] >= 0 && head[DEPTH] <= DFG_RANK_MAX && head[PLACES] >= 2;
	for (int i = PLACES; fits && i < HEADER; i++)
		fits = head[i] >= 0 && head[i] < length;
	fits = fits && left == head[PLACES] + head[MOVES] * MOVE + head[ROWS] * head[DEPTH] + head[WORKERS] + 1 +
							   head[OWNED] * head[DEPTH];
	if (!fits)
		return DFG_ERR(DFG_DATA, "the moves of array %u are not those of a schedule", out->array);
	out->at = head + HEADER;
	out->move = out->at + head[PLACES];
	out->key = out->move + head[MOVES] * MOVE;
	out->owner = out->key + head[ROWS] * head[DEPTH];
	out->owned = out->owner + head[WORKERS] + 1;
	return NULL;
}

/* Rows of a variable by their keys. */
struct rows {
	int64_t count, depth;
	const int64_t *key; /* NULL: the rows [first, first + count) */
	int64_t first;
};

static struct dfg_err *offset_of(const struct rows *rows, int64_t i, const struct dfg_tensor *value, size_t *out_offset)
{
	int64_t at = 0;
	for (int64_t d = 0; d < rows->depth; d++) {
		int64_t index = rows->key ? rows->key[i * rows->depth + d] : rows->first + i;
		if (index < 0 || index >= value->shape.dim[d])
			return DFG_ERR(DFG_DATA, "row %" PRId64 " is outside [0,%" PRId64 ")", index, value->shape.dim[d]);
		at = at * value->shape.dim[d] + index;
	}
	*out_offset = (size_t)at;
	return NULL;
}

/* Copies the rows to or from a vector of bytes, which is made for them. */
static struct dfg_err *copy_rows(const struct rows *rows, struct dfg_tensor *value, bool out, struct dfg_tensor *bytes)
{
	if (rows->depth > value->shape.rank || dfg_dtype_is_object(value->dtype))
		return DFG_ERR(
			DFG_DATA, "it is %s, which has no rows that can move", dfg_type_words(value->dtype, &value->shape).s);
	size_t row = (size_t)dfg_count_between(&value->shape, (int)rows->depth, value->shape.rank) *
				 dfg_dtype_size(value->dtype),
		   offset;
	if (out)
		DFG_TRY(dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR(rows->count * (int64_t)row), bytes));
	else if (dfg_tensor_bytes(bytes) != (size_t)rows->count * row)
		return DFG_ERR(
			DFG_PROTOCOL, "%zu bytes arrived for %" PRId64 " rows of %zu", dfg_tensor_bytes(bytes), rows->count, row);
	for (int64_t i = 0; i < rows->count; i++) {
		DFG_TRY(offset_of(rows, i, value, &offset));
		char *inside = (char *)value->data + offset * row, *outside = (char *)bytes->data + (size_t)i * row;
		memcpy(out ? outside : inside, out ? inside : outside, row);
	}
	return NULL;
}

static struct dfg_err *copy_locked(
	struct dfg_variable *variable, const struct rows *rows, bool out, struct dfg_tensor *bytes)
{
	struct dfg_tensor *value;
	DFG_TRY(dfg_variable_lock(variable, &value));
	struct dfg_err *err = copy_rows(rows, value, out, bytes);
	dfg_variable_unlock(variable);
	return dfg_err_note(err, "variable '%s'", variable->resource.name);
}

/* A message of a node. */
struct posting {
	struct dfg_row_exchange *exchange;
	uint32_t channel;
};

static struct dfg_err *send_rows(const struct posting *p, struct dfg_variable *variable, const struct rows *rows,
	uint32_t to, uint32_t array, int64_t tag)
{
	struct dfg_tensor bytes = {0};
	struct dfg_err *err = copy_locked(variable, rows, true, &bytes);
	if (!err)
		err = dfg_row_exchange_send(p->exchange, to, &(struct dfg_rows_key){p->channel, array, tag}, &bytes);
	dfg_tensor_release(&bytes);
	return err;
}

static struct dfg_err *take_rows(const struct posting *p, struct dfg_variable *variable, const struct rows *rows,
	uint32_t from, uint32_t array, int64_t tag)
{
	struct dfg_tensor bytes = {0};
	int64_t first = rows->key && rows->depth && rows->count ? rows->key[0] : rows->first;
	struct dfg_err *err =
		dfg_row_exchange_take(p->exchange, from, &(struct dfg_rows_key){p->channel, array, tag}, &bytes);
	if (err)
		return dfg_err_that_waited(
			dfg_err_note(err, "variable '%s' waited for %" PRId64 " rows of worker w%u, the first of which is %" PRId64,
				variable->resource.name, rows->count, from, first));
	err = copy_locked(variable, rows, false, &bytes);
	dfg_tensor_release(&bytes);
	return err;
}

/* The moves before slice k that send, or those that take. */
static struct dfg_err *move_rows(const struct posting *p, const struct moves *m, int64_t k, bool sends)
{
	uint32_t workers = dfg_row_exchange_workers(p->exchange), self = dfg_row_exchange_self(p->exchange);
	for (int64_t i = m->at[k]; i < m->at[k + 1]; i++) {
		const int64_t *move = i >= 0 && i < m->head[MOVES] ? m->move + i * MOVE : NULL;
		bool fits = move && move[PEER] >= 0 && move[PEER] < workers && move[PEER] != self && move[FIRST] >= 0 &&
					move[FIRST] <= move[END] && move[END] <= m->head[ROWS];
		if (!fits)
			return DFG_ERR(DFG_DATA, "move %" PRId64 " of array %u is not one of a schedule", i, m->array);
		if (move[SENDS] != sends)
			continue;
		const struct rows rows = {move[END] - move[FIRST], m->head[DEPTH], m->key + move[FIRST] * m->head[DEPTH], 0};
		DFG_TRY((sends ? send_rows : take_rows)(p, m->variable, &rows, (uint32_t)move[PEER], m->array, move[TAG]));
	}
	return NULL;
}

/* All that can be sent is sent first: no other worker waits for it while this one waits. */
static struct dfg_err *move_all(const struct posting *p, const struct moves *m, uint32_t arrays, int64_t k)
{
	for (uint32_t a = 0; a < arrays; a++)
		DFG_TRY(move_rows(p, &m[a], k, true));
	for (uint32_t a = 0; a < arrays; a++)
		DFG_TRY(move_rows(p, &m[a], k, false));
	return NULL;
}

/* Reads the moves in inputs `first` on, and the variables in those after them. */
static struct dfg_err *read_arrays(struct dfg_kernel *ctx, uint32_t first, uint32_t arrays, struct moves **out)
{
	void *memory;
	DFG_TRY(dfg_kernel_scratch(ctx, (arrays + 1) * sizeof **out, &memory));
	*out = memory;
	for (uint32_t a = 0; a < arrays; a++) {
		(*out)[a] = (struct moves){.array = a};
		DFG_TRY(read_moves(ctx->in[first + a], &(*out)[a]));
	}
	return NULL;
}

static struct dfg_err *find_variables(struct dfg_kernel *ctx, uint32_t first, uint32_t arrays, struct moves *m)
{
	for (uint32_t a = 0; a < arrays; a++)
		DFG_TRY(dfg_kernel_variable(ctx, (int)(first + a), &m[a].variable));
	return NULL;
}

static struct dfg_err *begin_posting(struct dfg_kernel *ctx, struct posting *out)
{
	out->channel = (uint32_t)dfg_kernel_attr(ctx)[0].i;
	return dfg_schedule_exchange(ctx, &out->exchange);
}

/* Most slices come after no move: nothing is looked up for them. */
static struct dfg_err *move_run(struct dfg_kernel *ctx)
{
	uint32_t arrays = (ctx->call->n_in - 1) / 2;
	int64_t k = dfg_tensor_int(ctx->in[0], 0);
	struct moves *m;
	struct posting p;
	bool any = false;
	DFG_TRY(read_arrays(ctx, 1, arrays, &m));
	for (uint32_t a = 0; a < arrays; a++) {
		if (k < 0 || k + 2 >= m[a].head[PLACES])
			return DFG_ERR(DFG_DATA, "slice %" PRId64 " is outside [0,%" PRId64 ")", k, m[a].head[PLACES] - 2);
		any |= m[a].at[k] != m[a].at[k + 1];
	}
	if (!any)
		return NULL;
	DFG_TRY(begin_posting(ctx, &p));
	DFG_TRY(find_variables(ctx, 1 + arrays, arrays, m));
	return move_all(&p, m, arrays, k);
}

static struct dfg_err *no_shape(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

const struct dfg_op dfg_op_Dfg_MoveRows = {
	.name = "Dfg>MoveRows",
	.doc =
		"in a parallel loop over workers, sends the rows that others access next and receives those that this worker "
		"does",
	.sig = "<A: int, S: index = i32>(slice: S, moves: A * i64, variables: A * resource) -> ()",
	.attr = {"channel: int >= 0"},
	.flags = DFG_STATEFUL | DFG_READS | DFG_WRITES | DFG_NO_GRADIENT,
	.shape = no_shape,
	.run = move_run,
};

/* A worker's rows of an array after the loop; those of the partial results of accumulators are its blocks. */
static struct dfg_err *rows_of_worker(const struct moves *m, uint32_t worker, uint32_t workers, struct rows *out)
{
	if (m->head) {
		int64_t first = m->owner[worker], end = m->owner[worker + 1];
		if (m->head[WORKERS] != workers || first < 0 || first > end || end > m->head[OWNED])
			return DFG_ERR(DFG_DATA, "the rows of array %u are not those of %u workers", m->array, workers);
		*out = (struct rows){end - first, m->head[DEPTH], m->owned + first * m->head[DEPTH], 0};
		return NULL;
	}
	uint32_t blocks = m->variable->shape.rank > 0 ? (uint32_t)m->variable->shape.dim[0] : 0;
	int64_t first = dfg_worker_block(worker, workers, blocks);
	*out = (struct rows){dfg_worker_block(worker + 1, workers, blocks) - first, 1, NULL, first};
	return NULL;
}

static struct dfg_err *join_with(const struct posting *p, const struct moves *m, uint32_t peer, bool sends)
{
	uint32_t workers = dfg_row_exchange_workers(p->exchange), self = dfg_row_exchange_self(p->exchange);
	struct rows rows;
	DFG_TRY(rows_of_worker(m, sends ? self : peer, workers, &rows));
	if (peer == self || !rows.count)
		return NULL;
	return (sends ? send_rows : take_rows)(p, m->variable, &rows, peer, m->array, -1);
}

static struct dfg_err *join_all(const struct posting *p, const struct moves *m, uint32_t count)
{
	uint32_t workers = dfg_row_exchange_workers(p->exchange);
	for (uint32_t i = 0; i < count * workers; i++)
		DFG_TRY(join_with(p, &m[i / workers], i % workers, true));
	for (uint32_t i = 0; i < count * workers; i++)
		DFG_TRY(join_with(p, &m[i / workers], i % workers, false));
	return NULL;
}

static struct dfg_err *join_run(struct dfg_kernel *ctx)
{
	const struct dfg_resolved_node *call = ctx->call;
	uint32_t arrays = (uint32_t)call->param[0].i, partials = call->n_in - 2 * arrays;
	struct posting p;
	struct moves *m;
	void *memory;
	DFG_TRY(begin_posting(ctx, &p));
	if (dfg_row_exchange_workers(p.exchange) == 1)
		return NULL;
	if (2 * (uint64_t)arrays > call->n_in)
		return DFG_ERR(DFG_DATA, "%u arrays require two inputs each, but there are only %u inputs", arrays, call->n_in);
	DFG_TRY(read_arrays(ctx, 0, arrays, &m));
	DFG_TRY(dfg_kernel_scratch(ctx, (arrays + partials + 1u) * sizeof *m, &memory));
	struct moves *all = memory;
	memcpy(all, m, arrays * sizeof *m);
	for (uint32_t i = 0; i < partials; i++)
		all[arrays + i] = (struct moves){.array = arrays + i};
	DFG_TRY(find_variables(ctx, arrays, arrays + partials, all));
	for (uint32_t a = 0; a < arrays; a++)
		DFG_TRY(move_rows(&p, &all[a], all[a].head[PLACES] - 2, true));
	return join_all(&p, all, arrays + partials);
}

const struct dfg_op dfg_op_Dfg_JoinRows = {
	.name = "Dfg>JoinRows",
	.doc =
		"after a parallel loop over workers, gives each the rows that others have written, and the partial results of "
		"their blocks",
	.sig = "<M: int >= 0, V: int>(moves: M * i64, variables: V * resource) -> ()",
	.attr = {"channel: int >= 0"},
	.flags = DFG_STATEFUL | DFG_READS | DFG_WRITES | DFG_NO_GRADIENT,
	.shape = no_shape,
	.run = join_run,
};
