#include "lib/pass/parallel/dependences.h"

#include "lib/graph/cycle.h"
#include "lib/graph/loop_shapes.h"
#include "lib/pass/parallel/analysis_private.h"

#include <inttypes.h>
#include <string.h>

static const char *const marks[] = {"_dfg_parallel", "_dfg_clock", "_dfg_batch", "_dfg_buffer"};
enum { PARALLEL, CLOCK, BATCH, BUFFER, MARKS };

static bool is_mark(const char *name)
{
	if (strncmp(name, "_dfg_", 5))
		return false;
	for (int i = 0; i < MARKS; i++)
		if (!strcmp(name, marks[i]))
			return true;
	return false;
}

/* Each check of a graph asks this, so it costs little where no node has a mark: alike nodes share their attributes. */
bool dfg_parallel_is_marked(const struct dfg_graph *graph)
{
	const struct dfg_attr *seen = NULL;
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_node *node = &graph->node[n];
		if (node->attr == seen)
			continue;
		seen = node->attr;
		for (uint32_t i = 0; i < node->n_attr; i++)
			if (is_mark(seen[i].name))
				return true;
	}
	return false;
}

static bool is_text(const struct dfg_attr *attr, const char *text)
{
	return attr->kind == DFG_ATTR_STRING && attr->value.s.length == strlen(text) &&
		   !memcmp(attr->value.s.s, text, attr->value.s.length);
}

static struct dfg_err *check_mark(const struct dfg_node *node, int mark, const struct dfg_attr *attr)
{
	bool is_at_home = dfg_node_role(node) == (mark == BUFFER ? DFG_IDENTITY : DFG_LOOP_COND);
	if (!is_at_home)
		return DFG_ERR(DFG_DATA, "node '%s' (%s): attribute '%s' is allowed only on %s", node->name, node->op_name,
			marks[mark], mark == BUFFER ? "the Identity of an update" : "the LoopCond of a loop");
	if (mark == PARALLEL)
		return is_text(attr, "ordered") || is_text(attr, "unordered")
				   ? NULL
				   : DFG_ERR(DFG_DATA, "node '%s': attribute '%s' must be 'ordered' or 'unordered'", node->name,
						 marks[mark]);
	int64_t least = mark == BUFFER ? 0 : 1;
	if (attr->kind != DFG_ATTR_INT || attr->value.i < least || attr->value.i > INT32_MAX)
		return DFG_ERR(DFG_DATA, "node '%s': attribute '%s' must be an integer from %" PRId64 " to %d", node->name,
			marks[mark], least, INT32_MAX);
	if (mark != BUFFER && !dfg_node_attr(node, marks[PARALLEL]))
		return DFG_ERR(
			DFG_DATA, "node '%s': attribute '%s' requires attribute '%s'", node->name, marks[mark], marks[PARALLEL]);
	return NULL;
}

/* Whether a loop that is marked parallel contains the node. */
static bool is_in_parallel(const struct dfg_graph *graph, const struct dfg_loops *loops, uint32_t n)
{
	for (uint32_t l = loops->of[n]; l; l = loops->loop[l].parent) {
		uint32_t condition = loops->loop[l].condition;
		if (condition != DFG_NONE && dfg_node_attr(&graph->node[condition], marks[PARALLEL]))
			return true;
	}
	return false;
}

static struct dfg_err *check_marks(const struct dfg_graph *graph, const struct dfg_loops *loops)
{
	struct dfg_err *errors = NULL;
	for (uint32_t n = 0; n < graph->count; n++)
		for (int i = 0; i < MARKS; i++) {
			const struct dfg_node *node = &graph->node[n];
			const struct dfg_attr *attr = dfg_node_attr(node, marks[i]);
			if (!attr)
				continue;
			struct dfg_err *err = check_mark(node, i, attr);
			if (!err && i == BUFFER && !is_in_parallel(graph, loops, n))
				err = DFG_ERR(
					DFG_DATA, "node '%s': attribute '%s' is allowed only in a parallel loop", node->name, marks[i]);
			errors = dfg_err_join(errors, err);
		}
	return errors;
}

static uint32_t loop_named(const struct dfg_loops *loops, const char *name, size_t length)
{
	for (uint32_t l = 1; l < loops->count; l++)
		if (loops->loop[l].name.length == length && !memcmp(loops->loop[l].name.s, name, length))
			return l;
	return 0;
}

struct dfg_err *dfg_parallel_mark(struct dfg_graph *graph, const char *request)
{
	const char *equals = strrchr(request, '=');
	bool is_ordered = equals && !strcmp(equals, "=ordered");
	const char *order = is_ordered ? "ordered" : "unordered";
	struct dfg_arena scratch = {0};
	struct dfg_loops loops;
	struct dfg_err *err = dfg_loops_find(graph, NULL, &scratch, &loops);
	size_t length = is_ordered ? (size_t)(equals - request) : strlen(request);
	uint32_t l = err ? 0 : loop_named(&loops, request, length);
	if (!err && (!l || loops.loop[l].condition == DFG_NONE))
		err =
			DFG_ERR(DFG_DATA, "--parallel %s: the graph has no loop '%.*s'; give the name of a frame, or NAME=ordered",
				request, (int)length, request);
	if (!err)
		err = dfg_node_set_attr(graph, loops.loop[l].condition, marks[PARALLEL], DFG_ATTR_STRING,
			(union dfg_value){.s = {order, strlen(order)}});
	dfg_arena_release(&scratch);
	return err;
}

static struct dfg_err *name_accesses(const struct dfg_loop_analysis *a)
{
	for (uint32_t i = 0; i < a->out->n_access; i++) {
		struct dfg_array_access *access = &a->out->access[i];
		const char *text = a->out->array[access->array].name;
		for (uint32_t k = 0; text && k < access->n_subscript; k++)
			text = dfg_arena_print(
				a->arena, "%s%s%s", text, k ? ", " : "[", dfg_subscript_words(a, &access->subscript[k]));
		access->words = text && access->n_subscript ? dfg_arena_print(a->arena, "%s]", text) : text;
		if (!access->words)
			return dfg_no_memory("the accesses of a loop");
	}
	return NULL;
}

static struct dfg_err *analyse(struct dfg_loop_analysis *a)
{
	a->is_inside = dfg_arena_zeros(a->arena, a->graph->count, sizeof *a->is_inside);
	if (!a->is_inside)
		return dfg_no_memory("the dependences of a loop");
	for (uint32_t n = 0; n < a->graph->count; n++)
		a->is_inside[n] = dfg_loop_within(a->loops, dfg_loop_home(a->graph, a->loops, n), a->l);
	dfg_counter_find(a);
	DFG_TRY(dfg_accesses_find(a));
	DFG_TRY(dfg_obligations_check(a));
	DFG_TRY(dfg_subscripts_find(a));
	a->out->counter = a->counter;
	memcpy(a->out->cut, a->cut, sizeof a->out->cut);
	DFG_TRY(name_accesses(a));
	DFG_TRY(dfg_vectors_find(a));
	return dfg_family_find(a);
}

static struct dfg_err *find_all(const struct dfg_loop_analysis *common, struct dfg_dependences *out)
{
	const struct dfg_graph *graph = common->graph;
	struct dfg_err *errors = NULL;
	for (uint32_t l = 1; l < common->loops->count; l++) {
		const struct dfg_loop *loop = &common->loops->loop[l];
		const struct dfg_node *condition = loop->condition == DFG_NONE ? NULL : &graph->node[loop->condition];
		const struct dfg_attr *mark = condition ? dfg_node_attr(condition, marks[PARALLEL]) : NULL;
		struct dfg_loop_analysis a = *common;
		if (!mark)
			continue;
		a.l = l;
		a.out = &out->loop[out->count++];
		*a.out = (struct dfg_loop_dependences){.loop = l, .name = loop->name, .is_ordered = is_text(mark, "ordered")};
		dfg_node_mark(condition, marks[CLOCK], &a.out->clock);
		dfg_node_mark(condition, marks[BATCH], &a.out->batch);
		errors = dfg_err_join(
			errors, dfg_err_note(analyse(&a), "parallel loop '%.*s'", (int)loop->name.length, loop->name.s));
	}
	return errors;
}

static struct dfg_err *find_loops(struct dfg_builder *builder, struct dfg_arena *arena, struct dfg_dependences *out)
{
	const struct dfg_graph *graph = builder->graph;
	struct dfg_loops loops;
	struct dfg_aliases aliases = {0};
	struct dfg_loop_analysis common = {
		.graph = graph, .facts = &builder->facts, .loops = &loops, .aliases = &aliases, .arena = arena};
	uint32_t *order = dfg_arena_zeros(arena, graph->count, sizeof *order), *first, count;
	if (!order)
		return dfg_no_memory("the dependences of a graph");
	DFG_TRY(dfg_pass_order(graph, arena, &first, &count));
	DFG_TRY(dfg_loops_find(graph, first, arena, &loops));
	DFG_TRY(check_marks(graph, &loops));
	DFG_TRY(dfg_loops_order(graph, &loops, arena, order));
	DFG_TRY(dfg_loop_shapes(builder, &loops, order, arena));
	out->loop = dfg_arena_zeros(arena, loops.count, sizeof *out->loop);
	if (!out->loop)
		return dfg_no_memory("the dependences of a graph");
	struct dfg_err *err = dfg_aliases_find(graph, order, &builder->facts, arena, &aliases);
	if (!err)
		err = find_all(&common, out);
	dfg_aliases_release(&aliases);
	return err;
}

struct dfg_err *dfg_dependences_find(
	struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_dependences *out_dependences)
{
	struct dfg_builder builder;
	*out_dependences = (struct dfg_dependences){0};
	struct dfg_err *err = dfg_builder_init(&builder, graph);
	if (!err)
		err = find_loops(&builder, arena, out_dependences);
	dfg_builder_release(&builder);
	return err;
}
