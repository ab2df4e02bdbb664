#include "cmd/engine.h"
#include "cmd/feed.h"
#include "cmd/run.h"

#include <string.h>

struct dfg_err *dfg_feeds_add(struct dfg_feeds *feeds, struct dfg_edge edge, struct dfg_tensor *value)
{
	for (uint32_t i = 0; i < feeds->count; i++)
		if (dfg_edge_same(feeds->edge[i], edge)) { /* a later feed replaces an earlier one */
			dfg_tensor_release(&feeds->value[i]);
			feeds->value[i] = *value;
			return NULL;
		}
	size_t edges = feeds->room, values = feeds->room;
	if (!dfg_reserve(&feeds->edge, &edges, feeds->count + 1, sizeof *feeds->edge) ||
		!dfg_reserve(&feeds->value, &values, feeds->count + 1, sizeof *feeds->value)) {
		dfg_tensor_release(value);
		return DFG_ERR(DFG_MEMORY, "out of memory");
	}
	feeds->room = (uint32_t)edges;
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

/* Checked here, where the name of the file or value is known; the session would only name the tensor. */
static struct dfg_err *check_type(const char *name, const struct dfg_inferred *fact, const struct dfg_tensor *value)
{
	if (fact->is_ref || fact->dtype == DFG_RESOURCE)
		return DFG_ERR(DFG_DATA, "'%s' is a variable: set it with --load, or feed the node that reads it", name);
	if (value->dtype == fact->dtype && dfg_shape_fits(&value->shape, &fact->shape))
		return NULL;
	return DFG_ERR(DFG_DATA, "'%s' is %s, must be %s", name, dfg_type_words(value->dtype, &value->shape).s,
		dfg_type_words(fact->dtype, &fact->shape).s);
}

static struct dfg_err *feed_named(struct dfg_run *run, const char *name, struct dfg_tensor *value)
{
	struct dfg_edge edge;
	struct dfg_err *err = dfg_model_tensor(&run->model, name, &edge);
	if (!err)
		err = check_type(name, dfg_model_fact(&run->model, edge), value);
	if (!err)
		return dfg_feeds_add(&run->feeds, edge, value);
	dfg_tensor_release(value);
	return err;
}

static struct dfg_err *feed_file(struct dfg_run *run, const char *path)
{
	struct dfg_arrays arrays;
	DFG_TRY(dfg_arrays_read(path, &arrays));
	struct dfg_err *err = NULL;
	for (size_t i = 0; !err && i < arrays.count; i++) {
		struct dfg_tensor value;
		if (!*arrays.array[i].name)
			err = DFG_ERR(DFG_USAGE, "%s holds one unnamed array: give --feed NAME=@%s", path, path);
		if (!err)
			err = dfg_tensor_share(&arrays.array[i].tensor, &value);
		if (!err)
			err = dfg_err_note(feed_named(run, arrays.array[i].name, &value), "%s", path);
	}
	dfg_arrays_release(&arrays);
	return err;
}

static struct dfg_err *feed_word(struct dfg_run *run, const char *word)
{
	struct dfg_edge edge;
	struct dfg_tensor value;
	const char *equals = strchr(word, '=');
	if (!equals)
		return feed_file(run, word);
	const char *name = dfg_arena_copy(&run->model.arena, word, (size_t)(equals - word));
	if (!name)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	DFG_TRY(dfg_model_tensor(&run->model, name, &edge));
	DFG_TRY(dfg_err_note(dfg_feed_value(equals + 1, dfg_model_fact(&run->model, edge), &value), "feed '%s'", name));
	return dfg_err_note(feed_named(run, name, &value), "feed");
}

/* Feeds --seed to the `seed` tensor of a program, unless the user feeds that. */
static struct dfg_err *feed_seed(struct dfg_run *run)
{
	uint32_t node = dfg_graph_find(&run->model.file.graph, "dfg/seed");
	struct dfg_edge edge = {node, 0};
	struct dfg_tensor value;
	if (dfg_engine.seed < 0 || node == DFG_NONE || !dfg_facts_outputs(&run->model.facts, node))
		return NULL;
	const struct dfg_inferred *fact = dfg_model_fact(&run->model, edge);
	if (fact->dtype != DFG_I64 || fact->shape.rank != 0)
		return NULL;
	DFG_TRY(dfg_tensor_new(DFG_I64, &DFG_SHAPE_SCALAR, &value));
	*(int64_t *)value.data = dfg_engine.seed;
	return dfg_feeds_add(&run->feeds, edge, &value);
}

struct dfg_err *dfg_run_bind_feeds(struct dfg_run *run)
{
	DFG_TRY(feed_seed(run));
	for (size_t i = 0; i < dfg_run_options.feed.count; i++)
		DFG_TRY(feed_word(run, dfg_run_options.feed.word[i]));
	return NULL;
}
