#include "app/feeds.h"

#include "lib/base/mem.h"

struct dfg_err *dfg_feeds_add(struct dfg_feeds *feeds, struct dfg_edge edge, struct dfg_tensor *value)
{
	for (uint32_t i = 0; i < feeds->count; i++)
		if (dfg_edge_same(feeds->edge[i], edge)) { /* a later feed replaces an earlier one */
			dfg_tensor_release(&feeds->value[i]);
			feeds->value[i] = *value;
			return NULL;
		}
	size_t edges = feeds->capacity, values = feeds->capacity;
	if (!dfg_reserve(&feeds->edge, &edges, feeds->count + 1, sizeof *feeds->edge) ||
		!dfg_reserve(&feeds->value, &values, feeds->count + 1, sizeof *feeds->value)) {
		dfg_tensor_release(value);
		return dfg_no_memory("the feeds");
	}
	feeds->capacity = (uint32_t)edges;
	feeds->edge[feeds->count] = edge;
	feeds->value[feeds->count++] = *value;
	return NULL;
}

static bool is_among(struct dfg_edge edge, const struct dfg_edge *edges, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (dfg_edge_same(edges[i], edge))
			return true;
	return false;
}

bool dfg_feeds_has(const struct dfg_feeds *feeds, struct dfg_edge edge)
{
	return is_among(edge, feeds->edge, feeds->count);
}

struct dfg_err *dfg_feeds_share(
	const struct dfg_feeds *feeds, const struct dfg_edge *but, uint32_t n, struct dfg_feeds *out_feeds)
{
	for (uint32_t i = 0; i < feeds->count; i++) {
		struct dfg_tensor value;
		if (is_among(feeds->edge[i], but, n))
			continue;
		DFG_TRY(dfg_tensor_share(&feeds->value[i], &value));
		DFG_TRY(dfg_feeds_add(out_feeds, feeds->edge[i], &value));
	}
	return NULL;
}

void dfg_feeds_release(struct dfg_feeds *feeds)
{
	for (uint32_t i = 0; i < feeds->count; i++)
		dfg_tensor_release(&feeds->value[i]);
	dfg_free(feeds->edge);
	dfg_free(feeds->value);
	*feeds = (struct dfg_feeds){0};
}
