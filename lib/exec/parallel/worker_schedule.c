#include "lib/exec/parallel/worker_schedule.h"

#include "lib/base/map.h"
#include "lib/base/mem.h"
#include "lib/exec/parallel/schedule_private.h"

#include <stdlib.h>
#include <string.h>

/* An iteration of this worker. Units are numbered by clock, then by space block; with one clock there is one. */
struct own_iteration {
	int64_t unit;
	int32_t level, number;
};

/* A row that moves: written last in unit `after`, and accessed in unit `before`. */
struct row_transfer {
	int64_t after, before;
	uint32_t from, to;
	uint32_t access;   /* one that touches the row, */
	int32_t iteration; /* in that iteration: its key */
	size_t place;      /* in the order of discovery, which is the same on all workers */
};

/* The newest value of a row. */
struct row_state {
	uint32_t holder; /* the worker that wrote it; DFG_NONE: nobody did */
	int64_t unit;    /* in which */
	uint32_t access;
	int32_t iteration;
};

struct dividing {
	struct dfg_scheduling s;
	uint32_t worker, workers;
	struct own_iteration *own;
	int64_t owns;
	int64_t *unit; /* by slice */

	/* The array at work. */
	struct row_state *row; /* by slot of its table */
	uint64_t *has;         /* by slot, a bit for each worker: it has the newest value */
	size_t words;          /* of these bits */
	struct row_transfer *transfer;
	size_t transfers, capacity;
};

static uint32_t worker_of(const struct dividing *d, int64_t iteration)
{
	return (uint32_t)((int64_t)d->s.space[iteration] * d->workers / d->s.cut->blocks);
}

static int64_t unit_of(const struct dividing *d, int64_t iteration)
{
	if (d->s.cut->clock == DFG_CLOCK_ONE)
		return 0;
	return (int64_t)d->s.clock[iteration] * d->s.cut->blocks + d->s.space[iteration];
}

static int by_slice(const void *a, const void *b)
{
	const struct own_iteration *x = a, *y = b;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static struct dfg_err *find_own(struct dividing *d)
{
	d->own = dfg_zeros((size_t)d->s.loop->n + 1, sizeof *d->own);
	if (!d->own)
		return dfg_no_memory("the slices of a worker");
	for (int64_t i = 0; i < d->s.loop->n; i++)
		if (worker_of(d, i) == d->worker)
			d->own[d->owns++] = (struct own_iteration){unit_of(d, i), d->s.level[i], (int32_t)i};
	qsort(d->own, (size_t)d->owns, sizeof *d->own, by_slice);
	return NULL;
}

static bool begins_slice(const struct dividing *d, int64_t p)
{
	const struct own_iteration *now = &d->own[p], *before = now - 1;
	return !p || d->s.cut->singly || now->unit != before->unit || now->level != before->level;
}

static struct dfg_err *fill_slices(struct dividing *d, struct dfg_loop_schedule *out)
{
	size_t n = (size_t)d->owns + 1;
	out->order = dfg_zeros(n, sizeof *out->order);
	out->block = dfg_zeros(n, sizeof *out->block);
	out->start = dfg_zeros(n, sizeof *out->start);
	d->unit = dfg_zeros(n, sizeof *d->unit);
	if (!out->order || !out->block || !out->start || !d->unit)
		return dfg_no_memory("the slices of a worker");
	for (int64_t p = 0; p < d->owns; p++) {
		if (begins_slice(d, p)) {
			d->unit[out->slices] = d->own[p].unit;
			out->start[out->slices++] = p;
		}
		out->order[p] = d->own[p].number;
		out->block[p] = d->s.space[d->own[p].number];
	}
	out->start[out->slices] = d->owns;
	return NULL;
}

/* The first slice of the unit or of a later one. */
static int64_t slice_from(const struct dividing *d, int64_t unit, int64_t slices)
{
	int64_t low = 0, high = slices;
	while (low < high) {
		int64_t middle = (low + high) / 2;
		if (d->unit[middle] < unit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct dfg_err *note_transfer(struct dividing *d, const struct row_state *row, uint32_t to, int64_t before)
{
	if (row->holder != d->worker && to != d->worker)
		return NULL;
	if (!dfg_reserve(&d->transfer, &d->capacity, d->transfers + 1, sizeof *d->transfer))
		return dfg_no_memory("the rows that workers exchange");
	d->transfer[d->transfers] = (struct row_transfer){.after = row->unit,
		.before = before,
		.from = row->holder,
		.to = to,
		.access = row->access,
		.iteration = row->iteration,
		.place = d->transfers};
	d->transfers++;
	return NULL;
}

/* An iteration accesses a row: its worker must have the newest value, which a write replaces. */
static struct dfg_err *follow_row(struct dividing *d, uint32_t access, int64_t i)
{
	const struct dfg_loop_access *at = &d->s.loop->access[access];
	struct dfg_row_table *table = &d->s.table[at->array];
	size_t slot = (size_t)(dfg_row_table_find(table, at, i, d->s.clock[i]) - table->use);
	struct row_state *row = &d->row[slot];
	uint64_t *has = d->has + slot * d->words, worker = worker_of(d, i), bit = UINT64_C(1) << worker % 64;
	if (row->holder != DFG_NONE && !(has[worker / 64] & bit)) {
		DFG_TRY(note_transfer(d, row, (uint32_t)worker, unit_of(d, i)));
		has[worker / 64] |= bit;
	}
	if (!at->writes)
		return NULL;
	memset(has, 0, d->words * sizeof *has);
	has[worker / 64] |= bit;
	*row = (struct row_state){(uint32_t)worker, unit_of(d, i), access, (int32_t)i};
	return NULL;
}

static struct dfg_err *follow_rows(struct dividing *d, uint32_t array)
{
	size_t slots = (size_t)d->s.table[array].slots + 1;
	d->words = (d->workers + 63) / 64;
	d->row = dfg_zeros(slots, sizeof *d->row);
	d->has = dfg_zeros(slots * d->words, sizeof *d->has);
	d->transfers = 0;
	if (!d->row || !d->has)
		return dfg_no_memory("the rows that workers exchange");
	for (size_t i = 0; i < slots; i++)
		d->row[i].holder = DFG_NONE;
	for (int64_t p = 0; p < d->s.loop->n; p++)
		for (uint32_t a = 0; a < d->s.loop->n_access; a++)
			if (d->s.loop->access[a].array == array)
				DFG_TRY(follow_row(d, a, d->s.sorted[p]));
	return NULL;
}

/* Those of one message are adjacent. */
static int by_message(const void *a, const void *b)
{
	const struct row_transfer *x = a, *y = b;
	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static bool is_same_message(const struct row_transfer *x, const struct row_transfer *y)
{
	return x->after == y->after && x->from == y->from && x->to == y->to;
}

static void put_key(const struct dividing *d, uint32_t access, int64_t iteration, int64_t *out_key)
{
	const struct dfg_loop_access *at = &d->s.loop->access[access];
	for (uint32_t k = 0; k < at->n_key; k++)
		out_key[k] = at->key[k][iteration];
}

/* A move, and the slice that it comes before. */
struct placed_move {
	struct dfg_row_move move;
	int64_t slice;
};

/* Sends come before waits, so that no two workers wait for each other. */
static int by_place(const void *a, const void *b)
{
	const struct placed_move *x = a, *y = b;
	if (x->slice != y->slice)
		return x->slice < y->slice ? -1 : 1;
	if (x->move.sends != y->move.sends)
		return x->move.sends ? -1 : 1;
	return (x->move.first > y->move.first) - (x->move.first < y->move.first);
}

static size_t find_moves(const struct dividing *d, int64_t slices, struct placed_move *out_move)
{
	size_t count = 0;
	for (size_t i = 0, end; i < d->transfers; i = end) {
		const struct row_transfer *first = &d->transfer[i];
		bool sends = first->from == d->worker;
		int64_t before = first->before;
		for (end = i; end < d->transfers && is_same_message(first, &d->transfer[end]); end++)
			before = d->transfer[end].before < before ? d->transfer[end].before : before;
		out_move[count++] =
			(struct placed_move){{sends ? first->to : first->from, sends, first->after, (int64_t)i, (int64_t)end},
				slice_from(d, sends ? first->after + 1 : before, slices)};
	}
	return count;
}

static struct dfg_err *fill_moves(struct dividing *d, int64_t slices, struct dfg_array_moves *out)
{
	if (d->transfers)
		qsort(d->transfer, d->transfers, sizeof *d->transfer, by_message);
	struct placed_move *placed = dfg_zeros(d->transfers + 1, sizeof *placed);
	out->at = dfg_zeros((size_t)slices + 2, sizeof *out->at);
	out->move = dfg_zeros(d->transfers + 1, sizeof *out->move);
	out->key = dfg_zeros(d->transfers * out->depth + 1, sizeof *out->key);
	if (!placed || !out->at || !out->move || !out->key) {
		dfg_free(placed);
		return dfg_no_memory("the rows that workers exchange");
	}
	for (size_t i = 0; i < d->transfers; i++)
		put_key(d, d->transfer[i].access, d->transfer[i].iteration, out->key + i * out->depth);
	out->rows = (int64_t)d->transfers;
	out->moves = (int64_t)find_moves(d, slices, placed);
	qsort(placed, (size_t)out->moves, sizeof *placed, by_place);
	for (int64_t m = 0; m < out->moves; m++) {
		out->move[m] = placed[m].move;
		out->at[placed[m].slice + 1]++;
	}
	for (int64_t k = 0; k <= slices; k++)
		out->at[k + 1] += out->at[k];
	dfg_free(placed);
	return NULL;
}

/* Lists the rows that were written, by the worker that has their newest values. */
static struct dfg_err *fill_owners(struct dividing *d, struct dfg_array_moves *out)
{
	size_t slots = (size_t)d->s.table[out->array].slots + 1;
	out->owner = dfg_zeros((size_t)d->workers + 2, sizeof *out->owner);
	if (!out->owner)
		return dfg_no_memory("the rows of the workers");
	for (size_t i = 0; i < slots; i++)
		if (d->row[i].holder != DFG_NONE)
			out->owner[d->row[i].holder + 2]++;
	for (uint32_t w = 1; w <= d->workers; w++)
		out->owner[w + 1] += out->owner[w];
	out->owned = dfg_zeros((size_t)out->owner[d->workers + 1] * out->depth + 1, sizeof *out->owned);
	if (!out->owned)
		return dfg_no_memory("the rows of the workers");
	for (size_t i = 0; i < slots; i++)
		if (d->row[i].holder != DFG_NONE) {
			int64_t place = out->owner[d->row[i].holder + 1]++;
			put_key(d, d->row[i].access, d->row[i].iteration, out->owned + place * out->depth);
		}
	return NULL;
}

static struct dfg_err *find_array(struct dividing *d, int64_t slices, struct dfg_array_moves *out)
{
	struct dfg_err *err = follow_rows(d, out->array);
	if (!err)
		err = fill_moves(d, slices, out);
	if (!err)
		err = fill_owners(d, out);
	dfg_free(d->row);
	dfg_free(d->has);
	d->row = NULL;
	d->has = NULL;
	return err;
}

static struct dfg_err *find_arrays(struct dividing *d, struct dfg_worker_schedule *out)
{
	const struct dfg_loop_iterations *loop = d->s.loop;
	out->array = dfg_zeros(loop->n_access + 1, sizeof *out->array);
	if (!out->array)
		return dfg_no_memory("the rows that workers exchange");
	for (uint32_t a = 0; a < loop->n_access; a++) {
		if (loop->access[a].array != a)
			continue;
		struct dfg_array_moves *array = &out->array[out->arrays++];
		array->array = a;
		array->depth = loop->access[a].n_key;
		DFG_TRY(find_array(d, out->schedule.slices, array));
	}
	return NULL;
}

struct dfg_err *dfg_worker_schedule_find(const struct dfg_loop_iterations *iterations, const struct dfg_loop_cut *cut,
	uint32_t worker, uint32_t workers, struct dfg_worker_schedule *out)
{
	struct dividing d = {.worker = worker, .workers = workers};
	struct dfg_loop_schedule *schedule = &out->schedule;
	*out = (struct dfg_worker_schedule){0};
	struct dfg_err *err = dfg_scheduling_find(iterations, cut, &d.s, &schedule->space_load, &schedule->time_load);
	if (!err)
		err = find_own(&d);
	if (!err)
		err = fill_slices(&d, schedule);
	if (!err)
		err = find_arrays(&d, out);
	dfg_scheduling_end(&d.s);
	dfg_free(d.own);
	dfg_free(d.unit);
	dfg_free(d.transfer);
	if (err)
		dfg_worker_schedule_release(out);
	return err;
}

void dfg_worker_schedule_release(struct dfg_worker_schedule *schedule)
{
	for (uint32_t i = 0; i < schedule->arrays; i++) {
		struct dfg_array_moves *array = &schedule->array[i];
		void *memory[] = {array->at, array->move, array->key, array->owner, array->owned};
		for (size_t k = 0; k < sizeof memory / sizeof *memory; k++)
			dfg_free(memory[k]);
	}
	dfg_free(schedule->array);
	dfg_loop_schedule_release(&schedule->schedule);
	*schedule = (struct dfg_worker_schedule){0};
}
