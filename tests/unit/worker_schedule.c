#include "tests/unit/test.h"

#include "lib/exec/parallel/worker_schedule.h"

#include <string.h>

/*
 * Workers that have memories of their own, and send each other rows as their schedules say, leave the values that one memory
 * has after the schedule of one process. Workers take turns, and a message arrives only when its sender has come to it.
 */
enum { MOST = 80, ACCESSES = 4, ROWS = 12, COLUMNS = 9, ARRAYS = 4, WORKERS = 5, MESSAGES = 4096 };

struct random_loop {
	int64_t space[MOST], time[MOST], key[ACCESSES][2][MOST];
	const int64_t *keys[ACCESSES][2];
	struct dfg_loop_access access[ACCESSES];
	struct dfg_loop_iterations loop;
};

struct memory {
	uint64_t value[ARRAYS][ROWS][COLUMNS];
};

struct message {
	uint32_t from, to, array;
	int64_t tag, count;
	uint64_t value[MOST * 2];
	bool taken;
};

struct run {
	const struct random_loop *r;
	uint32_t workers;
	struct dfg_worker_schedule part[WORKERS];
	struct memory memory[WORKERS];
	int64_t at[WORKERS]; /* the next slice */
	bool sent[WORKERS];  /* before that slice */
	struct message *message;
	size_t messages;
};

static uint32_t state = 1;
static uint32_t draw(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(state >> 8) * below >> 24);
}

static void set_accesses(struct random_loop *r, uint32_t count)
{
	for (uint32_t a = 0; a < count; a++) {
		r->keys[a][0] = r->key[a][0];
		r->keys[a][1] = r->key[a][1];
		r->access[a].key = r->keys[a];
		r->access[a].n_key = 2;
	}
	r->loop.access = r->access;
	r->loop.n_access = count;
}

/* Array 0 has a row for each space coordinate, array 2 one for each time coordinate. */
static void make_loop(struct random_loop *r, enum dfg_unit_clock clock)
{
	*r = (struct random_loop){.loop = {.n = draw(MOST), .space = r->space, .time = r->time}};
	uint32_t count = clock == DFG_CLOCK_ONE ? 2 : ACCESSES;
	for (int64_t i = 0; i < r->loop.n; i++) {
		r->space[i] = draw(ROWS);
		r->time[i] = draw(7);
		for (uint32_t a = 0; a < count; a++) {
			r->key[a][0][i] = a < 2 ? r->space[i] : r->time[i];
			r->key[a][1][i] = draw(2);
		}
	}
	for (uint32_t a = 0; a < count; a++)
		r->access[a] = (struct dfg_loop_access){.array = a / 2 * 2, .writes = draw(2)};
	set_accesses(r, count);
}

/* Elements of a table that need the one above and the one to the left. */
static void make_wavefront(struct random_loop *r)
{
	int64_t rows = 1 + draw(10), columns = 1 + draw(8), n = 0;
	*r = (struct random_loop){.loop = {.space = r->space, .time = r->time}};
	for (int64_t x = 1; x <= rows && n + columns < MOST; x++)
		for (int64_t y = 1; y <= columns; y++, n++) {
			const int64_t key[3][2] = {{x, y}, {x - 1, y}, {x, y - 1}};
			r->space[n] = x, r->time[n] = y;
			for (int a = 0; a < 3; a++)
				r->key[a][0][n] = key[a][0], r->key[a][1][n] = key[a][1];
		}
	r->loop.n = n;
	r->access[0].writes = true;
	set_accesses(r, 3);
}

static void begin_memory(struct memory *m)
{
	for (uint32_t a = 0; a < ARRAYS; a++)
		for (int k = 0; k < ROWS; k++)
			for (int c = 0; c < COLUMNS; c++)
				m->value[a][k][c] = a * 1000u + (unsigned)k * 20u + (unsigned)c;
}

/* Writes what depends on all rows that the iteration accesses. */
static void iterate(const struct random_loop *r, int64_t i, struct memory *m)
{
	uint64_t mixed = (uint64_t)i + 1;
	for (uint32_t a = 0; a < r->loop.n_access; a++)
		mixed = mixed * 6364136223846793005u + m->value[r->access[a].array][r->key[a][0][i]][r->key[a][1][i]];
	for (uint32_t a = 0; a < r->loop.n_access; a++)
		if (r->access[a].writes)
			m->value[r->access[a].array][r->key[a][0][i]][r->key[a][1][i]] += mixed + a;
}

static void send_message(
	struct run *run, uint32_t w, const struct dfg_array_moves *array, const struct dfg_row_move *move)
{
	struct message *message = &run->message[run->messages++];
	assert_true(run->messages <= MESSAGES && move->end - move->first <= MOST * 2);
	*message = (struct message){w, move->peer, array->array, move->tag, move->end - move->first, {0}, false};
	for (int64_t i = 0; i < message->count; i++) {
		const int64_t *key = array->key + (move->first + i) * 2;
		message->value[i] = run->memory[w].value[array->array][key[0]][key[1]];
	}
}

static bool take_message(
	struct run *run, uint32_t w, const struct dfg_array_moves *array, const struct dfg_row_move *move)
{
	struct message *found = NULL;
	for (size_t i = 0; i < run->messages; i++) {
		struct message *m = &run->message[i];
		if (m->from != move->peer || m->to != w || m->array != array->array || m->tag != move->tag)
			continue;
		assert_null(found); /* the key of a message is its own */
		found = m;
	}
	if (!found)
		return false;
	assert_int_equal(found->count, move->end - move->first);
	for (int64_t i = 0; i < found->count && !found->taken; i++) {
		const int64_t *key = array->key + (move->first + i) * 2;
		run->memory[w].value[array->array][key[0]][key[1]] = found->value[i];
	}
	found->taken = true;
	return true;
}

static bool move_rows(struct run *run, uint32_t w, bool sends)
{
	for (uint32_t a = 0; a < run->part[w].arrays; a++) {
		const struct dfg_array_moves *array = &run->part[w].array[a];
		for (int64_t m = array->at[run->at[w]]; m < array->at[run->at[w] + 1]; m++) {
			if (array->move[m].sends != sends)
				continue;
			if (sends)
				send_message(run, w, array, &array->move[m]);
			else if (!take_message(run, w, array, &array->move[m]))
				return false;
		}
	}
	return true;
}

/* Whether the worker came further. */
static bool advance(struct run *run, uint32_t w)
{
	const struct dfg_loop_schedule *s = &run->part[w].schedule;
	if (run->at[w] > s->slices)
		return false;
	if (!run->sent[w])
		move_rows(run, w, true);
	run->sent[w] = true;
	if (!move_rows(run, w, false))
		return false;
	for (int64_t p = s->start[run->at[w]]; run->at[w] < s->slices && p < s->start[run->at[w] + 1]; p++)
		iterate(run->r, s->order[p], &run->memory[w]);
	run->at[w]++;
	run->sent[w] = false;
	return true;
}

static void join_rows(const struct run *run, struct memory *out)
{
	begin_memory(out);
	for (uint32_t a = 0; a < run->part[0].arrays; a++) {
		const struct dfg_array_moves *array = &run->part[0].array[a];
		for (uint32_t w = 0; w < run->workers; w++)
			for (int64_t i = array->owner[w]; i < array->owner[w + 1]; i++) {
				const int64_t *key = array->owned + i * 2;
				out->value[array->array][key[0]][key[1]] = run->memory[w].value[array->array][key[0]][key[1]];
			}
	}
}

static void check_run(const struct random_loop *r, const struct dfg_loop_cut *cut, uint32_t workers)
{
	static struct message message[MESSAGES];
	static struct run run;
	struct memory want, got;
	struct dfg_loop_schedule whole;
	int64_t iterations = 0;
	run = (struct run){.r = r, .workers = workers, .message = message};
	succeeds(dfg_loop_schedule_find(&r->loop, cut, &whole));
	begin_memory(&want);
	for (int64_t p = 0; p < r->loop.n; p++)
		iterate(r, whole.order[p], &want);
	for (uint32_t w = 0; w < workers; w++) {
		succeeds(dfg_worker_schedule_find(&r->loop, cut, w, workers, &run.part[w]));
		begin_memory(&run.memory[w]);
		iterations += run.part[w].schedule.start[run.part[w].schedule.slices];
	}
	assert_int_equal(iterations, r->loop.n);
	for (bool moved = true; moved;) {
		moved = false;
		for (uint32_t w = 0; w < workers; w++)
			moved |= advance(&run, w);
	}
	for (uint32_t w = 0; w < workers; w++)
		assert_int_equal(run.at[w], run.part[w].schedule.slices + 1); /* nobody waits for ever */
	for (size_t i = 0; i < run.messages; i++)
		assert_true(message[i].taken);
	join_rows(&run, &got);
	assert_memory_equal(&got, &want, sizeof want);
	for (uint32_t w = 0; w < workers; w++)
		dfg_worker_schedule_release(&run.part[w]);
	dfg_loop_schedule_release(&whole);
}

static void workers_leave_the_values_of_one_process(void **unused)
{
	static const enum dfg_unit_clock clocks[] = {DFG_CLOCK_ONE, DFG_CLOCK_ROTATION, DFG_CLOCK_STAIRCASE};
	static struct random_loop r;
	(void)unused;
	for (int i = 0; i < 900; i++) {
		struct dfg_loop_cut cut = {.clock = clocks[i % 3], .by_range = draw(2), .singly = !draw(4)};
		uint32_t workers = 1 + draw(WORKERS);
		cut.blocks = workers + draw(4);
		if (i % 6 == 5)
			make_wavefront(&r);
		else
			make_loop(&r, cut.clock);
		check_run(&r, &cut, workers);
	}
}

/*
 * Four users by four items, all pairs, 4 blocks, 2 workers. By hand: item 0 is with users 0, 3, 2, 1 in that order, so it goes
 * to worker 1 and comes back; 1 goes after users 1, 0; 2 comes after user 2 and goes after 1, 0; 3 comes after users 3, 2.
 */
static void rows_move_where_they_are_accessed_next(void **unused)
{
	static struct random_loop r;
	const struct dfg_loop_cut cut = {.blocks = 4, .clock = DFG_CLOCK_ROTATION};
	struct dfg_worker_schedule s;
	int64_t sent = 0, rows = 0;
	(void)unused;
	r = (struct random_loop){.loop = {.n = 16, .space = r.space, .time = r.time}};
	for (int64_t i = 0; i < 16; i++) {
		r.space[i] = r.key[0][0][i] = i / 4;
		r.time[i] = r.key[1][0][i] = i % 4;
	}
	r.access[0] = (struct dfg_loop_access){.array = 0, .writes = true};
	r.access[1] = (struct dfg_loop_access){.array = 1, .writes = true};
	set_accesses(&r, 2);
	succeeds(dfg_worker_schedule_find(&r.loop, &cut, 0, 2, &s));
	assert_int_equal(s.array[0].moves, 0); /* rows of users stay */
	assert_int_equal(s.array[1].moves, 6);
	for (int64_t m = 0; m < 6; m++) {
		sent += s.array[1].move[m].sends;
		rows += s.array[1].move[m].end - s.array[1].move[m].first;
	}
	assert_int_equal(sent, 3);
	assert_int_equal(rows, 6);
	dfg_worker_schedule_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_leave_the_values_of_one_process),
		cmocka_unit_test(rows_move_where_they_are_accessed_next),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
