#include "lib/pass/place/place.h"

#include "tests/unit/test.h"

#include "lib/pass/grad/grad.h"
#include "lib/pass/verify/verify.h"
#include "tests/unit/random_graph.h"

#include <stdio.h>
#include <stdlib.h>

/* Random programs, loops in branches in loops and their gradients, asked for at random on three devices. */
enum { PROGRAMS = 150, DEVICES = 3, REQUESTS = 6, NAME = 100 };

static const char *const device[DEVICES] = {
	"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0", "/job:worker/task:2/device:CPU:0"};

struct subject {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_place_request request[REQUESTS];
	char pattern[REQUESTS][NAME];
	size_t requests;
	struct dfg_placed *placed;
};

static void make_graph(struct subject *s, uint64_t seed)
{
	static const struct place root = {.pivot = DFG_NONE};
	struct emitter *e = calloc(1, sizeof *e);
	struct program *p = calloc(1, sizeof *p);
	*s = (struct subject){0};
	draw_program(p, seed);
	dfg_graph_init(&s->graph, &s->arena);
	succeeds(dfg_builder_init(&s->builder, &s->graph));
	e->builder = &s->builder;
	const struct dfg_attr attr[] = {
		DFG_ATTR_T("dtype", DFG_F64), {"shape", DFG_ATTR_SHAPE, {.shape = &DFG_SHAPE_SCALAR}}};
	struct dfg_edge x = emit(e, "Placeholder", NULL, 0, attr, 2);
	bind(e, X, &root, x);
	bind(e, C, &root, emit_constant(e, &root, DFG_F64, 1.5));
	emit_block(e, p->block, &root);
	derive(e, emit1(e, "Identity", read_name(e, p->y, &root)), x);
	dfg_arena_release(&p->arena);
	free(p);
	free(e);
}

static void release(struct subject *s)
{
	dfg_builder_release(&s->builder);
	dfg_graph_release(&s->graph);
	dfg_arena_release(&s->arena);
}

/* A name, or the beginning of some. */
static void draw_requests(struct subject *s, struct program *dice)
{
	s->requests = draw(dice, REQUESTS + 1);
	for (size_t i = 0; i < s->requests; i++) {
		const char *name = s->graph.node[draw(dice, s->graph.count)].name;
		size_t length = strlen(name);
		int keep = (int)(draw(dice, 2) ? length : length * 2 / 3);
		snprintf(s->pattern[i], NAME, "%.*s%s", keep, name, (size_t)keep < length ? "*" : "");
		s->request[i] = (struct dfg_place_request){s->pattern[i], (uint32_t)draw(dice, DEVICES), s->pattern[i]};
	}
}

static bool is_control_flow(enum dfg_role role)
{
	return role == DFG_SWITCH || role == DFG_MERGE || role == DFG_ENTER || role == DFG_EXIT ||
		   role == DFG_NEXT_ITERATION;
}

static bool is_invariant(const struct dfg_node *node)
{
	const struct dfg_attr *attr = dfg_node_attr(node, "is_constant");
	return dfg_node_role(node) == DFG_ENTER && attr && attr->value.b;
}

static void check_edge(const struct subject *s, uint32_t n, uint32_t e)
{
	const struct dfg_node *node = &s->graph.node[n];
	uint32_t from = node->in[e].node, there = s->placed[from].device, here = s->placed[n].device;
	enum dfg_role role = dfg_node_role(node);
	enum dfg_dtype dtype = dfg_facts_of(&s->builder.facts, node->in[e])->dtype;
	if (dtype == DFG_RESOURCE || dtype == DFG_VARIANT)
		assert_int_equal(here, there);
	if (dfg_edge_closes(&s->graph, node, node->in[e]))
		assert_int_equal(here, there);
	if (!e && (role == DFG_SWITCH || role == DFG_EXIT) && !is_invariant(&s->graph.node[from]))
		assert_int_equal(here, there);
}

/* A node has its own request, or a reason that ends at one who has. */
static void check_node(const struct subject *s, uint32_t n)
{
	const struct dfg_placed *placed = &s->placed[n];
	uint32_t hops = 0, last = n;
	assert_in_range(placed->device, 0, DEVICES - 1);
	for (uint32_t e = 0; e < s->graph.node[n].n_in; e++)
		check_edge(s, n, e);
	for (; s->placed[last].with != DFG_NONE; hops++) {
		assert_true(hops < s->graph.count);
		last = s->placed[last].with;
		assert_int_equal(s->placed[last].device, placed->device);
	}
	if (placed->reason == DFG_PLACED_REQUEST)
		assert_non_null(placed->request);
}

static void check_requests(const struct subject *s, struct dfg_placed *all)
{
	for (uint32_t n = 0; n < s->graph.count; n++) {
		const struct dfg_node *node = &s->graph.node[n];
		for (size_t i = s->requests; i; i--) {
			const char *pattern = s->pattern[i - 1];
			size_t length = strlen(pattern);
			bool open = pattern[length - 1] == '*';
			if (open ? strncmp(node->name, pattern, length - 1) != 0 : strcmp(node->name, pattern) != 0)
				continue;
			if (!is_control_flow(dfg_node_role(node)) && dfg_node_role(node) != DFG_LOOP_COND)
				assert_int_equal(all[n].device, s->request[i - 1].device);
			break;
		}
	}
}

static void place_and_check(struct subject *s)
{
	const struct dfg_place_options options = {
		.device = device, .devices = DEVICES, .request = s->request, .requests = s->requests};
	struct dfg_placed *again;
	struct dfg_err *err = dfg_place(&s->graph, &s->builder.facts, &options, &s->arena, &s->placed);
	if (err) {
		assert_int_equal(err->code, DFG_DATA);
		assert_non_null(strstr(err->text, "must be colocated: "));
		dfg_err_free(err);
		return;
	}
	for (uint32_t n = 0; n < s->graph.count; n++)
		check_node(s, n);
	check_requests(s, s->placed);
	succeeds(dfg_place(&s->graph, &s->builder.facts, &options, &s->arena, &again));
	for (uint32_t n = 0; n < s->graph.count; n++)
		assert_int_equal(s->placed[n].device, again[n].device);
}

static void what_was_asked_is_so_and_what_belongs_together_stands_together(void **state)
{
	(void)state;
	struct program *dice = calloc(1, sizeof *dice);
	dice->random = 5;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		struct subject s;
		make_graph(&s, seed);
		draw_requests(&s, dice);
		place_and_check(&s);
		release(&s);
	}
	free(dice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_asked_is_so_and_what_belongs_together_stands_together),
	};
	return cmocka_run_group_tests_name("place_random", tests, NULL, NULL);
}
