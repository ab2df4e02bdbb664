#include "app/picture.h"

#include "app/nesting.h"
#include "lib/base/plural.h"

#include <stdlib.h>
#include <string.h>

/* RUN: as many boxes or nodes are in one where a box has more than CROWD. OPENED_MOST: what links may unfold in all. */
enum { CROWD = 80, RUN = 50, OPENED_MOST = 400 };

enum box_kind { BOX_GRAPH, BOX_LOOP, BOX_BRANCH, BOX_SCOPE, BOX_RUN };

/* A node, or a box with items in it. Items 0 to the number of nodes are the nodes; then come the boxes, the graph first. */
struct item {
	uint32_t parent, first, last,
		next;              /* first and last item in it, and the next beside it; 0: none (item 0 is a node: + 1) */
	uint32_t items, nodes; /* in it: directly, and in all */
	const char *label;
	size_t length;      /* of the label */
	const char *device; /* of all nodes in it; "": of none, or of several */
	enum box_kind kind;
	bool is_open, is_opened, is_folded; /* is_opened, is_folded: by the options */
};

struct picture {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	const struct dfg_picture_options *options;
	struct dfg_nesting nesting;
	struct dfg_map scopes; /* a box and a scope to a number */
	uint32_t *of_scope;    /* that number to the item */
	size_t n_scope;
	struct dfg_map devices; /* of nodes, in the order in which they come first */
	struct item *item;
	size_t count, capacity;
	uint32_t *of_box; /* items of the nesting's boxes */
	struct dfg_text *out;
};

static uint32_t root_of(const struct picture *picture)
{
	return picture->graph->count;
}

static void link_item(struct picture *picture, uint32_t parent, uint32_t number)
{
	struct item *outer = &picture->item[parent];
	picture->item[number].parent = parent;
	picture->item[number].next = 0;
	if (outer->last)
		picture->item[outer->last - 1].next = number + 1;
	else
		outer->first = number + 1;
	outer->last = number + 1;
	outer->items++;
}

static struct dfg_err *add_box(struct picture *picture, uint32_t parent, enum box_kind kind, const char *label,
	size_t length, uint32_t *out_number)
{
	if (!dfg_reserve(&picture->item, &picture->capacity, picture->count + 1, sizeof *picture->item))
		return dfg_no_memory("the picture");
	*out_number = (uint32_t)picture->count++;
	picture->item[*out_number] = (struct item){.kind = kind, .label = label, .length = length};
	link_item(picture, parent, *out_number);
	return NULL;
}

/* The scope of the first `length` bytes of a name in a box of the nesting; 0: the box itself. */
static struct dfg_err *find_scope(
	struct picture *picture, uint32_t box, const char *name, size_t length, uint32_t *out_number)
{
	*out_number = picture->of_box[box];
	for (size_t end = 0, begin = 0; end < length; end++) {
		if (name[end] != '/')
			continue;
		const char *key = dfg_arena_print(&picture->nesting.arena, "%u:%.*s", box, (int)end, name);
		uint32_t number, parent = *out_number;
		bool is_new;
		if (!key || !dfg_map_put(&picture->scopes, key, strlen(key), &number, &is_new) ||
			!dfg_reserve(&picture->of_scope, &picture->n_scope, (size_t)number + 1, sizeof *picture->of_scope))
			return dfg_no_memory("the picture");
		if (is_new)
			DFG_TRY(add_box(picture, parent, BOX_SCOPE, name + begin, end - begin, &picture->of_scope[number]));
		*out_number = picture->of_scope[number];
		begin = end + 1;
	}
	return NULL;
}

static enum box_kind kind_of(const char *label)
{
	return strncmp(label, "loop ", 5) ? BOX_BRANCH : BOX_LOOP;
}

static struct dfg_err *add_boxes(struct picture *picture)
{
	const struct dfg_nesting *nesting = &picture->nesting;
	picture->count = root_of(picture);
	picture->of_box = dfg_arena_zeros(&picture->nesting.arena, nesting->count, sizeof *picture->of_box);
	if (!picture->of_box ||
		!dfg_reserve(&picture->item, &picture->capacity, picture->count + nesting->count, sizeof *picture->item))
		return dfg_no_memory("the picture");
	picture->of_box[0] = (uint32_t)picture->count++;
	picture->item[picture->of_box[0]] = (struct item){.kind = BOX_GRAPH, .label = ""};
	for (uint32_t b = 1; b < nesting->count; b++) {
		const char *label = nesting->box[b].label;
		DFG_TRY(add_box(picture, picture->of_box[nesting->box[b].parent], kind_of(label), label, strlen(label),
			&picture->of_box[b]));
	}
	return NULL;
}

static struct dfg_err *add_nodes(struct picture *picture)
{
	const struct dfg_graph *graph = picture->graph;
	for (uint32_t n = 0; n < graph->count; n++) {
		const char *name = graph->node[n].name, *slash = strrchr(name, '/'), *device = graph->node[n].device;
		uint32_t scope, number;
		bool is_new;
		DFG_TRY(find_scope(picture, picture->nesting.of[n], name, slash ? (size_t)(slash - name) + 1 : 0, &scope));
		const char *last = slash ? slash + 1 : name;
		picture->item[n] =
			(struct item){.nodes = 1, .label = last, .length = strlen(last), .device = device ? device : ""};
		link_item(picture, scope, n);
		if (*picture->item[n].device && !dfg_map_put(&picture->devices, device, strlen(device), &number, &is_new))
			return dfg_no_memory("the picture");
	}
	return NULL;
}

/* Puts the items of a crowded box into boxes of a run of them each, as often as it remains crowded. */
static struct dfg_err *divide_crowd(struct picture *picture, uint32_t box)
{
	while (picture->item[box].items > CROWD) {
		uint32_t at = picture->item[box].first, run = 0;
		picture->item[box].first = picture->item[box].last = picture->item[box].items = 0;
		for (uint32_t i = 0, next; at; at = next, i++) {
			next = picture->item[at - 1].next;
			if (i % RUN == 0)
				DFG_TRY(
					add_box(picture, box, BOX_RUN, picture->item[at - 1].label, picture->item[at - 1].length, &run));
			link_item(picture, run, at - 1);
		}
	}
	return NULL;
}

/* From the inside out: `order` has the boxes in the reverse order. */
static void count_nodes(struct picture *picture, const uint32_t *order, uint32_t boxes)
{
	for (uint32_t i = boxes; i-- > 0;) {
		struct item *box = &picture->item[order[i]];
		for (uint32_t at = box->first; at; at = picture->item[at - 1].next) {
			const struct item *inner = &picture->item[at - 1];
			box->nodes += inner->nodes;
			box->device = !box->device || !strcmp(box->device, inner->device) ? inner->device : "";
		}
		box->device = box->device ? box->device : "";
	}
}

/* Appends the boxes that are directly in a box to a list. */
static void add_inner(const struct picture *picture, uint32_t box, uint32_t *list, uint32_t *end)
{
	for (uint32_t at = picture->item[box].first; at; at = picture->item[at - 1].next)
		if (at > root_of(picture))
			list[(*end)++] = at - 1;
}

static struct dfg_err *count_all(struct picture *picture)
{
	uint32_t *order = dfg_arena_zeros(&picture->nesting.arena, picture->count, sizeof *order), end = 1;
	if (!order)
		return dfg_no_memory("the picture");
	order[0] = root_of(picture);
	for (uint32_t i = 0; i < end; i++)
		add_inner(picture, order[i], order, &end);
	count_nodes(picture, order, end);
	return NULL;
}

static void mark(struct picture *picture, const char *numbers, bool is_opened)
{
	for (char *end; numbers && *numbers; numbers = end + (*end == ',')) {
		unsigned long number = strtoul(numbers, &end, 10);
		if (end == numbers || (*end && *end != ','))
			return;
		if (number <= root_of(picture) || number >= picture->count)
			continue;
		picture->item[number].is_opened |= is_opened;
		picture->item[number].is_folded |= !is_opened;
	}
}

/* Unfolds from the outside in, as long as the picture does not become too large. */
static struct dfg_err *unfold(struct picture *picture)
{
	uint32_t *queue = dfg_arena_zeros(&picture->nesting.arena, picture->count, sizeof *queue), last = 0;
	size_t drawn = 1;
	if (!queue)
		return dfg_no_memory("the picture");
	mark(picture, picture->options->opened, true);
	mark(picture, picture->options->folded, false);
	picture->item[root_of(picture)].is_opened = true;
	queue[last++] = root_of(picture);
	for (uint32_t i = 0; i < last; i++) {
		struct item *box = &picture->item[queue[i]];
		size_t most = box->is_opened ? OPENED_MOST : picture->options->most;
		box->is_open = !box->is_folded && (box->items == 1 || drawn + box->items <= most + 1);
		if (box->is_open)
			add_inner(picture, queue[i], queue, &last);
		drawn += box->is_open ? box->items - 1 : 0;
	}
	return NULL;
}

/* The outermost folded box around the item, or the item itself. */
static uint32_t drawn_as(const struct picture *picture, uint32_t number)
{
	uint32_t drawn = number;
	for (uint32_t at = number; at != root_of(picture);) {
		at = picture->item[at].parent;
		if (!picture->item[at].is_open)
			drawn = at;
	}
	return drawn;
}

static const char *color_of(const struct picture *picture, const char *device)
{
	static const char *const color[] = {
		"#dbe9f6", "#fde5cc", "#dcf0d8", "#f7d9d9", "#e8e0f2", "#eee0da", "#fbe0ef", "#f1f1c9", "#d3f0f3", "#e4e4e4"};
	uint32_t number = *device ? dfg_map_find(&picture->devices, device, strlen(device)) : 0;
	return *device ? color[number % (sizeof color / sizeof *color)] : "white";
}

static void put_escaped(struct dfg_text *out, const char *text, size_t length)
{
	dfg_text_escape(out, text, length, SIZE_MAX);
}

static void put_type(const struct picture *picture, struct dfg_edge edge)
{
	const struct dfg_facts *facts = picture->facts;
	if (!facts || edge.port < 0 || (uint32_t)edge.port >= dfg_facts_outputs(facts, edge.node))
		return;
	const struct dfg_inferred *fact = dfg_facts_of(facts, edge);
	if (fact->holds && fact->holds->dtype)
		dfg_text_add(picture->out, "%s", dfg_type_words(fact->holds->dtype, &fact->holds->shape).s);
	else if (fact->dtype)
		dfg_text_add(picture->out, "%s", dfg_type_words(fact->dtype, &fact->shape).s);
}

static void put_node(const struct picture *picture, uint32_t n)
{
	const struct item *item = &picture->item[n];
	struct dfg_text *out = picture->out;
	dfg_text_add(out, "\tn%u [label = \"", n);
	put_escaped(out, item->label, item->length);
	dfg_text_add(out, "\\n");
	put_escaped(out, picture->graph->node[n].op_name, strlen(picture->graph->node[n].op_name));
	dfg_text_add(out, "\", tooltip = \"");
	put_escaped(out, picture->graph->node[n].name, strlen(picture->graph->node[n].name));
	dfg_text_add(out, "\", fillcolor = \"%s\"]\n", color_of(picture, item->device));
}

static void put_link(const struct picture *picture, uint32_t number)
{
	if (picture->options->links)
		dfg_text_add(picture->out, "URL = \"#%u\", ", number);
}

static void put_name(const struct picture *picture, const struct item *item)
{
	put_escaped(picture->out, item->label, item->length);
	dfg_text_add(picture->out, "%s", item->kind == BOX_RUN ? " ..." : "");
}

/* The borders of boxes, in the order of enum box_kind. */
static const char *const border[] = {"", "rounded,bold", "dashed", "rounded", "dotted"};

static void put_folded(const struct picture *picture, uint32_t number)
{
	const struct item *item = &picture->item[number];
	dfg_text_add(picture->out, "\tn%u [", number);
	put_link(picture, number);
	dfg_text_add(picture->out, "label = \"");
	put_name(picture, item);
	dfg_text_add(picture->out,
		"\\n%u node%s\", tooltip = \"unfold\", style = \"filled,%s\", peripheries = 2, fillcolor = \"%s\"]\n",
		item->nodes, dfg_plural(item->nodes), border[item->kind], color_of(picture, item->device));
}

static void open_cluster(const struct picture *picture, uint32_t number)
{
	dfg_text_add(picture->out, "\tsubgraph cluster%u {\n\tgraph [", number);
	put_link(picture, number);
	dfg_text_add(picture->out, "label = \"");
	put_name(picture, &picture->item[number]);
	dfg_text_add(picture->out, "\", tooltip = \"fold\", style = \"%s\"]\n", border[picture->item[number].kind]);
}

/* Without recursion, because a file determines how deep boxes are. */
static void put_items(struct picture *picture)
{
	uint32_t root = root_of(picture);
	for (uint32_t at = picture->item[root].first; at;) {
		struct item *item = &picture->item[at - 1];
		if (at <= root) {
			put_node(picture, at - 1);
		} else if (item->is_open && item->first) {
			open_cluster(picture, at - 1);
			at = item->first;
			continue;
		} else if (item->nodes) {
			put_folded(picture, at - 1);
		}
		while (!item->next && item->parent != root) {
			dfg_text_add(picture->out, "\t}\n");
			item = &picture->item[item->parent];
		}
		at = item->next;
	}
}

/* Edges between what is drawn. Those that have both ends in common are one, which has a number instead of a type. */
struct drawn_edge {
	uint32_t from, to, count;
	bool is_control;
	struct dfg_edge edge;
};

static struct dfg_err *put_edges(struct picture *picture)
{
	const struct dfg_graph *graph = picture->graph;
	struct dfg_map known = {0};
	struct drawn_edge *edge = NULL;
	size_t count = 0, capacity = 0;
	struct dfg_err *err = NULL;
	for (uint32_t n = 0; n < graph->count && !err; n++)
		for (uint32_t i = 0, to = drawn_as(picture, n); i < graph->node[n].n_in + graph->node[n].n_control && !err;
			 i++) {
			struct dfg_edge in = graph->node[n].in[i];
			const struct drawn_edge new = {drawn_as(picture, in.node), to, 0, in.port == DFG_CONTROL, in};
			const uint32_t key[] = {new.from, to, new.is_control};
			uint32_t number;
			bool is_new;
			if (new.from == to && picture->item[to].items)
				continue;
			if (!dfg_map_put(&known, (const char *)key, sizeof key, &number, &is_new) ||
				!dfg_reserve(&edge, &capacity, (size_t)number + 1, sizeof *edge))
				err = dfg_no_memory("the picture");
			else if (is_new)
				edge[number] = new, count++;
			if (!err)
				edge[number].count++;
		}
	for (size_t i = 0; i < count && !err; i++) {
		dfg_text_add(picture->out, "\tn%u -> n%u [%s", edge[i].from, edge[i].to,
			edge[i].is_control ? "style = dashed" : "label = \"");
		if (!edge[i].is_control && edge[i].count == 1)
			put_type(picture, edge[i].edge);
		else if (!edge[i].is_control)
			dfg_text_add(picture->out, "%u tensors", edge[i].count);
		dfg_text_add(picture->out, "%s]\n", edge[i].is_control ? "" : "\"");
	}
	dfg_map_release(&known);
	dfg_free(edge);
	return err;
}

/* Each device once, in its colour. */
static void put_devices(const struct picture *picture)
{
	uint32_t seen = 0;
	for (uint32_t n = 0; n < picture->graph->count; n++) {
		const char *device = picture->item[n].device;
		if (!*device || dfg_map_find(&picture->devices, device, strlen(device)) != seen)
			continue;
		dfg_text_add(picture->out, "%s\td%u [shape = plaintext, label = \"",
			seen ? "" : "\tsubgraph cluster_devices {\n\tlabel = devices\n", seen);
		put_escaped(picture->out, device, strlen(device));
		dfg_text_add(picture->out, "\", fillcolor = \"%s\"]\n", color_of(picture, device));
		seen++;
	}
	dfg_text_add(picture->out, "%s", seen ? "\t}\n" : "");
}

static struct dfg_err *draw(struct picture *picture)
{
	DFG_TRY(dfg_nesting_find(picture->graph, &picture->nesting));
	DFG_TRY(add_boxes(picture));
	DFG_TRY(add_nodes(picture));
	for (uint32_t box = root_of(picture), end = (uint32_t)picture->count; box < end; box++)
		DFG_TRY(divide_crowd(picture, box));
	DFG_TRY(count_all(picture));
	DFG_TRY(unfold(picture));
	dfg_text_add(picture->out,
		"digraph {\n\tfontname = \"sans-serif\"\n\tfontsize = 10\n"
		"\tnode [shape = box, style = filled, fillcolor = white, fontsize = 10, fontname = \"sans-serif\"]\n"
		"\tedge [fontsize = 8, fontname = \"sans-serif\"]\n");
	put_items(picture);
	put_devices(picture);
	DFG_TRY(put_edges(picture));
	dfg_text_add(picture->out, "}\n");
	return NULL;
}

struct dfg_err *dfg_picture_dot(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_picture_options *options, struct dfg_text *out)
{
	struct picture picture = {.graph = graph, .facts = facts, .options = options, .out = out};
	struct dfg_err *err = draw(&picture);
	dfg_nesting_release(&picture.nesting);
	dfg_map_release(&picture.scopes);
	dfg_map_release(&picture.devices);
	dfg_free(picture.of_scope);
	dfg_free(picture.item);
	return err;
}
