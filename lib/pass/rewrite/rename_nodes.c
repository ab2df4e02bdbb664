/* rename_nodes. Requires: every edge names a node. Result: the same graph under other names. O(entries * nodes). */
#include "lib/pass/rewrite/surgery.h"

#include "lib/base/plural.h"

#include <string.h>

/* New names by node, and the old ones by which colocations are found. */
struct renaming {
	struct dfg_graph *graph;
	struct dfg_arena *scratch;
	const char **name;
	uint32_t changed;
};

static struct dfg_err *begin(struct renaming *r, struct dfg_graph *graph, struct dfg_arena *scratch)
{
	*r = (struct renaming){.graph = graph,
		.scratch = scratch,
		.name = dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof *r->name)};
	return r->name ? NULL : dfg_no_memory("the names");
}

/* "loc:@OLD" with the new name of OLD, or NULL if it stays. */
static const char *new_location(const struct renaming *r, struct dfg_string text)
{
	static const char prefix[] = "loc:@";
	const size_t length = sizeof prefix - 1;
	if (text.length <= length || memcmp(text.s, prefix, length))
		return NULL;
	const uint32_t node = dfg_map_find(&r->graph->names, text.s + length, text.length - length);
	if (node == DFG_NONE || !strcmp(r->name[node], r->graph->node[node].name))
		return NULL;
	return dfg_arena_print(r->graph->arena, "%s%s", prefix, r->name[node]);
}

/* The list of locations of a node; lists of other nodes may be the same memory, so a changed one is a copy. */
static struct dfg_err *rename_locations(struct renaming *r, uint32_t n)
{
	const struct dfg_attr *attr = dfg_node_attr(&r->graph->node[n], "_class");
	if (!attr || attr->kind != DFG_ATTR_LIST || attr->value.list->kind != DFG_ATTR_STRING)
		return NULL;
	struct dfg_list *list = dfg_arena_zeros(r->graph->arena, 1, sizeof *list);
	union dfg_value *item = dfg_arena_zeros(r->graph->arena, (size_t)attr->value.list->count + 1, sizeof *item);
	bool any = false;
	if (!list || !item)
		return dfg_no_memory("the names");
	*list = *attr->value.list;
	for (uint32_t i = 0; i < list->count; i++) {
		item[i] = attr->value.list->item[i];
		const char *location = new_location(r, item[i].s);
		if (location)
			item[i].s = (struct dfg_string){location, strlen(location)};
		any |= location != NULL;
	}
	list->item = item;
	return any ? dfg_node_set_attr(r->graph, n, "_class", DFG_ATTR_LIST, (union dfg_value){.list = list}) : NULL;
}

static struct dfg_err *check_unique(struct renaming *r)
{
	struct dfg_map names = {0};
	struct dfg_err *err = NULL;
	uint32_t number;
	bool new;
	for (uint32_t n = 0; !err && n < r->graph->count; n++)
		if (!dfg_map_put(&names, r->name[n], strlen(r->name[n]), &number, &new))
			err = dfg_no_memory("the names");
		else if (!new)
			err = DFG_ERR(DFG_DATA, "nodes '%s' and '%s' would both have the name '%s'", r->graph->node[number].name,
				r->graph->node[n].name, r->name[n]);
	if (err) {
		dfg_map_release(&names);
		return err;
	}
	dfg_map_release(&r->graph->names);
	r->graph->names = names;
	return NULL;
}

/* Takes the names over. Colocations are renamed first, as the graph then still knows the old names. */
static struct dfg_err *end(struct renaming *r)
{
	for (uint32_t n = 0; n < r->graph->count; n++)
		DFG_TRY(rename_locations(r, n));
	DFG_TRY(check_unique(r));
	for (uint32_t n = 0; n < r->graph->count; n++) {
		r->changed += strcmp(r->graph->node[n].name, r->name[n]) != 0;
		r->graph->node[n].name = r->name[n];
	}
	return NULL;
}

struct dfg_err *dfg_set_names(struct dfg_graph *graph, const char *const *name, struct dfg_arena *scratch)
{
	struct renaming r;
	DFG_TRY(begin(&r, graph, scratch));
	for (uint32_t n = 0; n < graph->count; n++)
		r.name[n] = name[n];
	return end(&r);
}

/* A name of a node: letters, digits and _ . - / \ >, as TensorFlow has it. */
static bool is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	const size_t length = strlen(name);
	return length && (strchr(letters, *name) || *name == '.' || *name == '_') &&
		   strspn(name + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/\\>") == length - 1;
}

static struct dfg_err *rename_all(struct renaming *r, const struct dfg_rename *rename, size_t count)
{
	for (uint32_t n = 0; n < r->graph->count; n++) {
		const char *old = r->graph->node[n].name;
		r->name[n] = dfg_rename_name(rename, count, old, r->graph->arena);
		if (!r->name[n])
			return dfg_no_memory("the names");
		if (strcmp(old, r->name[n]) && !is_name(r->name[n]))
			return DFG_ERR(DFG_DATA, "'%s' is not a valid node name", r->name[n]);
	}
	return NULL;
}

struct dfg_err *dfg_rename_nodes(struct dfg_graph *graph, const struct dfg_rename *rename, size_t count,
	struct dfg_arena *scratch, struct dfg_text *report)
{
	struct renaming r;
	DFG_TRY(begin(&r, graph, scratch));
	DFG_TRY(dfg_err_note(rename_all(&r, rename, count), "--rename"));
	DFG_TRY(dfg_err_note(end(&r), "--rename"));
	if (!r.changed)
		return DFG_ERR(DFG_DATA, "--rename: no node has such a name");
	dfg_text_add(report, "rename: renamed %u node%s\n", r.changed, dfg_plural(r.changed));
	return NULL;
}

/* Numbers frames in the order of their first Enter. */
static struct dfg_err *number_frames(struct dfg_graph *graph, struct dfg_map *frames)
{
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_attr *frame = dfg_node_attr(&graph->node[n], "frame_name");
		uint32_t number;
		if (!frame || frame->kind != DFG_ATTR_STRING)
			continue;
		if (!dfg_map_put(frames, frame->value.s.s, frame->value.s.length, &number, NULL))
			return dfg_no_memory("the names");
		const char *name = dfg_arena_number(graph->arena, "loop", '_', number);
		if (!name)
			return dfg_no_memory("the names");
		DFG_TRY(
			dfg_node_set_attr(graph, n, "frame_name", DFG_ATTR_STRING, (union dfg_value){.s = {name, strlen(name)}}));
	}
	return NULL;
}

static bool keeps_name(const struct dfg_node *node)
{
	const enum dfg_role role = node->op ? node->op->role : DFG_PLAIN;
	return role == DFG_PLACEHOLDER || role == DFG_PLACEHOLDER_DEFAULT || role == DFG_VARIABLE ||
		   dfg_node_mark(node, "_dfg_output", NULL);
}

static struct dfg_err *number_nodes(struct renaming *r, const struct dfg_keep *keep)
{
	for (uint32_t n = 0; n < r->graph->count; n++)
		if (keeps_name(&r->graph->node[n]))
			r->name[n] = r->graph->node[n].name;
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		r->name[keep->fetch[i].node] = r->graph->node[keep->fetch[i].node].name;
	for (uint32_t i = 0; i < keep->n_target; i++)
		r->name[keep->target[i]] = r->graph->node[keep->target[i]].name;
	for (uint32_t n = 0, next = 0; n < r->graph->count; n++) {
		while (!r->name[n]) {
			const char *name = dfg_arena_number(r->graph->arena, "n", '_', next++);
			if (!name)
				return dfg_no_memory("the names");
			if (dfg_graph_find(r->graph, name) == DFG_NONE)
				r->name[n] = name;
		}
		r->graph->node[n].debug = NULL;
		r->graph->node[n].n_debug = 0;
	}
	return NULL;
}

struct dfg_err *dfg_obfuscate(
	struct dfg_graph *graph, const struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	struct renaming r;
	struct dfg_map frames = {0};
	if (graph->n_library)
		return DFG_ERR(DFG_DATA, "--obfuscate: the graph has functions, which pass 'lower' expands");
	DFG_TRY(begin(&r, graph, scratch));
	DFG_TRY(number_nodes(&r, keep));
	DFG_TRY(end(&r));
	struct dfg_err *err = number_frames(graph, &frames);
	dfg_text_add(report, "obfuscate: renamed %u node%s and %zu loop%s\n", r.changed, dfg_plural(r.changed),
		frames.count, dfg_plural(frames.count));
	dfg_map_release(&frames);
	graph->debug = NULL;
	graph->n_debug = 0;
	return err;
}
