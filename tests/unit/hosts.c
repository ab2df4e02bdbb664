#include "remote/hosts_replace.h"

#include "lib/base/mem.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/dfg-hosts-XXXXXX";
static struct dfg_arena arena;
static struct dfg_hosts hosts;

static int enter(void **state)
{
	(void)state;
	return !mkdtemp(directory) || chdir(directory) != 0;
}

static int leave(void **state)
{
	(void)state;
	dfg_arena_release(&arena);
	remove("hosts");
	return chdir("/") != 0 || rmdir(directory) != 0;
}

static struct dfg_err *read_text(const char *text)
{
	FILE *file = fopen("hosts", "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return dfg_hosts_read("./hosts", &arena, &hosts);
}

static const struct dfg_worker_host *worker(uint32_t number)
{
	assert_true(number < hosts.count);
	return &hosts.worker[number];
}

static void a_list_is_names_and_processes_here(void **state)
{
	(void)state;
	succeeds(dfg_hosts_read("alpha,local:2,beta", &arena, &hosts));
	assert_int_equal(hosts.count, 4);
	assert_string_equal(worker(0)->name, "alpha");
	assert_string_equal(worker(0)->ssh, "alpha");
	assert_string_equal(worker(0)->label, "w0");
	assert_false(worker(0)->local);
	assert_true(worker(1)->local && worker(2)->local);
	assert_string_equal(worker(2)->name, "w2");
	assert_string_equal(worker(3)->device, "/job:worker/task:3/device:CPU:0");
	assert_string_equal(hosts.device[3], worker(3)->device);
	assert_int_equal(worker(2)->machine, 1);
	assert_int_equal(worker(3)->machine, 3);
}

static void a_line_says_all_of_a_host(void **state)
{
	(void)state;
	succeeds(read_text(
		"# machines\n\n  alpha ssh=me@10.0.0.7:2222 addr=10.1.0.7 dfg=~/bin/dfg # fast\r\nbeta ssh=beta.example\n"));
	assert_int_equal(hosts.count, 2);
	assert_string_equal(worker(0)->user, "me");
	assert_string_equal(worker(0)->ssh, "10.0.0.7");
	assert_int_equal(worker(0)->port, 2222);
	assert_string_equal(worker(0)->addr, "10.1.0.7");
	assert_string_equal(worker(0)->dfg, "~/bin/dfg");
	assert_null(worker(1)->user);
	assert_string_equal(worker(1)->name, "beta");
	assert_string_equal(worker(1)->ssh, "beta.example");
	assert_int_equal(worker(1)->port, 0);
}

static void tasks_count_within_a_job_and_slots_are_workers(void **state)
{
	(void)state;
	succeeds(read_text("alpha slots=2\nbeta job=ps\nalpha job=ps\nlocal:1 job=ps\n"));
	assert_int_equal(hosts.count, 5);
	assert_string_equal(worker(1)->device, "/job:worker/task:1/device:CPU:0");
	assert_string_equal(worker(2)->device, "/job:ps/task:0/device:CPU:0");
	assert_string_equal(worker(4)->device, "/job:ps/task:2/device:CPU:0");
	assert_string_equal(worker(1)->name, "alpha");
	assert_int_equal(worker(1)->machine, 0);
	assert_int_equal(worker(3)->machine, 0);
}

static void ipv6_addresses_stand_in_brackets_before_a_port(void **state)
{
	(void)state;
	succeeds(read_text("alpha ssh=me@[fe80::1]:22 addr=fe80::2\nbeta ssh=[::1]\n"));
	assert_string_equal(worker(0)->ssh, "fe80::1");
	assert_int_equal(worker(0)->port, 22);
	assert_string_equal(worker(0)->addr, "fe80::2");
	assert_string_equal(worker(1)->ssh, "::1");
}

static void a_fault_names_file_and_line_and_the_nearest_option(void **state)
{
	(void)state;
	fails(
		read_text("alpha\nbeta slot=2\n"), DFG_CONFIG, "./hosts:2: there is no option 'slot=', did you mean 'slots='?");
	fails(read_text("alpha beta\n"), DFG_CONFIG, "./hosts:1: 'beta' is not an option");
	fails(read_text("alpha slots=0\n"), DFG_CONFIG, "slots= must be a number from 1 to 1024, not '0'");
	fails(read_text("alpha slots=1 slots=2\n"), DFG_CONFIG, "slots= is given twice");
	fails(read_text("alpha ssh=me@a:0\n"), DFG_CONFIG, "a port must be a number from 1 to 65535, not '0'");
	fails(read_text("alpha ssh=[::1]x\n"), DFG_CONFIG, "ssh= must be USER@ADDR:PORT");
	fails(read_text("alpha job=2\n"), DFG_CONFIG, "'2' is not a job");
	fails(read_text("alpha dfg=-x\n"), DFG_CONFIG, "dfg= must be the path");
	fails(read_text("alpha\n\nalpha\n"), DFG_CONFIG, "./hosts:3: 'alpha' is listed twice");
	fails(read_text("local:2 ssh=me@a\n"), DFG_CONFIG, "ssh= does not apply to processes of this machine");
	fails(read_text("alpha slots=1000\nbeta slots=25\n"), DFG_CONFIG, "the hosts have more than 1024 workers");
	fails(read_text("# nobody\n"), DFG_CONFIG, "./hosts: lists no host");
	fails(
		dfg_hosts_read("local:0", &arena, &hosts), DFG_USAGE, "N of local:N must be a number from 1 to 1024, not '0'");
	fails(dfg_hosts_read("./none", &arena, &hosts), DFG_NO_INPUT, "./none");
}

static void a_name_is_never_an_option_or_a_piece_of_shell(void **state)
{
	(void)state;
	fails(read_text("-oProxyCommand=x\n"), DFG_CONFIG, "./hosts:1: '-oProxyCommand=x' is not a valid host");
	fails(read_text("a;b\n"), DFG_CONFIG, "'a;b' is not a valid host");
	fails(read_text("alpha ssh=$(id)@a\n"), DFG_CONFIG, "'$(id)' is not a valid user");
	fails(read_text("alpha ssh=@a\n"), DFG_CONFIG, "the user is empty");
	fails(read_text("alpha ssh=me@-v\n"), DFG_CONFIG, "'-v' is not a valid address");
	fails(read_text("alpha ssh=me@\n"), DFG_CONFIG, "the address is empty");
	fails(read_text("alpha addr=a/b\n"), DFG_CONFIG, "'a/b' is not a valid address");
	fails(read_text("al\x01pha\n"), DFG_CONFIG, "'al\\x01pha' is not a valid host");
	fails(dfg_hosts_read("alpha,,beta", &arena, &hosts), DFG_USAGE, "hosts 'alpha,,beta': the host is empty");
	fails(dfg_hosts_read("", &arena, &hosts), DFG_USAGE, "the host is empty");
}

static void what_exists_is_a_file_if_it_is_no_folder(void **state)
{
	(void)state;
	dfg_err_free(read_text("alpha\n"));
	succeeds(dfg_hosts_read("hosts", &arena, &hosts));
	assert_string_equal(worker(0)->name, "alpha");
	succeeds(dfg_hosts_read_list("hosts", &arena, &hosts));
	assert_string_equal(worker(0)->name, "hosts");
	remove("hosts");
	assert_int_equal(mkdir("hosts", 0700), 0);
	struct dfg_err *err = dfg_hosts_read("hosts", &arena, &hosts);
	rmdir("hosts");
	succeeds(err);
	assert_string_equal(worker(0)->name, "hosts");
}

static void finds_by_name_and_label(void **state)
{
	(void)state;
	uint32_t number = 9;
	succeeds(read_text("alpha slots=2\nbeta\n"));
	succeeds(dfg_hosts_find(&hosts, "beta", &number));
	assert_int_equal(number, 2);
	succeeds(dfg_hosts_find(&hosts, "w1", &number));
	assert_int_equal(number, 1);
	fails(dfg_hosts_find(&hosts, "bta", &number), DFG_DATA, "host 'bta' is not in --hosts; did you mean 'beta'?");
}

/* Reads a list as the hosts of a run, and another one as that list later. */
static struct dfg_hosts before_and_after(const char *before, const char *after)
{
	succeeds(read_text(before));
	struct dfg_hosts run = hosts;
	succeeds(read_text(after));
	return run;
}

static void a_worker_that_starts_again_takes_a_host_that_no_other_has(void **state)
{
	(void)state;
	uint32_t without;
	struct dfg_hosts run = before_and_after("alpha\nbeta\ngamma\n", "delta\nalpha\nepsilon port=7000\ngamma\n");
	succeeds(dfg_hosts_replace(&run, 1, 1, &hosts, &without));
	assert_int_equal(without, DFG_NONE);
	assert_string_equal(run.worker[1].name, "delta");
	assert_string_equal(run.worker[1].ssh, "delta");
	assert_string_equal(run.worker[1].label, "w1");
	assert_string_equal(run.worker[1].device, "/job:worker/task:1/device:CPU:0");
	succeeds(dfg_hosts_replace(&run, 1, 1, &hosts, &without)); /* which it keeps from then on */
	assert_string_equal(run.worker[1].name, "delta");
	succeeds(dfg_hosts_replace(&run, 0, 1, &hosts, &without));
	assert_string_equal(run.worker[0].name, "alpha");

	/* two workers of a replica; the second host is listed for one worker less than before */
	run = before_and_after("alpha slots=2\nbeta slots=2\n", "beta\nalpha slots=2\ngamma slots=2\n");
	succeeds(dfg_hosts_replace(&run, 2, 2, &hosts, &without));
	assert_int_equal(without, DFG_NONE);
	assert_string_equal(run.worker[2].name, "beta");
	assert_string_equal(run.worker[3].name, "gamma");
	assert_int_equal(run.worker[1].machine, 0);
	assert_int_equal(run.worker[2].machine, 2);
	assert_int_equal(run.worker[3].machine, 3);
}

static void a_worker_for_which_no_host_is_left_keeps_its_own(void **state)
{
	(void)state;
	uint32_t without;
	struct dfg_hosts run = before_and_after("alpha\nbeta\ngamma job=ps\n", "alpha\ndelta job=ps\n");
	succeeds(dfg_hosts_replace(&run, 1, 1, &hosts, &without));
	assert_int_equal(without, 1);
	assert_string_equal(run.worker[1].name, "beta");

	/* workers that are linked by memory alone cannot be reached from another machine */
	run = before_and_after("local:1\nlocal:1 dfg=./first\n", "local:1\nalpha\n");
	succeeds(dfg_hosts_replace(&run, 1, 1, &hosts, &without));
	assert_int_equal(without, 1);
	run = before_and_after("local:1\nlocal:1 dfg=./first\n", "alpha\nlocal:1 dfg=./second\nlocal:1\n");
	succeeds(dfg_hosts_replace(&run, 1, 1, &hosts, &without));
	assert_int_equal(without, DFG_NONE);
	assert_string_equal(run.worker[1].dfg, "./second");
	assert_string_equal(run.worker[1].name, "w1");
}

static void any_text_is_a_list_or_an_error_that_names_its_line(void **state)
{
	(void)state;
	static const char *const piece[] = {"alpha", "beta", "local:", "2", " ", "\t", "\n", "ssh=", "me@", "[::1]", ":22",
		"=", "slots=", "addr=", "dfg=", "job=", "#", "\r", "-", "\x7f", "\xff", "99999999999"};
	uint32_t random = 1;
	for (int i = 0; i < 2000; i++) {
		char text[400] = "";
		for (int k = 0; k < 20; k++) {
			random = random * 1664525 + 1013904223;
			strcat(text, piece[(random >> 16) % (sizeof piece / sizeof *piece)]);
		}
		struct dfg_arena own = {0};
		FILE *file = fopen("hosts", "w");
		assert_non_null(file);
		fputs(text, file);
		fclose(file);
		struct dfg_err *err = dfg_hosts_read("./hosts", &own, &hosts);
		assert_true(err ? !strncmp(err->text, "./hosts:", 8) : hosts.count > 0);
		dfg_err_free(err);
		dfg_arena_release(&own);
	}
}

static void a_short_memory_is_an_error(void **state)
{
	(void)state;
	struct dfg_allocator *heap = dfg_mem;
	dfg_err_free(read_text("alpha ssh=me@a slots=3\nlocal:2\n"));
	long takes = 0;
	for (bool done = false; !done; takes++) {
		struct dfg_mem_failing failing;
		struct dfg_arena own = {0};
		dfg_mem_failing_init(&failing, heap, takes, false);
		dfg_mem = &failing.base;
		struct dfg_err *err = dfg_hosts_read("./hosts", &own, &hosts);
		dfg_mem = heap;
		done = !err;
		assert_true(!err || err->code == DFG_MEMORY);
		dfg_err_free(err);
		dfg_arena_release(&own);
	}
	assert_true(takes > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_names_and_processes_here),
		cmocka_unit_test(a_line_says_all_of_a_host),
		cmocka_unit_test(tasks_count_within_a_job_and_slots_are_workers),
		cmocka_unit_test(ipv6_addresses_stand_in_brackets_before_a_port),
		cmocka_unit_test(a_fault_names_file_and_line_and_the_nearest_option),
		cmocka_unit_test(a_name_is_never_an_option_or_a_piece_of_shell),
		cmocka_unit_test(what_exists_is_a_file_if_it_is_no_folder),
		cmocka_unit_test(finds_by_name_and_label),
		cmocka_unit_test(a_worker_that_starts_again_takes_a_host_that_no_other_has),
		cmocka_unit_test(a_worker_for_which_no_host_is_left_keeps_its_own),
		cmocka_unit_test(any_text_is_a_list_or_an_error_that_names_its_line),
		cmocka_unit_test(a_short_memory_is_an_error),
	};
	return cmocka_run_group_tests_name("hosts", tests, enter, leave);
}
