#include "lib/exec/dataflow/executor_private.h"
#include "lib/exec/plan/save_load.h"

#include <stdio.h>

/*
 * Save and Load. The values of a Save are in a store in the state of the iteration that is its region, where its Loads
 * find them. A Load that runs before its Save registers as a waiter at the key, and runs again once the value is saved.
 */
struct where {
	struct dfg_keyed_store *store;
	int64_t key[KEYS_MOST];
	int keys;
};

/* Finds the store and the key of a Save or a Load. The keys are the last inputs. */
static struct dfg_err *find_key(
	const struct executor *executor, struct iteration_state *iter, uint32_t node, int keys, struct where *out_where)
{
	const struct plan_node *r = &executor->plan->node[node];
	const struct save_site *site = &executor->frame_info->save_site[node];
	struct dfg_tensor *const *key = iter->at + executor->frame_info->first_use[node] + (r->n_in - keys);
	out_where->keys = keys;
	DFG_TRY(dfg_read_keys(key, keys, out_where->key));
	for (uint32_t i = 0; i < site->levels; i++)
		iter = iter->frame->parent;
	out_where->store = &iter->store[site->number];
	return NULL;
}

static struct dfg_err *wake_all(struct executor *executor, struct dfg_keyed_entry *entry)
{
	while (entry->mark) {
		uint32_t number = entry->mark;
		struct waiter *waiter = &executor->waiter[number - 1], woken = *waiter;
		entry->mark = waiter->next;
		*waiter = (struct waiter){.next = executor->free_waiter};
		executor->free_waiter = number;
		executor->waiting--;
		DFG_TRY(dfg_wake(executor, woken.iter, woken.node));
	}
	return NULL;
}

/*
 * Writes the value to the spill file, without the lock and with a reference of its own, so that no node writes to the
 * buffer and no other thread spills it. If a Load has taken the value meanwhile, the location in the file is freed.
 */
static struct dfg_err *spill_value(struct executor *executor, struct dfg_keyed_store *store, size_t number)
{
	struct dfg_tensor value = store->entry[number].tensor, spilled = {0};
	dfg_buffer_ref(value.buffer);
	dfg_unlock_for_work(executor);
	struct dfg_err *err = dfg_spill_write(executor->plan->session->spill, &value, &spilled);
	dfg_relock(executor);
	struct dfg_keyed_entry *entry = &store->entry[number];
	if (!err && entry->state == DFG_ENTRY_FULL && entry->tensor.buffer == value.buffer &&
		entry->tensor.data == value.data && atomic_load(&value.buffer->refs) == 2) {
		dfg_tensor_release(&entry->tensor);
		entry->tensor = spilled;
		spilled = (struct dfg_tensor){0};
	}
	dfg_tensor_release(&spilled);
	dfg_tensor_release(&value);
	return err;
}

/* Spills saved values, oldest first, while memory is short. */
static struct dfg_err *spill_values(struct executor *executor, struct dfg_keyed_store *store)
{
	for (size_t e = store->looked; e < store->entries && dfg_spill_wants(executor->plan->session->spill); e++) {
		const struct dfg_keyed_entry *entry = &store->entry[e];
		if (entry->state == DFG_ENTRY_FULL && dfg_spill_fits(&entry->tensor))
			DFG_TRY(spill_value(executor, store, e));
		entry = &store->entry[e];
		dfg_spill_looked(e, store->entries, &entry->tensor, &store->looked);
	}
	return NULL;
}

struct dfg_err *dfg_executor_save(struct executor *executor, struct iteration_state *iter, uint32_t node)
{
	const struct plan_node *r = &executor->plan->node[node];
	struct where where;
	struct dfg_keyed_entry *entry;
	struct dfg_tensor value;
	DFG_TRY(find_key(executor, iter, node, r->n_in - 1, &where));
	if (dfg_keyed_store_find(where.store, where.key, &entry) != DFG_ENTRY_EMPTY)
		return dfg_saved_twice(where.key, where.keys);
	DFG_TRY(dfg_keyed_store_reach(where.store, where.key, &entry));
	DFG_TRY(dfg_forward_value(iter->at[executor->frame_info->first_use[node]], false, &value));
	dfg_keyed_store_fill(where.store, entry, &value);
	executor->stats.saves++;
	executor->live_saves++;
	if (executor->frame_info->save_site[node].loads) {
		DFG_TRY(wake_all(executor, entry));
		return executor->plan->session->spill ? spill_values(executor, where.store) : NULL;
	}
	dfg_keyed_store_drop(where.store, entry);
	executor->live_saves--;
	return NULL;
}

static struct dfg_err *wait_for(
	struct executor *executor, struct iteration_state *iter, uint32_t node, struct where *where)
{
	struct dfg_keyed_entry *entry;
	DFG_TRY(dfg_keyed_store_reach(where->store, where->key, &entry));
	uint32_t number = executor->free_waiter;
	if (number) {
		executor->free_waiter = executor->waiter[number - 1].next;
	} else {
		if (!dfg_reserve(
				&executor->waiter, &executor->waiter_capacity, executor->waiters + 1, sizeof *executor->waiter))
			return dfg_no_memory("a saved value");
		number = (uint32_t)++executor->waiters;
	}
	executor->waiter[number - 1] = (struct waiter){iter, node, entry->mark};
	executor->waiting++;
	entry->mark = number;
	return NULL;
}

/* The last reader takes the store's own reference. A key whose value was dropped has no entry: all have read it. */
static struct dfg_err *take_value(struct executor *executor, uint32_t node, struct where *where,
	struct dfg_keyed_entry *entry, struct dfg_tensor *out_tensor)
{
	uint64_t all = UINT64_MAX;
	bool last;
	DFG_TRY(dfg_count_reader(
		executor->plan, &executor->plan->node[node], where->key, where->keys, entry ? &entry->marks : &all, &last));
	if (!last)
		return dfg_forward_value(&entry->tensor, false, out_tensor);
	*out_tensor = entry->tensor;
	entry->tensor = (struct dfg_tensor){0};
	dfg_keyed_store_drop(where->store, entry);
	executor->live_saves--;
	return NULL;
}

static struct dfg_err *unspill_value(struct executor *executor, struct dfg_tensor *tensor)
{
	dfg_unlock_for_work(executor);
	struct dfg_err *err = dfg_spill_read(executor->plan->session->spill, tensor);
	dfg_relock(executor);
	return err;
}

struct dfg_err *dfg_executor_load(
	struct executor *executor, struct iteration_state *iter, uint32_t node, bool *out_waits)
{
	uint32_t slot = dfg_out_slot(executor, node, 0);
	struct where where;
	struct dfg_keyed_entry *entry;
	DFG_TRY(find_key(executor, iter, node, executor->plan->node[node].n_in, &where));
	if (dfg_keyed_store_find(where.store, where.key, &entry) == DFG_ENTRY_EMPTY) {
		*out_waits = true;
		return wait_for(executor, iter, node, &where);
	}
	DFG_TRY(take_value(executor, node, &where, entry, &iter->tensor[slot]));
	iter->state[slot] = LIVE;
	return dfg_spill_has(&iter->tensor[slot]) ? unspill_value(executor, &iter->tensor[slot]) : NULL;
}

/* Independent of the schedule: orders by node, then by iteration. */
bool dfg_is_before(
	const struct iteration_state *iter, uint32_t node, const struct iteration_state *other_iter, uint32_t other)
{
	if (node != other)
		return node < other;
	bool before = false;
	for (const struct iteration_state *x = iter, *y = other_iter; x->frame; x = x->frame->parent, y = y->frame->parent)
		if (x->iteration != y->iteration)
			before = x->iteration < y->iteration;
	return before;
}

struct dfg_err *dfg_explain_waiting(const struct executor *executor)
{
	const struct waiter *first = NULL;
	for (size_t i = 0; i < executor->waiters; i++)
		if (executor->waiter[i].iter &&
			(!first || dfg_is_before(executor->waiter[i].iter, executor->waiter[i].node, first->iter, first->node)))
			first = &executor->waiter[i];
	const struct plan_node *load = &executor->plan->node[first->node];
	struct where where;
	DFG_TRY(find_key(executor, first->iter, first->node, load->n_in, &where));
	return dfg_location_note(dfg_never_saved(executor->plan, load, where.key, where.keys), first->iter, load->call);
}
