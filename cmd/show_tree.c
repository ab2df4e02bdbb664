#include "app/nesting.h"
#include "cmd/show.h"

#include <string.h>

/* A loop, a branch, a scope or a node; a name can be both a scope and a node. Children are in file order. */
struct scope {
	const char *name; /* last component of the name, `length` bytes long */
	size_t length;
	uint32_t node; /* node number; DFG_NONE: only a scope */
	struct scope *child, *last, *next;
};

struct tree {
	const struct dfg_shown *shown;
	struct dfg_arena arena;
	struct dfg_map full; /* maps a box and a full name to the number of its scope */
	struct scope **scope;
	size_t capacity;
	struct dfg_nesting nesting;
	struct scope **box; /* scope of each box; NULL until the box has content */
};

static struct dfg_err *add_scope(
	struct tree *tree, struct scope *parent, const char *name, size_t length, struct scope **out_scope)
{
	struct scope *scope = *out_scope = dfg_arena_zeros(&tree->arena, 1, sizeof *scope);
	if (!scope)
		return dfg_no_memory("the tree of scopes");
	*scope = (struct scope){.name = name, .length = length, .node = DFG_NONE};
	*(parent->last ? &parent->last->next : &parent->child) = scope;
	parent->last = scope;
	return NULL;
}

/* Outer boxes have smaller numbers than the boxes in them, and there are few. */
static struct dfg_err *find_box(struct tree *tree, uint32_t b, struct scope **out_scope)
{
	const struct dfg_nesting_box *box = tree->nesting.box;
	for (uint32_t at = b; !tree->box[b];) {
		while (!tree->box[box[at].parent])
			at = box[at].parent;
		DFG_TRY(add_scope(tree, tree->box[box[at].parent], box[at].label, strlen(box[at].label), &tree->box[at]));
		at = b;
	}
	*out_scope = tree->box[b];
	return NULL;
}

/* Finds the scope of a name in a box, or adds it and its parents. */
static struct dfg_err *find_scope(struct tree *tree, uint32_t b, const char *name, struct scope **out_scope)
{
	const char *key = b ? dfg_arena_print(&tree->arena, "%u:%s", b, name) : name;
	size_t length = strlen(name), before = key ? strlen(key) - length : 0;
	struct scope *parent;
	if (!key)
		return dfg_no_memory("the tree of scopes");
	DFG_TRY(find_box(tree, b, &parent));
	for (size_t end = 0, begin = 0; end <= length; end++) {
		if (end < length && name[end] != '/')
			continue;
		uint32_t number;
		bool is_new;
		if (!dfg_map_put(&tree->full, key, before + end, &number, &is_new) ||
			!dfg_reserve(&tree->scope, &tree->capacity, (size_t)number + 1, sizeof(struct scope *)))
			return dfg_no_memory("the tree of scopes");
		if (is_new)
			DFG_TRY(add_scope(tree, parent, name + begin, end - begin, &tree->scope[number]));
		parent = tree->scope[number];
		begin = end + 1;
	}
	*out_scope = parent;
	return NULL;
}

static struct dfg_err *grow(struct tree *tree)
{
	const struct dfg_graph *graph = tree->shown->graph;
	DFG_TRY(dfg_nesting_find(graph, &tree->nesting));
	tree->box = dfg_arena_zeros(&tree->arena, tree->nesting.count, sizeof(struct scope *));
	if (!tree->box || !(tree->box[0] = dfg_arena_zeros(&tree->arena, 1, sizeof **tree->box)))
		return dfg_no_memory("the tree of scopes");
	tree->box[0]->node = DFG_NONE;
	for (uint32_t n = 0; n < graph->count; n++) {
		struct scope *scope;
		DFG_TRY(find_scope(tree, tree->nesting.of[n], graph->node[n].name, &scope));
		scope->node = n;
	}
	return NULL;
}

enum { DEPTH = 64, COLUMN = 48 };

/* Prints one line: tree branches, the name, and in a separate column the op and its type. */
static void print_line(
	const struct tree *tree, const struct scope *scope, const bool *more, int depth, struct dfg_text *out)
{
	size_t begin = out->length;
	for (int d = 0; d + 1 < depth; d++)
		dfg_text_add(out, "%s", more[d] ? "│  " : "   ");
	if (depth)
		dfg_text_add(out, "%s", more[depth - 1] ? "├─ " : "└─ ");
	size_t marks = depth > 0 ? out->length - begin - 3 * (size_t)depth
							 : 0; /* bytes that have no width: a branch is 3 columns, but more bytes */
	dfg_text_escape(out, scope->name, scope->length, SIZE_MAX);
	if (scope->node != DFG_NONE) {
		const struct dfg_node *node = &tree->shown->graph->node[scope->node];
		size_t width = out->length - begin - marks;
		dfg_text_add(out, "%*s", (int)(width < COLUMN ? COLUMN - width : 1), "");
		dfg_text_escape(out, node->op_name, strlen(node->op_name), SIZE_MAX);
		dfg_text_add(out, " %s", dfg_shown_type(tree->shown, (struct dfg_edge){scope->node, 0}).s);
		while (out->length && out->s && out->s[out->length - 1] == ' ')
			out->s[--out->length] = '\0';
	}
	dfg_text_add(out, "\n");
}

/* Depth first with an explicit stack; levels deeper than DEPTH are omitted. */
static void print_tree(const struct tree *tree, struct dfg_text *out)
{
	const struct scope *path[DEPTH] = {tree->box[0]->child};
	bool more[DEPTH];
	for (int depth = 0; depth >= 0;) {
		const struct scope *scope = path[depth];
		if (!scope) {
			if (--depth >= 0)
				path[depth] = path[depth]->next;
			continue;
		}
		more[depth] = scope->next != NULL;
		print_line(tree, scope, more + 1, depth, out);
		if (scope->child && depth + 1 < DEPTH) {
			path[++depth] = scope->child;
			more[depth] = true;
		} else {
			path[depth] = scope->next;
		}
	}
}

struct dfg_err *dfg_show_tree(const struct dfg_shown *shown, struct dfg_text *out)
{
	struct tree tree = {.shown = shown};
	struct dfg_err *err = grow(&tree);
	if (!err)
		print_tree(&tree, out);
	dfg_map_release(&tree.full);
	dfg_free(tree.scope);
	dfg_nesting_release(&tree.nesting);
	dfg_arena_release(&tree.arena);
	return err;
}
