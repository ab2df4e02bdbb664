#include "lib/pass/place/place.h"

#include "tests/unit/test.h"

#include "lib/lang/lang.h"
#include "lib/pass/verify/verify.h"

#include <stdio.h>

#include "tests/unit/sketch.h"

static const char *const workers[] = {
	"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0", "/job:worker/task:2/device:CPU:0"};

/* A graph, placed as asked: "fc*=w1", an option a word. */
struct layout {
	struct sketch sketch;
	struct dfg_facts facts;
	struct dfg_arena arena;
	struct dfg_placed *placed;
};

static struct dfg_err *place_on(struct layout *t, uint32_t devices, const char *options)
{
	struct dfg_place_request request[16];
	struct dfg_place_options place = {.device = workers, .devices = devices, .request = request};
	char *copy = dfg_arena_copy(&t->arena, options, strlen(options));
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
		char *equals = strchr(word, '='), *text = dfg_arena_copy(&t->arena, word, strlen(word));
		*equals = '\0';
		request[place.requests] = (struct dfg_place_request){.pattern = word, .text = text};
		succeeds(dfg_place_device(equals + 1, workers, devices, &request[place.requests++].device));
	}
	return dfg_place(&t->sketch.graph, &t->facts, &place, &t->arena, &t->placed);
}

static struct dfg_err *begin(struct layout *t, const char *graph, uint32_t devices, const char *options)
{
	*t = (struct layout){.facts.arena = &t->arena};
	sketch_init(&t->sketch, NULL, graph);
	succeeds(dfg_verify(&t->sketch.graph, NULL, &t->facts));
	return place_on(t, devices, options);
}

static void end(struct layout *t)
{
	dfg_facts_release(&t->facts);
	dfg_arena_release(&t->arena);
	sketch_release(&t->sketch);
}

static uint32_t number(const struct layout *t, const char *name)
{
	uint32_t n = dfg_graph_find(&t->sketch.graph, name);
	if (n == DFG_NONE)
		fail_msg("no node '%s'", name);
	return n;
}

/* "a b c": they are all on the device. */
static void stands(const struct layout *t, uint32_t device, const char *names)
{
	char copy[1000];
	snprintf(copy, sizeof copy, "%s", names);
	for (char *name = strtok(copy, " "); name; name = strtok(NULL, " "))
		if (t->placed[number(t, name)].device != device)
			fail_msg("'%s' is on w%u, not on w%u", name, t->placed[number(t, name)].device, device);
}

static void explained(const struct layout *t, const char *name, const char *line)
{
	struct dfg_text text = {0};
	dfg_place_explain(&t->sketch.graph, t->placed, number(t, name), &text);
	assert_string_equal(text.s, line);
	dfg_text_release(&text);
}

static void refused(const char *graph, const char *options, const char *words)
{
	struct layout t;
	fails(begin(&t, graph, 2, options), DFG_DATA, words);
	end(&t);
}

#define VARIABLE                                                  \
	"w VarHandleOp dtype=f32 shape=[]\nx Placeholder dtype=f32\n" \
	"read ReadVariableOp w dtype=f32\ny Mul read x T=f32\nset AssignVariableOp w y dtype=f32\n"

static void a_variable_stands_with_what_reads_and_writes_it(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, VARIABLE, 2, "set=w1"));
	stands(&t, 1, "w read set");
	assert_int_equal(t.placed[number(&t, "read")].reason, DFG_PLACED_TOGETHER);
	assert_int_equal(t.placed[number(&t, "read")].with, number(&t, "set"));
	explained(&t, "set", "set  w1  --place 'set=w1'");
	explained(&t, "read", "read  w1  together with 'set' (--place 'set=w1')");
	end(&t);
}

static void a_conflict_names_both_nodes_both_requests_and_why(void **state)
{
	(void)state;
	refused(VARIABLE, "w=w0 read=w1", "node 'read' (ReadVariableOp) is requested on w1 by 'read=w1'");
	refused(VARIABLE, "w=w0 read=w1", "node 'w' (VarHandleOp) is requested on w0 by 'w=w0'");
	refused(VARIABLE, "w=w0 read=w1", "must be colocated: 'read' takes a handle from 'w'");
	refused(VARIABLE, "read=w0 set=w1", "'set' takes a handle from 'w'");
	refused(VARIABLE, "read=w0 set=w1", "'read' takes a handle from 'w'");
}

static void a_conflict_over_some_edges_names_who_asked(void **state)
{
	(void)state;
	refused(VARIABLE "again ReadVariableOp w dtype=f32\n", "again=w1 set=w0",
		"node 'again' (ReadVariableOp) is requested on w1");
	refused(VARIABLE "again ReadVariableOp w dtype=f32\n", "again=w1 set=w0",
		"node 'set' (AssignVariableOp) is requested on w0");
}

static void a_star_is_for_what_nobody_asks_for_otherwise(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, VARIABLE "z Neg x T=f32\n", 2, "*=w1 read=w0"));
	stands(&t, 0, "w read set");
	stands(&t, 1, "x y z");
	explained(&t, "z", "z  w1  --place '*=w1'");
	explained(&t, "w", "w  w0  together with 'read' (--place 'read=w0')");
	end(&t);
}

/* A text where nothing else is asked; the options are tried before. */
static void ask(struct layout *t, const char *name, const char *device)
{
	t->sketch.graph.node[number(t, name)].device = device;
}

static const char chain[] = "x Placeholder dtype=f32\na Neg x T=f32\nb/c Neg a T=f32\nb/d/e Neg b/c T=f32\n";

static void patterns_are_of_whole_names_and_the_last_that_matches_wins(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, chain, 3, "b/*=w1 b/d/?=w2 c=w1"));
	stands(&t, 0, "x a");
	stands(&t, 1, "b/c");
	stands(&t, 2, "b/d/e");
	succeeds(place_on(&t, 3, "b/d/?=w2 b/*=w1"));
	stands(&t, 1, "b/c b/d/e");
	end(&t);
}

static void the_graph_is_asked_where_no_option_matches(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, chain, 3, ""));
	stands(&t, 0, "x a b/c b/d/e");
	ask(&t, "a", "/job:worker/task:1/device:CPU:0");
	ask(&t, "b/c", "w2");
	ask(&t, "b/d/e", "/job:worker/replica:0/task:1");
	succeeds(place_on(&t, 3, "b/d/e=w0"));
	stands(&t, 1, "a");
	stands(&t, 2, "b/c");
	stands(&t, 0, "b/d/e");
	explained(&t, "a", "a  w1  the graph asks for '/job:worker/task:1/device:CPU:0'");
	explained(&t, "x", "x  w1  next to 'a' (the graph asks for '/job:worker/task:1/device:CPU:0')");
	end(&t);
}

static void a_partial_name_leaves_freedom(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, VARIABLE, 2, ""));
	ask(&t, "w", "/device:CPU:0");
	ask(&t, "set", "/job:worker/task:1/device:CPU:*");
	succeeds(place_on(&t, 2, ""));
	stands(&t, 1, "w read set");
	succeeds(place_on(&t, 2, "w=w1"));
	stands(&t, 1, "w read set");
	fails(place_on(&t, 2, "w=w0"), DFG_DATA, "'/job:worker/task:1/device:CPU:*' by the graph");
	end(&t);
}

static void a_device_that_is_not_there_is_told_with_the_nearest(void **state)
{
	(void)state;
	struct layout t;
	uint32_t device;
	succeeds(begin(&t, chain, 2, ""));
	ask(&t, "a", "/job:worker/task:1/device:GPU:0");
	fails(place_on(&t, 2, ""), DFG_DATA,
		"node 'a' (Neg): no device '/job:worker/task:1/device:GPU:0'; did you mean "
		"'/job:worker/task:1/device:CPU:0'");
	end(&t);
	fails(dfg_place_device("/job:wroker/task:1/device:CPU:0", workers, 2, &device), DFG_DATA,
		"did you mean '/job:worker/task:1/device:CPU:0'");
	fails(dfg_place_device("w7", workers, 3, &device), DFG_DATA, "no device 'w7'; the devices are w0 to w2");
	fails(dfg_place_device("w1x", workers, 3, &device), DFG_DATA, "no device 'w1x'");
	fails(dfg_place_device("w-1", workers, 3, &device), DFG_DATA, "no device 'w-1'");
	fails(dfg_place_device("/task:9/", workers, 3, &device), DFG_DATA, "no device '/task:9/'");
	fails(dfg_place_device("", workers, 1, &device), DFG_DATA, "the only device is w0");
	fails(dfg_place_device("w0", workers, 0, &device), DFG_DATA, "there is no device");
}

static void devices_have_short_whole_and_partial_names(void **state)
{
	(void)state;
	static const char *const names[] = {"w0", "/job:worker/task:2/device:CPU:0", "/job:worker/task:1", "/task:2",
		"/cpu:0", "/job:worker", "/device:cpu:0", "/job:*/task:1/device:CPU:*"};
	static const uint32_t wanted[] = {0, 2, 1, 2, 0, 0, 0, 1};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		uint32_t device;
		succeeds(dfg_place_device(names[i], workers, 3, &device));
		assert_int_equal(device, wanted[i]);
	}
}

static void nodes_of_one_class_or_one_variable_stand_together(void **state)
{
	(void)state;
	struct layout t;
	const union dfg_value with_a = {.s = {"loc:@a", 6}}, with_none = {.s = {"loc:@gone", 9}};
	const struct dfg_list list = {DFG_ATTR_STRING, 1, &with_a}, gone = {DFG_ATTR_STRING, 1, &with_none};
	succeeds(begin(&t, chain, 2, ""));
	succeeds(dfg_node_set_attr(
		&t.sketch.graph, number(&t, "b/d/e"), "_class", DFG_ATTR_LIST, (union dfg_value){.list = &list}));
	succeeds(place_on(&t, 2, "a=w1"));
	stands(&t, 1, "a b/d/e");
	explained(&t, "b/d/e", "b/d/e  w1  together with 'a' (--place 'a=w1')");
	fails(place_on(&t, 2, "a=w1 b/d/e=w0"), DFG_DATA, "'b/d/e' is colocated with 'a' (_class)");
	succeeds(
		dfg_node_set_attr(&t.sketch.graph, number(&t, "a"), "_class", DFG_ATTR_LIST, (union dfg_value){.list = &gone}));
	succeeds(dfg_node_set_attr(
		&t.sketch.graph, number(&t, "b/d/e"), "_class", DFG_ATTR_LIST, (union dfg_value){.list = &gone}));
	succeeds(place_on(&t, 2, "a=w1"));
	stands(&t, 1, "a b/d/e");
	end(&t);
	refused("u VarHandleOp dtype=f32 shape=[] shared_name='s'\nv VarHandleOp dtype=f32 shape=[] shared_name='s'\n",
		"u=w0 v=w1", "'v' is the same variable as 'u'");
}

static void refs_bind_what_takes_them_as_refs(void **state)
{
	(void)state;
	static const char text[] =
		"v VariableV2 dtype=f32 shape=[]\nread Identity v T=f32\nx Placeholder dtype=f32\n"
		"set Assign v x T=f32\ny Neg read T=f32\n";
	struct layout t;
	succeeds(begin(&t, text, 2, "v=w1 read=w0"));
	stands(&t, 1, "v set");
	stands(&t, 0, "read");
	end(&t);
	refused(text, "v=w1 set=w0", "'set' takes a ref from 'v'");
}

#define COND                                                                                        \
	"p Placeholder dtype=bool\nw VarHandleOp dtype=f32 shape=[]\nread ReadVariableOp w dtype=f32\n" \
	"s Switch read p T=f32\nt Neg s:1 T=f32\nf Exp s T=f32\nm Merge f t T=f32 N=2\n"

static void a_switch_stands_with_its_data_whatever_it_is_asked(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, COND, 2, "w=w1 s=w0 t=w0"));
	stands(&t, 1, "w read s");
	stands(&t, 0, "t");
	explained(&t, "s", "s  w1  together with 'w' (--place 'w=w1')");
	end(&t);
}

/* while i < n: i, v = i + 1, v * x */
#define LOOP                                                                                                     \
	"i0 Placeholder dtype=i32\nn Placeholder dtype=i32\nx Placeholder dtype=f32\nv0 Placeholder dtype=f32\n"     \
	"ei Enter i0 T=i32 frame_name='loop'\nev Enter v0 T=f32 frame_name='loop'\n"                                 \
	"en Enter n T=i32 frame_name='loop' is_constant=true\nex Enter x T=f32 frame_name='loop' is_constant=true\n" \
	"mi Merge ei ni T=i32 N=2\nmv Merge ev nv T=f32 N=2\nless Less mi en T=i32\nc LoopCond less\n"               \
	"si Switch mi c T=i32\nsv Switch mv c T=f32\nadd Add si:1 si:1 T=i32\nmul Mul sv:1 ex T=f32\n"               \
	"ni NextIteration add T=i32\nnv NextIteration mul T=f32\nxi Exit si T=i32\nxv Exit sv T=f32\ny Neg xv T=f32\n"

static void a_loop_stays_whole_but_for_what_was_asked(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, LOOP "twice Add mul mul T=f32\nw Exp twice T=f32\n", 2, "twice=w1"));
	stands(&t, 0, "ei ev en mi mv less c si sv add mul ex ni nv xi xv");
	stands(&t, 1, "twice");
	end(&t);
	succeeds(begin(&t, LOOP, 2, "mul=w1"));
	stands(&t, 0, "ei en mi less c si add ni xi");
	stands(&t, 1, "mul ex");
	explained(&t, "ex", "ex  w1  next to 'mul' (--place 'mul=w1')");
	succeeds(place_on(&t, 2, "less=w1"));
	stands(&t, 1, "less c en");
	stands(&t, 0, "ei ev mi mv si sv add mul ni nv xi xv");
	end(&t);
}

static void a_loop_variable_goes_where_one_of_its_primitives_is_asked(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, LOOP, 2, "nv=w1"));
	stands(&t, 1, "ev mv sv nv xv");
	stands(&t, 0, "ei mi si ni xi less c add");
	explained(&t, "mv", "mv  w1  together with 'nv' (--place 'nv=w1')");
	succeeds(place_on(&t, 2, "mv=w1 nv=w0 xv=w0"));
	stands(&t, 1, "ev mv sv nv xv");
	end(&t);
}

static void a_loop_variable_goes_where_it_is_read_and_made(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, LOOP, 2, "mul=w1"));
	stands(&t, 1, "ev mv sv nv xv");
	explained(&t, "mv", "mv  w1  together with 'mul' (--place 'mul=w1')");
	succeeds(place_on(&t, 2, "*=w0 mul=w1"));
	stands(&t, 0, "ev mv sv nv xv ex add");
	succeeds(place_on(&t, 2, "add=w1"));
	stands(&t, 1, "ei mi si ni xi");
	stands(&t, 0, "ev mv mul less c");
	end(&t);
}

static void what_is_saved_in_a_loop_is_loaded_where_it_is(void **state)
{
	(void)state;
	struct layout t;
	static const char text[] = LOOP
		"save Dfg>Save mul si:1 T=f32 N=1 K=i32\n"
		"k Placeholder dtype=i32\nload Dfg>Load save k T=f32 N=1 K=i32\n";
	succeeds(begin(&t, text, 2, "save=w1"));
	stands(&t, 1, "save load");
	stands(&t, 0, "mul add");
	succeeds(place_on(&t, 2, "mul=w1"));
	stands(&t, 1, "save load");
	explained(&t, "save", "save  w1  next to 'mul' (--place 'mul=w1')");
	end(&t);
	refused(text, "save=w1 load=w0", "'load' loads what 'save' saves");
}

/* Two products that take a second each, of inputs of their own. */
#define HEAVY(n)                                                                                                       \
	"a" n " VarHandleOp dtype=f32 shape=[2048,2048]\nr" n " ReadVariableOp a" n " dtype=f32\nb" n " MatMul r" n " r" n \
	" T=f32\nc" n " MatMul b" n " b" n " T=f32\nd" n " MatMul c" n " c" n " T=f32\n"

static void independent_heavy_chains_go_to_different_devices(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, HEAVY("0") HEAVY("1"), 2, ""));
	uint32_t one = t.placed[number(&t, "d0")].device, other = t.placed[number(&t, "d1")].device;
	assert_int_not_equal(one, other);
	stands(&t, one, "a0 r0 b0 c0 d0");
	stands(&t, other, "a1 r1 b1 c1 d1");
	assert_int_equal(t.placed[number(&t, "r0")].reason, DFG_PLACED_TOGETHER);
	assert_int_equal(t.placed[number(&t, "c1")].reason, DFG_PLACED_SCHEDULED);
	explained(&t, "c0", one ? "c0  w1  by cost" : "c0  w0  by cost");
	end(&t);
}

static void what_is_small_is_not_cut(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, chain, 3, ""));
	stands(&t, 0, "x a b/c b/d/e");
	end(&t);
	succeeds(begin(&t, LOOP "z Neg x T=f32\n", 3, ""));
	for (uint32_t n = 0; n < t.sketch.graph.count; n++)
		assert_int_equal(t.placed[n].device, 0);
	end(&t);
	succeeds(begin(&t, chain, 3, "b/c=w2"));
	stands(&t, 2, "b/c b/d/e");
	end(&t);
}

static void one_device_needs_no_reason(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t, COND, 1, "w=w0"));
	stands(&t, 0, "p w read s t f m");
	explained(&t, "s", "s  w0  the only device");
	end(&t);
}

static void the_same_graph_is_placed_the_same(void **state)
{
	(void)state;
	struct layout one, other;
	succeeds(begin(&one, HEAVY("0") LOOP HEAVY("1") HEAVY("2"), 3, "mul=w2"));
	succeeds(begin(&other, HEAVY("0") LOOP HEAVY("1") HEAVY("2"), 3, "mul=w2"));
	for (uint32_t n = 0; n < one.sketch.graph.count; n++) {
		assert_int_equal(one.placed[n].device, other.placed[n].device);
		assert_int_equal(one.placed[n].reason, other.placed[n].reason);
		assert_int_equal(one.placed[n].with, other.placed[n].with);
	}
	end(&one);
	end(&other);
}

static void what_sets_a_variable_at_first_goes_with_it(void **state)
{
	(void)state;
	struct layout t;
	succeeds(
		begin(&t,
			VARIABLE "v0 Placeholder dtype=f32\nseed Placeholder dtype=f32\nv1 Mul v0 seed T=f32\nv2 Neg v1 T=f32\n"
					 "first AssignVariableOp w v2 dtype=f32 _dfg_init=true\ninit NoOp ^first\n"
					 "other VarHandleOp dtype=f32 shape=[]\nu1 Exp seed T=f32\n"
					 "second AssignVariableOp other u1 dtype=f32 _dfg_init=true\n",
			2, "w=w1 other=w0"));
	stands(&t, 1, "first v0 v1 v2");
	stands(&t, 0, "second u1");
	explained(&t, "v2", "v2  w1  next to 'first' (--place 'w=w1')");
	end(&t);
}

static void a_variable_its_slots_and_their_update_stand_together(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t,
		"w VarHandleOp dtype=f32 shape=[8]\nm VarHandleOp dtype=f32 shape=[8]\nrate Placeholder dtype=f32 shape=[]\n"
		"rw ReadVariableOp w dtype=f32\nrm ReadVariableOp m dtype=f32\nx Placeholder dtype=f32 shape=[8]\n"
		"g Mul x rw T=f32\nhalf Mul rm rate T=f32\nm1 Add half g T=f32\ntwice Mul rate rate T=f32\n"
		"step Mul m1 twice T=f32\nw1 Sub rw step T=f32\n"
		"set_m AssignVariableOp m m1 dtype=f32\nset_w AssignVariableOp w w1 dtype=f32\n",
		2, "w=w1"));
	stands(&t, 1, "w rw m rm half m1 step w1 set_m set_w");
	explained(&t, "m", "m  w1  together with 'w' (--place 'w=w1')");
	succeeds(place_on(&t, 2, "w=w1 m=w0"));
	stands(&t, 1, "w rw set_w");
	stands(&t, 0, "m rm set_m");
	end(&t);
}

/* dw = x g, of x there and g here, is for a variable there: g goes there, smaller than dw. */
static void what_is_needed_elsewhere_is_made_there_if_that_saves_transfer(void **state)
{
	(void)state;
	struct layout t;
	succeeds(begin(&t,
		"x Placeholder dtype=f32 shape=[8,512]\nw VarHandleOp dtype=f32 shape=[512,512]\n"
		"rw ReadVariableOp w dtype=f32\nh MatMul x rw T=f32\ng Neg h T=f32\n"
		"dw MatMul x g T=f32 transpose_a=true\nlate Neg dw T=f32\nupdate AssignSubVariableOp w late dtype=f32\n",
		2, "w=w0 x=w0 g=w1"));
	stands(&t, 1, "g");
	stands(&t, 0, "x w rw h dw late update");
	end(&t);
}

/* A program of the language, placed by what it says itself. */
static void place_program(const char *text, uint32_t devices, struct layout *t)
{
	const struct dfg_lang_options lang = {.text = text, .length = strlen(text)};
	*t = (struct layout){.facts.arena = &t->arena};
	dfg_graph_init(&t->sketch.graph, &t->sketch.arena);
	succeeds(dfg_lang_build("test.dfg", &lang, &t->sketch.graph));
	succeeds(dfg_verify(&t->sketch.graph, NULL, &t->facts));
	succeeds(place_on(t, devices, ""));
}

/* All nodes whose names begin so, of which there are some. */
static void stand_all(const struct layout *t, uint32_t device, const char *prefix)
{
	uint32_t count = 0;
	for (uint32_t n = 0; n < t->sketch.graph.count; n++)
		if (!strncmp(t->sketch.graph.node[n].name, prefix, strlen(prefix))) {
			count++;
			stands(t, device, t->sketch.graph.node[n].name);
		}
	if (!count)
		fail_msg("no node begins with '%s'", prefix);
}

static void a_program_says_where_its_nodes_stand(void **state)
{
	(void)state;
	struct layout t;
	place_program(
		"input x: f32[batch, 4]\n"
		"h = x @ zeros([4, 4])\n"
		"on \"w1\" {\n    param w: f32[4, 4] = zeros\n    second = relu(h @ w)\n}\n"
		"on \"/job:worker/task:2\" {\n    on \"w1\" { third = exp(second) }\n    fourth = exp(third)\n}\n",
		3, &t);
	stands(&t, 0, "x h");
	stands(&t, 1, "w second third");
	stands(&t, 2, "fourth");
	stand_all(&t, 1, "w/");
	end(&t);
}

/* Its initialiser reads a seed on another device, which need not be sent in every step. */
static void the_weights_of_a_tower_stand_where_they_are_used(void **state)
{
	(void)state;
	struct layout t;
	place_program(
		"input x: f32[256, 1024]\n"
		"a = relu(dense(2048)(x))\na2 = relu(dense(2048)(a))\n"
		"b = relu(dense(2048)(x))\nb2 = relu(dense(2048)(b))\n"
		"output y = mean(a2 + b2)\n",
		2, &t);
	uint32_t one = t.placed[number(&t, "a/dense/y")].device;
	stand_all(&t, one, "a/");
	stand_all(&t, one, "a2/");
	stand_all(&t, !one, "b/");
	stand_all(&t, !one, "b2/");
	end(&t);
}

/* As one would write it by hand: no weights on the way, only what the one layer tells the other. */
static void layers_of_an_unrolled_sequence_stand_apart(void **state)
{
	(void)state;
	struct layout t;
	place_program(
		"input xs: f32[20, 64, 512]\n"
		"below, above = lstm(512), lstm(512)\n"
		"a, b, c, d = zeros([64, 512]), zeros([64, 512]), zeros([64, 512]), zeros([64, 512])\n"
		"static for t in 0..20 {\na, b = below(xs[t], a, b)\nc, d = above(a, c, d)\n}\n"
		"output out = mean(c)\n",
		2, &t);
	uint32_t crossing = 0, reads[2] = {0};
	for (uint32_t n = 0; n < t.sketch.graph.count; n++) {
		const struct dfg_node *node = &t.sketch.graph.node[n];
		bool expensive = node->op->flags & DFG_EXPENSIVE;
		for (uint32_t e = 0; e < node->n_in && expensive; e++)
			crossing += dfg_node_role(&t.sketch.graph.node[node->in[e].node]) == DFG_READ &&
						t.placed[node->in[e].node].device != t.placed[n].device;
		reads[t.placed[n].device] += dfg_node_role(node) == DFG_READ;
	}
	assert_int_equal(crossing, 0);
	assert_int_equal(reads[0], reads[1]);
	end(&t);
}

static void branches_and_loops_of_a_program_may_stand_elsewhere(void **state)
{
	(void)state;
	struct layout t;
	place_program(
		"input x: f32[]\ninput p: bool[]\n"
		"a = exp(x)\n"
		"on \"w1\" {\n    b = if p { sin(a) } else { cos(a) }\n"
		"    c = loop (v = b) for i in 0..5 { next v * 2 }\n}\n"
		"d = loop (v = c) for i in 0..5 { on \"w1\" { u = sin(v) }\n next u * 2 }\n",
		2, &t);
	stands(&t, 0, "a");
	for (uint32_t n = 0; n < t.sketch.graph.count; n++) {
		const struct dfg_node *node = &t.sketch.graph.node[n];
		if (!strcmp(node->device, "w1") && dfg_node_role(node) == DFG_PLAIN)
			assert_int_equal(t.placed[n].device, 1);
		if (dfg_node_role(node) == DFG_SWITCH && node->n_in)
			assert_int_equal(t.placed[n].device, t.placed[node->in[0].node].device);
	}
	stand_all(&t, 1, "c");
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_stands_with_what_reads_and_writes_it),
		cmocka_unit_test(a_conflict_names_both_nodes_both_requests_and_why),
		cmocka_unit_test(a_conflict_over_some_edges_names_who_asked),
		cmocka_unit_test(a_star_is_for_what_nobody_asks_for_otherwise),
		cmocka_unit_test(patterns_are_of_whole_names_and_the_last_that_matches_wins),
		cmocka_unit_test(the_graph_is_asked_where_no_option_matches),
		cmocka_unit_test(a_partial_name_leaves_freedom),
		cmocka_unit_test(a_device_that_is_not_there_is_told_with_the_nearest),
		cmocka_unit_test(devices_have_short_whole_and_partial_names),
		cmocka_unit_test(nodes_of_one_class_or_one_variable_stand_together),
		cmocka_unit_test(refs_bind_what_takes_them_as_refs),
		cmocka_unit_test(a_switch_stands_with_its_data_whatever_it_is_asked),
		cmocka_unit_test(a_loop_stays_whole_but_for_what_was_asked),
		cmocka_unit_test(a_loop_variable_goes_where_one_of_its_primitives_is_asked),
		cmocka_unit_test(a_loop_variable_goes_where_it_is_read_and_made),
		cmocka_unit_test(what_is_saved_in_a_loop_is_loaded_where_it_is),
		cmocka_unit_test(independent_heavy_chains_go_to_different_devices),
		cmocka_unit_test(what_is_small_is_not_cut),
		cmocka_unit_test(one_device_needs_no_reason),
		cmocka_unit_test(the_same_graph_is_placed_the_same),
		cmocka_unit_test(what_sets_a_variable_at_first_goes_with_it),
		cmocka_unit_test(a_variable_its_slots_and_their_update_stand_together),
		cmocka_unit_test(what_is_needed_elsewhere_is_made_there_if_that_saves_transfer),
		cmocka_unit_test(a_program_says_where_its_nodes_stand),
		cmocka_unit_test(branches_and_loops_of_a_program_may_stand_elsewhere),
		cmocka_unit_test(the_weights_of_a_tower_stand_where_they_are_used),
		cmocka_unit_test(layers_of_an_unrolled_sequence_stand_apart),
	};
	return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
