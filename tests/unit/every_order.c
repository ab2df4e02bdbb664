#include "tests/unit/ways.h"

#include "lib/exec/dataflow/executor_private.h"

#include <stdlib.h>

/*
 * Every order in which an executor can run a small graph. The real executor is driven: at each step it asks which of the
 * nodes that are ready comes next, and all answers are tried, depth first, from the start each time. What leads to a
 * state that was seen is given up. In every order each Exit fires once, nothing is lost, and it is quiet when all ended.
 */
enum { DEPTH_MOST = 4096 };

struct search {
	uint32_t choice[DEPTH_MOST], of[DEPTH_MOST];
	int depth, known; /* where this run is; choices that are given */
	uint64_t *seen;   /* a hash set */
	size_t states, capacity;
	bool again; /* this run came to a state that was seen */
	size_t runs, ends;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2))) * UINT64_C(0xff51afd7ed558ccd);
	return (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* The same for the same iteration, wherever it lies in memory. */
static uint64_t hash_place(const struct executor *executor, const struct iteration_state *iter)
{
	if (!iter->frame)
		return 1;
	uint64_t loop = (uint64_t)(iter->loop - executor->frame_info->loop);
	return mix(mix(hash_place(executor, iter->frame->parent), loop), (uint64_t)iter->iteration);
}

static uint64_t hash_value(const struct dfg_tensor *tensor)
{
	size_t bytes = dfg_tensor_bytes(tensor);
	uint64_t hash = bytes;
	for (size_t i = 0; i < bytes; i++)
		hash = mix(hash, ((const unsigned char *)tensor->data)[i]);
	return hash;
}

/* Of entries the order does not count. */
static uint64_t hash_store(const struct dfg_keyed_store *store)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < store->capacity; i++) {
		if (store->slot[i].stamp != store->stamp)
			continue;
		uint64_t hash = 1;
		for (int k = 0; k < store->keys; k++)
			hash = mix(hash, (uint64_t)store->key[i * (size_t)store->keys + (size_t)k]);
		const struct dfg_keyed_entry *entry = store->slot[i].entry ? &store->entry[store->slot[i].entry - 1] : NULL;
		sum += mix(hash, entry ? mix(entry->state, entry->marks) : 7);
	}
	return sum;
}

static uint64_t hash_slab(const struct executor *executor, const struct iteration_state *iter)
{
	uint64_t hash = mix(hash_place(executor, iter), mix(iter->outstanding, iter->children));
	for (uint32_t i = 0; i < iter->loop->nodes; i++)
		hash = mix(hash, mix(iter->count[i].pending, iter->count[i].dead));
	for (uint32_t i = 0; i < iter->loop->slots; i++)
		hash = mix(hash, iter->state[i] == LIVE ? hash_value(&iter->tensor[i]) : iter->state[i]);
	for (uint32_t i = 0; i < iter->loop->saves; i++)
		hash = mix(hash, hash_store(&iter->store[i]));
	return hash;
}

static uint64_t hash_frame(const struct executor *executor, const struct frame *frame)
{
	uint64_t place = mix(hash_place(executor, frame->parent), (uint64_t)(frame->loop - executor->frame_info->loop)),
			 sum = 0;
	for (uint32_t i = 0; i < frame->n_constant; i++)
		sum += mix(frame->constant[i].node, 2 + (uint64_t)frame->constant[i].dead);
	for (uint32_t i = 0; i < frame->n_parked; i++)
		sum += mix(frame->parked[i].node, 4);
	for (uint32_t i = 0; i < frame->n_exit; i++)
		sum += mix(frame->exit[i].node, 5);
	return mix(mix(place, sum), mix((uint64_t)frame->newest_number, frame->enters));
}

/* A hash of all state that decides what may happen from now on. */
static uint64_t hash_state(const struct executor *executor)
{
	uint64_t sum = 0;
	const struct queue *queue = &executor->cheap;
	for (const struct iteration_state *iter = executor->iters; iter; iter = iter->made)
		sum += iter->used ? hash_slab(executor, iter) : 0;
	for (const struct frame *frame = executor->frames; frame; frame = frame->made)
		sum += frame->used ? hash_frame(executor, frame) : 0;
	for (size_t i = 0; i < queue->count; i++) {
		const struct ready *item = &queue->item[(queue->first + i) & (queue->capacity - 1)];
		sum += mix(mix(hash_place(executor, item->iter), item->node), 8 + (uint64_t)item->dead);
	}
	for (size_t i = 0; i < executor->waiters; i++)
		if (executor->waiter[i].iter)
			sum += mix(mix(hash_place(executor, executor->waiter[i].iter), executor->waiter[i].node), 11);
	return sum ? sum : 1;
}

static bool add_hash(struct search *search, uint64_t hash)
{
	size_t i = hash & (search->capacity - 1);
	assert_true(search->states < search->capacity / 2);
	for (; search->seen[i]; i = (i + 1) & (search->capacity - 1))
		if (search->seen[i] == hash)
			return false;
	search->seen[i] = hash;
	search->states++;
	return true;
}

static void check_windows(const struct executor *executor)
{
	for (const struct frame *frame = executor->frames; frame; frame = frame->made)
		assert_true(!frame->used || frame->outstanding <= frame->loop->window);
}

static struct dfg_err *choose(void *arg, const struct executor *executor, size_t n, size_t *out_next)
{
	struct search *search = arg;
	if (!n) { /* quiet */
		search->ends++;
		assert_int_equal(executor->live_frames, 0);
		assert_int_equal(executor->live_iters, 1);
		assert_int_equal(executor->live_saves, 0);
		assert_int_equal(executor->waiting, 0);
		return NULL;
	}
	check_windows(executor);
	if (n == 1)
		return NULL;
	assert_true(search->depth < DEPTH_MOST);
	if (search->depth == search->known) {
		search->again = !add_hash(search, hash_state(executor));
		if (search->again)
			return DFG_ERR(DFG_NEGATIVE, "seen");
		search->choice[search->known] = 0;
		search->of[search->known++] = (uint32_t)n;
	}
	*out_next = search->choice[search->depth++];
	return NULL;
}

/* The next leaf of the tree of choices; false after the last. */
static bool go_on(struct search *search)
{
	while (search->known && search->choice[search->known - 1] + 1 == search->of[search->known - 1])
		search->known--;
	if (search->known)
		search->choice[search->known - 1]++;
	search->depth = 0;
	return search->known;
}

static void run_once(struct steps *steps, struct search *search, const char *feeds, const char *fetch, int32_t wanted)
{
	int32_t got = -12345;
	search->again = false;
	search->runs++;
	struct dfg_err *err = steps_run(steps, feeds, fetch, &got);
	nothing_is_left();
	if (search->again) {
		dfg_err_free(err);
		return;
	}
	succeeds(err);
	assert_int_equal(got, wanted);
}

/* The fetch is `wanted` in every order. There are at least `least` states: fewer would prove nothing. */
static void in_every_order(
	const char *graph, int window, const char *feeds, const char *fetch, int32_t wanted, size_t least)
{
	static char text[16000];
	static struct search search;
	struct steps steps;
	int32_t got;
	search = (struct search){.capacity = 1 << 21};
	search.seen = dfg_zeros(search.capacity, sizeof *search.seen);
	assert_non_null(search.seen);
	expand(graph, window, text, sizeof text);
	steps_begin(&steps, &(struct dfg_session_options){.threads = 1, .random_schedule = true}, text);
	succeeds(steps_run(&steps, feeds, fetch, &got));
	last_plan->choose = choose;
	last_plan->choose_arg = &search;
	do
		run_once(&steps, &search, feeds, fetch, wanted);
	while (go_on(&search));
	steps_end(&steps);
	dfg_free(search.seen);
	if (getenv("STATES"))
		printf("window %d: %zu states, %zu runs, %zu to the end\n", window, search.states, search.runs, search.ends);
	assert_true(search.states >= least && search.ends > 0);
}

#define NUMBERS "x Placeholder dtype=i32\n.0 Number v=0\n.1 Number v=1\n"

/* A loop with one variable: i from x up to 3. */
#define SMALL(f, start)                                                                     \
	"into " f " " f ".limit three\ninto " f " " f ".step .1\n" f ".less Below " f ".i.m " f \
	".limit\n"                                                                              \
	"while " f " " f ".less\ncarry " f " " f ".i " start " " f ".add\n" f ".add Plus " f ".i " f ".step T=i32\n"

static void one_loop(void **state)
{
	(void)state;
	for (int window = 1; window <= 3; window++)
		in_every_order(NUMBERS "three Number v=3\n" SMALL("f", "x"), window, "x=0", "f.i.out", 3, 20);
}

static void two_loops_side_by_side(void **state)
{
	(void)state;
	const char *graph = NUMBERS "three Number v=3\n" SMALL("f", "x") SMALL("g", "x") "r Plus f.i.out g.i.out T=i32\n";
	in_every_order(graph, 1, "x=0", "r", 6, 1000);
	in_every_order(graph, 2, "x=1", "r", 6, 1000);
}

static void two_variables(void **state)
{
	(void)state;
	const char *graph = NUMBERS
		"three Number v=3\n" SMALL("f", "x") "carry f v .0 add\nadd Plus v f.step T=i32\nr Plus f.i.out v.out T=i32\n";
	for (int window = 1; window <= 3; window++)
		in_every_order(graph, window, "x=0", "r", 6, 400);
}

/* A loop o in which is a loop i: o.i from x to 3, and in each iteration i.j from o.i to 3. */
#define NEST(o, i)                                                                                                     \
	"into " o " " o ".limit three\ninto " o " " o ".step .1\n" o ".less Below " o ".i.m " o ".limit\nwhile " o " " o   \
	".less\ncarry " o " " o ".i x " o ".next\ninto " i " " i ".limit " o ".limit\ninto " i " " i ".step " o            \
	".step\n" i ".less Below " i ".j.m " i ".limit\nwhile " i " " i ".less\ncarry " i " " i ".j " o ".i " i ".add\n" i \
	".add Plus " i ".j " i ".step T=i32\n" o ".nought Minus " i ".j.out " o ".limit T=i32\n" o ".more Plus " o ".i " o \
	".step T=i32\n" o ".next Plus " o ".more " o ".nought T=i32\n"

static void a_loop_in_a_loop(void **state)
{
	(void)state;
	const char *graph = NUMBERS "three Number v=3\n" NEST("o", "i");
	for (int window = 1; window <= 2; window++)
		in_every_order(graph, window, "x=0", "o.i.out", 3, 500);
}

/* The loop on the side that is not taken is entered dead, and its exit is dead. */
static void a_loop_on_either_side_of_a_branch(void **state)
{
	(void)state;
	const char *graph = NUMBERS "three Number v=3\np Below x .1\ns Switch x p T=i32\n" SMALL("f", "s")
		SMALL("g", "s:1") "m Merge f.i.out g.i.out T=i32 N=2\n";
	for (int window = 1; window <= 2; window++) {
		in_every_order(graph, window, "x=0", "m", 3, 500);
		in_every_order(graph, window, "x=1", "m", 3, 500);
	}
}

static void a_branch_in_a_loop(void **state)
{
	(void)state;
	const char *graph = NUMBERS
		"three Number v=3\n" SMALL("f", "x") "carry f v .0 m\neven Even f.i\ns Switch v even T=i32\n"
		"add Plus s:1 f.step T=i32\nm Merge s add T=i32 N=2\nr Plus f.i.out v.out T=i32\n";
	for (int window = 1; window <= 2; window++)
		in_every_order(graph, window, "x=0", "r", 5, 500);
}

/* Values that one loop saves are read by another, in the other direction. */
static void saves_and_loads(void **state)
{
	(void)state;
	const char *graph = NUMBERS "three Number v=3\n" SMALL("f", "x") "s Dfg>Save f.add f.i T=i32 K=i32 N=1\n" SMALL("g",
		"x") "down Minus g.limit g.i T=i32\nl Dfg>Load s down T=i32 K=i32 N=1\ncarry g v .0 sum\nsum Plus v l T=i32\n";
	in_every_order(graph, 1, "x=1", "v.out", 5, 500);
	in_every_order(graph, 2, "x=1", "v.out", 5, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_loop),
		cmocka_unit_test(two_loops_side_by_side),
		cmocka_unit_test(two_variables),
		cmocka_unit_test(a_loop_in_a_loop),
		cmocka_unit_test(a_loop_on_either_side_of_a_branch),
		cmocka_unit_test(a_branch_in_a_loop),
		cmocka_unit_test(saves_and_loads),
	};
	return cmocka_run_group_tests_name("every_order", tests, NULL, NULL);
}
