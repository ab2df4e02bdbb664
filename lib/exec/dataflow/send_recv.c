#include "lib/exec/dataflow/executor_private.h"
#include "lib/exec/transport/rendezvous.h"

#include <sched.h>
#include <stdio.h>

/*
 * Send and Recv. A Recv whose value is not there leaves a parcel for it, empty, and its thread goes on; so does a Send that
 * is held back, whose parcel comes when it has left. Whoever brings the value, in the midst of reading a link, puts the
 * parcel on a list and wakes the machine: it takes no lock, so it does not matter which locks it, or the machine, holds.
 */

bool dfg_crosses(const struct machine *machine, const struct slab *slab, uint32_t record)
{
	const uint32_t *use = slab->loop->use + machine->flow->first_use[record];
	uint32_t dead_data = machine->plan->record[record].n_in && slab->state[use[0]] == DEAD;
	return slab->count[machine->flow->local[record]].dead == dead_data;
}

static void fill_key(
	const struct machine *machine, const struct slab *slab, uint32_t record, struct dfg_transfer_key *key)
{
	uint32_t depth = 0;
	for (const struct slab *s = slab; s->frame; s = s->frame->parent)
		depth++;
	key->number = machine->flow->port[record].number;
	key->depth = depth;
	for (; slab->frame; slab = slab->frame->parent)
		key->iteration[--depth] = slab->iteration;
}

static void give_back(struct machine *machine, struct parcel *parcel)
{
	parcel->slab = NULL;
	parcel->next = machine->free_parcel;
	machine->free_parcel = parcel;
}

/* dfg_wait's come. As soon as the parcel is on the list it is the machine's; as soon as nobody is bringing, all is. */
static void bring(struct dfg_wait *wait, struct dfg_tensor *tensor, bool dead, struct dfg_err *err)
{
	struct parcel *parcel = (struct parcel *)wait;
	struct machine *machine = parcel->machine;
	atomic_fetch_add(&machine->bringing, 1);
	parcel->tensor = *tensor;
	parcel->dead = dead;
	parcel->err = err;
	parcel->next = atomic_load(&machine->arrived);
	while (!atomic_compare_exchange_weak(&machine->arrived, &parcel->next, parcel))
		;
	dfg_event_signal(&machine->event);
	dfg_call_helper(machine);
	atomic_fetch_sub(&machine->bringing, 1);
}

static struct dfg_err *take_parcel(struct machine *machine, struct parcel **out_parcel)
{
	struct parcel *parcel = *out_parcel = machine->free_parcel;
	if (parcel) {
		machine->free_parcel = parcel->next;
		return NULL;
	}
	if (!(parcel = dfg_zeros(1, sizeof *parcel)))
		return dfg_no_memory("a transfer");
	parcel->wait.come = bring;
	parcel->machine = machine;
	parcel->made = machine->parcels;
	*out_parcel = machine->parcels = parcel;
	return NULL;
}

/* For the record, whose transfer it is. */
static struct dfg_err *new_parcel(
	struct machine *machine, const struct ready *item, uint64_t began, struct parcel **out_parcel)
{
	DFG_TRY(take_parcel(machine, out_parcel));
	struct parcel *parcel = *out_parcel;
	fill_key(machine, item->slab, item->record, &parcel->wait.key);
	parcel->wait.from = machine->flow->port[item->record].peer;
	parcel->slab = item->slab;
	parcel->record = item->record;
	parcel->began = began;
	return NULL;
}

/*
 * A copy to a peer's memory takes its time where it is large: others work meanwhile. It counts as expected before it may
 * be held back, as it may be let go by another thread before this one knows.
 */
static struct dfg_err *send(
	struct machine *machine, struct parcel *parcel, const struct dfg_tensor *tensor, bool *out_held)
{
	enum { LARGE = 1 << 16 };
	struct dfg_rendezvous *rendezvous = machine->plan->session->options.rendezvous;
	bool apart = machine->shared && tensor && dfg_tensor_bytes(tensor) >= LARGE;
	machine->expected++;
	if (apart)
		dfg_leave(machine);
	struct dfg_err *err = dfg_rendezvous_offer(rendezvous, &parcel->wait, tensor, out_held);
	if (apart)
		dfg_come_back(machine);
	if (!*out_held) {
		machine->expected--;
		give_back(machine, parcel);
	}
	return err;
}

struct dfg_err *dfg_send(struct machine *machine, const struct ready *item, uint64_t began, bool *out_held)
{
	const struct slab *slab = item->slab;
	const struct dfg_tensor *in = slab->at[machine->flow->first_use[item->record]];
	struct parcel *parcel;
	struct dfg_tensor value;
	if (!dfg_crosses(machine, slab, item->record))
		return NULL;
	DFG_TRY(new_parcel(machine, item, began, &parcel));
	if (item->dead) {
		dfg_keep_fate(machine, &machine->flow->port[item->record].fate,
			(struct fate){.death = *dfg_death_of(machine, item), .iteration = slab->iteration});
		return send(machine, parcel, NULL, out_held);
	}
	struct dfg_err *err = dfg_is_ref(in) ? dfg_variable_read(in->data, &value) : dfg_tensor_share(in, &value);
	if (err) {
		give_back(machine, parcel);
		return err;
	}
	err = send(machine, parcel, &value, out_held);
	dfg_tensor_release(&value);
	return err;
}

/* What comes over a wire is checked like a file. */
static struct dfg_err *check_value(const struct port *port, const struct dfg_tensor *value)
{
	if (value->dtype == port->dtype && dfg_shape_fits(&value->shape, port->shape))
		return NULL;
	return DFG_ERR(DFG_PROTOCOL, "worker w%u sent %s, must be %s", port->peer,
		dfg_type_words(value->dtype, &value->shape).s, dfg_type_words(port->dtype, port->shape).s);
}

/* Takes the value. */
static struct dfg_err *finish(struct machine *machine, struct parcel *parcel)
{
	struct slab *slab = parcel->slab;
	uint32_t record = parcel->record;
	const struct port *port = &machine->flow->port[record];
	struct death death = {record + 1, (int)port->peer, slab->iteration};
	bool sends = machine->plan->record[record].role == DFG_SEND;
	struct ready item = {slab, record, sends ? parcel->wait.dead : parcel->dead};
	if (sends)
		return dfg_finish(machine, &item, item.dead ? dfg_death_of(machine, &item) : NULL, parcel->began);
	if (parcel->dead)
		return dfg_finish(machine, &item, &death, parcel->began);
	struct dfg_err *err = check_value(port, &parcel->tensor);
	if (err) {
		dfg_tensor_release(&parcel->tensor);
		return dfg_place_note(err, slab, machine->plan->record[record].call);
	}
	uint32_t slot = dfg_out_slot(machine, record, 0);
	slab->tensor[slot] = parcel->tensor;
	slab->state[slot] = LIVE;
	return dfg_finish(machine, &item, NULL, parcel->began);
}

struct dfg_err *dfg_receive(struct machine *machine, struct slab *slab, uint32_t record, uint64_t began)
{
	struct parcel *parcel;
	struct dfg_tensor value = {0};
	bool dead = false, there = false;
	DFG_TRY(new_parcel(machine, &(struct ready){slab, record, false}, began, &parcel));
	struct dfg_err *err =
		dfg_rendezvous_receive(machine->plan->session->options.rendezvous, &parcel->wait, &value, &dead, &there);
	if (!err && !there) { /* it may have come meanwhile: the parcel is not ours */
		machine->expected++;
		return NULL;
	}
	struct parcel mine = *parcel;
	give_back(machine, parcel);
	if (err)
		return dfg_place_note(err, slab, machine->plan->record[record].call);
	mine.tensor = value;
	mine.dead = dead;
	return finish(machine, &mine);
}

/* What arrived, the oldest first. */
static struct parcel *take_arrived(struct machine *machine)
{
	struct parcel *newest = atomic_exchange(&machine->arrived, NULL), *oldest = NULL;
	while (newest) {
		struct parcel *next = newest->next;
		newest->next = oldest;
		oldest = newest;
		newest = next;
		machine->expected--;
	}
	return oldest;
}

/* Of a step that has failed: values are let go, errors kept, for the first of them to be told. */
static void refuse(struct machine *machine, struct parcel *parcels)
{
	for (struct parcel *next; parcels; parcels = next) {
		next = parcels->next;
		dfg_tensor_release(&parcels->tensor);
		if (!parcels->err) {
			give_back(machine, parcels);
			continue;
		}
		parcels->next = machine->refused;
		machine->refused = parcels;
	}
}

struct dfg_err *dfg_open_parcels(struct machine *machine)
{
	struct parcel *parcel = take_arrived(machine);
	struct dfg_rendezvous *rendezvous = machine->plan->session->options.rendezvous;
	struct dfg_err *err = NULL;
	uint64_t now = parcel ? dfg_now() : 0;
	while (parcel && !parcel->err && !err) {
		struct parcel mine = *parcel;
		give_back(machine, parcel);
		parcel = mine.next;
		if (machine->plan->record[mine.record].role == DFG_RECV)
			dfg_rendezvous_waited(rendezvous, mine.wait.from, mine.wait.key.number, now - mine.began);
		err = finish(machine, &mine);
	}
	machine->stop |= err || parcel;
	refuse(machine, parcel);
	return err;
}

void dfg_glance(struct machine *machine)
{
	enum { TURNS = 64 };
	if (++machine->turns < TURNS)
		return;
	machine->turns = 0;
	dfg_unlock(machine);
	dfg_rendezvous_poll(machine->plan->session->options.rendezvous);
	dfg_lock(machine);
}

/*
 * The peer answers in microseconds, or not soon. After the first few others may need the processor more. Whoever sleeps
 * is woken by the link's own thread, which looks only now and then while somebody polls: an answer that comes a little
 * after the poller gave up costs many times what looking on would have.
 */
void dfg_poll(struct machine *machine, uint32_t seen, uint64_t until)
{
	enum { KEEN_NS = 2000, MOST_NS = 250000, AT_ONCE = 16 };
	struct dfg_rendezvous *rendezvous = machine->plan->session->options.rendezvous;
	uint64_t began = dfg_now(), now = began;
	do {
		for (int i = 0; i < AT_ONCE; i++) {
			if (atomic_load(&machine->arrived) || atomic_load(&machine->event.word) != seen)
				return;
			if (!dfg_rendezvous_poll(rendezvous))
				dfg_pause_briefly();
		}
		now = dfg_now();
		if (now - began > KEEN_NS)
			sched_yield();
	} while (now - began < MOST_NS && (!until || now < until));
	dfg_rendezvous_rest(rendezvous);
	if (!atomic_load(&machine->arrived))
		dfg_event_sleep(&machine->event, seen, until);
}

/* The same one whatever the schedule: the first record, in the first iterations. Of all, or of those that were refused. */
static struct parcel *first_of(const struct machine *machine, bool refused)
{
	struct parcel *first = NULL, *next;
	for (struct parcel *parcel = refused ? machine->refused : machine->parcels; parcel; parcel = next) {
		next = refused ? parcel->next : parcel->made;
		if (parcel->slab && (!first || dfg_is_before(parcel->slab, parcel->record, first->slab, first->record)))
			first = parcel;
	}
	return first;
}

static struct dfg_err *note_parcel(const struct machine *machine, const struct parcel *first, struct dfg_err *err)
{
	const struct dfg_call *call = machine->plan->record[first->record].call;
	const struct dfg_transfer_key *key = &first->wait.key;
	struct dfg_string name = call->attr[dfg_op_attr(call->signature, "tensor_name")].s;
	char where[400] = "", more[40] = "";
	if (first->slab->frame)
		snprintf(where, sizeof where, ", in iteration %s of loop '%.150s'",
			dfg_key_words(key->iteration, (int)key->depth).s, first->slab->loop->path);
	if (machine->expected > 1)
		snprintf(more, sizeof more, ", and for %u more", machine->expected - 1);
	bool sends = machine->plan->record[first->record].role == DFG_SEND;
	return dfg_err_note(err, DFG_WAITED " %.3g s %s '%.*s' %s w%u%s%s", (double)(dfg_now() - first->began) * 1e-9,
		sends ? "for room for" : "for", (int)name.length, name.s, sends ? "at" : "from", first->wait.from, where, more);
}

struct dfg_err *dfg_note_parcels(const struct machine *machine, struct dfg_err *err)
{
	const struct parcel *first = err ? first_of(machine, false) : NULL;
	return first ? note_parcel(machine, first, err) : err;
}

/* What failed the step, for those at the rendezvous. */
static struct dfg_err *why(const struct machine *machine)
{
	const struct parcel *first = first_of(machine, true);
	const struct dfg_err *err = machine->err ? machine->err : first ? first->err : NULL;
	return err ? dfg_err_new(err->code, err->file, err->line, "%s", err->text) : DFG_ERR(DFG_BUG, "the step failed");
}

void dfg_end_parcels(struct machine *machine)
{
	if (machine->stop)
		dfg_rendezvous_fail(machine->plan->session->options.rendezvous, why(machine));
	while (machine->expected) {
		uint32_t seen = atomic_load(&machine->event.word);
		struct parcel *arrived = take_arrived(machine);
		refuse(machine, arrived);
		if (!arrived)
			dfg_event_wait(&machine->event, seen);
	}
	while (atomic_load(&machine->bringing))
		dfg_pause_briefly();
	struct parcel *first = first_of(machine, true);
	if (first && !machine->err) {
		bool elsewhere = first->err->code == DFG_UNAVAILABLE || first->err->code == DFG_STOPPED;
		machine->err = elsewhere ? note_parcel(machine, first, first->err)
								 : dfg_place_note(first->err, first->slab, machine->plan->record[first->record].call);
		first->err = NULL;
	}
	while (machine->refused) {
		struct parcel *parcel = machine->refused;
		machine->refused = parcel->next;
		dfg_err_free(parcel->err);
		give_back(machine, parcel);
	}
}
