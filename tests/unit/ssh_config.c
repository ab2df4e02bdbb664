#include "remote/ssh_config.h"

#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/dfg-ssh-XXXXXX";
static struct dfg_arena arena;
static struct dfg_ssh_entry entry;

static int enter(void **state)
{
	(void)state;
	return !mkdtemp(directory) || chdir(directory) || setenv("HOME", directory, 1) || mkdir(".ssh", 0700);
}

static int leave(void **state)
{
	(void)state;
	dfg_arena_release(&arena);
	remove(".ssh/config");
	remove(".ssh/more");
	remove("config");
	return rmdir(".ssh") || chdir("/") || rmdir(directory);
}

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static struct dfg_err *look(const char *text, const char *host)
{
	put_file("config", text);
	return dfg_ssh_config_read(&(struct dfg_ssh_wish){.file = "./config", .host = host}, &arena, &entry);
}

static const char *at_home(const char *path)
{
	return dfg_arena_path(&arena, directory, path);
}

static void a_host_that_nothing_is_said_of_has_what_ssh_would_take(void **state)
{
	(void)state;
	succeeds(look("", "alpha"));
	assert_string_equal(entry.host_name, "alpha");
	assert_int_equal(entry.port, 22);
	assert_int_equal(entry.identity.count, 3);
	assert_string_equal(entry.identity.word[0], at_home(".ssh/id_ed25519"));
	assert_string_equal(entry.known_hosts.word[0], at_home(".ssh/known_hosts"));
	assert_string_equal(entry.global_known_hosts.word[0], "/etc/ssh/ssh_known_hosts");
	assert_false(entry.accept_new);
	assert_null(entry.proxy_jump);
}

/* The config is read for each host, but the bytes of a pipe only once. */
static void a_pipe_can_be_read_for_each_host(void **state)
{
	(void)state;
	int ends[2];
	char path[40];
	static const char text[] = "Host a\n  Port 23\nHost b\n  Port 24\n";
	assert_false(pipe(ends));
	assert_int_equal(write(ends[1], text, sizeof text - 1), sizeof text - 1);
	close(ends[1]);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	for (int i = 0; i < 4; i++) {
		const struct dfg_ssh_wish wish = {.file = path, .host = i % 2 ? "b" : "a"};
		succeeds(dfg_ssh_config_read(&wish, &arena, &entry));
		assert_int_equal(entry.port, 23 + i % 2);
	}
	close(ends[0]);
}

static void an_empty_pipe_is_an_empty_file(void **state)
{
	(void)state;
	int ends[2];
	char path[40];
	assert_false(pipe(ends));
	close(ends[1]);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	const struct dfg_ssh_wish wish = {.file = path, .host = "a"};
	succeeds(dfg_ssh_config_read(&wish, &arena, &entry));
	assert_int_equal(entry.port, 22);
	close(ends[0]);
}

static void the_first_value_counts_and_identities_collect(void **state)
{
	(void)state;
	succeeds(look(
		"Host al*\n  Port 2222\n  IdentityFile ~/a\nHost *\n  Port 23\n  User me\n  IdentityFile \"/b c\"\n", "alpha"));
	assert_int_equal(entry.port, 2222);
	assert_string_equal(entry.user, "me");
	assert_int_equal(entry.identity.count, 2);
	assert_string_equal(entry.identity.word[0], at_home("a"));
	assert_string_equal(entry.identity.word[1], "/b c");
}

static void patterns_are_stars_and_question_marks_and_a_no(void **state)
{
	(void)state;
	static const char text[] = "Host node-?? !node-13 x[1]\n\tHostName 10.0.0.1\n";
	succeeds(look(text, "node-12"));
	assert_string_equal(entry.host_name, "10.0.0.1");
	succeeds(look(text, "node-13"));
	assert_string_equal(entry.host_name, "node-13");
	succeeds(look(text, "node-1"));
	assert_string_equal(entry.host_name, "node-1");
	succeeds(look(text, "x1"));
	assert_string_equal(entry.host_name, "x1");
}

static void what_is_wished_goes_before_the_file(void **state)
{
	(void)state;
	put_file("config", "User me\nPort 23\nProxyJump gate\n");
	const struct dfg_ssh_wish wish = {.file = "config", .host = "a", .user = "you", .port = 24, .jump = "other"};
	succeeds(dfg_ssh_config_read(&wish, &arena, &entry));
	assert_string_equal(entry.user, "you");
	assert_int_equal(entry.port, 24);
	assert_string_equal(entry.proxy_jump, "other");
}

static void tokens_stand_for_what_is_known_in_the_end(void **state)
{
	(void)state;
	succeeds(look("IdentityFile %d/k_%r@%h:%p_%n%%\nHost a\nHostName %h.example\nUser me\nPort=77\n", "a"));
	assert_string_equal(entry.identity.word[0], at_home("k_me@a.example:77_a%"));
	fails(look("IdentityFile x%Z\n", "a"), DFG_CONFIG, "'%Z' is not supported");
}

static void keywords_need_no_case_and_may_have_an_equals_sign(void **state)
{
	(void)state;
	succeeds(look("hostname=b\r\nPORT = 25 # a comment\nuser\tyou\n", "a"));
	assert_string_equal(entry.host_name, "b");
	assert_int_equal(entry.port, 25);
	assert_string_equal(entry.user, "you");
}

static void match_blocks_hold_by_names(void **state)
{
	(void)state;
	succeeds(look("Host *\n  User me\nMatch all\n  Port 24\n", "a"));
	assert_string_equal(entry.user, "me");
	assert_int_equal(entry.port, 24);
	succeeds(look(
		"Match host b,c*\n  Port 23\nMatch host !a,*\n  Port 25\nMatch originalhost x,a user \"*\"\n  Port 26\n", "a"));
	assert_int_equal(entry.port, 26);
	/* `host` is what HostName says, `originalhost` what was asked for. */
	succeeds(look("HostName far\nMatch host a\n  Port 23\nMatch host far originalhost a\n  Port 27\n", "a"));
	assert_int_equal(entry.port, 27);
	succeeds(look("HostName %h.far\nMatch host a.far\n  Port 28\n", "a"));
	assert_int_equal(entry.port, 28);
	succeeds(look("Match host=a user=*\n  Port 29\n", "a"));
	assert_int_equal(entry.port, 29);
	fails(look("Match host\n", "a"), DFG_CONFIG, ":1: Match host requires a value");
	fails(look("Match\n", "a"), DFG_CONFIG, ":1: Match has no value");
}

/* As ssh has it, which takes conditions before `all`. */
static void no_condition_follows_match_all(void **state)
{
	(void)state;
	succeeds(look("Match host a all # host b\n  Port 23\n", "a"));
	assert_int_equal(entry.port, 23);
	fails(look("User me\nMatch all host a\n", "a"), DFG_CONFIG, ":2: Match all is followed by 'host'");
	fails(look("Match !all user me\n", "a"), DFG_CONFIG, ":1: Match all is followed by 'user'");
	fails(look("Match host b all all\n", "a"), DFG_CONFIG, ":1: Match all is followed by 'all'");
	fails(look("Match all=x\n", "a"), DFG_CONFIG, ":1: Match all is followed by 'x'");
	fails(look("Match all final\n", "a"), DFG_CONFIG, ":1: Match all is followed by 'final'");
}

static void match_conditions_can_be_negated(void **state)
{
	(void)state;
	succeeds(look("Match !host b,c\n  Port 23\n", "a"));
	assert_int_equal(entry.port, 23);
	succeeds(look("User me\nMatch host a !user me\n  Port 23\nMatch !all\n  Port 24\n", "a"));
	assert_int_equal(entry.port, 22);
}

static void match_exec_is_run_where_all_before_holds(void **state)
{
	(void)state;
	succeeds(
		look("Port 9\nUser me\nMatch exec \"test %h.%p.%r.%n.%% = a.9.me.a.%%\"\n  ConnectTimeout 3\nHostName b\n"
			 "Match exec \"test %h = b\"\n  IdentitiesOnly yes\nMatch !exec false\n  HostKeyAlias c\n",
			"a"));
	assert_int_equal(entry.connect_seconds, 3);
	assert_true(entry.identities_only);
	assert_string_equal(entry.host_key_alias, "c");
	succeeds(look("Match host b exec \"touch x\"\n  Port 23\n", "a"));
	assert_int_not_equal(access("x", F_OK), 0);
	fails(look("Match exec \"touch x%d\"\n", "a"), DFG_CONFIG, ":1: '%d' is not supported");
	fails(look("HostName $(id)\nMatch exec \"touch x\"\n", "a"), DFG_CONFIG, ":2: HostName '$(id)'");
	assert_int_not_equal(access("x", F_OK), 0);
}

static void a_match_that_cannot_be_decided_is_refused(void **state)
{
	(void)state;
	fails(look("\nMatch final\n  Port 23\n", "a"), DFG_CONFIG, "./config:2: Match final is not supported");
	fails(look("Match host a localnetwork 10.0.0.0/8\n", "a"), DFG_CONFIG, ":1: Match localnetwork is not supported");
	fails(look("Match host a nonsense\n", "a"), DFG_CONFIG, ":1: Match nonsense is not supported");
	succeeds(look("Match final host b\n  Port 23\nMatch !host a localnetwork 10.0.0.0/8\n  Port 24\n", "a"));
	assert_int_equal(entry.port, 22);
}

static void strictness_is_never_less_than_refusing(void **state)
{
	(void)state;
	succeeds(look("StrictHostKeyChecking accept-new\n", "a"));
	assert_true(entry.accept_new);
	succeeds(look("StrictHostKeyChecking yes\nStrictHostKeyChecking accept-new\n", "a"));
	assert_false(entry.accept_new);
	succeeds(look("StrictHostKeyChecking no\n", "a"));
	assert_false(entry.accept_new);
	assert_non_null(strstr(entry.note, "is ignored"));
}

static void a_proxy_command_is_the_remainder_of_its_line(void **state)
{
	(void)state;
	succeeds(look("HostName b\n ProxyCommand = nc -x \"a b\" %h %p # \"%r\" %n %% \r\nUser me\n", "a"));
	assert_string_equal(entry.proxy_command, "nc -x \"a b\" b 22 # \"me\" a %");
	succeeds(look("Host b\nProxyCommand nc %h %p\n", "a"));
	assert_null(entry.proxy_command);
	succeeds(look("ProxyJump gate\nProxyCommand nc %h %p\n", "a"));
	assert_string_equal(entry.proxy_jump, "gate");
	assert_null(entry.proxy_command);
	succeeds(look("ProxyJump none\nProxyCommand nc\nProxyJump gate\n", "a"));
	assert_null(entry.proxy_jump);
	assert_null(entry.proxy_command);
	fails(look("\nProxyCommand nc %d\n", "a"), DFG_CONFIG,
		"./config:2: '%d' is not supported here; the tokens that can be used are %% %h %n %p %r");
	fails(look("ProxyCommand nc %\n", "a"), DFG_CONFIG, "./config:1: '%' is not supported");
	fails(look("ProxyCommand\n", "a"), DFG_CONFIG, "./config:1: ProxyCommand has no value");
	fails(look("ProxyUseFdpass yes\n", "a"), DFG_CONFIG, "./config:1: ProxyUseFdpass is not supported");
}

static void files_are_included_where_the_block_holds(void **state)
{
	(void)state;
	put_file(".ssh/more", "Port 26\nHost b\n  User other\n");
	succeeds(look("Host a\n  Include more\n  User me\n", "a"));
	assert_int_equal(entry.port, 26);
	assert_string_equal(entry.user, "me");
	succeeds(look("Host a\n  Include more\n", "b"));
	assert_int_equal(entry.port, 22);
	put_file(".ssh/more", "Include more\n");
	fails(look("Include ~/.ssh/mo*\n", "a"), DFG_CONFIG, "files include each other");
}

static void a_fault_names_file_and_line(void **state)
{
	(void)state;
	fails(look("\nPort 99999\n", "a"), DFG_CONFIG, "./config:2: '99999' is not a port, 1 to 65535");
	fails(look("User a;b\n", "a"), DFG_CONFIG, "./config:1: 'a;b' is not a user");
	fails(look("HostName -oX=y\n", "a"), DFG_CONFIG, "HostName '-oX=y' is neither a name nor an address");
	fails(look("IdentityFile \"x\n", "a"), DFG_CONFIG, "a quote is not closed");
	fails(look("Port\n", "a"), DFG_CONFIG, "Port has no value");
	fails(look("ConnectTimeout 0\n", "a"), DFG_CONFIG, "ConnectTimeout must be a number of seconds");
	const struct dfg_ssh_wish wish = {.file = "./none", .host = "a"};
	fails(dfg_ssh_config_read(&wish, &arena, &entry), DFG_NO_INPUT, "./none");
}

static void the_own_file_need_not_be_there_but_is_only_ones_own(void **state)
{
	(void)state;
	const struct dfg_ssh_wish wish = {.host = "a"};
	succeeds(dfg_ssh_config_read(&wish, &arena, &entry));
	put_file(".ssh/config", "Port 27\n");
	assert_int_equal(chmod(".ssh/config", 0600), 0);
	succeeds(dfg_ssh_config_read(&wish, &arena, &entry));
	assert_int_equal(entry.port, 27);
	assert_int_equal(chmod(".ssh/config", 0666), 0);
	fails(dfg_ssh_config_read(&wish, &arena, &entry), DFG_CONFIG, "users other than its owner can write it");
}

static void a_hop_is_user_host_and_port(void **state)
{
	(void)state;
	struct dfg_ssh_hop hop;
	static const char text[] = "me@gate:2222", brackets[] = "[::1]:23", url[] = "ssh://gate", bad[] = "me@-v";
	succeeds(dfg_ssh_hop_read(text, text + strlen(text), &arena, &hop));
	assert_string_equal(hop.user, "me");
	assert_string_equal(hop.host, "gate");
	assert_int_equal(hop.port, 2222);
	succeeds(dfg_ssh_hop_read(brackets, brackets + strlen(brackets), &arena, &hop));
	assert_string_equal(hop.host, "::1");
	assert_int_equal(hop.port, 23);
	succeeds(dfg_ssh_hop_read(url, url + strlen(url), &arena, &hop));
	assert_string_equal(hop.host, "gate");
	assert_null(hop.user);
	fails(dfg_ssh_hop_read(bad, bad + strlen(bad), &arena, &hop), DFG_CONFIG, "ProxyJump must be USER@HOST:PORT");
}

static void any_text_is_read_or_an_error(void **state)
{
	(void)state;
	static const char *const piece[] = {"Host", "HostName", "Port", "ProxyJump", "Match", "Include", "IdentityFile",
		"=", " ", "\t", "\n", "\"", "#", "*", "!a", "?", "%h", "%", "~/", "x", "22", "none", "\r", "\xff"};
	uint32_t random = 1;
	for (int i = 0; i < 2000; i++) {
		char text[400] = "";
		for (int k = 0; k < 24; k++) {
			random = random * 1664525 + 1013904223;
			strcat(text, piece[(random >> 16) % (sizeof piece / sizeof *piece)]);
		}
		struct dfg_err *err = look(text, "a");
		assert_true(!err || err->code == DFG_CONFIG || err->code == DFG_NO_INPUT);
		assert_true(err || (entry.port && *entry.user && entry.host_name));
		dfg_err_free(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_that_nothing_is_said_of_has_what_ssh_would_take),
		cmocka_unit_test(a_pipe_can_be_read_for_each_host),
		cmocka_unit_test(an_empty_pipe_is_an_empty_file),
		cmocka_unit_test(the_first_value_counts_and_identities_collect),
		cmocka_unit_test(patterns_are_stars_and_question_marks_and_a_no),
		cmocka_unit_test(what_is_wished_goes_before_the_file),
		cmocka_unit_test(tokens_stand_for_what_is_known_in_the_end),
		cmocka_unit_test(keywords_need_no_case_and_may_have_an_equals_sign),
		cmocka_unit_test(match_blocks_hold_by_names),
		cmocka_unit_test(no_condition_follows_match_all),
		cmocka_unit_test(match_conditions_can_be_negated),
		cmocka_unit_test(match_exec_is_run_where_all_before_holds),
		cmocka_unit_test(a_match_that_cannot_be_decided_is_refused),
		cmocka_unit_test(strictness_is_never_less_than_refusing),
		cmocka_unit_test(a_proxy_command_is_the_remainder_of_its_line),
		cmocka_unit_test(files_are_included_where_the_block_holds),
		cmocka_unit_test(a_fault_names_file_and_line),
		cmocka_unit_test(the_own_file_need_not_be_there_but_is_only_ones_own),
		cmocka_unit_test(any_text_is_read_or_an_error),
		cmocka_unit_test(a_hop_is_user_host_and_port),
	};
	return cmocka_run_group_tests_name("ssh_config", tests, enter, leave);
}
