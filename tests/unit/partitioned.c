#include "tests/unit/partitioned.h"
#include "tests/unit/ways.h"

#include "lib/base/mem.h"

#include <limits.h>
#include <stdlib.h>

/*
 * Graphs that were cut by hand, in all windows, on one thread a worker and two, in many schedules, with links that hand
 * over at once and such that let wait. Beside the lines of a sketch (and of ways.h) a part may say
 *
 *     send 3 x:0 1 i32 ^c    x:0, as transfer 3, to worker 1
 *     recv y 3 0 i32 ^c      y is transfer 3, from worker 0
 */
static void add_end(char *text, size_t capacity, const char *line, uint32_t self)
{
	char what[40], number[40], peer[40], type[40], control[40] = "";
	size_t at = strlen(text);
	if (sscanf(line, "send %39s %39s %39s %39s %39s", number, what, peer, type, control) >= 4)
		snprintf(text + at, capacity - at,
			"send.%s _Send %s %s T=%s tensor_name='%s' send_device='/job:worker/task:%u/device:CPU:0' "
			"send_device_incarnation=1 recv_device='/job:worker/task:%s/device:CPU:0' _dfg_edge=%s\n",
			number, what, control, type, what, self, peer, number);
	else if (sscanf(line, "recv %39s %39s %39s %39s %39s", what, number, peer, type, control) >= 4)
		snprintf(text + at, capacity - at,
			"%s _Recv %s tensor_type=%s tensor_name='%s:0' send_device='/job:worker/task:%s/device:CPU:0' "
			"send_device_incarnation=1 recv_device='/job:worker/task:%u/device:CPU:0' _dfg_edge=%s\n",
			what, control, type, what, peer, self, number);
	else
		snprintf(text + at, capacity - at, "%s\n", line);
}

static void expand_part(const char *graph, int window, uint32_t self, char *text, size_t capacity)
{
	static char loops[16000];
	char *rest;
	expand(graph, window, loops, sizeof loops);
	*text = '\0';
	for (char *line = strtok_r(loops, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		add_end(text, capacity, line, self);
	assert_true(strlen(text) + 1 < capacity);
}

struct parts {
	struct cluster cluster;
	struct sketch sketch[CLUSTER_MOST];
};

static void parts_begin(
	struct parts *parts, const char *const *part, int window, const struct dfg_session_options *options, bool slow)
{
	static char text[16000];
	const struct dfg_graph *graph[CLUSTER_MOST];
	uint32_t workers = 0;
	for (; part[workers]; workers++) {
		expand_part(part[workers], window, workers, text, sizeof text);
		sketch_init(&parts->sketch[workers], step_ops, text);
		graph[workers] = &parts->sketch[workers].graph;
	}
	cluster_begin(&parts->cluster, graph, workers, options, slow);
}

static void parts_end(struct parts *parts)
{
	cluster_end(&parts->cluster);
	for (uint32_t i = 0; i < parts->cluster.workers; i++)
		sketch_release(&parts->sketch[i]);
}

/* "x=3 y=4" and "z w": i32 scalars. */
static struct dfg_err *parts_run(struct parts *parts, const char *feeds, const char *fetches, int32_t *out)
{
	struct dfg_tensor result[CLUSTER_LIST] = {0};
	int32_t number[CLUSTER_LIST];
	uint32_t n = 0, fetched = 0;
	char words[400], *rest;
	cluster_step_begin(&parts->cluster);
	strcpy(words, feeds);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest), n++) {
		char *equals = strchr(word, '=');
		*equals = '\0';
		number[n] = (int32_t)atoi(equals + 1);
		cluster_feed(&parts->cluster, word,
			&(struct dfg_tensor){.dtype = DFG_I32, .shape = DFG_SHAPE_SCALAR, .data = &number[n], .capacity = 4});
	}
	strcpy(words, fetches);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest), fetched++)
		cluster_fetch(&parts->cluster, word, fetched);
	DFG_TRY(cluster_step(&parts->cluster, result));
	for (uint32_t i = 0; i < fetched; i++) {
		out[i] = result[i].dtype ? (int32_t)dfg_tensor_int(&result[i], 0) : 0;
		dfg_tensor_release(&result[i]);
	}
	return NULL;
}

/* Calls check for each window, number of threads, kind of link, and schedule. */
static void in_all_clusters(
	const char *const *part, void (*check)(void *arg, struct parts *parts, const char *which), void *arg)
{
	for (int way = 0; way < 4 * 2 * 2; way++)
		for (int seed = 0; seed <= SCHEDULES / 10; seed++) {
			struct parts parts;
			char which[100];
			int window = all_windows[way % 4], threads = way / 4 % 2 + 1, slow = way / 8;
			snprintf(which, sizeof which, "window %d, %d threads, %s, schedule %d", window, threads,
				slow ? "slow" : "at once", seed);
			parts_begin(&parts, part, window,
				&(struct dfg_session_options){
					.threads = threads, .random_schedule = seed > 0, .schedule_seed = (uint64_t)seed},
				slow);
			check(arg, &parts, which);
			parts_end(&parts);
		}
}

static void check_agrees(void *arg, struct parts *parts, const char *which)
{
	const struct asked *asked = arg;
	for (int time = 0; time < 2; time++) {
		int32_t got = -12345;
		tick_count = 0;
		struct dfg_err *err = parts_run(parts, asked->feeds, asked->fetch, &got);
		if (err)
			fail_msg("%s (%s)", err->text, which);
		if (got != asked->wanted)
			fail_msg("%s is %d, not %d (%s)", asked->fetch, got, asked->wanted, which);
		if (asked->seen >= 0)
			assert_int_equal(tick_count, asked->seen);
		if (parts->cluster.left)
			fail_msg("%d things are left (%s)", (int)parts->cluster.left, which);
	}
}

static void together(const char *const *part, const char *feeds, const char *fetch, int32_t wanted, int ticks)
{
	in_all_clusters(part, check_agrees, &(struct asked){feeds, fetch, NULL, wanted, ticks});
}

static void check_fails(void *arg, struct parts *parts, const char *which)
{
	const struct asked *asked = arg;
	(void)which;
	for (int time = 0; time < 2; time++) {
		int32_t got[CLUSTER_LIST];
		fails(parts_run(parts, asked->feeds, asked->fetch, got), DFG_DATA, asked->words);
	}
}

static void apart(const char *const *part, const char *feeds, const char *fetch, const char *words)
{
	in_all_clusters(part, check_fails, &(struct asked){feeds, fetch, words, 0, -1});
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
	apart(cond, "x=2 y=5", "t", "fetch 't:0' is dead: node 'ys'' (_Recv) received a dead value from worker w0");
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

/* while i < n: s = even(s) ? half(s) : tick(s) + i, the odd side elsewhere: its deadness crosses in each iteration. */
static const char *const branching[] = {
	"n Placeholder dtype=i32\nstart Placeholder dtype=i32\nzero Number v=0\none Number v=1\ninto w N n\ninto w 1' one\n"
	"p Below i.m N\nwhile w p\ncarry w i zero j\ncarry w s start s'\nj Plus i 1' T=i32\neven Even s\n"
	"side Switch s even T=i32\nhalf Half side:1\nsend 0 p 1 bool ^s.m\nsend 1 side 1 i32 ^s\nsend 2 i 1 i32 ^s\n"
	"recv odd 3 1 i32 ^s\ns' Merge odd half T=i32 N=2\n",
	"zero' Number v=0\nrecv p' 0 0 bool ^t.m\nwhile w p'\ncarry w t zero' t\n"
	"recv x 1 0 i32 ^t\nrecv y 2 0 i32 ^t\nk Tick x\nz Plus k y T=i32\nsend 3 z 0 i32 ^t\n",
	NULL,
};

static void deadness_crosses_in_each_iteration(void **state)
{
	(void)state;
	/* 11, 11, 12, 6, 3, 7, 12 */
	together(branching, "n=6 start=11", "s.out", 12, 4);
	together(branching, "n=0 start=11", "s.out", 11, 0);
}

/* The loop is in a branch: if that is not taken, a dead predicate is sent, and ends the loop on the other device. */
static const char *const guarded[] = {
	"go Placeholder dtype=i32\nn Placeholder dtype=i32\ngoes Even go\nns Switch n goes T=i32\nzeros Switch zero goes "
	"T=i32\n"
	"ones Switch one goes T=i32\nzero Number v=0\none Number v=1\ninto w N ns:1\ninto w 1' ones:1\n"
	"p Below i.m N\nwhile w p\ncarry w i zeros:1 j\ncarry w s zeros:1 s'\nj Plus i 1' T=i32\n"
	"send 0 p 1 bool ^s.m\nsend 1 s 1 i32 ^s\nsend 2 i 1 i32 ^s\nrecv s' 3 1 i32 ^s\nm Merge ns s.out T=i32 N=2\n",
	"zero' Number v=0\nrecv p' 0 0 bool ^t.m\nwhile w p'\ncarry w t zero' t\n"
	"recv x 1 0 i32 ^t\nrecv y 2 0 i32 ^t\nk Tick x\nz Plus k y T=i32\nsend 3 z 0 i32 ^t\n",
	NULL,
};

/* A dead _Send of the predicate has a dead control input too: its turn. What nobody receives, nobody may wait for. */
static const char *const guarded_both[] = {
	"go Placeholder dtype=i32\nn Placeholder dtype=i32\ngoes Even go\nns Switch n goes T=i32\nzeros Switch zero goes "
	"T=i32\n"
	"ones Switch one goes T=i32\nzero Number v=0\none Number v=1\ninto w N ns:1\ninto w 1' ones:1\nsend 4 zeros:1 1 "
	"i32\n"
	"p Below i.m N\nwhile w p\ncarry w i zeros:1 j\ncarry w s zeros:1 s'\nj Plus i 1' T=i32\n"
	"send 0 p 1 bool ^s.m\nsend 1 s 1 i32 ^s\nsend 2 i 1 i32 ^s\nrecv s' 3 1 i32 ^s\nm Merge ns s.out T=i32 N=2\n",
	"recv zero' 4 0 i32\nrecv p' 0 0 bool ^t.m\nwhile w p'\ncarry w t zero' t\n"
	"recv x 1 0 i32 ^t\nrecv y 2 0 i32 ^t\nk Tick x\nz Plus k y T=i32\nsend 3 z 0 i32 ^t\n",
	NULL,
};

static void a_loop_in_a_branch_that_is_not_taken_ends_everywhere(void **state)
{
	(void)state;
	together(guarded_both, "go=2 n=4", "m", 6, 4);
	together(guarded_both, "go=3 n=4", "m", 4, 0);
	together(guarded, "go=2 n=4", "m", 6, 4);
}

/* for i < n: for j < i: s += tick(j) elsewhere, under control loops one in the other. */
static const char *const nested[] = {
	"n Placeholder dtype=i32\n.0 Number v=0\n.1 Number v=1\ncount i n\ncarry i s .0 r.out\n"
	"z Minus i.i i.i T=i32\ninto j j.limit i.i\ninto j j.1 i.1\nj.less Below j.i.m j.limit\nwhile j j.less\n"
	"carry j j.i z j.more\nj.more Plus j.i j.1 T=i32\ncarry j r s r'\n"
	"send 0 i.less 1 bool ^i.i.m\nsend 1 j.less 1 bool ^j.i.m\nsend 2 j.i 1 i32 ^j.i\nrecv k 3 1 i32 ^j.i\n"
	"r' Plus r k T=i32\n",
	"zero Number v=0\nrecv p 0 0 bool ^t.m\nwhile i p\ncarry i t zero t\n"
	"recv q 1 0 bool ^u.m\nwhile j q\ncarry j u t u\nrecv x 2 0 i32 ^u\nk' Tick x\nsend 3 k' 0 i32 ^u\n",
	NULL,
};

static void loops_in_loops_run_on_two_workers(void **state)
{
	(void)state;
	together(nested, "n=5", "s.out", 10, 10);
	together(nested, "n=1", "s.out", 0, 0);
	together(nested, "n=0", "s.out", 0, 0);
}

static void a_worker_that_fails_ends_the_step_of_all(void **state)
{
	(void)state;
	const char *const part[] = {
		"x Placeholder dtype=i32\nsend 0 x 1 i32\nrecv y 1 1 i32\nz Negate y T=i32\n",
		"recv x' 0 0 i32\nh Half x'\nsend 1 h 0 i32\n",
		NULL,
	};
	together(part, "x=8", "z", -4, 0);
	apart(part, "x=7", "z", "node 'h' (Half): 7 is odd");
}

static void what_comes_must_have_the_type_that_was_agreed(void **state)
{
	(void)state;
	const char *const part[] = {
		"x Placeholder dtype=i32\np Even x\nsend 0 p 1 bool\n", "recv y 0 0 i32\nz Negate y T=i32\n", NULL};
	struct parts parts;
	int32_t got;
	parts_begin(&parts, part, 1, &(struct dfg_session_options){.threads = 1}, false);
	fails(parts_run(&parts, "x=1", "z", &got), DFG_PROTOCOL,
		"node 'y' (_Recv): worker w0 sent bool[], expected i32[...]");
	parts_end(&parts);
}

static void a_part_cannot_run_alone(void **state)
{
	(void)state;
	refuses(
		"x Placeholder dtype=i32\ny _Recv tensor_type=i32 tensor_name='x:0' send_device='/job:worker/task:1' "
		"send_device_incarnation=1 recv_device='/job:worker/task:0' _dfg_edge=1\nz Plus x y T=i32\n",
		"x=1", "z",
		"node 'y' (_Recv): is one end of a transfer from '/job:worker/task:1': this graph is a part of a plan");
}

static void a_plan_must_say_where_its_transfers_lead(void **state)
{
	(void)state;
	static const struct {
		const char *recv, *words;
	} bad[] = {
		{"y _Recv tensor_type=i32 tensor_name='x:0' send_device='/job:worker/task:0/device:CPU:0' "
		 "send_device_incarnation=1 recv_device=''\nz Negate y T=i32\n",
			"node 'y' (_Recv): has no valid attribute _dfg_edge"},
		{"y _Recv tensor_type=i32 tensor_name='x:0' send_device='/job:ps' send_device_incarnation=1 recv_device='' "
		 "_dfg_edge=3\nz Negate y T=i32\n",
			"node 'y' (_Recv): no worker has the device '/job:ps'; the devices are /job:worker/task:0/device:CPU:0"},
	};
	for (int i = 0; i < 2; i++) {
		const char *const part[] = {"x Placeholder dtype=i32\nsend 3 x 0 i32\n", bad[i].recv, NULL};
		struct parts parts;
		parts_begin(&parts, part, 1, &(struct dfg_session_options){.threads = 1}, false);
		struct dfg_edge z;
		struct dfg_plan *plan;
		succeeds(dfg_graph_edge(parts.cluster.graph[1], "z", &z));
		fails(dfg_session_plan(parts.cluster.session[1], &(struct dfg_step){.fetch = &z, .n_fetch = 1}, &plan),
			DFG_DATA, bad[i].words);
		parts_end(&parts);
	}
}

/* The other part is not asked for anything: what is waited for never comes. */
static struct dfg_err *wait_in_vain(struct parts *parts, const char *fetch)
{
	struct dfg_edge edge;
	struct dfg_plan *plan;
	struct dfg_tensor result;
	succeeds(dfg_graph_edge(parts->cluster.graph[1], fetch, &edge));
	succeeds(dfg_session_plan(parts->cluster.session[1], &(struct dfg_step){.fetch = &edge, .n_fetch = 1}, &plan));
	dfg_rendezvous_begin(parts->cluster.rendezvous[1], ++parts->cluster.steps);
	struct dfg_err *err = dfg_plan_run(plan, NULL, &result);
	assert_int_equal(dfg_rendezvous_end(parts->cluster.rendezvous[1]), 0);
	struct dfg_stats stats;
	dfg_plan_stats(plan, &stats);
	assert_int_equal(stats.left, 0);
	return err;
}

static const char *const vain[] = {
	"x Placeholder dtype=i32\nsend 0 x 1 i32\nsend 1 x 1 i32\nsend 2 x 1 i32\n",
	"recv a 0 0 i32\nrecv b 1 0 i32\nab Plus a b T=i32\n"
	".0 Number v=0\n.1 Number v=1\nn Number v=3\ncount w n\ncarry w s .0 s'\nrecv s' 2 0 i32 ^s\n",
	NULL,
};

static void a_deadline_says_what_was_waited_for(void **state)
{
	(void)state;
	for (int threads = 1; threads <= 2; threads++) {
		struct parts parts;
		parts_begin(&parts, vain, 1, &(struct dfg_session_options){.threads = threads, .timeout = 0.03}, false);
		for (int time = 0; time < 2; time++) {
			fails(wait_in_vain(&parts, "ab"), DFG_DEADLINE,
				" s for 'a:0' from w0, and for 1 more: the step took longer than 0.03 s");
			fails(wait_in_vain(&parts, "s.out"), DFG_DEADLINE,
				" s for 's':0' from w0, in iteration [0] of loop 'w': the step took longer than 0.03 s");
		}
		parts_end(&parts);
	}
}

static void *stop_soon(void *arg)
{
	struct timespec soon = {.tv_nsec = 5000000};
	nanosleep(&soon, NULL);
	atomic_store((atomic_bool *)arg, true);
	return NULL;
}

static void a_step_that_waits_can_be_stopped(void **state)
{
	(void)state;
	static atomic_bool cancel;
	struct parts parts;
	pthread_t thread;
	atomic_store(&cancel, false);
	parts_begin(&parts, vain, 1, &(struct dfg_session_options){.threads = 1, .cancel = &cancel}, false);
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, &cancel), 0);
	fails(wait_in_vain(&parts, "ab"), DFG_STOPPED, "the step was stopped");
	pthread_join(thread, NULL);
	parts_end(&parts);
}

static void *lose_soon(void *arg)
{
	struct timespec soon = {.tv_nsec = 5000000};
	nanosleep(&soon, NULL);
	dfg_rendezvous_lost(arg, 0, DFG_ERR(DFG_UNAVAILABLE, "connection reset"));
	return NULL;
}

static void a_lost_worker_ends_the_wait_for_it(void **state)
{
	(void)state;
	struct parts parts;
	pthread_t thread;
	parts_begin(&parts, vain, 1, &(struct dfg_session_options){.threads = 1}, false);
	assert_int_equal(pthread_create(&thread, NULL, lose_soon, parts.cluster.rendezvous[1]), 0);
	fails(wait_in_vain(&parts, "ab"), DFG_UNAVAILABLE, "from w0: worker w0 is lost: connection reset");
	pthread_join(thread, NULL);
	fails(wait_in_vain(&parts, "s.out"), DFG_UNAVAILABLE,
		"node 's'' (_Recv): in iteration 0 of loop 'w': worker w0 is lost: connection reset");
	parts_end(&parts);
}

/* A sender may be ahead by its credit, one byte here, and by a window of iterations. */
static void who_sends_to_a_worker_that_takes_nothing_waits(void **state)
{
	(void)state;
	static const char *const part[] = {
		".0 Number v=0\n.1 Number v=1\nn Number v=100\ncount w n\nsend 0 w.i 1 i32 ^w.i\n",
		".0 Number v=0\n.1 Number v=1\nn Number v=100\ncount w n\nrecv x 0 0 i32 ^w.i\ncarry w s .0 s'\n"
		"s' Plus s x T=i32\n",
		NULL,
	};
	for (int way = 0; way < 4 * 2; way++) {
		struct parts parts;
		struct dfg_edge send;
		struct dfg_plan *plan;
		struct dfg_sent sent;
		int window = all_windows[way % 4], threads = way / 4 + 1;
		parts_begin(&parts, part, window, &(struct dfg_session_options){.threads = threads, .timeout = 0.03}, true);
		succeeds(dfg_graph_edge(parts.cluster.graph[0], "^send.0", &send));
		succeeds(
			dfg_session_plan(parts.cluster.session[0], &(struct dfg_step){.target = &send.node, .n_target = 1}, &plan));
		dfg_rendezvous_begin(parts.cluster.rendezvous[0], 1);
		fails(dfg_plan_run(plan, NULL, NULL), DFG_DEADLINE,
			" s for credit to send 'w.i' to w1, in iteration [1] of loop");
		assert_int_equal(dfg_rendezvous_end(parts.cluster.rendezvous[0]), 0);
		dfg_rendezvous_sent(parts.cluster.rendezvous[0], 1, &sent);
		assert_in_range(sent.messages, 2, 1 + window);
		parts_end(&parts);
	}
	together(part, "", "s.out", 4950, 0);
}

/* 8 values of work, there and back, while a kernel runs on each of the threads there are. */
static void values_arrive_while_kernels_run(void **state)
{
	(void)state;
	const char *const part[] = {
		"x Placeholder dtype=i32\na Work x\nb Work a\nc Work b\nsend 0 x 1 i32\nsend 1 a 1 i32\nsend 2 b 1 i32\n"
		"recv p 3 1 i32\nrecv q 4 1 i32\nrecv r 5 1 i32\nu Work p\nv Work q\nw Work r\n"
		"y Plus u v T=i32\nz Plus w c T=i32\nall Plus y z T=i32\n",
		"recv x' 0 0 i32\nrecv a' 1 0 i32\nrecv b' 2 0 i32\nk Work x'\nl Work a'\nm Work b'\n"
		"send 3 k 0 i32\nsend 4 l 0 i32\nsend 5 m 0 i32\n",
		NULL,
	};
	together(part, "x=10", "all", 12 + 13 + 14 + 13, 0);
}

static void what_comes_may_lie_in_buffers_of_the_session(void **state)
{
	(void)state;
	struct parts parts;
	struct dfg_tensor tensor;
	parts_begin(&parts, vain, 1, &(struct dfg_session_options){.threads = 1}, false);
	succeeds(dfg_session_tensor(parts.cluster.session[0], DFG_F32, &DFG_SHAPE_VECTOR(1000), &tensor));
	assert_true(tensor.dtype == DFG_F32 && tensor.shape.dim[0] == 1000 && tensor.capacity >= 4000 && tensor.buffer);
	void *data = memset(tensor.data, 1, 4000);
	dfg_tensor_release(&tensor);
	succeeds(dfg_session_tensor(parts.cluster.session[0], DFG_F32, &DFG_SHAPE_VECTOR(1000), &tensor));
	assert_ptr_equal(tensor.data, data);
	dfg_tensor_release(&tensor);
	fails(dfg_session_tensor(parts.cluster.session[0], DFG_F32, &DFG_SHAPE_VECTOR(INT64_MAX), &tensor), DFG_DATA,
		"f32[9223372036854775807] is larger than any memory");
	parts_end(&parts);
}

/* One allocation fails, anywhere: the step ends with that error on all workers, or does without the memory; the next step is not affected. */
static void short_memory_ends_the_step_of_all(void **state)
{
	(void)state;
	struct dfg_allocator *heap = dfg_mem;
	for (int slow = 0; slow < 2; slow++) {
		bool whole = false;
		for (long left = 0; !whole; left += left < 200 ? 1 : 23) {
			struct dfg_mem_failing failing;
			struct parts parts;
			int32_t got = 0;
			dfg_mem_failing_init(&failing, heap, LONG_MAX, false);
			dfg_mem = &failing.base; /* from before the first thread until after the last */
			parts_begin(&parts, branching, 2, &(struct dfg_session_options){.threads = 1, .timeout = 600}, slow);
			atomic_store(&failing.left, left);
			struct dfg_err *err = parts_run(&parts, "n=6 start=11", "s.out", &got);
			whole = atomic_exchange(&failing.left, LONG_MAX) > 0;
			if (err && err->code != DFG_MEMORY)
				fail_msg("%s (allocation %ld)", err->text, left);
			dfg_err_free(err);
			succeeds(parts_run(&parts, "n=6 start=11", "s.out", &got));
			assert_int_equal(got, 12);
			assert_int_equal(parts.cluster.left, 0);
			parts_end(&parts);
			dfg_mem = heap;
		}
	}
}

struct crossing {
	atomic_int sent[8], received[8], dead;
};

static void note_crossing(void *arg, const struct dfg_trace_event *event)
{
	struct crossing *crossing = arg;
	if (!event->transfer)
		return;
	assert_string_equal(event->op, event->sends ? "_Send" : "_Recv");
	atomic_fetch_add(event->sends ? &crossing->sent[event->transfer - 1] : &crossing->received[event->transfer - 1], 1);
	atomic_fetch_add(&crossing->dead, event->dead);
}

static void a_trace_has_both_ends_of_what_crosses(void **state)
{
	(void)state;
	struct crossing crossing = {0};
	struct parts parts;
	int32_t got;
	parts_begin(&parts, branching, 10,
		&(struct dfg_session_options){.threads = 1, .trace = note_crossing, .trace_arg = &crossing}, false);
	succeeds(parts_run(&parts, "n=6 start=11", "s.out", &got));
	assert_int_equal(crossing.sent[0], 7);
	assert_int_equal(crossing.received[0], 7);
	for (int i = 1; i < 4; i++) {
		assert_int_equal(crossing.sent[i], 6);
		assert_int_equal(crossing.received[i], 6);
	}
	assert_int_equal(crossing.dead, 4 * 2);
	parts_end(&parts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_goes_from_worker_to_worker),
		cmocka_unit_test(deadness_crosses),
		cmocka_unit_test(a_loop_runs_on_two_workers),
		cmocka_unit_test(deadness_crosses_in_each_iteration),
		cmocka_unit_test(a_loop_in_a_branch_that_is_not_taken_ends_everywhere),
		cmocka_unit_test(loops_in_loops_run_on_two_workers),
		cmocka_unit_test(a_worker_that_fails_ends_the_step_of_all),
		cmocka_unit_test(what_comes_must_have_the_type_that_was_agreed),
		cmocka_unit_test(a_part_cannot_run_alone),
		cmocka_unit_test(a_plan_must_say_where_its_transfers_lead),
		cmocka_unit_test(a_deadline_says_what_was_waited_for),
		cmocka_unit_test(a_step_that_waits_can_be_stopped),
		cmocka_unit_test(a_lost_worker_ends_the_wait_for_it),
		cmocka_unit_test(who_sends_to_a_worker_that_takes_nothing_waits),
		cmocka_unit_test(values_arrive_while_kernels_run),
		cmocka_unit_test(what_comes_may_lie_in_buffers_of_the_session),
		cmocka_unit_test(short_memory_ends_the_step_of_all),
		cmocka_unit_test(a_trace_has_both_ends_of_what_crosses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
