/* surgery. Requires: every edge names a node. Result: edges, nodes and devices that a user named. O(entries * graph). */
#include "lib/pass/rewrite/surgery.h"

#include "lib/base/plural.h"
#include "lib/base/utf8.h"
#include "lib/pass/rewrite/renumber.h"

#include <fnmatch.h>
#include <string.h>

/* Marks the nodes that `node` depends on, itself included. */
static void mark_sources(const struct dfg_graph *graph, uint32_t node, bool *is_source, uint32_t *stack)
{
	uint32_t count = 0;
	is_source[node] = true;
	stack[count++] = node;
	while (count) {
		const struct dfg_node *it = &graph->node[stack[--count]];
		for (uint32_t e = 0; e < it->n_in + it->n_control; e++)
			if (!is_source[it->in[e].node]) {
				is_source[it->in[e].node] = true;
				stack[count++] = it->in[e].node;
			}
	}
}

static uint32_t redirect(struct dfg_graph *graph, struct dfg_edge from, struct dfg_edge to, const bool *is_source)
{
	uint32_t changed = 0;
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t e = 0; !is_source[n] && e < graph->node[n].n_in; e++)
			if (dfg_edge_same(graph->node[n].in[e], from)) {
				graph->node[n].in[e] = to;
				changed++;
			}
	return changed;
}

static struct dfg_err *replace_one(struct dfg_graph *graph, const struct dfg_rename *replace, bool *is_source,
	uint32_t *stack, struct dfg_text *report)
{
	struct dfg_edge from, to;
	DFG_TRY(dfg_graph_edge(graph, replace->old, &from));
	DFG_TRY(dfg_graph_edge(graph, replace->new, &to));
	if (from.port == DFG_CONTROL || to.port == DFG_CONTROL)
		return DFG_ERR(DFG_DATA, "'%s' is not a tensor", from.port == DFG_CONTROL ? replace->old : replace->new);
	if (dfg_edge_same(from, to))
		return DFG_ERR(DFG_DATA, "both are the same tensor, so nothing would change");
	memset(is_source, 0, graph->count);
	mark_sources(graph, to.node, is_source, stack);
	const uint32_t changed = redirect(graph, from, to, is_source);
	if (!changed)
		return DFG_ERR(DFG_DATA, "no node reads '%s', or only nodes on which its replacement '%s' depends",
			replace->old, replace->new);
	dfg_text_add(report, "replace: %u input%s '%s' instead of '%s'\n", changed, changed == 1 ? " reads" : "s read",
		replace->new, replace->old);
	return NULL;
}

struct dfg_err *dfg_replace_tensors(struct dfg_graph *graph, const struct dfg_rename *replace, size_t count,
	struct dfg_arena *scratch, struct dfg_text *report)
{
	bool *is_source = dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof *is_source);
	uint32_t *stack = dfg_arena_zeros(scratch, (size_t)graph->count + 1, sizeof *stack);
	if (!is_source || !stack)
		return dfg_no_memory("the nodes");
	for (size_t i = 0; i < count; i++)
		DFG_TRY(dfg_err_note(replace_one(graph, &replace[i], is_source, stack, report), "--replace %s=%s",
			replace[i].old, replace[i].new));
	return NULL;
}

static struct dfg_err *mark_matches(
	const struct dfg_graph *graph, const char *option, const char *pattern, bool *is_match)
{
	bool any = false;
	for (uint32_t n = 0; n < graph->count; n++)
		if (!fnmatch(pattern, graph->node[n].name, 0))
			any = is_match[n] = true;
	if (any)
		return NULL;
	const char *nearest = dfg_graph_nearest(graph, pattern);
	return DFG_ERR(DFG_DATA, "%s %s: no node has such a name%s%s%s", option, pattern, nearest ? "; did you mean '" : "",
		nearest ? nearest : "", nearest ? "'?" : "");
}

/* The edges from removed nodes to others. */
static struct dfg_err *find_dangling(const struct dfg_graph *graph, const struct dfg_keep *keep, const bool *removed)
{
	enum { MOST = 20 };
	struct dfg_err *err = NULL;
	unsigned found = 0;
	for (uint32_t n = 0; n < graph->count && found < MOST; n++) {
		const struct dfg_node *node = &graph->node[n];
		for (uint32_t e = 0; !removed[n] && e < node->n_in + node->n_control && found < MOST; e++)
			if (removed[node->in[e].node] && ++found)
				err = dfg_err_join(err, DFG_ERR(DFG_DATA,
											"node '%s' (%s) has input '%s', which --remove would take away; give it "
											"another one with --replace",
											node->name, node->op_name, dfg_graph_tensor_name(graph, node->in[e])));
	}
	for (uint32_t i = 0; i < keep->n_fetch && found < MOST; i++)
		if (removed[keep->fetch[i].node] && ++found)
			err = dfg_err_join(err, DFG_ERR(DFG_DATA, "'%s' is an output, which --remove would take away",
										graph->node[keep->fetch[i].node].name));
	return err;
}

struct dfg_err *dfg_remove_nodes(struct dfg_graph *graph, struct dfg_keep *keep, const char *const *pattern,
	size_t count, struct dfg_arena *scratch, struct dfg_text *report)
{
	const uint32_t before = graph->count;
	bool *removed = dfg_arena_zeros(scratch, (size_t)before + 1, sizeof *removed);
	uint32_t *order = dfg_arena_zeros(scratch, (size_t)before + 1, sizeof *order), kept = 0;
	uint32_t *number = dfg_arena_zeros(scratch, (size_t)before + 1, sizeof *number);
	if (!removed || !order || !number)
		return dfg_no_memory("the nodes");
	for (size_t i = 0; i < count; i++)
		DFG_TRY(mark_matches(graph, "--remove", pattern[i], removed));
	DFG_TRY(find_dangling(graph, keep, removed));
	for (uint32_t n = 0; n < before; n++)
		if (!removed[n])
			order[kept++] = n;
	DFG_TRY(dfg_renumber(graph, order, kept, number, keep, scratch));
	dfg_text_add(report, "remove: removed %u of %u node%s\n", before - kept, before, dfg_plural(before));
	return NULL;
}

/* A word that readers of graphs accept. */
enum { DEVICE_MOST = 4096 };
static bool is_device(const char *s)
{
	const size_t length = strlen(s);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return false;
	return length <= DEVICE_MOST && dfg_utf8_is(s, length);
}

struct dfg_err *dfg_set_devices(
	struct dfg_graph *graph, const struct dfg_rename *device, size_t count, struct dfg_text *report)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t changed = 0;
		if (!is_device(device[i].new))
			return DFG_ERR(
				DFG_USAGE, "--set-device %s: '%.80s' is not a valid device name", device[i].old, device[i].new);
		for (uint32_t n = 0; n < graph->count; n++)
			if (!fnmatch(device[i].old, graph->node[n].name, 0)) {
				graph->node[n].device = device[i].new;
				changed++;
			}
		if (!changed)
			return DFG_ERR(DFG_DATA, "--set-device %s: no node has such a name", device[i].old);
		dfg_text_add(report, "set-device: %u node%s for %s\n", changed, changed == 1 ? " asks" : "s ask",
			*device[i].new ? device[i].new : "no device");
	}
	return NULL;
}
