#include "tests/unit/partitioned.h"
#include "tests/unit/ways.h"

#include <stdlib.h>

/*
 * Graphs that were cut by hand, in all windows, on one thread a worker and two, in many schedules, with links that hand
 * over at once and such that let wait. Beside the lines of a sketch (and of ways.h) a part may say
 *
 *     send 3 x:0 1 i32 ^c    x:0, as transfer 3, to worker 1
 *     recv y 3 0 i32 ^c      y is transfer 3, from worker 0
 */
static void add_end(char *text, size_t room, const char *line, uint32_t self)
{
	char what[40], number[40], peer[40], type[40], control[40] = "";
	size_t at = strlen(text);
	if (sscanf(line, "send %39s %39s %39s %39s %39s", number, what, peer, type, control) >= 4)
		snprintf(text + at, room - at,
			"send.%s _Send %s %s T=%s tensor_name='%s' send_device='/job:worker/task:%u/device:CPU:0' "
			"send_device_incarnation=1 recv_device='/job:worker/task:%s/device:CPU:0' _dfg_edge=%s\n",
			number, what, control, type, what, self, peer, number);
	else if (sscanf(line, "recv %39s %39s %39s %39s %39s", what, number, peer, type, control) >= 4)
		snprintf(text + at, room - at,
			"%s _Recv %s tensor_type=%s tensor_name='%s:0' send_device='/job:worker/task:%s/device:CPU:0' "
			"send_device_incarnation=1 recv_device='/job:worker/task:%u/device:CPU:0' _dfg_edge=%s\n",
			what, control, type, what, peer, self, number);
	else
		snprintf(text + at, room - at, "%s\n", line);
}

static void expand_part(const char *graph, int window, uint32_t self, char *text, size_t room)
{
	static char loops[16000];
	char *rest;
	expand(graph, window, loops, sizeof loops);
	*text = '\0';
	for (char *line = strtok_r(loops, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		add_end(text, room, line, self);
	assert_true(strlen(text) + 1 < room);
}

struct crew {
	struct fleet fleet;
	struct sketch sketch[FLEET_MOST];
};

static void crew_begin(
	struct crew *crew, const char *const *part, int window, const struct dfg_session_options *options, bool slow)
{
	static char text[16000];
	const struct dfg_graph *graph[FLEET_MOST];
	uint32_t workers = 0;
	for (; part[workers]; workers++) {
		expand_part(part[workers], window, workers, text, sizeof text);
		sketch_init(&crew->sketch[workers], step_ops, text);
		graph[workers] = &crew->sketch[workers].graph;
	}
	fleet_begin(&crew->fleet, graph, workers, options, slow);
}

static void crew_end(struct crew *crew)
{
	fleet_end(&crew->fleet);
	for (uint32_t i = 0; i < crew->fleet.workers; i++)
		sketch_release(&crew->sketch[i]);
}

/* "x=3 y=4" and "z w": i32 scalars. */
static struct dfg_err *crew_run(struct crew *crew, const char *feeds, const char *fetches, int32_t *out)
{
	struct dfg_tensor result[FLEET_LIST] = {0};
	int32_t number[FLEET_LIST];
	uint32_t n = 0, fetched = 0;
	char words[400], *rest;
	fleet_step_begin(&crew->fleet);
	strcpy(words, feeds);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest), n++) {
		char *equals = strchr(word, '=');
		*equals = '\0';
		number[n] = (int32_t)atoi(equals + 1);
		fleet_feed(&crew->fleet, word,
			&(struct dfg_tensor){.dtype = DFG_I32, .shape = DFG_SHAPE_SCALAR, .data = &number[n], .room = 4});
	}
	strcpy(words, fetches);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest), fetched++)
		fleet_fetch(&crew->fleet, word, fetched);
	DFG_TRY(fleet_step(&crew->fleet, result));
	for (uint32_t i = 0; i < fetched; i++) {
		out[i] = result[i].dtype ? (int32_t)dfg_tensor_int(&result[i], 0) : 0;
		dfg_tensor_release(&result[i]);
	}
	return NULL;
}

/* Calls check for each window, number of threads, kind of link, and schedule. */
static void in_all_crews(
	const char *const *part, void (*check)(void *arg, struct crew *crew, const char *which), void *arg)
{
	for (int way = 0; way < 4 * 2 * 2; way++)
		for (int seed = 0; seed <= SCHEDULES / 10; seed++) {
			struct crew crew;
			char which[100];
			int window = all_windows[way % 4], threads = way / 4 % 2 + 1, slow = way / 8;
			snprintf(which, sizeof which, "window %d, %d threads, %s, schedule %d", window, threads,
				slow ? "slow" : "at once", seed);
			crew_begin(&crew, part, window,
				&(struct dfg_session_options){
					.threads = threads, .random_schedule = seed > 0, .schedule_seed = (uint64_t)seed},
				slow);
			check(arg, &crew, which);
			crew_end(&crew);
		}
}

static void check_agrees(void *arg, struct crew *crew, const char *which)
{
	const struct asked *asked = arg;
	for (int time = 0; time < 2; time++) {
		int32_t got = -12345;
		tick_count = 0;
		struct dfg_err *err = crew_run(crew, asked->feeds, asked->fetch, &got);
		if (err)
			fail_msg("%s (%s)", err->text, which);
		if (got != asked->wanted)
			fail_msg("%s is %d, not %d (%s)", asked->fetch, got, asked->wanted, which);
		if (asked->seen >= 0)
			assert_int_equal(tick_count, asked->seen);
		if (crew->fleet.left)
			fail_msg("%d things are left (%s)", (int)crew->fleet.left, which);
	}
}

static void together(const char *const *part, const char *feeds, const char *fetch, int32_t wanted, int ticks)
{
	in_all_crews(part, check_agrees, &(struct asked){feeds, fetch, NULL, wanted, ticks});
}

static void check_fails(void *arg, struct crew *crew, const char *which)
{
	const struct asked *asked = arg;
	(void)which;
	for (int time = 0; time < 2; time++) {
		int32_t got[FLEET_LIST];
		fails(crew_run(crew, asked->feeds, asked->fetch, got), DFG_DATA, asked->words);
	}
}

static void apart(const char *const *part, const char *feeds, const char *fetch, const char *words)
{
	in_all_crews(part, check_fails, &(struct asked){feeds, fetch, words, 0, -1});
}

static void a_chain_goes_from_worker_to_worker(void **state)
{
	(void)state;
	const char *const part[] = {
		"x Placeholder dtype=i32\na Negate x T=i32\nsend 0 a 1 i32\nrecv c' 2 2 i32\nd Plus c' x T=i32\n",
		"recv a' 0 0 i32\nb Tick a'\nsend 1 b 2 i32\n",
		"recv b' 1 1 i32\nseven Number v=7\nc Times b' seven T=i32\nsend 2 c 0 i32\n",
		NULL,
	};
	together(part, "x=3", "d", -18, 1);
	together(part, "x=3", "c", -21, 1);
	together(part, "x=3", "a", -3, 0);
}

/* x < y ? -x : y + 1, of which the second is elsewhere, and so is what reads it. */
static const char *const cond[] = {
	"x Placeholder dtype=i32\ny Placeholder dtype=i32\np Below x y\nxs Switch x p T=i32\nys Switch y p T=i32\n"
	"minus Negate xs:1 T=i32\nsend 0 ys 1 i32\nrecv t' 1 1 i32\nm Merge t' minus T=i32 N=2\n",
	"recv ys' 0 0 i32\none Number v=1\nu Tick ys'\nt Plus u one T=i32\nsend 1 t 0 i32\n",
	NULL,
};

static void deadness_crosses(void **state)
{
	(void)state;
	together(cond, "x=2 y=5", "m", -2, 0);
	together(cond, "x=5 y=2", "m", 3, 1);
	apart(cond, "x=2 y=5", "t", "fetch 't:0' is dead: node 'ys'' (_Recv) was told so by worker w0");
}

/* i = 0, s = start; while i < n: s = tick(s) + i elsewhere. The other worker's loop is driven by the predicate. */
static const char *const loop[] = {
	"n Placeholder dtype=i32\nstart Placeholder dtype=i32\nzero Number v=0\none Number v=1\ninto w N n\ninto w 1' one\n"
	"p Below i.m N\nwhile w p\ncarry w i zero j\ncarry w s start s'\nj Plus i 1' T=i32\n"
	"send 0 p 1 bool ^s.m\nsend 1 s 1 i32 ^s\nsend 2 i 1 i32 ^s\nrecv s' 3 1 i32 ^s\n",
	"zero' Number v=0\nrecv p' 0 0 bool ^t.m\nwhile w p'\ncarry w t zero' t\n"
	"recv x 1 0 i32 ^t\nrecv y 2 0 i32 ^t\nk Tick x\nz Plus k y T=i32\nsend 3 z 0 i32 ^t\n",
	NULL,
};

static void a_loop_runs_on_two_workers(void **state)
{
	(void)state;
	together(loop, "n=5 start=100", "s.out", 110, 5);
	together(loop, "n=1 start=100", "s.out", 100, 1);
	together(loop, "n=0 start=7", "s.out", 7, 0);
	together(loop, "n=40 start=0", "s.out", 780, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_goes_from_worker_to_worker),
		cmocka_unit_test(deadness_crosses),
		cmocka_unit_test(a_loop_runs_on_two_workers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
