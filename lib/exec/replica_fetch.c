#include "lib/exec/group/merge.h"
#include "lib/exec/plan/plan.h"
#include "lib/exec/replica_private.h"

/* Floats of every rank are averaged or added as gradients are. */
static bool is_reduced(enum replica_merge merge, enum dfg_dtype dtype)
{
	return (merge == MERGE_MEAN || merge == MERGE_SUM) &&
		   (dfg_dtype_is(dtype, "float") || dfg_dtype_is(dtype, "complex"));
}

/* A fetch without a mark: numbers are averaged, rows are concatenated. */
static enum replica_merge merge_of(const struct replica *replica, uint32_t i, const struct dfg_tensor *value)
{
	enum replica_merge merge = replica->merge[i];
	return merge != MERGE_UNKNOWN ? merge : value->shape.rank ? MERGE_ROWS : MERGE_MEAN;
}

struct dfg_err *dfg_replica_keep(struct sharded_step *step, const struct dfg_shard_run *run)
{
	struct replica *replica = step->replica;
	for (uint32_t i = 0; i < replica->n_fetch; i++) {
		if (replica->merge[i] == OF_UPDATE)
			continue;
		struct dfg_tensor *value = &run->fetches[replica->at[i]];
		enum replica_merge merge = merge_of(replica, i, value);
		const struct dfg_tensor *const list[] = {value};
		struct dfg_tensor *kept = &step->value[(size_t)replica->at[i] * replica->shards + run->shard.number];
		if (is_reduced(merge, value->dtype))
			DFG_TRY(dfg_group_contribute(step->group,
				&(struct dfg_contribution){
					.bucket = replica->fetch_bucket + i, .is_sum = merge == MERGE_SUM, .tensor = list, .n = 1}));
		*kept = *value;
		*value = (struct dfg_tensor){0};
	}
	return NULL;
}

static struct dfg_err *merge_fetch(struct sharded_step *step, uint32_t i, struct dfg_tensor *out_tensor)
{
	struct replica *replica = step->replica;
	struct dfg_tensor *value = &step->value[(size_t)replica->at[i] * replica->shards];
	uint32_t first = 0;
	while (!value[first].dtype && first + 1 < replica->shards)
		first++;
	enum replica_merge merge = merge_of(replica, i, &value[first]);
	if (merge == MERGE_SAME)
		return dfg_tensor_share(&value[first], out_tensor);
	if (is_reduced(merge, value[first].dtype))
		return dfg_group_result(step->group, replica->fetch_bucket + i, 0, out_tensor);
	if (merge == MERGE_ROWS)
		return dfg_tensor_concatenate(value, replica->shards, out_tensor);
	if (merge == MERGE_SUM)
		return dfg_merge_integers(value, replica->shards, out_tensor);
	return DFG_ERR(DFG_DATA, "%s values cannot be averaged over shards", dfg_dtype_name(value[first].dtype));
}

struct dfg_err *dfg_replica_merge(struct sharded_step *step, struct dfg_tensor *out_fetches)
{
	struct replica *replica = step->replica;
	for (uint32_t i = 0; i < replica->n_fetch; i++) {
		struct dfg_err *err = NULL;
		if (replica->merge[i] == OF_UPDATE) {
			out_fetches[i] = step->updated[replica->at[i]];
			step->updated[replica->at[i]] = (struct dfg_tensor){0};
		} else {
			err = merge_fetch(step, i, &out_fetches[i]);
		}
		if (!err)
			continue;
		err = dfg_err_note(err, "fetch '%.200s'", replica->session->graph->node[replica->fetch[i].node].name);
		while (i--)
			dfg_tensor_release(&out_fetches[i]);
		return err;
	}
	return NULL;
}
