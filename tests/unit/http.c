#include "tests/unit/http_links.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Links over HTTP/2 between two workers in this process. */

static struct dfg_tensor numbers(int64_t count, uint32_t from)
{
	struct dfg_tensor tensor;
	succeeds(dfg_tensor_new(DFG_I32, &DFG_SHAPE_VECTOR(count), &tensor));
	for (int64_t i = 0; i < count; i++)
		((uint32_t *)tensor.data)[i] = (from + (uint32_t)i) * 2654435761u;
	return tensor;
}

static void send_numbers(struct http_pair_end *end, uint32_t number, int64_t count)
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
	struct http_pair_end *end = calloc(2, sizeof *end);
	http_pair_open(end, launcher, tls);
	for (uint32_t i = 0; i < 2; i++) {
		send_numbers(&end[i], 10 + i, 3);
		send_numbers(&end[i], 20 + i, 3000000);
		http_pair_await(&end[1 - i], 2);
		assert_int_equal(end[1 - i].came, 2);
		has_numbers(&end[1 - i].message[0], 3);
		has_numbers(&end[1 - i].message[1], 3000000);
		for (int k = 0; k < 2; k++)
			dfg_tensor_release(&end[1 - i].message[k].tensor);
	}
	http_pair_close(end);
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

static void many_messages_keep_their_order(void **state)
{
	(void)state;
	enum { MANY = 4000 };
	struct http_pair_end *end = calloc(2, sizeof *end);
	http_pair_open(end, false, false);
	for (uint32_t i = 0; i < MANY; i++)
		for (int k = 0; k < 2; k++)
			send_numbers(&end[k], i, 1 + i % 50);
	for (int k = 0; k < 2; k++) {
		http_pair_await(&end[k], MANY);
		assert_int_equal(end[k].came, MANY);
		for (uint32_t i = 0; i < MANY; i++) {
			assert_int_equal(end[k].message[i].key.number, i);
			has_numbers(&end[k].message[i], 1 + i % 50);
			dfg_tensor_release(&end[k].message[i].tensor);
		}
		assert_int_equal(end[k].link->counts.sent_messages, MANY);
		assert_int_equal(end[k].link->counts.received_messages, MANY);
		assert_int_equal(end[k].link->counts.received_bytes, end[1 - k].link->counts.sent_bytes);
	}
	http_pair_close(end);
	free(end);
}

/* More than the credit, both ways at once: neither waits for the other. */
static void large_tensors_cross(void **state)
{
	(void)state;
	enum { LARGE = 24 << 20 };
	struct http_pair_end *end = calloc(2, sizeof *end);
	http_pair_open(end, false, false);
	struct dfg_message message = {.tensor = numbers(LARGE, 0), .key.step = 7};
	for (int k = 0; k < 2; k++)
		succeeds(end[k].link->kind->send(end[k].link, &message));
	dfg_tensor_release(&message.tensor);
	for (int k = 0; k < 2; k++) {
		http_pair_await(&end[k], 1);
		has_numbers(&end[k].message[0], LARGE);
		dfg_tensor_release(&end[k].message[0].tensor);
	}
	http_pair_close(end);
	free(end);
}

static void a_thread_that_polls_reads_itself(void **state)
{
	(void)state;
	struct http_pair_end *end = calloc(2, sizeof *end);
	http_pair_open(end, false, false);
	for (uint32_t i = 0; i < 1000; i++) {
		send_numbers(&end[0], i, 1);
		while (atomic_load(&end[1].came) == i)
			end[1].link->kind->poll(end[1].link);
		has_numbers(&end[1].message[i], 1);
		dfg_tensor_release(&end[1].message[i].tensor);
	}
	http_pair_close(end);
	free(end);
}

/* A worker that listens, and another that connects to it with options of its own. */
static void connect_with(struct http_pair_end end[2], bool tls, const char *secret, const char *pin)
{
	char its[DFG_SECRET_SIZE];
	succeeds(dfg_secret_make(its));
	struct dfg_http_links_options options = {.address = "127.0.0.1", .tls = tls, .secret = its};
	http_pair_open_end(&end[1], options, 1);
	options.secret = secret ? secret : its;
	http_pair_open_end(&end[0], options, 0);
	const char *address = dfg_http_links_address(end[1].http);
	succeeds(dfg_http_links_connect(
		end[0].http, 1, address, pin ? pin : dfg_http_links_fingerprint(end[1].http), &end[0].link));
}

static void is_lost(struct http_pair_end *end, enum dfg_code code, const char *words)
{
	struct dfg_message message = {.key.number = 1};
	fails(dfg_http_links_wait(end->link, 10000), code, words);
	http_pair_await(end, 1);
	assert_true(end->lost);
	assert_int_equal(end->why->code, code);
	assert_non_null(strstr(end->why->text, words));
	fails(end->link->kind->send(end->link, &message), DFG_UNAVAILABLE, words);
}

static void a_wrong_secret_is_refused(void **state)
{
	(void)state;
	static const char *const secret[] = {"0000000000000000000000000000000000000000000000000000000000000000",
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"};
	for (int i = 0; i < 4; i++) {
		struct http_pair_end *end = calloc(2, sizeof *end);
		connect_with(end, i & 1, secret[i / 2], NULL);
		is_lost(&end[0], DFG_REFUSED, "worker 1: refused the connection: it belongs to a run with a different secret");
		http_pair_close(end);
		free(end);
	}
}

static void a_wrong_key_is_refused(void **state)
{
	(void)state;
	struct http_pair_end *end = calloc(2, sizeof *end);
	connect_with(end, true, NULL, "sha256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
	is_lost(&end[0], DFG_REFUSED, "worker 1: uses a TLS key that does not match");
	http_pair_close(end);
	free(end);
}

static void who_speaks_something_else_gives_no_answer(void **state)
{
	(void)state;
	struct http_pair_end *end = calloc(2, sizeof *end);
	connect_with(end, true, NULL, NULL);
	end[0].link->kind->close(end[0].link);
	succeeds(dfg_http_links_connect(
		end[0].http, 1, dfg_http_links_address(end[1].http), NULL, &end[0].link)); /* without TLS */
	is_lost(&end[0], DFG_UNAVAILABLE, "worker 1: hung up without an answer");
	http_pair_close(end);
	free(end);
}

/* A peer that takes a connection, reads the beginning of the hello, and says one thing. */
struct listener {
	int fd;
	bool reset; /* at the end, instead of an orderly end */
	const char *says;
};

static void *listen_once(void *arg)
{
	const struct listener *listener = arg;
	char hello[16];
	int fd = accept(listener->fd, NULL, NULL);
	assert_int_equal(recv(fd, hello, sizeof hello, 0), sizeof hello);
	assert_int_equal(send(fd, listener->says, strlen(listener->says), MSG_NOSIGNAL), strlen(listener->says));
	if (listener->reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
	close(fd);
	return NULL;
}

/* A handshake that the peer or the network breaks is a lost worker, which a run may start again. An answer in another
 * protocol is not: TLS or the look at the first bytes names it, whichever is earlier. */
static void a_broken_handshake_is_not_another_protocol(void **state)
{
	(void)state;
	static const struct {
		bool reset;
		const char *says;
		enum dfg_code code;
		const char *words;
	} cases[] = {{false, "", DFG_UNAVAILABLE, "hung up during the TLS handshake"},
		{true, "", DFG_UNAVAILABLE, "hung up during the TLS handshake"},
		{false, "HTTP/1.1 400 Bad Request\r\n\r\n", DFG_PROTOCOL, "speak"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct http_pair_end *end = calloc(2, sizeof *end);
		struct listener listener = {
			.fd = socket(AF_INET, SOCK_STREAM, 0), .reset = cases[i].reset, .says = cases[i].says};
		struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
		char address[64];
		pthread_t thread;
		assert_int_equal(bind(listener.fd, (struct sockaddr *)&at, sizeof at), 0);
		assert_int_equal(listen(listener.fd, 1), 0);
		getsockname(listener.fd, (struct sockaddr *)&at, &(socklen_t){sizeof at});
		snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(at.sin_port));
		assert_int_equal(pthread_create(&thread, NULL, listen_once, &listener), 0);
		connect_with(end, true, NULL, NULL);
		end[0].link->kind->close(end[0].link);
		succeeds(dfg_http_links_connect(
			end[0].http, 1, address, "sha256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", &end[0].link));
		is_lost(&end[0], cases[i].code, cases[i].words);
		pthread_join(thread, NULL);
		close(listener.fd);
		http_pair_close(end);
		free(end);
	}
}

static void nobody_there_is_unavailable(void **state)
{
	(void)state;
	struct http_pair_end *end = calloc(2, sizeof *end);
	char address[64];
	connect_with(end, false, NULL, NULL);
	end[0].link->kind->close(end[0].link);
	strcpy(address, dfg_http_links_address(end[1].http));
	dfg_http_links_free(end[1].http);
	end[1].http = NULL;
	succeeds(dfg_http_links_connect(end[0].http, 1, address, NULL, &end[0].link));
	is_lost(&end[0], DFG_UNAVAILABLE, "worker 1: cannot be reached");
	http_pair_close(end);
	free(end);
}

static void without_tls_only_over_loopback(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"host", "host:", ":1", "a b:1", "a/b:1", "u@h:1", "h:123456", "h:1x", "[::1:1", "h?:1"};
	static const char *const others[] = {"192.0.2.1:5", "127.example.org:5", "127.0.0.1.example.org:5", "[::2]:5"};
	struct http_pair_end *end = calloc(2, sizeof *end);
	struct dfg_link *link;
	connect_with(end, false, NULL, NULL);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		fails(dfg_http_links_connect(end[0].http, 2, others[i], NULL, &link), DFG_CONFIG,
			"worker 2: has no known fingerprint");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		fails(dfg_http_links_connect(end[0].http, 2, wrong[i], NULL, &link), DFG_CONFIG, "is not an address");
	fails(dfg_http_links_connect(end[0].http, 2, "127.0.0.1:5", "md5:0", &link), DFG_CONFIG, "is not a fingerprint");
	http_pair_close(end);
	free(end);
}

static void any_other_address_has_tls(void **state)
{
	(void)state;
	struct http_pair_end end = {0};
	char secret[DFG_SECRET_SIZE];
	succeeds(dfg_secret_make(secret));
	http_pair_open_end(&end, (struct dfg_http_links_options){.address = "0.0.0.0", .secret = secret}, 0);
	assert_non_null(dfg_http_links_fingerprint(end.http));
	assert_memory_equal(dfg_http_links_fingerprint(end.http), "sha256:", 7);
	dfg_http_links_free(end.http);
	struct dfg_http_links_options wrong = {.address = "nowhere", .secret = secret};
	fails(dfg_http_links_new(&wrong, &end.http), DFG_CONFIG, "'nowhere' is not an address to listen on");
	wrong = (struct dfg_http_links_options){.address = "127.0.0.1", .secret = "1234"};
	fails(dfg_http_links_new(&wrong, &end.http), DFG_CONFIG, "must have 64 hexadecimal digits");
}

static void who_comes_early_is_kept_waiting(void **state)
{
	(void)state;
	struct http_pair_end *end = calloc(2, sizeof *end);
	connect_with(end, false, NULL, NULL);
	send_numbers(&end[0], 5, 3);
	fails(dfg_http_links_wait(end[0].link, 300), DFG_DEADLINE, "no link with worker 1 after 0.3 s");
	succeeds(dfg_http_links_connect(end[1].http, 0, dfg_http_links_address(end[0].http), NULL, &end[1].link));
	succeeds(dfg_http_links_wait(end[0].link, 10000));
	http_pair_await(&end[1], 1);
	has_numbers(&end[1].message[0], 3);
	dfg_tensor_release(&end[1].message[0].tensor);
	http_pair_close(end);
	free(end);
}

static void the_other_sees_that_a_link_was_closed(void **state)
{
	(void)state;
	for (int launcher = 0; launcher < 2; launcher++)
		for (int i = 0; i < 2; i++) {
			struct http_pair_end *end = calloc(2, sizeof *end);
			http_pair_open(end, launcher, false);
			end[i].link->kind->close(end[i].link);
			end[i].link = NULL;
			http_pair_await(&end[1 - i], 1);
			assert_true(end[1 - i].lost);
			assert_int_equal(end[1 - i].why->code, DFG_UNAVAILABLE);
			http_pair_close(end);
			free(end);
		}
}

/* In another process: worker 1, which does nothing but be there. */
static pid_t another(int to[2], int from[2], const char *secret)
{
	char address[64];
	pid_t child = fork();
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct http_pair_end *end = calloc(1, sizeof *end);
	http_pair_open_end(end, (struct dfg_http_links_options){.address = "127.0.0.1", .secret = secret}, 1);
	if (write(from[1], dfg_http_links_address(end->http), 64) != 64 || read(to[0], address, 64) != 64)
		_exit(1);
	succeeds(dfg_http_links_connect(end->http, 0, address, NULL, &end->link));
	pause();
	_exit(0);
}

static void signal_another(int signal, const char *words, int longest_ms)
{
	struct http_pair_end *end = calloc(1, sizeof *end);
	char secret[DFG_SECRET_SIZE], address[64];
	int to[2], from[2];
	assert_int_equal(pipe(to) | pipe(from), 0);
	succeeds(dfg_secret_make(secret));
	pid_t child = another(to, from, secret);
	http_pair_open_end(
		end, (struct dfg_http_links_options){.address = "127.0.0.1", .secret = secret, .lease_ms = 2000}, 0);
	assert_int_equal(write(to[1], dfg_http_links_address(end->http), 64), 64);
	assert_int_equal(read(from[0], address, 64), 64);
	succeeds(dfg_http_links_connect(end->http, 1, address, NULL, &end->link));
	succeeds(dfg_http_links_wait(end->link, 10000));
	usleep(2500000); /* longer than the lease: signs of life keep it */
	assert_false(end->lost);
	struct timespec begin, over;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	kill(child, signal);
	http_pair_await(end, 1);
	clock_gettime(CLOCK_MONOTONIC, &over);
	assert_true(end->lost);
	assert_int_equal(end->why->code, DFG_UNAVAILABLE);
	if (strncmp(end->why->text, "worker 1: ", 10) || !strstr(end->why->text, words))
		fail_msg("'%s', not '%s'", end->why->text, words);
	assert_in_range((over.tv_sec - begin.tv_sec) * 1000 + (over.tv_nsec - begin.tv_nsec) / 1000000, 0, longest_ms);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	end->link->kind->close(end->link);
	dfg_http_links_free(end->http);
	dfg_err_free(end->why);
	for (int i = 0; i < 2; i++) {
		close(to[i]);
		close(from[i]);
	}
	free(end);
}

static void a_peer_that_is_killed_is_lost(void **state)
{
	(void)state;
	signal_another(SIGKILL, "", 20000);
}

static void a_peer_that_is_silent_is_lost(void **state)
{
	(void)state;
	signal_another(SIGSTOP, "silent for ", 20000);
}

static void the_self_test_passes_here(void **state)
{
	(void)state;
	struct dfg_http_links_report report;
	succeeds(dfg_http_links_self_test(false, &report));
	assert_true(report.round_trip_us > 0 && report.bulk_bytes_per_s > 0);
	assert_true(strlen(report.curl) >= 5 && strlen(report.nghttp2) >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_workers_exchange_tensors),
		cmocka_unit_test(launcher_and_worker_share_one_post),
		cmocka_unit_test(the_same_under_tls),
		cmocka_unit_test(many_messages_keep_their_order),
		cmocka_unit_test(large_tensors_cross),
		cmocka_unit_test(a_thread_that_polls_reads_itself),
		cmocka_unit_test(a_wrong_secret_is_refused),
		cmocka_unit_test(a_wrong_key_is_refused),
		cmocka_unit_test(who_speaks_something_else_gives_no_answer),
		cmocka_unit_test(a_broken_handshake_is_not_another_protocol),
		cmocka_unit_test(nobody_there_is_unavailable),
		cmocka_unit_test(without_tls_only_over_loopback),
		cmocka_unit_test(any_other_address_has_tls),
		cmocka_unit_test(who_comes_early_is_kept_waiting),
		cmocka_unit_test(the_other_sees_that_a_link_was_closed),
		cmocka_unit_test(the_self_test_passes_here),
		cmocka_unit_test(a_peer_that_is_killed_is_lost),
		cmocka_unit_test(a_peer_that_is_silent_is_lost),
	};
	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
