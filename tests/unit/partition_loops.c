#include "tests/unit/cutting.h"
#include "tests/unit/simulation.h"

/* Lines of a loop F; AT is "" or a device's mark. */
#define ENTER(F, v, X, AT) v " Enter " X " T=i32 frame_name='" F "'" AT "\n"
#define INTO(F, v, X, AT) v " Enter " X " T=i32 is_constant=true frame_name='" F "'" AT "\n"
#define CARRY(F, v, START, NEXT, AT)                                                                           \
	v ".e Enter " START " T=i32 frame_name='" F "'" AT "\n" v ".m Merge " v ".e " v ".n T=i32 N=2" AT "\n" v   \
	  ".s Switch " v ".m " F " T=i32" AT "\n" v " Identity " v ".s:1 T=i32" AT "\n" v ".n NextIteration " NEXT \
	  " T=i32" AT "\n" v ".out Exit " v ".s T=i32" AT "\n"
#define WHILE(F, P, AT) F " LoopCond " P AT "\n"

/* F.i goes from F.start by 1 to N, which may be a tensor of the loop around. */
#define COUNT(F, START, N, AT)                                                         \
	INTO(F, F ".limit", N, AT)                                                         \
	F ".less Less " F ".i.m " F ".limit T=i32" AT "\n" WHILE(F, F ".less", AT) F       \
		".one Const value=1 ^" F ".i" AT "\n" F ".more Add " F ".i " F ".one T=i32" AT \
		"\n" CARRY(F, F ".i", START, F ".more", AT)

static int64_t fed_n, fed_x;
static int64_t feed(const char *name)
{
	return *name == 'n' ? fed_n : fed_x;
}

static uint32_t draw(uint64_t *state, uint32_t n)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((*state >> 33) % n);
}

static uint32_t choose(void *arg, struct sim *sim, uint32_t n)
{
	(void)sim;
	return draw(arg, n);
}

static struct sim *simulate(const struct dfg_graph *part, uint32_t parts, uint64_t *seed)
{
	struct sim *sim = calloc(1, sizeof *sim);
	for (uint32_t p = 0; p < parts; p++)
		sim->part[p] = &part[p];
	sim->parts = parts;
	sim->feed = feed;
	sim->choose = seed ? choose : NULL;
	sim->choose_arg = seed;
	sim_run(sim);
	sim_check_done(sim);
	return sim;
}

/* The results of all loops are the same. */
static void agree(const struct cut_sketch *cut, struct sim *whole, struct sim *parts, const uint32_t *device)
{
	const struct dfg_graph *graph = &cut->sketch.graph;
	for (uint32_t n = 0; n < graph->count; n++) {
		uint32_t d = device[n], there = dfg_graph_find(&cut->parts.part[d], graph->node[n].name);
		assert_int_not_equal(there, DFG_NONE);
		const struct sim_instance *one = &whole->instance[0][0][n];
		const struct sim_instance *other = parts->instance[d][0] ? &parts->instance[d][0][there] : NULL;
		for (int port = 0; port < 2; port++) {
			assert_int_equal(one->out[port].dead, other ? other->out[port].dead : 0);
			if (!one->out[port].dead)
				assert_int_equal(one->out[port].value, other ? other->out[port].value : 0);
		}
	}
}

/* How many messages the parts send, whatever the order. */
static uint32_t messages(const char *text, uint32_t devices, int64_t n, int64_t x)
{
	struct cut_sketch cut;
	uint32_t device[256] = {0}, sent = 0;
	uint64_t seed = 1;
	fed_n = n;
	fed_x = x;
	cut_read(&cut, text, device);
	succeeds(cut_apart(&cut, devices, device));
	cut_verify(&cut);
	struct sim *whole = simulate(&cut.sketch.graph, 1, NULL);
	for (int i = 0; i < 20; i++) {
		struct sim *parts = simulate(cut.parts.part, devices, &seed);
		agree(&cut, whole, parts, device);
		assert_true(!i || parts->sent == sent);
		sent = parts->sent;
		sim_release(parts);
	}
	sim_release(whole);
	cut_end(&cut);
	return sent;
}

#define INPUTS "n Placeholder dtype=i32 _scalar=true\nx Placeholder dtype=i32 _scalar=true\n"
#define ANY_N "n Placeholder dtype=i32\nx Placeholder dtype=i32\n"

static void a_loop_with_one_remote_op_sends_3n_plus_1(void **state)
{
	(void)state;
	/* x doubles while it is less than n, which is not known to be a scalar */
	const char *text = ANY_N INTO("f", "limit", "n", "") "less Less v.m limit T=i32\n" WHILE(
		"f", "less", "") "double Add v v T=i32@1\n" CARRY("f", "v", "x", "double", "") "y Neg v.out T=i32\n";
	for (uint32_t iterations = 0; iterations < 6; iterations++)
		assert_int_equal(messages(text, 2, 1 << iterations, 1), 3 * iterations + 1);
}

static void a_counted_loop_sends_2n_plus_1(void **state)
{
	(void)state;
	const char *text = INPUTS "zero Const value=0\n" COUNT("f", "zero", "n", "") "double Add v v T=i32@1\n" CARRY(
		"f", "v", "x", "double", "") "y Neg v.out T=i32\n";
	for (uint32_t iterations = 0; iterations < 6; iterations++)
		assert_int_equal(messages(text, 2, iterations, 1), 2 * iterations + 1);
}

/* As the loop of a gradient does: from the iterations of another one, less 1, down to 0. */
static void a_loop_that_counts_down_what_another_counted_sends_2n_plus_1(void **state)
{
	(void)state;
	const char *text = INPUTS "zero Const value=0\none Const value=1\n" COUNT(
		"f", "zero", "n", "") "last Sub f.i.out one T=i32\n" INTO("g", "g.zero", "zero", "") INTO("g", "g.one", "one",
		"") "k.left GreaterEqual k.m g.zero T=i32\n" WHILE("g", "k.left", "") "k.less Sub k g.one T=i32\n" CARRY("g",
		"k", "last", "k.less", "") "double Add v v T=i32@1\n" CARRY("g", "v", "x", "double", "");
	for (uint32_t iterations = 0; iterations < 6; iterations++)
		assert_int_equal(messages(text, 2, iterations, 1), 2 * iterations + 1);
}

static void what_a_loop_only_hands_on_crosses_once(void **state)
{
	(void)state;
	const char *text = ANY_N INTO("f", "limit", "n", "") "less Less v.m limit T=i32\n" WHILE(
		"f", "less", "") "same Identity v T=i32\ndouble Add same v.s:1 T=i32@1\n" CARRY("f", "v", "x", "double", "");
	for (uint32_t iterations = 0; iterations < 4; iterations++)
		assert_int_equal(messages(text, 2, 1 << iterations, 1), 3 * iterations + 1);
}

/* The same within a branch that is taken where x > 0. */
#define IN_BRANCH(loop)                                                                                       \
	"p GreaterEqual x zero T=i32\nn.side Switch n p T=i32\nx.side Switch x p T=i32\nzero.side Switch zero p " \
	"T=i32\n" loop "neg Neg x.side T=i32\ny Merge neg v.out T=i32 N=2\n"

static void in_a_branch_that_is_not_taken_a_loop_sends_three_at_most(void **state)
{
	(void)state;
	const char *counted = INPUTS "zero Const value=0\n" IN_BRANCH(
		COUNT("f", "zero.side:1", "n.side:1", "") "double Add v v T=i32@1\n" CARRY("f", "v", "x.side:1", "double", ""));
	assert_int_equal(messages(counted, 2, 3, 1), 2 * 3 + 2);
	assert_int_equal(messages(counted, 2, 3, -1), 2);
	const char *text =
		ANY_N "zero Const value=0\n" IN_BRANCH(INTO("f", "limit", "n.side:1", "") "less Less v.m limit T=i32\n" WHILE(
			"f", "less", "") "double Add v v T=i32@1\n" CARRY("f", "v", "x.side:1", "double", ""));
	assert_int_equal(messages(text, 2, 8, 1), 3 * 3 + 1);
	assert_int_equal(messages(text, 2, 8, -1), 1);
}

static void refuses(const char *text, const char *words)
{
	struct cut_sketch cut;
	fails(cut_begin(&cut, 2, text), DFG_DATA, words);
	cut_end(&cut);
}

static void a_variable_is_on_one_device(void **state)
{
	(void)state;
	refuses(INPUTS "zero Const value=0\n" COUNT("f", "zero", "n", "") ENTER(
				"f", "v.e", "x", "@1") "v.m Merge v.e v.n T=i32 N=2\nv.s Switch v.m f T=i32\nv.n NextIteration v.s:1 "
									   "T=i32\nv.out Exit v.s T=i32\n",
		"node 'v.m' (Merge) on /job:worker/task:0/device:CPU:0 reads 'v.e' (Enter) on /job:worker/task:1/");
}

/* Devices by chance, those of a loop's variable alike. */
static void scatter(const struct dfg_graph *graph, uint32_t devices, uint64_t *seed, uint32_t *device)
{
	static const char *const of_variable[] = {".e", ".m", ".s", ".n", ".out"};
	const char *head[256];
	for (uint32_t n = 0; n < graph->count; n++) {
		const char *name = graph->node[n].name, *dot = strrchr(name, '.');
		bool is_part = false;
		for (size_t i = 0; dot && i < sizeof of_variable / sizeof *of_variable; i++)
			is_part |= !strcmp(dot, of_variable[i]);
		head[n] = is_part ? name : NULL;
		device[n] = draw(seed, devices);
		for (uint32_t k = 0; k < n && is_part; k++)
			if (head[k] && !strncmp(head[k], name, (size_t)(dot - name) + 1))
				device[n] = device[k];
	}
}

enum { PLACEMENTS = 60, ORDERS = 5 };

/* On two and three devices, placed in many ways, and in many orders, all comes out as on one. */
static void is_the_same_so(const char *text, int64_t n, int64_t x)
{
	struct cut_sketch cut;
	uint32_t device[256] = {0};
	uint64_t seed = 1;
	fed_n = n;
	fed_x = x;
	cut_read(&cut, text, device);
	struct sim *whole = simulate(&cut.sketch.graph, 1, NULL);
	for (uint32_t i = 0; i < PLACEMENTS; i++) {
		uint32_t devices = 2 + i % 2;
		scatter(&cut.sketch.graph, devices, &seed, device);
		succeeds(cut_apart(&cut, devices, device));
		cut_verify(&cut);
		for (int k = 0; k < ORDERS; k++) {
			struct sim *parts = simulate(cut.parts.part, devices, &seed);
			agree(&cut, whole, parts, device);
			sim_release(parts);
		}
		dfg_parts_release(&cut.parts);
	}
	sim_release(whole);
	cut_end(&cut);
}

/* Also where the inputs are not known to be scalars, so that no device can count for itself. */
static void is_the_same_anywhere(const char *text, int64_t n, int64_t x)
{
	char plain[8000];
	assert_true(!strncmp(text, INPUTS, strlen(INPUTS)) && strlen(text) < sizeof plain);
	snprintf(plain, sizeof plain, "%s%s", ANY_N, text + strlen(INPUTS));
	is_the_same_so(text, n, x);
	is_the_same_so(plain, n, x);
}

#define ZERO "zero Const value=0\n"

static void loops_run_the_same_anywhere(void **state)
{
	(void)state;
	const char *swap = INPUTS ZERO COUNT("f", "zero", "n", "") "sum Add a b T=i32\n" CARRY("f", "a", "x", "b", "")
		CARRY("f", "b", "n", "sum", "") "y Add a.out b.out T=i32\n";
	for (int64_t n = 0; n < 5; n++)
		is_the_same_anywhere(swap, n, 3);
	const char *two = INPUTS ZERO COUNT("f", "zero", "n", "") "a.more Add a a T=i32\n" CARRY(
		"f", "a", "x", "a.more", "") COUNT("g", "zero", "f.i.out", "") "b.less Sub b g.i T=i32\n" CARRY("g", "b",
		"a.out", "b.less", "") "y Add a.out b.out T=i32\n";
	for (int64_t n = 0; n < 4; n++)
		is_the_same_anywhere(two, n, 3);
}

/* The branch's sides are of x >= 0; y is what came of the loop, or -x. */
static void loops_in_branches_run_the_same_anywhere(void **state)
{
	(void)state;
	const char *text = INPUTS ZERO IN_BRANCH(
		COUNT("f", "zero.side:1", "n.side:1", "") "double Add v v T=i32\n" CARRY("f", "v", "x.side:1", "double", ""));
	const char *two = INPUTS ZERO IN_BRANCH(
		COUNT("f", "zero.side:1", "n.side:1", "") "double Add u u T=i32\n" CARRY("f", "u", "x.side:1", "double", "")
			COUNT("g", "zero.side:1", "f.i.out", "") "less Sub v g.i T=i32\n" CARRY("g", "v", "u.out", "less", ""));
	for (int64_t x = -1; x < 2; x++) {
		is_the_same_anywhere(text, 3, x);
		is_the_same_anywhere(two, 2, x);
	}
}

static void branches_in_loops_run_the_same_anywhere(void **state)
{
	(void)state;
	/* Where i < x, v doubles and i is added; elsewhere i is subtracted. */
	const char *text = INPUTS ZERO COUNT("f", "zero", "n", "") INTO("f", "bound", "x", "")
		"p Less f.i bound T=i32\nv.side Switch v p T=i32\ni.side Switch f.i p T=i32\n"
		"double Add v.side:1 v.side:1 T=i32\nmore Add double i.side:1 T=i32\nless Sub v.side i.side T=i32\n"
		"next Merge less more T=i32 N=2\n" CARRY("f", "v", "x", "next", "") "y Neg v.out T=i32\n";
	for (int64_t x = 0; x < 4; x++)
		is_the_same_anywhere(text, 4, x);
}

#define NESTED(limit) INPUTS NESTED_IN(limit)
#define NESTED_IN(limit)                                                                             \
	ZERO COUNT("f", "zero", "n", "") "f.zero Const value=0 ^f.i\n" COUNT("g", "f.zero", limit, "")   \
		INTO("g", "g.f", "f.i", "") "product Mul g.f g.i T=i32\nw.more Add w product T=i32\n" CARRY( \
			"g", "w", "v", "w.more", "") CARRY("f", "v", "x", "w.out", "") "y Neg v.out T=i32\n"

static void nested_loops_run_the_same_anywhere(void **state)
{
	(void)state;
	const char *ragged = NESTED("f.i"), *even = NESTED("x.f") INTO("f", "x.f", "x", "");
	for (int64_t n = 0; n < 4; n++) {
		is_the_same_anywhere(ragged, n, 1);
		is_the_same_anywhere(even, n, 2);
	}
}

/* All orders in which messages can arrive. */
enum { CHOICES_MOST = 400, STATES_MOST = 1 << 16, RUNS_MOST = 1500 };
struct search {
	uint32_t choice[CHOICES_MOST], of[CHOICES_MOST];
	uint32_t depth, known;
	uint64_t *seen;
	uint32_t states, runs, ends;
	bool again;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2))) * UINT64_C(0xff51afd7ed558ccd);
	return (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* The values that have arrived decide all. */
static uint64_t hash_state(const struct sim *sim)
{
	uint64_t sum = 1;
	for (uint32_t m = 0; m < sim->messages; m++) {
		uint64_t hash = sim->message[m].edge + 2;
		for (uint32_t t = sim->message[m].tag; t; t = sim->tag[t].parent)
			hash = mix(hash, (uint64_t)sim->tag[t].iteration + 3);
		sum += sim->message[m].is_here ? hash : 0;
	}
	return sum;
}

static bool is_new(struct search *search, uint64_t hash)
{
	size_t i = hash % STATES_MOST;
	for (; search->seen[i]; i = (i + 1) % STATES_MOST)
		if (search->seen[i] == hash)
			return false;
	search->seen[i] = hash;
	assert_true(++search->states < STATES_MOST / 2);
	return true;
}

static uint32_t explore(void *arg, struct sim *sim, uint32_t n)
{
	struct search *search = arg;
	assert_true(search->depth < CHOICES_MOST);
	if (search->depth == search->known) {
		search->again = !is_new(search, hash_state(sim));
		if (search->again)
			return SIM_STOP;
		search->choice[search->known] = 0;
		search->of[search->known++] = n;
	}
	return search->choice[search->depth++];
}

static bool go_on(struct search *search)
{
	while (search->known && search->choice[search->known - 1] + 1 == search->of[search->known - 1])
		search->known--;
	if (search->known)
		search->choice[search->known - 1]++;
	search->depth = 0;
	return search->known;
}

/* How many states there are; 0 where they are too many, and some were left out. */
static uint32_t in_every_order(
	const struct cut_sketch *cut, struct sim *whole, uint32_t devices, const uint32_t *device)
{
	struct search search = {.seen = calloc(STATES_MOST, sizeof *search.seen)};
	do {
		struct sim *sim = calloc(1, sizeof *sim);
		for (uint32_t p = 0; p < devices; p++)
			sim->part[p] = &cut->parts.part[p];
		sim->parts = devices;
		sim->feed = feed;
		sim->by_mail = true;
		sim->choose = explore;
		sim->choose_arg = &search;
		search.again = false;
		search.runs++;
		sim_run(sim);
		if (!search.again) {
			search.ends++;
			sim_check_done(sim);
			agree(cut, whole, sim, device);
		}
		sim_release(sim);
	} while (go_on(&search) && search.runs < RUNS_MOST);
	if (getenv("STATES"))
		printf("%u states, %u runs, %u to the end\n", search.states, search.runs, search.ends);
	free(search.seen);
	return search.known ? 0 : search.states;
}

/* Small graphs, cut in some ways, whose messages arrive in every order. */
static void comes_in_any_order(const char *text, int64_t n, int64_t x, int placements)
{
	struct cut_sketch cut;
	uint32_t device[256] = {0}, whole_searches = 0;
	uint64_t seed = 7;
	fed_n = n;
	fed_x = x;
	cut_read(&cut, text, device);
	struct sim *whole = simulate(&cut.sketch.graph, 1, NULL);
	for (int i = 0; i < placements; i++) {
		uint32_t devices = 2 + (uint32_t)i % 2;
		scatter(&cut.sketch.graph, devices, &seed, device);
		succeeds(cut_apart(&cut, devices, device));
		whole_searches += in_every_order(&cut, whole, devices, device) > 0;
		dfg_parts_release(&cut.parts);
	}
	assert_true(2 * whole_searches >= (uint32_t)placements);
	sim_release(whole);
	cut_end(&cut);
}

/* In words: v += i + j for each j < n, for each i < n; what is on which device is drawn. */
static void messages_may_come_in_any_order(void **state)
{
	(void)state;
	const char *one = ANY_N ZERO COUNT("f", "zero", "n", "") "v.more Add v f.i T=i32\n" CARRY(
		"f", "v", "x", "v.more", "") "y Neg v.out T=i32\n";
	for (int64_t n = 0; n < 4; n++)
		comes_in_any_order(one, n, 1, 12);
	const char *branch = ANY_N ZERO IN_BRANCH(
		COUNT("f", "zero.side:1", "n.side:1", "") "double Add v v T=i32\n" CARRY("f", "v", "x.side:1", "double", ""));
	for (int64_t x = -1; x < 2; x += 2)
		comes_in_any_order(branch, 2, x, 12);
	for (int64_t n = 0; n < 3; n++)
		comes_in_any_order(ANY_N NESTED_IN("f.i"), n, 1, 8);
	comes_in_any_order(ANY_N NESTED_IN("f.i"), 3, 1, 2);
}

/* Each allocation fails in turn: that is said, and nothing is lost. */
static void memory_may_run_short_anywhere(void **state)
{
	(void)state;
	struct cut_sketch cut;
	struct dfg_allocator *heap = dfg_mem;
	uint32_t device[256] = {0};
	uint64_t seed = 3;
	struct dfg_err *err;
	cut_read(&cut, NESTED("f.i"), device);
	scatter(&cut.sketch.graph, 3, &seed, device);
	long left = 0;
	do {
		struct dfg_mem_failing failing;
		dfg_mem_failing_init(&failing, heap, left, true);
		dfg_mem = &failing.base;
		err = cut_apart(&cut, 3, device);
		dfg_mem = heap;
		assert_true(!err || err->code == DFG_MEMORY);
		dfg_parts_release(&cut.parts);
		dfg_arena_release(&cut.arena);
		dfg_err_free(err);
		left += 1 + left / 8;
	} while (err);
	assert_true(left > 20);
	cut_end(&cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_with_one_remote_op_sends_3n_plus_1),
		cmocka_unit_test(a_counted_loop_sends_2n_plus_1),
		cmocka_unit_test(a_loop_that_counts_down_what_another_counted_sends_2n_plus_1),
		cmocka_unit_test(what_a_loop_only_hands_on_crosses_once),
		cmocka_unit_test(a_variable_is_on_one_device),
		cmocka_unit_test(loops_run_the_same_anywhere),
		cmocka_unit_test(loops_in_branches_run_the_same_anywhere),
		cmocka_unit_test(branches_in_loops_run_the_same_anywhere),
		cmocka_unit_test(nested_loops_run_the_same_anywhere),
		cmocka_unit_test(memory_may_run_short_anywhere),
		cmocka_unit_test(messages_may_come_in_any_order),
		cmocka_unit_test(in_a_branch_that_is_not_taken_a_loop_sends_three_at_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
