#include "tests/unit/test.h"

#include "lib/base/mem.h"
#include "lib/exec/transport/credit.h"

#include <stdlib.h>
#include <string.h>

/*
 * Two workers with a loop on both, and a random schedule. In each iteration w0 sends some values to w1, which answers one
 * of them; before the loop w1 begins to wait for a value that w0 sends after it. Each has a window of iterations. Messages
 * lie in a queue each way until they are delivered.
 */
enum { TRANSFERS = 3, ANSWER = TRANSFERS, LAST, ITERATIONS = 24, MOST_WINDOW = 4, QUEUE = 2 * DFG_WANTED_MOST };

struct queue {
	struct dfg_link link; /* first */
	struct dfg_message message[QUEUE];
	size_t first, count;
};

static struct dfg_err *put_message(struct dfg_link *link, const struct dfg_message *message)
{
	struct queue *queue = (struct queue *)link;
	struct dfg_message *to = &queue->message[(queue->first + queue->count++) % QUEUE];
	assert_true(queue->count < QUEUE);
	*to = *message;
	if (message->tensor.dtype)
		succeeds(dfg_tensor_share(&message->tensor, &to->tensor));
	return NULL;
}

static const struct dfg_link_kind queue_kind = {.name = "queue", .send = put_message};
static const char *const devices[] = {"/job:worker/task:0", "/job:worker/task:1"};

struct letter {
	struct dfg_wait wait;
	bool begun, come, dead;
	struct dfg_tensor tensor;
	struct dfg_err *err;
};

struct side {
	struct dfg_rendezvous *rendezvous;
	struct queue out;
	struct dfg_link *link[2];
	int window, began, done; /* iterations */
	struct letter sent[ITERATIONS][TRANSFERS + 1], got[ITERATIONS][TRANSFERS + 1], last;
};

struct world {
	struct side side[2];
	unsigned random;
};

static unsigned draw(struct world *world, unsigned n)
{
	world->random = world->random * 1103515245 + 12345;
	return (world->random >> 16) % n;
}

static void come(struct dfg_wait *wait, struct dfg_tensor *tensor, bool dead, struct dfg_err *err)
{
	struct letter *letter = (struct letter *)wait;
	assert_false(letter->come);
	letter->come = true;
	letter->tensor = *tensor;
	letter->dead = dead;
	letter->err = err;
}

static void begin_world(struct world *world, unsigned seed, uint64_t credit)
{
	memset(world, 0, sizeof *world);
	world->random = seed;
	for (uint32_t i = 0; i < 2; i++) {
		struct side *side = &world->side[i];
		side->out.link = (struct dfg_link){.kind = &queue_kind, .peer = !i};
		side->link[!i] = &side->out.link;
		side->window = 1 + (int)draw(world, MOST_WINDOW);
		succeeds(dfg_rendezvous_new(
			&(struct dfg_rendezvous_options){
				.self = i, .device = devices, .workers = 2, .link = side->link, .credit = credit},
			&side->rendezvous));
		dfg_rendezvous_begin(side->rendezvous, 1);
	}
}

static void end_world(struct world *world)
{
	for (int i = 0; i < 2; i++) {
		struct queue *out = &world->side[i].out;
		for (; out->count; out->count--, out->first++)
			dfg_tensor_release(&out->message[out->first % QUEUE].tensor);
		dfg_rendezvous_free(world->side[i].rendezvous);
	}
}

static bool deliver(struct world *world, int from)
{
	struct queue *out = &world->side[from].out;
	if (!out->count)
		return false;
	struct dfg_message message = out->message[out->first++ % QUEUE];
	out->count--;
	dfg_rendezvous_deliver(world->side[!from].rendezvous, (uint32_t)from, &message);
	return true;
}

static void offer(
	struct side *side, uint32_t to, struct letter *letter, uint32_t number, int64_t iteration, int64_t size)
{
	struct dfg_tensor tensor;
	bool held;
	letter->wait = (struct dfg_wait){.key = {.number = number, .depth = iteration >= 0}, .from = to, .come = come};
	letter->wait.key.iteration[0] = iteration;
	succeeds(dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR(size), &tensor));
	memset(tensor.data, (int)(iteration + number), (size_t)size);
	succeeds(dfg_rendezvous_offer(side->rendezvous, &letter->wait, &tensor, &held));
	dfg_tensor_release(&tensor);
	letter->begun = true;
	letter->come |= !held;
}

static void receive(struct side *side, uint32_t from, struct letter *letter, uint32_t number, int64_t iteration)
{
	bool there = false;
	letter->wait = (struct dfg_wait){.key = {.number = number, .depth = iteration >= 0}, .from = from, .come = come};
	letter->wait.key.iteration[0] = iteration;
	letter->begun = true;
	succeeds(dfg_rendezvous_receive(side->rendezvous, &letter->wait, &letter->tensor, &letter->dead, &there));
	letter->come |= there;
}

/* A value that came is what was sent. */
static void check(struct letter *letter, uint32_t number, int64_t iteration)
{
	assert_false(letter->dead || letter->err);
	for (int64_t i = 0; i < letter->tensor.shape.dim[0]; i++)
		assert_int_equal(((uint8_t *)letter->tensor.data)[i], (uint8_t)(iteration + number));
	dfg_tensor_release(&letter->tensor);
	letter->tensor = (struct dfg_tensor){0};
}

/* The next iteration that has something to do does one thing of it, in an order of chance. */
static bool act(struct world *world, int self, int iteration)
{
	struct side *side = &world->side[self];
	uint32_t other = !self, which = draw(world, TRANSFERS + 1);
	struct letter *sent = &side->sent[iteration][which], *got = &side->got[iteration][which];
	bool sends = self ? which == ANSWER && side->got[iteration][0].come : which != ANSWER;
	bool hears = self ? which != ANSWER : which == ANSWER;
	if (sends && !sent->begun) {
		offer(side, other, sent, which, iteration, 1 + (int64_t)draw(world, 2000));
		return true;
	}
	if (hears && !got->begun) {
		receive(side, other, got, which, iteration);
		return true;
	}
	return false;
}

static bool is_done(const struct side *side, int self, int iteration)
{
	for (int i = 0; i <= TRANSFERS; i++) {
		bool sends = (i == ANSWER) == (self == 1);
		if (!(sends ? &side->sent[iteration][i] : &side->got[iteration][i])->come)
			return false;
	}
	return true;
}

/* One thing that can be done, of those on this side. */
static bool do_something(struct world *world, int self)
{
	struct side *side = &world->side[self];
	while (side->done < side->began && is_done(side, self, side->done))
		side->done++;
	if (side->began < ITERATIONS && side->began < side->done + side->window && draw(world, 2)) {
		side->began++;
		return true;
	}
	return side->done < side->began &&
		   act(world, self, side->done + (int)draw(world, (unsigned)(side->began - side->done)));
}

static bool is_over(const struct world *world)
{
	return world->side[0].done == ITERATIONS && world->side[1].done == ITERATIONS && world->side[0].last.come &&
		   world->side[1].last.come && !world->side[0].out.count && !world->side[1].out.count;
}

/* A random choice may be impossible for a while; a deadlock shows as PATIENCE choices in a row without progress. */
static void run_world(unsigned seed, uint64_t credit)
{
	enum { PATIENCE = 4000 };
	static struct world world;
	begin_world(&world, seed, credit);
	receive(&world.side[1], 0, &world.side[1].last, LAST, -1);
	for (int idle = 0; !is_over(&world); idle++) {
		unsigned what = draw(&world, 4);
		if (what < 2 ? deliver(&world, (int)what) : do_something(&world, (int)what - 2))
			idle = 0;
		if (world.side[0].done == ITERATIONS && !world.side[0].last.begun)
			offer(&world.side[0], 1, &world.side[0].last, LAST, -1, 3000);
		if (idle > PATIENCE)
			fail_msg("seed %u, credit %llu: no progress after %d and %d iterations", seed, (unsigned long long)credit,
				world.side[0].done, world.side[1].done);
	}
	for (int iteration = 0; iteration < ITERATIONS; iteration++) {
		for (uint32_t i = 0; i < TRANSFERS; i++)
			check(&world.side[1].got[iteration][i], i, iteration);
		check(&world.side[0].got[iteration][ANSWER], ANSWER, iteration);
	}
	check(&world.side[1].last, LAST, -1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(dfg_rendezvous_end(world.side[i].rendezvous), 0);
	end_world(&world);
}

static void no_budget_is_too_small_to_come_to_an_end(void **state)
{
	static const uint64_t budgets[] = {1, 200, 1000, 3000, 10000, 1 << 20};
	(void)state;
	for (unsigned seed = 1; seed <= 400; seed++)
		run_world(seed, budgets[seed % (sizeof budgets / sizeof *budgets)]);
}

static void nobody_who_waits_for_nothing_gets_more_than_the_budget_and_one_value(void **state)
{
	static struct world world;
	static struct letter sent[20], got[20];
	uint64_t bytes = 0;
	(void)state;
	memset(sent, 0, sizeof sent);
	memset(got, 0, sizeof got);
	begin_world(&world, 1, 5000);
	for (int i = 0; i < 20; i++)
		offer(&world.side[0], 1, &sent[i], 0, i, 1000);
	while (deliver(&world, 0) || deliver(&world, 1))
		continue;
	for (int i = 0; i < 20; i++)
		bytes += sent[i].come ? 1000 : 0;
	assert_in_range(bytes, 3000, 6000);
	assert_false(sent[19].come);

	/* The last is waited for: it overtakes. */
	receive(&world.side[1], 0, &got[19], 0, 19);
	while (deliver(&world, 0) || deliver(&world, 1))
		continue;
	assert_true(sent[19].come && got[19].come && !sent[18].come);
	check(&got[19], 0, 19);

	/* A value that is taken frees its credit, in order. */
	for (int i = 0; i < 19; i++) {
		receive(&world.side[1], 0, &got[i], 0, i);
		while (deliver(&world, 0) || deliver(&world, 1))
			continue;
		assert_true(got[i].come);
		check(&got[i], 0, i);
	}
	assert_true(sent[18].come);
	end_world(&world);
}

/* So many are waited for that they cannot be noted one by one: a list that is searched for each value must be short. */
static void who_waits_for_very_many_gets_all(void **state)
{
	enum { MANY = DFG_WANTED_MOST + 10 };
	static struct world world;
	static struct letter sent[MANY + 20], got[MANY];
	(void)state;
	begin_world(&world, 1, 1);
	for (int i = 0; i < MANY; i++)
		receive(&world.side[1], 0, &got[i], 0, i);
	for (int i = 0; i < 20; i++)
		offer(&world.side[0], 1, &sent[MANY + i], 1, i, 1000); /* nobody waits for these */
	assert_false(sent[MANY + 1].come);
	while (deliver(&world, 0) || deliver(&world, 1))
		continue;
	assert_true(sent[MANY + 19].come);
	for (int i = 0; i < MANY; i++) {
		offer(&world.side[0], 1, &sent[i], 0, i, 8);
		while (deliver(&world, 0) || deliver(&world, 1))
			continue;
		assert_true(got[i].come);
		check(&got[i], 0, i);
	}
	end_world(&world);
}

static void a_step_that_fails_gives_back_what_was_held(void **state)
{
	static struct world world;
	static struct letter sent[3];
	(void)state;
	memset(sent, 0, sizeof sent);
	begin_world(&world, 1, 100);
	for (int i = 0; i < 3; i++)
		offer(&world.side[0], 1, &sent[i], 0, i, 1000);
	assert_true(sent[0].come && !sent[1].come && !sent[2].come);
	dfg_rendezvous_fail(world.side[0].rendezvous, DFG_ERR(DFG_STOPPED, "enough"));
	for (int i = 1; i < 3; i++)
		fails(sent[i].err, DFG_STOPPED, "enough");

	/* The next step has the credit that the other one drops. */
	while (deliver(&world, 0) || deliver(&world, 1))
		continue;
	for (int i = 0; i < 2; i++) {
		dfg_rendezvous_end(world.side[i].rendezvous);
		dfg_rendezvous_begin(world.side[i].rendezvous, 2);
	}
	while (deliver(&world, 0) || deliver(&world, 1))
		continue;
	memset(sent, 0, sizeof sent);
	offer(&world.side[0], 1, &sent[0], 0, 0, 1000);
	assert_true(sent[0].come);
	end_world(&world);
}

static void a_peer_that_takes_more_than_there_was_is_refused(void **state)
{
	static struct world world;
	static struct letter letter;
	struct dfg_message lie = {.kind = DFG_MESSAGE_TAKEN, .key.step = 1};
	(void)state;
	letter = (struct letter){0};
	begin_world(&world, 1, 100);
	receive(&world.side[0], 1, &letter, 0, 0);
	dfg_rendezvous_deliver(world.side[0].rendezvous, 1, &lie);
	assert_true(letter.come);
	fails(letter.err, DFG_PROTOCOL, "worker w1 reports that it took more values than were sent");
	end_world(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_budget_is_too_small_to_come_to_an_end),
		cmocka_unit_test(nobody_who_waits_for_nothing_gets_more_than_the_budget_and_one_value),
		cmocka_unit_test(who_waits_for_very_many_gets_all),
		cmocka_unit_test(a_step_that_fails_gives_back_what_was_held),
		cmocka_unit_test(a_peer_that_takes_more_than_there_was_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
