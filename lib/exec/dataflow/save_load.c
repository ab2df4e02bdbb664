#include "lib/exec/dataflow/executor_private.h"

#include <stdio.h>

/*
 * Save and Load. The values of a Save are in a store of the iteration that is its region; a Load finds the same store the
 * same way, outwards. A Load that comes first leaves itself at the key, and runs again when the value is there.
 */
struct where {
	struct dfg_store *store;
	int64_t key[KEYS_MOST];
	int keys;
};

/* Keys are the last inputs. */
static struct dfg_err *find(
	const struct machine *machine, struct slab *slab, uint32_t record, int keys, struct where *out_where)
{
	const struct record *r = &machine->plan->record[record];
	const struct keep *keep = &machine->flow->keep[record];
	struct dfg_tensor *const *key = slab->at + machine->flow->first_use[record] + (r->n_in - keys);
	out_where->keys = keys;
	for (int i = 0; i < keys; i++) {
		if (dfg_shape_count(&key[i]->shape) != 1)
			return DFG_ERR(
				DFG_DATA, "key %d must be a scalar, not %s", i, dfg_type_words(key[i]->dtype, &key[i]->shape).s);
		out_where->key[i] = dfg_tensor_int(key[i], 0);
	}
	for (uint32_t i = 0; i < keep->levels; i++)
		slab = slab->frame->parent;
	out_where->store = &slab->store[keep->number];
	return NULL;
}

static struct dfg_err *wake_all(struct machine *machine, struct dfg_entry *entry)
{
	while (entry->mark) {
		uint32_t number = entry->mark;
		struct waiter *waiter = &machine->waiter[number - 1], woken = *waiter;
		entry->mark = waiter->next;
		*waiter = (struct waiter){.next = machine->free_waiter};
		machine->free_waiter = number;
		machine->waiting--;
		DFG_TRY(dfg_wake(machine, woken.slab, woken.record));
	}
	return NULL;
}

/*
 * Written without the lock, with a reference of its own: so nobody writes to it, and nobody else writes it out. Where
 * a Load has come for it meanwhile, the place in the file is given back.
 */
static struct dfg_err *swap_out(struct machine *machine, struct dfg_store *store, size_t number)
{
	struct dfg_tensor value = store->entry[number].tensor, away = {0};
	dfg_buffer_ref(value.buffer);
	dfg_leave(machine);
	struct dfg_err *err = dfg_swap_write(machine->plan->session->swap, &value, &away);
	dfg_come_back(machine);
	struct dfg_entry *entry = &store->entry[number];
	if (!err && entry->state == DFG_ENTRY_FULL && entry->tensor.buffer == value.buffer &&
		entry->tensor.data == value.data && atomic_load(&value.buffer->refs) == 2) {
		dfg_tensor_release(&entry->tensor);
		entry->tensor = away;
		away = (struct dfg_tensor){0};
	}
	dfg_tensor_release(&away);
	dfg_tensor_release(&value);
	return err;
}

/* The oldest first. */
static struct dfg_err *make_room(struct machine *machine, struct dfg_store *store)
{
	for (size_t e = store->looked; e < store->entries && dfg_swap_wants(machine->plan->session->swap); e++) {
		const struct dfg_entry *entry = &store->entry[e];
		if (entry->state == DFG_ENTRY_FULL && dfg_swap_fits(&entry->tensor))
			DFG_TRY(swap_out(machine, store, e));
		entry = &store->entry[e];
		bool done = entry->state != DFG_ENTRY_FULL || dfg_swap_has(&entry->tensor);
		if (store->looked == e && (done || store->entries - e > SWAP_PATIENCE))
			store->looked = e + 1;
	}
	return NULL;
}

struct dfg_err *dfg_save(struct machine *machine, struct slab *slab, uint32_t record)
{
	const struct record *r = &machine->plan->record[record];
	struct where where;
	struct dfg_entry *entry;
	struct dfg_tensor value;
	DFG_TRY(find(machine, slab, record, r->n_in - 1, &where));
	if (dfg_store_find(where.store, where.key, &entry) != DFG_ENTRY_EMPTY)
		return DFG_ERR(DFG_DATA, "saves key %s a second time", dfg_key_words(where.key, where.keys).s);
	DFG_TRY(dfg_store_reach(where.store, where.key, &entry));
	DFG_TRY(dfg_pass(slab->at[machine->flow->first_use[record]], false, &value));
	dfg_store_fill(where.store, entry, &value);
	machine->stats.saves++;
	machine->live_saves++;
	if (machine->flow->keep[record].loads) {
		DFG_TRY(wake_all(machine, entry));
		return machine->plan->session->swap ? make_room(machine, where.store) : NULL;
	}
	dfg_store_drop(where.store, entry);
	machine->live_saves--;
	return NULL;
}

static struct dfg_err *wait_for(struct machine *machine, struct slab *slab, uint32_t record, struct where *where)
{
	struct dfg_entry *entry;
	DFG_TRY(dfg_store_reach(where->store, where->key, &entry));
	uint32_t number = machine->free_waiter;
	if (number) {
		machine->free_waiter = machine->waiter[number - 1].next;
	} else {
		if (!dfg_reserve(&machine->waiter, &machine->waiter_room, machine->waiters + 1, sizeof *machine->waiter))
			return dfg_no_memory("a saved value");
		number = (uint32_t)++machine->waiters;
	}
	machine->waiter[number - 1] = (struct waiter){slab, record, entry->mark};
	machine->waiting++;
	entry->mark = number;
	return NULL;
}

/* The last reader gets the store's own reference. */
static struct dfg_err *take_value(struct machine *machine, uint32_t record, struct where *where,
	struct dfg_entry *entry, struct dfg_tensor *out_tensor)
{
	const struct keep *load = &machine->flow->keep[record];
	const struct keep *save = &machine->flow->keep[machine->plan->record[record].save];
	entry->marks |= load->readers;
	if (!save->readers || entry->marks != save->readers)
		return dfg_pass(&entry->tensor, false, out_tensor);
	*out_tensor = entry->tensor;
	entry->tensor = (struct dfg_tensor){0};
	dfg_store_drop(where->store, entry);
	machine->live_saves--;
	return NULL;
}

static struct dfg_err *swap_in(struct machine *machine, struct dfg_tensor *tensor)
{
	dfg_leave(machine);
	struct dfg_err *err = dfg_swap_read(machine->plan->session->swap, tensor);
	dfg_come_back(machine);
	return err;
}

struct dfg_err *dfg_load(struct machine *machine, struct slab *slab, uint32_t record, bool *out_waits)
{
	const struct record *r = &machine->plan->record[record], *save = &machine->plan->record[r->save];
	uint32_t slot = dfg_out_slot(machine, record, 0);
	struct where where;
	struct dfg_entry *entry;
	DFG_TRY(find(machine, slab, record, r->n_in, &where));
	enum dfg_entry_state state = dfg_store_find(where.store, where.key, &entry);
	uint64_t readers = machine->flow->keep[r->save].readers;
	if (state == DFG_ENTRY_SPENT ||
		(state == DFG_ENTRY_FULL && readers && entry->marks & machine->flow->keep[record].readers))
		return DFG_ERR(DFG_DATA, "reads key %s of '%s' (%s) a second time", dfg_key_words(where.key, where.keys).s,
			save->call->node, save->call->op->name);
	if (state == DFG_ENTRY_EMPTY) {
		*out_waits = true;
		return wait_for(machine, slab, record, &where);
	}
	DFG_TRY(take_value(machine, record, &where, entry, &slab->tensor[slot]));
	slab->state[slot] = LIVE;
	return dfg_swap_has(&slab->tensor[slot]) ? swap_in(machine, &slab->tensor[slot]) : NULL;
}

/* The same one whatever the schedule: the first record, in the first iterations. */
bool dfg_is_before(const struct slab *slab, uint32_t record, const struct slab *other_slab, uint32_t other)
{
	if (record != other)
		return record < other;
	bool before = false;
	for (const struct slab *x = slab, *y = other_slab; x->frame; x = x->frame->parent, y = y->frame->parent)
		if (x->iteration != y->iteration)
			before = x->iteration < y->iteration;
	return before;
}

struct dfg_err *dfg_explain_waiting(const struct machine *machine)
{
	const struct waiter *first = NULL;
	for (size_t i = 0; i < machine->waiters; i++)
		if (machine->waiter[i].slab &&
			(!first || dfg_is_before(machine->waiter[i].slab, machine->waiter[i].record, first->slab, first->record)))
			first = &machine->waiter[i];
	const struct record *load = &machine->plan->record[first->record], *save = &machine->plan->record[load->save];
	struct where where;
	DFG_TRY(find(machine, first->slab, first->record, load->n_in, &where));
	return dfg_place_note(DFG_ERR(DFG_DATA, "waits for key %s of '%s' (%s), which did not save it",
							  dfg_key_words(where.key, where.keys).s, save->call->node, save->call->op->name),
		first->slab, load->call);
}
