#include "tests/unit/hubs.h"

#include <stdlib.h>
#include <unistd.h>

/* Links over HTTP/2 between two hubs of this process. */

static struct dfg_tensor numbers(int64_t count, uint32_t from)
{
	struct dfg_tensor tensor;
	succeeds(dfg_tensor_new(DFG_I32, &DFG_SHAPE_VECTOR(count), &tensor));
	for (int64_t i = 0; i < count; i++)
		((uint32_t *)tensor.data)[i] = (from + (uint32_t)i) * 2654435761u;
	return tensor;
}

static void send_numbers(struct hubs_end *end, uint32_t number, int64_t count)
{
	struct dfg_message message = {.key = {.step = 7, .number = number}, .tensor = numbers(count, number)};
	succeeds(end->link->kind->send(end->link, &message));
	dfg_tensor_release(&message.tensor);
}

static void has_numbers(const struct dfg_message *message, int64_t count)
{
	struct dfg_tensor want = numbers(count, message->key.number);
	assert_int_equal(message->key.step, 7);
	assert_int_equal(message->tensor.dtype, DFG_I32);
	assert_int_equal(message->tensor.shape.rank, 1);
	assert_int_equal(message->tensor.shape.dim[0], count);
	assert_memory_equal(message->tensor.data, want.data, (size_t)count * 4);
	dfg_tensor_release(&want);
}

static void there_and_back(bool launcher, bool tls)
{
	struct hubs_end *end = calloc(2, sizeof *end);
	hubs_open(end, launcher, tls);
	for (uint32_t i = 0; i < 2; i++) {
		send_numbers(&end[i], 10 + i, 3);
		send_numbers(&end[i], 20 + i, 3000000);
		hubs_await(&end[1 - i], 2);
		assert_int_equal(end[1 - i].came, 2);
		has_numbers(&end[1 - i].message[0], 3);
		has_numbers(&end[1 - i].message[1], 3000000);
		for (int k = 0; k < 2; k++)
			dfg_tensor_release(&end[1 - i].message[k].tensor);
	}
	hubs_close(end);
	free(end);
}

static void two_workers_exchange_tensors(void **state)
{
	(void)state;
	there_and_back(false, false);
}

static void launcher_and_worker_share_one_post(void **state)
{
	(void)state;
	there_and_back(true, false);
}

static void the_same_under_tls(void **state)
{
	(void)state;
	there_and_back(false, true);
	there_and_back(true, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_workers_exchange_tensors),
		cmocka_unit_test(launcher_and_worker_share_one_post),
		cmocka_unit_test(the_same_under_tls),
	};
	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
