#include "lib/pass/place.h"

#include "tests/unit/test.h"

#include "lib/lang/lang.h"
#include "lib/pass/verify.h"

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
	refused(VARIABLE, "w=w0 read=w1", "node 'read' (ReadVariableOp) is asked onto w1 by 'read=w1'");
	refused(VARIABLE, "w=w0 read=w1", "node 'w' (VarHandleOp) is asked onto w0 by 'w=w0'");
	refused(VARIABLE, "w=w0 read=w1", "must stand together: 'read' takes a handle from 'w'");
	refused(VARIABLE, "read=w0 set=w1", "'set' takes a handle from 'w'");
	refused(VARIABLE, "read=w0 set=w1", "'read' takes a handle from 'w'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_stands_with_what_reads_and_writes_it),
		cmocka_unit_test(a_conflict_names_both_nodes_both_requests_and_why),
	};
	return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
