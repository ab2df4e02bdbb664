#include "tests/unit/test.h"

#include "lib/base/mem.h"
#include "lib/exec/transport/rendezvous.h"

#include <pthread.h>
#include <stdlib.h>

/* Workers w0 (this one), w1 and w2. What goes to w1 is written down. */
struct note {
	struct dfg_link link;
	struct dfg_message last;
	int sent, polled;
	bool gone;
};

static struct dfg_err *note_send(struct dfg_link *link, const struct dfg_message *message)
{
	struct note *note = (struct note *)link;
	if (note->gone)
		return DFG_ERR(DFG_UNAVAILABLE, "gone");
	note->last = *message;
	note->sent++;
	return NULL;
}

static bool note_poll(struct dfg_link *link)
{
	return ((struct note *)link)->polled++ > 0;
}

static void note_close(struct dfg_link *link)
{
	(void)link;
}

static const struct dfg_link_kind note_kind = {
	.name = "note", .send = note_send, .poll = note_poll, .close = note_close};

static const char *const devices[] = {"/job:worker/task:0", "/job:worker/task:1", "/job:worker/task:2"};
static const char *const names[] = {"here", "w1", "beta"};

struct place {
	struct dfg_rendezvous *rendezvous;
	struct note note;
	struct dfg_link *link[3];
};

static void place_begin(struct place *place, uint64_t early_values, uint64_t early_bytes)
{
	*place = (struct place){.note.link = {.kind = &note_kind, .peer = 1}};
	place->link[1] = &place->note.link;
	succeeds(dfg_rendezvous_new(&(struct dfg_rendezvous_options){.self = 0,
									.device = devices,
									.name = names,
									.workers = 3,
									.link = place->link,
									.early_values = early_values,
									.early_bytes = early_bytes},
		&place->rendezvous));
}

static struct dfg_transfer_key key_of(uint32_t number, int64_t iteration)
{
	struct dfg_transfer_key key = {.number = number};
	if (iteration >= 0)
		key.iteration[key.depth++] = iteration;
	return key;
}

static struct dfg_tensor i32(int32_t value)
{
	struct dfg_tensor tensor;
	succeeds(dfg_tensor_new(DFG_I32, &DFG_SHAPE_SCALAR, &tensor));
	*(int32_t *)tensor.data = value;
	return tensor;
}

static void deliver(struct place *place, uint64_t step, uint32_t number, int64_t iteration, int32_t value)
{
	struct dfg_message message = {.kind = DFG_MESSAGE_TENSOR, .key = key_of(number, iteration)};
	message.key.step = step;
	message.tensor = i32(value);
	dfg_rendezvous_deliver(place->rendezvous, 1, &message);
}

/* A wait, and what came of it. */
struct mailbox {
	struct dfg_wait wait;
	struct dfg_tensor tensor;
	bool dead;
	struct dfg_err *err;
	atomic_int came;
};

static void came(struct dfg_wait *wait, struct dfg_tensor *tensor, bool dead, struct dfg_err *err)
{
	struct mailbox *mailbox = (struct mailbox *)wait;
	mailbox->tensor = *tensor;
	mailbox->dead = dead;
	mailbox->err = err;
	atomic_fetch_add(&mailbox->came, 1);
}

static struct dfg_err *receive_from(
	struct place *place, struct mailbox *mailbox, uint32_t from, uint32_t number, int64_t iteration)
{
	bool there = false;
	*mailbox = (struct mailbox){.wait = {.key = key_of(number, iteration), .from = from, .come = came}};
	DFG_TRY(dfg_rendezvous_receive(place->rendezvous, &mailbox->wait, &mailbox->tensor, &mailbox->dead, &there));
	if (there)
		atomic_fetch_add(&mailbox->came, 1);
	return NULL;
}

static struct dfg_err *receive(struct place *place, struct mailbox *mailbox, uint32_t number, int64_t iteration)
{
	return receive_from(place, mailbox, 1, number, iteration);
}

static void holds(struct mailbox *mailbox, int32_t value)
{
	assert_int_equal(mailbox->came, 1);
	assert_null(mailbox->err);
	assert_false(mailbox->dead);
	assert_int_equal(dfg_tensor_int(&mailbox->tensor, 0), value);
	dfg_tensor_release(&mailbox->tensor);
}

static void a_value_waits_for_its_receiver_and_a_receiver_for_its_value(void **state)
{
	(void)state;
	struct place place;
	struct mailbox early, late;
	place_begin(&place, 0, 0);
	dfg_rendezvous_begin(place.rendezvous, 1);
	deliver(&place, 1, 7, -1, 42);
	succeeds(receive(&place, &late, 7, -1));
	holds(&late, 42);
	succeeds(receive(&place, &early, 8, -1));
	assert_int_equal(early.came, 0);
	deliver(&place, 1, 8, -1, 43);
	holds(&early, 43);
	assert_int_equal(dfg_rendezvous_end(place.rendezvous), 0);
	dfg_rendezvous_free(place.rendezvous);
}

static void transfers_and_iterations_are_told_apart(void **state)
{
	(void)state;
	struct place place;
	struct mailbox box[4][5];
	place_begin(&place, 0, 0);
	dfg_rendezvous_begin(place.rendezvous, 1);
	for (int number = 0; number < 4; number++)
		for (int iteration = -1; iteration < 4; iteration++)
			succeeds(receive(&place, &box[number][iteration + 1], (uint32_t)number, iteration));
	for (int number = 3; number >= 0; number--)
		for (int iteration = 3; iteration >= -1; iteration--)
			deliver(&place, 1, (uint32_t)number, iteration, 100 * number + iteration);
	for (int number = 0; number < 4; number++)
		for (int iteration = -1; iteration < 4; iteration++)
			holds(&box[number][iteration + 1], 100 * number + iteration);
	assert_int_equal(dfg_rendezvous_end(place.rendezvous), 0);
	dfg_rendezvous_free(place.rendezvous);
}

static void a_dead_value_comes_without_a_tensor(void **state)
{
	(void)state;
	struct place place;
	struct mailbox early, late;
	struct dfg_transfer_key key = key_of(3, 5);
	place_begin(&place, 0, 0);
	dfg_rendezvous_begin(place.rendezvous, 1);
	succeeds(receive(&place, &early, 2, -1));
	struct dfg_message message = {.kind = DFG_MESSAGE_TENSOR, .dead = true, .key = key_of(2, -1)};
	message.key.step = 1;
	dfg_rendezvous_deliver(place.rendezvous, 1, &message);
	message.key.number = 3;
	dfg_rendezvous_deliver(place.rendezvous, 1, &message);
	succeeds(receive(&place, &late, 3, -1));
	assert_true(early.came && early.dead && !early.tensor.dtype);
	assert_true(late.came && late.dead && !late.tensor.dtype);
	succeeds(dfg_rendezvous_send(place.rendezvous, 1, &key, NULL));
	assert_true(place.note.last.dead && place.note.last.key.iteration[0] == 5 && place.note.last.key.step == 1);
	dfg_rendezvous_free(place.rendezvous);
}

static void what_is_sent_to_oneself_goes_straight_in(void **state)
{
	(void)state;
	struct place place;
	struct mailbox early, late;
	struct dfg_transfer_key key = key_of(1, 2);
	struct dfg_tensor value = i32(9);
	place_begin(&place, 0, 0);
	dfg_rendezvous_begin(place.rendezvous, 4);
	succeeds(receive_from(&place, &early, 0, 1, 1));
	key.iteration[0] = 1;
	succeeds(dfg_rendezvous_send(place.rendezvous, 0, &key, &value));
	holds(&early, 9);
	key.iteration[0] = 2;
	succeeds(dfg_rendezvous_send(place.rendezvous, 0, &key, &value));
	succeeds(receive_from(&place, &late, 0, 1, 2));
	assert_ptr_equal(late.tensor.buffer, value.buffer);
	holds(&late, 9);
	dfg_tensor_release(&value);
	dfg_rendezvous_free(place.rendezvous);
}

static void sending_counts_by_destination(void **state)
{
	(void)state;
	struct place place;
	struct dfg_transfer_key key = key_of(1, -1);
	struct dfg_tensor value = i32(9);
	struct dfg_sent sent;
	place_begin(&place, 0, 0);
	fails(dfg_rendezvous_send(place.rendezvous, 1, &key, &value), DFG_BUG, "no step is running");
	dfg_rendezvous_begin(place.rendezvous, 1);
	succeeds(dfg_rendezvous_send(place.rendezvous, 1, &key, &value));
	succeeds(dfg_rendezvous_send(place.rendezvous, 1, &key, NULL));
	fails(dfg_rendezvous_send(place.rendezvous, 2, &key, &value), DFG_BUG, "no link to worker w2");
	dfg_rendezvous_sent(place.rendezvous, 1, &sent);
	assert_true(sent.messages == 2 && sent.dead == 1 && sent.bytes == 4);
	assert_int_equal(place.note.sent, 2);
	place.note.gone = true;
	fails(dfg_rendezvous_send(place.rendezvous, 1, &key, &value), DFG_UNAVAILABLE, "to worker w1: gone");
	dfg_tensor_release(&value);
	dfg_rendezvous_free(place.rendezvous);
}

static void early_values_wait_for_their_step_and_stale_ones_are_dropped(void **state)
{
	(void)state;
	struct place place;
	struct mailbox box;
	place_begin(&place, 0, 0);
	deliver(&place, 5, 1, -1, 51);
	dfg_rendezvous_begin(place.rendezvous, 4);
	deliver(&place, 3, 1, -1, 31);
	deliver(&place, 5, 2, -1, 52);
	deliver(&place, 4, 9, -1, 49);
	succeeds(receive(&place, &box, 1, -1));
	assert_int_equal(box.came, 0);
	deliver(&place, 4, 1, -1, 41);
	holds(&box, 41);
	assert_int_equal(dfg_rendezvous_end(place.rendezvous), 1);
	deliver(&place, 4, 1, -1, 41);
	dfg_rendezvous_begin(place.rendezvous, 5);
	succeeds(receive(&place, &box, 1, -1));
	holds(&box, 51);
	succeeds(receive(&place, &box, 2, -1));
	holds(&box, 52);
	assert_int_equal(dfg_rendezvous_end(place.rendezvous), 0);
	dfg_rendezvous_free(place.rendezvous);
}

static void too_much_that_is_early_fails_its_step_only(void **state)
{
	(void)state;
	for (int by_bytes = 0; by_bytes < 2; by_bytes++) {
		struct place place;
		struct mailbox box;
		place_begin(&place, by_bytes ? 0 : 2, by_bytes ? 8 : 0);
		dfg_rendezvous_begin(place.rendezvous, 1);
		for (uint32_t number = 0; number < 5; number++)
			deliver(&place, 2, number, -1, 1);
		succeeds(receive(&place, &box, 1, -1));
		deliver(&place, 1, 1, -1, 11);
		holds(&box, 11);
		assert_int_equal(dfg_rendezvous_end(place.rendezvous), 0);
		dfg_rendezvous_begin(place.rendezvous, 2);
		fails(receive(&place, &box, 0, -1), DFG_PROTOCOL,
			"worker w1 sent more values of a step that has not begun here than may be stored");
		dfg_rendezvous_end(place.rendezvous);
		deliver(&place, 3, 1, -1, 31);
		dfg_rendezvous_begin(place.rendezvous, 3);
		succeeds(receive(&place, &box, 1, -1));
		holds(&box, 31);
		dfg_rendezvous_free(place.rendezvous);
	}
}

static void is_refused(struct mailbox *mailbox, enum dfg_code code, const char *words)
{
	assert_int_equal(mailbox->came, 1);
	assert_null(mailbox->tensor.data);
	fails(mailbox->err, code, words);
}

static void a_failed_step_wakes_all_and_ends_there(void **state)
{
	(void)state;
	struct place place;
	struct mailbox box[3];
	struct dfg_transfer_key key = key_of(1, -1);
	place_begin(&place, 0, 0);
	dfg_rendezvous_fail(place.rendezvous, DFG_ERR(DFG_DATA, "before any step"));
	dfg_rendezvous_begin(place.rendezvous, 1);
	for (uint32_t i = 0; i < 3; i++)
		succeeds(receive(&place, &box[i], i, 4));
	dfg_rendezvous_fail(place.rendezvous, DFG_ERR(DFG_UNAVAILABLE, "the roof fell"));
	dfg_rendezvous_fail(place.rendezvous, DFG_ERR(DFG_DATA, "and then the walls"));
	for (int i = 0; i < 3; i++)
		is_refused(&box[i], DFG_UNAVAILABLE, "the roof fell");
	fails(receive(&place, &box[0], 7, -1), DFG_UNAVAILABLE, "the roof fell");
	fails(dfg_rendezvous_send(place.rendezvous, 1, &key, NULL), DFG_UNAVAILABLE, "the roof fell");
	deliver(&place, 1, 7, -1, 1);
	assert_int_equal(dfg_rendezvous_end(place.rendezvous), 0);
	dfg_rendezvous_fail(place.rendezvous, DFG_ERR(DFG_DATA, "between steps"));
	dfg_rendezvous_begin(place.rendezvous, 2);
	deliver(&place, 2, 7, -1, 72);
	succeeds(receive(&place, &box[0], 7, -1));
	holds(&box[0], 72);
	dfg_rendezvous_free(place.rendezvous);
}

static void a_lost_peer_fails_all_steps_to_come(void **state)
{
	(void)state;
	struct place place;
	struct mailbox box;
	place_begin(&place, 0, 0);
	dfg_rendezvous_begin(place.rendezvous, 1);
	succeeds(receive(&place, &box, 1, -1));
	dfg_rendezvous_lost(place.rendezvous, 2, DFG_ERR(DFG_UNAVAILABLE, "connection reset"));
	is_refused(&box, DFG_UNAVAILABLE, "worker w2 (beta) is lost: connection reset");
	dfg_rendezvous_end(place.rendezvous);
	dfg_rendezvous_begin(place.rendezvous, 2);
	fails(receive(&place, &box, 1, -1), DFG_UNAVAILABLE, "worker w2 (beta) is lost: connection reset");
	dfg_rendezvous_free(place.rendezvous);
	place_begin(&place, 0, 0);
	dfg_rendezvous_lost(place.rendezvous, 1, DFG_ERR(DFG_UNAVAILABLE, "connection reset"));
	dfg_rendezvous_begin(place.rendezvous, 1);
	fails(receive(&place, &box, 1, -1), DFG_UNAVAILABLE, "worker w1 is lost: connection reset");
	dfg_rendezvous_free(place.rendezvous);
}

static void a_peer_that_breaks_the_order_fails_the_step(void **state)
{
	(void)state;
	struct place place;
	struct mailbox box, other;
	place_begin(&place, 0, 0);
	dfg_rendezvous_begin(place.rendezvous, 1);
	deliver(&place, 1, 1, 3, 1);
	succeeds(receive(&place, &other, 2, -1));
	deliver(&place, 1, 1, 3, 1);
	is_refused(&other, DFG_PROTOCOL, "transfer 1 arrived twice from worker w1");
	dfg_rendezvous_end(place.rendezvous);

	dfg_rendezvous_begin(place.rendezvous, 2);
	succeeds(receive_from(&place, &box, 2, 1, -1));
	deliver(&place, 2, 1, -1, 1);
	is_refused(&box, DFG_PROTOCOL, "transfer 1 came from worker w1, expected w2");
	succeeds(receive(&place, &box, 2, -1));
	fails(receive(&place, &other, 2, -1), DFG_DATA, "transfer 2 is received by two nodes at once");
	struct dfg_message deep = {.kind = DFG_MESSAGE_TENSOR, .key = {.step = 2, .number = 2, .depth = 99}};
	deep.tensor = i32(1);
	dfg_rendezvous_deliver(place.rendezvous, 1, &deep);
	is_refused(&box, DFG_PROTOCOL, "worker w1 sent a value from 99 nested loops");
	dfg_rendezvous_free(place.rendezvous);
}

static void a_worker_is_found_by_its_device(void **state)
{
	(void)state;
	struct place place;
	uint32_t worker;
	place_begin(&place, 0, 0);
	succeeds(dfg_rendezvous_worker(place.rendezvous, "/job:worker/task:2", &worker));
	assert_int_equal(worker, 2);
	fails(dfg_rendezvous_worker(place.rendezvous, "/job:ps/task:0", &worker), DFG_DATA,
		"no worker has the device '/job:ps/task:0'; the devices are /job:worker/task:0, /job:worker/task:1");
	dfg_rendezvous_free(place.rendezvous);
}

static void polling_reads_the_links_there_are(void **state)
{
	(void)state;
	struct place place;
	place_begin(&place, 0, 0);
	assert_false(dfg_rendezvous_poll(place.rendezvous));
	assert_true(dfg_rendezvous_poll(place.rendezvous));
	dfg_rendezvous_free(place.rendezvous);
}

/* Many keys, of which half are there first, in an order without a pattern. */
static void ten_thousand_values_find_their_receivers(void **state)
{
	(void)state;
	enum { N = 10000 };
	struct place place;
	struct mailbox *box = calloc(N, sizeof *box);
	place_begin(&place, 0, 0);
	for (uint64_t step = 1; step < 4; step++) {
		dfg_rendezvous_begin(place.rendezvous, step);
		for (uint32_t i = 0, at = 0; i < N; i++, at = (at + 7919) % N)
			if (at % 2)
				deliver(&place, step, at / 100, at % 100, (int32_t)at);
			else
				succeeds(receive(&place, &box[at], at / 100, at % 100));
		for (uint32_t i = 0, at = 0; i < N; i++, at = (at + 101) % N)
			if (at % 2)
				succeeds(receive(&place, &box[at], at / 100, at % 100));
			else
				deliver(&place, step, at / 100, at % 100, (int32_t)at);
		for (uint32_t i = 0; i < N; i++)
			holds(&box[i], (int32_t)i);
		assert_int_equal(dfg_rendezvous_end(place.rendezvous), 0);
	}
	dfg_rendezvous_free(place.rendezvous);
	free(box);
}

struct porter {
	struct place *place;
	uint32_t first, step, n;
	pthread_t thread;
};

static void *carry(void *arg)
{
	const struct porter *porter = arg;
	for (uint32_t i = porter->first; i < porter->n; i += porter->step)
		deliver(porter->place, 1, i, -1, (int32_t)i);
	return NULL;
}

static void threads_may_bring_while_others_ask(void **state)
{
	(void)state;
	enum { N = 3000 };
	struct place place;
	struct mailbox *box = calloc(N, sizeof *box);
	struct porter porter[2];
	place_begin(&place, 0, 0);
	dfg_rendezvous_begin(place.rendezvous, 1);
	for (uint32_t t = 0; t < 2; t++) {
		porter[t] = (struct porter){.place = &place, .first = t, .step = 2, .n = N};
		assert_int_equal(pthread_create(&porter[t].thread, NULL, carry, &porter[t]), 0);
	}
	for (uint32_t i = 0; i < N; i++)
		succeeds(receive(&place, &box[i], i, -1));
	for (int t = 0; t < 2; t++)
		pthread_join(porter[t].thread, NULL);
	for (uint32_t i = 0; i < N; i++)
		holds(&box[i], (int32_t)i);
	assert_int_equal(dfg_rendezvous_end(place.rendezvous), 0);
	dfg_rendezvous_free(place.rendezvous);
	free(box);
}

/* If an allocation fails, there is an error, or the memory was not necessary; all values that were kept are released. */
static void short_memory_fails_the_step(void **state)
{
	(void)state;
	struct dfg_allocator *heap = dfg_mem;
	bool whole = false;
	for (long left = 0; !whole; left++) {
		struct dfg_mem_failing failing;
		struct place place = {.note.link = {.kind = &note_kind, .peer = 1}};
		struct mailbox box = {.wait = {.key = key_of(1, -1), .from = 1, .come = came}};
		struct dfg_message message = {.kind = DFG_MESSAGE_TENSOR, .key = {.step = 1, .number = 1}, .tensor = i32(5)};
		const struct dfg_rendezvous_options options = {.device = devices, .workers = 3, .link = place.link};
		bool there = false;
		dfg_mem_failing_init(&failing, heap, left, true);
		dfg_mem = &failing.base;
		struct dfg_err *err = dfg_rendezvous_new(&options, &place.rendezvous);
		if (!err) {
			dfg_rendezvous_begin(place.rendezvous, 1);
			dfg_rendezvous_deliver(place.rendezvous, 1, &message);
			message.tensor = (struct dfg_tensor){0};
			err = dfg_rendezvous_receive(place.rendezvous, &box.wait, &box.tensor, &box.dead, &there);
		}
		dfg_mem = heap;
		whole = !err;
		if (err)
			fails(err, DFG_MEMORY, "memory");
		else
			assert_true(there);
		dfg_tensor_release(&message.tensor);
		dfg_tensor_release(&box.tensor);
		dfg_rendezvous_free(place.rendezvous);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_waits_for_its_receiver_and_a_receiver_for_its_value),
		cmocka_unit_test(transfers_and_iterations_are_told_apart),
		cmocka_unit_test(a_dead_value_comes_without_a_tensor),
		cmocka_unit_test(what_is_sent_to_oneself_goes_straight_in),
		cmocka_unit_test(sending_counts_by_destination),
		cmocka_unit_test(early_values_wait_for_their_step_and_stale_ones_are_dropped),
		cmocka_unit_test(too_much_that_is_early_fails_its_step_only),
		cmocka_unit_test(a_failed_step_wakes_all_and_ends_there),
		cmocka_unit_test(a_lost_peer_fails_all_steps_to_come),
		cmocka_unit_test(a_peer_that_breaks_the_order_fails_the_step),
		cmocka_unit_test(a_worker_is_found_by_its_device),
		cmocka_unit_test(polling_reads_the_links_there_are),
		cmocka_unit_test(ten_thousand_values_find_their_receivers),
		cmocka_unit_test(threads_may_bring_while_others_ask),
		cmocka_unit_test(short_memory_fails_the_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
