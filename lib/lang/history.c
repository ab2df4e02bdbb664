#include "lib/lang/history_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/region_private.h"
#include "lib/lang/variable_private.h"

#include <string.h>

static uint32_t hash_of(const struct dfg_cell *cell)
{
	return (uint32_t)((uintptr_t)cell / sizeof *cell) * 0x9e3779b1u;
}

struct sought {
	const struct dfg_region *region;
	const struct dfg_cell *cell;
};

static bool is_sought(const void *arg, uint32_t item)
{
	const struct sought *sought = arg;
	return sought->region->view[item]->cell == sought->cell;
}

struct dfg_view *dfg_view_find(const struct dfg_region *region, const struct dfg_cell *cell)
{
	const struct sought sought = {region, cell};
	uint32_t at = dfg_index_find(&region->view_index, hash_of(cell), is_sought, &sought);
	return at == UINT32_MAX ? NULL : region->view[at];
}

static struct dfg_err *add_view(struct dfg_eval *eval, struct dfg_region *region, struct dfg_view *view)
{
	if (region->n_view == region->view_capacity) {
		uint32_t capacity = region->view_capacity ? region->view_capacity * 2 : 4;
		struct dfg_view **grown = dfg_arena_zeros(eval->arena, capacity, sizeof(struct dfg_view *));
		if (!grown)
			return dfg_no_memory("the history of variables");
		if (region->n_view)
			memcpy(grown, region->view, region->n_view * sizeof(struct dfg_view *));
		region->view = grown;
		region->view_capacity = capacity;
	}
	region->views = region->view[region->n_view] = view;
	return dfg_index_add(eval->arena, &region->view_index, hash_of(view->cell), region->n_view++);
}

struct dfg_err *dfg_view_of(
	struct dfg_eval *eval, struct dfg_region *region, struct dfg_cell *cell, struct dfg_view **out_view)
{
	*out_view = dfg_view_find(region, cell);
	if (*out_view)
		return NULL;
	struct dfg_view *view = dfg_arena_zeros(eval->arena, 1, sizeof *view);
	if (!view)
		return dfg_no_memory("the history of variables");
	*view = (struct dfg_view){.older = region->views,
		.cell = cell,
		.now = {.value = {DFG_NONE, 0}, .last_write = DFG_NONE},
		.handle = {DFG_NONE, 0},
		.merge = DFG_NONE};
	*out_view = view;
	return add_view(eval, region, view);
}

const struct dfg_history *dfg_history_at(const struct dfg_cell *cell, const struct dfg_region *region)
{
	const struct dfg_view *view = region ? dfg_view_find(region, cell) : NULL;
	return !region ? &cell->now : view ? &view->now : NULL;
}

struct dfg_err *dfg_history_of(
	struct dfg_eval *eval, struct dfg_cell *cell, struct dfg_region *region, struct dfg_history **out_history)
{
	struct dfg_view *view;
	*out_history = &cell->now;
	if (!region)
		return dfg_cell_touch(eval, cell);
	DFG_TRY(dfg_view_of(eval, region, cell, &view));
	*out_history = &view->now;
	return NULL;
}

struct dfg_err *dfg_history_read(struct dfg_eval *eval, struct dfg_history *now, uint32_t node)
{
	if (now->n_read == now->capacity) {
		uint32_t capacity = now->capacity ? now->capacity * 2 : 4,
				 *grown = dfg_arena_zeros(eval->arena, capacity, sizeof *grown);
		if (!grown)
			return dfg_no_memory("the history of variables");
		if (now->n_read)
			memcpy(grown, now->read, now->n_read * sizeof *grown);
		now->read = grown;
		now->capacity = capacity;
	}
	now->read[now->n_read++] = node;
	return NULL;
}
