#include "app/feed.h"
#include "app/run_private.h"

#include <string.h>

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
		return dfg_no_memory("the name of a feed");
	DFG_TRY(dfg_model_tensor(&run->model, name, &edge));
	DFG_TRY(dfg_err_note(dfg_feed_value(equals + 1, dfg_model_fact(&run->model, edge), &value), "feed '%s'", name));
	return dfg_err_note(feed_named(run, name, &value), "--feed");
}

/* Feeds --seed to the `seed` tensor of a program, unless the user feeds that. */
static struct dfg_err *feed_seed(struct dfg_run *run)
{
	uint32_t node = dfg_graph_find(&run->model.file.graph, "dfg/seed");
	struct dfg_edge edge = {node, 0};
	struct dfg_tensor value;
	if (run->execution->seed < 0 || node == DFG_NONE || !dfg_facts_outputs(&run->model.facts, node))
		return NULL;
	const struct dfg_inferred *fact = dfg_model_fact(&run->model, edge);
	if (fact->dtype != DFG_I64 || fact->shape.rank != 0)
		return NULL;
	DFG_TRY(dfg_tensor_new(DFG_I64, &DFG_SHAPE_SCALAR, &value));
	*(int64_t *)value.data = run->execution->seed;
	return dfg_feeds_add(&run->feeds, edge, &value);
}

/* Feeds the number of the replica, which each asynchronous step replaces by its own. */
static struct dfg_err *feed_lane(struct dfg_run *run)
{
	uint32_t node = dfg_graph_find(&run->model.file.graph, DFG_LANE_NAME);
	struct dfg_edge edge = {node, 0};
	struct dfg_tensor value;
	bool async = run->replication && run->replication->async && run->replication->n_replicas > 1;
	if (!async || node == DFG_NONE || !dfg_facts_outputs(&run->model.facts, node))
		return NULL;
	for (uint32_t i = 0; i < run->feeds.count; i++)
		if (dfg_edge_same(run->feeds.edge[i], edge))
			return DFG_ERR(DFG_USAGE,
				"--feed %s cannot be used with --sync %s, which feeds this input the number of each replica",
				DFG_LANE_NAME, run->replication->sync);
	DFG_TRY(dfg_tensor_new(DFG_I32, &DFG_SHAPE_SCALAR, &value));
	*(int32_t *)value.data = 0;
	return dfg_err_note(feed_named(run, DFG_LANE_NAME, &value), "--sync %s", run->replication->sync);
}

struct dfg_err *dfg_run_bind_feeds(struct dfg_run *run)
{
	DFG_TRY(feed_seed(run));
	for (size_t i = 0; i < run->options->feed.count; i++)
		DFG_TRY(feed_word(run, run->options->feed.word[i]));
	return feed_lane(run);
}
