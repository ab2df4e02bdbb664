#include "tests/unit/link_kinds.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/*
 * The promises of lib/exec/transport/link.h, claim by claim, of every kind of link that can make two ends in this process. A new kind
 * is a row in link_kinds.h, a new claim a row in `claims`.
 */

static struct dfg_err *put_message(struct dfg_link *link, const struct dfg_message *message)
{
	return link->kind->send(link, message);
}

/* Sends it from a, releases it at once, and sees it come out at b as its equal. */
static void crosses(struct pair *pair, enum dfg_dtype dtype, const struct dfg_shape *shape)
{
	size_t before = inbox_count(&pair->at_b);
	struct dfg_message message = {.key = {.step = 1, .number = (uint32_t)before}};
	struct dfg_tensor wanted = tensor_of(dtype, shape, (unsigned)before + 1);
	succeeds(dfg_tensor_copy(&wanted, &message.tensor));
	succeeds(put_message(pair->a, &message));
	dfg_tensor_release(&message.tensor);
	inbox_wait(&pair->at_b, before + 1);
	struct dfg_message got = inbox_at(&pair->at_b, before);
	assert_int_equal(got.key.number, before);
	assert_false(got.dead);
	expect_tensor(&got.tensor, &wanted);
	dfg_tensor_release(&wanted);
}

/* Claims. */

static void in_order(const struct kind *kind)
{
	enum { COUNT = 20000 };
	struct pair pair;
	begin(&pair, kind, false);
	for (int i = 0; i < COUNT; i++)
		send_int(pair.a, (uint32_t)i, i * 3);
	inbox_wait(&pair.at_b, COUNT);
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(inbox_at(&pair.at_b, (size_t)i).key.number, i);
		assert_int_equal(int_of(inbox_at(&pair.at_b, (size_t)i)), i * 3);
	}
	assert_int_equal(inbox_peer(&pair.at_b), PEER_A);
	assert_int_equal(inbox_count(&pair.at_a), 0);
	end(&pair, kind);
}

static void every_dtype(const struct kind *kind)
{
	static const enum dfg_dtype dtypes[] = {
#define ROW(NAME, ...) DFG_##NAME,
		DFG_EACH_half(ROW) DFG_EACH_plain(ROW) DFG_EACH_stored(ROW)
#undef ROW
			DFG_STRING
	};
	struct pair pair;
	for (int allocates = 0; allocates < 2; allocates++) {
		begin(&pair, kind, allocates);
		for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
			crosses(&pair, dtypes[i], &DFG_SHAPE_VECTOR(77));
			crosses(&pair, dtypes[i], &DFG_SHAPE_SCALAR);
			crosses(&pair, dtypes[i], &DFG_SHAPE_VECTOR(0));
			crosses(&pair, dtypes[i], &(struct dfg_shape){.rank = 3, .dim = {4, 0, 3}});
			crosses(&pair, dtypes[i], &(struct dfg_shape){.rank = 8, .dim = {2, 1, 3, 1, 2, 1, 1, 5}});
			crosses(&pair, dtypes[i], &DFG_SHAPE_VECTOR(100000));
		}
		end(&pair, kind);
	}
}

static void every_size(const struct kind *kind)
{
	struct pair pair;
	begin(&pair, kind, false);
	for (int64_t size = 1; size < 3 << 20; size = size * 3 / 2 + 1) {
		crosses(&pair, DFG_U8, &DFG_SHAPE_VECTOR(size - 1));
		crosses(&pair, DFG_U8, &DFG_SHAPE_VECTOR(size));
	}
	for (int64_t size = 32000; size < 33000; size += 7)
		crosses(&pair, DFG_U8, &DFG_SHAPE_VECTOR(size));
	end(&pair, kind);
}

static void keys_of_every_depth(const struct kind *kind)
{
	struct pair pair;
	begin(&pair, kind, false);
	struct dfg_message message = {.key = {.step = UINT64_C(1) << 40, .number = UINT32_MAX}};
	for (uint32_t depth = 0; depth <= DFG_LINK_DEPTH; depth++) {
		message.key.depth = depth;
		message.dead = depth % 2;
		if (depth)
			message.key.iteration[depth - 1] = INT64_MAX - depth;
		succeeds(put_message(pair.a, &message));
	}
	message.key.depth = DFG_LINK_DEPTH + 1;
	fails(put_message(pair.a, &message), DFG_DATA, "in 17 nested loops");
	inbox_wait(&pair.at_b, DFG_LINK_DEPTH + 1);
	for (uint32_t depth = 0; depth <= DFG_LINK_DEPTH; depth++) {
		struct dfg_message got = inbox_at(&pair.at_b, depth);
		assert_int_equal(got.key.depth, depth);
		assert_true(got.key.step == UINT64_C(1) << 40 && got.key.number == UINT32_MAX);
		for (uint32_t i = 0; i < depth; i++)
			assert_true(got.key.iteration[i] == INT64_MAX - 1 - i);
	}
	end(&pair, kind);
}

static void dead_and_control(const struct kind *kind)
{
	struct pair pair;
	begin(&pair, kind, true);
	struct dfg_shape shape = DFG_SHAPE_VECTOR(3);
	struct dfg_message dead = {.dead = true, .key = {.step = 2, .number = 7}};
	struct dfg_message control = {.kind = DFG_MESSAGE_CONTROL, .key = {.number = 9}};
	succeeds(put_message(pair.b, &dead));
	succeeds(put_message(pair.b, &control));
	control.tensor = tensor_of(DFG_STRING, &shape, 30);
	succeeds(put_message(pair.b, &control));
	inbox_wait(&pair.at_a, 3);
	struct dfg_message got = inbox_at(&pair.at_a, 0);
	assert_true(got.dead && got.kind == DFG_MESSAGE_TENSOR && got.key.number == 7 && !got.tensor.dtype);
	got = inbox_at(&pair.at_a, 1);
	assert_true(!got.dead && got.kind == DFG_MESSAGE_CONTROL && got.key.number == 9 && !got.tensor.dtype);
	got = inbox_at(&pair.at_a, 2);
	assert_int_equal(got.kind, DFG_MESSAGE_CONTROL);
	expect_tensor(&got.tensor, &control.tensor);
	assert_int_equal(inbox_peer(&pair.at_a), PEER_B);
	dfg_tensor_release(&control.tensor);
	end(&pair, kind);
}

static void handles_stay(const struct kind *kind)
{
	struct pair pair;
	begin(&pair, kind, false);
	struct dfg_message message = {0};
	succeeds(dfg_tensor_new(DFG_RESOURCE, &DFG_SHAPE_SCALAR, &message.tensor));
	fails(put_message(pair.a, &message), DFG_DATA, "a tensor of resource cannot be sent to another worker");
	dfg_tensor_release(&message.tensor);
	send_int(pair.a, 0, 1);
	inbox_wait(&pair.at_b, 1);
	end(&pair, kind);
}

/* While b's sink is held up, small messages overtake a large one that is half sent; those of its key stay after it. */
static void large_and_small(const struct kind *kind)
{
	enum { SMALL = 200, KEY = 1000 };
	struct pair pair;
	begin(&pair, kind, true);
	struct dfg_shape shape = DFG_SHAPE_VECTOR(LARGE);
	struct dfg_message large = {.key = {.step = 1, .number = KEY}, .tensor = tensor_of(DFG_U8, &shape, 5)};
	pthread_mutex_lock(&pair.at_b.lock);
	send_int(pair.a, 0, 0);
	succeeds(put_message(pair.a, &large));
	send_int(pair.a, KEY, -1);
	for (int i = 1; i < SMALL; i++)
		send_int(pair.a, (uint32_t)i, i);
	pthread_mutex_unlock(&pair.at_b.lock);
	inbox_wait(&pair.at_b, SMALL + 2);
	uint32_t next = 0;
	size_t large_at = SIZE_MAX, behind_at = 0;
	for (size_t i = 0; i < SMALL + 2; i++) {
		struct dfg_message got = inbox_at(&pair.at_b, i);
		if (got.key.number < KEY)
			assert_int_equal(got.key.number, next++);
		else
			*(got.tensor.dtype == DFG_U8 ? &large_at : &behind_at) = i;
	}
	assert_int_equal(large_at, kind->overtakes ? SMALL : 1);
	assert_int_equal(behind_at, large_at + 1);
	struct dfg_message got = inbox_at(&pair.at_b, large_at);
	expect_tensor(&got.tensor, &large.tensor);
	dfg_tensor_release(&large.tensor);
	end(&pair, kind);
}

/*
 * b's sink is held up while a sends more than any buffer between them holds; a never waits. Whoever is held up gives no
 * sign of life: what takes time is done before.
 */
static void sends_do_not_wait(const struct kind *kind)
{
	enum { COUNT = 40, BYTES = 1 << 20 };
	struct pair pair;
	struct dfg_message large[COUNT];
	begin(&pair, kind, false);
	for (unsigned i = 0; i < COUNT; i++)
		large[i] = (struct dfg_message){
			.key = {.step = 1, .number = i}, .tensor = tensor_of(DFG_U8, &DFG_SHAPE_VECTOR(BYTES), i)};
	pthread_mutex_lock(&pair.at_b.lock);
	for (unsigned i = 0; i < COUNT; i++) {
		succeeds(put_message(pair.a, &large[i]));
		send_int(pair.a, COUNT + i, (int)i);
	}
	pthread_mutex_unlock(&pair.at_b.lock);
	inbox_wait(&pair.at_b, 2 * COUNT);
	unsigned bulk = 0;
	for (size_t i = 0; i < 2 * COUNT; i++) {
		struct dfg_message got = inbox_at(&pair.at_b, i);
		if (got.key.number >= COUNT)
			continue;
		assert_int_equal(got.key.number, bulk);
		expect_tensor(&got.tensor, &large[bulk++].tensor);
	}
	assert_int_equal(bulk, COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		dfg_tensor_release(&large[i].tensor);
	end(&pair, kind);
}

struct sender {
	pthread_t thread;
	struct dfg_link *link;
	uint32_t number;
	int count;
	bool polls, to_the_end; /* of the link */
};

/* Now and then a larger one; the numbers of each sender are its own. */
static void *send_many(void *arg)
{
	struct sender *sender = arg;
	struct dfg_err *err = NULL;
	for (int i = 0; i < sender->count && !err; i++) {
		if (i % 50 == 7) {
			struct dfg_shape shape = DFG_SHAPE_VECTOR(100000 + i);
			struct dfg_message message = {.key = {.step = 1, .number = sender->number, .depth = 1, .iteration = {i}}};
			message.tensor = tensor_of(DFG_I16, &shape, (unsigned)i);
			err = put_message(sender->link, &message);
			dfg_tensor_release(&message.tensor);
		} else {
			err = try_send_int(sender->link, sender->number, i);
		}
		if (err && !sender->to_the_end)
			abort();
		if (sender->polls)
			sender->link->kind->poll(sender->link);
	}
	dfg_err_free(err);
	return NULL;
}

/* Each sender's messages have all arrived once, the small ones in order, and so have the large ones. */
static void expect_all(struct inbox *inbox, uint32_t senders, int count)
{
	inbox_wait(inbox, senders * (size_t)count);
	assert_int_equal(inbox_count(inbox), senders * (size_t)count);
	int next[16] = {0}, large[16] = {0};
	for (size_t i = 0; i < inbox_count(inbox); i++) {
		struct dfg_message got = inbox_at(inbox, i);
		assert_true(got.key.number < senders);
		int *n = &next[got.key.number];
		if (got.key.depth) {
			struct dfg_tensor wanted = tensor_of(DFG_I16, &got.tensor.shape, (unsigned)got.key.iteration[0]);
			expect_tensor(&got.tensor, &wanted);
			dfg_tensor_release(&wanted);
			assert_int_equal(got.key.iteration[0], 50 * large[got.key.number]++ + 7);
			continue;
		}
		*n += *n % 50 == 7;
		assert_int_equal(int_of(got), *n);
		++*n;
	}
}

static void many_threads_both_ways(const struct kind *kind)
{
	enum { SENDERS = 4, COUNT = 2000 };
	struct pair pair;
	struct sender sender[2 * SENDERS];
	begin(&pair, kind, false);
	for (uint32_t i = 0; i < 2 * SENDERS; i++) {
		struct dfg_link *link = i < SENDERS ? pair.a : pair.b;
		sender[i] = (struct sender){.link = link, .number = i % SENDERS, .count = COUNT, .polls = i % 2};
		pthread_create(&sender[i].thread, NULL, send_many, &sender[i]);
	}
	for (int i = 0; i < 2 * SENDERS; i++)
		pthread_join(sender[i].thread, NULL);
	expect_all(&pair.at_a, SENDERS, COUNT);
	expect_all(&pair.at_b, SENDERS, COUNT);
	end(&pair, kind);
}

static uint64_t count_of(const uint64_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static void counts_are_right(const struct kind *kind)
{
	struct pair pair;
	begin(&pair, kind, false);
	struct dfg_string words[] = {{"one", 3}, {"", 0}, {"three", 5}};
	struct dfg_message message = {.key = {.number = 1}};
	message.tensor =
		(struct dfg_tensor){.dtype = DFG_STRING, .shape = DFG_SHAPE_VECTOR(3), .data = words, .capacity = sizeof words};
	succeeds(put_message(pair.a, &message));
	send_int(pair.a, 2, 2);
	succeeds(put_message(pair.a, &(struct dfg_message){.dead = true, .key = {.number = 3}}));
	inbox_wait(&pair.at_b, 3);
	crosses(&pair, DFG_F64, &DFG_SHAPE_VECTOR(100000));
	const struct dfg_link_counts *a = &pair.a->counts, *b = &pair.b->counts;
	assert_int_equal(count_of(&a->sent_messages), 4);
	assert_int_equal(count_of(&a->sent_bytes), 8 + 4 + 800000);
	assert_int_equal(count_of(&b->received_messages), 4);
	assert_int_equal(count_of(&b->received_bytes), 8 + 4 + 800000);
	assert_int_equal(count_of(&b->sent_messages) + count_of(&a->received_messages), 0);
	end(&pair, kind);
}

static void values_come_to_the_memory_of_the_sink(const struct kind *kind)
{
	struct pair pair;
	begin(&pair, kind, true);
	const int64_t sizes[] = {0, 1, 100, 1 << 20};
	for (size_t i = 0; i < 4; i++) {
		crosses(&pair, i == 2 ? DFG_STRING : DFG_F32, &DFG_SHAPE_VECTOR(sizes[i]));
		assert_ptr_equal(inbox_at(&pair.at_b, i).tensor.data, inbox_last_allocated(&pair.at_b));
	}
	end(&pair, kind);
}

static void an_allocation_that_fails_ends_the_link(const struct kind *kind)
{
	struct pair pair;
	begin(&pair, kind, true);
	pair.at_b.allocations_left = 1;
	send_int(pair.a, 0, 7);
	send_int(pair.a, 1, 8);
	inbox_wait_lost(&pair.at_b);
	inbox_wait_lost(&pair.at_a);
	assert_int_equal(pair.at_b.code, DFG_MEMORY);
	assert_non_null(strstr(pair.at_b.words, "no memory for i32[]"));
	assert_int_equal(pair.at_a.code, DFG_UNAVAILABLE);
	assert_int_equal(inbox_count(&pair.at_b), 1);
	fails(try_send_int(pair.a, 2, 9), DFG_UNAVAILABLE, "worker 5");
	fails(try_send_int(pair.b, 2, 9), DFG_UNAVAILABLE, "worker 3");
	end(&pair, kind);
}

static void a_closed_peer_is_lost_once(const struct kind *kind)
{
	struct pair pair;
	begin(&pair, kind, false);
	send_int(pair.a, 0, 7);
	inbox_wait(&pair.at_b, 1);
	close_link(&pair.b);
	inbox_wait_lost(&pair.at_a);
	assert_int_equal(pair.at_a.code, DFG_UNAVAILABLE);
	assert_non_null(strstr(pair.at_a.words, "worker 5"));
	for (int i = 0; i < 3; i++)
		fails(try_send_int(pair.a, 1, 8), DFG_UNAVAILABLE, "worker 5");
	assert_false(pair.a->kind->poll(pair.a));
	assert_int_equal(inbox_losses(&pair.at_b), 0);
	end(&pair, kind);
}

/* Nothing of a sink is called once its link is closed, whatever still comes. */
static void close_while_traffic_flows(const struct kind *kind)
{
	for (int turn = 0; turn < 30; turn++) {
		struct pair pair;
		begin(&pair, kind, false);
		struct sender sender = {.link = pair.a, .count = INT_MAX, .to_the_end = true};
		pthread_create(&sender.thread, NULL, send_many, &sender);
		inbox_wait(&pair.at_b, (size_t)turn * 10);
		close_link(&pair.b);
		size_t count = inbox_count(&pair.at_b);
		pthread_join(sender.thread, NULL);
		assert_int_equal(inbox_count(&pair.at_b), count);
		inbox_wait_lost(&pair.at_a);
		assert_int_equal(inbox_losses(&pair.at_b), 0);
		end(&pair, kind);
	}
}

/* One who polls alone is told of each delivery that is its own; none is lost between it and the link's thread. */
static void poll_tells_what_it_delivered(const struct kind *kind)
{
	struct pair pair;
	begin(&pair, kind, false);
	assert_false(pair.b->kind->poll(pair.b));
	for (int i = 0; i < 300; i++) {
		send_int(pair.a, (uint32_t)i, i);
		struct timespec until = seconds_from_now(60), now;
		do {
			size_t before = inbox_count(&pair.at_b);
			bool some = pair.b->kind->poll(pair.b);
			assert_false(some && inbox_count(&pair.at_b) == before);
			now = seconds_from_now(0);
		} while (inbox_count(&pair.at_b) <= (size_t)i && now.tv_sec < until.tv_sec);
		assert_int_equal(inbox_count(&pair.at_b), i + 1);
		assert_false(pair.b->kind->poll(pair.b));
	}
	end(&pair, kind);
}

struct echo {
	struct pair *pair;
	pthread_t thread;
	int turns;
};

static void *echo(void *arg)
{
	struct echo *echo = arg;
	unsigned random = 7;
	for (int i = 0; i < echo->turns; i++) {
		inbox_wait(&echo->pair->at_b, (size_t)i + 1);
		random = random * 1664525u + 1013904223u;
		if (random >> 30 == 0)
			usleep(random >> 20 & 511);
		if (try_send_int(echo->pair->b, (uint32_t)i, i))
			abort();
	}
	return NULL;
}

static void sleepers_are_woken(const struct kind *kind)
{
	enum { TURNS = 1000 };
	struct pair pair;
	begin(&pair, kind, false);
	struct echo there = {.pair = &pair, .turns = TURNS};
	pthread_create(&there.thread, NULL, echo, &there);
	unsigned random = 3;
	for (int i = 0; i < TURNS; i++) {
		random = random * 1664525u + 1013904223u;
		if (random >> 30 == 0)
			usleep(random >> 20 & 511);
		send_int(pair.a, (uint32_t)i, i);
		for (int polls = 0; random >> 30 == 1 && polls < 100000 && inbox_count(&pair.at_a) <= (size_t)i; polls++)
			pair.a->kind->poll(pair.a);
		inbox_wait(&pair.at_a, (size_t)i + 1);
		assert_int_equal(int_of(inbox_at(&pair.at_a, (size_t)i)), i);
	}
	pthread_join(there.thread, NULL);
	end(&pair, kind);
}

/* Answers within deliver, by the pointer that whoever makes the link gave for it. */
struct answering {
	struct pair *pair;
	int unset; /* deliveries before the pointer was */
	struct dfg_err *err;
};

static void answer(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct answering *answering = arg;
	struct dfg_link *link = __atomic_load_n(&answering->pair->b, __ATOMIC_ACQUIRE);
	answering->unset += !link;
	if (link && !answering->err)
		answering->err = link->kind->send(link, message);
	inbox_deliver(&answering->pair->at_b, peer, message);
}

static void lose_answering(void *arg, uint32_t peer, struct dfg_err *err)
{
	inbox_lost(&((struct answering *)arg)->pair->at_b, peer, err);
}

enum { EARLY = 20 };

static void send_early(struct pair *pair)
{
	for (int i = 0; i < EARLY; i++)
		send_int(pair->a, (uint32_t)i, 5 * i);
	usleep(20000); /* so that they are there before b is */
}

static void early_ones_are_answered(const struct kind *kind)
{
	for (int turn = 0; turn < 5; turn++) {
		struct pair pair = {.between = send_early};
		struct answering answering = {.pair = &pair};
		inbox_begin(&pair.at_a);
		inbox_begin(&pair.at_b);
		struct dfg_link_sink a = inbox_sink(&pair.at_a, false),
							 b = {.arg = &answering, .deliver = answer, .lost = lose_answering};
		kind->connect(&pair, &a, &b);
		if (!kind->shut) /* memory: there is nothing between */
			send_early(&pair);
		inbox_wait(&pair.at_b, EARLY);
		assert_int_equal(answering.unset, 0);
		succeeds(answering.err);
		inbox_wait(&pair.at_a, EARLY);
		for (int i = 0; i < EARLY; i++) {
			assert_int_equal(int_of(inbox_at(&pair.at_b, (size_t)i)), 5 * i);
			assert_int_equal(inbox_at(&pair.at_a, (size_t)i).key.number, i);
			assert_int_equal(int_of(inbox_at(&pair.at_a, (size_t)i)), 5 * i);
		}
		end(&pair, kind);
	}
}

static const struct claim {
	const char *words;
	void (*holds)(const struct kind *kind);
} claims[] = {
	{"messages come in order", in_order},
	{"tensors of every dtype cross, and of every rank", every_dtype},
	{"tensors of every size cross", every_size},
	{"keys of every depth cross", keys_of_every_depth},
	{"dead and control messages cross", dead_and_control},
	{"a handle stays where it is", handles_stay},
	{"a large tensor delays only later messages of its own key", large_and_small},
	{"send does not wait for the peer", sends_do_not_wait},
	{"many threads send at once, both ways", many_threads_both_ways},
	{"counts are right", counts_are_right},
	{"values come to the memory that the sink allocates", values_come_to_the_memory_of_the_sink},
	{"an allocation that fails ends the link", an_allocation_that_fails_ends_the_link},
	{"a closed peer is lost, once", a_closed_peer_is_lost_once},
	{"close while traffic flows", close_while_traffic_flows},
	{"poll is true where something was delivered", poll_tells_what_it_delivered},
	{"a peer that sleeps is woken", sleepers_are_woken},
	{"what comes before the link was returned is answered", early_ones_are_answered},
};

enum { KINDS = sizeof kinds / sizeof *kinds, CLAIMS = sizeof claims / sizeof *claims };

struct row {
	char name[100];
	const struct kind *kind;
	const struct claim *claim;
};

static void holds(void **state)
{
	const struct row *row = *state;
	row->claim->holds(row->kind);
}

int main(void)
{
	static struct row row[KINDS * CLAIMS];
	static struct CMUnitTest tests[KINDS * CLAIMS];
	for (int i = 0; i < KINDS * CLAIMS; i++) {
		row[i].kind = &kinds[i / CLAIMS];
		row[i].claim = &claims[i % CLAIMS];
		snprintf(row[i].name, sizeof row[i].name, "%s: %s", row[i].kind->name, row[i].claim->words);
		tests[i] = (struct CMUnitTest){row[i].name, holds, NULL, NULL, &row[i]};
	}
	return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
