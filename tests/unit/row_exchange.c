#include "tests/unit/test.h"

#include "lib/base/pool.h"
#include "lib/exec/parallel/row_exchange.h"
#include "lib/exec/transport/link_memory.h"

#include <string.h>

/* Two workers in one process, whose links are memory. */
struct pair {
	struct dfg_row_exchange *exchange[2];
	struct dfg_link *link[2];
};

static void deliver(void *arg, uint32_t peer, struct dfg_message *message)
{
	struct dfg_row_exchange **exchange = arg;
	dfg_row_exchange_deliver(*exchange, peer, message);
}

static void lost(void *arg, uint32_t peer, struct dfg_err *err)
{
	(void)arg, (void)peer;
	dfg_err_free(err);
}

static void begin_pair(struct pair *pair)
{
	const struct dfg_link_sink one = {.arg = &pair->exchange[0], .deliver = deliver, .lost = lost};
	const struct dfg_link_sink two = {.arg = &pair->exchange[1], .deliver = deliver, .lost = lost};
	succeeds(dfg_link_memory_pair(&one, 1, &two, 0, &pair->link[0], &pair->link[1]));
	for (uint32_t w = 0; w < 2; w++) {
		const struct dfg_link *link[2] = {w ? pair->link[1] : NULL, w ? NULL : pair->link[0]};
		succeeds(dfg_row_exchange_new(link, w, 2, &pair->exchange[w]));
		dfg_row_exchange_begin(pair->exchange[w], 1, 5);
	}
}

static void end_pair(struct pair *pair)
{
	for (int w = 0; w < 2; w++)
		pair->link[w]->kind->close(pair->link[w]);
	for (int w = 0; w < 2; w++)
		dfg_row_exchange_free(pair->exchange[w]);
}

static const struct dfg_rows_key key = {3, 1, 17};

static void send_text(struct pair *pair, const struct dfg_rows_key *to, const char *text)
{
	struct dfg_tensor bytes;
	succeeds(dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR((int64_t)strlen(text)), &bytes));
	memcpy(bytes.data, text, strlen(text));
	succeeds(dfg_row_exchange_send(pair->exchange[0], 1, to, &bytes));
	dfg_tensor_release(&bytes);
}

static void expect_text(struct pair *pair, const struct dfg_rows_key *from, const char *text)
{
	struct dfg_tensor bytes;
	succeeds(dfg_row_exchange_take(pair->exchange[1], 0, from, &bytes));
	assert_int_equal(dfg_tensor_bytes(&bytes), strlen(text));
	assert_memory_equal(bytes.data, text, strlen(text));
	dfg_tensor_release(&bytes);
}

static void messages_are_found_by_key(void **unused)
{
	struct pair pair;
	const struct dfg_rows_key other[] = {{4, 1, 17}, {3, 2, 17}, {3, 1, 18}};
	(void)unused;
	begin_pair(&pair);
	send_text(&pair, &other[0], "channel");
	send_text(&pair, &other[1], "array");
	send_text(&pair, &other[2], "tag");
	send_text(&pair, &key, "rows");
	expect_text(&pair, &key, "rows");
	expect_text(&pair, &other[2], "tag");
	expect_text(&pair, &other[0], "channel");
	expect_text(&pair, &other[1], "array");
	assert_int_equal(dfg_row_exchange_sent(pair.exchange[0], 1).messages, 4);
	assert_int_equal(dfg_row_exchange_sent(pair.exchange[0], 1).bytes, 19);
	end_pair(&pair);
}

/* A worker may begin the next step before another one has. */
static void early_messages_wait_and_old_ones_are_dropped(void **unused)
{
	struct pair pair;
	(void)unused;
	begin_pair(&pair);
	send_text(&pair, &key, "old");
	dfg_row_exchange_begin(pair.exchange[0], 2, 5);
	send_text(&pair, &key, "new");
	dfg_row_exchange_begin(pair.exchange[1], 2, 5);
	expect_text(&pair, &key, "new");
	end_pair(&pair);
}

static void waits_end(void **unused)
{
	struct pair pair;
	struct dfg_tensor bytes;
	(void)unused;
	begin_pair(&pair);
	dfg_row_exchange_begin(pair.exchange[1], 1, 0.01);
	fails(dfg_row_exchange_take(pair.exchange[1], 0, &key, &bytes), DFG_DEADLINE, "worker w0 has not sent its part");
	dfg_row_exchange_fail(pair.exchange[1], DFG_ERR(DFG_STOPPED, "failed elsewhere"));
	fails(dfg_row_exchange_take(pair.exchange[1], 0, &key, &bytes), DFG_STOPPED, "failed elsewhere");
	dfg_row_exchange_begin(pair.exchange[1], 2, 0.01); /* the next step is not failed */
	fails(dfg_row_exchange_take(pair.exchange[1], 0, &key, &bytes), DFG_DEADLINE, "");
	dfg_row_exchange_lost(pair.exchange[1], DFG_ERR(DFG_UNAVAILABLE, "w0 is lost"));
	dfg_row_exchange_begin(pair.exchange[1], 3, 5); /* all later steps are */
	fails(dfg_row_exchange_take(pair.exchange[1], 0, &key, &bytes), DFG_UNAVAILABLE, "w0 is lost");
	end_pair(&pair);
}

static void malformed_messages_are_refused(void **unused)
{
	struct pair pair;
	struct dfg_tensor bytes;
	struct dfg_message message = {.kind = DFG_MESSAGE_ROWS, .key = {.step = 1, .number = 3, .depth = 1}};
	(void)unused;
	begin_pair(&pair);
	succeeds(dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR(2), &message.tensor));
	dfg_row_exchange_deliver(pair.exchange[1], 0, &message); /* takes the tensor */
	fails(dfg_row_exchange_take(pair.exchange[1], 0, &key, &bytes), DFG_PROTOCOL, "malformed");
	end_pair(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_found_by_key),
		cmocka_unit_test(early_messages_wait_and_old_ones_are_dropped),
		cmocka_unit_test(waits_end),
		cmocka_unit_test(malformed_messages_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
