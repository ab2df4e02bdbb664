#include "lib/exec/parallel/loop_schedule.h"

#include "lib/exec/parallel/schedule_private.h"

#include "lib/base/mem.h"

#include <inttypes.h>

const char dfg_loop_schedule_kind[] = "loop schedule";

static struct dfg_err *check_sorted(const struct dfg_loop_iterations *loop)
{
	for (int64_t i = 1; i < loop->n; i++)
		if (loop->space[i - 1] > loop->space[i] ||
			(loop->space[i - 1] == loop->space[i] && loop->time && loop->time[i - 1] > loop->time[i]))
			return DFG_ERR(DFG_DATA,
				"iteration %" PRId64 " is at (%" PRId64 ", %" PRId64 "), after one at (%" PRId64 ", %" PRId64
				"): the iterations of an ordered loop must be sorted by the space coordinate, then by the time "
				"coordinate",
				i, loop->space[i], loop->time ? loop->time[i] : 0, loop->space[i - 1],
				loop->time ? loop->time[i - 1] : 0);
	return NULL;
}

static struct dfg_err *find_blocks(struct dfg_scheduling *s)
{
	const struct dfg_loop_iterations *loop = s->loop;
	uint32_t blocks = s->cut->blocks;
	if (s->cut->needs_sorted && loop->space)
		DFG_TRY(check_sorted(loop));
	if (loop->space)
		DFG_TRY(dfg_loop_blocks_find(loop->space, loop->n, blocks, s->cut->by_range, s->space));
	for (int64_t i = 0; !loop->space && i < loop->n; i++)
		s->space[i] = (int32_t)((__int128)i * blocks / loop->n);
	return loop->time ? dfg_loop_blocks_find(loop->time, loop->n, blocks, s->cut->by_range, s->time) : NULL;
}

static int32_t clock_of(const struct dfg_loop_cut *cut, int32_t space, int32_t time)
{
	int32_t blocks = (int32_t)cut->blocks;
	if (cut->clock == DFG_CLOCK_ROTATION)
		return time >= space ? time - space : time - space + blocks;
	return cut->clock == DFG_CLOCK_STAIRCASE ? space + time : 0;
}

static void sort_by_clock(struct dfg_scheduling *s)
{
	for (int64_t i = 0; i < s->loop->n; i++) {
		s->clock[i] = clock_of(s->cut, s->space[i], s->time[i]);
		s->first[s->clock[i] + 1]++;
	}
	for (int32_t c = 0; c < s->clocks; c++)
		s->first[c + 1] += s->first[c];
	for (int64_t i = 0; i < s->loop->n; i++)
		s->sorted[s->first[s->clock[i]]++] = (int32_t)i;
	for (int32_t c = s->clocks; c; c--)
		s->first[c] = s->first[c - 1];
	s->first[0] = 0;
}

/* The unit of the row's first access must be that of this one, unless both only read. */
static struct dfg_err *verify_use(
	const struct dfg_scheduling *s, const struct dfg_loop_access *access, struct dfg_row_use *use, int64_t i)
{
	bool is_written = access->writes || use->write >= 0;
	if (use->iteration < 0) {
		use->iteration = (int32_t)i;
		use->block = s->space[i];
	}
	if (use->block == s->space[i] || !is_written)
		return NULL;
	return DFG_ERR(DFG_BUG,
		"iterations %d and %" PRId64 " access the same row of array %u, but would run in parallel at clock %d",
		use->iteration, i, access->array, s->clock[i]);
}

/* The level of an iteration, the rows of which have been looked up. */
static int32_t find_level(const struct dfg_scheduling *s, struct dfg_row_use *const *use)
{
	int32_t level = 0;
	for (uint32_t a = 0; a < s->loop->n_access; a++) {
		int32_t after = use[a]->write;
		if (s->loop->access[a].writes && use[a]->read > after)
			after = use[a]->read;
		level = after >= level ? after + 1 : level;
	}
	return level;
}

static struct dfg_err *place(struct dfg_scheduling *s, int64_t i, struct dfg_row_use **use)
{
	const struct dfg_loop_access *access = s->loop->access;
	for (uint32_t a = 0; a < s->loop->n_access; a++) {
		use[a] = dfg_row_table_find(&s->table[access[a].array], &access[a], i, s->clock[i]);
		if (s->cut->verify)
			DFG_TRY(verify_use(s, &access[a], use[a], i));
	}
	int32_t level = s->level[i] = find_level(s, use);
	for (uint32_t a = 0; a < s->loop->n_access; a++) {
		int32_t *last = access[a].writes ? &use[a]->write : &use[a]->read;
		*last = level > *last ? level : *last;
	}
	return NULL;
}

static struct dfg_err *find_levels(struct dfg_scheduling *s)
{
	struct dfg_row_use **use = dfg_zeros(s->loop->n_access + 1, sizeof *use);
	struct dfg_err *err = use ? NULL : dfg_no_memory("the levels of a loop");
	for (int64_t p = 0; !err && p < s->loop->n; p++)
		err = place(s, s->sorted[p], use);
	dfg_free(use);
	return err;
}

/* The number of slices of the clock. */
static int32_t levels_of(const struct dfg_scheduling *s, int32_t clock)
{
	int32_t levels = 0;
	for (int64_t p = s->first[clock]; p < s->first[clock + 1]; p++)
		if (s->level[s->sorted[p]] >= levels)
			levels = s->level[s->sorted[p]] + 1;
	return levels;
}

/* Orders the iterations of a clock by level. start[0..levels] becomes the slices' first places. */
static void fill_clock(const struct dfg_scheduling *s, int32_t clock, int64_t *start, int32_t levels, int64_t *order)
{
	int64_t from = s->first[clock], to = s->first[clock + 1];
	for (int32_t l = 0; l <= levels; l++)
		start[l] = 0;
	for (int64_t p = from; p < to; p++)
		start[s->level[s->sorted[p]] + 1]++;
	start[0] = from;
	for (int32_t l = 0; l < levels; l++)
		start[l + 1] += start[l];
	for (int64_t p = from; p < to; p++)
		order[start[s->level[s->sorted[p]]]++] = s->sorted[p];
	for (int32_t l = levels; l; l--)
		start[l] = start[l - 1];
	start[0] = from;
}

static struct dfg_err *fill(const struct dfg_scheduling *s, struct dfg_loop_schedule *out)
{
	int64_t n = s->loop->n;
	for (int32_t c = 0; c < s->clocks; c++)
		out->slices += levels_of(s, c);
	out->order = dfg_zeros((size_t)n + 1, sizeof *out->order);
	out->block = dfg_zeros((size_t)n + 1, sizeof *out->block);
	out->start = dfg_zeros((size_t)(s->cut->singly ? n : out->slices) + 1, sizeof *out->start);
	if (!out->order || !out->block || !out->start)
		return dfg_no_memory("the slices of a loop");
	int64_t *start = out->start;
	for (int32_t c = 0; c < s->clocks; c++) {
		int32_t levels = levels_of(s, c);
		fill_clock(s, c, start, levels, out->order);
		start += levels;
	}
	for (int64_t p = 0; p < n; p++)
		out->block[p] = s->space[out->order[p]];
	if (s->cut->singly) {
		out->slices = n;
		for (int64_t k = 0; k <= n; k++)
			out->start[k] = k;
	}
	return NULL;
}

static struct dfg_err *find_load(const int32_t *block, int64_t n, uint32_t blocks, double *out_load)
{
	int64_t *count = dfg_zeros(blocks, sizeof *count), most = 0;
	if (!count)
		return dfg_no_memory("the blocks of a loop");
	for (int64_t i = 0; i < n; i++)
		if (++count[block[i]] > most)
			most = count[block[i]];
	*out_load = n ? (double)most * blocks / (double)n : 1;
	dfg_free(count);
	return NULL;
}

static struct dfg_err *begin(struct dfg_scheduling *s)
{
	size_t n = (size_t)s->loop->n + 1;
	s->clocks = s->cut->clock == DFG_CLOCK_ONE ? 1 : (int32_t)s->cut->blocks * 2;
	for (uint32_t a = 0; a < s->loop->n_access; a++)
		if (s->loop->access[a].array >= s->n_array)
			s->n_array = s->loop->access[a].array + 1;
	s->space = dfg_zeros(n, sizeof *s->space);
	s->time = dfg_zeros(n, sizeof *s->time);
	s->clock = dfg_zeros(n, sizeof *s->clock);
	s->level = dfg_zeros(n, sizeof *s->level);
	s->sorted = dfg_zeros(n, sizeof *s->sorted);
	s->first = dfg_zeros((size_t)s->clocks + 1, sizeof *s->first);
	s->table = dfg_zeros(s->n_array + 1, sizeof *s->table);
	if (!s->space || !s->time || !s->clock || !s->level || !s->sorted || !s->first || !s->table)
		return dfg_no_memory("the schedule of a loop");
	for (uint32_t array = 0; array < s->n_array; array++)
		DFG_TRY(dfg_row_table_init(s->loop, array, &s->table[array]));
	return NULL;
}

void dfg_scheduling_end(struct dfg_scheduling *s)
{
	void *memory[] = {s->space, s->time, s->clock, s->level, s->sorted, s->first};
	for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
		dfg_free(memory[i]);
	for (uint32_t array = 0; s->table && array < s->n_array; array++)
		dfg_row_table_release(&s->table[array]);
	dfg_free(s->table);
}

struct dfg_err *dfg_scheduling_find(const struct dfg_loop_iterations *loop, const struct dfg_loop_cut *cut,
	struct dfg_scheduling *s, double *out_space_load, double *out_time_load)
{
	*s = (struct dfg_scheduling){.loop = loop, .cut = cut};
	*out_space_load = *out_time_load = 0;
	if (loop->n >= INT32_MAX)
		return DFG_ERR(
			DFG_DATA, "the loop has %" PRId64 " iterations, but --blocks allows fewer than %d", loop->n, INT32_MAX);
	DFG_TRY(begin(s));
	DFG_TRY(find_blocks(s));
	sort_by_clock(s);
	DFG_TRY(find_levels(s));
	DFG_TRY(find_load(s->space, loop->n, cut->blocks, out_space_load));
	return loop->time ? find_load(s->time, loop->n, cut->blocks, out_time_load) : NULL;
}

struct dfg_err *dfg_loop_schedule_find(
	const struct dfg_loop_iterations *loop, const struct dfg_loop_cut *cut, struct dfg_loop_schedule *out)
{
	struct dfg_scheduling s;
	*out = (struct dfg_loop_schedule){0};
	struct dfg_err *err = dfg_scheduling_find(loop, cut, &s, &out->space_load, &out->time_load);
	if (!err)
		err = fill(&s, out);
	dfg_scheduling_end(&s);
	if (err)
		dfg_loop_schedule_release(out);
	return err;
}

void dfg_loop_schedule_release(struct dfg_loop_schedule *schedule)
{
	dfg_free(schedule->order);
	dfg_free(schedule->block);
	dfg_free(schedule->start);
	*schedule = (struct dfg_loop_schedule){0};
}
