#include "cmd/show.h"

#include <string.h>

/* A scope or a node; a name can be both. Children are in the order of the file. */
struct scope {
	const char *name; /* the last part of it, length bytes */
	size_t length;
	uint32_t node; /* DFG_NONE: only a scope */
	struct scope *child, *last, *next;
};

struct tree {
	const struct dfg_shown *shown;
	struct dfg_arena arena;
	struct dfg_map full; /* whole names, and the scope of each by number */
	struct scope **scope;
	size_t room;
	size_t widest;
};

/* The scope of the first `length` bytes of the name, made where it is not there, hung below its parent. */
static struct dfg_err *find_scope(struct tree *tree, const char *name, size_t length, struct scope **out_scope)
{
	struct scope *parent = tree->scope[0];
	for (size_t end = 0, begin = 0; end <= length; end++) {
		if (end < length && name[end] != '/')
			continue;
		uint32_t number;
		bool is_new;
		if (!dfg_map_put(&tree->full, name, end, &number, &is_new) ||
			!dfg_reserve(&tree->scope, &tree->room, (size_t)number + 2, sizeof(struct scope *)))
			return DFG_ERR(DFG_MEMORY, "out of memory");
		if (is_new) {
			struct scope *scope = dfg_arena_zeros(&tree->arena, 1, sizeof *scope);
			if (!scope)
				return DFG_ERR(DFG_MEMORY, "out of memory");
			*scope = (struct scope){.name = name + begin, .length = end - begin, .node = DFG_NONE};
			*(parent->last ? &parent->last->next : &parent->child) = scope;
			parent->last = scope;
			tree->scope[number + 1] = scope;
		}
		parent = tree->scope[number + 1];
		begin = end + 1;
	}
	*out_scope = parent;
	return NULL;
}

static struct dfg_err *grow(struct tree *tree)
{
	const struct dfg_graph *graph = tree->shown->graph;
	if (!dfg_reserve(&tree->scope, &tree->room, 1, sizeof(struct scope *)) ||
		!(tree->scope[0] = dfg_arena_zeros(&tree->arena, 1, sizeof **tree->scope)))
		return DFG_ERR(DFG_MEMORY, "out of memory");
	tree->scope[0]->node = DFG_NONE;
	for (uint32_t n = 0; n < graph->count; n++) {
		struct scope *scope;
		DFG_TRY(find_scope(tree, graph->node[n].name, strlen(graph->node[n].name), &scope));
		scope->node = n;
	}
	return NULL;
}

enum { DEPTH = 64, COLUMN = 48 };

/* One line: the branches that lead here, the name, and in a column of its own the op and its type. */
static void print_line(
	const struct tree *tree, const struct scope *scope, const bool *more, int depth, struct dfg_text *out)
{
	size_t begin = out->length;
	for (int d = 0; d + 1 < depth; d++)
		dfg_text_add(out, "%s", more[d] ? "│  " : "   ");
	if (depth)
		dfg_text_add(out, "%s", more[depth - 1] ? "├─ " : "└─ ");
	size_t marks = depth > 0 ? out->length - begin - 3 * (size_t)depth : 0; /* bytes of signs that take no room */
	dfg_text_add(out, "%.*s", (int)scope->length, scope->name);
	if (scope->node != DFG_NONE) {
		const struct dfg_node *node = &tree->shown->graph->node[scope->node];
		size_t width = out->length - begin - marks;
		dfg_text_add(out, "%*s%s %s", (int)(width < COLUMN ? COLUMN - width : 1), "", node->op_name,
			dfg_shown_type(tree->shown, (struct dfg_edge){scope->node, 0}).s);
		while (out->length && out->s && out->s[out->length - 1] == ' ')
			out->s[--out->length] = '\0';
	}
	dfg_text_add(out, "\n");
}

/* Depth first, with the path on a stack of our own; what lies deeper than DEPTH is counted as one line. */
static void print_tree(const struct tree *tree, struct dfg_text *out)
{
	const struct scope *path[DEPTH] = {tree->scope[0]->child};
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
	dfg_arena_release(&tree.arena);
	return err;
}
