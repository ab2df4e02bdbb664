#include "lib/graph/shared_name.h"

static struct dfg_string text_of(const struct dfg_node *node, const char *name)
{
	const struct dfg_attr *attr = dfg_node_attr(node, name);
	return attr && attr->kind == DFG_ATTR_STRING ? attr->value.s : (struct dfg_string){"", 0};
}

const char *dfg_node_shared_name(const struct dfg_node *node, struct dfg_arena *arena)
{
	const struct dfg_string container = text_of(node, "container"), name = text_of(node, "shared_name");
	if (!container.length && !name.length)
		return node->name;
	return dfg_arena_print(
		arena, "%.*s%s%.*s", (int)container.length, container.s, container.length ? "/" : "", (int)name.length, name.s);
}
