#include "tests/unit/test.h"

#include "lib/base/text.h"
#include "lib/pass/grad/grad.h"

#include <stdio.h>

/*
 * A graph whose names are in the pass's way gets no stamps: every node goes by its op's rule. So two graphs that differ
 * in such a name alone must come out the same but for it.
 */
enum { NODES = 120, GRAPHS = 60 };

struct sketch {
	struct dfg_arena arena;
	struct dfg_graph graph;
	struct dfg_builder builder;
	struct dfg_edge edge[4 * NODES]; /* of floats */
	uint32_t count;
	uint64_t random;
};

static uint32_t pick(struct sketch *s, uint32_t below)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ z >> 31) % below);
}

static void input(struct sketch *s, const char *name, struct dfg_shape shape)
{
	const struct dfg_attr attr[] = {DFG_ATTR_T("dtype", DFG_F32), {"shape", DFG_ATTR_SHAPE, {.shape = &shape}}};
	struct dfg_new_node node = {.op = "Placeholder", .name = name, .attr = attr, .n_attr = 2};
	uint32_t number;
	succeeds(dfg_build(&s->builder, &node, &number));
	s->edge[s->count++] = (struct dfg_edge){number, 0};
}

/* Two outputs along an axis, of which one may stay unused. */
static void split(struct sketch *s, const char *name, struct dfg_edge x)
{
	const struct dfg_attr attr = DFG_ATTR_I("num_split", 2);
	struct dfg_edge in[2] = {{0, 0}, x};
	struct dfg_new_node node = {.op = "Split", .name = name, .in = in, .n_in = 2, .attr = &attr, .n_attr = 1};
	uint32_t number;
	succeeds(dfg_build_ints(&s->builder, "axis", DFG_I32, NULL, (int64_t[]){0}, &in[0]));
	succeeds(dfg_build(&s->builder, &node, &number));
	struct dfg_edge both[2] = {{number, 0}, {number, (int32_t)pick(s, 2)}}, again;
	struct dfg_edge join[3] = {in[0], both[0], both[1]};
	struct dfg_new_node concat = {.op = "Concat", .name = "join", .in = join, .n_in = 3};
	succeeds(dfg_build(&s->builder, &concat, &number));
	again = (struct dfg_edge){number, 0};
	s->edge[s->count++] = again;
}

static void rows(struct sketch *s, const char *name, struct dfg_edge x)
{
	struct dfg_edge in[3] = {x, {0, 0}, {0, 0}}, out;
	succeeds(dfg_build_ints(&s->builder, "rows", DFG_I32, &DFG_SHAPE_VECTOR(4), (int64_t[]){0, 2, 2, 1}, &in[1]));
	succeeds(dfg_build_ints(&s->builder, "axis", DFG_I32, NULL, (int64_t[]){0}, &in[2]));
	succeeds(dfg_build_op(&s->builder, "GatherV2", name, in, 3, &out));
	s->edge[s->count++] = out;
}

static void add_node(struct sketch *s, uint32_t n)
{
	static const char *const unary[] = {"Tanh", "Identity", "Relu", "Square"};
	static const char *const binary[] = {"Mul", "AddV2", "Sub", "Maximum", "MatMul", "AddN"};
	char name[40];
	snprintf(name, sizeof name, "layer_%u/node_%u", n / 10, n);
	struct dfg_edge in[2] = {s->edge[pick(s, s->count)], s->edge[pick(s, s->count)]}, out;
	uint32_t kind = pick(s, 12);
	bool square = dfg_facts_of(&s->builder.facts, in[0])->shape.rank == 2 &&
				  dfg_facts_of(&s->builder.facts, in[1])->shape.rank == 2;
	if (kind == 0 && square)
		split(s, name, in[0]);
	else if (kind == 1 && square)
		rows(s, name, in[0]);
	else if (kind < 5)
		succeeds(dfg_build_op(&s->builder, unary[pick(s, 4)], name, in, 1, &out));
	else
		succeeds(dfg_build_op(&s->builder, binary[pick(s, square ? 6 : 4)], name, in, 2, &out));
	if (kind > 1 || !square)
		s->edge[s->count++] = out;
}

static void draw(struct sketch *s, uint64_t seed, const char *extra)
{
	*s = (struct sketch){.random = seed};
	dfg_graph_init(&s->graph, &s->arena);
	succeeds(dfg_builder_init(&s->builder, &s->graph));
	input(s, "x", (struct dfg_shape){2, {4, 4}});
	input(s, "y", (struct dfg_shape){2, {4, 4}});
	input(s, "c", (struct dfg_shape){seed % 3 == 0 ? 2 : 1, {seed % 3 == 0 ? DFG_UNKNOWN : 4, 4}});
	input(s, extra, DFG_SHAPE_SCALAR);
	s->count--;
	for (uint32_t n = 0; n < NODES; n++)
		add_node(s, n);
}

static void erase(struct sketch *s)
{
	dfg_builder_release(&s->builder);
	dfg_graph_release(&s->graph);
	dfg_arena_release(&s->arena);
}

static void describe(const struct sketch *s, uint32_t n, struct dfg_text *text)
{
	const struct dfg_node *node = &s->graph.node[n];
	dfg_text_add(text, "%s = %s", node->name, node->op_name);
	for (uint32_t i = 0; i < node->n_in; i++)
		dfg_text_add(text, " %s:%d", s->graph.node[node->in[i].node].name, node->in[i].port);
	for (uint32_t i = 0; i < node->n_attr; i++)
		dfg_text_add(text, " %s %d", node->attr[i].name, (int)node->attr[i].kind);
	for (uint32_t i = 0; i < dfg_facts_outputs(&s->builder.facts, n); i++) {
		const struct dfg_inferred *fact = dfg_facts_of(&s->builder.facts, (struct dfg_edge){n, (int32_t)i});
		dfg_text_add(text, " %s", dfg_type_words(fact->dtype, &fact->shape).s);
	}
}

static void differentiate(struct sketch *s)
{
	const struct dfg_edge of[] = {s->edge[s->count - 1], s->edge[s->count / 2]}, wrt[] = {s->edge[0], s->edge[2]};
	struct dfg_cotangent result[2];
	succeeds(dfg_grad(&s->builder, of, 2, wrt, 2, NULL, result));
}

static void stamped_gradients_are_those_of_the_rules(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < GRAPHS; seed++) {
		static struct sketch stamped, ruled;
		draw(&stamped, seed, "free");
		draw(&ruled, seed, "grad/in_the_way");
		differentiate(&stamped);
		differentiate(&ruled);
		assert_int_equal(stamped.graph.count, ruled.graph.count);
		for (uint32_t n = 4; n < stamped.graph.count; n++) {
			struct dfg_text a = {0}, b = {0};
			describe(&stamped, n, &a);
			describe(&ruled, n, &b);
			assert_string_equal(a.s, b.s);
			assert_int_equal(dfg_graph_find(&stamped.graph, stamped.graph.node[n].name), n);
			dfg_text_release(&a);
			dfg_text_release(&b);
		}
		erase(&stamped);
		erase(&ruled);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stamped_gradients_are_those_of_the_rules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
