#include "remote/ssh_private.h"

#include "lib/base/io.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Host keys and the files of them, without a host: the key that a host sends is one of these (ssh-keygen's own). */
#define ED "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBYxxg96ANZtR9JxY1+PMlJJZa66FBvWAjatnBPIJX0m"
#define ED_PRINT "ssh-ed25519 SHA256:XmR3nKJ6irwy1KCzSHgyA3lI1UsoVbWIysjAS+yICN4"
#define OTHER "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMa4dBAprJrVfJ+AqyDtL78EBe3NjW5nMRkZ4DohWH+E"
#define EC                                                                                                             \
	"ecdsa-sha2-nistp256 "                                                                                             \
	"AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBGSgzQNtoZf7jrxc5UobGPHQdWyeE8MwiOCmMZb8Bp0y68T7SEWvKXZCJV4S" \
	"ID"                                                                                                               \
	"Devgz+D7WbDU4RJuutp1OX9jQ="

static char directory[] = "/tmp/dfg-known-XXXXXX";
static const char *sent; /* the key that the host sends */
static const struct dfg_fs *system_fs;
static struct dfg_fs watched;
static int writes; /* files opened to be written */

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void file_is(const char *path, const char *wanted)
{
	char text[4096] = "";
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof text - 1, file), strlen(wanted));
	fclose(file);
	assert_string_equal(text, wanted);
}

static int server_key(ssh_session session, ssh_key *out_key)
{
	(void)session;
	put_file("sent.pub", sent);
	return dfg_ssh_pki_import_pubkey_file("sent.pub", out_key);
}

static int open_watched(const char *path, int flags, mode_t mode)
{
	writes += (flags & O_ACCMODE) != O_RDONLY;
	return system_fs->open(path, flags, mode);
}

static int enter(void **state)
{
	(void)state;
	system_fs = dfg_fs;
	watched = *dfg_fs;
	watched.open = open_watched;
	dfg_fs = &watched;
	return !mkdtemp(directory) || chdir(directory) || setenv("HOME", directory, 1);
}

static int leave(void **state)
{
	char command[100];
	(void)state;
	dfg_fs = system_fs;
	snprintf(command, sizeof command, "rm -r '%s'", directory);
	return chdir("/") || system(command);
}

/* Checks the key of host alpha, at port 22 or another, by the lines of an ssh configuration. */
static struct dfg_err *check(const char *key, const char *config)
{
	struct dfg_ssh ssh = {.wish = {.file = "./config", .host = "alpha"}};
	char text[1000];
	struct dfg_err *err = dfg_libssh_open();
	if (err) {
		dfg_err_free(err);
		skip();
	}
	dfg_ssh_get_server_publickey = server_key;
	snprintf(text, sizeof text, "Host *\nGlobalKnownHostsFile none\n%s\n", config);
	put_file("config", text);
	sent = key;
	writes = 0;
	succeeds(dfg_ssh_config_read(&ssh.wish, &ssh.arena, &ssh.entry));
	err = dfg_ssh_known_check(&ssh);
	dfg_arena_release(&ssh.arena);
	return err;
}

static void an_unknown_key_is_refused_with_its_fingerprint(void **state)
{
	(void)state;
	fails(check(ED, "UserKnownHostsFile ~/known"), DFG_REFUSED, ED_PRINT);
	fails(check(ED, "UserKnownHostsFile ~/known"), DFG_REFUSED, "ssh-keyscan -t ed25519 -p 22 alpha >>/tmp/");
	assert_int_equal(writes, 0);
	assert_int_equal(access("known", F_OK), -1);
}

static void accept_new_adds_one_line(void **state)
{
	(void)state;
	const char *config = "StrictHostKeyChecking accept-new\nUserKnownHostsFile ~/.new/known";
	succeeds(check(ED, config));
	file_is(".new/known", "alpha " ED "\n");
	succeeds(check(ED, config));
	assert_int_equal(writes, 0);
	succeeds(check(EC, "Port 2222\nStrictHostKeyChecking accept-new\nUserKnownHostsFile ~/.new/known"));
	file_is(".new/known", "alpha " ED "\n[alpha]:2222 " EC "\n");
	put_file("no_end", "beta " OTHER);
	succeeds(check(ED, "StrictHostKeyChecking accept-new\nUserKnownHostsFile ~/no_end"));
	file_is("no_end", "beta " OTHER "\nalpha " ED "\n");
}

static void accept_new_refuses_another_key(void **state)
{
	(void)state;
	put_file("old", "alpha " OTHER "\n");
	fails(check(ED, "StrictHostKeyChecking accept-new\nUserKnownHostsFile ~/none ~/old"), DFG_REFUSED, "old:1");
	assert_int_equal(writes, 0);
}

static void several_files_are_read_and_the_first_is_written(void **state)
{
	(void)state;
	put_file("first", "beta " OTHER "\n");
	put_file("second", "alpha " ED "\n");
	succeeds(check(ED, "UserKnownHostsFile ~/first ~/second"));
	put_file("second", "gamma " ED "\n");
	fails(check(ED, "UserKnownHostsFile ~/first ~/second"), DFG_REFUSED, "first");
	succeeds(check(ED, "StrictHostKeyChecking accept-new\nUserKnownHostsFile ~/first ~/second"));
	file_is("first", "beta " OTHER "\nalpha " ED "\n");
	file_is("second", "gamma " ED "\n");
}

/* "none", and /dev/null, which must not be appended to. */
static void accept_new_without_a_regular_file_writes_nothing(void **state)
{
	static const char *const nothing[] = {"/dev/null", "~/link", "none", "/dev/null ~/kept"};
	char config[200];
	struct stat file;
	(void)state;
	assert_int_equal(symlink("/dev/null", "link"), 0);
	put_file("kept", "");
	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
		snprintf(config, sizeof config, "StrictHostKeyChecking accept-new\nUserKnownHostsFile %s", nothing[i]);
		succeeds(check(ED, config));
		assert_int_equal(writes, 0);
		snprintf(config, sizeof config, "UserKnownHostsFile %s", nothing[i]);
		fails(check(ED, config), DFG_REFUSED, "It cannot be recorded, because UserKnownHostsFile is ");
	}
	assert_int_equal(stat("/dev/null", &file), 0);
	assert_true(S_ISCHR(file.st_mode));
	file_is("kept", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unknown_key_is_refused_with_its_fingerprint),
		cmocka_unit_test(accept_new_adds_one_line),
		cmocka_unit_test(accept_new_refuses_another_key),
		cmocka_unit_test(several_files_are_read_and_the_first_is_written),
		cmocka_unit_test(accept_new_without_a_regular_file_writes_nothing),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
