#include "lib/exec/plan/save_load.h"

struct dfg_err *dfg_saved_twice(const int64_t *key, int keys)
{
	return DFG_ERR(DFG_DATA, "saves key %s a second time", dfg_key_words(key, keys).s);
}

struct dfg_err *dfg_never_saved(const struct dfg_plan *plan, const struct plan_node *load, const int64_t *key, int keys)
{
	const struct dfg_resolved_node *save = plan->node[load->save].call;
	return DFG_ERR(DFG_DATA, "waits for key %s of '%s' (%s), which did not save it", dfg_key_words(key, keys).s,
		save->node, save->op->name);
}

struct dfg_err *dfg_count_reader(const struct dfg_plan *plan, const struct plan_node *load, const int64_t *key,
	int keys, uint64_t *readers, bool *out_last)
{
	const struct dfg_resolved_node *save = plan->node[load->save].call;
	uint64_t all = plan->frame_info->save_site[load->save].readers;
	uint64_t self = plan->frame_info->save_site[load - plan->node].readers;
	if (all && *readers & self)
		return DFG_ERR(DFG_DATA, "reads key %s of '%s' (%s) a second time", dfg_key_words(key, keys).s, save->node,
			save->op->name);
	*readers |= self;
	*out_last = all && *readers == all;
	return NULL;
}
