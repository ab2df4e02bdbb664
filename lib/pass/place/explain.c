/* explain. Why a node is placed where it is, and why requests conflict. */
#include "lib/base/mem.h"
#include "lib/pass/place/place_private.h"

#include <stdio.h>
#include <string.h>

static void own_reason(const struct dfg_placed *placed, struct dfg_text *text)
{
	if (placed->reason == DFG_PLACED_ONLY)
		dfg_text_add(text, "the only device");
	else if (placed->reason == DFG_PLACED_REQUEST)
		dfg_text_add(text, "--place '%s'", placed->request);
	else if (placed->reason == DFG_PLACED_KERNEL)
		dfg_text_add(text, "%s", placed->request);
	else if (placed->reason == DFG_PLACED_FILE)
		dfg_text_add(text, "the graph asks for '%s'", placed->request);
	else
		dfg_text_add(text, placed->reason == DFG_PLACED_RANDOM ? "by chance" : "by cost");
}

void dfg_place_why(const struct dfg_graph *graph, const struct dfg_placed *placed, uint32_t node, struct dfg_text *text)
{
	uint32_t with = placed[node].with;
	if (with == DFG_NONE) {
		own_reason(&placed[node], text);
		return;
	}
	dfg_text_add(text, "%s '%s'", placed[node].reason == DFG_PLACED_CONSUMER ? "next to" : "together with",
		graph->node[with].name);
	/* The consumer of a generator may itself be placed with another node. */
	for (uint32_t hops = 0; placed[with].with != DFG_NONE && hops < graph->count; hops++)
		with = placed[with].with;
	dfg_text_add(text, " (");
	own_reason(&placed[with], text);
	dfg_text_add(text, ")");
}

void dfg_place_explain(
	const struct dfg_graph *graph, const struct dfg_placed *placed, uint32_t node, struct dfg_text *text)
{
	dfg_text_add(text, "%s  w%u  ", graph->node[node].name, placed[node].device);
	dfg_place_why(graph, placed, node, text);
}

/* The joins of each node; those of node n are at[first[n]] to at[first[n + 1] - 1]. */
struct forest {
	size_t *first, *at;
	size_t *from;   /* by node: 1 + the join through which the search reached it */
	uint32_t *next; /* nodes reached, in breadth-first order */
};

static struct dfg_err *plant(const struct dfg_placing *p, struct dfg_arena *scratch, struct forest *out)
{
	size_t count = (size_t)p->graph->count;
	out->first = dfg_arena_zeros(scratch, count + 2, sizeof *out->first);
	out->at = dfg_arena_zeros(scratch, 2 * p->joins + 1, sizeof *out->at);
	out->from = dfg_arena_zeros(scratch, count + 1, sizeof *out->from);
	out->next = dfg_arena_zeros(scratch, count + 1, sizeof *out->next);
	if (!out->first || !out->at || !out->from || !out->next)
		return DFG_ERR(DFG_MEMORY, "no memory to explain a conflict");
	for (size_t j = 0; j < p->joins; j++) {
		out->first[p->join[j].a + 2]++;
		out->first[p->join[j].b + 2]++;
	}
	for (size_t n = 0; n < count; n++)
		out->first[n + 2] += out->first[n + 1];
	for (size_t j = 0; j < p->joins; j++) {
		out->at[out->first[p->join[j].a + 1]++] = j;
		out->at[out->first[p->join[j].b + 1]++] = j;
	}
	return NULL;
}

static uint32_t other_end(const struct dfg_join *join, uint32_t node)
{
	return join->a == node ? join->b : join->a;
}

/* Finds the path in the forest from b back to a. */
static void search(const struct dfg_placing *p, struct forest *f, uint32_t a, uint32_t b)
{
	size_t met = 1;
	f->next[0] = a;
	for (size_t i = 0; i < met && !f->from[b]; i++)
		for (size_t j = f->first[f->next[i]]; j < f->first[f->next[i] + 1]; j++) {
			uint32_t node = other_end(&p->join[f->at[j]], f->next[i]);
			if (node == a || f->from[node])
				continue;
			f->from[node] = f->at[j] + 1;
			f->next[met++] = node;
		}
}

static void say_join(const struct dfg_placing *p, const struct dfg_join *join, struct dfg_text *text)
{
	static const char *const words[] = {
		[DFG_JOIN_HANDLE] = "'%.100s' takes a handle from '%.100s'",
		[DFG_JOIN_REF] = "'%.100s' takes a ref from '%.100s'",
		[DFG_JOIN_UNKNOWN] = "'%.100s' reads '%.100s', and both ops are unknown",
		[DFG_JOIN_STORED] = "'%.100s' loads what '%.100s' saves",
		[DFG_JOIN_NAME] = "'%.100s' is the same variable as '%.100s'",
		[DFG_JOIN_CLASS] = "'%.100s' is colocated with '%.100s' (_class)",
	};
	char line[300];
	snprintf(line, sizeof line, words[join->why], p->graph->node[join->a].name, p->graph->node[join->b].name);
	dfg_text_add(text, "%s", line);
}

static void say_ask(const struct dfg_placing *p, uint32_t n, struct dfg_text *text)
{
	const struct dfg_ask *ask = &p->ask[n];
	const struct dfg_node *node = &p->graph->node[n];
	dfg_text_add(text, "node '%.100s' (%.60s) is requested on ", node->name, node->op_name);
	if (ask->request == DFG_NONE)
		dfg_text_add(text, "'%.100s' by the graph", node->device);
	else
		dfg_text_add(
			text, "w%u by '%.100s'", p->options->request[ask->request].device, p->options->request[ask->request].text);
}

static void say_way(const struct dfg_placing *p, const struct forest *f, uint32_t a, uint32_t b, struct dfg_text *text)
{
	enum { MOST = 4 };
	int said = 0;
	for (uint32_t n = b; n != a && f->from[n]; said++) {
		const struct dfg_join *join = &p->join[f->from[n] - 1];
		if (said < MOST) {
			dfg_text_add(text, said ? ", " : ": ");
			say_join(p, join, text);
		}
		n = other_end(join, n);
	}
	if (said > MOST)
		dfg_text_add(text, ", and so on");
}

struct dfg_err *dfg_place_conflict(const struct dfg_placing *p, uint32_t a, uint32_t b)
{
	struct dfg_arena scratch = {0};
	struct dfg_text text = {0};
	struct forest forest;
	struct dfg_err *err = plant(p, &scratch, &forest);
	if (!err) {
		search(p, &forest, a, b);
		say_ask(p, a, &text);
		dfg_text_add(&text, ", ");
		say_ask(p, b, &text);
		dfg_text_add(&text, ", but they must be colocated");
		say_way(p, &forest, a, b, &text);
		err = dfg_text_check(&text);
	}
	if (!err)
		err = DFG_ERR(DFG_DATA, "%s", text.s);
	dfg_text_release(&text);
	dfg_arena_release(&scratch);
	return err;
}
