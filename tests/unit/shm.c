#define _GNU_SOURCE
#include "tests/unit/shm_ends.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shared memory between processes: peers that die or stop, and strangers. What it has to do as a link is in link.c. */

/* A process of its own, which connects to this one. */
struct process {
	pid_t pid;
	struct dfg_shm *shm;
	struct dfg_link *link;
	struct inbox inbox;
};

/* In the child: whatever fails there ends it, and the parent hears of it as of any death. */
static void must(struct dfg_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "child: %s\n", err->text);
	_exit(1);
}

static _Noreturn void child(int pipe, void (*act)(struct dfg_link *link, struct inbox *inbox))
{
	char address[DFG_SHM_ADDRESS] = "";
	struct inbox inbox;
	struct dfg_shm *shm;
	struct dfg_link *link;
	inbox_begin(&inbox);
	must(shm_new(THERE, &inbox, &shm));
	if (read(pipe, address, sizeof address - 1) <= 0)
		_exit(1);
	must(dfg_shm_connect(shm, HERE, address, MS, &link));
	act(link, &inbox);
	dfg_shm_free(shm);
	_exit(0);
}

static void begin(struct process *process, void (*act)(struct dfg_link *link, struct inbox *inbox))
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	process->pid = fork(); /* while this process has one thread */
	assert_true(process->pid >= 0);
	if (!process->pid) {
		close(ends[1]);
		child(ends[0], act);
	}
	close(ends[0]);
	inbox_begin(&process->inbox);
	succeeds(shm_new(HERE, &process->inbox, &process->shm));
	const char *address = dfg_shm_address(process->shm);
	assert_int_equal(write(ends[1], address, strlen(address)), strlen(address));
	close(ends[1]);
	succeeds(dfg_shm_accept(process->shm, THERE, MS, &process->link));
}

static void end(struct process *process)
{
	int status;
	dfg_shm_free(process->shm);
	inbox_end(&process->inbox);
	kill(process->pid, SIGKILL);
	assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
}

/* Sends back what comes, until the other closes. */
static void echo(struct dfg_link *link, struct inbox *inbox)
{
	for (size_t i = 0;; i++) {
		struct timespec until = seconds_from_now(60);
		pthread_mutex_lock(&inbox->lock);
		while (inbox->count <= i && !inbox->lost)
			if (!inbox_sleep(inbox, &until))
				_exit(1);
		bool there = inbox->count > i;
		pthread_mutex_unlock(&inbox->lock);
		if (!there)
			return;
		struct dfg_message message = inbox_at(inbox, i);
		must(put_message(link, &message));
	}
}

static void messages_cross_processes(void **state)
{
	(void)state;
	struct process process;
	begin(&process, echo);
	for (int i = 0; i < 1000; i++) {
		send_int(process.link, (uint32_t)i, i);
		inbox_wait(&process.inbox, (size_t)i + 1);
		assert_int_equal(int_of(inbox_at(&process.inbox, (size_t)i)), i);
	}
	struct dfg_shape shape = {.rank = 2, .dim = {64, 1 << 20}};
	struct dfg_message message = {.tensor = tensor_of(DFG_I8, &shape, 3)};
	succeeds(put_message(process.link, &message));
	inbox_wait(&process.inbox, 1001);
	struct dfg_message got = inbox_at(&process.inbox, 1000);
	expect_tensor(&got.tensor, &message.tensor);
	dfg_tensor_release(&message.tensor);
	end(&process);
}

enum { LAST_WORDS = 1000 };

static void say_and_die(struct dfg_link *link, struct inbox *inbox)
{
	(void)inbox;
	for (int i = 0; i < LAST_WORDS; i++)
		must(try_send_int(link, (uint32_t)i, i));
	raise(SIGKILL);
}

static void what_a_peer_said_before_it_died_arrives(void **state)
{
	(void)state;
	struct process process;
	begin(&process, say_and_die);
	inbox_wait_lost(&process.inbox);
	assert_int_equal(inbox_count(&process.inbox), LAST_WORDS);
	assert_int_equal(process.inbox.code, DFG_UNAVAILABLE);
	assert_non_null(strstr(process.inbox.words, "worker 1 has closed the link or ended"));
	fails(try_send_int(process.link, 0, 0), DFG_UNAVAILABLE, "worker 1");
	end(&process);
}

static void send_large_for_ever(struct dfg_link *link, struct inbox *inbox)
{
	(void)inbox;
	struct dfg_shape shape = DFG_SHAPE_VECTOR(5 << 20);
	for (uint32_t i = 0;; i++) {
		struct dfg_message message = {.key = {.number = i}, .tensor = tensor_of(DFG_U8, &shape, i)};
		must(put_message(link, &message));
		dfg_tensor_release(&message.tensor);
	}
}

static void a_peer_killed_amidst_a_tensor_leaves_none(void **state)
{
	(void)state;
	struct process process;
	begin(&process, send_large_for_ever);
	inbox_wait(&process.inbox, 2);
	kill(process.pid, SIGKILL);
	inbox_wait_lost(&process.inbox);
	struct dfg_shape shape = DFG_SHAPE_VECTOR(5 << 20);
	for (uint32_t i = 0; i < inbox_count(&process.inbox); i++) {
		struct dfg_message got = inbox_at(&process.inbox, i);
		struct dfg_tensor wanted = tensor_of(DFG_U8, &shape, i);
		expect_tensor(&got.tensor, &wanted);
		dfg_tensor_release(&wanted);
	}
	end(&process);
}

static void a_stopped_peer_is_waited_for_by_nobody(void **state)
{
	(void)state;
	enum { COUNT = 40 };
	struct process process;
	begin(&process, echo);
	kill(process.pid, SIGSTOP);
	struct dfg_shape shape = DFG_SHAPE_VECTOR(1 << 18);
	for (uint32_t i = 0; i < COUNT; i++) {
		struct dfg_message message = {.key = {.number = i}, .tensor = tensor_of(DFG_U8, &shape, i)};
		succeeds(put_message(process.link, &message));
		dfg_tensor_release(&message.tensor);
	}
	assert_int_equal(inbox_count(&process.inbox), 0);
	assert_int_equal(inbox_losses(&process.inbox), 0);
	kill(process.pid, SIGCONT);
	inbox_wait(&process.inbox, COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		struct dfg_message got = inbox_at(&process.inbox, i);
		struct dfg_tensor wanted = tensor_of(DFG_U8, &shape, got.key.number);
		expect_tensor(&got.tensor, &wanted);
		dfg_tensor_release(&wanted);
	}
	end(&process);
}

static void a_stopped_peer_is_lost_when_its_lease_is_over(void **state)
{
	(void)state;
	struct process process;
	lease_ms = 200;
	begin(&process, echo);
	send_int(process.link, 0, 1);
	inbox_wait(&process.inbox, 1);
	usleep(500000);
	assert_int_equal(inbox_losses(&process.inbox), 0);
	kill(process.pid, SIGSTOP);
	inbox_wait_lost(&process.inbox);
	assert_int_equal(process.inbox.code, DFG_UNAVAILABLE);
	assert_memory_equal(process.inbox.words, "worker 1 has been silent for 0.", 31);
	end(&process);
	lease_ms = 60000;
}

static void who_has_died_listens_no_more(void **state)
{
	(void)state;
	struct process process;
	char address[DFG_SHM_ADDRESS];
	struct dfg_link *link;
	begin(&process, echo);
	snprintf(address, sizeof address, "%s", dfg_shm_address(process.shm));
	end(&process);
	inbox_begin(&process.inbox);
	succeeds(shm_new(HERE, &process.inbox, &process.shm));
	fails(dfg_shm_connect(process.shm, 7, address, MS, &link), DFG_UNAVAILABLE,
		"worker 7: no process listens at its address");
	dfg_shm_free(process.shm);
	inbox_end(&process.inbox);
}

static void only_who_knows_the_secret_is_let_in(void **state)
{
	(void)state;
	struct ends ends;
	struct dfg_shm *stranger;
	struct dfg_link *link;
	struct inbox inbox;
	char other[sizeof secret];
	listen_both(&ends);
	inbox_begin(&inbox);
	memcpy(other, secret, sizeof other);
	other[sizeof other - 2] ^= 1;
	struct dfg_shm_options options = {.self = 9, .secret = other, .sink = inbox_sink(&inbox, false)};
	succeeds(dfg_shm_new(&options, &stranger));
	fails(dfg_shm_connect(stranger, THERE, dfg_shm_address(ends.b), MS, &link), DFG_REFUSED,
		"worker 1: it refuses the secret of this run");
	fails(dfg_shm_accept(ends.b, 9, 20, &link), DFG_DEADLINE, "worker 9 did not connect for a link within 20 ms");
	options.secret = "short";
	fails(dfg_shm_new(&options, &stranger), DFG_CONFIG, "must have 64");
	dfg_shm_free(stranger);
	inbox_end(&inbox);
	link_both(&ends);
	free_both(&ends);
}

static void a_peer_must_be_who_it_should_be(void **state)
{
	(void)state;
	struct ends ends;
	struct dfg_link *link;
	listen_both(&ends);
	fails(dfg_shm_connect(ends.a, 6, dfg_shm_address(ends.b), MS, &link), DFG_PROTOCOL, "worker 6: it is worker 1");
	free_both(&ends);
}

static void an_address_may_be_any_text(void **state)
{
	(void)state;
	struct ends ends;
	struct dfg_link *link;
	char address[DFG_SHM_ADDRESS + 8];
	listen_both(&ends);
	const char *good = dfg_shm_address(ends.b);
	assert_true(dfg_shm_reaches(ends.a, good));
	snprintf(address, sizeof address, "%s0", good);
	assert_false(dfg_shm_reaches(ends.a, address));
	snprintf(address, sizeof address, "%.*s/", (int)strlen(good) - 1, good);
	assert_false(dfg_shm_reaches(ends.a, address));
	snprintf(address, sizeof address, "x%s", good + 1);
	assert_false(dfg_shm_reaches(ends.a, address));
	assert_false(dfg_shm_reaches(ends.a, ""));
	fails(dfg_shm_connect(ends.a, THERE, address, MS, &link), DFG_UNAVAILABLE, "its address is of another host");
	free_both(&ends);
}

static void peers_need_not_agree_who_is_first(void **state)
{
	(void)state;
	enum { PEERS = 6 };
	struct dfg_shm *shm[PEERS];
	struct inbox inbox[PEERS];
	struct dfg_link *link[PEERS][PEERS];
	for (uint32_t i = 0; i < PEERS; i++) {
		inbox_begin(&inbox[i]);
		succeeds(shm_new(i, &inbox[i], &shm[i]));
	}
	for (uint32_t i = 0; i < PEERS; i++)
		for (uint32_t k = PEERS - 1; k > i; k--)
			succeeds(dfg_shm_connect(shm[i], k, dfg_shm_address(shm[k]), MS, &link[i][k]));
	for (uint32_t k = 0; k < PEERS; k++)
		for (uint32_t i = 0; i < k; i++)
			succeeds(dfg_shm_accept(shm[k], i, MS, &link[k][i]));
	for (uint32_t i = 0; i < PEERS; i++)
		for (uint32_t k = 0; k < PEERS; k++)
			if (i != k)
				send_int(link[i][k], i, (int32_t)k);
	for (uint32_t i = 0; i < PEERS; i++) {
		inbox_wait(&inbox[i], PEERS - 1);
		for (size_t n = 0; n < PEERS - 1; n++)
			assert_int_equal(int_of(inbox_at(&inbox[i], n)), i);
	}
	for (int i = 0; i < PEERS; i++) {
		dfg_shm_free(shm[i]);
		inbox_end(&inbox[i]);
	}
}

/* Connects to the listener of an address, as a program that is not ours may. */
static int raw_socket(const char *address)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "dfg.%s", strrchr(address, '.') + 1);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	size_t all = offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length;
	assert_int_equal(connect(fd, (struct sockaddr *)&name, (socklen_t)all), 0);
	return fd;
}

static void strangers_hold_up_nobody(void **state)
{
	(void)state;
	enum { SILENT = 50 };
	struct ends ends;
	int silent[SILENT];
	char answer[1000];
	listen_both(&ends);
	for (int i = 0; i < SILENT; i++)
		silent[i] = raw_socket(dfg_shm_address(ends.b));
	int babbler = raw_socket(dfg_shm_address(ends.b));
	assert_int_equal(write(babbler, "GET / HTTP/1.1", 14), 14);
	while (read(babbler, answer, sizeof answer) > 0)
		assert_null(memmem(answer, sizeof answer, secret, 16));
	close(babbler);
	link_both(&ends);
	send_int(ends.link_a, 0, 5);
	inbox_wait(&ends.at_b, 1);
	for (int i = 0; i < SILENT; i++)
		close(silent[i]);
	free_both(&ends);
}

static int entries(const char *path)
{
	int count = 0;
	DIR *folder = opendir(path);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void nothing_is_left_behind(void **state)
{
	(void)state;
	int files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
	for (int i = 0; i < 20; i++) {
		struct ends ends;
		listen_both(&ends);
		link_both(&ends);
		if (i % 2)
			ends.link_a->kind->close(ends.link_a);
		if (i % 3)
			succeeds(dfg_shm_connect(ends.a, THERE, dfg_shm_address(ends.b), MS, &ends.link_a));
		free_both(&ends);
	}
	assert_int_equal(entries("/proc/self/fd"), files);
	/* a thread of an earlier test may have ended meanwhile */
	assert_true(entries("/proc/self/task") <= threads);
}

/* If an allocation fails, the call that needed it returns an error, or the link ends. */
static void memory_that_runs_out_is_an_error(void **state)
{
	(void)state;
	struct dfg_allocator *heap = dfg_mem;
	struct dfg_mem_failing failing;
	struct dfg_shape shape = DFG_SHAPE_VECTOR(3);
	struct dfg_tensor strings = tensor_of(DFG_STRING, &shape, 1);
	bool failed = true;
	for (long n = 0; failed; n++) {
		struct ends ends = {0};
		struct dfg_message message = {.tensor = strings};
		inbox_begin(&ends.at_a);
		inbox_begin(&ends.at_b);
		assert_true(dfg_reserve(&ends.at_b.message, &ends.at_b.capacity, 10, sizeof *ends.at_b.message));
		dfg_mem_failing_init(&failing, heap, n, false);
		dfg_mem = &failing.base;
		struct dfg_err *err = shm_new(HERE, &ends.at_a, &ends.a);
		if (!err)
			err = shm_new(THERE, &ends.at_b, &ends.b);
		if (!err)
			err = dfg_shm_connect(ends.a, THERE, dfg_shm_address(ends.b), MS, &ends.link_a);
		if (!err)
			err = dfg_shm_accept(ends.b, HERE, MS, &ends.link_b);
		if (!err)
			err = put_message(ends.link_a, &message);
		if (!err)
			err = try_send_int(ends.link_a, 0, 1);
		struct timespec until = seconds_from_now(60);
		pthread_mutex_lock(&ends.at_b.lock);
		while (!err && ends.at_b.count < 2 && !ends.at_b.lost)
			assert_true(inbox_sleep(&ends.at_b, &until));
		assert_true(!ends.at_b.lost || ends.at_b.code == DFG_MEMORY);
		failed = err || ends.at_b.lost;
		pthread_mutex_unlock(&ends.at_b.lock);
		dfg_err_free(err);
		dfg_shm_free(ends.a);
		dfg_shm_free(ends.b);
		dfg_mem = heap;
		inbox_end(&ends.at_a);
		inbox_end(&ends.at_b);
		assert_true(n < 100);
	}
	dfg_tensor_release(&strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_cross_processes),
		cmocka_unit_test(what_a_peer_said_before_it_died_arrives),
		cmocka_unit_test(a_peer_killed_amidst_a_tensor_leaves_none),
		cmocka_unit_test(a_stopped_peer_is_waited_for_by_nobody),
		cmocka_unit_test(a_stopped_peer_is_lost_when_its_lease_is_over),
		cmocka_unit_test(who_has_died_listens_no_more),
		cmocka_unit_test(only_who_knows_the_secret_is_let_in),
		cmocka_unit_test(a_peer_must_be_who_it_should_be),
		cmocka_unit_test(an_address_may_be_any_text),
		cmocka_unit_test(peers_need_not_agree_who_is_first),
		cmocka_unit_test(strangers_hold_up_nobody),
		cmocka_unit_test(nothing_is_left_behind),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};
	return cmocka_run_group_tests_name("shm", tests, NULL, NULL);
}
