#include "app/nesting.h"
#include "cmd/show.h"

#include <string.h>

/* A picture for dot(1): loops and branches are boxes around their nodes. */
struct picture {
	const struct dfg_shown *shown;
	struct dfg_nesting nesting;
	uint32_t *first, *next; /* lists of nodes by box, as number + 1 */
	const char *name;       /* prefix of node numbers: the name of the part of a plan, "" for a graph */
	struct dfg_text *out;
};

/* Appends text for a quoted string. */
static void put_label(struct dfg_text *out, const char *text)
{
	dfg_text_escape(out, text, strlen(text), SIZE_MAX);
}

static void open_box(const struct picture *picture, uint32_t b)
{
	const struct dfg_graph *graph = picture->shown->graph;
	if (b) {
		dfg_text_add(picture->out, "\tsubgraph cluster%s_%u {\n\tlabel = \"", picture->name, b);
		put_label(picture->out, picture->nesting.box[b].label);
		dfg_text_add(picture->out, "\"\n");
	}
	for (uint32_t n = picture->first[b]; n; n = picture->next[n - 1]) {
		dfg_text_add(picture->out, "\t%sn%u [label = \"", picture->name, n - 1);
		put_label(picture->out, graph->node[n - 1].name);
		dfg_text_add(picture->out, "\\n");
		put_label(picture->out, graph->node[n - 1].op_name);
		dfg_text_add(picture->out, "\"]\n");
	}
}

/* Opens and closes nested boxes without recursion: a file determines their depth. */
static void put_boxes(const struct picture *picture)
{
	const struct dfg_nesting_box *box = picture->nesting.box;
	open_box(picture, 0);
	for (uint32_t at = box[0].child; at;) {
		open_box(picture, at);
		if (box[at].child) {
			at = box[at].child;
			continue;
		}
		dfg_text_add(picture->out, "\t}\n");
		while (at && !box[at].next) {
			at = box[at].parent;
			dfg_text_add(picture->out, "%s", at ? "\t}\n" : "");
		}
		at = at ? box[at].next : 0;
	}
}

static void put_edge(const struct picture *picture, struct dfg_edge from, uint32_t to)
{
	const char *name = picture->name;
	dfg_text_add(picture->out, "\t%sn%u -> %sn%u ", name, from.node, name, to);
	if (from.port == DFG_CONTROL)
		dfg_text_add(picture->out, "[style = dashed]\n");
	else
		dfg_text_add(picture->out, "[label = \"%s\", fontsize = 8]\n", dfg_shown_type(picture->shown, from).s);
}

static struct dfg_err *draw(struct picture *picture)
{
	const struct dfg_graph *graph = picture->shown->graph;
	uint32_t count = graph->count;
	DFG_TRY(dfg_nesting_find(graph, &picture->nesting));
	picture->first = dfg_arena_zeros(&picture->nesting.arena, picture->nesting.count, sizeof *picture->first);
	picture->next = dfg_arena_zeros(&picture->nesting.arena, (size_t)count + 1, sizeof *picture->next);
	if (!picture->first || !picture->next)
		return dfg_no_memory("the drawing");
	for (uint32_t n = count; n-- > 0;) {
		picture->next[n] = picture->first[picture->nesting.of[n]];
		picture->first[picture->nesting.of[n]] = n + 1;
	}
	put_boxes(picture);
	for (uint32_t n = 0; n < count; n++)
		for (uint32_t i = 0; i < graph->node[n].n_in + graph->node[n].n_control; i++)
			put_edge(picture, graph->node[n].in[i], n);
	return NULL;
}

struct dfg_err *dfg_show_dot_part(const struct dfg_shown *shown, const char *name, struct dfg_text *out)
{
	struct picture picture = {.shown = shown, .name = name, .out = out};
	struct dfg_err *err = draw(&picture);
	dfg_nesting_release(&picture.nesting);
	return err;
}

struct dfg_err *dfg_show_dot(const struct dfg_shown *shown, struct dfg_text *out)
{
	dfg_text_add(out, "digraph {\n\tnode [shape = box, fontsize = 10]\n");
	DFG_TRY(dfg_show_dot_part(shown, "", out));
	dfg_text_add(out, "}\n");
	return NULL;
}
