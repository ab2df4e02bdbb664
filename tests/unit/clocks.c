#include "tests/unit/test.h"

#include "lib/exec/state/state.h"
#include "lib/exec/table/clock.h"

/* Of three replicas with a bound of 2, by the definition: a read at clock c needs all updates of clocks below c - 2. */
static void clock_waits_at_the_bound(void **state)
{
	(void)state;
	struct dfg_clocks clocks;
	succeeds(dfg_clocks_init(&clocks, 3, 2));
	for (uint64_t c = 0; c < 3; c++, clocks.clock[1]++)
		assert_true(dfg_clocks_may_read(&clocks, 1));
	assert_false(dfg_clocks_may_read(&clocks, 1)); /* at clock 3 it needs the updates of clock 0 */
	assert_true(dfg_clocks_may_read(&clocks, 0));
	clocks.clock[0] = 2;
	assert_false(dfg_clocks_may_read(&clocks, 1)); /* those of replica 2 too */
	clocks.clock[2] = 1;
	assert_int_equal(dfg_clocks_least(&clocks), 1);
	assert_true(dfg_clocks_may_read(&clocks, 1));
	clocks.clock[1] = 4;
	assert_false(dfg_clocks_may_read(&clocks, 1));
	clocks.clock[2] = 3; /* two clocks at once release the read */
	assert_true(dfg_clocks_may_read(&clocks, 1));
	dfg_clocks_release(&clocks);
}

static void clock_bound_is_checked(void **state)
{
	(void)state;
	struct dfg_clocks clocks;
	succeeds(dfg_clocks_init(&clocks, 2, 3));
	succeeds(dfg_clocks_check(&clocks, "w", 0, 1, 3));
	succeeds(dfg_clocks_check(&clocks, "w", 9, 1, 3));
	succeeds(dfg_clocks_check(&clocks, "w", 5, 1, 8));
	fails(dfg_clocks_check(&clocks, "w", 5, 1, 9), DFG_BUG,
		"variable 'w' is staler than --staleness allows: replica 1 has done 9 steps, but reads the updates of the "
		"first 5 only");
	dfg_clocks_release(&clocks);
}

/* No bound is too large to be added to a clock. */
static void clock_bound_may_be_huge(void **state)
{
	(void)state;
	struct dfg_clocks clocks;
	succeeds(dfg_clocks_init(&clocks, 2, UINT64_MAX));
	clocks.clock[0] = UINT64_MAX;
	assert_true(dfg_clocks_may_read(&clocks, 0));
	dfg_clocks_release(&clocks);
}

static float value_of(struct dfg_state *state, const char *name)
{
	struct dfg_tensor value;
	succeeds(dfg_variable_read(dfg_state_find(state, name), &value));
	float element = *(const float *)value.data;
	dfg_tensor_release(&value);
	return element;
}

static void assign(struct dfg_state *state, const char *name, float element)
{
	struct dfg_variable *variable;
	struct dfg_tensor value;
	succeeds(dfg_tensor_new(DFG_F32, &DFG_SHAPE_SCALAR, &value));
	*(float *)value.data = element;
	succeeds(dfg_state_variable(state, name, DFG_F32, &DFG_SHAPE_SCALAR, &variable));
	succeeds(dfg_variable_assign(variable, &value));
}

/* A copy keeps its value while the variable that it was made of is written, in place too. */
static void copies_of_variables_stay(void **arg)
{
	(void)arg;
	struct dfg_state common, own;
	struct dfg_tensor *tensor;
	bool copied;
	succeeds(dfg_state_init(&common));
	succeeds(dfg_state_init(&own));
	dfg_state_join(&own, &common);
	assign(&own, "w", 1);
	assign(&own, "v", 5);
	succeeds(dfg_state_copy(&own, "none", &copied));
	assert_false(copied);
	succeeds(dfg_state_copy(&own, "w", &copied));
	assert_true(copied);
	succeeds(dfg_variable_lock(dfg_state_find(&own, "w"), &tensor));
	*(float *)tensor->data = 2;
	dfg_variable_unlock(dfg_state_find(&own, "w"));
	dfg_state_use_copies(&own, true);
	assert_true(value_of(&own, "w") == 1);
	assert_true(value_of(&own, "v") == 5); /* it was not copied */
	assert_true(value_of(&common, "w") == 2);
	dfg_state_use_copies(&own, false);
	assert_true(value_of(&own, "w") == 2);
	succeeds(dfg_state_copy(&own, "w", &copied));
	dfg_state_use_copies(&own, true);
	assert_true(value_of(&own, "w") == 2);
	dfg_state_release(&own);
	dfg_state_release(&common);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_waits_at_the_bound),
		cmocka_unit_test(clock_bound_is_checked),
		cmocka_unit_test(clock_bound_may_be_huge),
		cmocka_unit_test(copies_of_variables_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
